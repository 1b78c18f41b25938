"""Files that the bot sends with a message: a multipart form, as discord.py makes one."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from simcord.backend.errors import BackendError

import discord

MAX_FILES = 10


@dataclass
class Uploads:
    """``taken`` are the name and the bytes of every file that came, refused ones too."""

    max_bytes: int = 10 * 2**20
    taken: list[tuple[str, bytes]] = field(default_factory=list)

    async def read(self, request: web.Request) -> tuple[Any, list[discord.File]]:
        """The JSON of a request and its files."""
        if not request.can_read_body:
            return None, []
        if request.content_type != "multipart/form-data":
            return await request.json(), []
        body: Any = None
        files: list[discord.File] = []
        async for part in await request.multipart():
            data = bytes(await part.read())
            if part.name == "payload_json":
                body = json.loads(data)
            else:
                name = part.filename or "unnamed"
                self.taken.append((name, data))
                files.append(discord.File(io.BytesIO(data), filename=name))
        return body, files

    def check(self, files: list[discord.File]) -> None:
        """Refuse what Discord would.

        Raises:
            BackendError: too large, or too many.
        """
        if any(len(file.fp.getbuffer()) > self.max_bytes for file in files):
            raise BackendError(413, 40005, "Request entity too large")
        if len(files) > MAX_FILES:
            raise BackendError(400, 50035, "Invalid Form Body: files: at most 10")
