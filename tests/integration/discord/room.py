"""The real discord.py client in a room with a loopback Discord: fixtures and helpers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest
import pytest_asyncio
from discord.gateway import DiscordWebSocket
from discord.http import Route

from adapters.discord.chat import DiscordChat, DiscordConfig
from core.model import ChatEvent, Post, Reply
from tests.peers.discord import LoopbackDiscord


class Ears:
    """The intake's place: takes events, and can be told to fail or to answer."""

    def __init__(self, world: LoopbackDiscord) -> None:
        self.world = world
        self.events: list[ChatEvent] = []
        self.failures = 0
        self.delay_s = 0.0
        self.reply: Reply | None = None
        self.readies = 0

    async def accept(self, event: ChatEvent) -> Reply | None:
        if self.failures:
            self.failures -= 1
            self.world.ring()
            raise OSError("disk full")
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        self.events.append(event)
        self.world.ring()
        return self.reply

    def ready(self) -> None:
        self.readies += 1
        self.world.ring()

    def of(self, kind: str) -> list[ChatEvent]:
        return [event for event in self.events if event.kind == kind]

    async def event(
        self, text: str = "", kind: str = "message", *, timeout_s: float = 10
    ) -> ChatEvent:
        def found() -> list[ChatEvent]:
            return [e for e in self.of(kind) if text in e.text]

        await self.world.until(found, timeout_s, f"{kind} {text!r} among {self.events}")
        return found()[0]

    async def quiet(self, sign: Callable[[], object]) -> None:
        """Wait for a sign that comes after anything that should not have come."""
        await self.world.until(sign)


@pytest_asyncio.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LoopbackDiscord]:
    # DiscordChat sets discord.py's module globals; they are put back afterwards.
    monkeypatch.setattr(Route, "BASE", Route.BASE)
    monkeypatch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", DiscordWebSocket.DEFAULT_GATEWAY)
    async with LoopbackDiscord() as peer:
        yield peer


@asynccontextmanager
async def running(world: LoopbackDiscord) -> AsyncIterator[tuple[DiscordChat, Ears]]:
    chat = DiscordChat(DiscordConfig(world.token, world.api_url))
    ears = Ears(world)
    task = asyncio.create_task(chat.run(ears.accept, ears.ready))
    try:
        await world.until(lambda: ears.readies or task.done())
        if task.done():
            await task
        yield chat, ears
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest_asyncio.fixture
async def both(world: LoopbackDiscord) -> AsyncIterator[tuple[DiscordChat, Ears]]:
    async with running(world) as pair:
        yield pair


@pytest.fixture
def chat(both: tuple[DiscordChat, Ears]) -> DiscordChat:
    return both[0]


@pytest.fixture
def ears(both: tuple[DiscordChat, Ears]) -> Ears:
    return both[1]


def post(text: str, nonce: str = "", **more: object) -> Post:
    return Post(nonce=nonce or f"n{abs(hash(text)) % 10**12}", text=text, **more)  # type: ignore[arg-type]


async def asked(world: LoopbackDiscord, ears: Ears, text: str = "question") -> ChatEvent:
    world.alice.ask(world.channel, text)
    return await ears.event(text)
