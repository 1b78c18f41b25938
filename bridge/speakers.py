"""What people do to a roundtable that talks or waits: skip a speaker, let it go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.minutes import let_go_text, show_names
from core.model import Conversation, Reply, Run, Turn
from core.records import runs, turns
from core.table import speaker
from core.tongue import say, to_say
from core.turns.rounds import decided, show_header, skip
from core.words import seat_name

if TYPE_CHECKING:
    from bridge.acts import Acts

NOT_A_TABLE = to_say("Only a roundtable has speakers to skip. `!stop` ends what runs here.")
NOBODY = to_say("Nobody speaks at this roundtable just now.")


def next_speaker(acts: Acts, conversation: Conversation, name: str) -> Reply | None:
    """``!next``: skip whoever speaks now, or the one who is named."""
    at_work = [t for t in turns.waiting(conversation.id) if t.state in ("running", "parked")]
    tables = [t for t in at_work if t.kind == "roundtable"]
    if not tables:
        waits = any(t.kind == "roundtable" for t in turns.waiting(conversation.id))
        return Reply(say(NOBODY) if waits else say(NOT_A_TABLE))
    turn = tables[0]
    speaking = _speaking(turn)
    chosen = [run for run in speaking if not name or name.casefold() in _names(turn, run)]
    if speaking and not chosen:
        names = show_names(speaker(turn, run.step, runs.runs_of(turn.id)) for run in speaking)
        return Reply(say("Nobody of that name speaks just now; it is {names}'s turn.", names=names))
    return _skip(acts, turn, chosen)


def next_of(acts: Acts, turn: Turn, round_: int, seat: int) -> Reply | None:
    """The ``Next`` button: skip this seat's speaker of this round, whoever else speaks."""
    here = (round_, seat)
    return _skip(acts, turn, [r for r in _speaking(turn) if (r.step.round, r.step.seat) == here])


def go_on(acts: Acts, turn: Turn) -> Reply | None:
    """The ``Go on`` button: a roundtable over its budget is held after all."""
    if not turns.confirm(turn):
        return Reply(say("It is not waiting any more."))
    acts.touch(f"turn {turn.id}")
    acts.queued = acts.owes = True
    fresh = turns.get_turn(turn.id)
    assert fresh is not None
    show_header(fresh, acts.voice, acts.now)
    decided(fresh, let_go_text(fresh, acts.event.author.name), acts.voice, acts.now)
    return Reply(say("It goes on."))


def _speaking(turn: Turn) -> list[Run]:
    return [run for run in runs.runs_of(turn.id) if run.state in ("open", "parked")]


def _names(turn: Turn, run: Run) -> set[str]:
    """What a speaker may be called: persona, engine, or both, as typed or as shown."""
    seat = speaker(turn, run.step, runs.runs_of(turn.id))
    names = (seat.name, seat.engine, f"{seat.persona}:{seat.engine}", seat_name(seat))
    return {text.casefold() for text in names if text}


def _skip(acts: Acts, turn: Turn, chosen: Sequence[Run]) -> Reply | None:
    who = acts.event.author.name
    skipped = [run for run in chosen if skip(turn, run, who, acts.voice, acts.now)]
    if not skipped:
        return Reply(say(NOBODY))
    acts.touch(f"turn {turn.id}")
    acts.skipped += [(turn.id, run.step) for run in skipped]
    acts.owes = True
    acts.queued = turns.unpark(turn.id) or acts.queued
    return None if acts.event.kind == "message" else Reply(say("Skipped."))
