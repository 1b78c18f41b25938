"""Denies what nobody decided in time, where that is set, and what nobody can have seen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import structlog

from core.desk import Desk
from core.model import Asked, Ruling
from core.records import asked as rows
from core.records import messages, turns
from core.records.thread import Records
from core.tongue import say, speaking_at, to_say
from core.turns import asked as posts
from core.turns.asked import Voice

log = structlog.get_logger()

POLL_S = 5.0
LATE = Ruling("expired", by="Moot")
UNHEARD = Ruling("deny", by="Moot", note=to_say("the thread could not be told of it"))


class Expiry:
    """``run`` until cancelled: requests that wait longer than ``within_s`` are denied.

    0 means that they wait for as long as it takes. The time runs on while Moot does not. What
    could not be posted is denied as well, for nobody knows of it.
    """

    def __init__(
        self,
        records: Records,
        desk: Desk,
        voice: Voice,
        *,
        within_s: float,
        on_turn: Callable[[], None],
        on_post: Callable[[], None],
    ) -> None:
        self._records, self._desk, self._voice = records, desk, voice
        self._within_s = within_s
        self._on_turn, self._on_post = on_turn, on_post

    async def run(self) -> None:
        """See the class."""
        while True:
            denied = await self._records.insist(self._deny_due, time.time())
            for asked in denied:
                log.info("request.expired", number=asked.id, run=asked.run_id)
                self._desk.ruled(asked.run_id, asked.id)
            if denied:
                self._on_turn()
                self._on_post()
            await asyncio.sleep(min(POLL_S, self._within_s / 4) if self._within_s else POLL_S)

    def _deny_due(self, now: float) -> list[Asked]:
        late = rows.due(now - self._within_s) if self._within_s else ()
        settled = [
            *(self._settle(asked, LATE, now) for asked in late),
            *(self._settle(asked, UNHEARD, now) for asked in rows.unheard()),
        ]
        denied = [asked for asked in settled if asked is not None]
        for asked in denied:
            turns.unpark(asked.turn_id)
        return denied

    def _settle(self, asked: Asked, ruling: Ruling, now: float) -> Asked | None:
        with speaking_at(messages.get_conversation(asked.conversation_id).key):
            said = replace(ruling, note=say(ruling.note))
            return posts.settle(asked, said, self._voice, now)
