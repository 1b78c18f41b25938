"""What Moot itself says in a thread. Markdown; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, tzinfo

from core.model import Button, InRunPull, Participant, PulledResult, Turn
from core.redact import redact
from core.tongue import say, say_many, to_say

HELP = (
    to_say(
        "Mention me with a question and I answer in the thread; in a thread I take part in, "
        "just write."
    ),
    "",
    to_say(
        "- `!ask question` asks; add `--engine codex`, `--as critic`, `--model NAME`, "
        "`--mode full` or `--permission plan` (the agent only reads)"
    ),
    to_say(
        "- `!rt topic` opens a roundtable; add `--with architect:claude,critic:codex --rounds 2`"
    ),
    to_say(
        "- `!stop` ends what runs and waits in this thread; `!next` skips who speaks at a "
        "roundtable"
    ),
    to_say(
        "- `!status` shows what runs and waits; `!usage` what was used, `!usage budgets` "
        "what may be"
    ),
    to_say("- `!permission` shows what agents may do here, and why"),
    to_say(
        "- `!requests` lists what agents ask; `!allow 7`, `!allow 7 session`, `!deny 7 "
        "reason`, `!answer 7 …` decide"
    ),
    to_say(
        "- `!recall question` finds what was said, with who, when and where, for your eyes; "
        "`!mark 12 wrong` or `!mark 12 outdated` says so of a message"
    ),
    to_say(
        "- `!forget #12` has me forget a message, `!forget thread` this thread, `!forget me` "
        "all you said"
    ),
    to_say("- `!resend` tries what could not be posted once more, or brings it to you directly"),
    to_say("- `!context` shows what the last run was told; `!context RUN` another one"),
    to_say("- `!mode full` gives this thread's questions more context; `!mode` shows it"),
    to_say(
        "- `!resume` shows how to go on in a terminal, `!continue` brings a terminal's session here"
    ),
    to_say(
        "- `!plan`, `!finding`, `!artifact`, `!decisions`, `!link`, `!branch`: see `!help plans`"
    ),
    to_say("- `!language ko` has me speak Korean in this channel, `!language` shows what I speak"),
    to_say("- `!help` shows this"),
    "",
    to_say(
        "As slash commands: `/ask`, `/roundtable`, `/recall`, `/moot stop` … on Slack "
        "(inside a thread only with `!`), `/ask`, `/roundtable`, `/recall`, `/stop` … on "
        "Discord."
    ),
)
"""What can be typed, line by line (``say_lines``)."""

HELP_TEAM = (
    to_say("What a team keeps, each with a number; a word alone lists."),
    "",
    to_say(
        "- `!plan new TITLE` with subtasks on further lines; `!plan show 3`, `!plan approve "
        "3`, `!plan reject 3`, `!plan start 3.1`, `!plan done 3.1`"
    ),
    to_say("- `!finding add [security/high] text`; `!finding close 4`"),
    to_say("- `!artifact add TITLE` with the text on further lines; `!artifact show 2`"),
    to_say("- `!decisions` shows what roundtables settled"),
    to_say(
        "- `!link LINK-TO-A-THREAD` lets two threads know of each other; `!unlink 12` ends that"
    ),
    to_say(
        "- `!branch title` goes on in a new thread from here, `!branch LINK-TO-A-MESSAGE "
        "title` from there; in it, `!branch adopt` brings the outcome back and `!branch "
        "discard` closes it"
    ),
)
"""The same of what a team keeps."""


# What a reaction under a question says, in the order in which it happens.
REACTIONS = ("seen", "working", "waiting", "done", "failed")

DELETED = to_say("the question was deleted")
# Controls, and what turns the direction of the rest of a line, which is ours.
_TURNS = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_ADDRESS = re.compile(r"https?://[^\s<>|\\`\[\]]+", re.IGNORECASE)
_AFTER = tuple(".,;:!?\"'*_~")
MOMENT = "moot-time:"
"""How the address of a ``moment`` begins; UTC seconds follow."""
_MOMENT_LINK = re.compile(rf"\[([^\]]*)\]\({MOMENT}\d+\)")
_STATES = {
    "held": to_say("held"),
    "parked": to_say("parked"),
    "queued": to_say("queued"),
    "running": to_say("running"),
}
_CUT_ADDRESS = re.compile(r"https?://([^\s<>|\\`\[\]]*)$", re.IGNORECASE)

FRESH = {
    "session-lost": (
        to_say("The engine's own session was gone: it was started afresh with the full context.")
    ),
    "context-too-long": (
        to_say("The engine's own session was full: it was started afresh with the full context.")
    ),
    "failing": (
        to_say(
            "The engine's own session broke off twice in a row: it was started afresh with "
            "the full context."
        )
    ),
    "in use": (
        to_say(
            "The engine's own session is used by another run on this host, so this was "
            "answered in a new one with the full context. The next question goes back to it."
        )
    ),
    "in a terminal": (
        to_say(
            "The engine's own session is open in a terminal on the host, so this was "
            "answered in a new one with the full context. Once it is closed there, questions "
            "go back to it."
        )
    ),
    "reduced": to_say(
        "This was too long for the model: it was asked again with half of the context."
    ),
}
"""What a thread is told when a question had to be put another way, by what was the matter."""


def say_lines(lines: Iterable[str]) -> str:
    """Lines that were marked with ``to_say``, each looked up by itself."""
    return "\n".join(say(line) for line in lines)


_NOTICES = tuple("⏳⏸⚠🔒🔎📎")


def is_notice(text: str) -> bool:
    """Whether a post of ours told how things stand, and was nobody's answer."""
    return text.lstrip().startswith(_NOTICES)


