"""The keyword index is made anew when it was written in another way (``core.keywords.BUILD``).

The newest messages at once, when the database is opened; the rest in the background, newest first,
in steps that nobody waits for: at 1,000,000 messages all at once would take minutes. What is said
meanwhile is indexed as always, and a mark tells how far it has come, so no crash begins it again.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import structlog
from peewee import OperationalError, fn

from core.keywords import BUILD
from core.records import indexing
from core.records.prepared import Prepared, schema_of
from core.records.tables import MessageIndex, MessageRow, MetaRow

if TYPE_CHECKING:
    from core.records.thread import Records

log = structlog.get_logger()

AT_ONCE = 1_000  # messages, when the database is opened: some 0.2 s
STEP_S = 0.015  # of one step in the background
PAUSE_S = 0.02  # between two steps: everything else comes first
RETRY_S = 60.0  # after the disk was full
_BUILT, _DUE = "keywords-build", "keywords-due"

_value = Prepared(MetaRow, lambda name: MetaRow.select().where(MetaRow.name == name))
_older = Prepared(
    MessageRow,
    lambda newest, limit: (
        MessageRow.select()
        .where(
            (MessageRow.id <= newest) & MessageRow.deleted_at.is_null() & ~MessageRow.interrupted
        )
        .order_by(MessageRow.id.desc())
        .limit(limit)
    ),
)


def begin() -> None:
    """Empty an index that another build wrote: all messages are due.

    Part of the transaction that opens the database; the other tables may still lack columns.
    """
    built = _value.first(name=_BUILT)
    if built is not None and built.value == BUILD:
        return
    schema_of(MessageIndex).drop_all()
    schema_of(MessageIndex).create_table()
    _note(_DUE, str(MessageRow.select(fn.MAX(MessageRow.id)).scalar() or 0))
    _note(_BUILT, BUILD)


def due() -> int:
    """The messages up to this one are still to be indexed (0: none is)."""
    row = _value.first(name=_DUE)
    return int(row.value) if row else 0


def step(limit: int, seconds: float = float("inf")) -> bool:
    """Index the next ``limit`` messages, or as many as that time allows; whether more are due."""
    until = time.monotonic() + seconds
    newest = due()
    rows = _older.rows(newest=newest, limit=limit) if newest else []
    left = rows[-1].id - 1 if len(rows) == limit else 0
    for row in rows:
        indexing.write(row)
        if time.monotonic() >= until and row is not rows[-1]:
            left = row.id - 1
            break
    if left > 0:
        _note(_DUE, str(left))
    else:
        MetaRow.delete().where(MetaRow.name == _DUE).execute()
    return left > 0


class Anew:
    """``run`` indexes what ``begin`` has left, and ends."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def run(self) -> None:
        """Index everything that is due, the newest first."""
        if not await self._records.do(due):
            return
        log.info("keywords.anew")
        while True:
            try:
                if not await self._records.do(step, 200, STEP_S):
                    break
            except OperationalError as error:
                log.warning("keywords.not_written", error=str(error))
                await asyncio.sleep(RETRY_S)
            await asyncio.sleep(PAUSE_S)
        log.info("keywords.ready")


def _note(name: str, value: str) -> None:
    MetaRow.insert(name=name, value=value).on_conflict_replace().execute()
