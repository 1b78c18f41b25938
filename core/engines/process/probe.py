"""Could an engine be used here? Found, version, signed in: cheaply, and without the network."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import aiohttp

from core.engines.process import tree
from core.engines.process.environment import child_environment
from core.model import EngineConfig, EngineInfo, HttpCall
from core.streams import redact, tail

VERSION_S = 15.0  # Gemini takes 2 to 3 s on a quiet machine
PING_S = 3.0
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?[\w.+-]*")
_MAX_READ = 1_000_000

ReadFile = Callable[[str], str]
"""The text of a file (``~`` is expanded), or "" when it cannot be read."""


class Probed(Protocol):
    """What ``probe`` asks of an engine beside the port."""

    @property
    def name(self) -> str: ...

    @property
    def env_names(self) -> tuple[str, ...]: ...

    @property
    def config(self) -> EngineConfig: ...

    @property
    def programs(self) -> tuple[str, ...]:
        """The program's usual names; none for an engine behind HTTP or one of our own."""
        ...

    def signed_in(self, environ: Mapping[str, str], read: ReadFile) -> bool | None:
        """Whether keys or a login are there; ``None`` when that cannot be told."""
        ...

    def ping(self, environ: Mapping[str, str]) -> HttpCall | None:
        """A cheap request that shows a model API to be up, or ``None`` for a CLI."""
        ...

    def pinged(self, body: bytes) -> tuple[bool, str]:
        """Judge the answer to ``ping``: usable or not, and a word about it."""
        ...


async def probe(engine: Probed, environ: Mapping[str, str] | None = None) -> EngineInfo:
    """Look whether ``engine`` could be used: takes at most about 15 seconds, never raises."""
    environ = os.environ if environ is None else environ
    request = engine.ping(environ)
    if request is not None:
        return await _ping(engine, request)
    signed_in = await asyncio.to_thread(engine.signed_in, environ, _reader(environ))
    if not engine.programs:
        return EngineInfo(engine.name, installed=True, version="", signed_in=signed_in, path="")
    path = await asyncio.to_thread(find, engine, environ)
    if path is None:
        wanted = engine.config.path or " or ".join(engine.programs)
        detail = f"{wanted} was not found"
        return EngineInfo(engine.name, False, "", signed_in, engine.config.path, detail)
    env = child_environment(environ, engine.env_names, {}, f"probe-{engine.name}-{os.getpid()}")
    ok, said = await _version(path, env)
    version = _VERSION.search(said)
    if not ok or version is None:
        return EngineInfo(engine.name, False, "", signed_in, path, redact(tail(said, 200)))
    return EngineInfo(engine.name, True, version[0], signed_in, path)


def find(engine: Probed, environ: Mapping[str, str]) -> str | None:
    """The absolute path of the engine's program, or ``None``."""
    names = (engine.config.path,) if engine.config.path else engine.programs
    for name in names:
        wanted = str(Path(name).expanduser()) if "/" in name else name
        found = shutil.which(wanted, path=environ.get("PATH", os.defpath))
        if found:
            return str(Path(found).absolute())
    return None


def _reader(environ: Mapping[str, str]) -> ReadFile:
    home = environ.get("HOME") or str(Path.home())

    def read(path: str) -> str:
        full = Path(home, path[2:]) if path.startswith("~/") else Path(path)
        try:
            with full.open("rb") as file:
                return file.read(_MAX_READ).decode("utf-8", "replace")
        except OSError:
            return ""

    return read


async def _version(path: str, env: dict[str, str]) -> tuple[bool, str]:
    """Run ``path --version``; whether it worked, and what it said."""
    try:
        process = await asyncio.create_subprocess_exec(
            path,
            "--version",
            env=env,
            cwd="/",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return False, f"{path} cannot be started: {error.strerror or error}"
    try:
        async with asyncio.timeout(VERSION_S):
            out, _ = await process.communicate()
    except TimeoutError:
        return False, f"`{path} --version` did not answer within {VERSION_S:.0f} s"
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await asyncio.to_thread(tree.sweep, env["MOOT_RUN"], grace_s=0.0)
            await process.communicate()
    return process.returncode == 0, out.decode("utf-8", "replace")


async def _ping(engine: Probed, request: HttpCall) -> EngineInfo:
    timeout = aiohttp.ClientTimeout(total=PING_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request(request.method, request.url, allow_redirects=False) as response,
        ):
            body = await response.content.read(_MAX_READ)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        detail = f"no answer from {request.url}: {redact(tail(str(error) or 'timed out', 120))}"
        return EngineInfo(engine.name, False, "", None, request.url, detail)
    ok, detail = engine.pinged(body)
    return EngineInfo(engine.name, True, "", ok, request.url, detail)