def stop_button(turn_id: int) -> Button:
    """Ends the turn."""
    return Button(f"stop:{turn_id}", say("Stop"), "danger")


def retry_button(turn_id: int) -> Button:
    """Puts the turn's question once more."""
    return Button(f"retry:{turn_id}", say("Retry"), "primary")


def anyway_button(turn_id: int) -> Button:
    """Puts the turn's question once more to an engine that rests."""
    return Button(f"anyway:{turn_id}", say("Try anyway"))


def other_buttons(turn_id: int, others: Sequence[str]) -> tuple[Button, ...]:
    """Put the turn's question to another engine."""
    named = others[:3]
    return tuple(
        Button(f"other:{turn_id}:{name}", say("Ask {name}", name=name), "primary") for name in named
    )


def ask_others_text(others: Sequence[str]) -> str:
    """The same to type."""
    return say(" `!ask --engine {engine} …` asks {engine}.", engine=others[0]) if others else ""


def seat_name(seat: Participant) -> str:
    """``architect (claude)``, or just the engine's name."""
    return f"{seat.persona} ({seat.engine})" if seat.persona else seat.engine


def label_of(turn: Turn, seat: Participant, round_number: int) -> str:
    """The line above an answer that says who speaks. Plain text."""
    name = seat_name(seat)
    if turn.kind != "roundtable":
        return name if not turn.by_bot else say("{name} · asked by a bot", name=name)
    if round_number >= turn.rounds:
        return say("{name} · synthesis", name=name)
    return say(
        "{name} · round {round_number}/{rounds}",
        name=name,
        round_number=round_number + 1,
        rounds=turn.rounds,
    )


def status_text(name: str, doing: str, elapsed_s: float, waits: str = "") -> str:
    """The status message of a run; one that ``waits`` for people says for what."""
    if waits:
        return f"⏸️ {name} · {waits}"
    clock = clock_text(elapsed_s)
    what = f" · {doing}" if doing else ""
    return say("⏳ {name} is working · {clock}{what}", name=name, clock=clock, what=what)


def clock_text(elapsed_s: float) -> str:
    """How long something took or takes: ``3 min 05 s``."""
    minutes, seconds = divmod(int(elapsed_s), 60)
    if not minutes:
        return say("{seconds} s", seconds=seconds)
    return say("{minutes} min {seconds:02d} s", minutes=minutes, seconds=seconds)


def say_status(waiting: Sequence[Turn], owed: int, dead: int, now: float) -> str:
    """What ``!status`` answers."""
    lines: list[str] = []
    for turn in waiting:
        seats = ", ".join(seat_name(seat) for seat in turn.seats)
        age = int(now - turn.queued_at)
        what = literal(turn.prompt, 80) if turn.prompt else f"*{say(DELETED)}*"
        lines.append(
            say(
                "- {state}, {age} s: {what} → {seats} (asked by {asker})",
                state=say(_STATES.get(turn.state, turn.state)),
                age=age,
                what=what,
                seats=seats,
                asker=literal(turn.asker),
            )
        )
    text = "\n".join(lines) if lines else say("Nothing runs or waits here.")
    if owed:
        text += say("\n\nPosts on their way in all threads: {owed}.", owed=owed)
    if dead:
        text += say("\n\nPosts that could not be delivered: {dead} (see the log).", dead=dead)
    return text


