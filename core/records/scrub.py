"""Deleted and changed words leave the files, too.

A row that is emptied is overwritten (``secure_delete``), but two places keep what it held: the
keyword index, until the segments that had its words are merged, and the write-ahead log, until it
is begun anew. Both are seen to in the background, in steps of some hundredths of a second.
"""

from __future__ import annotations

import asyncio

import structlog

from core.records.changes import gone, note_scrubbed, scrubbed
from core.records.prepared import meta_of
from core.records.tables import MessageIndex
from core.records.thread import CannotWrite, Records

log = structlog.get_logger()

PAGES = 200  # that one step may write
PAUSE_S = 0.05  # between two steps: everything else comes first
RETRY_S = 60.0  # after the disk was full, or somebody read all the time


class Scrubber:
    """``run`` until cancelled; ``wake`` it when words were deleted or changed."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._due = asyncio.Event()
        self._due.set()  # an earlier life may have left something

    def wake(self) -> None:
        """There may be something to do."""
        self._due.set()

    async def run(self) -> None:
        """Take what is gone out of the files, until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            try:
                done = await self._scrub()
            except CannotWrite as error:
                log.warning("scrub.not_written", error=str(error))
                done = False
            if not done:
                await asyncio.sleep(RETRY_S)
                self._due.set()

    async def _scrub(self) -> bool:
        """Whether nothing of what was gone at the beginning is left."""
        count, before = await self._records.do(lambda: (gone(), scrubbed()))
        if count == before:
            return True
        pages = -PAGES  # the first time, all segments are made one
        while await self._records.do(_merge, pages):
            pages = PAGES
            await asyncio.sleep(PAUSE_S)
        await self._records.do(note_scrubbed, count)
        done = await self._records.begin_log_anew()
        log.info("scrub.done" if done else "scrub.log_in_use", count=count)
        return done


def _merge(pages: int) -> bool:
    """One step of merging the keyword index; whether there may be more to do."""
    database = meta_of(MessageIndex).database
    before = database.connection().total_changes
    sql = "INSERT INTO message_fts(message_fts, rank) VALUES('merge', ?)"
    database.execute_sql(sql, (pages,))
    return bool(database.connection().total_changes - before >= 2)  # as SQLite's manual says
