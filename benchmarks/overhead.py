"""What Moot adds to a run of Claude Code, and the memory it takes.

``python -m benchmarks.overhead [--json] [--runs N] [--stages]``: the whole product as a process of
its own behind a loopback Slack, the real Claude Code, and a model server on loopback that answers
at once. A run under Moot and a bare run of the same program (same arguments, environment, folder,
context file and standard input) take turns, so that what else the machine does hits both.

What is measured, and by which clock, stands in docs/benchmarks.md. Linux only (pidfd).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import re
import statistics
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from core.engines.claude import Claude
from core.engines.claude.asking import user_message
from core.engines.process.environment import child_environment
from core.model import PERMISSIONS, EngineConfig, EngineTask, Permission, Spawn
from tests.e2e.product import Product
from tests.peers import local_slack
from tests.peers.homes import Homes, folder_for
from tests.peers.models import FakeModels
from tests.peers.npm import fetch, locate
from tests.peers.slack import ALICE, LoopbackSlack

GOAL_SHARE = 0.03
WARM_UP = 3
RSS_AT = (1, 20, 100)
PROMPT = "Say hello."
STAGES = ("event.accepted", "turn.claimed", "run.opened", "run.starting", "run.started")
ENDING = ("run.exited", "run.closed", "post.sending")


@dataclass(frozen=True)
class Moment:
    """Seconds since the epoch at the moments of a run under Moot.

    ``stages`` are what the log at level debug tells in between.
    """

    event: float
    spawn: float
    exit: float
    post: float
    stages: dict[str, float]

    @property
    def overhead(self) -> float:
        """What Moot takes before and after the engine, in seconds."""
        return self.spawn - self.event + self.post - self.exit


class Bench:
    """One running Moot with Claude Code, and the same Claude Code without Moot."""

    def __init__(self, slack: LoopbackSlack, product: Product, env: dict[str, str]) -> None:
        self.slack, self.product, self.env = slack, product, env
        self.claude = Claude(EngineConfig(path=str(local_program())))
        self.cwd = ""
        self.context = ""
        self.permission: Permission = "plan"

    async def under_moot(self) -> Moment:
        """One mention, from the envelope that brings it to the request that posts the answer."""
        product, slack = self.product, self.slack
        product.events.clear()
        ts = await slack.mention(PROMPT)
        started = await product.event("run.started")
        exited = await exit_of(started["pid"], lambda: self._observe(started))
        await product.event("turn.ended", state="done")
        await slack.until(lambda: bool(self._calls("chat.delete", exited)), "the end of the status")
        [answer] = self._calls("chat.postMessage", exited)
        event = min(d.sent_at for d in slack.events.deliveries if d.payload["event"]["ts"] == ts)
        return Moment(event, at(started), exited, answer, self._stages())

    def _stages(self) -> dict[str, float]:
        logged = self.product.logged
        if not logged("run.opened"):
            return {}
        stages = {name: at(logged(name)[0]) for name in STAGES}
        stages |= {name: at(logged(name)[-1]) for name in ENDING[:2]}
        return {**stages, "post.sending": at(logged("post.sending", kind="answer")[-1])}

    def _calls(self, method: str, since: float) -> list[float]:
        return [call.at for call in self.slack.calls(method) if call.at >= since]

    def _observe(self, started: dict[str, Any]) -> None:
        """Once: what this run is given, for the bare runs to be given the same."""
        if self.context:
            return
        self.cwd = str(Path(f"/proc/{started['pid']}/cwd").readlink())
        scratch = self.product.folder / "data" / "scratch" / started["run"]
        words = Path(f"/proc/{started['pid']}/cmdline").read_text().split("\0")
        mode = words[words.index("--permission-mode") + 1]
        self.permission = next(p for p in PERMISSIONS if mode in self._plan("", "", p).argv)
        self.context = (scratch / "context.md").read_text()

    def _plan(self, run_id: str, scratch: str, permission: Permission) -> Spawn:
        """How Moot would start it, where people can be asked; without a server for Pulls."""
        task = EngineTask(run_id, self.context, PROMPT, self.cwd, scratch, permission, asks=True)
        return self.claude.start(task)

    async def bare(self) -> float:
        """Claude Code alone, as Moot would start it; seconds from the start to the exit."""
        run_id = uuid.uuid4().hex[:16]
        scratch = self.product.folder / "bare" / run_id
        scratch.mkdir(parents=True)
        plan = self._plan(run_id, str(scratch), self.permission)
        for name, data in plan.files.items():
            (scratch / name).write_bytes(data)
        env = child_environment(self.env, self.claude.env_names, plan.env, run_id)
        said = user_message(PROMPT) if plan.dialogue else plan.stdin
        return await timed(plan, env, said)


async def timed(plan: Spawn, env: dict[str, str], said: bytes) -> float:
    """Run a program to its end, telling it nothing but ``said``; seconds it took."""
    pipe = asyncio.subprocess.PIPE
    began = time.time()
    process = await asyncio.create_subprocess_exec(
        *plan.argv, cwd=plan.cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe
    )
    talking = asyncio.ensure_future(process.communicate(said))
    ended = await exit_of(process.pid, lambda: None)
    out, err = await talking
    if process.returncode or b'"result"' not in out:
        raise SystemExit(f"the bare run failed: {(err or out).decode(errors='replace')[-500:]}")
    return ended - began


async def exit_of(pid: int, meanwhile: Any) -> float:
    """When the process ended, as the kernel tells whoever waits for it."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    fd = os.pidfd_open(pid)
    try:
        loop.add_reader(fd, ended.set)
        meanwhile()
        async with asyncio.timeout(60):
            await ended.wait()
        return time.time()
    finally:
        loop.remove_reader(fd)
        os.close(fd)


