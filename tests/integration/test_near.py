"""Vectors of the rows, held in memory: loaded by scope, and never behind the rows for long."""

from __future__ import annotations

import asyncio
import contextlib

import numpy as np
import pytest

from core.memory.near import SLICE, Nearby
from core.records import vectors
from core.records.tables import EmbedderRow, VectorRow
from core.records.thread import Records

DIM = 16


@pytest.fixture
async def records(tmp_path):
    made = Records(tmp_path / "moot.sqlite")
    await made.open()
    await made.do(lambda: EmbedderRow.create(name="m", dim=DIM, state="current"))
    yield made
    await made.close()


@contextlib.asynccontextmanager
async def nearby(records: Records, room_bytes: int = 2**24, elsewhere=None):
    made = Nearby(records, room_bytes, *([elsewhere] if elsewhere else []))
    task = asyncio.create_task(made.run())
    await made.use(1, DIM)
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.wait((task,))


def towards(axis: int, by: float = 1.0) -> np.ndarray:
    vector = np.full(DIM, 0.01, np.float32)
    vector[axis] = by
    return vector / np.linalg.norm(vector)


def put(scope: int, item: int, vector: np.ndarray, embedder: int = 1) -> None:
    VectorRow.insert(
        embedder=embedder,
        scope=scope,
        kind="message",
        item=item,
        vector=vector.astype("<f2").tobytes(),
    ).on_conflict_replace().execute()


def drop(item: int) -> None:
    VectorRow.delete().where(VectorRow.item == item).execute()


async def ids(near: Nearby, axis: int, *scopes: int, within_s: float = 10.0) -> list[int]:
    await near.ready(scopes, within_s)
    found, _ = await near.find(towards(axis), scopes, 5)
    return found.tolist()


async def test_what_was_there_before_and_what_comes_goes_and_changes_after(records):
    await records.do(
        lambda: [put(1, 10, towards(0)), put(1, 11, towards(1)), put(2, 20, towards(0))]
    )
    async with nearby(records) as near:
        assert (await ids(near, 0, 1))[0] == 10
        assert set(await ids(near, 0, 1, 2)) == {10, 11, 20}
        await records.do(put, 1, 12, towards(2))
        assert (await ids(near, 2, 1))[0] == 12
        await records.do(put, 1, 10, towards(3))  # said otherwise
        assert (await ids(near, 3, 1))[0] == 10
        assert (await ids(near, 0, 1))[0] != 10
        await records.do(drop, 10)
        assert 10 not in await ids(near, 3, 1)
        await records.do(put, 9, 90, towards(4))  # a channel that nobody spoke in before
        assert await ids(near, 4, 9) == [90]


async def test_a_write_that_is_taken_back_is_no_news(records):
    async with nearby(records) as near:
        await records.do(put, 1, 1, towards(0))
        assert await ids(near, 0, 1) == [1]

        def breaks() -> None:
            drop(1)
            put(1, 2, towards(0))
            raise ValueError

        with pytest.raises(ValueError):
            await records.do(breaks)
        assert await ids(near, 0, 1) == [1]


async def test_vectors_of_another_model_are_nobodys_answer(records):
    await records.do(put, 1, 1, towards(0))
    await records.do(put, 1, 2, towards(0), 2)
    async with nearby(records) as near:
        assert await ids(near, 0, 1) == [1]
        await near.use(2, DIM)
        assert await ids(near, 0, 1) == [2]
        await records.do(put, 1, 3, towards(0), 1)
        assert await ids(near, 0, 1) == [2]


async def test_where_there_is_no_room_the_newest_are_held_and_another_index_has_the_rest(records):
    count = 3 * SLICE

    def fill() -> None:
        rows = [
            (1, scope, "message", scope * count + n, towards(n % DIM).astype("<f2").tobytes())
            for scope in (1, 2)
            for n in range(count)
        ]
        fields = [
            VectorRow.embedder,
            VectorRow.scope,
            VectorRow.kind,
            VectorRow.item,
            VectorRow.vector,
        ]
        for start in range(0, len(rows), 1_000):
            VectorRow.insert_many(rows[start : start + 1_000], fields=fields).execute()

    await records.do(fill)
    asked: list[tuple[int, ...]] = []

    async def elsewhere(query, scopes, limit):
        asked.append(tuple(scopes))
        return np.array([7]), np.array([2.0], np.float32)

    one_block = 8_192 * (DIM + 16)
    async with nearby(records, one_block, elsewhere) as near:
        await ids(near, 0, 1)
        assert near.holds((1,)) >= SLICE
        first_asked = len(asked)
        await ids(near, 0, 2)  # for what is asked now, what was asked before makes room
        assert near.size_bytes <= 2 * one_block
        assert near.holds((2,)) >= SLICE
        found = await ids(near, 0, 1, 2)
        assert near.lacks((1, 2)), "both together do not fit"
        assert len(asked) > first_asked
        assert found[0] == 7


async def test_a_deleted_vector_never_comes_back_while_its_scope_is_loaded(records):
    count = 2 * SLICE + 10

    def fill() -> None:
        for n in range(1, count + 1):
            put(1, n, towards(0))

    await records.do(fill)
    async with nearby(records) as near:
        loading = asyncio.create_task(near.ready((1,), 10))
        gone = list(range(1, count + 1, 97))

        def erase() -> None:
            for item in gone:
                drop(item)

        await records.do(erase)
        await loading
        await near.ready((1,), 10)
        found, _ = await near.find(towards(0), (1,), count)
        assert set(found.tolist()) == set(range(1, count + 1)) - set(gone)
    assert await records.do(vectors.moved, 1, "message", 5) == ()
