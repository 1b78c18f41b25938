"""What was written while nobody listened, out of the histories of channels and threads.

A thread under an old message shows in no list: a channel's newest messages tell of the threads
below them, and those of the conversations that we know are read one by one (``bridge.gaps``).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import structlog

from adapters.slack.api import GONE, Api
from adapters.slack.events import CHAT, Identity, ids_in, ours, to_event
from adapters.slack.names import People
from adapters.slack.places import channel_event, public_of, shared_of
from adapters.slack.text import raw_text, unnamed_channels
from core.errors import ChatRefused
from core.model import ChatEvent, ConversationKey, Missed

log = structlog.get_logger()
Json = Mapping[str, Any]
PAGE = 200
MOST_LISTED = 1_000
KINDS = "public_channel,private_channel,mpim,im"


async def places(api: Api, me: Identity) -> tuple[ConversationKey, ...]:
    """The channels and direct messages that we are in. Raises as :meth:`Api.call`."""
    found: list[ConversationKey] = []
    cursor = None
    while len(found) < MOST_LISTED:
        answer = await api.call(
            "users.conversations", types=KINDS, exclude_archived=True, limit=PAGE, cursor=cursor
        )
        ids = [str(channel["id"]) for channel in answer.get("channels") or ()]
        found += [ConversationKey(CHAT, me.team_id, ident, "") for ident in ids]
        cursor = (answer.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            break
    return tuple(found)


async def missed(
    api: Api, people: People, me: Identity, key: ConversationKey, since: float, limit: int
) -> Missed:
    """See :meth:`core.ports.WithHistory.missed`."""
    if key.root:
        try:
            found, whole = await _thread(api, key, since, limit)
        except ChatRefused as error:
            if error.code not in GONE:
                raise
            return Missed(covers=since)  # its first message is gone, and nobody had replied
    else:
        found, whole = await _level(api, key, since, limit)
    events = [] if key.root else await _standing(key, people, me)
    for message in found:
        if float(message["ts"]) > since:
            events += await _events(message, people, me, key.channel)
    threads = tuple(_thread_of(m, key.channel, me) for m in found if _has_news(m, key, since))
    return Missed(
        tuple(events),
        frozenset(str(m["ts"]) for m in found),
        since if whole else None,
        threads,
    )


async def _thread(
    api: Api, key: ConversationKey, since: float, limit: int
) -> tuple[list[Json], bool]:
    """The thread since then, oldest first; whether that is all of it."""
    found: list[Json] = []
    cursor = None
    while len(found) < limit:
        answer = await api.call(
            "conversations.replies",
            channel=key.channel,
            ts=key.root,
            oldest=f"{since:.6f}",
            limit=PAGE,
            cursor=cursor,
        )
        found += answer.get("messages") or ()
        cursor = (answer.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            return found, True
    log.warning("slack.too_much_missed", channel=key.channel)
    return found, False


async def _level(
    api: Api, key: ConversationKey, since: float, limit: int
) -> tuple[list[Json], bool]:
    """The newest messages of a channel's level, back to that moment at least, oldest first."""
    found: list[Json] = []
    cursor = None
    while len(found) < limit:
        answer = await api.call(
            "conversations.history", channel=key.channel, limit=PAGE, cursor=cursor
        )
        found += answer.get("messages") or ()
        cursor = (answer.get("response_metadata") or {}).get("next_cursor")
        if not cursor or float(found[-1]["ts"]) <= since:
            return found[::-1], True
    log.warning("slack.too_much_missed", channel=key.channel)
    return found[::-1], False


async def _events(message: Json, people: People, me: Identity, channel: str) -> list[ChatEvent]:
    """A message as its event, and the edit of it if there was one; none for our own."""
    if ours(message, me):
        return []
    spoken = {**message, "channel": channel}
    told = {"type": "message", "subtype": "message_changed", "channel": channel}
    bodies: list[Json] = []
    if message.get("subtype") != "tombstone":
        bodies.append({"event": spoken})
    if message.get("subtype") == "tombstone" or message.get("edited"):
        bodies.append({"event": {**told, "message": message}})
    users, named = ids_in(message), unnamed_channels(raw_text(message))
    known = await people.look_up(me, users, {*named, channel})
    events = [to_event(body, me, known) for body in bodies]
    public, shared = public_of({}, channel, known), shared_of({}, channel, known)
    return [replace(event, public=public, shared=shared) for event in events if event is not None]


async def _standing(key: ConversationKey, people: People, me: Identity) -> list[ChatEvent]:
    """Who may read a channel by now; it may have been converted, or taken posts again."""
    if key.channel.startswith("D"):
        return []
    people.forget(key.channel)
    known = await people.look_up(me, (), (key.channel,))
    public = known.public.get(key.channel)
    event = channel_event(key.channel, "missed", me, time.time(), public=public)
    return [replace(event, shared=known.shared.get(key.channel))]


def _has_news(message: Json, key: ConversationKey, since: float) -> bool:
    """Whether something was written below a message of a channel's level."""
    return not key.root and float(message.get("latest_reply") or 0.0) > since


def _thread_of(message: Json, channel: str, me: Identity) -> ConversationKey:
    return ConversationKey(CHAT, me.team_id, channel, str(message["ts"]))
