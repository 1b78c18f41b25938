"""What is nearest by meaning: vectors of allowed scopes, held in memory, and Chroma for the rest.

The rows are the truth. Scopes are read from them newest first, in slices that hold nobody up, and
kept up to date by what moved since (``core.records.vectors``). Those that were asked for longest
ago make room (decision 0073).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice

import numpy as np
import structlog

from core.memory.shelf import Floats, Ids, Shelf
from core.records import vectors
from core.records.thread import Records

log = structlog.get_logger()

KIND = "message"
SLICE = 2_000  # vectors that are read at once: some 7 ms
MOVES = 500  # that one look takes in; more are taken in by ``run``
AT_ONCE = 5_000  # vectors that are searched on the loop itself: a millisecond

Elsewhere = Callable[[Floats, Sequence[int], int], Awaitable[tuple[Ids, Floats] | None]]
"""Another index: the nearest ids and cosines of some scopes; ``None`` while it cannot be asked."""


async def _nowhere(query: Floats, scopes: Sequence[int], limit: int) -> None:
    del query, scopes, limit


class Nearby:
    """Finds the nearest vectors of scopes. ``run`` until cancelled; all else on the same loop.

    Args:
        records: where the vectors are.
        room_bytes: what may be held in memory.
        elsewhere: asked for scopes that memory does not hold whole.
        kind: of the items whose vectors these are.
    """

    def __init__(
        self,
        records: Records,
        room_bytes: int,
        elsewhere: Elsewhere = _nowhere,
        kind: str = KIND,
    ) -> None:
        self._kind = kind
        self._records = records
        self._room_bytes = room_bytes
        self._elsewhere = elsewhere
        self._embedder = 0
        self._shelf = Shelf(1)
        self._lowest: dict[int, int] = {}  # scope -> the oldest item of it that is held
        self._whole: set[int] = set()
        self._partly: set[int] = set()  # there is no room for all of them
        self._asked: dict[int, int] = {}  # scope -> when it was asked for last, counted
        self._asks = 0
        self._wanted: dict[int, None] = {}
        self._moving = asyncio.Lock()  # rows that were read are taken in before others are read
        self._wake = asyncio.Event()
        self._came = asyncio.Event()

    async def run(self) -> None:
        """Load what is asked for, then all else there is room for, newest first."""
        await self._records.do(vectors.follow, self._kind)
        while True:
            self._wake.clear()
            await self._take_moves()
            scope = next(iter(self._wanted), None)
            if scope is None:
                await self._wake.wait()
                continue
            await self._load(scope)
            self._wanted.pop(scope, None)
            self._came.set()

    @property
    def embedder(self) -> int:
        """The id of the model whose vectors it holds; 0: none yet."""
        return self._embedder

    def wake(self) -> None:
        """Vectors were written or dropped."""
        self._wake.set()

    async def use(self, embedder: int, dim: int) -> None:
        """Of which model vectors are asked from now on; those of another are let go."""
        if embedder == self._embedder:
            return
        async with self._moving:
            self._embedder, self._shelf = embedder, Shelf(dim)
            for kept in (self._lowest, self._whole, self._partly, self._asked, self._wanted):
                kept.clear()
        await self._want_all(embedder)

    async def _want_all(self, embedder: int) -> None:
        """Have every scope loaded, the one with the newest message first."""
        known: list[tuple[int, int]] = []
        while more := await self._records.do(
            vectors.scopes_with, embedder, self._kind, known[-1][0] if known else 0, SLICE // 4
        ):
            known += more
        for scope, newest in sorted(known, key=lambda one: -one[1]):
            if newest and embedder == self._embedder:
                self._wanted.setdefault(scope)
        self._wake.set()

    def holds(self, scopes: Sequence[int]) -> int:
        """How many vectors of these scopes are held."""
        return self._shelf.count(scopes)

    def has_some(self, scopes: Sequence[int]) -> bool:
        """Whether there may be any vector of these scopes."""
        return bool(self.lacks(scopes)) or self.holds(scopes) > 0

    def lacks(self, scopes: Sequence[int]) -> list[int]:
        """Which of these scopes may have vectors that are not held."""
        return [scope for scope in scopes if scope not in self._whole]

    @property
    def size_bytes(self) -> int:
        """What it takes of memory."""
        return self._shelf.size_bytes

    async def ready(self, scopes: Sequence[int], within_s: float) -> None:
        """Have these scopes loaded, the first one first, and wait for them for so long at most."""
        self._asks += 1
        for scope in scopes:
            self._asked[scope] = self._asks
        await self._take_moves(MOVES)
        missing = [scope for scope in scopes if not self._settled(scope)]
        again = self._partly.intersection(scopes)
        if again and not self._lowest.keys() <= set(scopes):
            # What was asked for longer ago may go for these; nobody waits for that.
            self._wanted |= dict.fromkeys(again)
            self._wake.set()
        if not missing:
            return
        self._wanted = dict.fromkeys([*missing, *self._wanted])
        self._wake.set()
        try:
            async with asyncio.timeout(within_s):
                while not all(map(self._settled, missing)):
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            log.debug("memory.loading", scopes=len(self._wanted))

    def _settled(self, scope: int) -> bool:
        return scope in self._whole or scope in self._partly

    async def find(self, query: Floats, scopes: Sequence[int], limit: int) -> tuple[Ids, Floats]:
        """The ``limit`` nearest that are held, and those that another index has of the rest."""
        lacking = self.lacks(scopes)
        there = self._elsewhere(query, lacking, limit) if lacking else None
        if self._shelf.count(scopes) <= AT_ONCE:
            here = self._shelf.find(query, scopes, limit)
        else:
            here = await asyncio.to_thread(self._shelf.find, query, scopes, limit)
        more = await there if there is not None else None
        return here if more is None else _joined(here, more, limit)

    # --- what is held --------------------------------------------------------------------

    async def _take_moves(self, at_most: int = sys.maxsize) -> None:
        """Take in what was written or dropped since the last time."""
        if not self._embedder:
            return
        while at_most > 0:
            async with self._moving:
                embedder = self._embedder
                moves = await self._records.do(vectors.moved, embedder, self._kind, MOVES)
                self._apply({(move.scope, move.item): move.vector for move in moves})
            at_most -= len(moves)
            if len(moves) < MOVES:
                return
        self._wake.set()  # the rest

    def _apply(self, moves: dict[tuple[int, int], bytes | None]) -> None:
        by_scope: dict[int, dict[int, bytes | None]] = {}
        for (scope, item), vector in moves.items():
            # What comes before the oldest one that is held is read, if ever, with the rest.
            if scope in self._whole or item >= self._lowest.get(scope, sys.maxsize):
                by_scope.setdefault(scope, {})[item] = vector
        for scope, items in by_scope.items():
            self._shelf.drop(scope, list(items))
            there = [(item, vector) for item, vector in items.items() if vector is not None]
            if there:
                ids, floats = _read(there, self._shelf.dim)
                self._shelf.put(scope, ids, floats)

    async def _load(self, scope: int) -> None:
        """Read a scope from the newest on, until all of it is held or there is no room."""
        embedder, done = self._embedder, False
        while not done and scope not in self._whole:
            async with self._moving:
                if embedder != self._embedder:
                    return
                if not self._has_room(scope):
                    self._partly.add(scope)
                    return
                before = self._lowest.get(scope, sys.maxsize)
                rows = await self._records.do(
                    vectors.newest, embedder, scope, self._kind, before, SLICE
                )
                if rows:
                    ids, floats = await asyncio.to_thread(_read, rows, self._shelf.dim)
                    self._shelf.put(scope, ids, floats)
                    self._lowest[scope] = rows[-1][0]
                done = len(rows) < SLICE
                if done:
                    self._whole.add(scope)
                    self._partly.discard(scope)
            await self._take_moves(MOVES)

    def _has_room(self, scope: int) -> bool:
        """Whether more can be held; what was asked for longer ago than ``scope`` goes for it."""
        mine = self._asked.get(scope, 0)
        older = sorted(
            (self._asked.get(one, 0), one) for one in self._lowest if self._asked.get(one, 0) < mine
        )
        gone = iter(older)
        while self._shelf.size_bytes >= self._room_bytes:
            batch = [one for _, one in islice(gone, 8)]
            if not batch:
                return False
            for one in batch:
                self._shelf.forget(one)
                self._lowest.pop(one)
                self._whole.discard(one)
                self._partly.discard(one)
        return True


def _read(rows: Sequence[tuple[int, bytes]], dim: int) -> tuple[Ids, Floats]:
    """Ids and float32 vectors of rows."""
    ids = np.fromiter((item for item, _ in rows), np.int64, len(rows))
    halves = np.frombuffer(b"".join(vector for _, vector in rows), dtype="<f2")
    return ids, halves.reshape(len(rows), dim).astype(np.float32)


def _joined(here: tuple[Ids, Floats], there: tuple[Ids, Floats], limit: int) -> tuple[Ids, Floats]:
    """Both lists as one, each id once, best first."""
    ids = np.concatenate((here[0], there[0]))
    cosines = np.concatenate((here[1], there[1]))
    order = np.lexsort((-ids, -cosines))
    _, first = np.unique(ids[order], return_index=True)
    best = order[np.sort(first)][:limit]
    return ids[best], cosines[best]
