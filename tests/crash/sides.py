"""The loopback platforms as the crash test sees them: say, look, deliver again, watch the wire."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.peers.discord import LoopbackDiscord
from tests.peers.discord.rest import EDIT, OPEN_THREAD, SEND
from tests.peers.slack import ALICE, DEV, GENERAL, TEAM, LoopbackSlack, Seen

Wire = Callable[[str, str], None]
"""Told of every request that took effect, before it is answered: ``(what, text)``."""


@dataclass(frozen=True)
class Shown:
    """One of Moot's own messages as people see it."""

    id: str
    text: str
    buttons: tuple[str, ...]


class Side(Protocol):
    """A platform. Roots and event ids are as Moot names them."""

    name: str
    wire: Wire

    def settings(self, project: Path) -> dict[str, Any]: ...
    def env(self) -> dict[str, str]: ...
    async def mention(self, text: str, *, may_write: bool = False) -> tuple[str, str]:
        """Ask at channel level; the thread's root and the event's id."""
        ...

    async def reply(self, root: str, text: str) -> str:
        """Write into a thread, mentioning nobody; the event's id."""
        ...

    async def command(self, name: str, text: str) -> str:
        """Use a slash command; the event's id."""
        ...

    async def press(self, root: str, label: str) -> None:
        """Press a button that stands in a thread."""
        ...

    async def shown(self, root: str) -> list[Shown]:
        """Moot's own messages of a thread, in order."""
        ...

    async def take_back(self, root: str, ident: str) -> None:
        """An admin deletes one of Moot's own messages of a thread."""
        ...

    async def roots(self, containing: str) -> list[str]:
        """Moot's own messages at channel level that hold these words."""
        ...

    def has_thread(self, root: str) -> bool: ...
    def replay(self, fully: bool) -> None:
        """Deliver again what people did: of the last life, or (``fully``) all of it."""
        ...

    def doubled(self, on: bool) -> None:
        """Deliver every event twice at once from now on, or once."""
        ...

    def stamp(self) -> int:
        """Grows whenever what is shown may have changed."""
        ...


class SlackSide:
    """Events come as two types already; each of those twice here, and again after a restart."""

    name = "slack"

    def __init__(self, slack: LoopbackSlack) -> None:
        self.slack = slack
        self.wire: Wire = lambda _what, _text: None
        self._replayed = 0
        self._channels: dict[str, str] = {}
        self._watch(slack.api, "_chat_postMessage", "post")
        self._watch(slack.api, "_chat_update", "edit")
        self._watch(slack.api.streams, "_chat_appendStream", "edit")

    def _watch(self, methods: object, name: str, what: str) -> None:
        act = getattr(methods, name)

        async def watched(args: dict[str, Any]) -> Any:
            result = await act(args)
            self.wire(what, args.get("text") or args.get("markdown_text") or "")
            return result

        setattr(methods, name, watched)

    def settings(self, project: Path) -> dict[str, Any]:
        return {
            "slack": {"enabled": True, "api_url": self.slack.api_url},
            "access": {"allow": [f"slack:{ALICE}"]},
            "projects": {
                "x": {"path": str(project), "permission": "edit", "channels": [f"slack:{DEV}"]}
            },
        }

    def env(self) -> dict[str, str]:
        return self.slack.env()

    async def mention(self, text: str, *, may_write: bool = False) -> tuple[str, str]:
        channel = DEV if may_write else GENERAL
        ts = await self.slack.mention(text, channel=channel)
        self._channels[ts] = channel
        return ts, f"slack:{TEAM}:{channel}:{ts}"

    async def reply(self, root: str, text: str) -> str:
        channel = self._channels.get(root, GENERAL)
        ts = await self.slack.say(text, thread=root, channel=channel)
        return f"slack:{TEAM}:{channel}:{ts}"

    async def command(self, name: str, text: str) -> str:
        deliveries, before = self.slack.events.deliveries, len(self.slack.events.deliveries)
        self.slack.events.spawn(self.slack.slash(f"/{name}", text))

        def sent() -> bool:
            return any(d.kind == "slash_commands" for d in deliveries[before:])

        await self.slack.until(sent, "the command to be sent")
        made = next(d for d in deliveries[before:] if d.kind == "slash_commands")
        return f"slack:{TEAM}:command:{made.payload['trigger_id']}"

    async def press(self, root: str, label: str) -> None:
        found = [m for m in await self._thread(root) if label in m.buttons]
        self.slack.events.spawn(self.slack.click(found[-1], label))

    async def _thread(self, root: str) -> list[Seen]:
        return await self.slack.answers(root, self._channels.get(root, GENERAL))

    async def shown(self, root: str) -> list[Shown]:
        return [
            Shown(m.ts, m.text, tuple(value for _, _, value in m.buttons.values()))
            for m in await self._thread(root)
        ]

    async def take_back(self, root: str, ident: str) -> None:
        await self.slack.take_back(ident, channel=self._channels.get(root, GENERAL))

    async def roots(self, containing: str) -> list[str]:
        found = await self.slack.seen()
        return [
            m.ts
            for m in found
            if m.user == self.slack.bot_user and containing in m.text and m.root in ("", m.ts)
        ]

    def has_thread(self, root: str) -> bool:
        return bool(root)

    def replay(self, fully: bool) -> None:
        events = self.slack.events
        known = events.deliveries[0 if fully else self._replayed :]
        self._replayed = len(events.deliveries)
        seen: set[str] = set()
        for delivery in known:
            if delivery.kind != "events_api":
                events.spawn(events.interaction(delivery.kind, copy.deepcopy(delivery.payload)))
                continue
            event = delivery.payload["event"]
            if event.get("user") == ALICE and delivery.payload["event_id"] not in seen:
                seen.add(delivery.payload["event_id"])
                events.send(copy.deepcopy(delivery.payload))

    def doubled(self, on: bool) -> None:
        self.slack.events.duplicate = on

    def stamp(self) -> int:
        return len(self.slack.api.calls)


