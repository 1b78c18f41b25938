"""The one path: a mention, a roundtable's turn and a Pull's follow-up all go through here."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import structlog

from core.context.terms import mode_for
from core.control import Stops
from core.forecast import reckon
from core.model import (
    Conversation,
    Step,
    TurnState,
)
from core.records import messages
from core.table import next_steps
from core.turns.gather import Gather
from core.turns.house import House, Ready
from core.turns.rounds import Standing, Teller, go_on, reckoned
from core.turns.settle import end_of_turn
from core.turns.steps import Table

log = structlog.get_logger()

HISTORY_DEADLINE_S = 15.0
HISTORY_LIMIT = 200


async def take_turn(ready: Ready, house: House, stops: Stops) -> TurnState:
    """Run every step of a turn not yet settled, then end it. Safe to call again after a crash.

    ``stops`` ends processes: all of them (the turn is cancelled in the rows already), or one that
    was skipped. A roundtable whose forecast is over its budget comes back as ``held``.
    """
    turn, conversation = ready.turn, ready.conversation
    turn = replace(turn, mode=mode_for(house.policy.terms, turn, conversation))
    project = house.project_of(conversation.key)
    notes = await _catch_up(conversation, house)
    gather = Gather(
        house.records,
        turn,
        conversation,
        project,
        sources=house.sources,
        project_channels=house.channels_of(project),
        history_messages=house.policy.history_messages,
        persona_folder=house.policy.persona_folder,
        notes=notes,
    )
    table = Table(turn, conversation, project, gather, house, asyncio.Event(), ready.factors)
    if turn.kind == "roundtable" and await _is_held(table):
        house.wake_delivery()
        log.info("turn.held", turn=turn.id, conversation=conversation.id)
        return "held"
    await _Seats(table, stops, ready).run()
    teller = Teller(project, house.voice, time.time())
    state = await house.records.insist(end_of_turn, turn.id, teller)
    house.wake_delivery()
    log.info("turn.ended", turn=turn.id, conversation=conversation.id, state=state)
    return state


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

    The turn's own slot is for its first run; each further one at once takes another of the host's,
    and waits while there is none.
    """

    def __init__(self, table: Table, stops: Stops, ready: Ready) -> None:
        self._table = table
        self._stops = stops
        self._slots = table.house.slots
        self._max_hops = table.house.policy.max_followups
        steps = next_steps(ready.turn, ready.done, ready.said, max_hops=self._max_hops)
        self._now = Standing(ready.turn, ready.done, steps)
        self._tasks: dict[asyncio.Task[None], Step] = {}
        self._extra = 0

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
            for _ in range(self._extra):
                self._slots.give()

    def _begin(self, group: asyncio.TaskGroup) -> bool:
        """Start what there is room for; whether there was anything to start."""
        for step in self._now.steps:
            if len(self._tasks) > self._extra:
                if not self._slots.take():
                    break
                self._extra += 1
            table = replace(self._table, cancel=self._stops.of(step))
            task = group.create_task(table.take(step, self._now.runs))
            self._tasks[task] = step
        return bool(self._now.steps)

    async def _wait(self) -> None:
        """Until a step is over, or (while some wait for room) a slot may be free."""
        begun = set(self._tasks.values()).issuperset(self._now.steps)
        room = None if begun else asyncio.ensure_future(self._slots.given())
        try:
            everything = {*self._tasks, *([room] if room else [])}
            await asyncio.wait(everything, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if room is not None:
                room.cancel()

    async def _look(self) -> None:
        """Take the steps that are over out, and see where the turn stands."""
        for task in [task for task in self._tasks if task.done()]:
            self._stops.over(self._tasks.pop(task))
        while self._extra and self._extra >= len(self._tasks):
            self._extra -= 1
            self._slots.give()
        table = self._table
        self._now = await table.house.records.do(
            go_on,
            Teller(table.project, table.house.voice, time.time()),
            table.turn.id,
            max_hops=self._max_hops,
            running=frozenset(self._tasks.values()),
        )
        if table.turn.kind == "roundtable":
            table.house.wake_delivery()


async def _catch_up(conversation: Conversation, house: House) -> tuple[str, ...]:
    """Read a thread's earlier messages once; what cannot be read is a note on the receipt."""
    if conversation.caught_up:
        return ()
    try:
        async with asyncio.timeout(HISTORY_DEADLINE_S):
            said = await house.history(conversation.key, HISTORY_LIMIT)
    except Exception as error:  # noqa: BLE001 - whatever the platform has: the turn goes on without
        log.warning("history.failed", conversation=conversation.id, error=str(error)[:200])
        return ("the thread's earlier messages could not be read",)

    def write() -> None:
        messages.add_history(conversation.id, conversation.key.chat, said)
        messages.set_caught_up(conversation.id)

    await house.records.do(write)
    return ()