def at(line: dict[str, Any]) -> float:
    """A log line's time in seconds since the epoch."""
    return datetime.fromisoformat(line["timestamp"]).timestamp()


def local_program() -> Path:
    """Where Claude Code is."""
    found = locate("claude")
    assert found is not None, "main has fetched it"
    return found


async def measure_overhead(runs: int, *, stages: bool) -> dict[str, Any]:
    """The first half: what Moot adds in time.

    With ``stages`` Moot logs at level debug, which costs a little; else at its default.
    """
    with folder_for("overhead") as folder:
        async with FakeModels() as models, LoopbackSlack() as slack:
            env = Homes(folder, models.url).env("claude")
            settings = {
                "slack": {"enabled": True, "api_url": slack.api_url},
                "access": {"allow": [f"slack:{ALICE}"]},
                "engines": {"default": "claude"},
                "log": {"level": "debug" if stages else "info"},
            }
            async with Product(folder, settings, {**env, **slack.env()}) as product:
                await product.start("slack")
                bench = Bench(slack, product, product.env)
                for _ in range(WARM_UP):
                    await bench.under_moot()
                    await bench.bare()
                moments: list[Moment] = []
                bare: list[float] = []
                for number in range(runs):
                    if number % 2:
                        bare.append(await bench.bare())
                        moments.append(await bench.under_moot())
                    else:
                        moments.append(await bench.under_moot())
                        bare.append(await bench.bare())
    return summary(moments, bare)


def summary(moments: Sequence[Moment], bare: Sequence[float]) -> dict[str, Any]:
    """The figures, in milliseconds."""
    figures = {
        "event_to_spawn": [m.spawn - m.event for m in moments],
        "exit_to_post": [m.post - m.exit for m in moments],
        "overhead": [m.overhead for m in moments],
        "bare_run": bare,
        "run_under_moot": [m.exit - m.spawn for m in moments],
        "event_to_post": [m.post - m.event for m in moments],
    }
    result: dict[str, Any] = {}
    for name, values in figures.items():
        result[f"{name}_ms_median"] = ms(statistics.median(values))
        result[f"{name}_ms_p95"] = ms(percentile(values, 0.95))
    share = statistics.median(figures["overhead"]) / statistics.median(bare)
    result["overhead_share"] = round(share, 4)
    result["goal_share"], result["goal_met"] = GOAL_SHARE, share <= GOAL_SHARE
    result["runs"] = len(moments)
    if moments[0].stages:
        before = {name: [m.stages[name] - m.event for m in moments] for name in STAGES}
        after = {name: [m.stages[name] - m.exit for m in moments] for name in ENDING}
        result["stages_ms"] = {
            "after_event": {name: ms(statistics.median(v)) for name, v in before.items()},
            "after_exit": {name: ms(statistics.median(v)) for name, v in after.items()},
        }
    return result


