"""Reading a thread, or a channel's level, page by page."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import structlog

from adapters.slack.api import GONE, Api
from adapters.slack.events import ids_in
from adapters.slack.text import raw_text, unnamed_channels
from core.errors import ChatBusy, ChatRefused
from core.model import ConversationKey

log = structlog.get_logger()
Json = Mapping[str, Any]
PAGE = 200
MAX_PAGES = 25
LOOKED_UP = 100  # people, and channels, of one history
LEAST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0


async def messages(
    api: Api, key: ConversationKey, *, patient: bool = False, **args: Any
) -> AsyncIterator[Json]:
    """The messages where ``key``'s posts appear: its thread, or its channel's level.

    ``patient``: a page that Slack wants to be waited for is waited for, and not all read again;
    whoever asks has a deadline.
    """
    if key.root:
        try:
            async for message in _pages(
                api, "conversations.replies", patient, channel=key.channel, ts=key.root, **args
            ):
                yield message
        except ChatRefused as error:
            if error.code not in GONE or "oldest" not in args:
                raise
        else:
            return
    history = _pages(api, "conversations.history", patient, channel=key.channel, **args)
    async for message in history:
        yield message


async def _pages(
    api: Api,
    method: str,
    patient: bool,  # noqa: FBT001
    **args: Any,
) -> AsyncIterator[Json]:
    cursor = None
    for _ in range(MAX_PAGES):
        answer = await _page(api, method, patient, limit=PAGE, cursor=cursor, **args)
        for message in answer.get("messages") or ():
            yield message
        cursor = (answer.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            return
    log.warning("slack.too_many_pages", method=method, channel=args.get("channel"))


async def _page(api: Api, method: str, patient: bool, **args: Any) -> Any:  # noqa: FBT001
    while True:
        try:
            return await api.call(method, **args)
        except ChatBusy as busy:
            if not patient or busy.retry_after_s > LONGEST_PAUSE_S:
                raise
            await asyncio.sleep(max(busy.retry_after_s, LEAST_PAUSE_S))


async def newest(api: Api, key: ConversationKey, limit: int) -> tuple[list[Json], bool]:
    """The newest ``limit`` messages, oldest first, a thread's first one included.

    And whether there are others between these and the beginning.
    """
    root: list[Json] = []
    rest: deque[Json] = deque(maxlen=max(limit - bool(key.root), 0))
    seen = 0
    async for message in messages(api, key, patient=True):
        if key.root and message.get("ts") == key.root:
            root = [message]
            continue
        seen += 1
        if key.root:
            rest.append(message)
        elif seen > limit:  # a channel's history comes newest first
            break
        else:
            rest.appendleft(message)
    return [*root, *rest], seen > len(rest)


def to_look_up(found: Sequence[Json]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The people and channels of a history to ask Slack about, the newest first.

    Who spoke comes before who was named, and all of it is bounded: each is a call, and while Slack
    refuses those for their number nobody's standing is known.
    """
    newest = found[::-1]
    authors = [i for message in newest for i in ids_in({**message, "text": "-"})[:1]]
    named = [i for message in newest for i in ids_in(message)]
    channels = [c for message in newest for c in unnamed_channels(raw_text(message))]
    users = tuple(dict.fromkeys((*authors, *named)))
    return users[:LOOKED_UP], tuple(dict.fromkeys(channels))[:LOOKED_UP]
