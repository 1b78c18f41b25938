"""The built-in index: what stands where in a project's tracked files, by words (SQLite FTS5).

It holds words and line numbers, no text: what is shown is read from the file at that moment. Each
call has a connection of its own in the calling thread; one thread at a time indexes a project.
The index can always be made anew from the files, so one that cannot be read is thrown away.

Vectors belong beside ``chunk_words``, as a second ranking over the same chunk ids that ``search``
fuses with the first.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from core.sources.code.chunks import cut
from core.sources.code.files import File, read_lines
from core.sources.code.words import code_index_text, match_expression
from core.sources.locks import lock_for

log = structlog.get_logger()

VERSION = 1  # of the tables and of how files are cut: another one builds the index anew
BATCH_S = 0.25  # how long a write may be open
BUSY_S = 2.0
MANY = 200  # files that may take longer than a question should wait
CANDIDATES = 80

_TABLES = """
CREATE TABLE file (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, mtime_ns INTEGER NOT NULL,
    size INTEGER NOT NULL);
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL REFERENCES file(id),
    first INTEGER NOT NULL, last INTEGER NOT NULL, symbol TEXT NOT NULL);
CREATE INDEX chunk_of_file ON chunk (file_id);
CREATE VIRTUAL TABLE chunk_words USING fts5 (
    symbol, path, body, tokenize = 'porter unicode61');
"""

Likely = Callable[[], Mapping[str, float]]

_SEARCH = """
SELECT file.path, chunk.first, chunk.last, chunk.symbol,
       -bm25(chunk_words, 5.0, 3.0, 1.0) AS score
FROM chunk_words
JOIN chunk ON chunk.id = chunk_words.rowid JOIN file ON file.id = chunk.file_id
WHERE chunk_words MATCH ? ORDER BY score DESC, file.path, chunk.first LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class Hit:
    """A place in the project: lines from 1, the last one included; a higher score is better."""

    path: str
    first: int
    last: int
    symbol: str
    score: float


class Index:
    """The index of one project, in a file within ``folder``. Blocking."""

    def __init__(self, folder: Path, project: Path) -> None:
        self._project = project
        name = hashlib.sha256(str(project.resolve()).encode("utf-8", "surrogateescape"))
        self._file = folder / f"code-{name.hexdigest()[:20]}.sqlite"
        self._lock = lock_for(self._file)

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
            self._drop_if_broken(error)
            return self._refresh(files, until, first, likely)
        finally:
            self._lock.release()

    def search(self, terms: list[str], limit: int = CANDIDATES) -> list[Hit]:
        """The places that hold any of ``terms``, best first, as BM25 ranks them."""
        expression = match_expression(terms)
        if not expression or not self._file.exists():
            return []
        try:
            with self._open() as db:
                rows = db.execute(_SEARCH, (expression, limit)).fetchall()
        except sqlite3.DatabaseError as error:
            self._drop_if_broken(error)
            return []
        return [Hit(*row) for row in rows]

    def _refresh(
        self,
        files: Sequence[File],
        until: float,
        first: Sequence[str],
        likely: Likely,
    ) -> int:
        with self._open() as db:
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
            return len(stale) - done

    def _stale(self, files: Sequence[File], db: sqlite3.Connection | None = None) -> list[File]:
        if db is None:
            with self._open() as own:
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
        row = db.execute("SELECT id FROM file WHERE path = ?", (file.path,)).fetchone()
        if row:
            _take_out(db, row[0])
        facts = (file.path, file.mtime_ns, file.size)
        cursor = db.execute("INSERT INTO file (path, mtime_ns, size) VALUES (?, ?, ?)", facts)
        file_id = cursor.lastrowid
        lines, path_words = read_lines(self._project, file.path), code_index_text(file.path)
        for chunk in cut(file.path, lines):
            place = (file_id, chunk.first, chunk.last, chunk.symbol)
            at = db.execute(
                "INSERT INTO chunk (file_id, first, last, symbol) VALUES (?, ?, ?, ?)", place
            )
            body = "\n".join(lines[chunk.first - 1 : chunk.last])
            words = (code_index_text(chunk.symbol), path_words, code_index_text(body))
            db.execute(
                "INSERT INTO chunk_words (rowid, symbol, path, body) VALUES (?, ?, ?, ?)",
                (at.lastrowid, *words),
            )

    @contextlib.contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        db = sqlite3.connect(self._file, timeout=BUSY_S, isolation_level=None)
        with contextlib.closing(db):
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                _make(db)
            elif version != VERSION:
                raise sqlite3.DatabaseError("made by another version")
            yield db

    def _drop_if_broken(self, error: sqlite3.DatabaseError) -> None:
        """Throw the index away where that helps; otherwise (locked, disk full) raise ``error``."""
        if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
            raise error
        log.warning("code.index_dropped", error=type(error).__name__)
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._file}{suffix}").unlink(missing_ok=True)


def _make(db: sqlite3.Connection) -> None:
    """The tables, all or nothing; another thread may have made them meanwhile."""
    with db:
        db.execute("BEGIN IMMEDIATE")
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in _TABLES.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {VERSION}")


def _take_out(db: sqlite3.Connection, file_id: int) -> None:
    chunks = "SELECT id FROM chunk WHERE file_id = ?"
    db.execute(f"DELETE FROM chunk_words WHERE rowid IN ({chunks})", (file_id,))  # noqa: S608
    db.execute("DELETE FROM chunk WHERE file_id = ?", (file_id,))
    db.execute("DELETE FROM file WHERE id = ?", (file_id,))


def _ends_with(path: str, ends: tuple[str, ...]) -> bool:
    return any(path == end or path.endswith(f"/{end.lstrip('./')}") for end in ends)
