"""A real `chroma run` on the loopback, that can be killed, stopped and started again."""

from __future__ import annotations

import asyncio
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from pathlib import Path


class Server:
    """``start`` and ``kill`` as often as is wanted; it keeps its port and its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: Process | None = None

    async def start(self) -> None:
        program = str(Path(sys.executable).with_name("chroma"))
        where = ["--path", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port)]
        self.process = await asyncio.create_subprocess_exec(
            program, "run", *where, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
        )
        async with asyncio.timeout(60):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                    break
                except OSError:
                    await asyncio.sleep(0.05)
        writer.close()
        await writer.wait_closed()

    async def kill(self) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
