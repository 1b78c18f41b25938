"""How memory stands a thousand to a million messages: questions beside plain FTS5, in one run.

    .venv/bin/python -m benchmarks.memory_scale [--sizes 1000,10000,100000,1000000] [--json]

Each size is built once (below ``--dir``, used again), then measured in a process of its own. A
question is what the product asks: which scopes are allowed, keywords, vectors, the check on rows,
one ranking. Making the question's vector is reported apart, as it depends on the embedder alone.
Beside it, on the same file: plain FTS5, any of the same words, the best ten by bm25.

Built fast, not by the product's own writes (``benchmarks.memory_corpus``). What a message costs
through the product's own functions is measured on top: ``ingest``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import structlog

from benchmarks.corpus import CHAT, EPOCH, SPACE, Talk
from benchmarks.memory_corpus import build, channels_of
from core.keywords import query_terms
from core.memory.chroma.asked import ChromaAway
from core.memory.embed.choose import EmbedTerms, choose
from core.memory.find import find
from core.memory.memory import FOUND, Memory, MemoryTerms, told
from core.memory.texts import question_of
from core.model import Author, ChatEvent, ConversationKey, Near, Project, Scene
from core.records import fulltext, messages, scopes, search
from core.records.thread import Records

GOAL_P95_MS = {10_000: 60.0, 100_000: 120.0}
GOAL_VECTOR_S = 2.0
WORDS = 9  # of a question
MOST_CHARS = 80  # of one in a script without spaces
LOOKED_AT = 60  # hits a source asks for
INGESTED = 200
REBUILD_UP_TO = 100_000


# --- what is measured --------------------------------------------------------------------


class Bench:
    """One size: the product's own memory at work over it."""

    def __init__(self, records: Records, memory: Memory, size: int) -> None:
        self.records = records
        self.memory = memory
        self.size = size
        self.dice = random.Random(11)
        plain = f"file:{records.path}?mode=ro"
        self.plain = sqlite3.connect(plain, uri=True, check_same_thread=False)
        self.dim = self.plain.execute("SELECT dim FROM embedder").fetchone()[0]

    async def scene(self, recall: str) -> Scene:
        """A question in the busiest channel: over all of the project, or over the channel."""
        key = ConversationKey(CHAT, SPACE, "C1", "question")
        place = await self.records.do(
            lambda: messages.open_conversation(key, direct=False, in_thread=False, now=EPOCH)
        )
        return Scene(
            place,
            Project("acme", "/"),
            "",
            turn_id=0,
            prompt_message_id=0,
            project_channels=(f"{CHAT}:*", "*"),
            recall=recall,  # pyright: ignore[reportArgumentType]
            asker_trusted=True,
        )

    def question(self) -> tuple[str, np.ndarray]:
        """Some words of a message in their order, and a vector near that of another."""
        number = self.dice.randrange(1, self.size + 1)
        [(text,)] = self.plain.execute("SELECT text FROM message WHERE id = ?", (number,))
        words = text.split()
        at = self.dice.randrange(max(1, len(words) - WORDS))
        sql = "SELECT vector FROM vector WHERE kind = 'message' AND item = ?"
        [(half,)] = self.plain.execute(sql, (self.dice.randrange(1, self.size + 1),))
        near = np.frombuffer(half, "<f2").astype(np.float32)
        near += 0.02 * np.random.default_rng(number).standard_normal(self.dim).astype(np.float32)
        asked = " ".join(words[at : at + WORDS])[:MOST_CHARS]
        return asked, near / np.linalg.norm(near)

    async def compared(self, scene: Scene, count: int) -> dict[str, Any]:
        """The product's question and plain FTS5 in turns."""
        whole: list[float] = []
        parts: dict[str, list[float]] = {"vectors": [], "rows": []}
        plain: list[float] = []
        busy: dict[str, list[float]] = {"product": [], "plain": []}
        hits = 0
        for _ in range(count):
            text, vector = self.question()
            spent = time.process_time()
            plain.append(await timed(lambda text=text: asyncio.to_thread(self.fts5, text)))
            busy["plain"].append(time.process_time() - spent)
            began, spent = time.perf_counter(), time.process_time()
            near = await self.near(scene, vector)
            between = time.perf_counter()
            found = await self.records.do(find, scene, text, LOOKED_AT, near)
            ended = time.perf_counter()
            busy["product"].append(time.process_time() - spent)
            whole.append(ended - began)
            parts["vectors"].append(between - began)
            parts["rows"].append(ended - between)
            hits += bool(found)
        result: dict[str, Any] = {
            "product_ms": spread(whole),
            "vectors_ms": spread(parts["vectors"]),
            "rows_ms": spread(parts["rows"]),
            "plain_fts5_ms": spread(plain),
            # Of the processor, whatever else the host had to do.
            "product_cpu_ms": spread(busy["product"]),
            "plain_fts5_cpu_ms": spread(busy["plain"]),
            "answered": hits / count,
        }
        for name in ("p50", "p95"):
            ratio = result["product_ms"][name] / result["plain_fts5_ms"][name]
            result[f"ratio_{name}"] = round(ratio, 2)
        return result

    async def near(self, scene: Scene, vector: np.ndarray) -> Near:
        """As ``Memory.near``, for a vector that is there already."""
        allowed = await self.records.do(scopes.allowed_scopes, scene)
        await self.memory.nearby.ready(allowed, 0.15)
        return told("", *await self.memory.nearby.find(vector, allowed, FOUND), 0)

    def fts5(self, text: str) -> int:
        """Plain FTS5 over everything: any of the same words, the best ten."""
        match = fulltext.match_any(query_terms(text))
        sql = (
            "SELECT rowid FROM message_fts WHERE message_fts MATCH ? "
            "ORDER BY bm25(message_fts) LIMIT 10"
        )
        return len(self.plain.execute(sql, (match,)).fetchall()) if match else 0

    async def chroma(self, scene: Scene, count: int) -> dict[str, Any]:
        """The same vectors asked of Chroma, by scope."""
        times: list[float] = []
        allowed = await self.records.do(scopes.allowed_scopes, scene)
        late = 0
        for _ in range(count):
            _, vector = self.question()
            began = time.perf_counter()
            try:
                await self.memory.chroma.query(vector, allowed, FOUND)
            except (ChromaAway, TimeoutError):
                late += 1
            times.append(time.perf_counter() - began)
        return {**spread(times), "late": late}

    async def ingest(self) -> dict[str, Any]:
        """Messages through the product's own functions, a transaction each; when they are found."""
        scene = await self.scene("channel")
        place = scene.conversation
        author = Author("U1", "Kim")

        def say(number: int, text: str) -> int:
            event = ChatEvent(
                place.key, f"new{number}", f"new{number}", author, text, "message", time.time()
            )
            return messages.add_event(place.id, event, addressed=False)[0]

        texts = [self.question()[0] for _ in range(INGESTED)]
        stamp = time.time_ns()
        began = time.perf_counter()
        for number, text in enumerate(texts):
            await self.records.do(say, stamp + number, text)
        rate = INGESTED / (time.perf_counter() - began)
        await until(self.settled)
        began = time.perf_counter()
        text = "the walrus ate the zucchini of the harbour master"
        new = await self.records.do(say, stamp - 1, text)
        found = await self.records.do(search.search, scene, "walrus zucchini", 10)
        by_word = time.perf_counter() - began
        assert new in {one.message.id for one in found}
        ask = "a sea animal has eaten the port chief's vegetables"
        while True:
            near = await self.memory.near(scene, ask, within_s=5.0)
            if near is not None and new in near.ids:
                break
            await asyncio.sleep(0.02)
        by_vector = time.perf_counter() - began
        return {
            "messages_a_second": round(rate),
            "found_by_word_ms": ms(by_word),
            "found_by_vector_s": round(by_vector, 2),
            "goal_met": by_vector <= GOAL_VECTOR_S,
        }

    async def settled(self) -> bool:
        """Whether nothing is left to embed."""
        return not (await self.memory.state()).jobs


