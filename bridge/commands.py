"""The grammar people type, the same on every platform. Pure: text in, intention out.

A question is any text. Words with a meaning of their own begin with ``!`` (slash commands do not
exist inside Slack threads), or come as a platform command whose name the adapter passes on.
Options stand before or after the text: ``--engine codex``, ``--as critic``, ``--model NAME``,
``--mode full``, ``--budget 40k``; for a roundtable also ``--preset review``,
``--with architect:claude,critic:codex``, ``--rounds 3``, ``--mode parallel``,
``--synth critic:codex`` and ``--early-stop off``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import cast

from bridge.asked_commands import SHORT, AskedIntention, parse_asked
from bridge.asked_commands import WORDS as ASKED_WORDS
from bridge.audit_commands import WORDS as AUDIT_WORDS
from bridge.audit_commands import Audit, parse_audit
from bridge.forget_commands import WORDS as FORGET_WORDS
from bridge.forget_commands import Forget, parse_forget
from bridge.intentions import (
    NOBODY,
    Ask,
    Context,
    Convene,
    Help,
    Home,
    Mode,
    Names,
    Next,
    NoTopic,
    RightsShown,
    Status,
    Stop,
)
from bridge.languages import COMMANDS_IN, Language, parse_language
from bridge.languages import WORDS as LANGUAGE_WORDS
from bridge.options import (
    ALIKE,
    MODES,
    listed,
    model_name,
    parse_budget,
    parse_permission,
    parse_switch,
    take_options,
)
from bridge.recall_commands import CLOSE, RecallIntention, parse_recall
from bridge.recall_commands import WORDS as RECALL_WORDS
from bridge.resend_commands import WORDS as RESEND_WORDS
from bridge.resend_commands import Resend
from bridge.team_commands import WORDS, Team, Topic, parse_team
from bridge.terminal_commands import WORDS as TERMINAL_WORDS
from bridge.terminal_commands import TerminalIntention, parse_terminal
from bridge.usage_commands import WORDS as USAGE_WORDS
from bridge.usage_commands import UsageIntention, parse_usage
from core.errors import BadInput
from core.model import Order, Participant
from core.tongue import say
from core.words import literal

COMMANDS = {
    "ask": "ask",
    "rt": "roundtable",
    "roundtable": "roundtable",
    "stop": "stop",
    "next": "next",
    "status": "status",
    "context": "context",
    "mode": "mode",
    "permission": "permission",
    "permissions": "permission",
    "help": "help",
    "home": "home",
    **WORDS,
    **TERMINAL_WORDS,
    **ASKED_WORDS,
    **USAGE_WORDS,
    **FORGET_WORDS,
    **RECALL_WORDS,
    **LANGUAGE_WORDS,
    **AUDIT_WORDS,
    **RESEND_WORDS,
}
FOR_TABLES = ("with", "rounds", "preset", "synth", "early-stop", "order")
MISSPELT = "misspelt"
UNKNOWN = "unknown"
_LONG = tuple(word for word in COMMANDS if word not in (*SHORT, *CLOSE))
_UNSEEN = ("Cc", "Cf", "Cs", "Zs")
MAX_ROUNDS = 5
MIN_SEATS = 2
MAX_SEATS = 8

_TYPED = re.compile(r"!(\w+)[:.!?]*(?:\s+|$)")  # who is in a hurry types "!stop!"
_TOPIC = re.compile(r"(roundtable|rt)\s*:\s*", re.IGNORECASE)


Intention = (
    Ask | Convene | Stop | Next | Status | Context | Mode | RightsShown | Help
    | Team | AskedIntention | TerminalIntention | UsageIntention | RecallIntention | Forget
    | Language | Resend | Home | Audit
)  # fmt: skip


def platform_command(name: str, text: str) -> tuple[str, str]:
    """The command behind a platform's: ``moot`` is followed by a word, others are one."""
    if name == "moot":
        return typed_command(f"!{text}") or (UNKNOWN if text.strip() else "help", text)
    return COMMANDS.get(name, "help"), text


