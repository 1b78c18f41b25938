"""Engines whose answers are a script: all of Moot is real, only nobody thinks.

Each stands before a shipped engine and is loaded like an engine of one's own
(``[engines.claude] use = "benchmarks.players:CLAUDE"``). The shipped engine says what its CLI would
be given: a file with a system prompt, the text on stdin. That goes to a loopback server in this
process, which keeps it and answers by the script.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from core.context.tokens import estimate_tokens
from core.engines.claude import Claude
from core.engines.codex import Codex
from core.engines.opencode import OpenCode
from core.model import EngineConfig, EngineTask, HttpCall, Spawn, Usage
from core.streams import JsonObject, LineReader, int_of, joined_prompt, text_of

FORGETFUL = "forgetful"
"""In ``args``: the engine keeps no sessions, so every call gets everything (full delivery)."""


@dataclass
class Call:
    """One call of one engine: what its CLI was sent, and what it came to.

    ``system`` and ``stdin`` are what the CLI gets; ``context`` and ``prompt`` what its engine was
    handed, from which they are made.
    """

    engine: str
    session: str
    resumed: bool
    context: str
    prompt: str
    system: str
    stdin: str
    answer: str = ""
    pulled: list[str] = field(default_factory=list)
    """What Pulls in the run brought, as the tool gave it."""
    access: Mapping[str, str] = field(default_factory=dict)

    @property
    def chars(self) -> int:
        """Characters sent, what Pulls in the run brought included."""
        return len(self.system) + len(self.stdin) + sum(map(len, self.pulled))

    @property
    def tokens(self) -> int:
        """The same in estimated tokens."""
        return sum(map(estimate_tokens, (self.system, self.stdin, *self.pulled)))


Script = Callable[[Call], Awaitable[str]]
"""What an engine answers; it may Pull in the run first (and then fills ``Call.pulled``)."""


class Player:
    """The engine; see ``core.ports.Engine``."""

    programs: tuple[str, ...] = ()
    env_names: tuple[str, ...] = ()

    def __init__(self, shipped: type[Any], config: EngineConfig) -> None:
        self.name = shipped.name
        self.config = config
        self._engine = shipped(EngineConfig())
        self.traits = replace(shipped.traits, resumes=FORGETFUL not in config.args)

    def start(self, task: EngineTask) -> HttpCall:
        """See ``core.ports.Engine``."""
        plan: Spawn = self._engine.start(task)
        access = {"url": task.pulls.url, "token": task.pulls.token} if task.pulls else {}
        body = {
            "engine": self.name,
            "resume": task.resume,
            "context": task.context,
            "prompt": task.prompt,
            "system": plan.files.get("context.md", b"").decode(),
            "stdin": words(plan, task),
            "access": access,
        }
        return HttpCall("POST", self.config.base_url, json.dumps(body).encode())

    def reader(self, task: EngineTask) -> PlayerReader:
        """See ``core.ports.Engine``."""
        del task
        return PlayerReader()


def words(plan: Spawn, task: EngineTask) -> str:
    """What is asked on stdin, beside a file with the context; in a dialogue without its JSON."""
    if not plan.dialogue:
        return plan.stdin.decode()
    return joined_prompt("" if "context.md" in plan.files else task.context, task.prompt).decode()


class PlayerReader(LineReader):
    """See ``core.ports.Reader``."""

    def __init__(self) -> None:
        super().__init__()
        self.handlers = {"begun": self._begun, "answer": self._answer}

    def _begun(self, d: JsonObject) -> None:
        self.started(text_of(d, "session"))

    def _answer(self, d: JsonObject) -> None:
        self.usage = Usage(int_of(d, "tokens"), max(1, len(text_of(d, "text")) // 4))
        self.message(text_of(d, "text"))
        self.close(ok=True)


CLAUDE = partial(Player, Claude)
CODEX = partial(Player, Codex)
OPENCODE = partial(Player, OpenCode)


class Theatre:
    """The loopback server; ``calls`` are all that came, in order."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.calls: list[Call] = []
        self.url = ""
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/", self._play)
        self._runner = web.AppRunner(app)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._runner.cleanup()

    async def _play(self, request: web.Request) -> web.Response:
        asked: dict[str, Any] = await request.json()
        call = Call(
            engine=asked["engine"],
            session=asked["resume"] or uuid.uuid4().hex,
            resumed=bool(asked["resume"]),
            context=asked["context"],
            prompt=asked["prompt"],
            system=asked["system"],
            stdin=asked["stdin"],
            access=asked["access"],
        )
        self.calls.append(call)
        call.answer = await self.script(call)
        lines = (
            {"type": "begun", "session": call.session},
            {"type": "answer", "text": call.answer, "tokens": call.tokens},
        )
        return web.Response(text="".join(f"{json.dumps(line)}\n" for line in lines))
