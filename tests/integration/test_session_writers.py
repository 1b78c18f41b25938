"""One writer for each session: across processes, after crashes, and beside terminals."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.engines.process import Busy, Writers
from core.engines.process.writers import KEPT_S, in_terminal
from tests.integration.parlour import Parlour, parlour

# Another Moot of this user: holds a session until it is told to stop, or killed.
# Its engine is at work with the session's id on its command line, as Claude Code's has it.
HOLDER = """
import asyncio, os, subprocess, sys
from pathlib import Path
from core.engines.process import Writers

async def main():
    session = sys.stdin.readline().strip()
    hold = Writers(Path(sys.argv[1])).hold(sys.argv[2], sys.argv[4])
    busy = await hold.take(session, asyncio.Event(), print)
    nap = [sys.executable, "-c", "import sys; sys.stdin.read()", "--resume", session]
    marked = {**os.environ, "MOOT_RUN": sys.argv[4]}
    engine = subprocess.Popen(nap, stdin=subprocess.PIPE, env=marked)
    print("busy" if busy else "held", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    engine.stdin.close()
    engine.wait()
    hold.release()

asyncio.run(main())
"""


class Other:
    """That other Moot; the session's id goes by stdin, for it is not its own to have there."""

    def __init__(self, folder: Path, engine: str, session: str, run_id: str = "other") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(folder), engine, "-", run_id],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
        )  # fmt: skip
        assert self.process.stdin
        self.process.stdin.write(f"{session}\n")
        self.process.stdin.flush()

    def held(self) -> bool:
        assert self.process.stdout
        return self.process.stdout.readline().strip() == "held"

    def end(self, sig: int = 0) -> None:
        if sig:
            self.process.send_signal(sig)
        self.process.communicate(timeout=20)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Parlour]:
    async with parlour(tmp_path) as made:
        yield made


def name() -> str:
    return str(uuid.uuid4())


async def taken(writers: Writers, session: str, engine: str = "acme") -> Busy | None:
    hold = writers.hold(engine, "run")
    try:
        return await hold.take(session, asyncio.Event(), lambda _: None)
    finally:
        hold.release()


async def test_another_process_is_kept_out_until_it_is_done(tmp_path: Path) -> None:
    writers, session = Writers(tmp_path, wait_s=0), name()
    other = Other(tmp_path, "acme", session)
    assert await asyncio.to_thread(other.held)
    assert await taken(writers, session) == Busy("moot")
    assert await taken(writers, name()) is None  # another session
    assert await taken(writers, session, "other") is None  # another engine's of that name
    await asyncio.to_thread(other.end)
    assert await taken(writers, session) is None


async def test_kill_9_gives_the_session_back_at_once(tmp_path: Path) -> None:
    writers, session = Writers(tmp_path, wait_s=0), name()
    other = Other(tmp_path, "acme", session)
    assert await asyncio.to_thread(other.held)
    await asyncio.to_thread(other.end, signal.SIGKILL)
    assert await taken(writers, session) is None


async def test_a_run_that_outlived_its_moot_keeps_its_session(tmp_path: Path) -> None:
    writers, session, run_id = Writers(tmp_path, wait_s=0), name(), name()
    other = Other(tmp_path, "acme", session, run_id)
    assert await asyncio.to_thread(other.held)
    nap = [sys.executable, "-c", "import time; time.sleep(600)"]
    left = subprocess.Popen(nap, env={**os.environ, "MOOT_RUN": run_id})
    await asyncio.to_thread(other.end, signal.SIGKILL)
    assert await taken(writers, session) == Busy("moot")
    left.kill()
    left.wait()
    assert await taken(writers, session) is None


async def test_who_waits_gets_it_when_the_other_is_done(tmp_path: Path) -> None:
    writers, session = Writers(tmp_path, wait_s=30), name()
    first, second = writers.hold("acme", "one"), writers.hold("acme", "two")
    assert await first.take(session, asyncio.Event(), lambda _: None) is None
    waits: list[Busy] = []
    waiting = asyncio.create_task(second.take(session, asyncio.Event(), waits.append))
    while not waits:
        await asyncio.sleep(0.01)
    assert not waiting.done()
    first.release()
    assert await waiting is None
    second.release()
    assert waits == [Busy("moot")]


async def test_a_stop_ends_the_waiting(tmp_path: Path) -> None:
    writers, session, stop = Writers(tmp_path, wait_s=60), name(), asyncio.Event()
    first, second = writers.hold("acme", "one"), writers.hold("acme", "two")
    await first.take(session, asyncio.Event(), lambda _: None)
    async with asyncio.timeout(10):
        assert await second.take(session, stop, lambda _: stop.set()) is None
    second.release()
    first.release()


async def test_a_hold_that_is_released_while_it_takes_keeps_nothing(tmp_path: Path) -> None:
    writers = Writers(tmp_path, wait_s=0)
    for _ in range(20):
        session, hold = name(), writers.hold("acme", "one")
        taking = asyncio.create_task(hold.take(session, asyncio.Event(), lambda _: None))
        await asyncio.sleep(0)
        taking.cancel()
        hold.release()
        await asyncio.gather(taking, return_exceptions=True)
        async with asyncio.timeout(10):
            while await taken(writers, session) is not None:
                await asyncio.sleep(0.01)


async def test_a_child_does_not_inherit_the_lock(tmp_path: Path) -> None:
    writers, session = Writers(tmp_path, wait_s=0), name()
    hold = writers.hold("acme", "one")
    await hold.take(session, asyncio.Event(), lambda _: None)
    nap = [sys.executable, "-c", "import time; time.sleep(600)"]
    child = subprocess.Popen(nap, close_fds=False)
    try:
        hold.release()
        assert await taken(writers, session) is None
    finally:
        child.kill()
        child.wait()


