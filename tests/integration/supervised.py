"""Engines that are a few lines of Python, and a stage to run them on under the real supervisor."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import uuid
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from core.engines.process import run
from core.engines.process.tree import marked
from core.model import (
    EngineEvent,
    EngineRequest,
    EngineTask,
    EngineTraits,
    Limits,
    Outcome,
    Spawn,
    Usage,
    Verdict,
)
from core.streams import LineReader, get, int_of, text_of

SAY = (
    "import json, os, signal, subprocess, sys, time\n"
    "def say(**d): print(json.dumps(d), flush=True)\n"
)
HEAR = "def hear(): return json.loads(sys.stdin.readline() or 'null')\n"
NAP = "[sys.executable, '-I', '-S', '-c', 'import time; time.sleep(600)']"
ANSWER = "say(type='session', id='s1'); say(type='text', text='A'); say(type='end')\n"


class ScriptReader(LineReader):
    def __init__(self) -> None:
        super().__init__()
        self.handlers = {
            "session": lambda d: self.started(text_of(d, "id")),
            "delta": lambda d: self.delta(text_of(d, "text")),
            "text": lambda d: self.message(text_of(d, "text")),
            "end": lambda d: self.close(ok=get(d, "ok") is not False),
            "usage": lambda d: setattr(self, "usage", Usage(int_of(d, "in"), int_of(d, "out"))),
        }


class Script:
    """An engine whose program is a few lines of Python, told as a string."""

    name = "script"
    traits = EngineTraits()

    def __init__(
        self,
        code: str,
        *,
        argv: tuple[str, ...] = (),
        env_names: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        self.argv = argv or (sys.executable, "-I", "-S", "-c", SAY + code)
        self.env_names, self.env, self.files = env_names, dict(env or {}), dict(files or {})

    def start(self, task: EngineTask) -> Spawn:
        return Spawn(self.argv, task.cwd, task.prompt.encode(), self.env, self.files)

    def reader(self, task: EngineTask) -> LineReader:
        return ScriptReader()


class TalkReader(ScriptReader):
    """Says ``first``, then a JSON line for every verdict on a request that is open."""

    def __init__(self, first: bytes) -> None:
        super().__init__()
        self._to_send = first
        self._open: set[str] = set()
        self.handlers |= {
            "ask": lambda d: self.ask(text_of(d, "id")),
            "withdraw": lambda d: self.withdraw(text_of(d, "id")),
        }

    def ask(self, request_id: str) -> None:
        self._open.add(request_id)
        self._events.append(EngineEvent("request", request=EngineRequest(request_id)))

    def withdraw(self, request_id: str) -> None:
        self._open.discard(request_id)
        self.emit("withdrawn", id=request_id)

    def decide(self, verdict: Verdict) -> None:
        if verdict.request_id in self._open:
            self._open.discard(verdict.request_id)
            said = {"id": verdict.request_id, "choice": verdict.choice}
            self._to_send += json.dumps(said).encode() + b"\n"

    def to_send(self) -> bytes:
        out, self._to_send = self._to_send, b""
        return out


class Talk(Script):
    """An engine that is talked to: its prompt is a line, and its input stays open."""

    def __init__(self, code: str, *, first: bytes = b"") -> None:
        super().__init__(HEAR + code)
        self._first = first

    def start(self, task: EngineTask) -> Spawn:
        return Spawn(self.argv, task.cwd, dialogue=True)

    def reader(self, task: EngineTask) -> LineReader:
        return TalkReader(self._first)


PATIENT = Limits(30, 60)


class Stage:
    """Where a run happens: a folder, the events seen, the child told of, and a way to stop it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events: list[EngineEvent] = []
        self.spawned: list[tuple[int, float]] = []
        self.cancel = asyncio.Event()
        self.verdicts: asyncio.Queue[Verdict] = asyncio.Queue()
        self.seen = asyncio.Event()
        self.run_id = str(uuid.uuid4())
        self.on_event: Callable[[EngineEvent], None] = self._on_event
        self.gate: Callable[[], Awaitable[None]] | None = None
        self.starts = 0

    def _on_event(self, event: EngineEvent) -> None:
        self.events.append(event)
        self.seen.set()

    async def on_spawn(self, pid: int, started: float) -> None:
        self.spawned.append((pid, started))

    async def run(
        self,
        engine: Script,
        prompt: str = "hello",
        *,
        cwd: str = "",
        limits: Limits = PATIENT,
        env: Mapping[str, str] | None = None,
    ) -> Outcome:
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        task = EngineTask(self.run_id, "", prompt, cwd or str(self.folder), str(scratch))
        return await run(
            engine, task, on_event=self.on_event, on_spawn=self.on_spawn, limits=limits,
            cancel=self.cancel, base_env={**os.environ, **(env or {})}, gate=self.gate,
            on_start=self._on_start, verdicts=self.verdicts,
        )  # fmt: skip

    def _on_start(self) -> None:
        self.starts += 1

    async def until(self, kind: str, text: str = "", count: int = 1) -> None:
        """Wait for so many events of a kind (and text), at most 20 seconds."""
        async with asyncio.timeout(20):
            while [e.kind == kind and text in e.text for e in self.events].count(True) < count:
                self.seen.clear()
                await self.seen.wait()

    def left(self) -> list[int]:
        return marked(self.run_id)
