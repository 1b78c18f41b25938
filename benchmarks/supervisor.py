"""What supervision costs: many chatty children at once, beside a bare asyncio reader.

``python -m benchmarks.supervisor [--json] [--runs N] [--at-once N] [--events N]``: each run is a
child process that writes so many events in the shape of Claude Code's stream, each in a write of
its own. Half of the runs go through the supervisor and Claude Code's reader, half through
``asyncio.create_subprocess_exec`` with a loop that reads lines and parses their JSON; both take
turns, in blocks, so that what else the machine does hits both.

What is measured stands in docs/benchmarks.md. The exit status is 1 when anything was lost or left.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import logging
import math
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import structlog

from core.engines.claude import Claude
from core.engines.process import adopt_orphans, run
from core.engines.process.tree import marks
from core.model import EngineConfig, EngineEvent, EngineTask, Limits, Outcome, Spawn

GOAL_RATIO = 1.3
GOAL_RSS = 0.05
BLOCK = 100  # runs of one side, before the other has its turn
LIMITS = Limits(60, 120)
_TICK_S = 0.005
_PREFIX = f"bench-{os.getpid()}-"

CHILD = """
import os, sys, time
sys.stdin.buffer.read()
gap = float(sys.argv[2])
with open(sys.argv[1], "rb") as file:
    for line in file:
        os.write(1, line)
        if gap:
            time.sleep(gap)
"""


def stream(events: int) -> list[dict[str, Any]]:
    """One run of Claude Code as it writes it, in so many lines: a tool, and an answer in pieces."""
    session = str(uuid.UUID(int=7))
    told = {"session_id": session, "parent_tool_use_id": None, "uuid": str(uuid.UUID(int=9))}
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls -a"}}
    done = {"type": "tool_result", "tool_use_id": "t1", "content": "a\nb\n", "is_error": False}
    first = [
        {"type": "system", "subtype": "init", "tools": ["Bash", "Read", "Edit"] * 8, **told},
        {"type": "assistant", "message": {"role": "assistant", "content": [call]}, **told},
        {"type": "user", "message": {"role": "user", "content": [done]}, **told},
    ]
    words = [f"word {n} of the answer, " for n in range(max(1, events - 5))]
    pieces = [
        {"type": "stream_event",
         "event": {"type": "content_block_delta", "index": 0,
                   "delta": {"type": "text_delta", "text": word}}, **told}
        for word in words
    ]  # fmt: skip
    text = "".join(words)
    last = [
        {"type": "assistant",
         "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}, **told},
        {"type": "result", "subtype": "success", "is_error": False, "result": text,
         "usage": {"input_tokens": 900, "output_tokens": len(words)}, **told},
    ]  # fmt: skip
    return first + pieces + last


class Chatty:
    """Claude Code's reader over a child that only replays a file."""

    name = "chatty"
    env_names: tuple[str, ...] = ()

    def __init__(self, script: Path, gap_s: float) -> None:
        self._claude = Claude(EngineConfig())
        self.traits = self._claude.traits
        self.argv = (sys.executable, "-I", "-S", "-c", CHILD, str(script), str(gap_s))

    def start(self, task: EngineTask) -> Spawn:
        """See ``core.ports.Engine``."""
        return Spawn(self.argv, task.cwd, task.prompt.encode())

    def reader(self, task: EngineTask) -> Any:
        """See ``core.ports.Engine``."""
        return self._claude.reader(task)


