"""Who speaks next: one pure question for a mention, a roundtable and a pull alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from core.model import Message, Run, Step, Turn

MAX_HOPS = 2
MAX_ATTEMPTS = 2
# What a next round cannot change: somebody has to install, sign in or set something first.
LASTING = frozenset(("missing-binary", "auth", "bad-config", "bad-model"))


def next_steps(
    turn: Turn,
    runs: Sequence[Run],
    messages: Sequence[Message] = (),  # noqa: ARG001 - interjections and skips are decided here later
    *,
    max_hops: int = MAX_HOPS,
) -> tuple[Step, ...]:
    """What is to be run now so that ``turn`` goes on; ``()`` when nothing is left to run.

    The rule, from rows alone, so that normal progress and a restart are the same code:

    - A turn is a table of seats x rounds. A mention is one seat and one round (``turn.rounds`` is
      read for a roundtable only). Round by round, in the order of the seats, the first seat that
      is not settled speaks. A turn that is done, failed or cancelled has no next step.
    - A seat starts with hop 0. An answer with pulls leads to the next hop of the same seat while
      ``hop < max_hops``; an answer without pulls, or at ``max_hops``, settles the seat.
    - A failed or cancelled run settles its seat, so that the others go on. A seat whose engine is
      missing, not signed in or wrongly set up (``LASTING``) is absent from the later rounds too.
    - A run that a crash cut off is made again once (the same step, ``attempt`` 2) if it could not
      write; otherwise the seat is settled, and the caller tells the thread.
    - An open run counts as cut: whoever asks holds the turn and has waited for its runs, so a run
      that is still open belongs to an earlier life. Mark it ``cut`` before opening the next one.

    Given steps are independent of each other and may run at once. Today there is at most one;
    parallel rounds will give several.

    Args:
        turn: the question and its table.
        runs: all runs of this turn, in any order; the last attempt of a step speaks for it.
        messages: what was said in the conversation; not read yet (people's interjections).
        max_hops: follow-ups allowed for one seat in one round.
    """
    if turn.state not in ("queued", "running"):
        return ()
    last = _last_attempts(runs)
    rounds = turn.rounds if turn.kind == "roundtable" else 1
    absent = {r.step.seat: r.step.round for r in runs if r.outcome in LASTING}
    for round_, seat in product(range(rounds), range(len(turn.seats))):
        if absent.get(seat, round_) < round_:
            continue
        step = _unsettled(last, round_, seat, max_hops)
        if step is not None:
            return (step,)
    return ()


def _unsettled(
    last: dict[Step, tuple[Run, int]], round_: int, seat: int, max_hops: int
) -> Step | None:
    """The step this seat still owes in this round, if any."""
    for hop in range(max_hops + 1):
        step = Step(round_, seat, hop)
        if step not in last:
            return step
        run, attempts = last[step]
        if run.state in ("cut", "open"):
            again = attempts < MAX_ATTEMPTS and not run.can_write
            return step if again else None
        if run.state != "answered" or not run.pulls:
            return None
    return None


def _last_attempts(runs: Sequence[Run]) -> dict[Step, tuple[Run, int]]:
    """The last attempt of each step, and how many there were."""
    last: dict[Step, tuple[Run, int]] = {}
    for run in runs:
        before, count = last.get(run.step, (run, 0))
        newest = run if run.attempt >= before.attempt else before
        # Counted as well as read: rows with a wrong attempt must not make a turn endless.
        last[run.step] = (newest, max(count + 1, newest.attempt))
    return last
