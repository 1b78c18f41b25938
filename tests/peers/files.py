"""A store of files for the loopback platforms: serves them well, badly, slowly or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

SIGN_IN_PAGE = "<!DOCTYPE html><html><body>Sign in to your workspace</body></html>"


@dataclass
class Served:
    """How one file is served.

    ``page``: a page to sign in comes instead, with status 200. ``to``: another address is named.
    ``hang``: nothing comes. ``stall``: half of it comes, then nothing. ``chunked``: its size is not
    told. ``expired``: as an address whose time has run out, for so many requests.
    """

    data: bytes = b""
    status: int = 200
    mime: str = "application/octet-stream"
    page: bool = False
    to: str = ""
    hang: bool = False
    stall: bool = False
    chunked: bool = False
    expired: int = 0


@dataclass
class FileStore:
    """``asked`` are the path and the Authorization of every request."""

    files: dict[str, Served] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    token: str = ""  # without it a file is a page to sign in ("": anybody may have it)
    base: str = ""

    def put(self, ident: str, data: bytes = b"", **how: Any) -> str:
        """Keep a file; where it is."""
        self.files[ident] = Served(data, **how)
        return f"{self.base}/{ident}"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        auth = request.headers.get("Authorization", "")
        self.asked.append((request.path, auth))
        file = self.files.get(request.match_info["ident"])
        if file is None:
            return web.Response(status=404)
        if file.expired:
            file.expired -= 1
            return web.Response(status=404, text="This content is no longer available.")
        if file.hang:
            await asyncio.sleep(3600)
        if file.to:
            return web.Response(status=302, headers={"Location": file.to})
        if file.page or (self.token and auth != f"Bearer {self.token}"):
            return web.Response(text=SIGN_IN_PAGE, content_type="text/html")
        if file.status != 200:
            return web.Response(status=file.status)
        answer = web.StreamResponse(headers={"Content-Disposition": "attachment"})
        answer.content_type = file.mime
        if not file.chunked:
            answer.content_length = len(file.data)
        await answer.prepare(request)
        half = len(file.data) // 2
        await answer.write(file.data[:half])
        if file.stall:
            await asyncio.sleep(3600)
        await answer.write(file.data[half:])
        await answer.write_eof()
        return answer


@asynccontextmanager
async def elsewhere() -> AsyncIterator[FileStore]:
    """A server that is no platform's: whatever reaches it should not have."""
    store = FileStore()
    site = web.Application()
    site.router.add_get("/{ident}", store.answer)
    runner = web.AppRunner(site, shutdown_timeout=0.2)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        store.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield store
    finally:
        await runner.cleanup()
