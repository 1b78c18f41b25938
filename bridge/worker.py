"""Works on queued turns: one at a time per conversation, N in all; stops them; survives a crash."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from bridge.line import SAVED, Line, waiting_text
from core.control import Lease, Place, Stops
from core.engines.process import end_leftover
from core.model import Conversation, Step, Turn
from core.records import messages, runs, turns, usage, waiting_notice
from core.tongue import say, speaking_at
from core.turns.budgets import may_begin
from core.turns.house import House, Ready, claim_ready
from core.turns.rounds import Teller, let_go_all
from core.turns.settle import fail_turn, settle_cut
from core.turns.take import take_turn
from core.words import stop_button

log = structlog.get_logger()

SHOW_AFTER_S = 2.0  # most questions begin before
EDIT_EVERY_S = 10.0
POLL_S = 5.0  # a wake-up can only be lost by a bug; then it costs this long


@dataclass(frozen=True, slots=True)
class _Told:
    """What the thread of a waiting turn was told last, and when (monotonic) it may be told more."""

    again_at: float
    text: str = ""


class Worker:
    """The in-process worker. ``run`` until cancelled; ``wake`` after a turn was queued.

    A turn begins with a slot of the house's; each of its runs has one.
    """

    def __init__(self, house: House) -> None:
        self._house = house
        self._wake = asyncio.Event()
        self._active: dict[int, tuple[Turn, Stops]] = {}
        self._line = Line()
        self._told: dict[int, _Told] = {}
        house.slots.on_free = self.wake

    def wake(self) -> None:
        """Look for queued turns now."""
        self._wake.set()

    def stop(self, turn_ids: Sequence[int]) -> None:
        """End the processes of these turns; their rows say cancelled already."""
        for turn_id in turn_ids:
            if turn_id in self._active:
                self._active[turn_id][1].stop()

    def skip(self, turn_id: int, steps: Sequence[Step]) -> None:
        """End the processes of these steps; their rows say skipped already."""
        if turn_id in self._active:
            for step in steps:
                self._active[turn_id][1].skip(step)

    def line(self) -> Line:
        """Who waits, as the last look at the queue found it."""
        return self._line

    @property
    def active(self) -> int:
        """How many turns are being worked on."""
        return len(self._active)

    async def recover(self) -> None:
        """Settle what an earlier life left: end its children, requeue its turns.

        May be cut off itself at any point: each step finds in the rows what is still to do.
        """
        left = await self._house.records.do(runs.left_open)
        for run_id, pid, started in left:
            log.debug("leftover.ending", run=run_id)
            found = await end_leftover(run_id, pid or 0, started or 0.0)
            log.debug("leftover.ended", run=run_id)
            await self._house.records.do(self._settle_cut, run_id)
            log.info("run.cut", run=run_id, ended_processes=len(found))
        # What was written for engines to read (whole packs) belongs to runs that are over now.
        scratch = self._house.policy.scratch
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
        for turn in await self._house.records.do(turns.over_untold):
            where = await self._house.records.do(messages.get_conversation, turn.conversation_id)
            with speaking_at(where.key):
                await self._house.records.do(let_go_all, self._teller(where), turn)
        requeued = await self._house.records.do(turns.requeue_running)
        if requeued:
            log.info("turns.requeued", turns=list(requeued))

    def _settle_cut(self, run_id: str) -> None:
        turn = turns.get_turn(runs.get_run(run_id).turn_id)
        assert turn is not None
        with speaking_at(messages.get_conversation(turn.conversation_id).key):
            settle_cut(run_id, self._house.voice, time.time())
        usage.note_cut(run_id, self._house.purse.project_of, time.time())

    def _teller(self, conversation: Conversation) -> Teller:
        project = self._house.project_of(conversation.key)
        return Teller(project, self._house.voice, time.time())

    async def run(self) -> None:
        """Claim and work until cancelled; then the running turns are left for the next start."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._wake.clear()
                await self._claim(group)
                try:
                    async with asyncio.timeout(SHOW_AFTER_S if self._told else POLL_S):
                        await self._wake.wait()
                except TimeoutError:
                    continue

    async def _claim(self, group: asyncio.TaskGroup) -> None:
        """See who is next, among turns that wait and runs of turns that have begun."""
        slots = self._house.slots
        room, wishes = slots.look()
        busy = tuple(turn.conversation_id for turn, _ in self._active.values())
        now, house = time.time(), self._house
        allowed = partial(may_begin, purse=house.purse, voice=house.voice, now=now)
        claimed = await house.records.insist(claim_ready, room, wishes, busy, now, allowed)
        leases = slots.settle(
            claimed.granted,
            claimed.places,
            crowded=any(place not in wishes for place in claimed.left),
        )
        if claimed.refused:
            house.wake_delivery()
            self.wake()  # for the next question of that conversation
        for ready, lease in zip(claimed.ready, leases, strict=True):
            turn, stops = ready.turn, Stops()
            log.debug("turn.claimed", turn=turn.id, conversation=turn.conversation_id)
            self._active[turn.id] = (turn, stops)
            group.create_task(self._work(ready, stops, lease))

        self._line = Line(
            slots.used,
            slots.at_once,
            {name: (slots.used_by(name), limit) for name, limit in slots.limits.items()},
            claimed.left,
            claimed.saved,
        )
        await self._tell_waiting([place for place in claimed.left if place not in wishes])

    async def _tell_waiting(self, left: Sequence[Place]) -> None:
        """Say in the threads of questions that wait how many come before them.

        Not at once, for most begin at once, and not often: platforms take few edits.
        """
        texts = {place.turn: waiting_text(self._line, place) for place in left}
        texts |= dict.fromkeys(self._line.saved, SAVED)
        now = time.monotonic()
        first = _Told(now + SHOW_AFTER_S)
        self._told = {turn: self._told.get(turn, first) for turn in texts}
        due = {
            turn: text
            for turn, text in texts.items()
            if self._told[turn].text != text and now >= self._told[turn].again_at
        }
        if not due:
            return

        line, places = self._line, {place.turn: place for place in left}

        def tell() -> None:
            for turn_id in due:
                turn = turns.get_turn(turn_id)
                assert turn is not None
                key = messages.get_conversation(turn.conversation_id).key
                with speaking_at(key):
                    place = places.get(turn_id)
                    said = waiting_text(line, place) if place else say(SAVED)
                    shown = self._house.voice(key.chat, said, "")[0]
                    buttons = (stop_button(turn_id),)
                    waiting_notice.show(turn_id, shown, buttons, now=time.time())

        await self._house.records.do(tell)
        self._told |= {turn: _Told(now + EDIT_EVERY_S, text) for turn, text in due.items()}
        self._house.wake_delivery()

    async def _work(self, ready: Ready, stops: Stops, lease: Lease) -> None:
        turn = ready.turn
        try:
            with speaking_at(ready.conversation.key):
                await take_turn(ready, self._house, stops, lease)
        except Exception:  # the loop must live; the turn is settled and the thread is told
            log.exception("turn.broke", turn=turn.id, conversation=turn.conversation_id)
            teller = self._teller(ready.conversation)
            with speaking_at(ready.conversation.key):
                await self._house.records.insist(fail_turn, turn.id, teller)
            self._house.wake_delivery()
        finally:
            del self._active[turn.id]
            lease.give()
            self.wake()  # for the next question of the same conversation
