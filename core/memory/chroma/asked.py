"""What everybody may ask of Chroma, and how one is told that it cannot answer just now."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

import structlog

from core.memory.chroma.copying import Copying
from core.memory.chroma.home import FOLDER, Home
from core.memory.chroma.lane import Lane
from core.memory.chroma.store import Collection, Item, Store
from core.memory.embed.port import Vectors
from core.model.memory import MemoryState
from core.records.embedders import Model
from core.records.thread import Records

log = structlog.get_logger()

T = TypeVar("T")

State = Literal["ready", "behind", "rebuilding", "away", "off"]


class ChromaAway(Exception):
    """Chroma cannot be asked just now: use what SQLite holds. Says why, in words for people.

    ``state`` is one of ``MemoryState.chroma``. What was to be put or dropped meanwhile is made up
    for from SQLite when it is back: nobody has to repeat it.
    """

    def __init__(self, state: State, why: str) -> None:
        super().__init__(why)
        self.state: State = state


@dataclass(frozen=True, slots=True)
class Pace:
    """How patient the index is, in seconds."""

    begin_s: float = 3.0  # the library is not imported while a first question is answered
    query_s: float = 1.0
    call_s: float = 30.0
    open_s: float = 120.0
    probe_s: float = 120.0
    tick_s: float = 2.0
    retry_s: float = 5.0
    longest_retry_s: float = 300.0
    compare_s: float = 3600.0
    erase_s: float = 20 * 3600.0  # between two rebuilds that only erase
    idle_s: float = 300.0  # without a question or a change before such a one begins
    erase_late_s: float = 30 * 3600.0  # after which one is not waited for an idle time


@dataclass(slots=True)
class Opened:
    """What is open, and which model's vectors are served from it."""

    store: Store
    generation: str
    model: Model
    held: Collection
    built_at: float
    erased: bool = False
    answers: bool = False
    compared_at: float = field(default_factory=time.monotonic)


NOT_OPENED = "it has not been opened yet"
NO_VECTORS = "there are no vectors yet"
MISSED = 50_000  # ids that were not told; above it everything is compared