@dataclass
class Side:
    """What one way of reading took and brought."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    lags: list[float] = field(default_factory=list)
    runs: int = 0
    events: int = 0
    wrong: int = 0
    """Runs that did not bring what was written, whole and in order."""


class Bench:
    """Both ways, over the same children."""

    def __init__(self, folder: Path, events: int, gap_s: float) -> None:
        self.folder = folder
        self.lines = stream(events)
        self.script = folder / "stream.jsonl"
        self.script.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        self.engine = Chatty(self.script, gap_s)
        self.scratches: list[Path] = []
        self.words = [
            line["event"]["delta"]["text"] for line in self.lines if line["type"] == "stream_event"
        ]

    async def supervised(self, side: Side) -> None:
        """One run as Moot makes it, with its folder, which is for whoever asked to remove."""
        run_id = _PREFIX + uuid.uuid4().hex[:16]
        scratch = self.folder / run_id
        seen: list[EngineEvent] = []
        task = EngineTask(run_id, "", "hello", str(self.folder), str(scratch))

        async def on_spawn(pid: int, started: float) -> None:
            del pid, started

        outcome = await run(
            self.engine, task, on_event=seen.append, on_spawn=on_spawn, limits=LIMITS,
            cancel=asyncio.Event(),
        )  # fmt: skip
        self.scratches.append(scratch)
        side.events += len(self.lines)
        side.wrong += not self._whole(outcome, seen)

    def _whole(self, outcome: Outcome, seen: Sequence[EngineEvent]) -> bool:
        kinds = [e.kind for e in seen if e.kind != "delta"]
        return (
            outcome.kind == "answered"
            and not outcome.unclean
            and outcome.text == "".join(self.words).strip()
            and [e.text for e in seen if e.kind == "delta"] == self.words
            and kinds == ["started", "tool_start", "tool_end", "message", "usage"]
        )

    async def bare(self, side: Side) -> None:
        """The same child under asyncio alone."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self.engine.argv, cwd=self.folder, stdin=pipe, stdout=pipe, stderr=pipe,
            limit=32 * 2**20,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        errors = asyncio.ensure_future(process.stderr.read())
        process.stdin.write(b"hello")
        process.stdin.close()
        seen = [json.loads(line) async for line in process.stdout]
        await process.wait()
        await errors
        side.events += len(seen)
        side.wrong += seen != self.lines

    async def block(
        self, one: Callable[[Side], Awaitable[None]], side: Side, runs: int, at_once: int
    ) -> None:
        """So many runs of one side, so many at a time."""
        left = iter(range(runs))

        async def worker() -> None:
            for _ in left:
                await one(side)
                side.runs += 1

        ticking = asyncio.ensure_future(ticks(side.lags))
        wall, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(worker() for _ in range(at_once)))
        side.cpu_s += time.process_time() - cpu
        side.wall_s += time.perf_counter() - wall
        while self.scratches:
            self.scratches.pop().rmdir()
        ticking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ticking


async def ticks(lags: list[float]) -> None:
    """Note, again and again, how much later than asked for the loop comes back; seconds."""
    loop = asyncio.get_running_loop()
    while True:
        asked = loop.time() + _TICK_S
        await asyncio.sleep(_TICK_S)
        lags.append(loop.time() - asked)


def left_over(folder: Path) -> dict[str, int]:
    """What exists of this process and its runs: counted before and after."""
    me = psutil.Process()
    return {
        "processes": len(marks(_PREFIX)),
        "children": len(me.children()),  # zombies are among them
        "descriptors": me.num_fds(),
        "threads": sum(t is not threading.main_thread() for t in threading.enumerate()),
        "tasks": len(asyncio.all_tasks()),
        "files": sum(1 for _ in folder.iterdir()),
    }


