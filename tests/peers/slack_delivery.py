"""How the loopback Slack delivers: Socket Mode or signed HTTP, at least once.

One-use socket addresses, several links at a time, retries until acknowledged, duplicates, both
event types of a mention in any order, cut and frozen links.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import json
import time
import uuid
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode

import aiohttp
from aiohttp import WSMsgType, web

Json = dict[str, Any]
Order = Literal["message-first", "mention-first", "message-only", "mention-only"]


@dataclass(eq=False)
class Socket:
    """One open Socket Mode link. A frozen one stays open and says nothing more."""

    ws: web.WebSocketResponse
    transport: asyncio.Transport | None
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    frozen: bool = False


@dataclass(eq=False)
class Delivery:
    """One envelope on its way to the app; ``attempts`` counts sendings.

    ``sent_at`` is when the first of them was made, in seconds since the epoch.
    """

    kind: Literal["events_api", "slash_commands", "interactive"]
    payload: Json
    attempts: int = 0
    sent_at: float = 0.0
    acked: asyncio.Event = field(default_factory=asyncio.Event)
    answer: Any = None


class Deliveries:
    """Sends envelopes to the app. Public attributes may be changed by a test at any time.

    Attributes:
        http_target: where signed HTTP goes; empty means Socket Mode.
        ack_timeout_s: how long an acknowledgement may take before the next attempt.
        max_attempts: of one event; a link that went away under it costs none.
        duplicate: send every event twice, at once.
        order / mention_gap_s: which event types a mention makes, in which order, how far apart.
        losing: events of now never come; only the histories tell of them.
        refuse_links: how many of the next attempts to open a link fail.
        amend: fields put into the message events that arrive now (a subtype, files).
        channel_types: another ``channel_type`` for the message events of a channel.
        ext_shared: channels that are shared with another workspace.
    """

    def __init__(self, *, app: Json, bot_user: str, team: str, http: aiohttp.ClientSession) -> None:
        self.app = app
        self.bot_user = bot_user
        self.team = team
        self.http_target = ""
        self.ack_timeout_s = 3.0
        self.max_attempts = 4
        self.duplicate = False
        self.order: Order = "message-first"
        self.mention_gap_s = 0.0
        self.amend: Json = {}
        self.channel_types: dict[str, str] = {}
        self.ext_shared: set[str] = set()
        self.losing = False
        self.refuse_links = 0
        self.deliveries: list[Delivery] = []
        self.lost: list[Delivery] = []
        self.sockets: list[Socket] = []
        self._http = http
        self._turns = itertools.count()
        self._tickets: set[str] = set()
        self._waiting: dict[str, Delivery] = {}
        self._held: list[Json] = []
        self._some_socket = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for socket in list(self.sockets):
            await socket.ws.close()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def interaction(self, kind: str, payload: Json) -> Any:
        """Deliver a command or a click, once, as Slack does; what the acknowledgement carried."""
        return (await self.deliver_once(kind, payload)).answer

    async def deliver_once(self, kind: str, payload: Json) -> Delivery:
        delivery = Delivery(kind, payload)
        self.deliveries.append(delivery)
        await self._deliver(delivery, attempts=1)
        return delivery

    def ticket(self) -> str:
        """An address part that opens one link."""
        self._tickets.add(made := uuid.uuid4().hex)
        return made

    def arrived(self, payload: Json) -> None:
        """Send an event_callback payload on to the app, as the test wants it to arrive."""
        event = payload["event"]
        channel = event.get("channel", "")
        payload["is_ext_shared_channel"] = channel in self.ext_shared
        if channel in self.channel_types and "channel_type" in event:
            event["channel_type"] = self.channel_types[channel]
        if self.amend and event.get("type") in ("message", "app_mention"):
            subtype = self.amend.get("subtype") if event["type"] == "message" else None
            event.update({k: v for k, v in self.amend.items() if k != "subtype"})
            event.update({"subtype": subtype} if subtype else {})
        mentioned = f"<@{self.bot_user}>" in event.get("text", "")
        kind = event.get("type")
        if mentioned and kind == "message" and not event.get("channel", "").startswith("D"):
            if self.order == "mention-only":
                return
            if self.order == "mention-first":
                self._held.append(payload)
                return
        if kind == "app_mention" and self.order == "message-only":
            return
        self.send(payload, after_s=self.mention_gap_s if kind == "app_mention" else 0.0)
        if kind == "app_mention":
            while self._held:
                self.send(self._held.pop(0), after_s=self.mention_gap_s)

    def send(self, payload: Json, *, after_s: float = 0.0) -> list[Delivery]:
        if self.losing:
            return []
        made = [Delivery("events_api", payload) for _ in range(2 if self.duplicate else 1)]
        self.deliveries.extend(made)
        for delivery in made:
            self.spawn(self._deliver(delivery, attempts=self.max_attempts, after_s=after_s))
        return made

    def event(self, event: Json) -> list[Delivery]:
        """Wrap and send an event of the test's own making."""
        return self.send(self.wrap(event))

    def wrap(self, event: Json) -> Json:
        return {
            "token": "verification-token",
            "team_id": self.team,
            "api_app_id": self.app["appId"],
            "event": event,
            "type": "event_callback",
            "event_id": f"Ev{uuid.uuid4().hex[:10].upper()}",
            "event_time": int(time.time()),
            "authorizations": [{"team_id": self.team, "user_id": self.bot_user, "is_bot": True}],
        }

    async def _deliver(self, delivery: Delivery, *, attempts: int, after_s: float = 0.0) -> None:
        await asyncio.sleep(after_s)
        send = self._send_http if self.http_target else self._send_socket
        while delivery.attempts < attempts and not delivery.acked.is_set():
            await send(delivery)
        if not delivery.acked.is_set():
            self.lost.append(delivery)

    async def _send_socket(self, delivery: Delivery) -> None:
        await self._some_socket.wait()
        socket = self.sockets[next(self._turns) % len(self.sockets)]
        envelope_id = str(uuid.uuid4())
        self._waiting[envelope_id] = delivery
        envelope = {
            "envelope_id": envelope_id,
            "type": delivery.kind,
            "payload": delivery.payload,
            "accepts_response_payload": delivery.kind != "events_api",
        }
        if delivery.kind == "events_api":
            envelope["retry_attempt"] = delivery.attempts
            envelope["retry_reason"] = "timeout" if delivery.attempts else ""
        delivery.attempts += 1
        delivery.sent_at = delivery.sent_at or time.time()
        if not socket.frozen:
            try:
                await socket.ws.send_json(envelope)
            except ConnectionError:
                socket.closed.set()
        ends = [
            asyncio.ensure_future(delivery.acked.wait()),
            asyncio.ensure_future(socket.closed.wait()),
        ]
        try:
            await asyncio.wait(
                ends, timeout=self.ack_timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for end in ends:
                end.cancel()
        if socket.closed.is_set() and not delivery.acked.is_set():
            # As on the real one, a link that went away costs no attempt: nobody was there.
            delivery.attempts -= delivery.kind == "events_api"

    async def _send_http(self, delivery: Delivery) -> None:
        if delivery.kind == "events_api":
            body, kind = json.dumps(delivery.payload), "application/json"
        else:
            form = (
                {"payload": json.dumps(delivery.payload)}
                if delivery.kind == "interactive"
                else delivery.payload
            )
            body, kind = urlencode(form), "application/x-www-form-urlencoded"
        headers = {"Content-Type": kind, **sign(self.app["signingSecret"], body)}
        if delivery.attempts:
            headers["X-Slack-Retry-Num"] = str(delivery.attempts)
            headers["X-Slack-Retry-Reason"] = "http_error"
        delivery.attempts += 1
        delivery.sent_at = delivery.sent_at or time.time()
        try:
            async with self._http.post(self.http_target, data=body, headers=headers) as answer:
                text = await answer.text()
                ok = answer.status < 300
        except aiohttp.ClientError:
            ok, text = False, ""
        if ok:
            delivery.answer = json.loads(text) if text.startswith("{") else None
            delivery.acked.set()
        else:
            await asyncio.sleep(self.ack_timeout_s)

    async def link(self, request: web.Request) -> web.StreamResponse:
        ticket = request.match_info["ticket"]
        if ticket not in self._tickets:
            return web.Response(status=403)  # good for one connection, as on the real one
        self._tickets.discard(ticket)
        if self.refuse_links:
            self.refuse_links -= 1
            return web.Response(status=503)
        ws = web.WebSocketResponse(autoping=False, autoclose=True)
        await ws.prepare(request)
        socket = Socket(ws, request.transport)
        self.sockets.append(socket)
        await ws.send_json(
            {
                "type": "hello",
                "num_connections": len(self.sockets),
                "connection_info": {"app_id": self.app["appId"]},
                "debug_info": {"host": "loopback", "approximate_connection_time": 18060},
            }
        )
        self._some_socket.set()
        try:
            async for frame in ws:
                await self._heard(socket, frame)
        finally:
            self.sockets.remove(socket)
            if not self.sockets:
                self._some_socket.clear()
            socket.closed.set()
        return ws

    async def _heard(self, socket: Socket, frame: aiohttp.WSMessage) -> None:
        if socket.frozen:
            return
        if frame.type is WSMsgType.PING:
            await socket.ws.pong(frame.data)
        elif frame.type is WSMsgType.TEXT:
            said = json.loads(frame.data)
            if delivery := self._waiting.pop(said.get("envelope_id", ""), None):
                delivery.answer = said.get("payload")
                delivery.acked.set()


def sign(secret: str, body: str, at: float | None = None) -> dict[str, str]:
    """Slack's v0 signature headers for a request body."""
    stamp = str(int(time.time() if at is None else at))
    digest = hmac.new(secret.encode(), f"v0:{stamp}:{body}".encode(), hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}
