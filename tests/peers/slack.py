"""A loopback Slack for tests: ``local-slack`` with our own fault-injecting front before it.

    async with LoopbackSlack() as slack:
        ...  # start the product with slack.api_url, slack.bot_token, slack.app_token
        ts = await slack.mention("why is the build red?")
        answer = await slack.wait_for_answer(ts)

Methods of :class:`LoopbackSlack` act as a person or read what people see. ``slack.events`` and
``slack.api`` are the two halves of the front, with the knobs for faults.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp
from aiohttp import WSMsgType, web

from tests.peers.files import FileStore
from tests.peers.local_slack import LocalSlack, need
from tests.peers.slack_api import Call, Fault, WebApi
from tests.peers.slack_delivery import Deliveries, Json, sign
from tests.peers.slack_tables import words
from tests.peers.slack_views import Modal

__all__ = ["ALICE", "BOB", "BOT", "DEV", "GENERAL", "TEAM", "LoopbackSlack", "Seen", "need", "sign"]

T = TypeVar("T")
TEAM, BOT, CI_BOT = "T01TEAM", "U0BOT", "U0CIBOT"
ALICE, BOB, GUEST = "U01ALICE", "U02BOB", "U03GUEST"
GENERAL, DEV, ELSEWHERE = "C01GENERAL", "C02DEV", "C03ELSEWHERE"
SCOPES = (
    "app_mentions:read,channels:history,channels:read,chat:write,commands,files:read,files:write,"
    "groups:history,"
    "groups:read,im:history,im:read,mpim:history,mpim:read,reactions:write,users:read"
)
MOOT = {
    "appId": "A01MOOT",
    "botUserId": BOT,
    "botName": "moot",
    "botToken": "xoxb-loopback-moot",
    "appToken": "xapp-1-A01MOOT-1-loopback",
    "signingSecret": "loopback-signing-secret",
}
CI = {
    "appId": "A02CI",
    "botUserId": CI_BOT,
    "botName": "ci",
    "botToken": "xoxb-loopback-ci",
    "appToken": "xapp-loopback-ci",
}
WORKSPACE = {
    "workspace": {"name": "Loopback", "domain": "loopback", "teamId": TEAM},
    "apps": [MOOT, CI],
    "users": [
        {"id": ALICE, "name": "alice", "real_name": "Alice Kim"},
        {"id": BOB, "name": "bob", "real_name": "Bob Lee"},
        {"id": GUEST, "name": "guest", "real_name": "Gus Guest"},
    ],
    "channels": [
        {"id": GENERAL, "name": "general", "members": [ALICE, BOB, GUEST, BOT, CI_BOT]},
        {"id": DEV, "name": "dev", "members": [ALICE, BOB, BOT, CI_BOT]},
        {"id": ELSEWHERE, "name": "elsewhere", "members": [ALICE, BOB]},
    ],
}


@dataclass(frozen=True)
class Seen:
    """A message as a person sees it. ``text`` is what is shown: the blocks, if there are any.

    ``buttons`` maps labels to ``(action_id, block_id, value)``, ``menus`` a menu's label to the
    actions of its choices; ``only_for`` is set on a private
    note; ``root`` is empty at channel level.
    """

    ts: str
    user: str
    text: str
    root: str
    buttons: dict[str, tuple[str, str, str]]
    menus: dict[str, dict[str, Json]]
    only_for: str
    edited: bool
    raw: Json


class LoopbackSlack:
    """See the module. ``http_target``: deliver by signed HTTP to this address instead of sockets.

    Everything listens on 127.0.0.1 but the local-slack binary, which cannot be told to.
    """

    team, bot_user = TEAM, BOT
    bot_token, app_token = MOOT["botToken"], MOOT["appToken"]
    signing_secret = MOOT["signingSecret"]

    def __init__(self, *, http_target: str = "", ack_timeout_s: float = 3.0) -> None:
        self._local = LocalSlack(WORKSPACE)
        self._http_target = http_target
        self._ack_timeout_s = ack_timeout_s
        self._acting = asyncio.Lock()
        self.files = FileStore(token=self.bot_token)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await self._local.start()
            stack.push_async_callback(self._local.stop)
            self._http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30))
            stack.push_async_callback(self._http.close)
            self.events = Deliveries(app=MOOT, bot_user=BOT, team=TEAM, http=self._http)
            self.events.http_target = self._http_target
            self.events.ack_timeout_s = self._ack_timeout_s
            self.api = WebApi(upstream=self._local.url, events=self.events, http=self._http)
            self.api.scopes = SCOPES
            self.api.member_of = {GENERAL, DEV}
            self.api.person_flags = {GUEST: {"is_restricted": True}}
            runner = await self._serve()
            stack.push_async_callback(runner.cleanup)
            opened = await self.api.forward("apps.connections.open", {}, MOOT["appToken"])
            self._upstream = await self._http.ws_connect(opened["url"])
            stack.push_async_callback(self._upstream.close)
            self.events.spawn(self._read_upstream())
            stack.push_async_callback(self.events.stop)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def _serve(self) -> web.AppRunner:
        site = web.Application(client_max_size=32 * 2**20)
        site.router.add_route("*", "/api/{method}", self.api.answer)
        site.router.add_get("/link/{ticket}", self.events.link)
        site.router.add_post("/respond/{channel}/{user}", self.api.respond)
        site.router.add_get("/files-pri/{ident}", self.files.answer)
        runner = web.AppRunner(site, shutdown_timeout=0.2)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.api.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self.api_url = f"{self.api.url}/api/"
        self.files.base = f"{self.api.url}/files-pri"
        return runner

    def env(self) -> dict[str, str]:
        """The environment a separate ``moot run`` needs for its secrets."""
        return {
            "MOOT__SLACK__BOT_TOKEN": self.bot_token,
            "MOOT__SLACK__APP_TOKEN": self.app_token,
            "MOOT__SLACK__SIGNING_SECRET": self.signing_secret,
        }

    async def _read_upstream(self) -> None:
        async for frame in self._upstream:
            if frame.type is not WSMsgType.TEXT:
                continue
            envelope = json.loads(frame.data)
            if envelope["type"] == "events_api":
                # Taken: from here on it is the front that delivers, and again if need be.
                self.events.arrived(envelope["payload"])
                await self._upstream.send_json({"envelope_id": envelope["envelope_id"]})
            elif envelope["type"] in ("slash_commands", "interactive"):
                self.events.spawn(self._relay(envelope))

    async def _relay(self, envelope: Json) -> None:
        payload = envelope["payload"]
        self.api.views.note(payload)
        if envelope["type"] == "interactive":  # what a container says on the real Slack
            message = payload.get("message") or {}
            if message.get("thread_ts"):
                payload["container"]["thread_ts"] = message["thread_ts"]
            if message.get("subtype") == "ephemeral":
                payload["container"]["is_ephemeral"] = True
                del payload["message"]
        answer = await self.events.interaction(envelope["type"], payload)
        carried = {"payload": answer} if isinstance(answer, dict) else {}
        await self._upstream.send_json({"envelope_id": envelope["envelope_id"], **carried})

    # --- act as a person -------------------------------------------------------------------

    async def say(
        self,
        text: str,
        *,
        channel: str = GENERAL,
        user: str = ALICE,
        thread: str = "",
        amend: Json | None = None,
    ) -> str:
        """Write a message (text as Slack would carry it: escaped). Returns its ts.

        ``amend`` is put into its events: ``{"subtype": "file_share", "files": [...]}``.
        """
        body = {"channel": channel, "user": user, "text": text}
        async with self._acting:
            self.events.amend = amend or {}
            try:
                made = await self.api.control(
                    "message", {**body, "thread_ts": thread} if thread else body
                )
            finally:
                self.events.amend = {}
        return str(made["message"]["ts"])

    def file(self, name: str, data: bytes = b"", *, size: int = -1, **how: Any) -> Json:
        """A file in the store, as Slack tells of it; ``size`` as it is said to be."""
        ident = f"F{len(self.files.files):08}"
        url = self.files.put(ident, data, **how)
        told = len(data) if size < 0 else size
        return {"id": ident, "name": name, "mimetype": "text/plain", "size": told,
                "url_private": url, "url_private_download": url}  # fmt: skip

    async def share(self, text: str, *files: Json, **where: Any) -> str:
        """Write a message with files."""
        amend = {"subtype": "file_share", "files": list(files)}
        ts = await self.say(text, amend=amend, **where)
        self.api.shared[where.get("channel", GENERAL), ts] = list(files)
        return ts

    async def mention(self, text: str, **where: Any) -> str:
        return await self.say(f"<@{BOT}> {text}", **where)

    async def dm_channel(self, user: str = ALICE) -> str:
        opened = await self.api.forward("conversations.open", {"users": user}, self.bot_token)
        self.api.direct.add(str(opened["channel"]["id"]))
        return str(opened["channel"]["id"])

    async def dm(self, text: str, *, user: str = ALICE, thread: str = "") -> str:
        return await self.say(text, channel=await self.dm_channel(user), user=user, thread=thread)

    async def slash(
        self, command: str, text: str = "", *, channel: str = GENERAL, user: str = ALICE
    ) -> Seen | None:
        """Run a slash command; the private answer it was acknowledged with, if any."""
        before = {m.ts for m in await self.seen(channel, by=user)}
        await self.api.control(
            "command", {"channel": channel, "user": user, "command": command, "text": text}
        )
        notes = [m for m in await self.seen(channel, by=user) if m.only_for == user]
        return next((m for m in notes if m.ts not in before), None)

    async def click(self, message: Seen, label: str, *, user: str = ALICE) -> None:
        action_id, block_id, value = message.buttons[label]
        action = {"type": "button", "action_id": action_id, "block_id": block_id, "value": value}
        await self.api.control(
            "interact",
            {
                "channel": message.raw["channel"],
                "messageTs": message.ts,
                "user": user,
                "action": action,
            },
        )

    async def choose(self, message: Seen, menu: str, label: str, *, user: str = ALICE) -> None:
        """Pick one of a menu's choices."""
        target = {"channel": message.raw["channel"], "messageTs": message.ts, "user": user}
        await self.api.control("interact", {**target, "action": message.menus[menu][label]})

    async def shortcut(
        self, ts: str, callback: str, *, channel: str = GENERAL, user: str = ALICE
    ) -> None:
        """Use a shortcut on a message, wherever Moot is: Slack lets people do so everywhere."""
        message = next(m for m in await self.api.stored(channel) if m["ts"] == ts)
        payload = {
            "type": "message_action",
            "callback_id": callback,
            "trigger_id": uuid.uuid4().hex,
            "action_ts": f"{time.time():.6f}",
            "team": {"id": TEAM},
            "channel": {"id": channel, "name": "somewhere"},
            "user": {"id": user, "name": user.lower(), "team_id": TEAM},
            "message_ts": ts,
            "message": message,
            "response_url": f"{self.api.url}/respond/{channel}/{user}",
            "api_app_id": MOOT["appId"],
            "token": "verification-token",
        }
        self.api.views.note(payload)
        await self.events.interaction("interactive", payload)

    async def tell(self, event: Json) -> None:
        """Something changed in the workspace; returns once it is acknowledged."""
        deliveries = self.events.event({**event, "event_ts": f"{time.time():.6f}"})
        async with asyncio.timeout(15):
            for delivery in deliveries:
                await delivery.acked.wait()

    async def open_home(self, user: str = ALICE, *, tab: str = "home") -> None:
        """Look at the app's Home tab."""
        self.events.event(
            {
                "type": "app_home_opened",
                "user": user,
                "channel": await self.dm_channel(user),
                "tab": tab,
                "event_ts": f"{time.time():.6f}",
            }
        )

    async def home(self, containing: str, user: str = ALICE, timeout_s: float = 15.0) -> Seen:
        """What stands on somebody's Home tab, once it holds this text."""

        async def shown() -> Seen | None:
            view = self.api.views.homes.get(user)
            page = see({"ts": "", **view}) if view else None
            return page if page and containing in page.text else None

        return await self.wait(shown, f"a home with {containing!r}", timeout_s)

    async def press_at_home(self, label: str, user: str = ALICE) -> None:
        """Press a button of one's Home tab."""
        view = self.api.views.homes[user]
        action_id, block_id, value = see({"ts": "", **view}).buttons[label]
        stamp = f"{time.time():.6f}"
        action = {"type": "button", "action_id": action_id, "block_id": block_id, "value": value}
        payload = {
            "type": "block_actions",
            "trigger_id": uuid.uuid4().hex,
            "team": {"id": TEAM},
            "user": {"id": user, "name": user.lower(), "team_id": TEAM},
            "container": {"type": "view", "view_id": view["id"]},
            "view": view,
            "actions": [{**action, "action_ts": stamp}],
            "api_app_id": MOOT["appId"],
            "token": "verification-token",
        }
        await self.events.interaction("interactive", payload)

    def reactions(self, ts: str, channel: str = GENERAL) -> set[str]:
        """Which reactions of Moot's stand under a message."""
        return set(self.api.reactions.get((channel, ts), ()))

    async def modal(self, count: int = 1, *, timeout_s: float = 15.0) -> Modal:
        """The newest modal, once ``count`` have been opened."""
        views = self.api.views
        await self.until(lambda: len(views.modals) >= count, "a modal", timeout_s)
        return views.modals[-1]

    async def submit(self, modal: Modal, times: int = 1, **values: Any) -> Modal:
        """Send a modal with these values typed over what stands in it, ``times`` at once."""
        base = {"team": {"id": TEAM}, "api_app_id": MOOT["appId"], "token": "verification-token"}
        payload = self.api.views.submission(modal, values, base)
        sent = await asyncio.gather(
            *(self.events.deliver_once("interactive", payload) for _ in range(times))
        )
        for delivery in sent:
            self.api.views.settled(modal, delivery.answer, acked=delivery.acked.is_set())
        return modal

    async def edit(self, ts: str, text: str, *, channel: str = GENERAL, user: str = ALICE) -> None:
        await self.api.control(
            "edit-message", {"channel": channel, "ts": ts, "user": user, "text": text}
        )

    async def delete(self, ts: str, *, channel: str = GENERAL, user: str = ALICE) -> None:
        await self.api.control("delete-message", {"channel": channel, "ts": ts, "user": user})

    async def take_back(self, ts: str, *, channel: str = GENERAL) -> None:
        """An admin deletes a message of Moot's, as only admins may."""
        answer = await self.api.call("chat.delete", {"channel": channel, "ts": ts}, self.bot_token)
        assert answer["ok"], answer

    def archive(self, channel: str) -> None:
        """It takes no posts any more; of that bots are not told while they do not ask."""
        self.api.archived.add(channel)

    def unarchive(self, channel: str) -> None:
        self.api.archived.discard(channel)
        stamp = f"{time.time():.6f}"
        told = {"type": "message", "subtype": "channel_unarchive", "channel": channel}
        self.events.event({**told, "user": ALICE, "ts": stamp, "event_ts": stamp})

    async def other_bot(
        self, text: str, *files: Json, channel: str = GENERAL, thread: str = ""
    ) -> str:
        """Another app posts, with files (see ``file``); Moot hears of it."""
        args = {"channel": channel, "text": text, **({"thread_ts": thread} if thread else {})}
        made = await self.api.forward("chat.postMessage", args, CI["botToken"])
        self.events.event(
            {
                **made["message"],
                "bot_profile": {"name": "ci"},
                "event_ts": made["ts"],
                **({"files": list(files)} if files else {}),
            }
        )
        return str(made["ts"])

    # --- read what people see --------------------------------------------------------------

    async def seen(self, channel: str = GENERAL, *, by: str = ALICE) -> list[Seen]:
        """Everything in a channel that ``by`` can see, oldest first."""
        found = [see(m) for m in await self.api.stored(channel)]
        return [m for m in found if not m.only_for or m.only_for == by]

    async def thread(self, root: str, channel: str = GENERAL, *, by: str = ALICE) -> list[Seen]:
        return [m for m in await self.seen(channel, by=by) if root in (m.ts, m.root)]

    async def answers(self, root: str, channel: str = GENERAL) -> list[Seen]:
        """Our bot's own messages in a thread."""
        return [m for m in await self.thread(root, channel) if m.user == BOT and not m.only_for]

    async def wait_for_answer(
        self, root: str, channel: str = GENERAL, *, containing: str = "", timeout_s: float = 30.0
    ) -> Seen:
        async def found() -> Seen | None:
            answers = await self.answers(root, channel)
            return next((m for m in answers if containing in m.text), None)

        return await self.wait(found, f"an answer with {containing!r} in {root}", timeout_s)

    async def wait(
        self, ask: Callable[[], Awaitable[T | None]], what: str, timeout_s: float = 15.0
    ) -> T:
        """Ask until there is an answer; the first true one."""
        end = time.monotonic() + timeout_s
        while True:
            if answer := await ask():
                return answer
            if time.monotonic() > end:
                raise AssertionError(f"waited {timeout_s:.0f} s for {what}")
            await asyncio.sleep(0.02)

    async def until(self, true: Callable[[], bool], what: str, timeout_s: float = 15.0) -> None:
        async def ask() -> bool | None:
            return true() or None

        await self.wait(ask, what, timeout_s)

    async def until_connected(self, links: int = 1, timeout_s: float = 20.0) -> None:
        await self.until(lambda: len(self.events.sockets) >= links, "a socket", timeout_s)

    def calls(self, method: str) -> list[Call]:
        return [call for call in self.api.calls if call.method == method]

    # --- faults ----------------------------------------------------------------------------

    def rate_limit(self, method: str, *, retry_after_s: int = 1, times: int = 1) -> None:
        """HTTP 429."""
        self.api.faults.append(
            Fault(
                method,
                times,
                status=429,
                body={"ok": False, "error": "ratelimited"},
                headers={"Retry-After": str(retry_after_s)},
            )
        )

    def refuse(self, method: str, error: str, *, times: int = 1, **more: Any) -> None:
        """HTTP 200 and ``ok: false``; ``more`` may hold ``headers``, ``match``."""
        self.api.faults.append(Fault(method, times, body={"ok": False, "error": error}, **more))

    def break_down(self, method: str, *, status: int = 503, times: int = 1) -> None:
        """HTTP 5xx; nothing takes effect."""
        self.api.faults.append(Fault(method, times, status=status))

    def lose_reply(self, method: str, *, times: int = 1) -> None:
        """The call takes effect; the connection ends before its answer."""
        self.api.faults.append(Fault(method, times, takes_effect=True, cut=True))

    def cut_sockets(self) -> None:
        """End all links without a word."""
        for socket in list(self.events.sockets):
            if socket.transport is not None:
                socket.transport.abort()

    def freeze_sockets(self) -> None:
        """The links stay open and say nothing any more, not even to pings."""
        for socket in self.events.sockets:
            socket.frozen = True

    async def announce_disconnect(self, reason: str = "warning") -> None:
        for socket in list(self.events.sockets):
            await socket.ws.send_json({"type": "disconnect", "reason": reason, "debug_info": {}})


