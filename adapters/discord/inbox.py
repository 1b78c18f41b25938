"""What has arrived and is not taken yet. Discord never delivers twice, so nothing may drop here."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

import structlog

from core.errors import ChatRefused
from core.model import ChatEvent, Reply
from core.ports import Accept

log = structlog.get_logger(__name__)

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 5.0
FAREWELL_S = 2.0
INTERACTION_PATIENCE_S = 60.0
MESSAGE_PATIENCE_S = 600.0


@dataclass(eq=False)
class Arrival:
    """Something that happened in a channel.

    ``make`` turns it into an event (or ``None``) and may ask Discord on the way. ``reply`` is set
    for an interaction: somebody waits, so it is given up sooner than a message is (the future is
    cancelled, and the person told).
    """

    channel_id: int
    make: Callable[[], Awaitable[ChatEvent | None]]
    reply: asyncio.Future[Reply | None] | None = None
    born: float = field(default_factory=lambda: asyncio.get_running_loop().time())

    @property
    def overdue(self) -> bool:
        """Whether trying it again does more harm than good."""
        age_s = asyncio.get_running_loop().time() - self.born
        return age_s > (MESSAGE_PATIENCE_S if self.reply is None else INTERACTION_PATIENCE_S)

    def give_up(self) -> None:
        """Let whoever waits for the reply know that none will come."""
        if self.reply is not None:
            self.reply.cancel()

    def settle(self, reply: Reply | None) -> None:
        """Hand the reply to whoever waits for it."""
        if self.reply is not None and not self.reply.done():
            self.reply.set_result(reply)


class Inbox:
    """One worker per busy channel: in order within a channel, independent between channels."""

    def __init__(self, accept: Accept) -> None:
        self._accept = accept
        self._waiting: dict[int, deque[Arrival]] = {}
        self._workers: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let what is here be taken for a moment, then give up and say how much is lost."""
        if self._workers:
            await asyncio.wait(self._workers, timeout=FAREWELL_S)
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        lost = sum(len(queue) for queue in self._waiting.values())
        if lost:
            log.error("discord.events_lost", count=lost)

    def put(self, arrival: Arrival) -> None:
        """Add to the end of its channel's queue; never waits."""
        queue = self._waiting.get(arrival.channel_id)
        if queue is not None:
            queue.append(arrival)
            return
        self._waiting[arrival.channel_id] = deque([arrival])
        worker = asyncio.create_task(self._work(arrival.channel_id))
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)

    async def ask(self, event: ChatEvent) -> Reply | None:
        """Past the queue: for what changes nothing and is only waited for now. Raises as accept."""
        return await self._accept(event)

    async def _work(self, channel_id: int) -> None:
        queue = self._waiting[channel_id]
        while queue:
            await self._take(queue[0])
            queue.popleft()
        del self._waiting[channel_id]

    async def _take(self, arrival: Arrival) -> None:
        """Try until it is taken, or until it has held up its channel for too long."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                event = await arrival.make()
                reply = None if event is None else await self._accept(event)
            except ChatRefused as gone:
                # The place cannot be looked up any more (deleted, or we were thrown out).
                log.warning("discord.event_unreadable", why=str(gone), code=gone.code)
                reply = None
            except Exception as error:  # whatever it is, the event must not be lost for it
                # No traceback above debug: it may show what was written.
                what = type(error).__name__
                log.warning("discord.event_not_taken", error=what, retry_in_s=pause_s)
                log.debug("discord.event_not_taken", exc_info=True)
                if arrival.overdue:
                    log.warning("discord.event_lost", channel=arrival.channel_id, error=what)
                    arrival.give_up()
                    return
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
                continue
            arrival.settle(reply)
            return
