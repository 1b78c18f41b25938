"""The stages of the path, each with the log line (or the request) at which the process dies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from tests.crash.questions import People

Act = Callable[[People], Awaitable[Any]]
Line = dict[str, Any]


@dataclass(frozen=True)
class Stage:
    """Once ``lines`` have passed after ``act`` began, the process kills itself.

    ``wire`` is a request and a pattern of its text instead: it took effect and is never answered.
    ``recovering`` stages happen at the start of a life, and need a run that the one before left.
    """

    name: str
    lines: tuple[Line, ...] = ()
    act: Act = People.two
    wire: tuple[str, str] = ("", "")
    recovering: bool = False


def at(event: str, *, same: str = "", **where: Any) -> Line:
    """A log line to wait for; ``same`` names what it shares with the line before."""
    return {"event": event, "where": where, "same": [same] if same else []}


def post(moment: str, kind: str, op: str = "post", same: str = "") -> Line:
    """``moment`` of an outgoing row: sending (before the request), sent (after), marked (a row)."""
    return at(f"post.{moment}", kind=kind, op=op, same=same)


HOP = at("run.opened", hop=1)
LAST_SEAT = at("run.opened", round=1, seat=1)
SYNTHESIS = at("run.opened", round=2, seat=2)
PRESSED = at("event.accepted", kind="button")
ENDS = r"so far[\s\S]*The end of q"
RUNNING = Stage("process recorded and working", (at("run.spawned"),))

STAGES = (
    Stage("event taken, not committed", (at("turn.queued"),)),
    Stage("event committed, not acknowledged", (at("event.accepted", kind="message"),)),
    Stage("turn claimed", (at("turn.claimed"),)),
    Stage("run about to be a row", (at("run.starting"),)),
    Stage("run is a row, no process", (at("run.opened"),)),
    Stage("process started, not recorded", (at("run.started"),)),
    RUNNING,
    Stage("process answered and gone", (at("run.exited"),)),
    Stage("answer is rows, not posted", (at("run.closed"),)),
    Stage("turn ended", (at("turn.ended"),)),
    Stage("status about to be posted", (post("sending", "status"),)),
    Stage("status posted, not marked", (post("sent", "status"),)),
    Stage("status on the wire", wire=("post", "is working")),
    Stage("status marked", (post("marked", "status"),)),
    Stage(
        "status about to be withdrawn",
        (PRESSED, post("sending", "status", "delete")),
        People.stop,
    ),
    Stage(
        "status withdrawn, not marked",
        (PRESSED, post("sent", "status", "delete")),
        People.stop,
    ),
    Stage("answer grows, on the wire", wire=("edit", "so far"), act=People.growing),
    Stage("message becomes the answer, on the wire", wire=("edit", ENDS), act=People.growing),
    Stage("answer about to be posted", (post("sending", "answer"),)),
    Stage("answer on the wire", wire=("post", "You asked")),
    Stage("answer posted, not marked", (post("sent", "answer"),)),
    Stage("answer marked", (post("marked", "answer"),)),
    Stage("between two posts of an answer", wire=("post", "(?m)^line 9$"), act=People.long),
    Stage("roundtable: header posted, not marked", (post("sent", "header"),), People.roundtable),
    Stage(
        "roundtable: header edited, not marked",
        (post("sent", "header", "edit"),),
        People.roundtable,
    ),
    Stage(
        "roundtable: second seat starting",
        (at("run.opened", seat=1), at("run.started", same="run")),
        People.roundtable,
    ),
    Stage(
        "roundtable: last seat working",
        (LAST_SEAT, at("run.spawned", same="run")),
        People.roundtable,
    ),
    Stage(
        "roundtable: ended, header not final",
        (LAST_SEAT, at("turn.ended", same="turn")),
        People.roundtable,
    ),
    Stage(
        "round at once: one ready and kept, the other working",
        (at("run.opened", round=0), at("run.closed")),
        People.at_once,
    ),
    Stage(
        "round at once: second round, both working",
        (at("run.opened", round=1), at("run.opened", round=1), at("run.spawned", same="run")),
        People.at_once,
    ),
    Stage(
        "synthesis working",
        (SYNTHESIS, at("run.spawned", same="run")),
        People.at_once,
    ),
    Stage(
        "synthesis is rows, the end not said",
        (SYNTHESIS, at("run.closed", same="run")),
        People.roundtable,
    ),
    Stage("pull about to be shown", (post("sending", "pull"),), People.pull),
    Stage("pull shown, not marked", (post("sent", "pull"),), People.pull),
    Stage("follow-up is a row", (HOP,), People.pull),
    Stage("follow-up working", (HOP, at("run.spawned", same="run")), People.pull),
    Stage("follow-up answered, not written", (HOP, at("run.exited", same="run")), People.pull),
    Stage("command committed, no thread", (at("event.accepted", kind="command"),), People.command),
    Stage("thread opened, on the wire", (), People.command, wire=("post", "asks:")),
    Stage("thread opened, not marked", (post("sent", "header"),), People.command),
    Stage("thread marked", (post("marked", "header"),), People.command),
    Stage("run that may write: working", (at("run.spawned"),), People.may_write),
    Stage("run that may write: answered", (at("run.exited"),), People.may_write),
    Stage("stop committed, process alive", (PRESSED,), People.stop),
    Stage("stop said, not marked", (PRESSED, post("sent", "notice")), People.stop),
    Stage("recovery: child not ended", (at("leftover.ending"),), recovering=True),
    Stage("recovery: child ended, run open", (at("leftover.ended"),), recovering=True),
    Stage("recovery: run cut, turn running", (at("run.cut"),), recovering=True),
    Stage("recovery: turns queued again", (at("turns.requeued"),), recovering=True),
    Stage("recovery: second attempt working", (at("run.spawned"),), recovering=True),
)

ANY_MOMENT = Stage("any moment")

# Where Discord differs: the nonce decides, a thread is made apart, nothing is delivered again.
ON_BOTH = frozenset(
    (
        "event committed, not acknowledged",
        "process recorded and working",
        "answer is rows, not posted",
        "status posted, not marked",
        "status on the wire",
        "answer on the wire",
        "answer posted, not marked",
        "between two posts of an answer",
        "answer grows, on the wire",
        "message becomes the answer, on the wire",
        "roundtable: header posted, not marked",
        "pull shown, not marked",
        "thread opened, on the wire",
        "thread opened, not marked",
        "stop committed, process alive",
        "recovery: run cut, turn running",
    )
)

# Where no platform differs, and Slack has enough to do.
ON_DISCORD_ONLY = frozenset(
    (
        "event taken, not committed",
        "turn claimed",
        "run about to be a row",
        "run is a row, no process",
        "process started, not recorded",
        "process answered and gone",
        "turn ended",
        "roundtable: second seat starting",
        "roundtable: ended, header not final",
        "roundtable: last seat working",
        "synthesis working",
        "synthesis is rows, the end not said",
        "follow-up is a row",
        "follow-up answered, not written",
        "run that may write: answered",
        "recovery: child not ended",
        "recovery: child ended, run open",
        "recovery: turns queued again",
    )
)


def of(platform: str) -> list[Stage]:
    """The stages that are tried there."""
    here = ON_BOTH | ON_DISCORD_ONLY
    return [
        stage
        for stage in STAGES
        if (stage.name in here if platform == "discord" else stage.name not in ON_DISCORD_ONLY)
    ]
