"""What a thread sees of an engine's requests: how they are put, and what became of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from core.model import Asked, AskedQuestion, Button, Participant, Permission, Ruling, Turn
from core.records import asked as records
from core.records import messages, outbox
from core.tongue import say, to_say
from core.words import literal, seat_name

Voice = Callable[[str, str, str], tuple[str, ...]]
"""As ``core.turns.rounds.Voice``."""

MAX_OPTION_BUTTONS = 8
MAX_LABEL_CHARS = 60
# How much of the command and of the detail is shown, until it fits one post of the platform.
_SIZES = ((700, 900), (500, 400), (300, 0), (120, 0))
_DECIDED_CHARS = 300  # of the detail, once it is decided
_CHANGES = (
    *("file_change", "Write", "Edit", "MultiEdit", "NotebookEdit", "edit", "write", "write_file"),
    "replace",
)
_RUNS = ("command_execution", "Bash", "bash", "shell", "execute", "run_shell_command")
DOES: Mapping[str, str] = {
    **dict.fromkeys(_CHANGES, to_say("change files")),
    **dict.fromkeys(_RUNS, to_say("run a command")),
    **dict.fromkeys(("Read", "read", "read_file"), to_say("read files")),
    **dict.fromkeys(("WebFetch", "webfetch", "web_fetch", "fetch"), to_say("read a web page")),
    **dict.fromkeys(("WebSearch", "websearch", "google_web_search"), to_say("search the web")),
    "network": to_say("connect to a host"),
    "write_stdin": to_say("type into a program that runs"),
    "mcp_tool_call": to_say("use a server's tool"),
    "external_directory": to_say("reach outside of the project"),
    "request_permissions": to_say("have wider permissions"),
}
"""What people call the tools that engines name."""


def does(tool: str) -> str:
    """The same in the language that is spoken; "" for a tool that it does not know."""
    return say(DOES[tool]) if tool in DOES else ""


_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def post(asked: Asked, voice: Voice, now: float) -> None:
    """Owe the message that asks, with its buttons."""
    chat = messages.get_conversation(asked.conversation_id).key.chat
    shown = outbox.add_post(
        asked.conversation_id,
        "request",
        _put(asked, chat, voice)[:1],
        buttons=_buttons(asked),
        turn_id=asked.turn_id,
        run_id=asked.run_id,
        now=now,
    )
    records.set_post(asked.id, shown)


def show(asked: Asked, voice: Voice, now: float) -> None:
    """The message says what became of the request; its buttons go."""
    if asked.post is None:
        return
    chat = messages.get_conversation(asked.conversation_id).key.chat
    outbox.change_post(asked.post, _put(asked, chat, voice)[0], now=now)


def settle(asked: Asked, ruling: Ruling, voice: Voice, now: float) -> Asked | None:
    """Decide a request, or take it back, and show that; ``None`` when it waited no more."""
    if not records.rule(asked.id, ruling, now):
        return None
    found = records.find(asked.id)
    assert found is not None
    show(found, voice, now)
    return found


def withdraw_run(run_id: str, why: str, voice: Voice, now: float) -> None:
    """The run is over: nobody is asked any more for what it wanted."""
    for asked in records.waiting_of_run(run_id):
        settle(asked, Ruling("withdrawn", note=why), voice, now)


def withdraw_turn(turn_id: int, why: str, voice: Voice, now: float) -> None:
    """The same for all runs of a turn that is over."""
    for asked in records.waiting_of_turn(turn_id):
        settle(asked, Ruling("withdrawn", note=why), voice, now)


def whole(asked: Asked) -> str:
    """All there is to know of a request, as Markdown of any length."""
    return _text(asked, None, None)


def say_held(
    turn: Turn,
    engine: str,
    modes: tuple[Permission, Permission],
    able: Sequence[str],
    voice: Voice,
    now: float,
) -> None:
    """Tell a conversation, once, that an engine does less than it would be allowed to.

    ``modes`` are what is allowed and what the engine is held to; ``able`` the engines that could.
    """
    wanted, held = modes
    others = say("`--engine {name}` can be; or ", name=able[0]) if able else ""
    text = say(
        "🔒 {engine} cannot be held to **{wanted}**, so here it runs in **{held}** "
        "({meaning}). {others}another `permission` for this channel changes it.",
        engine=literal(engine),
        wanted=wanted,
        held=held,
        meaning=say(MEANING[held]),
        others=others,
    )
    chat = messages.get_conversation(turn.conversation_id).key.chat
    texts = voice(chat, text, "")
    if not outbox.said_in(turn.conversation_id, texts[0]):
        outbox.add_post(turn.conversation_id, "notice", texts, turn_id=turn.id, now=now)


def say_too_many(turn: Turn, run_id: str, voice: Voice, now: float) -> None:
    """Tell a conversation, once in a turn, that an agent asks for more than people are put to."""
    who = literal(seat_name(records.seat_of(run_id)), 60)
    text = say(
        "⛔ {who} asks for more than people can decide: what comes beyond that is denied. "
        "`!requests` shows what waits, `!stop` ends it.",
        who=who,
    )
    chat = messages.get_conversation(turn.conversation_id).key.chat
    texts = voice(chat, text, "")
    if not outbox.told_already(turn.id, texts[0]):
        outbox.add_post(turn.conversation_id, "notice", texts, turn_id=turn.id, now=now)


def cannot_be_held(wanted: Permission) -> str:
    """Why an engine is not run at all."""
    return say(
        "it cannot be held to “{wanted}”, which is all that is allowed here; ask another "
        "engine with --engine, or set another permission for this channel",
        wanted=wanted,
    )


MEANING: Mapping[Permission, str] = {
    "plan": to_say("it reads and changes nothing"),
    "ask": to_say("it asks for leave each time"),
    "edit": to_say("it may change files"),
    "full": to_say("it may run anything"),
}

# --- words -----------------------------------------------------------------------------------


def who_asks(asked: Asked) -> str:
    """The participant that asks, safe in our sentences."""
    return literal(seat_name(Participant(asked.engine, asked.persona)), 60)


def in_project(asked: Asked) -> str:
    """What it is about; files of the project without the project's folder. Commands stay whole."""
    about, home = asked.request.about, asked.cwd.rstrip("/") + "/"
    if asked.request.tool not in _CHANGES or len(home) < 2:
        return about
    return ", ".join(path.removeprefix(home) for path in about.split(", "))


