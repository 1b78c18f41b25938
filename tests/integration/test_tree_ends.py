"""What a run started is ended with it, whatever it did to its group, environment and parents."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import psutil
import pytest

from core.engines.process import end_leftover, orphans, seal, tree
from core.engines.process.tree import marked, started_at
from tests.integration.supervised import ANSWER, Script, Stage

ROOT = Path(__file__).parents[2]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="seals and adoption are Linux's")

# A grandchild in a session of its own, with an emptied environment, whose parent has ended.
ESCAPES = (
    "def escape(then='time.sleep(600)'):\n"
    "    r, w = os.pipe()\n"
    "    if os.fork() == 0:\n"
    "        os.setsid()\n"
    "        if os.fork() == 0:\n"
    "            os.dup2(w, 9)\n"
    "            code = 'import os, time; os.write(9, b\"%d\" % os.getpid()); ' + then\n"
    "            os.execve(sys.executable, [sys.executable, '-I', '-S', '-c', code], {})\n"
    "        os._exit(0)\n"
    "    os.wait()\n"
    "    return int(os.read(r, 20))\n"
)


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE  # init has not reaped it yet
    except psutil.NoSuchProcess:
        return True


@LINUX
async def test_who_left_group_environment_and_parent_is_found(stage: Stage) -> None:
    outcome = await stage.run(Script(ESCAPES + "say(type='text', text=str(escape()))\n" + ANSWER))
    [pid] = [int(e.text) for e in stage.events if e.kind == "message" and e.text != "A"]
    assert outcome.kind == "answered"
    assert gone(pid)


@LINUX
async def test_the_same_when_the_run_is_stopped(stage: Stage) -> None:
    engine = Script(
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        + ESCAPES
        + "say(type='delta', text=str(escape()))\ntime.sleep(600)"
    )
    running = asyncio.create_task(stage.run(engine))
    await stage.until("delta")
    pid = int(stage.events[0].text)
    assert not gone(pid)
    stage.cancel.set()
    assert (await running).kind == "cancelled"
    assert gone(pid)


@LINUX
def test_a_seal_is_inherited_and_told_apart() -> None:
    code = "import subprocess, sys; subprocess.run(['sleep', '600'], env={})"
    child = subprocess.Popen([sys.executable, "-I", "-c", code], start_new_session=True)
    try:
        assert seal.read(child.pid) is None
        seal.put(child.pid, "run-1")
        deadline = time.monotonic() + 20
        while not (below := psutil.Process(child.pid).children()):
            assert time.monotonic() < deadline
        assert seal.read(child.pid) == seal.read(below[0].pid) == seal.number("run-1")
        assert seal.number("run-1") != seal.number("run-2")
        assert seal.read(os.getpid()) is None
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait(10)
    assert seal.read(child.pid) is None
    seal.put(child.pid, "run-1")  # gone: nothing happens


def test_who_does_not_adopt_looks_at_no_orphan() -> None:
    assert not orphans.adopting()
    assert not orphans.of("run", 1)


async def test_where_no_descriptor_can_be_had_a_thread_waits(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(pid: int, flags: int = 0) -> int:
        raise OSError(1, "not permitted")

    monkeypatch.setattr(os, "pidfd_open", refused, raising=False)
    outcome = await stage.run(Script("say(type='text', text='A'); sys.exit(3)"))
    assert (outcome.kind, outcome.text) == ("crashed", "A")
    assert "exit status 3" in outcome.detail
    running = asyncio.create_task(stage.run(Script("say(type='delta', text='x'); time.sleep(600)")))
    await stage.until("delta")
    stage.cancel.set()
    assert (await running).kind == "cancelled"


KINDS = {
    "answers": ANSWER,
    "hangs": "say(type='delta', text='x')\ntime.sleep(600)",
    "leaves a child": "subprocess.Popen(['sleep', '600'], start_new_session=True)\n" + ANSWER,
    "crashes": "say(type='delta', text='x'); sys.stderr.write('boom'); os._exit(3)",
    "floods": "for _ in range(300): say(type='delta', text='d' * 2000)\n" + ANSWER,
    "is deaf": "os.close(0)\n" + ANSWER,
}


@pytest.mark.timeout(240)
async def test_nothing_is_left_after_sixty_runs(tmp_path: Path) -> None:
    """Of every sort, ten at a time: no process, zombie, descriptor, task, thread or file."""

    async def one(kind: str, number: int) -> str:
        stage = Stage(tmp_path)
        code = KINDS[kind]
        engine = Script(code, files={f"{number}.md": b"context"})
        running = asyncio.create_task(stage.run(engine, "p" * 200_000))
        if kind == "hangs":
            await stage.until("delta")
            stage.cancel.set()
        outcome = await running
        (tmp_path / "scratch" / f"{number}.md").unlink()
        assert stage.left() == []
        return outcome.kind

    async def counted() -> dict[str, int]:
        await asyncio.sleep(0)
        me = psutil.Process()
        return {
            "children": len(me.children()),
            "descriptors": me.num_fds(),
            "tasks": len(asyncio.all_tasks()),
            # those of the pool stay, for the next run
            "threads": sum("asyncio" not in t.name for t in threading.enumerate()),
            "files": sum(1 for path in tmp_path.rglob("*") if path.is_file()),
        }

    ends = {"answers": "answered", "hangs": "cancelled", "leaves a child": "answered",
            "crashes": "crashed", "floods": "answered", "is deaf": "answered"}  # fmt: skip
    await one("answers", 0)
    before = await counted()
    for _ in range(6):
        kinds = [*KINDS, *list(KINDS)[:4]]
        came = await asyncio.gather(*(one(kind, n) for n, kind in enumerate(kinds)))
        assert came == [ends[kind] for kind in kinds]
    assert await counted() == before


ADOPTER = """
import asyncio, json, os, sys, time
from pathlib import Path
import psutil, structlog
from core.engines.process import adopt_orphans, orphans
from tests.integration.supervised import Script, Stage
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))

