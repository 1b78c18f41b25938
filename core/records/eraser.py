"""Erases in the background: the rest of what was forgotten, and what is too old to be kept.

A few milliseconds a transaction, with everything else between two of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

import structlog

from core.records import deeds
from core.records.forgetting import erase_hidden
from core.records.retention import DAY_S, Kept, age_some
from core.records.thread import CannotWrite, Records

log = structlog.get_logger()

PAUSE_S = 0.02  # between two steps: everything else comes first
EVERY_S = 3_600.0  # how often it is looked for what is too old
RETRY_S = 60.0  # after the disk was full


class Eraser:
    """``run`` until cancelled; ``wake`` it when something was forgotten.

    ``kept`` says how long messages are kept (``None``: all of them for ever); ``on_gone`` is called
    when words left the rows, and may still stand in the files. Lines of the audit log go after
    ``audit_days`` (0: never).
    """

    def __init__(
        self,
        records: Records,
        kept: Kept | None,
        *,
        on_gone: Callable[[], None],
        clock: Callable[[], float] = time.time,
        every_s: float = EVERY_S,
        audit_days: float = 0.0,
    ) -> None:
        self._audit_days = audit_days
        self._records = records
        self._kept = kept
        self._on_gone = on_gone
        self._clock = clock
        self._every_s = every_s
        self._due = asyncio.Event()

    def wake(self) -> None:
        """Something may be hidden and is to be erased."""
        self._due.set()

    async def run(self) -> None:
        """Erase until cancelled."""
        looked = -self._every_s
        while True:
            self._due.clear()
            wait = RETRY_S
            try:
                await self._hidden()  # an earlier life may have left some
                if time.monotonic() - looked >= self._every_s:
                    await self.age()
                    await self._forget_deeds()
                    looked = time.monotonic()
                wait = self._every_s
            except CannotWrite as error:
                log.warning("eraser.not_written", error=str(error))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._due.wait()

    async def _hidden(self) -> None:
        more = True
        while more:
            more = await self._records.do(erase_hidden, self._clock())
            await asyncio.sleep(PAUSE_S)
        self._on_gone()

    async def _forget_deeds(self) -> None:
        before = self._clock() - self._audit_days * DAY_S
        more = bool(self._audit_days)
        while more:
            more = await self._records.do(deeds.prune, before) > 0
            await asyncio.sleep(PAUSE_S)

    async def age(self) -> int:
        """Erase everything that is too old now; how many messages those were."""
        if self._kept is None:
            return 0
        erased, after = 0, 0
        while True:
            on, count = await self._records.do(age_some, self._kept, self._clock(), after)
            erased += count
            if on is None:
                break
            after = on
            await asyncio.sleep(PAUSE_S)
        if erased:
            log.info("retention.erased", messages=erased)
            self._on_gone()
        return erased
