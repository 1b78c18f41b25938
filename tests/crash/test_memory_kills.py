"""kill -9 while messages are indexed and while Chroma is rebuilt: then all stores agree again.

A few kills are in the suite; MOOT_MEMORY_KILLS=30 does that many, MOOT_CRASH_SEED repeats a run.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest

from core.memory.chroma import ChromaAway
from core.records.prepared import meta_of
from core.records.tables import MessageRow
from tests.crash.memory_life import Life

pytestmark = pytest.mark.crash

KILLS = int(os.environ.get("MOOT_MEMORY_KILLS") or 2)
# Beside the rest of the suite nothing is fast; with the host to itself it takes less than a minute,
# which the full number of kills holds it to.
WITHIN_S = 60.0 if "MOOT_MEMORY_KILLS" in os.environ else 300.0
LIFE = str(Path(__file__).with_name("memory_life.py"))


class Acknowledged:
    """What lives have said is committed: texts by row, and rows that are gone."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        self.gone: set[int] = set()

    def read(self, line: str) -> None:
        kind, *rest = line.split(" ", 2)
        if kind == "gone":
            self.gone.add(int(rest[0]))
        elif kind in ("said", "edited"):
            self.texts[int(rest[0])] = rest[1]


async def live_and_die(folder: Path, dice: random.Random, known: Acknowledged) -> str:
    """One life, killed at a moment that the dice choose; where that was."""
    what = dice.choice(("listen", "rebuild"))
    errors = (folder / "life.log").open("ab")
    process = await asyncio.create_subprocess_exec(
        sys.executable, LIFE, str(folder), str(dice.randrange(10**6)), what,
        stdin=DEVNULL, stdout=PIPE, stderr=errors,
    )  # fmt: skip
    errors.close()
    assert process.stdout
    wanted = "began" if what == "rebuild" else "said"
    left = dice.randint(1, 3) if what == "rebuild" else dice.randint(1, 80)
    async with asyncio.timeout(WITHIN_S):
        while left:
            line = (await process.stdout.readline()).decode().rstrip("\n")
            assert line, (folder / "life.log").read_text()[-2_000:]
            known.read(line)
            left -= line.split(" ")[0] == wanted
    # Anywhere in what follows: while it opens, compares, embeds, writes, or swaps.
    await asyncio.sleep(dice.random() * 1.5)
    process.kill()
    async for line in process.stdout:  # what it had said until then
        if line.endswith(b"\n"):
            known.read(line.decode().rstrip("\n"))
    await process.wait()
    return what


def stores() -> tuple[dict[int, str], set[int], set[int], int]:
    """Texts of messages by row, rows with keywords, rows with vectors, and jobs left."""
    sql = meta_of(MessageRow).database.execute_sql
    texts = dict(sql("SELECT id, text FROM message WHERE deleted_at IS NULL").fetchall())
    keywords = {row for (row,) in sql("SELECT rowid FROM message_fts").fetchall()}
    made = {row for (row,) in sql("SELECT item FROM vector WHERE kind = 'message'").fetchall()}
    [(jobs,)] = sql("SELECT count(*) FROM index_job").fetchall()
    return texts, keywords, made, jobs


async def agree_again(folder: Path, known: Acknowledged) -> float:
    """Start it again; the seconds until all stores agree with what was acknowledged."""
    began = time.monotonic()
    life = Life(folder)
    await life.records.open()
    works = [asyncio.create_task(work) for work in (life.index.run(), life.indexer.run())]
    why = "nothing was looked at"
    try:
        async with asyncio.timeout(WITHIN_S):
            while why := await _disagree(life):  # Chroma is told of a vector after its row
                await asyncio.sleep(0.05)
        seconds = time.monotonic() - began
        texts, *_ = await life.records.do(stores)
        # Words that were acknowledged are there; what was committed untold may be newer.
        assert known.texts.keys() - known.gone <= texts.keys() | await _untold(life, known)
        assert not known.gone & texts.keys()
    except TimeoutError:
        raise AssertionError(f"no agreement in {WITHIN_S} s: {why}") from None
    finally:
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        await life.records.close()
    return seconds


async def _disagree(life: Life) -> str:
    """Which stores do not agree yet, and where; "" when all do."""
    texts, keywords, made, jobs = await life.records.do(stores)
    names = {f"message:{row}" for row in texts}
    if jobs or not set(texts) == keywords == made:
        return f"{jobs} jobs, {set(texts) ^ keywords} of keywords, {set(texts) ^ made} of vectors"
    try:
        state = await life.index.state()
        if state.chroma != "ready":
            return f"Chroma is {state}"
        if (ids := await life.index.ids()) != names:
            return f"Chroma has not the ids {names ^ ids}"
        return await _not_found(life, texts)
    except ChromaAway as away:
        return f"Chroma is away: {away}"


async def _untold(life: Life, known: Acknowledged) -> set[int]:
    """Rows that are deleted, though the life that did it died before it said so: at most one."""

    def deleted() -> set[int]:
        rows = MessageRow.select(MessageRow.id).where(MessageRow.deleted_at.is_null(False))
        return {row.id for row in rows}

    untold = await life.records.do(deleted) - known.gone
    known.gone |= untold
    assert len(untold) <= 1
    return untold


async def _not_found(life: Life, texts: Collection[int]) -> str:
    """Which of some messages Chroma does not find by the vector that its row has; "" for none."""

    def vector_of(row: int) -> tuple[bytes, int] | None:
        sql = "SELECT vector, scope FROM vector WHERE kind = 'message' AND item = ?"
        return meta_of(MessageRow).database.execute_sql(sql, [row]).fetchone()

    for row in random.Random(0).sample(sorted(texts), min(20, len(texts))):
        if (found := await life.records.do(vector_of, row)) is None:
            return f"the vector of {row} is gone"
        vector = np.frombuffer(found[0], "<f2").astype(np.float32)
        ids, cosines = await life.index.query(vector, [found[1]], 5)
        if cosines[0] < 0.99 or not (f"message:{row}" in ids or cosines[-1] > 0.999):
            return f"message:{row} is not among {list(zip(ids, cosines, strict=True))}"
    return ""


@pytest.mark.timeout((WITHIN_S + 60) * KILLS + 120)
async def test_after_kill_9_all_stores_agree_again(tmp_path, capsys):
    seed = int(os.environ.get("MOOT_CRASH_SEED") or random.SystemRandom().randrange(10**6))
    dice, known = random.Random(seed), Acknowledged()
    took: list[tuple[str, float]] = []
    print(f"MOOT_CRASH_SEED={seed}")
    for _ in range(KILLS):
        what = await live_and_die(tmp_path, dice, known)
        took.append((what, await agree_again(tmp_path, known)))
    with capsys.disabled():
        slowest = max(seconds for _, seconds in took)
        print(
            f"\nmemory kills: MOOT_CRASH_SEED={seed}, {len(took)} kills "
            f"({sum(what == 'rebuild' for what, _ in took)} during rebuilds), "
            f"{len(known.texts)} messages, slowest agreement {slowest:.1f} s"
        )
