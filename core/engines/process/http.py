"""The same supervision for an engine behind an HTTP API: one request, one outcome."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp

from core.engines.process.clocks import NO_OUTPUT, NOT_FINISHED
from core.model import EngineEvent, Exit, HttpCall, Limits, Outcome
from core.ports import Reader

CONNECT_S = 10.0
CHUNK_BYTES = 64 * 1024


_Request = AbstractAsyncContextManager[aiohttp.ClientResponse]


class _Exchange:
    """One request under way; ``last`` is the loop's time of the newest bytes."""

    def __init__(
        self, plan: HttpCall, reader: Reader, on_event: Callable[[EngineEvent], None]
    ) -> None:
        self._plan, self._reader, self._on_event = plan, reader, on_event
        self.last = asyncio.get_running_loop().time()
        self.status: int | None = None

    async def go(self) -> None:
        """Make the call, and before it those that prepare it."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            plan = self._plan
            while plan.then is not None:
                async with self._send(session, plan) as response:
                    body = await response.read()
                    self.last = asyncio.get_running_loop().time()
                    plan = plan.then(response.status, body)
            async with self._send(session, plan) as response:
                self.status = response.status
                async for data in response.content.iter_chunked(CHUNK_BYTES):
                    self.last = asyncio.get_running_loop().time()
                    for event in self._reader.receive(data):
                        self._on_event(event)

    @staticmethod
    def _send(session: aiohttp.ClientSession, plan: HttpCall) -> _Request:
        # No redirects: what is sent is meant for this host only.
        return session.request(
            plan.method,
            plan.url,
            data=plan.body or None,
            headers=dict(plan.headers),
            allow_redirects=False,
        )


async def call(
    plan: HttpCall,
    reader: Reader,
    *,
    on_event: Callable[[EngineEvent], None],
    limits: Limits,
    cancel: asyncio.Event,
) -> Outcome:
    """Send ``plan`` and feed the answer to ``reader``; the same promises as for a process."""
    exchange = _Exchange(plan, reader, on_event)
    work = asyncio.ensure_future(exchange.go())
    stop = asyncio.ensure_future(cancel.wait())
    try:
        end = await _watch(exchange, work, stop, limits)
    finally:
        for task in (work, stop):
            task.cancel()
        await asyncio.wait({work, stop})
    ended = _ending(work, exchange)
    return reader.finish(end or ended)


async def _watch(
    exchange: _Exchange, work: asyncio.Future[None], stop: asyncio.Future[Any], limits: Limits
) -> Exit | None:
    """Wait; returns why the exchange is to be broken off, or ``None`` when it ended by itself."""
    loop = asyncio.get_running_loop()
    total = loop.time() + limits.total_s
    while True:
        if stop.done():
            return Exit(why="cancelled", status=exchange.status)
        if work.done():
            return None
        now, due = loop.time(), min(exchange.last + limits.idle_s, total)
        if now >= due:
            if now >= total:
                detail = NOT_FINISHED.format(limits.total_s)
                return Exit(why="timeout", status=exchange.status, detail=detail)
            detail = NO_OUTPUT.format(limits.idle_s)
            return Exit(why="stalled", status=exchange.status, detail=detail)
        await asyncio.wait({work, stop}, timeout=due - now, return_when=asyncio.FIRST_COMPLETED)


def _ending(work: asyncio.Future[None], exchange: _Exchange) -> Exit:
    """How an exchange ended by itself; an error that is not the network's is raised."""
    with contextlib.suppress(asyncio.CancelledError):
        error = work.exception()
        if error is None:
            return Exit(status=exchange.status)
        if isinstance(error, aiohttp.ClientError | OSError | TimeoutError):
            if exchange.status is None:
                return Exit(why="unreachable", detail=why_unreachable(error))
            return Exit(status=exchange.status, detail="the connection ended in mid-answer")
        raise error
    return Exit(why="cancelled", status=exchange.status)


def why_unreachable(error: BaseException) -> str:
    """Why there was no answer, in words for people."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"there is no host {error.host}"
    if type(error) is aiohttp.ClientConnectorError:  # its kinds (a certificate) say more
        return f"nothing answers at {error.host}:{error.port}"
    return str(error) or type(error).__name__
