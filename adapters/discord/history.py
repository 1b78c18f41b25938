"""What was said in a thread before Moot came, from Discord's own history."""

from __future__ import annotations

import discord

from adapters.discord import faults
from adapters.discord.events import said
from adapters.discord.faults import answered
from adapters.discord.wording import Me
from core.model import Author, ConversationKey, Said

SCANNED_PER_WANTED = 4
STARTER_GONE = "(The message that started this thread was deleted, or the thread has none.)"


async def thread(
    client: discord.Client, key: ConversationKey, limit: int, me: Me
) -> tuple[Said, ...]:
    """See ``Chat.thread``. A deleted starter is said to be gone, not passed over in silence."""
    if limit <= 0 or (key.space and not key.root):
        return ()  # a command at channel level: there is no thread yet
    async with answered():
        if not key.space:
            return tuple(await _newest(client, int(key.channel), limit, me))
        found = await _newest(client, int(key.root), limit, me)
        if any(one.message_id == key.root for one in found):
            return tuple(found)  # a forum's starter stands in the thread itself
        starter = await _starter(client, key, me)
    if starter is None:
        return tuple(found)
    return (starter, *found[max(0, len(found) - limit + 1) :])


async def _newest(client: discord.Client, channel_id: int, limit: int, me: Me) -> list[Said]:
    """The newest ``limit`` messages of others, oldest first; none where there is no channel."""
    found: list[Said] = []
    channel = client.get_partial_messageable(channel_id)
    try:
        async for message in channel.history(limit=limit * SCANNED_PER_WANTED):
            one = said(message, me)
            if one is not None:
                found.append(one)
            if len(found) == limit:
                break
    except discord.NotFound as error:
        if error.code != faults.UNKNOWN_CHANNEL:
            raise
    found.reverse()
    return found


async def _starter(client: discord.Client, key: ConversationKey, me: Me) -> Said | None:
    """The thread's root from its channel or, in a forum, from the thread; None if it is ours."""
    for place in (int(key.channel), int(key.root)):
        channel = client.get_partial_messageable(place)
        try:
            return said(await channel.fetch_message(int(key.root)), me)
        except discord.NotFound:
            continue
        except discord.HTTPException as error:
            if error.code != faults.WRONG_CHANNEL_TYPE:  # a forum holds no messages itself
                raise
    nobody = Author(id="", name="unknown", trusted=False)
    sent_at = discord.utils.snowflake_time(int(key.root)).timestamp()
    return Said(message_id=key.root, author=nobody, text=STARTER_GONE, sent_at=sent_at)
