"""How long a pack takes to build, and whether a long conversation or a large database shows.

``python -m benchmarks.assemble [--json] [--dir FOLDER] [--messages N] [--sizes A,B,C]``: one
database of a million messages, in it a conversation of 100, of 1,000 and of 10,000 messages. For
each, a Standard pack is built as a turn builds it (``Gather`` with all real sources, then
``build_context_pack``). Each round of the measurement does all of it once, in turns, so that what
else the machine does hits everything; the best of the rounds counts, medians stand beside it.

What is measured, and against what, stands in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from benchmarks.corpus import CHAT, HOME, PROJECT, make
from benchmarks.overhead import machine, ms
from core.context.pack import build_context_pack
from core.model import ContextPack, PackRequest, Participant, Project, Turn
from core.records import messages
from core.records.prepared import meta_of
from core.records.tables import MessageRow
from core.records.thread import Records
from core.sources.catalog import all_sources
from core.turns.gather import Gather

BUDGET = 60_000
HISTORY = 400  # [context] history_messages, as shipped
GOAL_GROWTH = 1.5
GOAL_ASSEMBLE_MS = 5.0
WARM_UP = 3
PROMPT = "What did we decide about the retry queue, and what is still open before the release?"
SEAT = Participant("claude", "architect")


@dataclass
class Times:
    """Seconds, round by round."""

    build: list[float] = field(default_factory=list)
    assemble: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Built:
    """A pack, and the seconds that it took: in all, its assembly, and the assembly of the next."""

    pack: ContextPack
    seconds: float
    assembly: float
    again: float


class Bench:
    """One open database with the measured conversations."""

    def __init__(self, records: Records, folder: Path, personas: Path) -> None:
        self.records = records
        self.personas = personas
        self.project = Project(PROJECT, str(a_project(folder / "project")))
        self.sources = all_sources(folder)
        self.plain = sqlite3.connect(f"file:{records.path}?mode=ro", uri=True)

    async def build(self, conversation_id: int) -> Built:
        """A pack as a turn builds it, from the rows to the bytes."""
        began = time.perf_counter()
        conversation = await self.records.do(messages.get_conversation, conversation_id)
        turn = Turn(
            id=2**40,  # after all that was said
            conversation_id=conversation_id,
            kind="ask",
            prompt=PROMPT,
            prompt_message_id=0,
            asker="Kim",
            seats=(SEAT,),
            rounds=1,
            state="running",
            mode="standard",
            asker_key=f"{CHAT}:Kim",
            asker_trusted=True,
        )
        gather = Gather(
            self.records,
            turn,
            conversation,
            self.project,
            sources=self.sources,
            project_channels=(f"{CHAT}:{HOME}", *(f"{CHAT}:C{n}" for n in range(5))),
            history_messages=HISTORY,
            persona_folder=self.personas,
        )
        request = PackRequest(
            prompt=PROMPT,
            prompt_message_id=0,
            participant=SEAT,
            asker="Kim",
            persona_text=await gather.persona(SEAT),
            mode=turn.mode,
            budget_chars=BUDGET,
            pull_kinds=gather.pull_kinds,
        )
        facts, _ = await gather.facts(0, lambda: None)
        loaded = time.perf_counter()
        pack = build_context_pack(request, facts)
        ended = time.perf_counter()
        build_context_pack(request, facts)  # as for the next participant of the round
        again = time.perf_counter() - ended
        return Built(pack, ended - began, ended - loaded, again)

    async def statements(self, conversation_id: int) -> list[str]:
        """The queries that one build asks of SQLite, with their values."""
        asked: list[str] = []
        await self.records.do(_trace, asked.append)
        try:
            await self.build(conversation_id)
        finally:
            await self.records.do(_trace, None)
        return [sql for sql in asked if re.match(r"\s*(SELECT|WITH)\b", sql, re.IGNORECASE)]

    def read(self, statements: Sequence[str]) -> int:
        """The same rows, read by SQLite alone; how many."""
        return sum(len(self.plain.execute(sql).fetchall()) for sql in statements)

    def close(self) -> None:
        """End the plain connection."""
        self.plain.close()


def _trace(callback: Any) -> None:
    meta_of(MessageRow).database.connection().set_trace_callback(callback)


def a_project(folder: Path) -> Path:
    """A small project with a manifest, a skill and some code, in git."""
    code, skill = folder / "acme", folder / ".moot" / "skills" / "retry-queue"
    if (folder / ".git").exists():
        return folder
    for made in (code, skill):
        made.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text('[project]\nname = "acme"\nversion = "1"\n', "utf-8")
    (code / "queue.py").write_text(
        "def retry_queue(limit: int) -> int:\n    return limit * 2\n", "utf-8"
    )
    (skill / "SKILL.md").write_text(
        "---\nname: retry-queue\ndescription: How to retry without doing a thing twice.\n---\n\n"
        "# Retry queue\n\nA retry repeats the key, never the charge.\n",
        "utf-8",
    )
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    return folder


async def measure(folder: Path, total: int, sizes: Sequence[int], rounds: int) -> dict[str, Any]:
    """Make the database if it is not there, and measure; the figures in milliseconds."""
    made = await make(folder, total, sizes)
    records = Records(made.path)
    await records.open()
    with as_file(files("config") / "personas") as personas:
        bench = Bench(records, folder, personas)
        try:
            asked = {size: await bench.statements(of) for size, of in made.conversations.items()}
            times = {size: Times() for size in sizes}
            for number in range(WARM_UP + rounds):
                order = sizes if number % 2 else tuple(reversed(sizes))
                for size in order:
                    await _one(bench, made.conversations[size], asked[size], times[size])
            packs = {size: await bench.build(of) for size, of in made.conversations.items()}
        finally:
            bench.close()
            await records.close()
    result = summary(sizes, times)
    pack = packs[sizes[-1]].pack
    return {
        **result,
        "mode": pack.mode,
        "assemble_chars": pack.chars,
        "sections": {s.name: s.used for s in pack.sections},
        "notes": list(pack.notes),
        "queries": {str(size): len(statements) for size, statements in asked.items()},
        "rows": {str(size): bench_rows(made.path, asked[size]) for size in sizes},
        "messages": total,
        "generate_s": made.seconds,
        "database_mb": round(made.path.stat().st_size / 1e6),
        "rounds": rounds,
        "machine": machine(),
    }


async def _one(bench: Bench, of: int, statements: Sequence[str], times: Times) -> None:
    """Build and read once each."""
    built = await bench.build(of)
    times.build.append(built.seconds)
    times.assemble.append(built.assembly)
    times.again.append(built.again)
    began = time.perf_counter()
    bench.read(statements)
    times.plain.append(time.perf_counter() - began)


def bench_rows(path: Path, statements: Sequence[str]) -> int:
    """How many rows the queries bring."""
    with closing_connection(path) as database:
        return sum(len(database.execute(sql).fetchall()) for sql in statements)


@contextmanager
def closing_connection(path: Path) -> Iterator[sqlite3.Connection]:
    """A plain reading connection."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        yield database
    finally:
        database.close()


