"""Could an engine be used here? Found, version, signed in: cheaply, and without the network."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import aiohttp

from core.engines.process import tree
from core.engines.process.environment import child_environment
from core.engines.process.http import why_unreachable
from core.model import EngineConfig, EngineInfo, HttpCall
from core.ports import kind_of
from core.streams import redact, tail
from core.streams.cuts import MAX_ERROR_CHARS

VERSION_S = 15.0  # Gemini takes 2 to 3 s on a quiet machine
PING_S = 3.0
LATE = "did not answer within"
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?[\w.+-]*")
_MAX_READ = 1_000_000

ReadFile = Callable[[str], str]
"""The text of a file (``~`` is expanded), or "" when it cannot be read."""


Ping = Callable[[Mapping[str, str]], tuple[HttpCall, Callable[[bytes], tuple[bool, str]]]]
"""A cheap request, and the judge of its answer: usable or not, and a word about it."""


class Probed(Protocol):
    """What ``probe`` asks of an engine beside the port."""

    @property
    def name(self) -> str:
        """As in ``core.ports.Engine``."""
        ...

    @property
    def env_names(self) -> tuple[str, ...]:
        """As in ``core.ports.Engine``."""
        ...

    @property
    def config(self) -> EngineConfig:
        """How the engine is set up."""
        ...

    @property
    def programs(self) -> tuple[str, ...]:
        """The program's usual names; none for an engine behind HTTP or one of our own."""
        ...

    def signed_in(self, environ: Mapping[str, str], read: ReadFile) -> bool | None:
        """Whether keys or a login are there; ``None`` when that cannot be told."""
        ...

    @property
    def ping(self) -> Ping | None:
        """How a model API is asked whether it is up; ``None`` for a CLI."""
        ...


def could_run(engine: Any, environ: Mapping[str, str]) -> bool:
    """Whether a CLI is there and not known to be signed out, without starting it; blocks shortly.

    False for what is no CLI (a model's API, the rehearsal): that takes more than a look.
    """
    if not getattr(engine, "programs", ()) or find(engine, environ) is None:
        return False
    return engine.signed_in(environ, _reader(environ)) is True


async def probe(engine: Probed, environ: Mapping[str, str] | None = None) -> EngineInfo:
    """Look whether ``engine`` could be used: takes at most about 15 seconds, never raises."""
    kind = kind_of(engine)
    info = await _probe(engine, os.environ if environ is None else environ)
    return info if kind == engine.name else replace(info, kind=kind)


async def _probe(engine: Probed, environ: Mapping[str, str]) -> EngineInfo:
    if engine.ping is not None:
        return await _ping(engine.name, *engine.ping(environ))
    signed_in = await asyncio.to_thread(engine.signed_in, environ, _reader(environ))
    path = await asyncio.to_thread(find, engine, environ) if engine.programs else ""
    info = EngineInfo(engine.name, installed=True, version="", signed_in=signed_in, path=path or "")
    if path is None:
        wanted = engine.config.path or " or ".join(engine.programs)
        return replace(info, installed=False, detail=f"{wanted} was not found")
    if not path:
        return info
    env = child_environment(environ, engine.env_names, {}, f"probe-{engine.name}-{os.getpid()}")
    ok, said = await _version(path, env)
    version = _VERSION.search(said)
    if not ok or version is None:
        return replace(info, installed=False, detail=tail(redact(tail(said, MAX_ERROR_CHARS)), 200))
    return replace(info, version=version[0])


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
        why = f"{path} cannot be started: {error.strerror or error}"
        if error.errno == errno.ENOEXEC:  # what npm leaves that may not run its scripts
            why += "; install it again, with its scripts (no --ignore-scripts)"
        return False, why
    try:
        async with asyncio.timeout(VERSION_S):
            out, _ = await process.communicate()
    except TimeoutError:
        return False, f"`{path} --version` {LATE} {VERSION_S:.0f} s; is this host busy?"
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await asyncio.to_thread(tree.sweep, env["MOOT_RUN"], grace_s=0.0)
            await process.communicate()
    return process.returncode == 0, out.decode("utf-8", "replace")


async def _ping(
    name: str, request: HttpCall, judge: Callable[[bytes], tuple[bool, str]]
) -> EngineInfo:
    timeout = aiohttp.ClientTimeout(total=PING_S)
    info = EngineInfo(name, installed=False, version="", signed_in=None, path=request.url)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request(request.method, request.url, allow_redirects=False) as response,
        ):
            body = await response.read()
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        why = tail(redact(why_unreachable(error)), 120)
        return replace(info, detail=f"no answer from {request.url}: {why}")
    usable, detail = judge(body)
    return replace(info, installed=True, signed_in=usable, detail=detail)
