"""Memory as one thing: it makes vectors of what was said, keeps them, and is asked what is near.

Each part works in the background and is begun again after a failure. Until a part is there, or
while it fails, questions are answered from keywords alone: nobody waits for memory.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import structlog

from core.memory import dates
from core.memory.chroma.index import ChromaAway, ChromaIndex
from core.memory.chroma.lane import Lane
from core.memory.embed.choose import Choice, EmbedTerms, Named, choose
from core.memory.embed.port import Embedder, EmbedderError, Vectors
from core.memory.find import people_in
from core.memory.indexer import Indexer, Serving
from core.memory.near import Nearby
from core.memory.shelf import Floats, Ids
from core.memory.texts import question_of
from core.model import Near, Scene
from core.model.memory import MemoryState
from core.records import scopes, statements, vectors
from core.records.tables import IndexJobRow
from core.records.thread import Records

log = structlog.get_logger()

FOUND = 200  # what is told of one question
KEPT_QUESTIONS = 64  # vectors of texts that were asked lately
STATEMENTS_SHARE = 4  # of what is held in memory, beside it
LANES = 2  # questions whose vectors are made at once
AGAIN_S = 1.0  # until a part that failed is begun again; twice as long each time
AGAIN_AT_MOST_S = 60.0
CHOOSE_AGAIN_S = 30.0
WARM_AFTER_S = 2.0


@dataclass(frozen=True, slots=True)
class MemoryTerms:
    """What the settings say.

    ``chroma``: "folder", "http://host:port" or "off"; ``statements``: those of topics lend weight.
    """

    embed: EmbedTerms = field(default_factory=EmbedTerms)
    chroma: str = "folder"
    cache_mb: int = 256
    statements: bool = False


@dataclass(frozen=True, slots=True)
class _Look:
    """What the rows say before a question is asked: where to look, and whose names to leave out.

    ``stated``: there are statements of topics, somewhere.
    """

    scopes: tuple[int, ...]
    people: tuple[str, ...]
    stated: bool


class Memory:
    """``run`` until cancelled; all else on the same loop.

    Args:
        records: the open database.
        folder: the storage folder; Chroma's own is below it.
        terms: of the settings.
        choose: makes the embedder that they name. Blocking.
    """

    def __init__(
        self,
        records: Records,
        folder: Path,
        terms: MemoryTerms,
        *,
        choose: Callable[[EmbedTerms], Choice] = choose,
    ) -> None:
        self._records = records
        self._terms = terms
        self._choose = choose
        self.chroma = ChromaIndex(records, folder, terms.chroma)
        self.nearby = Nearby(records, terms.cache_mb * 2**20, self._in_chroma)
        self.statements: Nearby | None = None
        """Of what engines wrote in topics; what memory has no room for lends nothing."""
        if terms.statements:
            room = terms.cache_mb * 2**20 // STATEMENTS_SHARE
            self.statements = Nearby(records, room, kind=statements.KIND)
        self._chosen = Choice(None, "it is still being loaded")
        self._indexer: Indexer | None = None
        self._lanes = [Lane("memory") for _ in range(LANES)]
        self._loading = Lane("memory-loading")
        self._known: OrderedDict[tuple[str, str], Vectors] = OrderedDict()
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Work until cancelled. Nothing of it takes Moot down."""
        await self._records.watch(IndexJobRow, self.wake)
        try:
            async with asyncio.TaskGroup() as group:
                for name, work in (
                    ("indexer", self._index),
                    ("vectors", self.nearby.run),
                    ("chroma", self.chroma.run),
                    ("dates", self._warm_dates),
                    *([("statements", self.statements.run)] if self.statements else []),
                ):
                    group.create_task(_kept_going(name, work))
        finally:
            await asyncio.shield(self._loading.close(0))
            for lane in self._lanes:
                await asyncio.shield(lane.close(1.0))
            _close(self._chosen.embedder)

    def wake(self) -> None:
        """Something was said, changed or erased."""
        if self._indexer is not None:
            self._indexer.wake()

    async def caught_up(self, within_s: float) -> None:
        """Return once all that was said has its vector or none can be made; at most ``within_s``.

        For one who asks right after the start: nobody else waits for memory.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while await self._behind():  # noqa: ASYNC110 - of rows and of two parts
                    await asyncio.sleep(0.05)

    async def _behind(self) -> bool:
        counted = await self._records.do(vectors.counted)
        indexer = self._indexer
        if not counted["messages"] or (indexer is not None and self._chosen.embedder is None):
            return False
        if indexer is None or indexer.serving is None or counted["jobs"]:
            return not (indexer and indexer.why)
        return self.nearby.embedder != indexer.serving.id

    async def near(self, scene: Scene, text: str, *, within_s: float) -> Near | None:
        """See ``core.ports.Recollect``."""
        if self._indexer is None or self._indexer.serving is None:
            return None
        try:
            async with asyncio.timeout(within_s):
                return await self._near(self._indexer.serving, scene, text, within_s)
        except TimeoutError:
            log.info("memory.late", within_s=within_s)
        except EmbedderError as error:
            log.warning("memory.not_asked", error=str(error))
        except Exception:  # whatever it has: the question is answered from keywords
            log.exception("memory.broke", part="near")
        return None

    async def state(self) -> MemoryState:
        """How it stands."""
        counted = await self._records.do(vectors.counted)
        chroma = await self.chroma.state()
        embedder, why = self._chosen.embedder, self._chosen.why
        return replace(
            chroma,
            embedder=embedder.name if embedder else "",
            why="; ".join(
                filter(None, (why, self._indexer.why if self._indexer else "", chroma.why))
            ),
            **counted,
        )

    def unwell(self) -> str:
        """What is wrong with it just now, in a line for people; "": nothing."""
        indexer = self._indexer.why if self._indexer else ""
        if self._indexer and self._terms.embed.kind != "none":  # it was looked for
            indexer = indexer or self._chosen.why
        chroma = self.chroma.unwell and f"Chroma is away: {self.chroma.unwell}"
        found = "; ".join(filter(None, (indexer, chroma)))
        return found and f"Memory: {found}. Answers go on without; `moot doctor` says more."

    async def rebuild(self) -> None:
        """Build Chroma anew from the vectors; returns when it is."""
        await self.chroma.rebuild()

    # --- the question --------------------------------------------------------------------

    async def _near(
        self, serving: Serving, scene: Scene, text: str, within_s: float
    ) -> Near | None:
        look = await self._records.do(_look, scene, text)
        if serving.id != self.nearby.embedder:
            return None  # a new model has just taken over
        if not self.nearby.has_some(look.scopes):
            return Near(serving.embedder.name)
        made = self._vector_of(serving.embedder, question_of(text, look.people))
        asking = asyncio.ensure_future(made)
        try:
            await self.nearby.ready(look.scopes, within_s / 2)
            ids, cosines = await self.nearby.find(await asking, look.scopes, FOUND + 1)
            stated = await self._stated(serving, await asking, look)
        finally:
            asking.cancel()
        found = told(serving.embedder.name, ids, cosines, scene.prompt_message_id)
        return replace(found, statements=stated)

    async def _stated(self, serving: Serving, query: Vectors, look: _Look) -> Near | None:
        """The statements that are nearest, of those that are held: nobody waits for the others."""
        held = self.statements
        if held is None or held.embedder != serving.id or not look.stated:
            return None
        await held.ready(look.scopes, 0.0)
        return told(serving.embedder.name, *await held.find(query, look.scopes, FOUND), 0)

    async def _vector_of(self, embedder: Embedder, text: str) -> Vectors:
        """The vector of a question; that of one asked lately is known."""
        key = embedder.name, text
        if (known := self._known.get(key)) is not None:
            self._known.move_to_end(key)
            return known
        lane = min(self._lanes, key=lambda one: one.busy_s)
        made = await lane.do(lambda: embedder.query(text), 30.0)
        self._known[key] = made
        while len(self._known) > KEPT_QUESTIONS:
            self._known.popitem(last=False)
        return made

    async def _in_chroma(
        self, query: Floats, where: Sequence[int], limit: int
    ) -> tuple[Ids, Floats] | None:
        try:
            # Statements stand beside the messages there: as many places as they may take.
            limit *= 2 if self.statements else 1
            ids, cosines = await self.chroma.query(
                query, where, limit, embedder=self.nearby.embedder
            )
        except (ChromaAway, TimeoutError):
            return None
        numbers = [
            int(name.removeprefix("message:")) for name in ids if name.startswith("message:")
        ]
        near = [c for name, c in zip(ids, cosines, strict=True) if name.startswith("message:")]
        return np.asarray(numbers, np.int64), np.asarray(near, np.float32)

    # --- the work ------------------------------------------------------------------------

    async def _index(self) -> None:
        """Load the embedder and have it make vectors; what is erased goes without one, too."""
        chosen = await self._load()
        while True:
            self._chosen = chosen
            if chosen.embedder is None:
                log.info("memory.keywords_only", why=chosen.why)
            else:
                log.info("memory.ready", embedder=chosen.embedder.name)
            self._indexer = indexer = Indexer(
                self._records, chosen.embedder, self.chroma, on_change=self._changed.set
            )
            async with asyncio.TaskGroup() as group:
                works = [group.create_task(w) for w in (indexer.run(), self._serve(indexer))]
                while chosen.embedder is None and chosen.again:
                    await asyncio.sleep(CHOOSE_AGAIN_S)
                    chosen = await self._load()
                if chosen is not self._chosen:  # it is there after all
                    for work in works:
                        work.cancel()

    async def _load(self) -> Choice:
        """The embedder that the settings name. On a daemon thread: nobody's end waits for it."""
        given = self._loading.give(lambda: self._choose(self._terms.embed))
        try:
            return await asyncio.wrap_future(given)
        except asyncio.CancelledError:
            given.add_done_callback(_let_go)
            raise

    async def _warm_dates(self) -> None:
        """Load what reads dates, once the first questions are through: a third of a second."""
        await asyncio.sleep(WARM_AFTER_S)
        await asyncio.wrap_future(self._loading.give(dates.warm))

    async def _serve(self, indexer: Indexer) -> None:
        """Hold the vectors of the model that counts, as they are written and dropped."""
        while True:
            self._changed.clear()
            if (now := indexer.serving) is not None:
                for held in filter(None, (self.nearby, self.statements)):
                    await held.use(now.id, now.embedder.dim)
            for held in filter(None, (self.nearby, self.statements)):
                held.wake()
            await self._changed.wait()


def _let_go(loaded: Future[Choice]) -> None:
    """Close what was loaded for nobody."""
    if not loaded.cancelled() and loaded.exception() is None:
        _close(loaded.result().embedder)


def _close(embedder: Embedder | None) -> None:
    if isinstance(embedder, Named):
        embedder.close()


async def _kept_going(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Run a part to its end; when it breaks, say so and run it again after a while."""
    again_s = AGAIN_S
    while True:
        try:
            return await work()
        except Exception:  # whatever a part has: answers go on without it
            log.exception("memory.broke", part=name, again_s=again_s)
        await asyncio.sleep(again_s)
        again_s = min(2 * again_s, AGAIN_AT_MOST_S)


def _look(scene: Scene, text: str) -> _Look:
    return _Look(scopes.allowed_scopes(scene), people_in(text, scene), statements.some())


def told(name: str, ids: Ids, cosines: Floats, question: int) -> Near:
    """What was found, without the question itself."""
    kept = ids != question
    found, near = ids[kept][:FOUND], cosines[kept][:FOUND]
    floor = float(near[-1]) if len(near) else 0.0
    return Near(name, tuple(map(int, found)), tuple(map(float, near)), floor)
