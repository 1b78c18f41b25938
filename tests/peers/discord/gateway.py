"""The gateway half: sessions with sequence numbers, over websockets, as Discord speaks them."""

from __future__ import annotations

import asyncio
import copy
import json
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web
from simcord import intents as simcord_intents
from simcord.backend import Backend, serializers

import discord

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, MEMBERS = 0, 1, 2, 6, 7, 8
INVALID_SESSION, HELLO, HEARTBEAT_ACK = 9, 10, 11
KEPT_EVENTS = 2_000


class Session:
    """What one IDENTIFY began: it outlives its socket, so that RESUME can replay."""

    def __init__(self, ident: str, intents: discord.Intents) -> None:
        self.id = ident
        self.intents = intents
        self.seq = 0
        self.events: deque[tuple[int, str]] = deque(maxlen=KEPT_EVENTS)
        self.outbox: asyncio.Queue[str] | None = None

    def dispatch(self, event: str, data: Any) -> None:
        self.seq += 1
        frame = json.dumps({"op": DISPATCH, "t": event, "s": self.seq, "d": data})
        self.events.append((self.seq, frame))
        if self.outbox is not None:
            self.outbox.put_nowait(frame)


class Gateway:
    """Feeds what the backend emits to every session, shaped by the session's intents.

    Attributes:
        duplicate: so many of the next messages and interactions are delivered twice.
        silent: nothing is delivered any more, while the socket stays up.
        deaf: after an IDENTIFY nothing is read any more, so a close is never answered.
        refuse: so many of the next connections are turned away.
        identifies / resumes: how often the bot began and resumed a session.
    """

    def __init__(self, backend: Backend, token: str, ring: Callable[[], None]) -> None:
        self.backend = backend
        self.token = token
        self.resume_url = ""
        self.message_content_approved = True
        self.duplicate = 0
        self.silent = False
        self.refuse = 0
        self.deaf = False
        self.identifies = self.resumes = 0
        self.sessions: dict[str, Session] = {}
        self._sockets: set[web.WebSocketResponse] = set()
        self._invalidate: bool | None = None
        self._ring = ring
        backend.subscribers.append(self._emitted)

    # --- control -------------------------------------------------------------------------

    @property
    def connected(self) -> bool:
        return any(session.outbox is not None for session in self.sessions.values())

    async def disconnect(self, code: int = 1001) -> None:
        """Close every socket; with most codes the client resumes."""
        for socket in list(self._sockets):
            await socket.close(code=code)

    async def ask_to_reconnect(self) -> None:
        """Op 7, as Discord sends before it moves a session."""
        for socket in list(self._sockets):
            await socket.send_json({"op": RECONNECT, "d": None})

    def forget_sessions(self) -> None:
        """The next RESUME gets op 9 false: what happened in between is gone."""
        self._invalidate = False

    # --- events --------------------------------------------------------------------------

    def _emitted(self, event: str, payload: Mapping[str, Any]) -> None:
        times = 1
        if event in ("MESSAGE_CREATE", "INTERACTION_CREATE") and self.duplicate:
            times, self.duplicate = 2, self.duplicate - 1
        for session in self.sessions.values():
            shaped = self._shape(session, event, payload)
            if shaped is not None and not self.silent:
                for _ in range(times):
                    session.dispatch(event, shaped)
        self._ring()

    def _shape(self, session: Session, event: str, payload: Mapping[str, Any]) -> Any:
        gate = simcord_intents.required_intent(event, payload)
        if gate is not None and not getattr(session.intents, gate):
            return None
        data: dict[str, Any] = copy.deepcopy(dict(payload))
        if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
            if not session.intents.message_content:
                simcord_intents.censor_message(data, self.backend.bot_user.id, backend=self.backend)
            self._add_member(data)
        if event == "GUILD_CREATE":
            simcord_intents.prune_guild_create(data, session.intents, self.backend.bot_user.id)
            for role in data["roles"]:
                if role["managed"]:
                    role["tags"] = {"bot_id": str(self.backend.bot_user.id)}
        return data

    def _add_member(self, data: dict[str, Any]) -> None:
        guild = self.backend.guilds.get(int(data.get("guild_id") or 0))
        if guild is None or "member" in data or data.get("webhook_id"):
            return
        member = guild.members.get(int(data["author"]["id"]))
        if member is not None:
            data["member"] = serializers.member_payload(
                self.backend, guild, member, with_user=False
            )

    # --- sockets -------------------------------------------------------------------------

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        if self.refuse:
            self.refuse -= 1
            raise web.HTTPServiceUnavailable
        socket = web.WebSocketResponse(compress=False)
        await socket.prepare(request)
        self._sockets.add(socket)
        outbox: asyncio.Queue[str] = asyncio.Queue()
        writer = asyncio.create_task(self._write(socket, outbox))
        try:
            outbox.put_nowait(json.dumps({"op": HELLO, "d": {"heartbeat_interval": 41_250}}))
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    frame = json.loads(message.data)
                    await self._receive(socket, outbox, frame)
                    if self.deaf and frame["op"] == IDENTIFY:
                        await asyncio.Event().wait()
        finally:
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
            self._sockets.discard(socket)
            for session in self.sessions.values():
                if session.outbox is outbox:
                    session.outbox = None
            self._ring()
        return socket

    async def _write(self, socket: web.WebSocketResponse, outbox: asyncio.Queue[str]) -> None:
        while True:
            frame = await outbox.get()
            if socket.closed:
                return
            await socket.send_str(frame)

    async def _receive(
        self, socket: web.WebSocketResponse, outbox: asyncio.Queue[str], frame: dict[str, Any]
    ) -> None:
        op, data = frame["op"], frame.get("d")
        if op == HEARTBEAT:
            outbox.put_nowait(json.dumps({"op": HEARTBEAT_ACK}))
        elif op == IDENTIFY:
            await self._identify(socket, outbox, data)
        elif op == RESUME:
            self._resume(outbox, data)
        self._ring()

    async def _identify(
        self, socket: web.WebSocketResponse, outbox: asyncio.Queue[str], data: dict[str, Any]
    ) -> None:
        self.identifies += 1
        if data["token"] != self.token:
            await socket.close(code=4004, message=b"Authentication failed.")
            return
        intents = discord.Intents._from_value(data["intents"])
        if intents.message_content and not self.message_content_approved:
            await socket.close(code=4014, message=b"Disallowed intent(s).")
            return
        for ident in [i for i, s in self.sessions.items() if s.outbox is None]:
            del self.sessions[ident]
        session = Session(f"session{self.identifies}", intents)
        self.sessions[session.id] = session
        session.outbox = outbox
        session.dispatch(
            "READY",
            {
                "v": 10,
                "user": dict(serializers.user_payload(self.backend.bot_user)),
                "guilds": [{"id": str(g), "unavailable": True} for g in self.backend.guilds],
                "session_id": session.id,
                "resume_gateway_url": self.resume_url,
                "application": {"id": str(self.backend.application_id), "flags": 1 << 19},
            },
        )
        for guild in list(self.backend.guilds.values()):
            payload = serializers.guild_create_payload(self.backend, guild)
            archived = {
                str(thread)
                for thread in guild.thread_ids
                if self.backend.channels[thread].thread_metadata.archived
            }
            shaped = self._shape(session, "GUILD_CREATE", payload)
            shaped["threads"] = [t for t in shaped["threads"] if t["id"] not in archived]
            session.dispatch("GUILD_CREATE", shaped)

    def _resume(self, outbox: asyncio.Queue[str], data: dict[str, Any]) -> None:
        self.resumes += 1
        session = self.sessions.get(data["session_id"])
        if session is None or self._invalidate is not None:
            self._invalidate = None
            self.sessions.pop(data["session_id"], None)
            outbox.put_nowait(json.dumps({"op": INVALID_SESSION, "d": False}))
            return
        session.outbox = outbox
        for seq, frame in session.events:
            if seq > int(data["seq"] or 0):
                outbox.put_nowait(frame)
        session.dispatch("RESUMED", {})

    async def close(self) -> None:
        for socket in list(self._sockets):
            await socket.close(code=WSCloseCode.GOING_AWAY)
