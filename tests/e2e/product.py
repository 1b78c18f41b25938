"""The whole product as a separate process, started as a user starts it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import tomlkit

MOOT = Path(sys.executable).with_name("moot")
START_DEADLINE_S = 40.0


def base_env(home: Path) -> dict[str, str]:
    """An environment of its own: no settings of the machine's user, no tokens."""
    keep = ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "IS_SANDBOX")
    env = {name: os.environ[name] for name in keep if name in os.environ}
    env |= {"HOME": str(home), "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1"}
    # Who acts in a test does so faster than people do.
    often = ("PER_MINUTE", "PER_HOUR", "ACTS_PER_MINUTE")
    return {**env, **{f"MOOT__ACCESS__{one}": "0" for one in often}}


class Product:
    """``moot run`` with a settings file; its log is read line by line.

    ``launcher`` replaces the program (the crash test starts it with a kill switch). Memory finds by
    words alone unless the settings say otherwise or it is to be as shipped (``by_meaning``): each
    process would load a model and Chroma.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Any],
        env: Mapping[str, str],
        *,
        launcher: tuple[str, ...] = (str(MOOT),),
        by_meaning: bool = False,
    ) -> None:
        self.folder = folder
        self.config = folder / "moot.toml"
        self.home = folder / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        storage = {"storage": {"dir": str(folder / "data")}, "log": {"level": "debug"}}
        words_alone = {} if by_meaning else {"embedder": "none", "chroma": "off"}
        memory = {"memory": {**words_alone, **settings.get("memory", {})}}
        self.config.write_text(tomlkit.dumps({**storage, **settings, **memory}))
        tomllib.loads(self.config.read_text())
        self.env = {**base_env(self.home), **env}
        self.launcher = launcher
        self.events: list[dict[str, Any]] = []
        self.lines: list[str] = []
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()
        if value is not None:
            print("--- the product's log ---", *self.lines[-60:], sep="\n")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self, *adapters: str) -> None:
        """Start and wait until each adapter can receive."""
        self.events.clear()
        self._process = await asyncio.create_subprocess_exec(
            *self.launcher,
            "run",
            "--config",
            str(self.config),
            env=self.env,
            cwd=self.folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            limit=2**20,
        )
        self._reader = asyncio.create_task(self._read())
        for adapter in adapters:
            await self.event("ready", START_DEADLINE_S, adapter=adapter)

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        async for raw in self._process.stderr:
            line = raw.decode(errors="replace").rstrip()
            self.lines.append(line)
            try:
                self.events.append(json.loads(line))
            except ValueError:
                continue
            finally:
                async with self._changed:
                    self._changed.notify_all()
        await self._process.wait()
        async with self._changed:
            self._changed.notify_all()

    def logged(self, name: str, **values: Any) -> list[dict[str, Any]]:
        """Log events of this life with that name and those values."""
        return [
            event
            for event in self.events
            if event.get("event") == name and all(event.get(k) == v for k, v in values.items())
        ]

    async def event(self, name: str, timeout_s: float = 90.0, **values: Any) -> dict[str, Any]:
        """Wait for a log event."""
        async with asyncio.timeout(timeout_s), self._changed:
            while not (found := self.logged(name, **values)):
                if self._process is not None and self._process.returncode is not None:
                    raise AssertionError("\n".join(["the product ended:", *self.lines[-30:]]))
                await self._changed.wait()
        return found[0]

    async def command(self, *words: str) -> str:
        """What another command of Moot prints beside the running one."""
        beside = await asyncio.create_subprocess_exec(
            str(MOOT), *words, "--config", str(self.config),
            env=self.env, cwd=self.folder, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, _ = await beside.communicate()
        assert beside.returncode == 0, out
        return out.decode()

    async def kill(self) -> None:
        """kill -9, and nothing else: its children stay."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
        await self.ended()

    async def ended(self, timeout_s: float = 90.0) -> int:
        """Wait for the end of the process; its exit status."""
        assert self._process is not None
        assert self._reader is not None
        async with asyncio.timeout(timeout_s):
            await asyncio.shield(self._reader)  # a late end must not end the reading
            return await self._process.wait()

    async def stop(self) -> int:
        """SIGTERM, as a service manager does."""
        if self._process is None:
            return 0
        if self._process.returncode is None:
            self._process.terminate()
        try:
            return await self.ended()
        except TimeoutError:
            self._process.kill()
            await self.ended()
            raise