async def test_a_folder_that_cannot_be_had_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert await taken(Writers(tmp_path / "file" / "locks"), name()) is None


async def test_old_files_go_and_those_in_use_stay(tmp_path: Path) -> None:
    writers = Writers(tmp_path, wait_s=0)
    old, used, new = name(), name(), name()
    for session in (old, new):
        await taken(writers, session)
    hold = writers.hold("acme", "one")
    await hold.take(used, asyncio.Event(), lambda _: None)
    past = time.time() - 2 * KEPT_S
    for session in (old, used):
        os.utime(writers.path("acme", session), (past, past))
    assert writers.used("acme", (old, used, new, name())) == {old, used, new}
    assert writers.prune(time.time()) == 1
    assert writers.used("acme", (old, used, new)) == {used, new}
    hold.release()


@pytest.mark.parametrize("form", ["{}", "--resume={}"])
async def test_a_program_that_was_started_with_the_id_is_a_terminal(
    tmp_path: Path, form: str
) -> None:
    session = name()
    words = [sys.executable, "-c", "import time; time.sleep(600)", form.format(session)]
    terminal = subprocess.Popen(words)
    async with asyncio.timeout(10):
        while not in_terminal(session):
            await asyncio.sleep(0.01)
    started = time.monotonic()
    assert await taken(Writers(tmp_path, wait_s=60), session) == Busy("terminal", terminal.pid)
    assert time.monotonic() - started < 10  # a terminal is not waited for
    terminal.kill()
    terminal.wait()
    assert in_terminal(session) == 0


async def test_a_terminal_that_is_open_leaves_the_session_to_whoever_comes_next(
    tmp_path: Path,
) -> None:
    session, writers = name(), Writers(tmp_path, wait_s=0)
    nap = [sys.executable, "-c", "import time; time.sleep(600)", session]
    terminal = subprocess.Popen(nap)
    hold = writers.hold("acme", "one")
    async with asyncio.timeout(10):
        while not await asyncio.to_thread(in_terminal, session):
            await asyncio.sleep(0.01)
    busy = await hold.take(session, asyncio.Event(), lambda _: None)
    assert busy == Busy("terminal", terminal.pid)
    terminal.kill()
    terminal.wait()
    assert await taken(writers, session) is None  # although the first hold was not released yet
    hold.release()


async def test_a_file_of_that_name_is_no_terminal() -> None:
    session = name()
    words = [sys.executable, "-c", "import time; time.sleep(600)", f"/x/{session}.jsonl"]
    editor = subprocess.Popen(words)
    assert in_terminal(session) == 0
    editor.kill()
    editor.wait()


# --- whole turns -----------------------------------------------------------------------------


async def lost_to_other(here: Parlour) -> Other:
    session = (await here.sessions())[0].session
    other = Other(here.house.writers.folder, "rehearsal", session)
    assert await asyncio.to_thread(other.held)
    return other


async def test_a_session_in_use_is_left_alone_and_the_next_question_goes_back_to_it(
    here: Parlour,
) -> None:
    here.house.writers.wait_s = 0.1
    await here.ask("one")
    other = await lost_to_other(here)
    assert await here.ask("two") == "done"
    await asyncio.to_thread(other.end)
    await here.ask("three")
    *_, two, three = here.actor.asked
    assert (two.resume, three.resume) == ("", (await here.sessions())[0].session)
    assert "# Platform rules" in two.context
    assert "# Platform rules" not in three.context
    assert "> two" in three.context  # asked elsewhere, so it is told here
    told = [text for text in await here.notices() if "session" in text]
    assert len(told) == 1
    assert "used by another run on this host" in told[0]
    [kept] = await here.sessions()
    assert (kept.state, kept.failures) == ("live", 0)
    first, second, third = await here.runs()
    assert first["session"] == third["session"] != second["session"]
    assert second["before"][0]["why"] == "in use"


async def test_a_short_use_is_waited_for_and_nothing_is_said(here: Parlour) -> None:
    await here.ask("one")
    other = await lost_to_other(here)
    asking = asyncio.create_task(here.ask("two"))
    while len(await here.runs()) < 2:
        await asyncio.sleep(0.01)
    assert (await here.runs())[1]["session"] == ""
    await asyncio.to_thread(other.end)
    assert await asking == "done"
    first, second = await here.runs()
    assert first["session"] == second["session"]
    assert await here.notices() == []


async def test_a_session_that_a_terminal_has_open_is_not_forked(here: Parlour) -> None:
    await here.ask("one")
    session = (await here.sessions())[0].session
    nap = [sys.executable, "-c", "import time; time.sleep(600)", session]
    terminal = subprocess.Popen(nap)
    while not await asyncio.to_thread(in_terminal, session):
        await asyncio.sleep(0.01)
    await here.ask("two")
    terminal.kill()
    terminal.wait()
    await here.ask("three")
    first, second, third = await here.runs()
    assert first["session"] == third["session"] == session != second["session"]
    assert "open in a terminal" in (await here.notices())[0]
    # What was done there may have compacted it, so it is told everything.
    assert "# Platform rules" in here.actor.asked[-1].context


async def test_a_follow_up_goes_on_where_its_question_was_answered(here: Parlour) -> None:
    here.house.writers.wait_s = 0.1
    await here.ask("one")
    other = await lost_to_other(here)
    await here.ask('two @@rehearse pull="messages: last 3"@@')
    await asyncio.to_thread(other.end)
    one, two, follow_up = await here.runs()
    assert one["session"] != two["session"] == follow_up["session"]
    await here.ask("three")
    assert (await here.runs())[-1]["session"] == one["session"]