def one_line(asked: Asked) -> str:
    """A request in a list."""
    request = asked.request
    what = in_project(asked) or does(request.tool) or request.tool
    if request.questions:
        what = request.questions[0].text
    return f"**#{asked.id}** {who_asks(asked)}: {literal(what, 120)}"


def outcome(asked: Asked) -> str:
    """What became of it, in one line; "" while it waits."""
    by, note = literal(asked.by, 60), literal(asked.note, 300)
    match asked.state:
        case "waiting":
            return ""
        case "once":
            return say("✅ Allowed once by {by}.", by=by)
        case "session":
            label = literal(asked.request.scope_label or asked.request.scope, 120)
            return say("✅ Allowed by {by} for this session: {label}.", by=by, label=label)
        case "deny":
            done = say("Not answered") if asked.request.kind == "question" else say("Denied")
            if note:
                return say("⛔ {done} by {by}: {note}", done=done, by=by, note=note)
            return say("⛔ {done} by {by}.", done=done, by=by)
        case "answer":
            picked = "; ".join(", ".join(answers) for answers in asked.answers)
            return say("💬 Answered by {by}: {picked}", by=by, picked=literal(picked, 600))
        case "expired":
            if asked.request.kind == "question":
                return say("⌛ Nobody answered in time.")
            return say("⌛ Nobody decided in time, so it was denied.")
        case "withdrawn":
            if not note:
                return say("⏹️ Not needed any more.")
            return say("⏹️ Not needed any more: {note}.", note=note)


def by_leave_text(used: Sequence[tuple[str, str, int]]) -> str:
    """What a run did by leave given before, for its thread; "" when it did nothing so."""
    if not used:
        return ""
    parts = [
        say(
            "{label} ({count}×, leave by {by})",
            label=literal(label, 120),
            count=count,
            by=literal(by, 60),
        )
        for label, by, count in used
    ]
    return say(
        "🔓 Not asked again, since it was allowed for this session: {all}. `!requests` "
        "lists what is allowed, `!revoke` ends it.",
        all="; ".join(parts),
    )


def code_block(text: str, limit: int | None = None) -> str:
    """Others' words in a code block that they cannot leave; what cannot be seen is spelled out.

    A direction mark in a command could make it read as another one.
    """
    shown = "".join(_visible(char) for char in text.replace("\r\n", "\n")).strip("\n")
    if limit is not None and len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{shown}\n{fence}"


def _visible(char: str) -> str:
    if char in "\n\t" or unicodedata.category(char) not in _UNSEEN:
        return char
    return f"\\u{{{ord(char):x}}}"


def _put(asked: Asked, chat: str, voice: Voice) -> tuple[str, ...]:
    """The message in one post: what does not fit is cut, and says so."""
    texts: tuple[str, ...] = ()
    for about, detail in _SIZES:
        texts = voice(chat, _text(asked, about, detail), "")
        if len(texts) == 1:
            break
    return texts


