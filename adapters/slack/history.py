"""Reading a thread, or a channel's level, page by page."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any

import structlog

from adapters.slack.api import GONE, Api
from adapters.slack.events import Identity, ours
from core.errors import ChatRefused
from core.model import ConversationKey

log = structlog.get_logger()
Json = Mapping[str, Any]
PAGE = 200
MAX_PAGES = 25


async def messages(api: Api, key: ConversationKey, **args: Any) -> AsyncIterator[Json]:
    """The messages where ``key``'s posts appear: its thread, or its channel's level."""
    if key.root:
        try:
            async for message in _pages(
                api, "conversations.replies", channel=key.channel, ts=key.root, **args
            ):
                yield message
        except ChatRefused as error:
            if error.code not in GONE or "oldest" not in args:
                raise
        else:
            return
    async for message in _pages(api, "conversations.history", channel=key.channel, **args):
        yield message


async def _pages(api: Api, method: str, **args: Any) -> AsyncIterator[Json]:
    cursor = None
    for _ in range(MAX_PAGES):
        answer = await api.call(method, limit=PAGE, cursor=cursor, **args)
        for message in answer.get("messages") or ():
            yield message
        cursor = (answer.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            return
    log.warning("slack.too_many_pages", method=method, channel=args.get("channel"))


async def newest(api: Api, key: ConversationKey, limit: int, me: Identity) -> list[Json]:
    """The newest ``limit`` messages that are not ours, oldest first, a thread's root included."""
    root: list[Json] = []
    rest: deque[Json] = deque(maxlen=max(limit, 1))
    async for message in messages(api, key):
        if ours(message, me):
            continue
        if not key.root:  # a channel's history comes newest first
            rest.appendleft(message)
            if len(rest) == limit:
                break
        elif message.get("ts") == key.root:
            root = [message]
        else:
            rest.append(message)
    found = list(rest)
    return root + found[len(found) - max(limit - len(root), 0) :] if root else found
