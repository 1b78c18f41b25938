"""One engine of the contract tests, set up to work: ask it and look at what became of it."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil

from core.engines.process import run
from core.engines.process.tree import marked
from core.model import (
    EngineConfig,
    EngineEvent,
    EngineRequest,
    EngineTask,
    Limits,
    Outcome,
    Verdict,
)
from tests.peers.homes import MODELS, Homes
from tests.peers.models import FakeModels

CLIS = ("claude", "codex", "gemini", "opencode")
ENGINES = (*CLIS, "ollama")
PATIENT = Limits(idle_s=120, total_s=240)


@dataclass
class Desk:
    """One engine set up to work: ask it something and look at what became of it.

    ``decide`` says what people would say to what it asks them (``None``: nothing, they are away);
    ``environ`` is what the last process had.
    """

    name: str
    homes: Homes
    models: FakeModels
    folder: Path
    cancel: asyncio.Event = field(default_factory=asyncio.Event)
    events: list[EngineEvent] = field(default_factory=list)
    run_id: str = ""
    environ: dict[str, str] = field(default_factory=dict)
    decide: Callable[[EngineRequest], Verdict | None] = lambda _: None

    @property
    def requests(self) -> list[EngineRequest]:
        """What it has asked people for, in order."""
        return [e.request for e in self.events if e.request is not None]

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def engine(self, **settings: Any) -> Any:
        env = ("FAKE_API_KEY",) if self.name == "codex" else ()
        url = self.models.url if self.name == "ollama" else ""
        config = EngineConfig(base_url=url, env=env, model=MODELS[self.name], **settings)
        return import_module(f"core.engines.{self.name}").ENGINE(config)

    async def ask(
        self,
        prompt: str,
        *,
        limits: Limits = PATIENT,
        env: dict[str, str] | None = None,
        attached: Mapping[str, bytes] | None = None,
        **rest: Any,
    ) -> Outcome:
        """Ask; ``attached`` files are in the run's folder, which ``@FILES`` stands for.

        ``@OUT`` stands for the folder for files for people, which is there only then.
        """
        self.run_id = str(uuid.uuid4())
        scratch = self.folder / self.run_id
        scratch.mkdir()
        if attached:
            (scratch / "attachments").mkdir()
            for name, data in attached.items():
                (scratch / "attachments" / name).write_bytes(data)
            rest["files"] = tuple(str(scratch / "attachments" / name) for name in attached)
            prompt = prompt.replace("@FILES", str(scratch / "attachments"))
        if "@OUT" in prompt:
            rest["out"] = str(scratch / "out")
            prompt = prompt.replace("@OUT", rest["out"])
        fields = {"context": "You are being tested.", **rest}
        task = EngineTask(
            run_id=self.run_id, prompt=prompt, cwd=str(self.project), scratch=str(scratch), **fields
        )

        async def on_spawn(pid: int, started: float) -> None:
            assert pid > 1
            assert started > 0
            until = asyncio.get_running_loop().time() + 10
            while not self.environ and asyncio.get_running_loop().time() < until:
                self.environ = psutil.Process(pid).environ()  # empty while it becomes the program
                await asyncio.sleep(0.005)

        verdicts: asyncio.Queue[Verdict] = asyncio.Queue()

        def on_event(event: EngineEvent) -> None:
            self.events.append(event)
            if event.request is not None and (verdict := self.decide(event.request)) is not None:
                verdicts.put_nowait(verdict)

        self.events.clear()
        self.environ = {}
        outcome = await run(
            self.engine(),
            task,
            on_event=on_event,
            on_spawn=on_spawn,
            limits=limits,
            cancel=self.cancel,
            verdicts=verdicts,
            base_env={**self.homes.env(self.name), **(env or {})},
        )
        assert marked(self.run_id) == []
        return outcome

    def bodies(self) -> str:
        """All that the model server was sent in this test."""
        return json.dumps([seen.body for seen in self.models.seen], ensure_ascii=False)