def _text(asked: Asked, about: int | None, detail: int | None) -> str:
    over = asked.state != "waiting"
    put = _questions(asked, about) if asked.request.kind == "question" else _wish(asked, about)
    more = asked.request.detail.strip()
    if over and detail is not None:
        detail = min(detail, _DECIDED_CHARS)
    if more and more != asked.request.about.strip():
        put += _block(asked, more, detail)
    put.append(outcome(asked) if over else _how(asked))
    return "\n\n".join(part for part in put if part)


def _wish(asked: Asked, limit: int | None) -> list[str]:
    request = asked.request
    whose = say(", on a question of {asker}", asker=literal(asked.asker, 60)) if asked.asker else ""
    tool = say(" to use **{tool}**", tool=literal(request.tool, 60)) if request.tool else ""
    tool = say(" to **{does}**", does=does(request.tool)) if does(request.tool) else tool
    head = say(
        "🔐 **#{id}** · {who_asks} asks leave{tool}{whose}:",
        id=asked.id,
        who_asks=who_asks(asked),
        tool=tool,
        whose=whose,
    )
    about = in_project(asked)
    return [head, *_block(asked, about, limit)] if about.strip() else [head]


def _block(asked: Asked, text: str, limit: int | None) -> list[str]:
    """Others' words in a block; where they are cut, that is said right there."""
    if limit is None or len(text) <= limit:
        return [code_block(text)]
    shown = [code_block(text, limit)] if limit else []
    where = say("Cut here") if limit else say("More is not shown here")
    return [*shown, say("✂️ {where}; `!requests {id}` shows all of it.", where=where, id=asked.id)]


def _questions(asked: Asked, limit: int | None) -> list[str]:
    parts = [say("❓ **#{id}** · {who_asks} wants to know:", id=asked.id, who_asks=who_asks(asked))]
    many = len(asked.request.questions) > 1
    for number, question in enumerate(asked.request.questions, 1):
        head = f"{number}. " if many else ""
        most = limit or 4_000
        lines = [f"> {head}{literal(question.text, most)}"]
        if len(question.text) > most:
            lines.append(say("> ✂️ Cut here; `!requests {id}` shows all of it.", id=asked.id))
        for at, (label, told) in enumerate(question.options, 1):
            about = f": {literal(told, min(limit or 400, 200))}" if told else ""
            lines.append(f"> - {at} = **{literal(label, 80)}**{about}")
        if question.several:
            lines.append(say("> - several may be picked"))
        parts.append("\n".join(lines))
    return parts


def _how(asked: Asked) -> str:
    number, request = asked.id, asked.request
    if request.kind == "question":
        if len(request.questions) > 1:
            return say(
                "Or type `!answer {number}` with a line for each question (numbers or words).",
                number=number,
            )
        return say("Or type `!answer {number} …` with a number or your own words.", number=number)
    lines: list[str] = []
    if offers_session(asked):
        label = literal(request.scope_label or request.scope, 160)
        lines.append(say("“Allow for this session” covers: {label}.", label=label))
    session = f", `!allow {number} session`" if offers_session(asked) else ""
    lines.append(
        say(
            "Or type `!allow {number}`{session} or `!deny {number} reason`.",
            number=number,
            session=session,
        )
    )
    return "\n".join(lines)


def offers_session(asked: Asked) -> bool:
    """Whether it can be allowed for the session: its engine names a scope and keeps a session."""
    return asked.request.kind == "permission" and bool(asked.request.scope and asked.session)


def picks_by_button(questions: tuple[AskedQuestion, ...]) -> bool:
    """Whether one press answers all that is asked."""
    if len(questions) != 1 or questions[0].several:
        return False
    return 0 < len(questions[0].options) <= MAX_OPTION_BUTTONS


def _buttons(asked: Asked) -> tuple[Button, ...]:
    def button(verb: str, label: str, style: str = "plain") -> Button:
        return Button(f"req:{asked.id}:{verb}", label, style)  # type: ignore[arg-type]

    if asked.request.kind == "question":
        questions = asked.request.questions
        made: list[Button] = []
        if picks_by_button(questions):
            labels = [_label(label) for label, _ in questions[0].options]
            made = [button(f"o{at}", label) for at, label in enumerate(labels)]
        if made:
            made.append(button("form", say("Other…")))
        else:
            made.append(button("form", say("Answer…"), "primary"))
        return (*made, button("deny", say("Do not answer"), "danger"))
    session = (button("session", say("Allow for this session")),) if offers_session(asked) else ()
    return (
        button("once", say("Allow once"), "primary"),
        *session,
        button("deny", say("Deny"), "danger"),
    )


def _label(text: str) -> str:
    line = " ".join(text.split()) or "…"
    return line if len(line) <= MAX_LABEL_CHARS else line[: MAX_LABEL_CHARS - 1] + "…"
