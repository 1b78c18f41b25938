"""What is still to be embedded, and the vectors made of it. Every function is one transaction.

A job says that an item changed; what is done about it is what its row says by then. So jobs of one
item are one, and the order in which they are worked on does not matter.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from core.records import indexing
from core.records.prepared import meta_of
from core.records.tables import IndexJobRow, VectorRow

ATTEMPTS = 3  # of an item that an embedder cannot take; then it stays without a vector
AGAIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Job:
    """An item that changed; ``last`` is the newest row that says so (0: none does)."""

    kind: str
    item: int
    last: int = 0


@dataclass(frozen=True, slots=True)
class Made:
    """A vector for one item; ``vector`` (float16) is ``None`` where it is to have none."""

    kind: str
    item: int
    scope: int
    vector: bytes | None


def queue(kind: str, items: Sequence[int], op: str = "put") -> None:
    """Owe the vectors something about these items."""
    for item in items:
        indexing.queue(kind, item, op)


def due(kinds: Collection[str], limit: int) -> list[Job]:
    """Up to ``limit`` items of these kinds that changed: half of them the oldest.

    The others are the newest, so that what was just said is found soon, whatever is left to do.
    """
    where = (
        "WHERE (attempts = 0 OR (attempts < ? AND at <= ?)) "
        "AND kind IN (SELECT value FROM json_each(?))"
    )
    params = [ATTEMPTS, time.time(), json.dumps(sorted(kinds))]
    rows = [
        row
        for order in ("DESC", "ASC")
        for row in _sql(
            f"SELECT kind, item, id FROM index_job {where} ORDER BY id {order} LIMIT ?",  # noqa: S608
            [*params, -(-limit // 2)],
        )
    ]
    return [Job(kind, item, last) for (kind, item), last in _newest(rows).items()]


def gone(limit: int) -> list[Job]:
    """Up to ``limit`` items that were deleted, whatever their kind."""
    rows = _sql("SELECT kind, item, id FROM index_job WHERE op = 'drop' LIMIT ?", [limit])
    return [Job(kind, item, last) for (kind, item), last in _newest(rows).items()]


def count() -> int:
    """How many jobs are left, those that were given up not counted."""
    return IndexJobRow.select().where(IndexJobRow.attempts < ATTEMPTS).count()


def given_up() -> int:
    """How many items no embedder could take."""
    return IndexJobRow.select().where(IndexJobRow.attempts >= ATTEMPTS).count()


def done(jobs: Sequence[Job]) -> None:
    """These are settled; what changed after they were read is still owed."""
    for job in jobs:
        _sql(
            "DELETE FROM index_job WHERE kind = ? AND item = ? AND id <= ?",
            [job.kind, job.item, job.last],
        )


def failed(jobs: Sequence[Job]) -> None:
    """No embedder could take these: tried again later, a few times."""
    now = time.time()
    for job in jobs:
        rows = _sql(
            "SELECT id, attempts FROM index_job WHERE kind = ? AND item = ? AND id <= ? "
            "ORDER BY attempts DESC LIMIT 1",
            [job.kind, job.item, job.last],
        )
        if not rows:
            IndexJobRow.create(kind=job.kind, item=job.item, op="put", attempts=1, at=now + AGAIN_S)
            continue
        number, attempts = rows[0]
        _sql(
            "DELETE FROM index_job WHERE kind = ? AND item = ? AND id <= ? AND id != ?",
            [job.kind, job.item, job.last, number],
        )
        IndexJobRow.change(number, attempts=attempts + 1, at=now + AGAIN_S * 2**attempts)


def write(embedder: int, made: Sequence[Made]) -> None:
    """Put vectors in the place of what there was of their items, wherever that was."""
    for one in made:
        _sql(
            "DELETE FROM vector WHERE embedder = ? AND kind = ? AND item = ?",
            [embedder, one.kind, one.item],
        )
        if one.vector is not None:
            VectorRow.create(
                embedder=embedder,
                scope=one.scope,
                kind=one.kind,
                item=one.item,
                vector=one.vector,
            )


def drop(kind: str, item: int) -> None:
    """An item has no vector of any model any more."""
    _sql("DELETE FROM vector WHERE kind = ? AND item = ?", [kind, item])


def move(conversation_id: int) -> None:
    """A conversation's scope is another one: nothing of it is found in the old one any more."""
    _sql(
        "DELETE FROM vector WHERE kind = 'message' "
        "AND item IN (SELECT id FROM message WHERE conversation_id = ?)",
        [conversation_id],
    )
    _sql(
        "INSERT INTO index_job (kind, item, op, attempts, at) SELECT 'message', id, 'put', 0, ? "
        "FROM message WHERE conversation_id = ? AND deleted_at IS NULL",
        [time.time(), conversation_id],
    )
    _sql(
        "DELETE FROM vector WHERE kind = 'statement' "
        "AND item IN (SELECT id FROM statement WHERE conversation = ?)",
        [conversation_id],
    )
    _sql(
        "INSERT INTO index_job (kind, item, op, attempts, at) "
        "SELECT 'statement', id, 'put', 0, ? FROM statement WHERE conversation = ?",
        [time.time(), conversation_id],
    )


def vectors(embedder: int) -> int:
    """How many vectors of a model there are."""
    # "+": by the index over kind and item, a tenth of the table.
    return _sql("SELECT count(*) FROM vector WHERE +embedder = ?", [embedder])[0][0]


def _newest(rows: Sequence[tuple[str, int, int]]) -> dict[tuple[str, int], int]:
    """The newest row of each item."""
    found: dict[tuple[str, int], int] = {}
    for kind, item, number in rows:
        found[kind, item] = max(number, found.get((kind, item), 0))
    return found


def _sql(sql: str, params: Sequence[Any]) -> list[Any]:
    return meta_of(VectorRow).database.execute_sql(sql, list(params)).fetchall()
