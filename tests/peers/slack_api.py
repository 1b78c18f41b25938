"""The Web API of the loopback Slack: forwards to ``local-slack`` and adds what it leaves out.

Tokens and their kinds, scopes, message metadata, paging, limits, tombstones, echoes of the bot's
own posts, and faults on demand.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import aiohttp
from aiohttp import web

from tests.peers.slack_delivery import Deliveries, Json
from tests.peers.slack_streams import Streams
from tests.peers.slack_tables import tables_ok
from tests.peers.slack_views import BadView, Views

JSON_FIELDS = ("blocks", "attachments", "metadata", "view", "files")
UPDATE_MAX_BYTES = 4_000


class Refused(Exception):
    """The Web API answers ``ok: false`` with this error."""


@dataclass
class Call:
    """One Web API call as it came in."""

    method: str
    args: Json
    at: float


@dataclass
class Fault:
    """What happens to the next ``times`` calls of ``method`` that ``match``.

    ``takes_effect``: the call is done all the same; ``cut``: the connection ends without an answer;
    ``text``: (content type, text) instead of the JSON ``body``.
    """

    method: str
    times: int = 1
    status: int = 200
    body: Json = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    takes_effect: bool = False
    cut: bool = False
    text: tuple[str, str] = ("", "")
    match: Callable[[Json], bool] = lambda _args: True


class WebApi:
    """Answers ``/api/METHOD``. Public attributes may be changed by a test at any time.

    Attributes:
        on_call: awaited around every call with ("before" | "after", method, args); "after" means
            that it took effect and is not answered yet: the places where a crash test kills.
        faults: what goes wrong, first match first.
        slow / hang: seconds by which a method answers late; methods that never answer.
        person_flags: fields put into ``users.info`` answers, by user id.
        channel_flags: fields put into ``conversations.info`` answers, by channel id.
        keeps_metadata: whether the metadata of posts can be read back.
        page_max: messages in one answer at most; Slack may give fewer than were asked for.
        direct: the channels of its direct messages.
        archived: channels that take no posts.
        member_of: channels that the bot was invited to.
        scopes: the header that lists the granted ones.
        streams: messages that grow.
        calls: all that came in.
    """

    def __init__(self, *, upstream: str, events: Deliveries, http: aiohttp.ClientSession) -> None:
        self.upstream = upstream
        self.url = ""
        self.scopes = ""
        self.keeps_metadata = True
        self.page_max = 999
        self.member_of: set[str] = set()
        self.direct: set[str] = set()
        self.archived: set[str] = set()
        self.person_flags: dict[str, Json] = {}
        self.channel_flags: dict[str, Json] = {}
        self.groups: dict[str, list[str]] = {}  # user groups and their members
        self.on_call: Callable[[str, str, Json], Awaitable[None]] | None = None
        self.faults: list[Fault] = []
        self.slow: dict[str, float] = {}
        self.hang: set[str] = set()
        self.calls: list[Call] = []
        self.views = Views()
        self.streams = Streams(self)
        self.app = events.app
        self.bot_user = events.bot_user
        self._events = events
        self._http = http
        self._metadata: dict[tuple[str, str], Json] = {}
        self._attachments: dict[tuple[str, str], Any] = {}
        self.shared: dict[tuple[str, str], list[Json]] = {}  # the files of messages
        self.transcripts: dict[str, list[str]] = {}  # of audio clips: each state, then the words
        self._tombstones: dict[str, set[str]] = {}
        self.reactions: dict[tuple[str, str], list[str]] = {}
        self.responded: list[Json] = []

    async def answer(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        args = await parse(request)
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.calls.append(Call(method, args, time.time()))
        if self.on_call is not None:
            await self.on_call("before", method, args)
        await asyncio.sleep(3600 if method in self.hang else self.slow.get(method, 0.0))
        fault = self._fault(method, args)
        if fault is not None and not fault.takes_effect:
            return self._fail(request, fault)
        try:
            result = await self.call(method, args, bearer or args.get("token", ""))
        except Refused as refusal:
            result = {"ok": False, "error": str(refusal)}
        if self.on_call is not None:
            await self.on_call("after", method, args)
        if fault is not None:
            return self._fail(request, fault)
        return web.json_response(result, headers={"x-oauth-scopes": self.scopes})

    def _fault(self, method: str, args: Json) -> Fault | None:
        for fault in self.faults:
            if fault.method == method and fault.times > 0 and fault.match(args):
                fault.times -= 1
                return fault
        return None

    def _fail(self, request: web.Request, fault: Fault) -> web.Response:
        if fault.cut and isinstance(request.transport, asyncio.Transport):
            request.transport.abort()
        kind, text = fault.text
        if kind:
            return web.Response(text=text, content_type=kind, status=fault.status)
        return web.json_response(fault.body, status=fault.status, headers=fault.headers)

    async def call(self, method: str, args: Json, token: str) -> Json:
        wants_app = method == "apps.connections.open"
        if token not in (self.app["botToken"], self.app["appToken"]):
            raise Refused("invalid_auth")
        if wants_app != (token == self.app["appToken"]):
            raise Refused("not_allowed_token_type")
        if method.startswith("chat.") and args.get("channel") in self.archived:
            raise Refused("is_archived")
        name = "_" + method.replace(".", "_")
        own = getattr(self, name, None) or getattr(self.streams, name, None)
        return await (own(args) if own else self.forward(method, args, token))

    async def forward(self, method: str, args: Json, token: str) -> Json:
        async with self._http.post(
            f"{self.upstream}/api/{method}", json=args, headers={"Authorization": f"Bearer {token}"}
        ) as answer:
            return await answer.json()

    async def _apps_connections_open(self, _args: Json) -> Json:
        url = self.url.replace("http", "ws", 1)
        return {"ok": True, "url": f"{url}/link/{self._events.ticket()}"}

    async def _files_info(self, args: Json) -> Json:
        if (states := self.transcripts.get(args["file"])) is None:
            return await self.forward("files.info", args, self.app["botToken"])
        state = states.pop(0) if len(states) > 1 else states[0]
        done = state != "processing"
        preview = {"content": state, "has_more": False} if done else {}
        transcription = {"status": "complete" if done else state, "preview": preview}
        file = {"id": args["file"], "subtype": "slack_audio", "transcription": transcription}
        return {"ok": True, "file": file}

    async def _users_info(self, args: Json) -> Json:
        result = await self.forward("users.info", args, self.app["botToken"])
        if result["ok"]:
            result["user"].update(self.person_flags.get(args["user"], {}))
        return result

    async def _usergroups_users_list(self, args: Json) -> Json:
        if args["usergroup"] not in self.groups:
            raise Refused("no_such_subteam")
        return {"ok": True, "users": self.groups[args["usergroup"]]}

    async def _usergroups_list(self, _args: Json) -> Json:
        return {"ok": True, "usergroups": [{"id": one} for one in self.groups]}

    async def _conversations_info(self, args: Json) -> Json:
        result = await self.forward("conversations.info", args, self.app["botToken"])
        if result["ok"]:
            result["channel"]["is_member"] = args["channel"] in self.member_of
            result["channel"].update(self.channel_flags.get(args["channel"], {}))
        return result

    async def _users_conversations(self, _args: Json) -> Json:
        ids = sorted(self.member_of | self.direct)
        return {"ok": True, "channels": [{"id": ident} for ident in ids]}

    async def _views_open(self, args: Json) -> Json:
        try:
            return self.views.opened(args)
        except BadView as error:
            raise Refused(str(error)) from None

    async def respond(self, request: web.Request) -> web.Response:
        """What was posted to a shortcut's ``response_url``."""
        self.responded.append(await request.json())
        return web.Response(text="ok")

    async def _chat_postEphemeral(self, args: Json) -> Json:  # noqa: N802 - named after the method
        channel = args.get("channel", "")
        if channel[:1] not in ("D", "U") and channel not in self.member_of:
            raise Refused("not_in_channel")
        return await self.forward("chat.postEphemeral", args, self.app["botToken"])

    async def _views_publish(self, args: Json) -> Json:
        if not all(block_ok(block) for block in (args.get("view") or {}).get("blocks") or ()):
            raise Refused("invalid_arguments")
        try:
            return self.views.published(args)
        except BadView as error:
            raise Refused(str(error)) from None

    async def _reactions_add(self, args: Json) -> Json:
        there = await self._reacted(args)
        if args["name"] in there:
            raise Refused("already_reacted")
        there.append(args["name"])
        return {"ok": True}

    async def _reactions_remove(self, args: Json) -> Json:
        there = await self._reacted(args)
        if args["name"] not in there:
            raise Refused("no_reaction")
        there.remove(args["name"])
        return {"ok": True}

    async def _reacted(self, args: Json) -> list[str]:
        """The bot's own reactions under a message."""
        if "reactions:write" not in self.scopes:
            raise Refused("missing_scope")
        if await self.message(args["channel"], args["timestamp"]) is None:
            raise Refused("message_not_found")
        return self.reactions.setdefault((args["channel"], args["timestamp"]), [])

    async def _chat_postMessage(self, args: Json) -> Json:  # noqa: N802 - named after the method
        channel = args.get("channel", "")
        # A person's id stands for the direct messages with them.
        if channel[:1] not in ("D", "U") and channel not in self.member_of:
            raise Refused("not_in_channel")
        check_size(args, 40_000, bytes_=False)
        if root := args.get("thread_ts"):
            known = await self.messages(channel)
            if any(m["ts"] == root and m.get("thread_ts", root) != root for m in known):
                raise Refused("invalid_thread_ts")
            if not any(root in (m["ts"], m.get("thread_ts")) for m in known):
                raise Refused("thread_not_found")
        metadata = args.get("metadata")
        rest = {k: v for k, v in args.items() if k != "metadata"}
        result = await self.forward("chat.postMessage", rest, self.app["botToken"])
        if result["ok"]:
            if metadata and self.keeps_metadata:
                self._metadata[channel, result["ts"]] = metadata
            echo = {**result["message"], "event_ts": result["ts"], "team": self._events.team}
            self._events.event({**echo, "channel_type": "im" if channel[0] == "D" else "channel"})
        return result

    async def _chat_update(self, args: Json) -> Json:
        check_size(args, UPDATE_MAX_BYTES, bytes_=True)
        before = await self.message(args["channel"], args["ts"])
        if before is not None and before.get("user") != self.bot_user:
            raise Refused("cant_update_message")
        result = await self.forward("chat.update", args, self.app["botToken"])
        if result["ok"]:
            self._attachments[args["channel"], args["ts"]] = args.get("attachments") or []
            self._changed(args["channel"], result["message"], before)
        return result

    async def _chat_delete(self, args: Json) -> Json:
        """Slack tells everybody of a deleted message, whoever deleted it; local-slack only some."""
        before = await self.message(args["channel"], args["ts"])
        result = await self.forward("chat.delete", args, self.app["botToken"])
        if result["ok"] and before is not None:
            self._gone(args["channel"], before)
        return result

    def _gone(self, channel: str, before: Json) -> None:
        stamp = f"{time.time():.6f}"
        self._events.event(
            {
                "type": "message",
                "subtype": "message_deleted",
                "hidden": True,
                "channel": channel,
                "channel_type": "im" if channel[0] == "D" else "channel",
                "ts": stamp,
                "event_ts": stamp,
                "deleted_ts": before["ts"],
                "previous_message": before,
            }
        )

    def _changed(self, channel: str, message: Json, before: Json | None) -> None:
        self._events.event(
            {
                "type": "message",
                "subtype": "message_changed",
                "hidden": True,
                "channel": channel,
                "ts": f"{time.time():.6f}",
                "event_ts": f"{time.time():.6f}",
                "message": message,
                "previous_message": before,
            }
        )

    async def _conversations_replies(self, args: Json) -> Json:
        root = args["ts"]
        found = await self.messages(args["channel"])
        here = next((m for m in found if m["ts"] == root), None)
        if here is not None and here.get("thread_ts", root) != root:
            return {"ok": True, "messages": [here], "has_more": False}
        thread = [m for m in found if root in (m["ts"], m.get("thread_ts"))]
        if not thread:
            raise Refused("thread_not_found")
        return self._page(args, [m for m in thread if m["ts"] == root or within(args, m["ts"])])

    async def _conversations_history(self, args: Json) -> Json:
        found = await self.messages(args["channel"])
        newest = {m["thread_ts"]: m["ts"] for m in found if m.get("thread_ts", m["ts"]) != m["ts"]}
        level = [
            {**m, "latest_reply": newest[m["ts"]]} if m["ts"] in newest else m
            for m in found
            if m.get("thread_ts", m["ts"]) == m["ts"]
        ]
        return self._page(args, [m for m in reversed(level) if within(args, m["ts"])])

    def _page(self, args: Json, messages: list[Json]) -> Json:
        start = int(args.get("cursor") or 0)
        end = start + min(int(args.get("limit") or 100), self.page_max)
        more = end < len(messages)
        if str(args.get("include_all_metadata", "")).lower() not in ("1", "true"):
            messages = [{k: v for k, v in m.items() if k != "metadata"} for m in messages]
        return {
            "ok": True,
            "messages": messages[start:end],
            "has_more": more,
            "response_metadata": {"next_cursor": str(end) if more else ""},
        }

    # --- what is on record -----------------------------------------------------------------

    async def stored(self, channel: str) -> list[Json]:
        """All messages of a channel, private notes included, oldest first."""
        async with self._http.get(f"{self.upstream}/_control/messages/{channel}") as answer:
            found: list[Json] = (await answer.json())["messages"]
        for message in found:
            key = (channel, message["ts"])
            message["attachments"] = self._attachments.get(key, message.get("attachments") or [])
            if files := self.shared.get(key):
                message.update(subtype="file_share", files=files)
            if key in self._metadata:
                message["metadata"] = self._metadata[key]
        return found

    async def messages(self, channel: str) -> list[Json]:
        """What the API shows of a channel: no private notes, a tombstone for a deleted root."""
        found = [m for m in await self.stored(channel) if m.get("subtype") != "ephemeral"]
        roots = {m.get("thread_ts") for m in found}
        found += [
            {
                "type": "message",
                "subtype": "tombstone",
                "user": "USLACKBOT",
                "text": "This message was deleted.",
                "ts": ts,
                "thread_ts": ts,
            }
            for ts in self._tombstones.get(channel, ())
            if ts in roots
        ]
        return sorted(found, key=lambda m: ts_key(m["ts"]))

    async def message(self, channel: str, ts: str) -> Json | None:
        return next((m for m in await self.stored(channel) if m["ts"] == ts), None)

    async def control(self, what: str, body: Json) -> Json:
        """Act as a person."""
        async with self._http.post(f"{self.upstream}/_control/{what}", json=body) as answer:
            result: Json = await answer.json()
        if not result.get("ok"):
            raise RuntimeError(f"local-slack refused {what}: {result}")
        if what == "delete-message":
            self._tombstones.setdefault(body["channel"], set()).add(body["ts"])
        return result