class Asked:
    """The index as it is used. ``core.memory.chroma.index`` opens it and looks after it.

    Args:
        records: the open database.
        folder: the storage folder.
        where: "folder" (below it), "http://host:port" (a server) or "off".
        pace: how patient it is.
    """

    def __init__(
        self, records: Records, folder: Path, where: str = "folder", pace: Pace | None = None
    ) -> None:
        self._records = records
        self._off = where == "off"
        self._home = Home(folder / FOLDER, "folder" if self._off else where)
        self._pace = pace or Pace()
        self._lane = Lane("chroma")
        self._copying = Copying(records, self._lane, self._pace.call_s)
        self._importing = False  # nothing of it touches files yet
        self._opened: Opened | None = None
        self._state: State = "off" if self._off else "away"
        self._why = "" if self._off else NOT_OPENED
        self._count = 0
        self._wake = asyncio.Event()  # something is due
        self._hurry = asyncio.Event()  # nor is it to rest any longer
        self._looked = True
        self._trouble = ""
        self._doubt = False
        self._faults = 0
        self._missed: set[str] = set()
        self._missed_all = False
        self._used_at = time.monotonic()
        self._wanted: list[asyncio.Future[None]] = []

    # What everybody may ask.

    async def put(
        self, items: Sequence[Item], vectors: Vectors, *, embedder: int | None = None
    ) -> None:
        """Add or replace vectors that are in SQLite already, committed.

        Args:
            items: ids such as ``message:12``, each with its scope.
            vectors: (n, dim), in their order.
            embedder: the id of their model; what is not of the current one is left to ``prepare``.

        Raises:
            ChromaAway: it is made up for later.
        """
        names = [name for name, _ in items]
        await self._change(names, lambda held: held.put(items, vectors), embedder)

    async def drop(self, ids: Sequence[str]) -> None:
        """Take ids out whose vectors are gone from SQLite. Raises ``ChromaAway`` as ``put``."""
        await self._change(ids, lambda held: held.drop(ids), None, dropped=True)

    async def query(
        self, vector: Vectors, scopes: Sequence[int], limit: int, *, embedder: int | None = None
    ) -> tuple[list[str], list[float]]:
        """The nearest ids of these scopes and their cosines, nearest first.

        What it knows of scopes may be old: the rows are asked again.

        Raises:
            ChromaAway: it cannot answer, or serves another model.
        """
        opened = self._opened
        if opened is None or not opened.answers:
            raise ChromaAway(self._state, self._why)
        if embedder not in (None, opened.model.id) or vector.shape != (opened.model.dim,):
            self._looked = False
            self._wake.set()
            raise ChromaAway("behind", "it still has the vectors of another model")
        if not scopes or limit < 1:
            return [], []
        self._used_at = time.monotonic()
        ids, cosines = await self._call(
            lambda: opened.held.query(vector, scopes, limit), self._pace.query_s
        )
        return ids, [float(cosine) for cosine in cosines]

    async def ids(self) -> set[str]:
        """All ids, read in pages. Raises ``ChromaAway``."""
        held = self._serving().held
        found: set[str] = set()
        offset = 0
        while part := await self._call(lambda at=offset: held.page(at), self._pace.call_s):
            offset += len(part)
            found.update(part)
        return found

    async def count(self) -> int:
        """How many vectors it has. Raises ``ChromaAway``."""
        held = self._serving().held
        self._count = await self._call(held.count, self._pace.call_s)
        return self._count

    @property
    def unwell(self) -> str:
        """Why it cannot be used, though it should; "" where nothing is wrong."""
        usual = self._state != "away" or self._why in (NOT_OPENED, NO_VECTORS)
        return "" if usual else self._why

    async def state(self) -> MemoryState:
        """How it stands: only ``chroma``, ``in_chroma`` and ``why`` of it. Quick."""
        with contextlib.suppress(ChromaAway):
            held = self._serving().held
            self._count = await self._call(held.count, self._pace.query_s)
        return MemoryState(chroma=self._state, in_chroma=self._count, why=self._why)

    # How it is done.

    async def _change(
        self,
        names: Sequence[str],
        change: Callable[[Collection], bool],
        embedder: int | None,
        *,
        dropped: bool = False,
    ) -> None:
        if not names:
            return
        if self._off:
            raise ChromaAway("off", "it is switched off")
        self._copying.touch(names, dropped=dropped)
        opened = self._opened
        if opened is None:
            self._miss(names)
            raise ChromaAway(self._state, self._why)
        if embedder not in (None, opened.model.id):
            return
        self._used_at = time.monotonic()

        of = opened.model.id

        def changed() -> None:
            # What is open when its turn comes: a rebuild may have put another in its place. One of
            # another model has read this from SQLite by itself.
            now = self._opened or opened
            if not dropped and of != now.model.id:
                return
            if change(now.held) and not now.erased:
                self._home.place.note(erased=True)
                now.erased = True

        try:
            await self._call(changed, self._pace.call_s)
        except (ChromaAway, asyncio.CancelledError):
            self._miss(names)
            raise

    def _serving(self) -> Opened:
        if self._opened is None:
            raise ChromaAway(self._state, self._why)
        return self._opened

    async def _call(self, function: Callable[[], T], within_s: float) -> T:
        """One call of Chroma. Raises ``ChromaAway``; any error of it is looked into."""
        try:
            return await self._lane.do(function, within_s)
        except TimeoutError:
            if self._lane.busy_s >= self._pace.call_s:
                self._fault("it does not answer")
            raise ChromaAway("behind", "it is busy") from None
        except Exception as error:
            self._fault(f"{type(error).__name__} when it was asked")
            raise ChromaAway(self._state, self._why) from error

    def _fault(self, why: str) -> None:
        """Something is wrong with it: nobody is answered from it until it has been looked at."""
        log.warning("chroma.fault", why=why)
        if self._opened is not None:
            self._opened.answers = False
        self._trouble = self._trouble or why
        self._say("away", f"{why}; it is being looked at")
        self._wake.set()

    def _miss(self, names: Iterable[str]) -> None:
        if not self._missed_all:
            self._missed.update(names)
        if len(self._missed) > MISSED:
            self._missed.clear()
            self._missed_all = True
        self._wake.set()

    def _say(self, state: State, why: str = "") -> None:
        if (state, why) != (self._state, self._why):
            log.info("chroma.state", state=state, why=why)
        self._state, self._why = state, why
