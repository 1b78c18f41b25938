"""The grammar people type, the same on every platform. Pure: text in, intention out.

A question is any text. Words with a meaning of their own begin with ``!`` (slash commands do not
exist inside Slack threads), or come as a platform command whose name the adapter passes on.
Options stand before or after the text: ``--engine codex``, ``--as critic``, ``--model NAME``,
``--mode full``; for a roundtable also ``--with architect:claude,critic:codex`` and ``--rounds 3``.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from difflib import get_close_matches

from core.errors import BadInput
from core.model import Participant

COMMANDS = {
    "ask": "ask",
    "rt": "roundtable",
    "roundtable": "roundtable",
    "stop": "stop",
    "status": "status",
    "context": "context",
    "help": "help",
}
OPTIONS = ("engine", "as", "model", "mode", "with", "rounds")
# What people may try instead of an option's name (some are the names of Discord's fields).
OTHER_NAMES = {"persona": "as", "agent": "engine", "participants": "with"}
MISSPELT = "misspelt"
# How alike a word must be to be taken for a typing error: "stpo" and "stop" just are.
_ALIKE = 0.75
_UNSEEN = ("Cc", "Cf", "Cs", "Zs")
MODES = ("lite", "standard", "full")
MAX_ROUNDS = 5
MIN_SEATS = 2
MAX_SEATS = 8

# A model's name goes into an engine's arguments, where "--yolo" would be an option.
_MODEL = re.compile(r"[^\W_][\w./:@+\[\]-]{0,199}")
_MAX_OPTIONS = 20  # so that a text made of options costs little

_TYPED = re.compile(r"!(\w+)(?:\s+|$)")
_TOPIC = re.compile(r"(roundtable|rt)\s*:\s*", re.IGNORECASE)
# Phones turn two hyphens into a dash.
# Participants may be written with spaces around the commas.
_OPTION = (
    rf"(?:--|—|–)(?P<name>{'|'.join(OPTIONS)})(?:\s+|=)"
    r"(?P<value>\"[^\"]*\"|(?:(?<=with.)\S+(?:(?:(?<=,)\s+|\s+(?=,))\S+)+|\S+))"
)
_LEADING = re.compile(rf"\s*{_OPTION}(?=\s|$)")
_TRAILING = re.compile(rf"(?:^|\s){_OPTION}\s*$")
_UNKNOWN = re.compile(
    r"\s*(?:--|—|–)([a-z][\w-]*)(?=[\s=]|$)|(?:^|.*\s)(?:--|—|–)([a-z][\w-]*)(?:(?:\s+|=)\S+)?\s*$",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to one participant ("" = the default one)."""

    prompt: str
    engine: str = ""
    persona: str = ""
    model: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True)
class Convene:
    """A roundtable; no seats and 0 rounds stand for the settings' own."""

    topic: str
    seats: tuple[Participant, ...] = ()
    rounds: int = 0
    mode: str = ""


@dataclass(frozen=True, slots=True)
class Stop:
    """End what runs and waits here."""


@dataclass(frozen=True, slots=True)
class Status:
    """What runs and waits here."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a run saw; ``run`` is an id, its beginning, or "" for the newest."""

    run: str = ""


@dataclass(frozen=True, slots=True)
class Help:
    """What can be typed."""


Intention = Ask | Convene | Stop | Status | Context | Help


@dataclass(frozen=True, slots=True)
class Names:
    """What exists, so that a typing error is told at once: engines and personas by name."""

    engines: frozenset[str] = frozenset()
    personas: frozenset[str] = field(default_factory=frozenset[str])


def typed_command(text: str) -> tuple[str, str] | None:
    """``("stop", "")`` for "!stop"; None for text that only looks like a command ("!important").

    What can only be a typing error ("!stpo") is ``("misspelt", "stpo")``: an agent should not be
    asked what was meant.
    """
    match = _TYPED.match(text)
    if match:
        word = match.group(1).lower()
        if word in COMMANDS:
            return COMMANDS[word], text[match.end() :].strip()
        if get_close_matches(word, COMMANDS, 1, _ALIKE):
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
        case "stop":
            return Stop()
        case "status":
            return Status()
        case "context":
            return Context(text.strip())
        case "misspelt":
            meant = get_close_matches(text, COMMANDS, 1, _ALIKE)
            raise BadInput(f"There is no `!{text}`; did you mean `!{meant[0]}`?")
        case _:
            return Help()


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
        raise BadInput(f"There is no persona “{persona}”. There are: {_list(names.personas)}.")
    if engine and engine not in names.engines:
        raise BadInput(f"There is no engine “{engine}”. There are: {_list(names.engines)}.")
    return Participant(engine=engine, persona=persona, model=_model(model))