def typed_command(text: str) -> tuple[str, str] | None:
    """``("stop", "")`` for "!stop"; None for text that only looks like a command ("!important").

    What can only be a typing error ("!stpo") is ``("misspelt", "stpo")``: an agent should not be
    asked what was meant.
    """
    match = _TYPED.match(text)
    if match:
        word = match.group(1).lower()
        word = COMMANDS_IN.get(word, word)
        if word in COMMANDS:
            return COMMANDS[word], text[match.end() :].strip()
        if get_close_matches(word, _LONG, 1, ALIKE):
            return MISSPELT, word
    match = _TOPIC.match(text)
    return ("roundtable", text[match.end() :].strip()) if match else None


def parse(command: str, text: str, names: Names) -> Intention:
    """The intention behind a command (as ``typed_command`` names it) and the text after it.

    Raises:
        BadInput: something is missing or unknown; says what would work.
    """
    match command:
        case "ask":
            return _ask(text, names)
        case "roundtable":
            return _convene(text, names)
        case "stop" | "status" | "permission":
            return {"stop": Stop(), "status": Status(), "permission": RightsShown()}[command]
        case "home":
            return Home()
        case "next":
            return Next(text.strip().strip("@"))
        case "context":
            return Context(text.strip())
        case "mode":
            return _own_mode(text)
        case _ if grammar := _GRAMMARS.get(command):
            return grammar(command, text)
        case _ if command in WORDS.values():
            return parse_team(cast("Topic", command), text)
        case "resume" | "continue":
            return parse_terminal(command, text, names.engines)
        case "misspelt" | "unknown":
            raise _no_such(command, text)
        case _:
            return Help(text.strip().lower())


_GRAMMARS: dict[str, Callable[[str, str], Intention]] = {
    "resend": lambda *_: Resend(),
    "usage": lambda _, text: parse_usage(text),
    "forget": lambda _, text: parse_forget(text),
    "audit": lambda _, text: parse_audit(text),
    "language": lambda _, text: parse_language(text),
    **dict.fromkeys(RECALL_WORDS, parse_recall),
    **dict.fromkeys(ASKED_WORDS.values(), parse_asked),
}


def _no_such(command: str, text: str) -> BadInput:
    if command == MISSPELT:
        meant = get_close_matches(text, _LONG, 1, ALIKE)
        return BadInput(
            say("There is no `!{text}`; did you mean `!{meant}`?", text=text, meant=meant[0])
        )
    word = literal(text.split()[0], 40)
    return BadInput(
        say(
            "There is no command “{word}”. `help` lists them; a question is asked with `ask`.",
            word=word,
        )
    )


def parse_participant(entry: str, names: Names) -> Participant:
    """``persona:engine``, ``persona``, ``engine`` or ``persona:engine/model``; engine may stay "".

    Raises:
        BadInput: neither a persona nor an engine of that name exists.
    """
    persona, _, rest = entry.strip().strip("@").replace("=", ":").partition(":")
    engine, _, model = rest.partition("/")
    persona, engine = persona.lower(), engine.lower()
    if not rest and persona in names.engines:
        persona, engine = "", persona
    if persona and persona not in names.personas:
        raise BadInput(
            say(
                "There is no persona “{persona}”. There are: {listed}.",
                persona=persona,
                listed=listed(names.personas),
            )
        )
    if engine and engine not in names.engines:
        raise BadInput(
            say(
                "There is no engine “{engine}”. There are: {listed}.",
                engine=engine,
                listed=listed(names.engines),
            )
        )
    return Participant(engine=engine, persona=persona, model=model_name(model))


def _ask(text: str, names: Names) -> Ask:
    prompt, options = take_options(text)
    if not says_something(prompt):
        raise BadInput(
            say("What would you like to ask? Write the question after the mention or `ask`.")
        )
    for name in FOR_TABLES:
        if name in options:
            typed = f"--mode {options[name]}" if name == "order" else f"--{name} …"
            raise BadInput(
                say(
                    "`{typed}` belongs to a roundtable: `!rt {prompt} {typed}`.",
                    typed=typed,
                    prompt=prompt[:40],
                )
            )
    seat = parse_participant(f"{options.get('as', '')}:{options.get('engine', '')}", names)
    return Ask(
        prompt,
        seat.engine,
        seat.persona,
        model_name(options.get("model", "")),
        options.get("mode", ""),
        parse_budget(options.get("budget", "")),
        parse_permission(options.get("permission", "")),
    )


