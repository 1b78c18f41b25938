"""Works on queued turns: one at a time per conversation, N in all; stops them; survives a crash."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import structlog

from core.model import Turn
from core.records import runs, turns
from core.settle import fail_turn, settle_cut
from core.turns import House, take_turn

log = structlog.get_logger()

POLL_S = 5.0  # a wake-up can only be lost by a bug; then it costs this long


class Worker:
    """The in-process worker. ``run`` until cancelled; ``wake`` after a turn was queued."""

    def __init__(self, house: House, slots: int) -> None:
        self._house = house
        self._slots = slots
        self._wake = asyncio.Event()
        self._active: dict[int, tuple[Turn, asyncio.Event]] = {}

    def wake(self) -> None:
        """Look for queued turns now."""
        self._wake.set()

    def stop(self, turn_ids: Sequence[int]) -> None:
        """End the processes of these turns; their rows say cancelled already."""
        for turn_id in turn_ids:
            if turn_id in self._active:
                self._active[turn_id][1].set()

    @property
    def active(self) -> int:
        """How many turns are being worked on."""
        return len(self._active)

    async def recover(self) -> None:
        """Settle what an earlier life left: end its children, requeue its turns."""
        from core.engines.process import end_leftover

        left = await self._house.records.do(runs.left_open)
        for run_id, pid, started in left:
            found = await end_leftover(run_id, pid or 0, started or 0.0)
            await self._house.records.do(settle_cut, run_id, self._house.voice, time.time())
            log.info("run.cut", run=run_id, ended_processes=len(found))
        requeued = await self._house.records.do(turns.requeue_running)
        if requeued:
            log.info("turns.requeued", turns=list(requeued))

    async def run(self) -> None:
        """Claim and work until cancelled; then the running turns are left for the next start."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._wake.clear()
                while len(self._active) < self._slots:
                    busy = tuple(turn.conversation_id for turn, _ in self._active.values())
                    turn = await self._house.records.do(turns.claim, busy, time.time())
                    if turn is None:
                        break
                    log.debug("turn.claimed", turn=turn.id, conversation=turn.conversation_id)
                    cancel = asyncio.Event()
                    self._active[turn.id] = (turn, cancel)
                    group.create_task(self._work(turn, cancel))
                try:
                    async with asyncio.timeout(POLL_S):
                        await self._wake.wait()
                except TimeoutError:
                    continue

    async def _work(self, turn: Turn, cancel: asyncio.Event) -> None:
        try:
            # A stop may have come between the claim and here.
            now = await self._house.records.do(turns.get_turn, turn.id)
            if now is not None and now.state == "running":
                await take_turn(turn, self._house, cancel)
        except Exception:  # the loop must live; the turn is settled and the thread is told
            log.exception("turn.broke", turn=turn.id, conversation=turn.conversation_id)
            await self._house.records.do(fail_turn, turn.id, self._house.voice, time.time())
            self._house.wake_delivery()
        finally:
            del self._active[turn.id]
            self.wake()
