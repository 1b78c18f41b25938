"""Vectors of pieces of files, beside their words in the index: kept, counted and compared.

A vector belongs to what a piece says (``key``), not to where it stands: a file that is moved, or a
piece that only shifts within its file, is not embedded again. They are compared by numpy, exactly:
20,000 pieces take a few milliseconds once they are in memory.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TABLES = """
CREATE TABLE vector (key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
CREATE TABLE fact (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
"""

KEPT = 3  # indexes whose vectors stay in memory: some 40 MB for 20,000 pieces

_MODEL, _CHANGES, _LITTER = "model", "changes", "litter"
_MISSING = """
SELECT file.path, chunk.first, chunk.last, chunk.symbol, chunk.key
FROM chunk CROSS JOIN file ON file.id = chunk.file_id
WHERE NOT EXISTS (SELECT 1 FROM vector WHERE vector.key = chunk.key)
ORDER BY file.aside, file.mtime_ns DESC, file.path, chunk.first LIMIT ?
"""
_COUNT = """
SELECT count(*), sum(NOT EXISTS (SELECT 1 FROM vector WHERE vector.key = chunk.key)) FROM chunk
"""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece that has no vector yet, and where it stands."""

    path: str
    first: int
    last: int
    symbol: str
    key: bytes


@dataclass(frozen=True, slots=True)
class _Kept:
    stamp: tuple[object, object]
    ids: NDArray[np.int64]
    rows: NDArray[np.float32]  # made so once: to do it for each question takes longer than all else


_kept: OrderedDict[Path, _Kept] = OrderedDict()
_guard = threading.Lock()


def key_of(symbol: str, lines: Sequence[str]) -> bytes:
    """What a piece says, as a key of 16 bytes: the same words are embedded once."""
    text = "\n".join((symbol, *lines)).encode("utf-8", "replace")
    return hashlib.blake2b(text, digest_size=16).digest()


# --- keeping -----------------------------------------------------------------------------


def begin(db: sqlite3.Connection, model: str) -> None:
    """Make ``model`` the one whose vectors are kept; those of another are thrown away."""
    if _fact(db, _MODEL) == model:
        return
    with db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("DELETE FROM vector")
        _set(db, _MODEL, model)
        changed(db)


def is_of(db: sqlite3.Connection, model: str) -> bool:
    """Whether the vectors are of ``model``."""
    return _fact(db, _MODEL) == model


def missing(db: sqlite3.Connection, skipped: Sequence[bytes], limit: int) -> list[Piece]:
    """Pieces without a vector: what is central first, then the newest files.

    ``skipped`` are keys of pieces that cannot be embedded as things stand.
    """
    rows = db.execute(_MISSING, (limit + len(skipped),))
    left_out = set(skipped)
    return [Piece(*row) for row in rows if row[4] not in left_out][:limit]


def count(db: sqlite3.Connection) -> tuple[int, int]:
    """How many pieces there are, and how many of them have no vector."""
    pieces, left = db.execute(_COUNT).fetchone()
    return pieces, left or 0


def put(db: sqlite3.Connection, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
    """Keep vectors by key, in one transaction; of pieces that are gone meanwhile none."""
    with db:
        db.execute("BEGIN IMMEDIATE")
        db.executemany(
            "INSERT OR REPLACE INTO vector (key, vector) "
            "SELECT :key, :vector WHERE EXISTS (SELECT 1 FROM chunk WHERE key = :key)",
            [{"key": key, "vector": row.astype("<f2").tobytes()} for key, row in vectors.items()],
        )
        changed(db)


def changed(db: sqlite3.Connection) -> None:
    """Note that what is held in memory is out of date. Within a transaction.

    It is counted from anywhere, so that an index that was made anew is never taken for the old one.
    """
    db.execute(
        "INSERT INTO fact (name, value) VALUES (?, abs(random()) / 2) "
        "ON CONFLICT (name) DO UPDATE SET value = value + 1",
        (_CHANGES,),
    )


def littered(db: sqlite3.Connection) -> None:
    """Note that there may be vectors of pieces that are gone. Within a transaction."""
    _set(db, _LITTER, "1")


def sweep(db: sqlite3.Connection) -> None:
    """Take out the vectors of pieces that are gone, once all files are known as they are now."""
    if _fact(db, _LITTER) != "1":
        return
    with db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("DELETE FROM vector WHERE key NOT IN (SELECT key FROM chunk)")
        _set(db, _LITTER, "")
        changed(db)


def stamp(db: sqlite3.Connection) -> tuple[object, object]:
    """Another one whenever pieces or vectors are others."""
    return _fact(db, _MODEL), _fact(db, _CHANGES)


def _fact(db: sqlite3.Connection, name: str) -> object:
    row = db.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None


def _set(db: sqlite3.Connection, name: str, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO fact (name, value) VALUES (?, ?)", (name, value))


# --- comparing ---------------------------------------------------------------------------


def near(
    db: sqlite3.Connection, file: Path, vector: NDArray[np.float32], limit: int
) -> list[tuple[int, float]]:
    """Ids and cosines of the pieces that are nearest to ``vector``, nearest first."""
    held = _held(db, file)
    if not len(held.ids) or held.rows.shape[1] != len(vector):
        return []
    cosines = held.rows @ vector
    top = np.argsort(-cosines, kind="stable")[:limit]
    return [(int(held.ids[at]), float(cosines[at])) for at in top]


def _held(db: sqlite3.Connection, file: Path) -> _Kept:
    """All vectors of an index, as it stands now: from memory where nothing has changed."""
    now = stamp(db)
    with _guard:
        found = _kept.get(file)
        if found is not None and found.stamp == now:
            _kept.move_to_end(file)
            return found
    pairs = db.execute(
        "SELECT chunk.id, vector.vector FROM chunk JOIN vector ON vector.key = chunk.key"
    ).fetchall()
    ids = np.array([number for number, _ in pairs], dtype=np.int64)
    joined = np.frombuffer(b"".join(row for _, row in pairs), dtype="<f2").astype(np.float32)
    kept = _Kept(now, ids, joined.reshape(len(pairs), -1) if pairs else joined.reshape(0, 0))
    with _guard:
        _kept[file] = kept
        _kept.move_to_end(file)
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return kept


def forget(file: Path) -> None:
    """Give back the memory that an index's vectors take: its file is gone."""
    with _guard:
        _kept.pop(file, None)