class DiscordSide:
    """Discord delivers once; the doubles are a gateway's that replays after a resume."""

    name = "discord"

    def __init__(self, discord: LoopbackDiscord) -> None:
        self.discord = discord
        self.wire: Wire = lambda _what, _text: None
        self.project_channel = discord.make_channel("project")
        self._events: list[tuple[str, Any]] = []
        self._replayed = 0
        discord.backend.subscribers.insert(0, self._record)
        perform = discord.rest.perform

        def watched(method: str, path: str, body: Any, *more: Any) -> Any:
            result = perform(method, path, body, *more)
            if method == "POST" and SEND.fullmatch(path):
                self.wire("post", body.get("content") or "")
            elif method == "PATCH" and EDIT.fullmatch(path):
                self.wire("edit", body.get("content") or "")
            elif method == "POST" and OPEN_THREAD.fullmatch(path):
                self.wire("thread", "")
            return result

        discord.rest.perform = watched  # type: ignore[method-assign]

    def _record(self, event: str, payload: Any) -> None:
        people = event == "INTERACTION_CREATE" or (
            event == "MESSAGE_CREATE" and str(payload["author"]["id"]) == self.discord.alice.id
        )
        if people:
            self._events.append((event, copy.deepcopy(dict(payload))))

    def settings(self, project: Path) -> dict[str, Any]:
        discord = self.discord
        channels = [f"discord:{self.project_channel}"]
        return {
            "discord": {
                "enabled": True,
                "api_url": discord.api_url,
                "gateway_url": discord.gateway_url,
            },
            "access": {"allow": [f"discord:{discord.alice.id}"]},
            "projects": {"x": {"path": str(project), "permission": "edit", "channels": channels}},
        }

    def env(self) -> dict[str, str]:
        return {"MOOT__DISCORD__TOKEN": self.discord.token}

    async def mention(self, text: str, *, may_write: bool = False) -> tuple[str, str]:
        channel = self.project_channel if may_write else self.discord.channel
        ident = self.discord.alice.ask(channel, text)
        return ident, f"discord:{channel}:{ident}"

    async def reply(self, root: str, text: str) -> str:
        ident = self.discord.alice.say(root, text)
        return f"discord:{root}:{ident}"

    async def command(self, name: str, text: str) -> str:
        option = {"ask": "question", "roundtable": "topic"}[name]
        asked = self.discord.alice.slash(self.discord.channel, name, **{option: text})
        return f"discord:interaction:{asked.record.id}"

    async def press(self, root: str, label: str) -> None:
        here = [
            m
            for place in (root, self.discord.channel, self.project_channel)
            for m in self.discord.messages(place)
            if m.by_us and (place == root or m.id == root)
        ]
        found = [m for m in here if label in [text for _, text in m.buttons]]
        self.discord.alice.click(found[-1], label=label)

    async def shown(self, root: str) -> list[Shown]:
        channels = (self.discord.channel, self.project_channel)
        opened = [m for c in channels for m in self.discord.messages(c) if m.id == root]
        seen = [*opened, *self.discord.messages(root)]
        return [
            Shown(m.id, m.text, tuple(action for action, _ in m.buttons))
            for m in seen
            if m.by_us and not m.system
        ]

    async def take_back(self, root: str, ident: str) -> None:
        self.discord.alice.delete(root, ident)

    async def roots(self, containing: str) -> list[str]:
        level = self.discord.messages(self.discord.channel)
        return [m.id for m in level if m.by_us and not m.system and containing in m.text]

    def has_thread(self, root: str) -> bool:
        return self.discord.has_thread(root)

    def replay(self, fully: bool) -> None:
        known = self._events[0 if fully else self._replayed :]
        self._replayed = len(self._events)
        for event, payload in known:
            self.discord.gateway._emitted(event, payload)  # to the bot only, not to the recorder

    def doubled(self, on: bool) -> None:
        self.discord.gateway.duplicate = 1_000_000 if on else 0

    def stamp(self) -> int:
        return len(self.discord.requests)


async def unchanged_for(side: Side, seconds: float, within_s: float = 30.0) -> None:
    """Wait until nothing was sent to the platform for so long."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + within_s
    last, since = side.stamp(), loop.time()
    while loop.time() - since < seconds:
        assert loop.time() < give_up, "Moot keeps sending"
        await asyncio.sleep(0.05)
        if side.stamp() != last:
            last, since = side.stamp(), loop.time()
