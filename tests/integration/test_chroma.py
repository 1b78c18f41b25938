"""Chroma as a copy of the vectors in SQLite: real Chroma, real files, real processes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

from core import filelock
from core.memory.chroma import ChromaAway, ChromaIndex, Pace
from core.records import embedders
from core.records.thread import Records
from tests.integration.vectors import embedder, erase, opened, vectors, write

PACE = Pace(begin_s=0, tick_s=0.05, retry_s=0.1, longest_retry_s=0.5)
ALL = range(5)
FIRST = 300


@asynccontextmanager
async def served(
    records: Records, folder: Path, where: str = "folder", pace: Pace = PACE
) -> AsyncIterator[ChromaIndex]:
    index = ChromaIndex(records, folder, where, pace)
    running = asyncio.create_task(index.run())
    try:
        yield index
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def until(condition: Callable[[], object], within_s: float = 60) -> None:
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.02)


async def comes_to(index: ChromaIndex, state: str, why: str = "", within_s: float = 60) -> None:
    async with asyncio.timeout(within_s):
        while (now := await index.state()).chroma != state or why not in now.why:
            await asyncio.sleep(0.02)


async def agrees(index: ChromaIndex, wanted: Sequence[int], within_s: float = 60) -> None:
    """It is ready, and has these messages and no others."""
    names = {f"message:{number}" for number in wanted}
    async with asyncio.timeout(within_s):
        while True:
            await comes_to(index, "ready")
            try:
                if await index.ids() == names:
                    return
            except ChromaAway:
                pass
            await asyncio.sleep(0.05)


def generation(folder: Path) -> Path:
    return folder / "chroma" / json.loads((folder / "chroma" / "current.json").read_text())["name"]


def folders(folder: Path) -> list[str]:
    return [path.name for path in (folder / "chroma").iterdir() if path.is_dir()]


async def filled(folder: Path) -> Records:
    """A database with a current model and vectors of messages 1 to 300."""
    records = await opened(folder)
    await records.do(lambda: write(embedder(), 1, vectors(FIRST)))
    return records


@pytest.fixture
async def records(tmp_path: Path) -> AsyncIterator[Records]:
    records = await filled(tmp_path)
    yield records
    await records.close()


async def model_of(records: Records) -> int:
    found = await records.do(embedders.current)
    assert found
    return found.id


async def test_it_finds_what_is_near_within_scopes_and_closes_all_it_opened(tmp_path, records):
    made = vectors(FIRST)
    async with served(records, tmp_path) as index:
        await comes_to(index, "ready")  # the library itself opens a few files, once
    before = psutil.Process().num_fds()
    async with served(records, tmp_path) as index:
        await comes_to(index, "ready")
        ids, cosines = await index.query(made[6], ALL, 10)
        assert ids[0] == "message:7"
        assert cosines[0] == pytest.approx(1, abs=1e-3)
        assert cosines == sorted(cosines, reverse=True)
        ids, _ = await index.query(made[6], [0, 3], 10)
        assert len(ids) == 10
        assert all(int(name.split(":")[1]) % 5 in (0, 3) for name in ids)
        assert await index.query(made[6], [], 10) == ([], [])
        assert (await index.state()).in_chroma == FIRST
        told = tmp_path / "chroma" / "current.state"
        await until(lambda: json.loads(told.read_text())["chroma"] == "ready")
    with pytest.raises(ChromaAway):
        await index.query(made[6], ALL, 10)
    assert psutil.Process().num_fds() <= before
    assert "chroma" not in [thread.name for thread in threading.enumerate()]


async def test_what_was_erased_while_it_was_closed_never_comes_back(tmp_path, records):
    model, made = await model_of(records), vectors(FIRST)
    async with served(records, tmp_path) as index:
        await comes_to(index, "ready")
        first = generation(tmp_path)
    await records.do(erase, [1, 2, 3])
    await records.do(lambda: write(model, 7, made[6:7], scopes=1))  # now in scope 0
    async with served(records, tmp_path) as index:
        await agrees(index, range(4, FIRST + 1))
        assert "message:7" in (await index.query(made[6], [0], 1))[0]
        assert generation(tmp_path) == first


async def test_what_was_edited_while_it_was_closed_is_found_as_it_reads_now(tmp_path, records):
    """Another vector for the same message, in the same scope: ids and scopes tell nothing of it."""
    model, new = await model_of(records), vectors(1, seed=9)
    async with served(records, tmp_path) as index:
        await comes_to(index, "ready")
        first = generation(tmp_path)
    await records.do(write, model, 7, new)
    async with served(records, tmp_path) as index:
        await agrees(index, range(1, FIRST + 1))
        ids, [cosine] = await index.query(new[0], ALL, 1)
        assert ids == ["message:7"]
        assert cosine == pytest.approx(1, abs=1e-3)
        assert generation(tmp_path) == first


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def held(folder: Path, vector: np.ndarray) -> int:
    """How many files below ``folder`` hold the bytes of a vector, as numbers of four bytes."""
    piece = vector.astype("<f2").astype("<f4").tobytes()
    many = 0
    for path in files_of(folder):
        with suppress(FileNotFoundError):  # of a generation that is being removed
            many += piece in path.read_bytes()
    return many


async def test_an_erased_vector_leaves_the_files_with_the_next_rebuild(tmp_path, records):
    vector = vectors(FIRST)[41]
    early = Pace(begin_s=0, tick_s=0.05, retry_s=0.1, erase_s=0, idle_s=0.5)
    async with served(records, tmp_path) as index:
        await comes_to(index, "ready")
        assert held(tmp_path / "chroma", vector)
        await index.drop(await records.do(erase, [42]))
        assert held(tmp_path / "chroma", vector)  # else this tells nothing
        await index.rebuild()
        assert not held(tmp_path / "chroma", vector)
        assert len(folders(tmp_path)) == 1
        second = generation(tmp_path)
    async with served(records, tmp_path, pace=early) as index:  # by itself, once nobody asks
        await comes_to(index, "ready")
        assert generation(tmp_path) == second  # nothing was erased
        await index.drop(await records.do(erase, [43]))
        await until(lambda: not held(tmp_path / "chroma", vectors(FIRST)[42]))
        await agrees(index, [*range(1, 42), *range(44, FIRST + 1)])


async def test_nothing_is_lost_that_is_written_during_a_rebuild(tmp_path, records):
    model = await model_of(records)
    await records.do(lambda: write(model, FIRST + 1, vectors(2_000, seed=3)))
    edits = vectors(40, seed=4)
    async with served(records, tmp_path) as index:
        await comes_to(index, "ready")
        rebuilding, done = asyncio.create_task(index.rebuild()), 0
        while not rebuilding.done() and done < len(edits):
            items = await records.do(write, model, 50 + done * 50, edits[done : done + 1])
            await index.put(items, edits[done : done + 1], embedder=model)
            await index.drop(await records.do(erase, [done + 1]))
            done += 1
        await rebuilding
        assert done > 2
        await agrees(index, range(done + 1, FIRST + 2_001))
        for at in range(done):
            name = f"message:{50 + at * 50}"
            assert (await index.query(edits[at], ALL, 1))[0] == [name]


async def test_a_new_model_is_built_before_the_switch(tmp_path, records):
    new = await records.do(embedder, "other-32", "building")
    made = vectors(FIRST, seed=9)
    await records.do(write, new, 1, made)
    old = await model_of(records)
    async with served(records, tmp_path) as index:
        await comes_to(index, "ready")
        await index.prepare(new)
        assert (await index.query(vectors(FIRST)[0], ALL, 1, embedder=old))[0] == ["message:1"]
        with pytest.raises(ChromaAway):
            await index.query(made[0], ALL, 1, embedder=new)
        await records.do(embedders.switch, new)
        # Of the time between: what is of the new one is in it, too.
        more = vectors(1, seed=10)
        items = await records.do(write, new, 900, more)
        await index.put(items, more, embedder=new)
        index.look()
        async with asyncio.timeout(30):
            while True:
                try:
                    found = await index.query(more[0], ALL, 1, embedder=new)
                    break
                except ChromaAway:
                    await asyncio.sleep(0.02)
        assert found[0] == ["message:900"]
        await agrees(index, [*range(1, FIRST + 1), 900])
        await index.rebuild()
        assert not held(tmp_path / "chroma", vectors(FIRST)[0])


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 3)


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(path.stat().st_size))


@pytest.mark.parametrize("spoil", [cut, garbage, Path.unlink])
async def test_a_damaged_folder_is_found_out_in_a_child_and_built_anew(tmp_path, records, spoil):
    model = await model_of(records)
    await records.do(write, model, FIRST + 1, vectors(1_000, seed=2))  # enough for its files
    async with served(records, tmp_path) as index:
        await comes_to(index, "ready")
    bad = generation(tmp_path)
    binaries = [path for path in files_of(bad) if path.suffix == ".bin"]
    assert binaries
    for path in binaries:
        spoil(path)
    async with served(records, tmp_path) as index:
        await agrees(index, range(1, FIRST + 1_001))
        assert (await index.query(vectors(FIRST)[0], ALL, 1))[0] == ["message:1"]
        await until(lambda: folders(tmp_path) == [generation(tmp_path).name])
        assert not bad.exists()


@pytest.mark.parametrize("spoil", [cut, garbage, Path.unlink])
async def test_a_damaged_database_of_chroma_is_built_anew(tmp_path, records, spoil):
    async with served(records, tmp_path) as index:
        await comes_to(index, "ready")
    bad = generation(tmp_path)
    spoil(bad / "chroma.sqlite3")
    async with served(records, tmp_path) as index:
        await agrees(index, range(1, FIRST + 1))
        await until(lambda: not bad.exists())


async def test_files_of_another_version_are_looked_at_first(tmp_path, records):
    async with served(records, tmp_path) as index:
        await comes_to(index, "ready")
    pointer = tmp_path / "chroma" / "current.json"
    pointer.write_text(pointer.read_text().replace('"chroma": "', '"chroma": "0.'))
    async with served(records, tmp_path) as index:
        await comes_to(index, "away", "being looked at")
        await agrees(index, range(1, FIRST + 1))


@pytest.mark.parametrize("text", ["", "[1]", '{"name": "../../elsewhere"}'])
async def test_a_pointer_that_cannot_be_read_points_nowhere(tmp_path, records, text):
    elsewhere = tmp_path / "chroma" / "not-ours"
    elsewhere.mkdir(parents=True)
    (tmp_path / "chroma" / "current.json").write_text(text, "latin-1")
    async with served(records, tmp_path) as index:
        await agrees(index, range(1, FIRST + 1))
        assert elsewhere.is_dir()


async def test_a_folder_that_is_taken_away_under_way_comes_back(tmp_path, records):
    async with served(records, tmp_path) as index:
        await comes_to(index, "ready")
        (tmp_path / "chroma").rename(tmp_path / "gone")
        await until(lambda: (tmp_path / "chroma" / "current.json").is_file())
        await agrees(index, range(1, FIRST + 1))
        assert filelock.lock(tmp_path / "chroma" / "owner.lock") is None  # and is owned again


async def test_a_folder_that_cannot_be_used_is_said_and_taken_when_it_can(tmp_path, records):
    (tmp_path / "chroma").write_text("in the way")
    async with served(records, tmp_path) as index:
        await comes_to(index, "away", "cannot be used")
        with pytest.raises(ChromaAway, match="cannot be used"):
            await index.rebuild()
        (tmp_path / "chroma").unlink()
        await agrees(index, range(1, FIRST + 1))


async def test_one_process_owns_it_and_another_takes_over_when_it_dies(tmp_path, records):
    (tmp_path / "chroma").mkdir()
    code = (
        "import sys; from pathlib import Path; from core import filelock\n"
        "h = filelock.lock(Path(sys.argv[1])); filelock.sign(h, str(__import__('os').getpid()))\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(tmp_path / "chroma" / "owner.lock"),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert other.stdout
    await other.stdout.readline()
    async with served(records, tmp_path) as index:
        await comes_to(index, "away", f"another process ({other.pid})")
        assert not folders(tmp_path)
        other.kill()
        await other.wait()
        await agrees(index, range(1, FIRST + 1))
        assert filelock.lock(tmp_path / "chroma" / "owner.lock") is None
    other._transport.close()


async def test_off_is_off(tmp_path, records):
    async with served(records, tmp_path, "off") as index:
        assert (await index.state()).chroma == "off"
        with pytest.raises(ChromaAway, match="off"):
            await index.put([("message:1", 1)], vectors(1))
        with pytest.raises(ChromaAway, match="off"):
            await index.rebuild()
    assert not (tmp_path / "chroma").exists()


FULL = """
import asyncio, resource, sys
from pathlib import Path
from core.memory.chroma import ChromaIndex
from core.memory.chroma.rows import database_id
from core.records.thread import Records
from tests.integration.test_chroma import FIRST, PACE, agrees, comes_to

async def main():
    folder = Path(sys.argv[1])
    records = Records(folder / "moot.sqlite")
    await records.open()
    await records.do(database_id)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, most))  # files can grow no further
    index = ChromaIndex(records, folder, pace=PACE)
    running = asyncio.create_task(index.run())
    await comes_to(index, "away", "cannot be")
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    await agrees(index, range(1, FIRST + 1))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await records.close()
    print("well")

asyncio.run(main())
"""


async def test_a_full_disk_is_said_and_got_over(tmp_path):
    await (await filled(tmp_path)).close()
    root = Path(__file__).parents[2]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FULL, str(tmp_path), cwd=root, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    assert said.decode().endswith("well\n"), said.decode()