def summary(sizes: Sequence[int], times: dict[int, Times]) -> dict[str, Any]:
    """The figures: the best of all rounds, and medians beside them."""
    result: dict[str, Any] = {}
    for size in sizes:
        built = times[size].build[WARM_UP:]
        result[f"build_ms_{size}"] = ms(min(built))
        result[f"build_ms_{size}_median"] = ms(statistics.median(built))
    middle, last = times[sizes[-2]], times[sizes[-1]]
    result["growth"] = round(min(last.build[WARM_UP:]) / min(middle.build[WARM_UP:]), 2)
    result["growth_median"] = round(
        statistics.median(last.build[WARM_UP:]) / statistics.median(middle.build[WARM_UP:]), 2
    )
    result["growth_goal"], result["growth_met"] = GOAL_GROWTH, result["growth"] <= GOAL_GROWTH
    result["assemble_ms"] = ms(min(last.assemble[WARM_UP:]))
    result["assemble_ms_median"] = ms(statistics.median(last.assemble[WARM_UP:]))
    result["assemble_again_ms"] = ms(min(last.again[WARM_UP:]))
    result["assemble_goal_ms"] = GOAL_ASSEMBLE_MS
    result["assemble_met"] = result["assemble_ms"] <= GOAL_ASSEMBLE_MS
    result["plain_sql_ms"] = ms(min(last.plain[WARM_UP:]))
    result["ratio"] = round(min(last.build[WARM_UP:]) / min(last.plain[WARM_UP:]), 1)
    return result


def table(result: dict[str, Any], sizes: Sequence[int]) -> str:
    """The figures for a person."""
    lines = [f"{'messages in the conversation':32}{'best':>9}{'median':>9}  ms"]
    for size in sizes:
        best, median = result[f"build_ms_{size}"], result[f"build_ms_{size}_median"]
        queries = result["queries"][str(size)]
        lines.append(f"{size:<32,}{best:9.1f}{median:9.1f}  {queries} queries")
    best, median = result["assemble_ms"], result["assemble_ms_median"]
    lines.append(f"{'the assembly alone':32}{best:9.1f}{median:9.1f}")
    lines.append(f"{'... for the next of the round':32}{result['assemble_again_ms']:9.1f}")
    lines.append(f"{'the same rows, SQL alone':32}{result['plain_sql_ms']:9.1f}")
    met = "met" if result["growth_met"] else "NOT met"
    lines.append(f"growth: {result['growth']} (goal {GOAL_GROWTH}: {met}), ratio {result['ratio']}")
    met = "met" if result["assemble_met"] else "NOT met"
    told = f"{result['assemble_chars']:,} characters, mode {result['mode']}"
    lines.append(f"assembly: {told} (goal {GOAL_ASSEMBLE_MS} ms: {met})")
    lines.append(
        "sections: " + ", ".join(f"{n} {used:,}" for n, used in result["sections"].items())
    )
    lines.append(f"notes: {'; '.join(result['notes']) or 'none'}")
    made = f"made in {result['generate_s']:.0f} s" if result["generate_s"] else "was there"
    lines.append(f"{result['messages']:,} messages, {result['database_mb']} MB, {made}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    parser.add_argument("--messages", type=int, default=1_000_000, help="in the whole database")
    parser.add_argument("--sizes", default="100,1000,10000", help="of the measured conversations")
    parser.add_argument("--rounds", type=int, default=30, help="measured rounds (default 30)")
    parser.add_argument("--dir", type=Path, help="keep the database there, and use it again")
    args = parser.parse_args(argv)
    sizes = tuple(sorted(int(size) for size in args.sizes.split(",")))
    if len(sizes) < 2:
        parser.error("--sizes: at least two")
    with tempfile.TemporaryDirectory(prefix="moot-assemble-") as temporary:
        folder = (args.dir or Path(temporary)) / f"messages-{args.messages}"
        result = asyncio.run(measure(folder, args.messages, sizes, args.rounds))
    print(table(result, sizes))
    if args.json:
        print(json.dumps(result, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