def _convene(text: str, names: Names) -> Convene:
    convene = parse_table(text, names)
    if not says_something(convene.topic):
        raise NoTopic(convene)
    return convene


def parse_table(text: str, names: Names) -> Convene:
    """A roundtable as it is typed; its topic may be missing (a form asks for it then).

    Raises:
        BadInput: an option's value is not possible; says what would work.
    """
    topic, options = take_options(text)
    for name in ("engine", "as", "model"):
        if name in options:
            raise BadInput(
                say(
                    "`--{name}` belongs to `!ask`; a roundtable has "
                    "`--with persona:engine/model,…`.",
                    name=name,
                )
            )
    rounds = options.get("rounds", "0")
    # One digit of any script; more would only be a larger number than there may be.
    one = len(rounds) == 1 and rounds.isdecimal()
    if "rounds" in options and not (one and 1 <= int(rounds) <= MAX_ROUNDS):
        raise BadInput(
            say(
                "A roundtable has 1 to {max_rounds} rounds, not “{rounds}”.",
                max_rounds=MAX_ROUNDS,
                rounds=rounds[:40],
            )
        )
    return Convene(
        topic,
        seats=parse_seats(options["with"].split(","), names) if "with" in options else (),
        rounds=int(rounds),
        mode=options.get("mode", ""),
        order=cast("Order | None", options.get("order")),
        preset=_preset(options.get("preset", ""), names),
        synthesizer=parse_synthesizer(options.get("synth", ""), names),
        early_stop=parse_switch("early-stop", options.get("early-stop", "")),
        budget_chars=parse_budget(options.get("budget", "")),
        permission=parse_permission(options.get("permission", "")),
    )


def parse_seats(entries: Iterable[str], names: Names) -> tuple[Participant, ...]:
    """The participants of a roundtable, as ``parse_participant`` takes each.

    Raises:
        BadInput: too few, too many, or one that does not exist.
    """
    entries = [entry for entry in entries if entry.strip()]
    if not MIN_SEATS <= len(entries) <= MAX_SEATS:
        raise BadInput(
            say(
                "A roundtable has {min_seats} to {max_seats} participants; you named {count}.",
                min_seats=MIN_SEATS,
                max_seats=MAX_SEATS,
                count=len(entries),
            )
        )
    return tuple(parse_participant(entry, names) for entry in entries)


def parse_synthesizer(entry: str, names: Names) -> Participant | None:
    """Who sums up: ``NOBODY`` for ``none``, ``None`` for nothing said.

    Raises:
        BadInput: there is no such persona or engine.
    """
    if entry.lower() == "none":
        return NOBODY
    return parse_participant(entry, names) if entry else None


def _preset(name: str, names: Names) -> str:
    name = name.lower()
    if name and name not in names.presets:
        alike = get_close_matches(name, names.presets, 1)
        meant = (
            say("; did you mean `{name}`?", name=alike[0])
            if alike
            else say(". There are: {listed}.", listed=listed(names.presets))
        )
        raise BadInput(say("There is no preset “{name}”{meant}", name=name[:40], meant=meant))
    return name


def _own_mode(text: str) -> Mode:
    word = text.strip().lower()
    if word in ("", *MODES):
        return Mode(word or None)
    if word in ("auto", "default"):
        return Mode("")
    raise BadInput(
        say(
            "`!mode` is one of {listed}, or auto; not “{word}”. How a roundtable goes "
            "(parallel, blind) is said with it: `!rt topic --mode blind`.",
            listed=listed(MODES),
            word=word[:40],
        )
    )


def says_something(text: str) -> bool:
    """Whether anything of it can be seen: not only spaces and characters of no width."""
    return any(not char.isspace() and unicodedata.category(char) not in _UNSEEN for char in text)