async def main():
    stages = [Stage(Path(sys.argv[1])) for _ in range(4)]
    outcomes = await asyncio.gather(*(s.run(Script(sys.argv[2])) for s in stages))
    orphans._STALE_S = 0.0
    looked, until = 0, time.monotonic() + 20
    while looked < 2 or (psutil.Process().children() and time.monotonic() < until):
        await Stage(Path(sys.argv[1])).run(Script(sys.argv[3]))  # reaps what is dead
        looked += 1
    return {
        "adopts": orphans.adopting(),
        "kinds": sorted({o.kind for o in outcomes}),
        "told": [int(e.text) for s in stages for e in s.events if e.text.isdigit()],
        "children": [f"{p.pid} {p.status()}" for p in psutil.Process().children()],
        "expected": sorted(orphans._here.expected),
    }

print(json.dumps({"adopted": adopt_orphans(), **asyncio.run(main())}))
"""


# Each of them has mostly ended before it can be told from others: more haste ends the last one.
RESPAWNS = """
end = time.time() + 120
while time.time() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
    time.sleep(0.02)
"""


@LINUX
@pytest.mark.parametrize("then", ["time.sleep(600)", "pass", RESPAWNS])
def test_who_adopts_finds_orphans_and_keeps_no_zombies(tmp_path: Path, then: str) -> None:
    """In a process of its own: to adopt orphans is for a whole process and for ever."""
    engine = ESCAPES + f"say(type='text', text=str(escape({then!r})))\n" + ANSWER
    done = subprocess.run(
        [sys.executable, "-c", ADOPTER, str(tmp_path), engine, ANSWER],
        cwd=ROOT, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["adopted"] is told["adopts"] is True
    assert told["kinds"] == ["answered"]
    assert len(told["told"]) == 4
    assert all(gone(pid) for pid in told["told"])
    assert told["children"] == []  # neither alive nor dead
    assert told["expected"] == []


def leftover(run_id: str) -> subprocess.Popen[bytes]:
    nap = [sys.executable, "-I", "-S", "-c", "import time; print(flush=True); time.sleep(600)"]
    env = {**os.environ, "MOOT_RUN": run_id} if run_id else dict(os.environ)
    child = subprocess.Popen(nap, env=env, start_new_session=True, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    child.stdout.close()
    return child


async def test_what_an_earlier_life_left_is_found_by_its_mark() -> None:
    run_id = str(uuid.uuid4())
    child = leftover(run_id)
    mark = f"MOOT_RUN={run_id}".encode()
    assert mark in tree._environment_by_psutil(child.pid)  # the way without /proc finds the same
    assert await end_leftover(run_id, 0, 0.0) == [child.pid]
    assert child.wait(10) < 0
    assert await end_leftover(run_id, child.pid, 0.0) == []


async def test_a_sweep_passes_over_strangers_and_finds_newcomers() -> None:
    run_id = str(uuid.uuid4())
    child, stranger = leftover(run_id), leftover(str(uuid.uuid4()))
    try:
        known = tree.strangers_to(run_id)
        assert stranger.pid in known
        assert child.pid not in known
        newcomer = leftover(run_id)
        assert sorted(marked(run_id, known)) == sorted([child.pid, newcomer.pid])
        assert set(tree.sweep(run_id, (), known)) == {child.pid, newcomer.pid}
        assert child.wait(10) < 0
        assert newcomer.wait(10) < 0
        assert stranger.poll() is None
    finally:
        for process in (child, stranger):
            process.kill()
            process.wait(10)


async def test_what_an_earlier_life_left_is_found_by_pid_and_start() -> None:
    child = leftover("")
    started = started_at(child.pid)
    assert await end_leftover("no-such-run", child.pid, started - 100) == []  # another process
    assert child.poll() is None
    assert await end_leftover("no-such-run", child.pid, started) == [child.pid]
    assert child.wait(10) < 0
