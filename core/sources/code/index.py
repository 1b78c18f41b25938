"""The built-in index: what stands where in a project's files, by words (FTS5) and by vectors.

It holds words, vectors and line numbers, no text: what is shown is read from the file at that
moment. Each call has a connection of its own in the calling thread; one thread at a time indexes a
project. The index can always be made anew from the files, so one that cannot be read is thrown
away.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import structlog
from numpy.typing import NDArray

from core.sources.code import vectors
from core.sources.code.blend import blend
from core.sources.code.chunks import Chunk, cut
from core.sources.code.files import File, is_aside, read_lines
from core.sources.code.passages import passage_of
from core.sources.code.words import code_index_text, match_expression
from core.sources.locks import lock_for

log = structlog.get_logger()

VERSION = 3  # of the tables and of how files are cut: another one builds the index anew
BATCH_S = 0.25  # how long a write may be open
BUSY_S = 2.0
MANY = 200  # files that may take longer than a question should wait
CANDIDATES = 80
LOOKED_AT = 200  # of each ranking
WORDS_WEIGHT, NAMED_WEIGHT = 0.3, 0.6  # how much words count beside meaning

_TABLES = """
CREATE TABLE file (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, mtime_ns INTEGER NOT NULL,
    size INTEGER NOT NULL, blob BLOB NOT NULL, aside INTEGER NOT NULL);
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL REFERENCES file(id),
    first INTEGER NOT NULL, last INTEGER NOT NULL, symbol TEXT NOT NULL, key BLOB NOT NULL);
CREATE INDEX chunk_of_file ON chunk (file_id);
CREATE INDEX chunk_by_key ON chunk (key);
CREATE VIRTUAL TABLE chunk_words USING fts5 (
    symbol, path, body, tokenize = 'porter unicode61');
