"""A Discord on loopback: simcord's model of it behind real sockets, and people to play."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from aiohttp import web
from simcord._clock import Clock
from simcord.backend import Backend
from simcord.backend.errors import BackendError
from simcord.backend.models import Overwrite
from simcord.enums import ChannelType, OverwriteType
from simcord.http import router

import discord
from tests.peers.discord.faults import Fault, Faults
from tests.peers.discord.gateway import Gateway
from tests.peers.discord.people import Id, Person, Seen, seen
from tests.peers.discord.rest import Rest
from tests.peers.discord.uploads import Uploads
from tests.peers.files import FileStore

PREFIX = "/api/v10"


class WallClock(Clock):
    """Real time, which can be set forward."""

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.elapsed)


# What the docs tell people to grant when they invite the bot, and no more.
INVITED = discord.Permissions(
    view_channel=True,
    send_messages=True,
    send_messages_in_threads=True,
    create_public_threads=True,
    read_message_history=True,
    embed_links=True,
    attach_files=True,
    add_reactions=True,
)


class LoopbackDiscord:
    """A guild with one channel and two people, and a bot account whose ``token`` is yours.

    Use as an async context manager in the event loop of the test; the bot under test may be in
    the same loop or in another process. All ids are strings.

    Attributes:
        api_url / gateway_url / token: what to configure the bot with.
        guild / channel / bot_id: ids; ``mention`` is the bot's mention.
        alice / bob: people; ``person()`` makes more.
        faults: what goes wrong with requests; ``gateway``: the same for the socket.
        rest: nonces (``rest.forget_nonces()``) and the approved intents.
    """

    def __init__(self) -> None:
        self.backend = Backend(clock=WallClock())
        self.backend.bot_user.name = "Moot"
        self.rest = Rest(self.backend)
        self.faults = Faults()
        self.files = FileStore()
        self.uploads = Uploads()
        self.requests: list[tuple[str, str]] = []
        self._bell = asyncio.Event()
        ident = base64.b64encode(str(self.backend.bot_user.id).encode()).decode().rstrip("=")
        self.token = f"{ident}.loopbk.discord-token-for-tests"
        self.gateway = Gateway(self.backend, self.token, self.ring)
        self._guild = self.backend.create_guild("Loopback")
        for role in self._guild.roles.values():
            if role.managed:
                role.permissions = INVITED.value
        self.guild = str(self._guild.id)
        self.bot_id = str(self.backend.bot_user.id)
        self.mention = f"<@{self.bot_id}>"
        self.bot_role = str(next(r.id for r in self._guild.roles.values() if r.managed))
        self.channel = self.make_channel("general")
        self.alice = self.person("alice")
        self.bob = self.person("bob")
        self.api_url = self.gateway_url = ""
        self._runner: web.AppRunner | None = None

    # --- running -------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=32 * 1024 * 1024)
        app.router.add_get("/socket/", self.gateway.serve)
        app.router.add_get("/resume/", self.gateway.serve)
        app.router.add_get("/attachments/{ident:.+}", self.files.answer)
        app.router.add_route("*", PREFIX + "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.api_url = f"http://{host}:{port}{PREFIX}"
        self.gateway_url = f"ws://{host}:{port}/socket/"
        self.files.base = f"http://{host}:{port}/attachments"
        self.gateway.resume_url = f"ws://{host}:{port}/resume/"
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self.gateway.close()
        if self._runner is not None:
            await self._runner.cleanup()
        if kind is None:
            assert not self.rest.gaps, f"simcord lacks what the bot used: {self.rest.gaps}"

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        method, path = request.method, "/" + request.match_info["path"]
        body, files = await self.uploads.read(request)
        self.requests.append((method, path))
        try:
            return await self._answer(request, method, path, body, files)
        finally:
            self.ring()

    async def _answer(
        self,
        request: web.Request,
        method: str,
        path: str,
        body: Any,
        files: list[discord.File],
    ) -> web.StreamResponse:
        if path == "/gateway/bot":
            limit = {"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}
            return _json(200, {"url": self.gateway_url, "shards": 1, "session_start_limit": limit})
        tokenless = path.startswith(("/interactions/", "/webhooks/"))
        if not tokenless and request.headers.get("Authorization") != f"Bot {self.token}":
            return _json(401, {"message": "401: Unauthorized", "code": 0})
        fault = self.faults.take(method, path)
        status, answer = 204, None
        if fault is None or fault.effect:
            try:
                self.uploads.check(files)
                answer = self.rest.perform(method, path, body, dict(request.query), files)
                status = 204 if answer is None else 200
            except (router.RouteNotImplemented, router.UnsupportedField) as gap:
                status, answer = 501, {"message": str(gap)}
            except BackendError as refused:
                status, answer = refused.status, refused.to_json()
        if fault is None:
            return _json(status, answer)
        return await self._fail(request, fault, status, answer)

    async def _fail(
        self, request: web.Request, fault: Fault, status: int, answer: Any
    ) -> web.StreamResponse:
        self.ring()
        if fault.delay_s:
            await asyncio.sleep(fault.delay_s)
        if fault.status == -1:
            return _json(status, answer)
        if fault.status:
            return _json(fault.status, fault.body, fault.headers)
        if request.transport is not None:
            request.transport.abort()
        return _json(status, answer)

    # --- waiting -------------------------------------------------------------------------

    def ring(self) -> None:
        """Something happened: whoever waits looks again."""
        self._bell.set()
        self._bell = asyncio.Event()

    async def until(
        self, holds: Callable[[], object], timeout_s: float = 10, what: str = "that"
    ) -> None:
        """Wait until ``holds()`` is true; looked at after every event and request."""
        try:
            async with asyncio.timeout(timeout_s):
                while not holds():
                    await self._bell.wait()
        except TimeoutError:
            raise AssertionError(f"waited {timeout_s} s for {what}, in vain") from None

    async def connected(self, timeout_s: float = 20) -> None:
        """Wait until the bot holds a session (and its commands, if it registers any)."""
        await self.until(lambda: self.gateway.connected, timeout_s, "the bot to connect")

    async def message(
        self, channel: Id, text: str | Callable[[Seen], bool] = "", timeout_s: float = 20
    ) -> Seen:
        """Wait for the bot to have posted a message that holds ``text`` (or satisfies it)."""
        fits = text if callable(text) else lambda m: text in m.text

        def found() -> list[Seen]:
            return [m for m in self.messages(channel) if m.by_us and not m.system and fits(m)]

        await self.until(found, timeout_s, f"a message with {text!r} in {channel}")
        return found()[0]

    # --- looking -------------------------------------------------------------------------

    def messages(self, channel: Id, *, viewer: Person | None = None) -> list[Seen]:
        """What is visible in a channel, thread or DM, oldest first; ephemeral for its viewer."""
        stored = self.backend.messages.get(int(channel), {})
        eyes = int(viewer.id) if viewer else None
        return [seen(self, m) for _, m in sorted(stored.items()) if m.visible_to(eyes)]

    def posts(self, channel: Id) -> list[str]:
        """The texts of the bot's own messages there, oldest first."""
        return [m.text for m in self.messages(channel) if m.by_us and not m.system]

    def threads(self, channel: Id = "") -> list[str]:
        """Ids of the threads of a channel, oldest first."""
        parent = int(channel or self.channel)
        return [str(c.id) for c in self.backend.channels.values() if c.parent_id == parent]

    def has_thread(self, message_id: Id) -> bool:
        return int(message_id) in self.backend.channels

    def thread_name(self, thread: Id) -> str:
        return self.backend.get_thread(int(thread)).name or ""

    # --- arranging -----------------------------------------------------------------------

    def person(
        self, name: str, *, member: bool = True, bot: bool = False, roles: Iterable[Id] = ()
    ) -> Person:
        user = self.backend.make_user(name.lower(), global_name=name.title(), bot=bot)
        if member:
            self.backend.add_member(self._guild.id, user.id, roles=[int(r) for r in roles])
        return Person(self, user.id)

    def role(self, name: str) -> str:
        return str(self.backend.create_role(self._guild.id, name).id)

    def make_channel(self, name: str, *, forum: bool = False) -> str:
        kind = ChannelType.FORUM if forum else ChannelType.TEXT
        return str(self.backend.create_channel(self._guild.id, name, type=kind).id)

    def archive(self, thread: Id, *, locked: bool = False) -> None:
        self.backend.edit_channel(
            int(thread), {}, thread_metadata={"archived": True, "locked": locked}
        )

    def deny(self, channel: Id, *permissions: str) -> None:
        """Take permissions from the bot in one channel."""
        value = discord.Permissions(**dict.fromkeys(permissions, True)).value
        overwrite = Overwrite(int(self.bot_id), OverwriteType.MEMBER, deny=value)
        self.backend.set_overwrite(int(channel), overwrite)

    def approve_message_content(self, approved: bool) -> None:
        """The switch in the developer portal."""
        self.rest.message_content_approved = approved
        self.gateway.message_content_approved = approved


def _json(status: int, answer: Any, headers: dict[str, str] | None = None) -> web.Response:
    # discord.py compares the header as a whole: a charset would make the answer plain text.
    head = {"Content-Type": "application/json", **(headers or {})}
    if status == 204:
        return web.Response(status=204)
    return web.Response(status=status, body=json.dumps(answer).encode(), headers=head)
