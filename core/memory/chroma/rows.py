"""What SQLite holds of vectors, read in pages: the truth that Chroma is a copy of.

All of this runs on the records' thread.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from core.memory.chroma.store import Stand, mark_of
from core.memory.embed.port import Vectors
from core.records import embedders
from core.records.embedders import Model
from core.records.prepared import meta_of
from core.records.tables import MetaRow, VectorRow

Place = tuple[str, int]
"""Kind and item of a row of vectors; where the next page goes on."""

START: Place = ("", 0)
_DATABASE = "memory.database"


def model(embedder: int) -> Model | None:
    """The model of this id, or ``None``."""
    return next((one for one in embedders.every() if one.id == embedder), None)


def kept() -> list[str]:
    """Names of the models that have a collection: the current one, and one that is to be."""
    return [one.name for one in embedders.every() if one.state != "old"]


def database_id() -> str:
    """What tells this database from all others; made at the first call."""
    row = MetaRow.get_or_none(MetaRow.name == _DATABASE)
    if row is None:
        row = MetaRow.create(name=_DATABASE, value=uuid.uuid4().hex)
    return row.value


def place_of(name: str) -> Place:
    """Kind and item of an id such as ``message:12``."""
    kind, _, item = name.partition(":")
    return kind, int(item)


def page(embedder: int, after: Place, limit: int) -> tuple[dict[str, int], Place | None]:
    """The scopes of the next ``limit`` rows by id, and where to go on (``None``: that was all).

    Read from the index over kind and item alone, which holds the scope as well.
    """
    found = _sql(
        "SELECT kind, item, scope, embedder FROM vector WHERE (kind, item) > (?, ?) "
        "ORDER BY kind, item LIMIT ?",
        [*after, limit],
    )
    after_all: Place | None = None
    if len(found) == limit:
        # A page ends between two items: rows of one under several models may be cut apart.
        kind, item = found[-1][0], found[-1][1]
        whole = [row for row in found if (row[0], row[1]) != (kind, item)]
        found, after_all = (whole, (kind, item - 1)) if whole else (found, (kind, item))
    scopes = {f"{kind}:{item}": scope for kind, item, scope, of in found if of == embedder}
    return scopes, after_all


def of(embedder: int, names: Iterable[str]) -> tuple[dict[str, int], Mapping[str, Vectors]]:
    """Scopes and vectors of those ids that have any."""
    scopes, vectors = dict[str, int](), dict[str, Vectors]()
    for kind, items in _by_kind(names).items():
        slots = ",".join("?" * len(items))
        for item, scope, blob in _sql(
            f"SELECT item, scope, vector FROM vector WHERE kind = ? AND item IN ({slots}) "  # noqa: S608
            "AND embedder = ?",
            [kind, *items, embedder],
        ):
            scopes[f"{kind}:{item}"] = scope
            vectors[f"{kind}:{item}"] = np.frombuffer(blob, "<f2").astype(np.float32)
    return scopes, vectors


def stands_of(embedder: int, names: Iterable[str]) -> dict[str, Stand]:
    """Those ids that have a vector, as they stand."""
    found = dict[str, Stand]()
    for kind, items in _by_kind(names).items():
        slots = ",".join("?" * len(items))
        for item, scope, blob in _sql(
            f"SELECT item, scope, vector FROM vector WHERE kind = ? AND item IN ({slots}) "  # noqa: S608
            "AND embedder = ?",
            [kind, *items, embedder],
        ):
            found[f"{kind}:{item}"] = scope, mark_of(blob)
    return found


def some(embedder: int, many: int) -> list[str]:
    """Up to ``many`` ids, from all over."""
    # Two statements: each is one look into the index, both at once would read all of it.
    [(low,)] = _sql("SELECT min(item) FROM vector WHERE kind = 'message'", [])
    [(high,)] = _sql("SELECT max(item) FROM vector WHERE kind = 'message'", [])
    if low is None:
        return []
    steps = np.linspace(low, high, many).astype(int)
    found = [
        _sql(
            "SELECT item FROM vector WHERE kind = 'message' AND item >= ? AND embedder = ? "
            "ORDER BY item LIMIT 1",
            [int(step), embedder],
        )
        for step in dict.fromkeys(steps.tolist())
    ]
    return list(dict.fromkeys(f"message:{rows[0][0]}" for rows in found if rows))


def count(embedder: int) -> int:
    """How many vectors there are."""
    # "+": by the index over kind and item, which is a tenth of the table.
    [(many,)] = _sql("SELECT count(*) FROM vector WHERE +embedder = ?", [embedder])
    return many


def _by_kind(names: Iterable[str]) -> dict[str, list[int]]:
    by_kind: dict[str, list[int]] = {}
    for name in names:
        kind, item = place_of(name)
        by_kind.setdefault(kind, []).append(item)
    return by_kind


def _sql(sql: str, params: Sequence[Any]) -> list[Any]:
    return meta_of(VectorRow).database.execute_sql(sql, list(params)).fetchall()