async def measure(runs: int, at_once: int, events: int, gap_s: float) -> dict[str, Any]:
    """Both sides in turns; the figures."""
    folder = Path(tempfile.mkdtemp(prefix="moot-bench-"))
    here = asyncio.current_task()
    assert here is not None
    # As the product does; asyncio's own handler is asked for at each start, and shows its task.
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, here.cancel)
    try:
        bench = Bench(folder, events, gap_s)
        warm = Side()
        await bench.block(bench.bare, warm, 2 * at_once, at_once)
        await bench.block(bench.supervised, warm, 2 * at_once, at_once)
        gc.collect()
        before, rss, grown = left_over(folder), [rss_mb()], 0.0
        ours, bare = Side(), Side()
        while ours.runs < runs:
            size = min(BLOCK, runs - ours.runs)
            sides = [(bench.supervised, ours), (bench.bare, bare)]
            for one, side in sides if (ours.runs // BLOCK) % 2 else reversed(sides):
                started = rss_mb()
                await bench.block(one, side, size, at_once)
                grown += rss_mb() - started if side is ours else 0.0
            rss.append(rss_mb())
        gc.collect()
        after = left_over(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    result = summary(ours, bare)
    result |= {"at_once": at_once, "events_per_run": events, "gap_ms": gap_s * 1000}
    result["rss_mb"] = rss
    result["rss_growth"] = round(grown / rss[0], 4)  # in the supervisor's turns alone
    result["left"] = {name: after[name] - before[name] for name in after}
    result["rss_flat"] = result["rss_growth"] <= GOAL_RSS
    return result


def summary(ours: Side, bare: Side) -> dict[str, Any]:
    """The figures of both, and what one is to the other."""
    result: dict[str, Any] = {"runs": ours.runs}
    for name, side in (("moot", ours), ("bare", bare)):
        result[name] = {
            "cpu_us_per_event": round(side.cpu_s / side.events * 1e6, 1),
            "cpu_ms_per_run": round(side.cpu_s / side.runs * 1e3, 2),
            "events_per_s": round(side.events / side.wall_s),
            "lag_ms_p50": ms(percentile(side.lags, 0.50)),
            "lag_ms_p99": ms(percentile(side.lags, 0.99)),
            "events": side.events,
            "wrong": side.wrong,
        }
    result["cpu_ratio"] = round((ours.cpu_s / ours.events) / (bare.cpu_s / bare.events), 3)
    moot, alone = result["moot"], result["bare"]
    result["speed_ratio"] = round(alone["events_per_s"] / moot["events_per_s"], 3)
    result["lag_ratio"] = round(moot["lag_ms_p99"] / max(alone["lag_ms_p99"], 0.01), 3)
    result["goal_ratio"], result["goal_met"] = GOAL_RATIO, result["cpu_ratio"] <= GOAL_RATIO
    return result


def ms(seconds: float) -> float:
    return round(seconds * 1000, 2)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` of all do not exceed; 0.0 of none."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else 0.0


def rss_mb() -> float:
    return round(psutil.Process().memory_info().rss / 1e6, 2)


def nothing_wrong(result: dict[str, Any]) -> bool:
    """Whether all arrived, and nothing is left but threads that wait for the next run."""
    kept = {name: count for name, count in result["left"].items() if name != "threads"}
    return not result["moot"]["wrong"] and not result["bare"]["wrong"] and max(kept.values()) <= 0


def table(result: dict[str, Any]) -> str:
    """The figures for a person."""
    moot, bare = result["moot"], result["bare"]
    lines = [f"{'':32}{'Moot':>10}{'bare':>10}  {result['runs']} runs each"]
    for label, key in (
        ("own CPU an event, µs", "cpu_us_per_event"),
        ("own CPU a run, ms", "cpu_ms_per_run"),
        ("events a second", "events_per_s"),
        ("loop lag, median, ms", "lag_ms_p50"),
        ("loop lag, p99, ms", "lag_ms_p99"),
        ("runs that brought less", "wrong"),
    ):
        lines.append(f"{label:32}{moot[key]:>10}{bare[key]:>10}")
    met = "met" if result["goal_met"] else "NOT met"
    lines.append(f"CPU: {result['cpu_ratio']} times the bare one (goal {GOAL_RATIO}: {met}), "
                 f"time {result['speed_ratio']}, lag {result['lag_ratio']}")  # fmt: skip
    lines.append(f"resident memory, MB: {result['rss_mb']} ({result['rss_growth']:+.1%})")
    lines.append(f"left behind: {result['left']}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    parser.add_argument("--runs", type=int, default=1000, help="runs of each side (1000)")
    parser.add_argument("--at-once", type=int, default=20, help="how many at a time (20)")
    parser.add_argument("--events", type=int, default=100, help="events of each run (100)")
    parser.add_argument("--gap-ms", type=float, default=0.0, help="between two events (0)")
    args = parser.parse_args(arguments)
    # As in the product: what is not shown is not built either.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    adopt_orphans()  # as the product does
    result = asyncio.run(measure(args.runs, args.at_once, args.events, args.gap_ms / 1000))
    print(json.dumps(result) if args.json else table(result))
    return 0 if nothing_wrong(result) else 1


if __name__ == "__main__":
    sys.exit(main())
