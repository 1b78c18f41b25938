"""``moot try`` as a person meets it: a process in a terminal, keys in, a screen out."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import signal
import struct
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import regex

from tests.e2e.product import MOOT, base_env

_ESCAPES = regex.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]"
)
ROWS, COLUMNS = 40, 110
DEADLINE_S = 40.0


class Terminal:
    """A pseudo-terminal with ``moot try`` in it; ``seen`` is all it ever drew, without codes."""

    def __init__(self, master: int, process: asyncio.subprocess.Process) -> None:
        self._master = master
        self.process = process
        self.raw = b""
        self._news = asyncio.Event()
        asyncio.get_running_loop().add_reader(master, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # the other end is closed
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._master)
        self.raw += data
        self._news.set()

    @property
    def seen(self) -> str:
        return _ESCAPES.sub("", self.raw.decode(errors="replace"))

    async def sees(self, text: str, after: int = 0) -> None:
        try:
            await self.until(lambda: text in self.seen[after:])
        except TimeoutError:
            raise AssertionError(f"{text!r} was not drawn; the end:\n{self.seen[-3000:]}") from None

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not true():
                self._news.clear()
                await self._news.wait()

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    async def ended(self) -> int:
        async with asyncio.timeout(DEADLINE_S):
            return await self.process.wait()


@asynccontextmanager
async def trying(
    folder: Path, engines: str = 'default = "rehearsal"', **env: str
) -> AsyncIterator[Terminal]:
    """``moot try`` in a terminal of its own; killed at the end if it still runs."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    config = folder / "moot.toml"
    config.write_text(
        f'[storage]\ndir = "{folder}/data"\n[log]\nlevel = "debug"\n[engines]\n{engines}\n'
    )
    process = await asyncio.create_subprocess_exec(
        str(MOOT),
        "try",
        "--config",
        str(config),
        env={**base_env(home), "TERM": "xterm-256color", "COLORTERM": "truecolor", **env},
        cwd=folder,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    terminal = Terminal(master, process)
    try:
        yield terminal
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        asyncio.get_running_loop().remove_reader(master)
        os.close(master)


async def test_a_question_is_asked_answered_and_the_terminal_given_back(tmp_path):
    async with trying(tmp_path) as terminal:
        await terminal.sees("Ask something")
        await terminal.sees("rehearsal answers here")
        terminal.type("왜 하늘은 파란가요?\r")
        await terminal.sees("Reply in this thread")
        await terminal.sees("there is no model behind it")
        terminal.type("\x11")  # Ctrl+Q
        assert await terminal.ended() == 0
        await terminal.until(lambda: b"\x1b[?1049l" in terminal.raw)
        assert b"\x1b[?25h" in terminal.raw  # the cursor is back
        assert "event.accepted" not in terminal.seen  # the log is in a file
    log = [json.loads(line) for line in (tmp_path / "data/console.log").read_text().splitlines()]
    assert any(entry["event"] == "ready" for entry in log)
    assert "하늘" not in json.dumps(log, ensure_ascii=False)


async def test_without_any_agent_it_says_what_to_look_at(tmp_path):
    ollama = {"OLLAMA_HOST": "http://127.0.0.1:9"}
    async with trying(tmp_path, "", PATH="/nowhere", **ollama) as terminal:
        await terminal.sees("No coding agent was found")
        # Where it is not on the PATH, the command is shown as it was called.
        await terminal.until(lambda: "bin/moot" in regex.sub(r"[\s▌]", "", terminal.seen))


async def test_the_room_says_where_the_engine_works(tmp_path):
    async with trying(tmp_path, 'default = "claude"') as terminal:
        await terminal.sees("claude answers here")
        await terminal.sees("[projects.mine]")
    project = f'[projects.x]\npath = "{tmp_path}"\nchannels = ["console:general"]'
    project += '\npermission = "full"'
    async with trying(tmp_path, f'default = "claude"\n{project}') as terminal:
        await terminal.sees("🔒")
        await terminal.sees("full")


async def test_after_kill_9_the_thread_is_there_and_its_question_is_answered(tmp_path):
    async with trying(tmp_path) as terminal:
        await terminal.sees("Ask something")
        terminal.type("survive this\r")
        await terminal.sees("there is no model behind it")
        answered = len(terminal.seen)
        terminal.type('second one @@rehearse sleep=5 text="back again"@@\r')
        await terminal.sees("rehearsal is working", answered)
        terminal.process.send_signal(signal.SIGKILL)
        await terminal.ended()
    async with trying(tmp_path) as terminal:
        await terminal.sees("Ask something")
        await terminal.sees("survive this")
        terminal.type("\x1b[1;5B")  # Ctrl+Down: the thread
        await terminal.sees("Reply in this thread")
        await terminal.until(lambda: terminal.seen.count("back again") >= 2)  # asked, answered
        terminal.process.terminate()
        assert await terminal.ended() == 0
        await terminal.until(lambda: b"\x1b[?1049l" in terminal.raw)


async def once(tmp_path: Path, question: str, **env: str) -> asyncio.subprocess.Process:
    config = tmp_path / "moot.toml"
    config.write_text(f'[storage]\ndir = "{tmp_path}/data"\n[engines]\ndefault = "rehearsal"\n')
    return await asyncio.create_subprocess_exec(
        str(MOOT),
        "try",
        "--config",
        str(config),
        "--once",
        question,
        env=base_env(tmp_path) | env,
        cwd=tmp_path,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_once_interrupted_takes_the_question_back(tmp_path):
    process = await once(tmp_path, "long @@rehearse hang@@")
    room = tmp_path / "data/console/room.jsonl"
    async with asyncio.timeout(DEADLINE_S):
        while not (room.exists() and "is working" in room.read_text()):
            await asyncio.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert process.returncode == 130
    assert (out, b"Traceback" in err) == (b"", False)
    # It would be waited for here if it were gone on with; it never ends.
    process = await once(tmp_path, "short")
    async with asyncio.timeout(DEADLINE_S):
        out, _ = await process.communicate()
    assert "> short" in out.decode()
    assert "Stopped by" in room.read_text()


async def test_once_in_a_script(tmp_path):
    question = 'hello\n@@rehearse text="**an** answer\\n\\n- one" pull="memory: hello"@@'
    process = await once(tmp_path, question)
    async with asyncio.timeout(DEADLINE_S):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    text = out.decode()
    assert text.count("rehearsal: **an** answer\n\n- one\n") == 1
    assert text.count("rehearsal: This is the rehearsal engine") == 1  # its follow-up
    assert "Moot: 🔎 memory: “hello” · " in text
    assert "working" not in text
    assert "<!--" not in text


async def test_once_after_once_remembers_by_meaning_and_recalls(tmp_path):
    async def out_of(question: str) -> str:
        process = await once(
            tmp_path, question, MOOT__CONTEXT__DELIVERY="push", MOOT__CONTEXT__MODE="standard"
        )
        async with asyncio.timeout(DEADLINE_S):
            out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        return out.decode()

    await out_of("@@rehearse text=Noted.@@ The login token runs out after 24 hours")
    told = await out_of("@@rehearse show=context@@ 로그인 세션은 언제 끊기나요?")  # no word of it
    assert "runs out after 24 hours" in told
    for typed in ("/recall 로그인 세션은 언제 끊기나요?", "!recall when am I signed out?"):
        found = await out_of(typed)
        assert "runs out after 24 hours" in found
        assert "#1" in found
        assert "press the button" not in found