def _shown(block: Json) -> str:
    """A block's text; a table's rows as lines, its cells between bars."""
    if block.get("type") == "table":
        return "\n".join(" | ".join(row) for row in words(block))
    return str(block["text"]["text"]) if block.get("type") in ("section", "header") else ""


def see(message: Json) -> Seen:
    blocks = list(message.get("blocks") or [])
    shown = [seen for block in blocks if (seen := _shown(block))]
    for attachment in message.get("attachments") or []:
        blocks += attachment.get("blocks") or []
    buttons = {
        e["text"]["text"]: (e["action_id"], block.get("block_id", f"b{i}"), e.get("value", ""))
        for i, block in enumerate(blocks)
        if block.get("type") == "actions"
        for e in block["elements"]
        if e["type"] == "button"
    }
    menus = {
        e["placeholder"]["text"]: {
            o["text"]["text"]: {
                "type": e["type"],
                "action_id": e["action_id"],
                "block_id": block.get("block_id", f"b{i}"),
                "selected_option": o,
            }
            for o in e["options"]
        }
        for i, block in enumerate(blocks)
        if block.get("type") == "actions"
        for e in block["elements"]
        if e["type"] == "static_select"
    }
    return Seen(
        ts=message["ts"],
        user=message.get("user", ""),
        text="\n".join(shown) if shown else message.get("text", ""),
        root=message.get("thread_ts", ""),
        buttons=buttons,
        menus=menus,
        only_for=message.get("ephemeral_to", ""),
        edited="edited" in message,
        raw=message,
    )