def _ask(text: str, names: Names) -> Ask:
    prompt, options = _options(text)
    if not _says_something(prompt):
        raise BadInput("What would you like to ask? Write the question after the mention or `ask`.")
    for name in ("with", "rounds"):
        if name in options:
            raise BadInput(f"`--{name}` belongs to a roundtable: `!rt {prompt[:40]} --{name} …`.")
    seat = parse_participant(f"{options.get('as', '')}:{options.get('engine', '')}", names)
    return Ask(prompt, seat.engine, seat.persona, _model(options.get("model", "")), _mode(options))


def _convene(text: str, names: Names) -> Convene:
    topic, options = _options(text)
    if not _says_something(topic):
        raise BadInput(
            "What is the roundtable about? For example: "
            "`!rt SQL or files for the audit log? --with architect:claude,critic:codex --rounds 2`."
        )
    entries = [entry for entry in options.get("with", "").split(",") if entry.strip()]
    if "with" in options and not MIN_SEATS <= len(entries) <= MAX_SEATS:
        raise BadInput(
            f"A roundtable has {MIN_SEATS} to {MAX_SEATS} participants; you named {len(entries)}."
        )
    rounds = options.get("rounds", "0")
    # One digit of any script; more would only be a larger number than there may be.
    one = len(rounds) == 1 and rounds.isdecimal()
    if "rounds" in options and not (one and 1 <= int(rounds) <= MAX_ROUNDS):
        raise BadInput(f"A roundtable has 1 to {MAX_ROUNDS} rounds, not “{rounds[:40]}”.")
    seats = tuple(parse_participant(entry, names) for entry in entries)
    return Convene(topic, seats, int(rounds), _mode(options))


def _model(name: str) -> str:
    if name and not _MODEL.fullmatch(name):
        raise BadInput(f"“{name[:40]}” is no name of a model.")
    return name


def _says_something(text: str) -> bool:
    """Whether anything of it can be seen: not only spaces and characters of no width."""
    return any(not char.isspace() and unicodedata.category(char) not in _UNSEEN for char in text)


def _mode(options: dict[str, str]) -> str:
    mode = options.get("mode", "").lower()
    if mode and mode not in MODES:
        raise BadInput(f"`--mode` is one of {_list(MODES)}, not “{mode}”.")
    return mode


def _options(text: str) -> tuple[str, dict[str, str]]:
    """Take known options from both ends of ``text``; what stands inside is the person's own."""
    found: dict[str, str] = {}
    for _ in range(_MAX_OPTIONS):
        match = _LEADING.match(text)
        if match is None:
            break
        found.setdefault(match["name"], match["value"].strip('"'))
        text = text[match.end() :]
    for _ in range(_MAX_OPTIONS):
        match = _TRAILING.search(text)
        if match is None:
            break
        found.setdefault(match["name"], match["value"].strip('"'))
        text = text[: match.start()]
    _refuse_misspelt(text)
    return text.strip(), found


def _refuse_misspelt(text: str) -> None:
    match = _UNKNOWN.match(text)
    name = (match[1] or match[2]) if match else ""
    alike = get_close_matches(name, OPTIONS, 1, _ALIKE)
    meant = OTHER_NAMES.get(name) or (alike[0] if alike else "")
    if meant:
        fault = f"There is no option `--{name}`; did you mean `--{meant}`?"
        if name == meant:
            fault = f"`--{name}` needs a value."
        raise BadInput(f"{fault} If it belongs to the question, put it between backticks.")


def _list(names: frozenset[str] | tuple[str, ...]) -> str:
    return ", ".join(sorted(names)) or "none"
