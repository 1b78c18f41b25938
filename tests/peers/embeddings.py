"""A loopback server that makes vectors: OpenAI's ``/v1/embeddings`` and Ollama's ``/api/embed``.

A text's vector says how many letters, digits and other characters it has, so that a test can tell
whose it is. What the next requests get instead is put into ``faults``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


def vector_of(text: str) -> list[float]:
    letters = sum(char.isalpha() for char in text)
    digits = sum(char.isdigit() for char in text)
    return [float(letters), float(digits), float(len(text) - letters - digits), 0.5]


@dataclass
class Fault:
    """What a request gets instead: a status, headers, a delay before it, or another body."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    delay_s: float = 0.0


class Embeddings:
    """``async with Embeddings() as server``; ``server.url`` is its root."""

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.faults: deque[Fault] = deque()
        self.seen: list[tuple[str, list[str]]] = []  # path and texts
        self.shuffled = True
        self.lengthen = 0  # further dimensions

    async def __aenter__(self) -> Embeddings:
        app = web.Application()
        app.router.add_post("/v1/embeddings", self._openai)
        app.router.add_post("/api/embed", self._ollama)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _take(self, request: web.Request) -> tuple[list[str], web.Response | None]:
        body = await request.json()
        texts = body["input"]
        self.seen.append((request.path, texts))
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            return texts, web.json_response({"error": {"message": "no key"}}, status=401)
        fault = self.faults.popleft() if self.faults else None
        if fault is not None:
            await asyncio.sleep(fault.delay_s)
            if fault.status != 200 or fault.body is not None:
                told = fault.body if fault.body is not None else {"error": {"message": "no"}}
                return texts, web.json_response(told, status=fault.status, headers=fault.headers)
        if not all(texts):
            return texts, web.json_response({"error": {"message": "empty input"}}, status=400)
        return texts, None

    def _vectors(self, texts: list[str]) -> list[list[float]]:
        return [vector_of(text) + [0.0] * self.lengthen for text in texts]

    async def _openai(self, request: web.Request) -> web.Response:
        texts, instead = await self._take(request)
        if instead is not None:
            return instead
        rows = [
            {"object": "embedding", "index": place, "embedding": vector}
            for place, vector in enumerate(self._vectors(texts))
        ]
        return web.json_response({"object": "list", "data": rows[::-1] if self.shuffled else rows})

    async def _ollama(self, request: web.Request) -> web.Response:
        texts, instead = await self._take(request)
        if instead is not None:
            return instead
        return web.json_response({"model": "m", "embeddings": self._vectors(texts)})