def ms(seconds: float) -> float:
    return round(seconds * 1000, 2)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` of all do not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


async def measure_rss() -> dict[str, float]:
    """The second half: megabytes of Moot's own process after so many conversations."""
    found: dict[str, float] = {}
    with folder_for("rss") as folder:
        async with LoopbackSlack() as slack:
            settings = {
                "slack": {"enabled": True, "api_url": slack.api_url},
                "access": {"allow": [f"slack:{ALICE}"]},
                "engines": {"default": "rehearsal"},
            }
            async with Product(folder, settings, slack.env()) as product:
                await product.start("slack")
                found["0"] = rss_mb(product.pid)
                done = 0
                for target in RSS_AT:
                    for number in range(done, target):
                        await slack.mention(f"conversation {number}")
                    done = target
                    await settled(slack, product, done)
                    found[str(target)] = rss_mb(product.pid)
    return found


async def settled(slack: LoopbackSlack, product: Product, count: int) -> None:
    """Wait until so many turns are over and their status messages are gone."""

    def over() -> bool:
        gone = len(slack.calls("chat.delete"))
        return len(product.logged("turn.ended")) >= count and gone >= count

    await slack.until(over, f"{count} conversations", timeout_s=300)


def rss_mb(pid: int) -> float:
    return round(psutil.Process(pid).memory_info().rss / 1e6, 1)


def machine() -> dict[str, Any]:
    """The class of machine, nothing that names it."""
    model = "unknown"
    with Path("/proc/cpuinfo").open() as file:
        model = next((line.split(":", 1)[1].strip() for line in file if "model name" in line), "")
    python = ".".join(map(str, sys.version_info[:2]))
    load = round(os.getloadavg()[0], 1)
    return {"cores": os.cpu_count(), "cpu": model, "python": python, "load_1_min": load}


def table(result: dict[str, Any]) -> str:
    """The figures for a person."""
    lines = [f"{'':26}{'median':>10}{'p95':>10}  ms, {result['runs']} runs"]
    names = {
        "event received to spawn": "event_to_spawn",
        "exit to post": "exit_to_post",
        "both: what Moot adds": "overhead",
        "Claude Code alone": "bare_run",
        "Claude Code under Moot": "run_under_moot",
        "event to post": "event_to_post",
    }
    for label, name in names.items():
        median, p95 = result[f"{name}_ms_median"], result[f"{name}_ms_p95"]
        lines.append(f"{label:26}{median:10.1f}{p95:10.1f}")
    met = "met" if result["goal_met"] else "NOT met"
    lines.append(f"share of Claude Code's run: {result['overhead_share']:.1%} (goal 3 %: {met})")
    for group, stages in result.get("stages_ms", {}).items():
        told = ", ".join(f"{name} {value:.1f}" for name, value in stages.items())
        lines.append(f"{group.replace('_', ' ')}: {told}")
    told = ", ".join(f"{count}: {mb:.0f}" for count, mb in result["rss_mb"].items())
    lines.append(f"resident memory by conversations, MB: {told}")
    return "\n".join(lines)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    parser.add_argument("--runs", type=int, default=20, help="pairs of runs (default 20)")
    parser.add_argument("--stages", action="store_true", help="show the log's stages as well")
    args = parser.parse_args()
    if not hasattr(os, "pidfd_open"):
        print("this benchmark needs Linux (pidfd)", file=sys.stderr)
        return 1
    if why := fetch():
        print(why, file=sys.stderr)
        return 1
    if local_slack.locate() is None:
        print("local-slack is not there; `make clis` fetches it by npm", file=sys.stderr)
        return 1
    result = asyncio.run(measure_overhead(args.runs, stages=args.stages))
    result["rss_mb"] = asyncio.run(measure_rss())
    result["machine"] = machine()
    print(json.dumps(result) if args.json else table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