def pulled_text(pulled: Sequence[PulledResult]) -> str:
    """The small post that shows what an agent looked up: what was asked, how much was found."""
    return _looked_up(
        (item.pull.kind, item.pull.query, len(item.hits), item.note) for item in pulled
    )


def in_run_text(pulled: Sequence[InRunPull]) -> str:
    """The same for what it looked up while it worked."""
    return _looked_up((item.kind, item.query, item.hits, item.note) for item in pulled)


def _looked_up(items: Iterable[tuple[str, str, int, str]]) -> str:
    lines = [
        f"🔎 {literal(kind, 20)}: “{literal(query, 120)}” · {note or _found(hits)}"
        for kind, query, hits, note in items
    ]
    return "\n".join(f"- {line}" for line in lines) if len(lines) > 1 else "".join(lines)


def _found(hits: int) -> str:
    return say("{count} found", count=hits)


_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400


def ago(then: float, now: float, *, minutes: bool = True) -> str:
    """How long ago, in words: the reader's clock may be in another zone.

    Without ``minutes`` what is told stays the same for an hour at least.
    """
    seconds = max(0.0, now - then)
    days = int(seconds // _DAY_S)
    if days >= 2 * 365:
        return say_many("{count} year ago", "{count} years ago", days // 365)
    if days >= 2 * 30:
        return say_many("{count} month ago", "{count} months ago", days // 30)
    if days:
        return say_many("{count} day ago", "{count} days ago", days)
    if seconds >= _HOUR_S:
        return say_many("{count} hour ago", "{count} hours ago", int(seconds // _HOUR_S))
    if not minutes:
        return say("within the hour")
    if seconds >= _MINUTE_S:
        return say_many("{count} minute ago", "{count} minutes ago", int(seconds // _MINUTE_S))
    return say("just now")


def moment(at: float, zone: tzinfo | None = None) -> str:
    """A time as every reader sees it in their own zone: a link that the renderers know.

    ``at`` in UTC seconds. What it reads where it stays a text names its zone: ``zone``, or UTC.
    """
    there = datetime.fromtimestamp(at, zone or UTC)
    name = there.tzname() or ""
    return f"[{there:%Y-%m-%d %H:%M} {name}]({MOMENT}{int(at)})"


def without_moments(text: str) -> str:
    """A text for where nothing is rendered: of each ``moment`` what it reads, zone and all."""
    return _MOMENT_LINK.sub(r"\1", text)


def literal(text: str, limit: int = 80) -> str:
    """Somebody's words or name inside our Markdown: one line, shown as written, never markup.

    An address stays whole and leads where it says; one that is cut leads nowhere. Secrets are taken
    out here: cut or escaped they are not recognised by whoever looks for them later.
    """
    line = " ".join(redact(_TURNS.sub("", text)).split())
    if len(line) > limit:
        line = _CUT_ADDRESS.sub(r"\1", line[: limit - 1]) + "…"
    shown: list[str] = []
    at = 0
    for match in _ADDRESS.finditer(line):
        address = _whole(match[0])
        if address.endswith("//"):
            continue
        shown += [_escaped(line[at : match.start()]), f"<{address}>"]
        at = match.start() + len(address)
    text = "".join((*shown, _escaped(line[at:])))
    return re.sub(r"^(?=[-+=])|^([0-9]{1,9})(?=[.)])", r"\1\\", text)


def quoted(text: str) -> str:
    """Somebody's words below a line of ours, their Markdown kept: no line of them is one of ours.

    A single line stays in the line.
    """
    lines = text.splitlines()
    return "\n\n" + "\n".join(f"> {one}".rstrip() for one in lines) if len(lines) > 1 else text


def one_line(text: str, limit: int = 80) -> str:
    """Somebody's words as a name for a thread: plain text, one line."""
    line = " ".join(_TURNS.sub("", text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _whole(address: str) -> str:
    """An address without what belongs to the sentence around it."""
    while address.endswith(_AFTER) or (
        address.endswith(")") and address.count(")") > address.count("(")
    ):
        address = address[:-1]
    return address


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|~!&])", r"\\\1", text)