"""

Likely = Callable[[], Mapping[str, float]]

_SEARCH = """
SELECT rowid, -bm25(chunk_words, 5.0, 3.0, 1.0) AS score
FROM chunk_words WHERE chunk_words MATCH ? ORDER BY score DESC, rowid LIMIT ?
"""
_PLACE = """
SELECT file.path, chunk.first, chunk.last, chunk.symbol
FROM chunk JOIN file ON file.id = chunk.file_id WHERE chunk.id = ?
"""

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Hit:
    """A place in the project: lines from 1, the last one included; a higher score is better."""

    path: str
    first: int
    last: int
    symbol: str
    score: float


@dataclass(frozen=True, slots=True)
class Kind:
    """What an index holds, and how its files are cut and told to an embedder.

    Attributes:
        name: of its file.
        cut: the pieces of a file, from its path and lines.
        passage: what of a piece is embedded: path, symbol, its lines, those of the whole file.
        words_weight: how much words count beside meaning, 0 to 1.
    """

    name: str
    cut: Callable[[str, Sequence[str]], Sequence[Chunk]]
    passage: Callable[[str, str, Sequence[str], Sequence[str]], str]
    words_weight: float


CODE = Kind("code", cut, passage_of, WORDS_WEIGHT)


class Index:
    """The index of one project, in a file within ``folder``. Blocking."""

    def __init__(self, folder: Path, project: Path, kind: Kind = CODE) -> None:
        self.project = project
        self.kind = kind
        name = hashlib.sha256(str(project.resolve()).encode("utf-8", "surrogateescape"))
        self.file = folder / f"{kind.name}-{name.hexdigest()[:20]}.sqlite"
        self._lock = lock_for(self.file)

    def refresh(
        self,
        files: Sequence[File],
        until: float,
        first: Sequence[str] = (),
        likely: Likely = dict,
    ) -> int:
        """Bring the index up to date with ``files`` as far as time allows.

        Args:
            files: all files that may be found.
            until: when to stop, as ``time.monotonic`` counts.
            first: paths (or ends of paths) that matter most.
            likely: weights of paths that matter more than others; asked for only when there is
                more to do than time may allow. Then the newest come first.

        Returns:
            How many files are not (or not as they are now) in the index yet.
        """
        if not self._lock.acquire(timeout=max(0.0, until - time.monotonic())):
            return len(self._stale(files))  # another thread is at it: its work counts
        try:
            return self._refresh(files, until, first, likely)
        except sqlite3.DatabaseError as error:
            self.drop_if_broken(error)
            return self._refresh(files, until, first, likely)
        finally:
            self._lock.release()

    def search(
        self,
        terms: list[str],
        vector: Vector | None = None,
        limit: int = CANDIDATES,
        *,
        named: bool = False,
    ) -> list[Hit]:
        """The places that hold any of ``terms`` or mean what ``vector`` means, best first.

        ``vector`` is the question's, of the model whose vectors are kept; without it words count
        alone, as BM25 ranks them. They count more where the question calls things by name.
        """
        expression = match_expression(terms)
        if (not expression and vector is None) or not self.file.exists():
            return []
        try:
            with self.open() as db:
                words = db.execute(_SEARCH, (expression, LOOKED_AT)) if expression else ()
                found = [(number, score) for number, score in words]
                if vector is not None:
                    near = vectors.near(db, self.file, vector, LOOKED_AT)
                    weight = self.kind.words_weight
                    found = blend(found, near, max(weight, NAMED_WEIGHT) if named else weight)
                return [hit for number, score in found[:limit] if (hit := _hit(db, number, score))]
        except sqlite3.DatabaseError as error:
            self.drop_if_broken(error)
            return []

    def _refresh(
        self,
        files: Sequence[File],
        until: float,
        first: Sequence[str],
        likely: Likely,
    ) -> int:
        with self.open() as db:
            stale = self._stale(files, db)
            self._forget(db, files)
            named = tuple(first)
            weights: Mapping[str, float] = likely() if len(stale) > MANY else {}

            def turn(file: File) -> tuple[bool, float, int, str]:
                weight = weights.get(file.path, 0.0)
                return not _ends_with(file.path, named), -weight, -file.mtime_ns, file.path

            stale.sort(key=turn)
            done = 0
            while done < len(stale) and time.monotonic() < until:
                with db:
                    db.execute("BEGIN IMMEDIATE")
                    batch_end = min(until, time.monotonic() + BATCH_S)
                    while done < len(stale) and time.monotonic() < batch_end:
                        self._put(db, stale[done])
                        done += 1
            if done == len(stale):
                vectors.sweep(db)  # not before: a file that was moved keeps its vectors
            return len(stale) - done

    def _stale(self, files: Sequence[File], db: sqlite3.Connection | None = None) -> list[File]:
        if db is None:
            with self.open() as own:
                return self._stale(files, own)
        rows = db.execute("SELECT path, mtime_ns, size FROM file")
        known = {path: (mtime_ns, size) for path, mtime_ns, size in rows}
        return [f for f in files if known.get(f.path) != (f.mtime_ns, f.size)]

    def _forget(self, db: sqlite3.Connection, files: Sequence[File]) -> None:
        """Take out what is tracked no more."""
        there = {f.path for f in files}
        gone = [(i,) for i, path in db.execute("SELECT id, path FROM file") if path not in there]
        if gone:
            with db:
                db.execute("BEGIN IMMEDIATE")
                for (file_id,) in gone:
                    _take_out(db, file_id)

    def _put(self, db: sqlite3.Connection, file: File) -> None:
        """Index one file as it is now; one without usable text is known, with no chunks."""
        lines = read_lines(self.project, file.path)
        blob = vectors.key_of("", lines)
        row = db.execute("SELECT id, blob FROM file WHERE path = ?", (file.path,)).fetchone()
        if row and row[1] == blob:  # touched only, or checked out anew
            facts = (file.mtime_ns, file.size, row[0])
            db.execute("UPDATE file SET mtime_ns = ?, size = ? WHERE id = ?", facts)
            return
        if row:
            _take_out(db, row[0])
        cursor = db.execute(
            "INSERT INTO file (path, mtime_ns, size, blob, aside) VALUES (?, ?, ?, ?, ?)",
            (file.path, file.mtime_ns, file.size, blob, is_aside(file.path)),
        )
        file_id, path_words = cursor.lastrowid, code_index_text(file.path)
        for chunk in self.kind.cut(file.path, lines):
            held = lines[chunk.first - 1 : chunk.last]
            key = vectors.key_of(chunk.symbol, held)
            place = (file_id, chunk.first, chunk.last, chunk.symbol, key)
            at = db.execute(
                "INSERT INTO chunk (file_id, first, last, symbol, key) VALUES (?, ?, ?, ?, ?)",
                place,
            )
            words = (code_index_text(chunk.symbol), path_words, code_index_text("\n".join(held)))
            db.execute(
                "INSERT INTO chunk_words (rowid, symbol, path, body) VALUES (?, ?, ?, ?)",
                (at.lastrowid, *words),
            )
        vectors.changed(db)

    @contextlib.contextmanager
    def open(self) -> Generator[sqlite3.Connection]:
        """A connection to the index, which is made where it is missing.

        Raises:
            sqlite3.DatabaseError: it cannot be read, or another version made it.
        """
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        db = sqlite3.connect(self.file, timeout=BUSY_S, isolation_level=None)
        with contextlib.closing(db):
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                _make(db)
            elif version != VERSION:
                raise sqlite3.DatabaseError("made by another version")
            yield db

    def drop_if_broken(self, error: sqlite3.DatabaseError) -> None:
        """Throw the index away where that helps; otherwise (locked, disk full) raise ``error``."""
        if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
            raise error
        log.warning("code.index_dropped", error=type(error).__name__)
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.file}{suffix}").unlink(missing_ok=True)
        vectors.forget(self.file)


def _hit(db: sqlite3.Connection, number: int, score: float) -> Hit | None:
    """The place of a chunk; ``None`` when it is gone since it was found."""
    row = db.execute(_PLACE, (number,)).fetchone()
    return Hit(row[0], row[1], row[2], row[3], score) if row else None


def _make(db: sqlite3.Connection) -> None:
    """The tables, all or nothing; another thread may have made them meanwhile."""
    with db:
        db.execute("BEGIN IMMEDIATE")
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in (_TABLES + vectors.TABLES).split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {VERSION}")


def _take_out(db: sqlite3.Connection, file_id: int) -> None:
    chunks = "SELECT id FROM chunk WHERE file_id = ?"
    db.execute(f"DELETE FROM chunk_words WHERE rowid IN ({chunks})", (file_id,))  # noqa: S608
    db.execute("DELETE FROM chunk WHERE file_id = ?", (file_id,))
    db.execute("DELETE FROM file WHERE id = ?", (file_id,))
    vectors.littered(db)
    vectors.changed(db)


def _ends_with(path: str, ends: tuple[str, ...]) -> bool:
    return any(path == end or path.endswith(f"/{end.lstrip('./')}") for end in ends)
