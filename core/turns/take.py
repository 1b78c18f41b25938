"""The one path: a mention, a roundtable's turn and a Pull's follow-up all go through here."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import structlog

from core.context.terms import mode_for, terms_for
from core.control import Lease, Place, Stops, Wish
from core.forecast import reckon
from core.model import (
    Conversation,
    Step,
    Turn,
    TurnState,
)
from core.records import turns
from core.table import next_steps, speaker
from core.turns.catching_up import catch_up
from core.turns.files import Files
from core.turns.gather import Gather
from core.turns.house import House, Ready
from core.turns.rounds import Standing, Teller, go_on, reckoned
from core.turns.settle import end_of_turn
from core.turns.steps import Table
from core.turns.voice import hear

log = structlog.get_logger()


async def take_turn(
    ready: Ready, house: House, stops: Stops, lease: Lease | None = None
) -> TurnState:
    """Run every step of a turn not yet settled, then end it. Safe to call again after a crash.

    ``stops`` ends processes: all of them (the turn is cancelled in the rows already), or one that
    was skipped. ``lease`` is the slot for its first run, which the caller gives back in the end
    (harmless when it is back already). A roundtable whose forecast is over its budget comes back
    as ``held``.
    """
    conversation = ready.conversation
    heard = await hear(ready.turn, conversation, house, stops)
    if heard is None:
        return await _unheard(ready.turn, house)
    ready, turn = replace(ready, turn=heard), heard
    turn = replace(turn, mode=mode_for(house.policy.terms, turn, conversation))
    project = house.project_of(conversation.key)
    gather = Gather(
        house.records,
        turn,
        conversation,
        project,
        sources=house.sources,
        project_channels=house.channels_of(project),
        recall=house.recall_of(conversation.key),
        address=house.address,
        history_messages=house.policy.history_messages,
        persona_folder=house.policy.persona_folder,
        near=house.near,
        pushes=_pushes(house, turn, conversation),
    )
    try:
        gather.begin_with(await catch_up(conversation, house))
        gather.begin()
        files = Files(house, turn, conversation)
        nobody = asyncio.Event()
        table = Table(turn, conversation, project, gather, house, nobody, ready.factors, files)
        return await _seated(table, ready, stops, lease)
    finally:
        await gather.close()


async def _unheard(turn: Turn, house: House) -> TurnState:
    """There is no question: nobody could tell what was said."""
    await house.records.insist(turns.end_turn, turn.id, "failed", "not heard", time.time())
    log.info("turn.ended", turn=turn.id, conversation=turn.conversation_id, state="failed")
    return "failed"


async def _seated(table: Table, ready: Ready, stops: Stops, lease: Lease | None) -> TurnState:
    turn, house = table.turn, table.house
    if turn.kind == "roundtable" and await _is_held(table):
        house.wake_delivery()
        log.info("turn.held", turn=turn.id, conversation=table.conversation.id)
        return "held"
    try:
        await _Seats(table, stops, ready, lease).run()
    finally:
        await table.files.close()
    teller = Teller(table.project, house.voice, time.time())
    state = await house.records.insist(end_of_turn, turn.id, teller)
    house.wake_delivery()
    log.info("turn.ended", turn=turn.id, conversation=table.conversation.id, state=state)
    return state


def _pushes(house: House, turn: Turn, conversation: Conversation) -> bool:
    """Whether a pack of this turn may tell what was found, not only that there is something."""
    policy = house.policy
    each = (terms_for(policy.terms, turn, conversation, seat) for seat in turn.seats)
    return policy.max_followups < 1 or any(terms.delivery == "push" for terms in each)


async def _is_held(table: Table) -> bool:
    """Reckon once what a roundtable may send; whether it waits for a person's word therefore."""
    turn, house = table.turn, table.house
    if turn.forecast is not None:
        return False
    steps = [Step(0, seat) for seat in range(len(turn.seats))]
    steps += [turn.synthesis] if turn.rules.synthesizer is not None else []
    seats = [await table.expected(step) for step in steps]
    forecast = reckon(turn, seats, house.policy.max_per_message_chars)
    state = await house.records.do(reckoned, turn.id, forecast, house.voice, time.time())
    return state == "held"


