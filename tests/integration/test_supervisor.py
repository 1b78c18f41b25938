"""The supervisor with real children: whatever they do, one outcome, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from core.model import EngineEvent, Limits, Outcome
from tests.integration.supervised import ANSWER, NAP, Script, Stage


async def test_an_answer(stage: Stage) -> None:
    outcome = await stage.run(Script(ANSWER))
    assert outcome == Outcome("answered", "A", session="s1")
    assert [e.kind for e in stage.events] == ["started", "message"]
    [(pid, started)] = stage.spawned
    assert pid > 1
    assert abs(started - time.time()) < 60
    assert not psutil.pid_exists(pid)


async def test_nothing_is_started_before_the_gate_is_open(stage: Stage) -> None:
    opened = asyncio.Event()

    async def wait() -> None:
        await opened.wait()

    stage.gate = wait
    running = asyncio.create_task(stage.run(Script(ANSWER, files={"context.md": b"x"})))
    while not (stage.folder / "scratch" / "context.md").exists():
        await asyncio.sleep(0.01)
    assert (stage.starts, stage.spawned, stage.left()) == (0, [], [])
    opened.set()
    assert (await running).text == "A"
    assert stage.starts == 1


async def test_a_gate_may_stop_the_run_or_fail(stage: Stage) -> None:
    async def stop() -> None:
        stage.cancel.set()

    async def fail() -> None:
        raise RuntimeError("no row")

    stage.gate = stop
    assert (await stage.run(Script(ANSWER))).kind == "cancelled"
    stage.cancel.clear()
    stage.gate = fail
    with pytest.raises(RuntimeError, match="no row"):
        await stage.run(Script(ANSWER))
    assert (stage.starts, stage.spawned) == (0, [])


async def test_the_environment_is_an_allow_list(stage: Stage) -> None:
    env = {
        "SLACK_BOT_TOKEN": "xoxb-1", "DISCORD_TOKEN": "d", "MOOT__SLACK__APP_TOKEN": "x",
        "OPENAI_API_KEY": "o", "ACME_KEY": "k", "LC_TIME": "C", "HTTPS_PROXY": "http://p",
        "AWS_REGION": "r", "GOOGLE_X": "g", "USE_GOOGLE": "1", "RANDOM_THING": "1",
    }  # fmt: skip
    engine = Script(
        "say(type='text', text=json.dumps(dict(os.environ))); say(type='end')",
        env_names=("ACME_*", "SLACK_*", "AWS_*?USE_AWS", "GOOGLE_*?USE_GOOGLE"),
        env={"ADDED": "yes"},
    )
    child = json.loads((await stage.run(engine, env=env)).text)
    assert child["MOOT_RUN"] == stage.run_id
    assert child["ADDED"] == "yes"
    assert child["PATH"]
    assert {"ACME_KEY", "LC_TIME", "HTTPS_PROXY", "GOOGLE_X"} <= child.keys()
    assert not child.keys() & {
        "SLACK_BOT_TOKEN", "DISCORD_TOKEN", "MOOT__SLACK__APP_TOKEN", "OPENAI_API_KEY",
        "AWS_REGION", "RANDOM_THING",
    }  # fmt: skip


async def test_a_large_prompt_arrives_whole_and_is_in_no_argument(stage: Stage) -> None:
    """C122: above the 128 KiB that one argument may have."""
    prompt = "한글 --help\n" * 20_000
    engine = Script(
        "import hashlib; data = sys.stdin.buffer.read()\n"
        "say(type='text', text=hashlib.sha256(data).hexdigest() + ' '.join(sys.argv))\n"
        "say(type='end')"
    )
    import hashlib

    outcome = await stage.run(engine, prompt)
    assert outcome.text == hashlib.sha256(prompt.encode()).hexdigest() + "-c"


async def test_both_pipes_flooded_while_stdin_waits(stage: Stage) -> None:
    """Nobody may wait for the other: the child writes megabytes before it reads anything."""
    engine = Script(
        "for _ in range(100):\n"
        "    sys.stderr.write('e' * 50_000)\n"
        "    say(type='delta', text='d' * 100_000)\n"
        "n = len(sys.stdin.buffer.read())\n"
        "say(type='text', text=str(n)); say(type='end')"
    )
    outcome = await stage.run(engine, "p" * 10_000_000)
    assert (outcome.kind, outcome.text) == ("answered", "10000000")
    assert sum(len(e.text) for e in stage.events if e.kind == "delta") == 10_000_000


async def test_stdin_that_nobody_reads_is_no_error(stage: Stage) -> None:
    outcome = await stage.run(Script(ANSWER), "p" * 3_000_000)
    assert outcome.kind == "answered"


async def test_a_line_of_3_mib(stage: Stage) -> None:
    engine = Script("say(type='tool_output', text='x' * 3 * 2**20)\n" + ANSWER)
    assert (await stage.run(engine)).text == "A"


async def test_last_line_without_newline_and_cut_characters(stage: Stage) -> None:
    engine = Script(
        "data = json.dumps({'type': 'text', 'text': '한글 😀'}, ensure_ascii=False).encode()\n"
        "for b in data + b'\\r\\n' + b'{\"type\": \"end\"}':\n"
        "    os.write(1, bytes([b]))"
    )
    assert (await stage.run(engine)).text == "한글 😀"


async def test_stubborn_tree_is_gone_within_five_seconds(stage: Stage) -> None:
    engine = Script(
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"subprocess.Popen({NAP}); subprocess.Popen({NAP}, start_new_session=True)\n"
        f"subprocess.Popen({NAP}, start_new_session=True, env=dict())\n"
        "say(type='delta', text='I changed a.py and')\n"
        "while True: time.sleep(1)"
    )
    task = asyncio.ensure_future(stage.run(engine))
    await asyncio.wait_for(stage.seen.wait(), 20)
    family = psutil.Process(stage.spawned[0][0]).children(recursive=True)
    assert len(family) == 3
    before = time.monotonic()
    stage.cancel.set()
    outcome = await task
    assert time.monotonic() - before < 5
    assert (outcome.kind, outcome.text) == ("cancelled", "I changed a.py and")
    assert stage.left() == []
    assert not [p for p in family if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


async def test_late_output_is_fenced(stage: Stage) -> None:
    """C085: a result that comes after the stop belongs to nobody."""
    engine = Script(
        "def late(*_):\n"
        "    say(type='text', text='LATE'); say(type='end'); os._exit(0)\n"
        "signal.signal(signal.SIGINT, late)\n"
        "say(type='delta', text='so far')\n"
        "while True: time.sleep(1)"
    )
    task = asyncio.ensure_future(stage.run(engine))
    await asyncio.wait_for(stage.seen.wait(), 20)
    stage.cancel.set()
    outcome = await task
    assert (outcome.kind, outcome.text) == ("cancelled", "so far")
    assert [e.text for e in stage.events] == ["so far"]


async def test_cancel_before_the_start(stage: Stage) -> None:
    stage.cancel.set()
    assert (await stage.run(Script(ANSWER))).kind == "cancelled"
    assert stage.spawned == []


@pytest.mark.parametrize("session", ["False", "True"])
async def test_a_grandchild_that_holds_the_output_is_ended(stage: Stage, session: str) -> None:
    """C083, C084: the exit plus a short drain ends the run, not the end of the pipe."""
    engine = Script(f"subprocess.Popen({NAP}, start_new_session={session})\n" + ANSWER)
    before = time.monotonic()
    outcome = await stage.run(engine)
    assert (outcome.kind, outcome.text, outcome.unclean) == ("answered", "A", False)
    assert time.monotonic() - before < 10
    assert stage.left() == []


async def test_a_child_that_stays_after_its_closing_event(stage: Stage) -> None:
    engine = Script(ANSWER + "time.sleep(600)")
    outcome = await stage.run(engine, limits=Limits(30, 60, linger_s=0.2))
    assert outcome == Outcome("answered", "A", session="s1")
    assert stage.left() == []


async def test_silence_is_a_stall(stage: Stage) -> None:
    engine = Script("say(type='delta', text='half')\ntime.sleep(600)")
    outcome = await stage.run(engine, limits=Limits(idle_s=0.5, total_s=60))
    assert (outcome.kind, outcome.text) == ("stalled", "half")
    assert "no output for" in outcome.detail
    assert "[runs] idle_s" in outcome.detail
    assert stage.left() == []


async def test_silence_after_a_logged_refusal_is_that_refusal(stage: Stage) -> None:
    """C108: on a 429 the CLI logs and hangs."""
    engine = Script(
        "sys.stderr.write('APIError statusCode 429\\n'); sys.stderr.flush()\ntime.sleep(600)"
    )
    outcome = await stage.run(engine, limits=Limits(idle_s=50, total_s=60, trouble_s=0.2))
    assert outcome.kind == "rate"
    assert "429" in outcome.detail


async def test_a_refusal_that_was_got_over_does_not_count(stage: Stage) -> None:
    engine = Script(
        "sys.stderr.write('statusCode 429\\n'); sys.stderr.flush()\n"
        "time.sleep(0.1); say(type='delta', text='x'); time.sleep(1.5)\n" + ANSWER
    )
    outcome = await stage.run(engine, limits=Limits(30, 60, trouble_s=1.0))
    assert outcome.kind == "answered"


async def test_a_complaint_that_is_no_refusal_leaves_all_the_patience(stage: Stage) -> None:
    engine = Script(
        "sys.stderr.write('statusCode 429\\n'); sys.stderr.flush(); time.sleep(0.2)\n"
        "say(type='delta', text='over it'); time.sleep(0.2)\n"
        "sys.stderr.write('a hook was slow\\n'); sys.stderr.flush(); time.sleep(1.5)\n" + ANSWER
    )
    outcome = await stage.run(engine, limits=Limits(30, 60, trouble_s=0.5))
    assert outcome.kind == "answered"


async def test_chatter_without_an_end_is_too_long(stage: Stage) -> None:
    engine = Script("while True:\n    say(type='delta', text='.'); time.sleep(0.05)")
    outcome = await stage.run(engine, limits=Limits(idle_s=30, total_s=1.0))
    assert outcome.kind == "stalled"
    assert "still not finished after 1 s" in outcome.detail


async def test_one_stall_does_not_touch_the_others(tmp_path: Path) -> None:
    """C106: six at once, one falls silent."""
    stages = [Stage(tmp_path / str(n)) for n in range(6)]
    for one in stages:
        one.folder.mkdir()
    code = "say(type='text', text='x')\n" + "time.sleep(600)"
    runs = [
        one.run(Script(code if n == 3 else ANSWER), limits=Limits(idle_s=3, total_s=60))
        for n, one in enumerate(stages)
    ]
    kinds = [o.kind for o in await asyncio.gather(*runs)]
    assert kinds == ["answered"] * 3 + ["stalled"] + ["answered"] * 2


async def test_cancelling_the_awaiting_task_settles_everything(stage: Stage) -> None:
    engine = Script(
        f"subprocess.Popen({NAP}, start_new_session=True)\n"
        "say(type='delta', text='x')\ntime.sleep(600)"
    )
    task = asyncio.ensure_future(stage.run(engine))
    await asyncio.wait_for(stage.seen.wait(), 20)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()  # a second time, while it is settling
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stage.left() == []
    assert not psutil.pid_exists(stage.spawned[0][0])


async def test_an_error_of_ours_settles_the_child_first(stage: Stage) -> None:
    def broken(event: EngineEvent) -> None:
        raise RuntimeError("ours")

    stage.on_event = broken
    with pytest.raises(RuntimeError, match="ours"):
        await stage.run(Script("say(type='delta', text='x')\ntime.sleep(600)"))
    assert stage.left() == []


async def test_a_start_that_cannot_be_recorded_is_undone(stage: Stage) -> None:
    async def broken(pid: int, started: float) -> None:
        raise OSError("disk full")

    stage.on_spawn = broken  # type: ignore[method-assign]
    with pytest.raises(OSError, match="disk full"):
        await stage.run(Script("time.sleep(600)"))
    assert stage.left() == []


async def test_children_react_to_an_interrupt_although_we_ignore_it(stage: Stage) -> None:
    """A bridge started with ``&`` or nohup has SIGINT ignored, and exec passes that on."""
    engine = Script(
        "say(type='text', text=str(signal.getsignal(signal.SIGINT) is signal.SIG_IGN))\n"
        "say(type='end')"
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert (await stage.run(engine)).text == "False"
    finally:
        signal.signal(signal.SIGINT, before)


async def test_a_child_killed_from_outside(stage: Stage) -> None:
    engine = Script("say(type='text', text='A')\nos.kill(os.getpid(), signal.SIGKILL)")
    outcome = await stage.run(engine)
    assert (outcome.kind, outcome.text) == ("crashed", "A")
    assert "-9" in outcome.detail


async def test_stderr_is_a_bounded_redacted_tail(stage: Stage) -> None:
    engine = Script(
        "red = '\\x1b[31mfatal: key ' + os.environ['ACME_KEY'] + '\\x1b[0m\\n'\n"
        "sys.stderr.write('x' * 500_000 + '\\n' + red)\n"
        "sys.exit(3)",
        env_names=("ACME_*",),
    )
    outcome = await stage.run(engine, env={"ACME_KEY": "hush-hush-hush"})
    assert outcome.kind == "crashed"
    assert outcome.detail.endswith("fatal: key [redacted]")
    assert len(outcome.detail) < 500


async def test_secret_values_never_reach_the_answer(stage: Stage) -> None:
    engine = Script(
        "say(type='text', text='it is ' + os.environ['ACME_KEY']); say(type='end')",
        env_names=("ACME_*",),
    )
    outcome = await stage.run(engine, env={"ACME_KEY": "hush-hush-hush"})
    assert outcome.text == "it is [redacted]"
    assert [e.text for e in stage.events] == ["it is [redacted]"]


async def test_files_are_private(stage: Stage) -> None:
    engine = Script(
        "p = 'scratch/context.md'\n"
        "say(type='text', text=open(p).read() + oct(os.stat(p).st_mode & 0o777)); say(type='end')",
        files={"context.md": b"the context "},
    )
    assert (await stage.run(engine)).text == "the context 0o600"


def stub(folder: Path, content: bytes, mode: int = 0o755) -> str:
    path = folder / "program"
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("content", "mode", "kind", "words"),
    [
        (None, 0, "missing-binary", "was not found"),
        (b"#!/bin/sh\n", 0o644, "missing-binary", "not an executable"),
        (b"echo nothing here\n", 0o755, "missing-binary", "only a stub"),  # no shebang
        (b"#!/no/such/node\n", 0o755, "missing-binary", "cannot run"),
        (b"#!/bin/sh\nexec no-such-program\n", 0o755, "missing-binary", "not found"),
    ],
)
async def test_programs_that_cannot_start(
    stage: Stage, content: bytes | None, mode: int, kind: str, words: str
) -> None:
    path = stub(stage.folder, content, mode) if content else str(stage.folder / "absent")
    outcome = await stage.run(Script("", argv=(path,)))
    assert outcome.kind == kind
    assert words in outcome.detail
    assert stage.left() == []


async def test_arguments_that_are_too_large(stage: Stage) -> None:
    outcome = await stage.run(Script("", argv=(sys.executable, "-c", "x" * 200_000)))
    assert (outcome.kind, outcome.detail) == (
        "bad-config", "the arguments and environment are too large",
    )  # fmt: skip


async def test_a_project_folder_that_is_gone(stage: Stage) -> None:
    outcome = await stage.run(Script(ANSWER), cwd=str(stage.folder / "gone"))
    assert outcome.kind == "bad-config"
    assert "does not exist" in outcome.detail
