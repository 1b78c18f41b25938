"""Brings a collection of Chroma's into step with the vectors in SQLite, in small parts.

Others go on writing meanwhile. Whatever they write is newer than what was read here before, so
ids that were written since (``touched``) are left alone, or read again where the collection is not
the one that they wrote to.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from core.memory.chroma import rows
from core.memory.chroma.lane import Lane
from core.memory.chroma.probe import FOUND
from core.memory.chroma.store import PAGE, Collection
from core.memory.embed.port import Vectors
from core.records.embedders import Model
from core.records.thread import Records

T = TypeVar("T")

PART = 250  # vectors that are written at once: 0.2 s, in which no question is answered
CANARIES = 20
LISTINGS = 3  # how often ids are listed anew because some were dropped meanwhile


@dataclass(frozen=True, slots=True)
class Differences:
    """What was put and dropped to agree. ``erased``: something old may still be in the files."""

    put: int = 0
    dropped: int = 0
    erased: bool = False


class Copying:
    """One copy at a time. ``call_s`` is how long one call of Chroma may take."""

    def __init__(self, records: Records, lane: Lane, call_s: float) -> None:
        self._records = records
        self.lane = lane
        self._call_s = call_s
        self._one = asyncio.Lock()
        self._touched: set[str] = set()
        self._dropped = 0

    def touch(self, names: Iterable[str], *, dropped: bool = False) -> None:
        """Somebody writes these ids now: to be told before the write is given to the lane."""
        if self._one.locked():
            self._touched.update(names)
            self._dropped += dropped

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        """While this copy is made no other is; what is touched from here on is noted."""
        async with self._one:
            self._touched.clear()
            try:
                yield
            finally:
                self._touched.clear()

    def settled(self) -> bool:
        """Whether nothing was touched since it was last read again (``again``)."""
        return not self._touched

    async def fill(self, held: Collection, model: Model) -> int:
        """Put all there is into a fresh collection that nobody else writes to; how many."""
        many, after = 0, rows.START
        while after is not None:
            scopes, after = await self._records.do(rows.page, model.id, after, PART)
            many += await self._put(held, model, list(scopes), mine=True)
        return many

    async def again(self, held: Collection, model: Model, names: Iterable[str] = ()) -> bool:
        """Read again ``names`` and what was touched; whether anything old was taken out."""
        touched, self._touched = self._touched | set(names), set()
        erased = False
        listed = sorted(touched)
        for at in range(0, len(listed), PART):
            part = listed[at : at + PART]
            scopes, vectors = await self._records.do(rows.of, model.id, part)
            gone = [name for name in part if name not in scopes and name not in self._touched]
            erased |= await self._do(lambda gone=gone: held.drop(gone))
            items = [(n, scope) for n, scope in scopes.items() if n not in self._touched]
            if items:
                stacked = np.stack([vectors[name] for name, _ in items])
                erased |= await self._do(lambda i=items, v=stacked: held.put(i, v))
        return erased

    async def agree(self, held: Collection, model: Model, *, full: bool) -> Differences:
        """Compare ids, scopes and marks of both sides, and put or drop the difference.

        Marks tell vectors that were replaced while nobody could tell Chroma. ``full``: the vectors
        themselves as well, since Chroma may have been cut off while it wrote.
        """
        extra, wrong = await self._listed(held, model, full=full)
        missing, after = list[str](), rows.START
        while after is not None:
            scopes, after = await self._records.do(rows.page, model.id, after, PAGE)
            known = await self._do(lambda names=list(scopes): held.known(names)) if scopes else {}
            missing += [name for name in scopes if name not in known]
        gone = [name for name in extra if name not in self._touched]
        erased = await self._do(lambda: held.drop(gone))
        put = 0
        for names, fresh in ((missing, True), (sorted(wrong), False)):
            for at in range(0, len(names), PART):
                put += await self._put(held, model, names[at : at + PART], fresh=fresh)
        return Differences(put, len(gone), erased or bool(wrong))

    async def canaries(self, model: Model) -> dict[str, Vectors]:
        """A few vectors from all over, by id."""
        names = await self._records.do(rows.some, model.id, CANARIES)
        _, vectors = await self._records.do(rows.of, model.id, names)
        return dict(vectors)

    async def lost(self, held: Collection, model: Model) -> str:
        """What is wrong with a collection that should agree; "" = known vectors find themselves."""
        canaries = await self.canaries(model)
        lost = 0
        for vector in canaries.values():
            _, cosines = await self._do(lambda v=vector: held.query(v, None, 1))
            lost += not (len(cosines) and cosines[0] >= FOUND)
        if lost * 10 <= len(canaries):
            return ""
        return f"{lost} of {len(canaries)} known vectors do not find themselves"

    async def _listed(
        self, held: Collection, model: Model, *, full: bool
    ) -> tuple[set[str], set[str]]:
        """Ids that only Chroma has, and those that stand otherwise there."""
        extra, wrong = set[str](), set[str]()
        for _ in range(LISTINGS):
            dropped, offset = self._dropped, 0
            while part := await self._do(lambda at=offset: held.page(at)):
                offset += len(part)
                stands = await self._records.do(rows.stands_of, model.id, part)
                extra.update(part.keys() - stands.keys())
                wrong.update(name for name, stand in stands.items() if part[name] != stand)
                if full:
                    wrong.update(await self._changed(held, model, list(stands)))
            if dropped == self._dropped:  # else what was behind it has moved up by one
                break
        return extra, wrong

    async def _changed(self, held: Collection, model: Model, names: Sequence[str]) -> list[str]:
        changed = list[str]()
        for at in range(0, len(names), PART):
            part = names[at : at + PART]
            _, true = await self._records.do(rows.of, model.id, part)
            kept = await self._do(lambda part=part: held.vectors(part))
            changed += [
                name
                for name, vector in true.items()
                if name in kept and _cosine(vector, kept[name]) < FOUND
            ]
        return changed

    async def _put(
        self,
        held: Collection,
        model: Model,
        names: Sequence[str],
        *,
        mine: bool = False,
        fresh: bool = True,
    ) -> int:
        """Put what SQLite has of these.

        ``mine``: nobody else writes to the collection; ``fresh``: none of them is there.
        """
        scopes, vectors = await self._records.do(rows.of, model.id, names)
        items = [(n, scope) for n, scope in scopes.items() if mine or n not in self._touched]
        if items:
            stacked = np.stack([vectors[name] for name, _ in items])
            await self._do(lambda: held.put(items, stacked, fresh=fresh))
        return len(items)

    async def _do(self, function: Callable[[], T]) -> T:
        return await self.lane.do(function, self._call_s)


def _cosine(one: Vectors, other: Vectors) -> float:
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 1.0
