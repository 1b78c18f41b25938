"""Several processes share a Chroma server: it may be away, hang, and lose what it had."""

from __future__ import annotations

import asyncio
import shutil
import signal
import time

import pytest

from core.memory.chroma import ChromaAway, Pace
from core.records import embedders
from tests.integration.chroma_server import Server
from tests.integration.test_chroma import ALL, FIRST, PACE, agrees, comes_to, filled, served
from tests.integration.vectors import embedder, erase, opened, vectors, write


@pytest.fixture
async def server(tmp_path):
    server = Server(tmp_path / "server")
    await server.start()
    yield server
    await server.kill()


@pytest.fixture
async def records(tmp_path):
    records = await filled(tmp_path)
    yield records
    await records.close()


async def test_a_server_is_used_and_what_it_missed_is_made_up_for(tmp_path, server, records):
    model, more = (await records.do(embedders.current)).id, vectors(3, seed=1)
    async with served(records, tmp_path, server.url) as index:
        await agrees(index, range(1, FIRST + 1))
        assert (await index.query(vectors(FIRST)[6], ALL, 1))[0] == ["message:7"]
        await server.kill()
        # An edit (vector and scope of 5 are others), a new one, and a deletion, while it is away.
        items = await records.do(lambda: write(model, 5, more[:1], scopes=1))
        with pytest.raises(ChromaAway):
            await index.put(items, more[:1])
        items = await records.do(write, model, 900, more[1:2])
        with pytest.raises(ChromaAway):
            await index.put(items, more[1:2])
        gone = await records.do(erase, [9])
        with pytest.raises(ChromaAway):
            await index.drop(gone)
        with pytest.raises(ChromaAway):
            await index.query(more[0], ALL, 1)
        await comes_to(index, "away")
        await server.start()
        await agrees(index, [n for n in [*range(1, FIRST + 1), 900] if n != 9])
        assert (await index.query(more[0], [0], 1))[0] == ["message:5"]


async def test_a_server_that_hangs_holds_nobody_up(tmp_path, server, records):
    pace = Pace(begin_s=0, tick_s=0.05, retry_s=0.1, longest_retry_s=0.5, query_s=0.3, call_s=2)
    async with served(records, tmp_path, server.url, pace) as index:
        await agrees(index, range(1, FIRST + 1))
        server.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(ChromaAway):
            await index.query(vectors(1)[0], ALL, 1)
        assert time.monotonic() - began < 2
        server.process.send_signal(signal.SIGCONT)
        async with asyncio.timeout(60):
            while True:
                try:
                    assert (await index.query(vectors(FIRST)[6], ALL, 1))[0] == ["message:7"]
                    break
                except ChromaAway:
                    await asyncio.sleep(0.05)


async def test_a_server_that_lost_everything_is_filled_anew(tmp_path, server, records):
    async with served(records, tmp_path, server.url) as index:
        await agrees(index, range(1, FIRST + 1))
        await server.kill()
        shutil.rmtree(server.folder)
        await server.start()
        with pytest.raises(ChromaAway):
            await index.query(vectors(1)[0], ALL, 1)
        await agrees(index, range(1, FIRST + 1))


async def test_two_moots_on_one_server_do_not_meet(tmp_path, server, records):
    async with served(records, tmp_path, server.url, PACE) as index:
        await agrees(index, range(1, FIRST + 1))
        await index.rebuild()
        await agrees(index, range(1, FIRST + 1))
    other = await opened(tmp_path / "other")
    await other.do(lambda: write(embedder(), 1_000, vectors(5, seed=5)))
    async with served(other, tmp_path / "other", server.url, PACE) as index:
        await agrees(index, range(1_000, 1_005))
        await index.rebuild()
    await other.close()
    again = await opened(tmp_path)
    async with served(again, tmp_path, server.url, PACE) as index:
        await agrees(index, range(1, FIRST + 1))
    await again.close()
