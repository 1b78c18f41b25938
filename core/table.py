"""Who speaks next: one pure question for a mention, a roundtable and a pull alike."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from core.blocks import Position
from core.model import Message, Participant, Run, Step, Turn

MAX_HOPS = 2
MAX_ATTEMPTS = 2
# What a next round cannot change: somebody has to install, sign in or set something first, and a
# quota lasts for hours.
LASTING = frozenset(("missing-binary", "auth", "bad-config", "bad-model", "quota"))


def next_steps(
    turn: Turn,
    runs: Sequence[Run],
    messages: Sequence[Message] = (),
    *,
    max_hops: int = MAX_HOPS,
    running: Collection[Step] = (),
) -> tuple[Step, ...]:
    """What is to be run now so that ``turn`` goes on; ``()`` when nothing is left to run.

    The rule, from rows alone, so that normal progress and a restart are the same code:

    - A turn is a table of seats x rounds. A mention is one seat and one round (``turn.rounds`` is
      read for a roundtable only). A round is over when every seat is settled in it. In sequential
      order the first seat that is not settled speaks; else all of them speak at once. A turn that
      is held, done, failed or cancelled has no next step.
    - A seat starts with hop 0. An answer with pulls leads to the next hop of the same seat while
      ``hop < max_hops``; an answer without pulls, or at ``max_hops``, settles the seat. Blocks
      that did not parse (``run.faults``) lead to a hop as well, once in a chain.
    - A failed, skipped or cancelled run settles its seat, so that the others go on. A seat whose
      engine is missing, not signed in, wrongly set up or out of quota (``LASTING``) is absent from
      the later rounds too.
    - A run that a crash cut off is made again once (the same step, ``attempt`` 2) if it could not
      write; otherwise the seat is settled, and the caller tells the thread.
    - A run that was parked (it waited for people when a crash ended it) is made again.
    - Once all who spoke in a round agree (``agreed``), the later rounds are left out, if
      ``rules.early_stop``; not while somebody said something that no participant was shown yet,
      and not once one of them has begun.
    - A roundtable that would send more than ``rules.cap_chars`` with its next runs begins no more
      of them (``capped``). ``confirmed`` lifts the cap.
    - Once a budget of the house is used up (``rules.spent``), only follow-ups of what was begun
      come, and no synthesis.
    - After the last round comes the synthesis, if anybody spoke and somebody is to sum up.

    Given steps are independent of each other and may run at once; never two of one seat.

    Args:
        turn: the question and its table.
        runs: all runs of this turn, in any order; the last attempt of a step speaks for it.
        messages: what people said while the table talked, addressed to nobody.
        max_hops: follow-ups allowed for one seat in one round.
        running: steps that run now, in this life of Moot. Any other run that is open belongs to
            an earlier life and counts as cut: mark it so before opening the next one.
    """
    if turn.state not in ("queued", "running"):
        return ()
    course = Course(turn, runs, max_hops, frozenset(running))
    for round_ in range(course.rounds):
        owed, busy = course.owed(round_)
        if turn.rules.spent and (owed or busy):
            return tuple(step for step in owed if step.hop)
        if owed or busy:
            if owed and not busy and capped(turn, runs, len(owed)):
                break
            return _at_once(turn, owed, busy=busy, runs=runs)
        # What was decided once stays so: a later round that has begun is held to its end.
        last = not any(round_ < run.step.round < course.rounds for run in runs)
        all_agree = turn.rules.early_stop and last and agreed(turn, runs, round_)
        if all_agree and not unread(turn, runs, messages):
            break
    if turn.rules.spent:
        return tuple(step for step in course.synthesis() if step.hop)
    return course.synthesis()


def _at_once(
    turn: Turn, owed: tuple[Step, ...], *, busy: bool, runs: Sequence[Run]
) -> tuple[Step, ...]:
    if turn.kind != "roundtable" or turn.rules.order == "sequential":
        return () if busy else owed[:1]
    return () if busy and owed and capped(turn, runs, len(owed)) else owed


@dataclass(frozen=True, slots=True)
class Course:
    """How far a turn has come: which seats are settled in which round."""

    turn: Turn
    runs: Sequence[Run]
    max_hops: int = MAX_HOPS
    running: frozenset[Step] = frozenset()

    @property
    def rounds(self) -> int:
        """How many rounds there may be."""
        return self.turn.rounds if self.turn.kind == "roundtable" else 1

    def owed(self, round_: int) -> tuple[tuple[Step, ...], bool]:
        """The steps that seats owe in this round, in their order; and whether any runs now."""
        last = last_attempts(self.runs)
        absent = absences(self.runs)
        owed: list[Step] = []
        busy = {step.seat for step in self.running if step.round == round_}
        for seat in range(len(self.turn.seats)):
            if seat in busy or absent.get(seat, round_) < round_:
                continue
            step = unsettled(last, round_, seat, self.max_hops)
            if step is not None:
                owed.append(step)
        return tuple(owed), bool(busy)

    def synthesis(self) -> tuple[Step, ...]:
        """The step that sums up, if there is one to be made."""
        turn = self.turn
        if turn.kind != "roundtable" or turn.rules.synthesizer is None or self.running:
            return ()
        if not any(spoke(run) for run in self.runs if run.step.round < turn.rounds):
            return ()
        last = last_attempts(self.runs)
        step = unsettled(last, turn.synthesis.round, turn.synthesis.seat, self.max_hops)
        return () if step is None else (step,)

    def settled(self, round_: int, seat: int) -> bool:
        """Whether nothing more is to come from this seat in this round."""
        if any((step.round, step.seat) == (round_, seat) for step in self.running):
            return False
        absent = absences(self.runs).get(seat, round_) < round_
        return absent or unsettled(last_attempts(self.runs), round_, seat, self.max_hops) is None


def unsettled(
    last: dict[Step, tuple[Run, int]], round_: int, seat: int, max_hops: int
) -> Step | None:
    """The step this seat still owes in this round, if any."""
    told_back = False
    for hop in range(max_hops + 1):
        step = Step(round_, seat, hop)
        if step not in last:
            return step
        run, attempts = last[step]
        if run.state == "parked":
            return step
        if run.state in ("cut", "open"):
            again = attempts < MAX_ATTEMPTS and not run.can_write
            return step if again else None
        if run.state != "answered" or not (run.pulls or (run.faults and not told_back)):
            return None
        told_back = told_back or bool(run.faults)
    return None


def last_attempts(runs: Sequence[Run]) -> dict[Step, tuple[Run, int]]:
    """The last attempt of each step, and how many there were."""
    last: dict[Step, tuple[Run, int]] = {}
    for run in runs:
        before, count = last.get(run.step, (run, 0))
        newest = run if run.attempt >= before.attempt else before
        # Counted as well as read: rows with a wrong attempt must not make a turn endless.
        last[run.step] = (newest, max(count + 1, newest.attempt))
    return last


def absences(runs: Sequence[Run]) -> dict[int, int]:
    """Seats that sit out what comes after a round, with that round."""
    absent: dict[int, int] = {}
    for run in runs:
        if run.outcome in LASTING:
            absent[run.step.seat] = min(run.step.round, absent.get(run.step.seat, run.step.round))
    return absent


# --- where a roundtable stands -----------------------------------------------------------


def waits(turn: Turn, step: Step) -> bool:
    """Whether what comes of a step is posted in the order of the seats, not at once."""
    at_once = turn.kind == "roundtable" and turn.rules.order != "sequential"
    return at_once and step.round < turn.rounds


def spoke(run: Run) -> bool:
    """Whether an answer came of a run, and not only silence."""
    return run.state == "answered" and bool(run.answer.strip() or run.position)


def positions(turn: Turn, runs: Sequence[Run], round_: int | None = None) -> dict[int, Position]:
    """Where the seats stand: the last position of each, in one round or (``None``) in all."""
    found: dict[int, Position] = {}
    for run, _ in sorted(last_attempts(runs).values(), key=lambda item: _place(item[0].step)):
        step = run.step
        mine = step.round < turn.rounds and round_ in (None, step.round)
        if mine and run.state == "answered" and run.position:
            found[step.seat] = Position.model_validate_json(run.position)
    return found


def present(turn: Turn, runs: Sequence[Run], round_: int) -> tuple[int, ...]:
    """The seats that spoke in a round, in their order."""
    here = {run.step.seat for run in runs if run.step.round == round_ and spoke(run)}
    return tuple(seat for seat in range(len(turn.seats)) if seat in here)


def agreed(turn: Turn, runs: Sequence[Run], round_: int) -> bool:
    """Whether all who spoke in a round, and these are two or more, said that they agree."""
    here = present(turn, runs, round_)
    stands = positions(turn, runs, round_)
    return len(here) > 1 and all(seat in stands and stands[seat].stance == "agree" for seat in here)


def unread(turn: Turn, runs: Sequence[Run], messages: Sequence[Message]) -> bool:
    """Whether a person said something that no participant was shown yet."""
    read = max((turn.prompt_message_id, *(run.read_to for run in runs)))
    return any(message.author_kind == "human" and message.id > read for message in messages)


def spent(runs: Sequence[Run]) -> int:
    """Characters that were sent so far."""
    return sum(run.chars for run in runs)


def capped(turn: Turn, runs: Sequence[Run], count: int) -> bool:
    """Whether ``count`` more runs, and the synthesis after them, would send more than the cap.

    Each is taken to be as large as the largest so far; before the first one the forecast decides.
    """
    rules = turn.rules
    if turn.kind != "roundtable" or not rules.cap_chars or rules.confirmed:
        return False
    largest = max((run.chars for run in runs), default=0)
    more = count + (rules.synthesizer is not None)
    return spent(runs) + more * largest > rules.cap_chars


def speaker(turn: Turn, step: Step, runs: Sequence[Run]) -> Participant:
    """Who a step is for. A synthesizer without an engine has that of the first seat that spoke."""
    seat = turn.seat_of(step)
    if seat.engine:
        return seat
    spoken = sorted(run.step.seat for run in runs if spoke(run) and run.step.seat < len(turn.seats))
    return replace(seat, engine=turn.seats[spoken[0] if spoken else 0].engine)


def _place(step: Step) -> tuple[int, int, int]:
    return step.round, step.seat, step.hop
