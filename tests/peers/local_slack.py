"""Finds and runs ``local-slack``, a loopback Slack published on npm (MIT, one binary).

It stands in for Slack's own store of messages, users and channels and for the wording of its
events; what it leaves out (retries, metadata, limits, faults) is in ``slack_front``.
It listens on all interfaces, so it belongs in tests only.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 20.0


def locate() -> Path | None:
    """The binary for this machine, from the folder ``make clis`` fills; ``None`` if absent."""
    system = {"linux": "linux", "darwin": "darwin"}.get(sys.platform, sys.platform)
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(
        platform.machine().lower(), platform.machine().lower()
    )
    found = ROOT / f".cache/clis/node_modules/local-slack-{system}-{machine}/bin/local-slack"
    return found if found.is_file() else None


def need() -> Path:
    """The binary, or the end of this test: skipped, and failed where CLIs are required."""
    found = locate()
    if found is None:
        why = "local-slack is not installed; `make clis` fetches it (needs npm)"
        if os.environ.get("MOOT_REQUIRE_CLIS") == "1":
            pytest.fail(why)
        pytest.skip(why)
    return found


class LocalSlack:
    """The running binary. ``url`` is its base, without a trailing slash."""

    def __init__(self, workspace: dict[str, Any]) -> None:
        self.url = ""
        self._workspace = workspace
        self._process: asyncio.subprocess.Process | None = None
        self._drain: asyncio.Task[None] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    async def start(self) -> None:
        """Start it; whatever ends this (a failure, a cancelled test) leaves nothing behind."""
        binary = need()
        try:
            await self._start(binary)
        except BaseException:
            await self.stop()
            raise

    async def _start(self, binary: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="local-slack-")
        folder = Path(self._folder.name)
        config = folder / "workspace.json"
        config.write_text(json.dumps(self._workspace), encoding="utf-8")
        self._process = await asyncio.create_subprocess_exec(
            str(binary),
            *("--config", str(config), "--port", "0", "--base-host", "127.0.0.1"),
            *("--files-dir", str(folder / "files")),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert self._process.stdout is not None
        said: list[str] = []
        async with asyncio.timeout(START_TIMEOUT_S):
            while line := await self._process.stdout.readline():
                said.append(line.decode("utf-8", "replace"))
                if found := re.search(r"(http://127\.0\.0\.1:\d+)/_control", said[-1]):
                    self.url = found[1]
                    break
        if not self.url:
            raise RuntimeError(f"local-slack did not start: {''.join(said)}")
        self._drain = asyncio.create_task(self._read_on(self._process.stdout))

    async def _read_on(self, stream: asyncio.StreamReader) -> None:
        while await stream.read(65536):
            pass

    async def stop(self) -> None:
        try:
            if self._process is not None:
                if self._process.returncode is None:
                    self._process.kill()
                await self._process.wait()
            if self._drain is not None:
                await self._drain
        finally:
            if self._folder is not None:
                self._folder.cleanup()