async def measure(folder: Path, size: int, count: int, *, rebuild: bool) -> dict[str, Any]:
    """Everything of one size."""
    quiet()
    chroma = "folder" if rebuild else "off"
    records = Records(folder / "moot.sqlite")
    began = time.perf_counter()
    await records.open()
    memory = Memory(records, folder, MemoryTerms(chroma=chroma))
    working = asyncio.create_task(memory.run())
    try:
        bench = Bench(records, memory, size)
        wide, own = await bench.scene("project"), await bench.scene("channel")
        await until(lambda: memory.near(wide, "ready?", within_s=60.0))
        loaded = time.perf_counter() - began
        result: dict[str, Any] = {
            "messages": size,
            "channels": channels_of(size),
            "allowed": await records.do(search.count_visible, wide, 2 * size),
            "of_the_channel": await records.do(search.count_visible, own, 2 * size),
            "first_answer_by_vectors_s": round(loaded, 2),
        }
        await bench.compared(wide, 3)
        result["project"] = await bench.compared(wide, count)
        result["channel"] = await bench.compared(own, count)
        result["question_vector_ms"] = await embedding(bench, count)
        result["ingest"] = await bench.ingest()
        result["rss_mb"] = round(psutil.Process().memory_info().rss / 1e6)
        result["held_mb"] = round(memory.nearby.size_bytes / 1e6)
        if rebuild:
            await until(lambda: ready(memory))
            began = time.perf_counter()
            await memory.rebuild()
            result["rebuild_s"] = round(time.perf_counter() - began, 1)
            result["chroma_project_ms"] = await bench.chroma(wide, count)
            result["chroma_channel_ms"] = await bench.chroma(own, count)
        if size in GOAL_P95_MS:
            p95 = result["project"]["product_ms"]["p95"]
            both = p95 + result["question_vector_ms"]["p95"]
            result["p95_with_question_vector_ms"] = round(both, 1)
            result["goal_p95_ms"] = GOAL_P95_MS[size]
            result["goal_met"] = p95 <= GOAL_P95_MS[size]
        bench.plain.close()
        return result
    finally:
        working.cancel()
        await asyncio.wait((working,))
        await records.close()