def ts_key(ts: str) -> tuple[int, int]:
    seconds, _, part = ts.partition(".")
    return int(seconds), int(part or 0)


def within(args: Json, ts: str) -> bool:
    inclusive = str(args.get("inclusive", "")).lower() in ("1", "true")
    at, oldest, latest = float(ts), float(args.get("oldest") or 0), args.get("latest")
    after = at >= oldest if inclusive else at > oldest
    before = not latest or (at <= float(latest) if inclusive else at < float(latest))
    return after and before


def check_size(args: Json, limit: int, *, bytes_: bool) -> None:
    text, blocks = args.get("text") or "", args.get("blocks") or []
    for attachment in args.get("attachments") or []:
        blocks = blocks + (attachment.get("blocks") or [])
    if not text.strip() and not blocks:
        raise Refused("no_text")
    if (len(text.encode()) if bytes_ else len(text)) > limit:
        raise Refused("msg_too_long")
    if len(blocks) > 50 or not all(block_ok(b) for b in blocks) or not tables_ok(blocks):
        raise Refused("invalid_blocks")


def block_ok(block: Json) -> bool:
    if block.get("type") == "section":
        return 0 < len(block.get("text", {}).get("text", "")) <= 3_000
    if block.get("type") == "actions":
        elements = block.get("elements", [])
        ids = {e.get("action_id") for e in elements}
        fits = all(element_ok(e) for e in elements)
        return 0 < len(elements) <= 25 and len(ids) == len(elements) and fits
    return True


def element_ok(element: Json) -> bool:
    if element.get("type") == "static_select":
        options = element.get("options") or []
        return (
            0 < len(element["placeholder"]["text"]) <= 150
            and 0 < len(options) <= 100
            and all(0 < len(o["text"]["text"]) <= 75 for o in options)
            and all(0 < len(o["value"]) <= 150 for o in options)
        )
    return len(element["text"]["text"]) <= 75 and len(element.get("value", "")) <= 2_000


async def parse(request: web.Request) -> Json:
    args: Json = dict(request.query)
    raw = (await request.read()).decode("utf-8", "replace")
    if request.content_type == "application/json":
        args.update(json.loads(raw or "{}"))
    else:
        args.update(parse_qsl(raw, keep_blank_values=True))
    for name in JSON_FIELDS:
        if isinstance(args.get(name), str):
            args[name] = json.loads(args[name])
    return args