class _Seats:
    """The steps of one turn under way: one after the other, or a round at once.

    Each run has a slot of the host and of its engine, and waits with all others while there is
    none; a follow-up goes on with that of the run it follows. The first run has the one that the
    turn came with.
    """

    def __init__(self, table: Table, stops: Stops, ready: Ready, lease: Lease | None) -> None:
        self._table = table
        self._stops = stops
        self._slots = table.house.slots
        self._max_hops = table.house.policy.max_followups
        steps = next_steps(ready.turn, ready.done, ready.said, max_hops=self._max_hops)
        self._now = Standing(ready.turn, ready.done, steps)
        self._tasks: dict[asyncio.Task[None], Step] = {}
        self._leases: dict[tuple[int, int], Lease] = {}  # of a seat in a round, its follow-ups too
        self._wishes: dict[Step, Wish] = {}
        self._first = lease

    async def run(self) -> None:
        """Until nothing is left to run, or the turn was stopped."""
        if self._now.runs:  # an earlier life may have kept back what can be posted now
            await self._look()
        try:
            async with asyncio.TaskGroup() as group:
                while not self._stops.stopped and (self._begin(group) or self._tasks):
                    await self._wait()
                    await self._look()
        finally:
            for wish in self._wishes.values():
                wish.withdraw()
            for lease in self._leases.values():
                lease.give()

    def _begin(self, group: asyncio.TaskGroup) -> bool:
        """Start what there is room for; whether there was anything to start."""
        begun = set(self._tasks.values())
        for step in self._now.steps:
            lease = None if step in begun else self._slot(step)
            if lease is None:
                continue
            self._leases[step.round, step.seat] = lease
            table = replace(self._table, cancel=self._stops.of(step), lease=lease)
            self._tasks[group.create_task(table.take(step, self._now.runs))] = step
        return bool(self._now.steps)

    def _slot(self, step: Step) -> Lease | None:
        """A slot for this step, or ``None`` while it has to wait for one."""
        if (kept := self._leases.get((step.round, step.seat))) is not None:
            return kept
        turn = self._now.turn
        engine = speaker(turn, step, self._now.runs).engine
        first, self._first = self._first, None
        if first is not None:
            if first.place.engine == engine:
                return first
            first.give()  # begun anew after a crash, with another seat
        if (wish := self._wishes.get(step)) is not None:
            return self._wishes.pop(step).granted.result() if wish.granted.done() else None
        place = Place(engine, turn.asker_key, turn.conversation_id, turn.id)
        lease = self._slots.take(place)
        if lease is None:
            self._wishes[step] = self._slots.wish(place)
        return lease

    async def _wait(self) -> None:
        """Until a step is over, one that waits may begin, or (where only these are) a stop."""
        stopped = [] if self._tasks else [asyncio.ensure_future(self._stops.wait())]
        granted = [wish.granted for wish in self._wishes.values()]
        try:
            await asyncio.wait(
                {*self._tasks, *granted, *stopped}, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for task in stopped:
                task.cancel()

    async def _look(self) -> None:
        """Take the steps that are over out, and see where the turn stands."""
        done = [self._tasks.pop(task) for task in list(self._tasks) if task.done()]
        for step in done:
            self._stops.over(step)
        table = self._table
        if done or self._now.runs:
            self._now = await table.house.records.do(
                go_on,
                Teller(table.project, table.house.voice, time.time()),
                table.turn.id,
                max_hops=self._max_hops,
                running=frozenset(self._tasks.values()),
            )
        for step in set(self._wishes).difference(self._now.steps):
            self._wishes.pop(step).withdraw()
        going = {(step.round, step.seat) for step in (*self._now.steps, *self._tasks.values())}
        for seat in set(self._leases).difference(going):
            self._leases.pop(seat).give()
        if table.turn.kind == "roundtable":
            table.house.wake_delivery()
