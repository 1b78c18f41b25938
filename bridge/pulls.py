"""The server for Pulls while a run works: opened with Moot, and nothing that must not fail."""

from __future__ import annotations

import asyncio
import importlib
import socket
from collections.abc import Mapping
from typing import Any

import structlog

from core.model import Check, PullAccess
from core.ports import AnswerPull

log = structlog.get_logger()

_FIX = "Set [pull] in_run = false if this machine gives no port on 127.0.0.1; markers remain."


class Pulls:
    """See ``core.ports.PullServer``. Where it cannot listen, agents Pull by markers only.

    Opened by the first run that can use it, or ahead of that in the background (``start``): its
    libraries take most of a second to load, which a room without such an engine need not pay.
    """

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._server: Any = None
        self._opening: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to open, without waiting for it."""
        if self._wanted and self._opening is None:
            self._opening = asyncio.create_task(self._open(), name="pulls.open")

    async def ready(self) -> bool:
        """See ``core.ports.PullServer``. Never raises for what the system refuses."""
        self.start()
        if self._opening is not None:
            await asyncio.shield(self._opening)  # a run that is stopped must not end it for others
        return self._server is not None

    async def _open(self) -> None:
        try:
            module = await asyncio.to_thread(importlib.import_module, "adapters.pull.server")
            server = module.McpPulls()
            await server.open()
        except Exception as error:  # noqa: BLE001 - whatever keeps it from starting: markers remain
            log.warning("pulls.not_listening", error=str(error)[:200], fix=_FIX)
            return
        self._server = server

    async def close(self) -> None:
        """End all that is under way. Harmless when it is not open."""
        self._wanted = False
        if self._opening is not None:
            await self._opening
            self._opening = None
        server, self._server = self._server, None
        if server is not None:
            await server.close()

    def admit(self, run_id: str, kinds: Mapping[str, str], answer: AnswerPull) -> PullAccess | None:
        """See ``core.ports.PullServer``."""
        return self._server.admit(run_id, kinds, answer) if self._server is not None else None

    def dismiss(self, run_id: str) -> None:
        """See ``core.ports.PullServer``."""
        if self._server is not None:
            self._server.dismiss(run_id)


def check(*, wanted: bool, engines: tuple[str, ...]) -> Check:
    """A line for ``doctor``: whether it could listen, and for whom."""
    if not wanted:
        return Check("pull", ok=True, detail="by markers; [pull] in_run is off")
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
            trial.bind(("127.0.0.1", 0))
        importlib.import_module("adapters.pull.server")
    except (OSError, ImportError) as error:
        return Check("pull", ok=False, detail=f"not while a run works: {error}", fix=_FIX)
    detail = f"while a run works (127.0.0.1) for {', '.join(engines)}; the others by markers"
    return Check("pull", ok=True, detail=detail)
