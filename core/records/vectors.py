"""Vectors as they stand in the rows, for those who hold copies: a scope at a time, then what moved.

What moves is noted by triggers of this connection alone, in a table in its memory: whoever writes
or deletes a vector, a copy hears of it, and nothing of it stays in the file. A transaction that is
rolled back takes its notes along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.records.prepared import meta_of
from core.records.tables import EmbedderRow, VectorRow

_NOTES = (
    "CREATE TEMP TABLE IF NOT EXISTS moved_vector "
    "(seq INTEGER PRIMARY KEY AUTOINCREMENT, embedder, scope, kind, item)"
)
_NOTE = (
    "CREATE TEMP TRIGGER IF NOT EXISTS moved_vector_{event}_{kind} AFTER {event} ON main.vector "
    "WHEN {row}.kind = '{kind}' BEGIN "
    "INSERT INTO moved_vector (embedder, scope, kind, item) "
    "VALUES ({row}.embedder, {row}.scope, {row}.kind, {row}.item); END"
)


@dataclass(frozen=True, slots=True)
class Kept:
    """A vector as its row has it; ``vector`` (float16) is ``None`` where there is none any more."""

    scope: int
    item: int
    vector: bytes | None


def current() -> tuple[int, str, int] | None:
    """The model whose vectors count: its row's id, name and dimensions."""
    row = EmbedderRow.get_or_none(EmbedderRow.state == "current")
    return (row.id, row.name, row.dim) if row else None


def counted() -> dict[str, int]:
    """``messages`` that can be found, their ``vectors`` of the current model, ``jobs`` owed."""
    [[messages]] = _sql("SELECT count(*) FROM message WHERE deleted_at IS NULL AND NOT interrupted")
    [[jobs]] = _sql("SELECT count(*) FROM index_job")
    model = current()
    # The index of kinds and items holds the key as well: no vector is read.
    [[made]] = _sql(
        "SELECT count(*) FROM vector WHERE kind = 'message' AND embedder = ?",
        (model[0] if model else 0,),
    )
    return {"messages": messages, "vectors": made, "jobs": jobs}


def follow(kind: str = "message") -> None:
    """Note from now on which vectors of a kind move (idempotent)."""
    _sql(_NOTES)
    for event, row in (("insert", "NEW"), ("update", "NEW"), ("delete", "OLD")):
        _sql(_NOTE.format(event=event, row=row, kind=kind))


def moved(embedder: int, kind: str, limit: int) -> tuple[Kept, ...]:
    """Up to ``limit`` of the moves since the last call, each as its row stands now.

    Moves of other models are forgotten. Fewer than ``limit``: that was all.
    """
    rows = _sql(
        "SELECT seq, m.scope, m.item, vector FROM (SELECT * FROM temp.moved_vector "
        "WHERE embedder = ? AND kind = ? ORDER BY seq LIMIT ?) AS m "
        "LEFT JOIN main.vector USING (embedder, scope, kind, item) ORDER BY seq",
        (embedder, kind, limit),
    )
    if len(rows) < limit:
        _sql("DELETE FROM temp.moved_vector WHERE kind = ?", (kind,))
    else:
        _sql("DELETE FROM temp.moved_vector WHERE kind = ? AND seq <= ?", (kind, rows[-1][0]))
    return tuple(Kept(*row[1:]) for row in rows)


def newest(
    embedder: int, scope: int, kind: str, before: int, limit: int
) -> list[tuple[int, bytes]]:
    """The last vectors of a scope whose items come ``before``, newest first: (item, float16)."""
    return _sql(
        "SELECT item, vector FROM vector WHERE embedder = ? AND scope = ? AND kind = ? "
        "AND item < ? ORDER BY item DESC LIMIT ?",
        (embedder, scope, kind, before, limit),
    )


def scopes_with(embedder: int, kind: str, after: int, limit: int) -> list[tuple[int, int]]:
    """The next scopes above ``after`` that hold vectors, ascending: (scope, newest item or 0).

    A few probes of the table's key for each, whatever they hold.
    """
    sql = (
        "WITH RECURSIVE s(scope) AS ("
        "SELECT (SELECT min(scope) FROM vector WHERE embedder = :e AND scope > :after) "
        "UNION ALL SELECT (SELECT min(scope) FROM vector WHERE embedder = :e AND scope > s.scope) "
        "FROM s WHERE s.scope IS NOT NULL) "
        "SELECT scope, COALESCE((SELECT max(item) FROM vector WHERE embedder = :e "
        "AND vector.scope = s.scope AND kind = :kind), 0) "
        "FROM s WHERE scope IS NOT NULL LIMIT :limit"
    )
    return _sql(sql, {"e": embedder, "after": after, "kind": kind, "limit": limit})


def _sql(sql: str, params: Sequence[Any] | dict[str, Any] = ()) -> list[tuple[Any, ...]]:
    return meta_of(VectorRow).database.execute_sql(sql, params).fetchall()