async def ready(memory: Memory) -> bool:
    """Whether Chroma answers."""
    return (await memory.state()).chroma == "ready"


async def until(asked: Callable[[], Awaitable[Any]]) -> None:
    """Wait until something is there."""
    while not await asked():  # noqa: ASYNC110 - it is asked of a database
        await asyncio.sleep(0.05)


async def embedding(bench: Bench, count: int) -> dict[str, float]:
    """What the default embedder takes for a question."""
    embedder = await asyncio.to_thread(choose, EmbedTerms("auto"))
    assert embedder.embedder is not None
    one = embedder.embedder
    texts = [question_of(bench.question()[0]) for _ in range(count)]
    return spread([await timed(lambda t=text: asyncio.to_thread(one.query, t)) for text in texts])


def own_rate(count: int) -> dict[str, float]:
    """How many texts a second the default embedder takes, of this corpus, eight at once."""
    embedder = choose(EmbedTerms("auto")).embedder
    assert embedder is not None
    talk, dice = Talk(), random.Random(2)
    texts = [talk.row(dice, n, 1)[0][9] for n in range(count)]
    embedder.passages(texts[:8])
    began = time.perf_counter()
    for at in range(0, count, 8):
        embedder.passages(texts[at : at + 8])
    return {"texts_a_second": round(count / (time.perf_counter() - began), 1)}


async def timed(work: Callable[[], Awaitable[Any]]) -> float:
    """Seconds that it takes."""
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile in milliseconds."""
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return {"p50": ms(statistics.median(ordered)), "p95": ms(p95)}


def ms(seconds: float) -> float:
    return round(seconds * 1000, 2)


def quiet() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))


# --- the program -------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Build, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    parser.add_argument("--sizes", default="1000,10000,100000,1000000")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--dir", type=Path, default=Path(".cache/memory_scale"))
    parser.add_argument("--quick", action="store_true", help="300 messages, few questions")
    parser.add_argument("--rebuild-up-to", type=int, default=REBUILD_UP_TO)
    parser.add_argument("--one", choices=("build", "measure"), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    sizes = [300] if args.quick else [int(size) for size in args.sizes.split(",")]
    count = 5 if args.quick else args.questions
    if args.one:
        rebuild = sizes[0] <= args.rebuild_up_to
        work = _one(args.one, args.dir, sizes[0], count, rebuild=rebuild)
        print(json.dumps(asyncio.run(work)))
        return 0
    rows: list[dict[str, Any]] = []
    for size in sizes:
        built = _apart("build", size, count, args)
        rows.append({**_apart("measure", size, count, args), "build": built})
        if not args.json:
            print(line(rows[-1]))
    result = {
        "sizes": rows,
        "embedder": own_rate(16 if args.quick else 160),
        "machine": {"cores": os.cpu_count(), "load_1_min": round(os.getloadavg()[0], 1)},
    }
    print(json.dumps(result) if args.json else json.dumps(result["embedder"]))
    return 0


async def _one(what: str, folder: Path, size: int, count: int, *, rebuild: bool) -> dict[str, Any]:
    place = folder / str(size)
    if what == "build":
        return await build(place, size)
    return await measure(place, size, count, rebuild=rebuild)


def _apart(what: str, size: int, count: int, args: argparse.Namespace) -> dict[str, Any]:
    """One part in a process of its own, so that its memory is its own."""
    words = [sys.executable, "-m", "benchmarks.memory_scale", "--one", what]
    words += ["--sizes", str(size), "--questions", str(count), "--dir", str(args.dir)]
    words += ["--rebuild-up-to", str(args.rebuild_up_to)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{what} of {size} messages failed")
    return json.loads(done.stdout.splitlines()[-1])


def line(row: dict[str, Any]) -> str:
    """One size for a person."""
    wide, own = row["project"], row["channel"]
    return (
        f"{row['messages']:>9,} messages, {row['channels']:,} channels: project p50/p95 "
        f"{wide['product_ms']['p50']}/{wide['product_ms']['p95']} ms (x{wide['ratio_p50']}/"
        f"{wide['ratio_p95']} of plain FTS5), channel {own['product_ms']['p50']}/"
        f"{own['product_ms']['p95']} ms; {row['ingest']['messages_a_second']} messages/s, "
        f"by vector after {row['ingest']['found_by_vector_s']} s; {row['rss_mb']} MB"
    )


if __name__ == "__main__":
    sys.exit(main())
