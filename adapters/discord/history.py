"""What was said in a thread before Moot came, from Discord's own history."""

from __future__ import annotations

import discord

from adapters.discord import faults
from adapters.discord.events import Place, said
from adapters.discord.faults import answered
from adapters.discord.lookups import Lookups
from core.model import Author, ConversationKey, Said

SCANNED_PER_WANTED = 4
STARTER_GONE = "(The message that started this thread was deleted, or the thread has none.)"


async def thread(
    client: discord.Client, key: ConversationKey, limit: int, asking: Lookups
) -> tuple[Said, ...]:
    """See ``Chat.thread``. A deleted starter is said to be gone, not passed over in silence."""
    if limit <= 0 or (key.space and not key.root):
        return ()  # a command at channel level: there is no thread yet
    async with answered():
        here = Place(key.space, key.channel, key.root)
        if not key.space:
            return tuple(await _newest(client, int(key.channel), limit, asking, here))
        found = await _newest(client, int(key.root), limit, asking, here)
        if any(one.message_id == key.root for one in found):
            return tuple(found)  # a forum's starter stands in the thread itself
        starter = await _starter(client, key, asking, here)
    if starter is None:
        return tuple(found)
    return (starter, *found[max(0, len(found) - limit + 1) :])


async def _newest(
    client: discord.Client, channel_id: int, limit: int, asking: Lookups, place: Place
) -> list[Said]:
    """The newest ``limit`` messages of others, oldest first; none where there is no channel."""
    found: list[Said] = []
    channel = client.get_partial_messageable(channel_id)
    try:
        async for message in channel.history(limit=limit * SCANNED_PER_WANTED):
            one = await _said(message, asking, place)
            if one is not None:
                found.append(one)
            if len(found) == limit:
                break
    except discord.NotFound as error:
        if error.code != faults.UNKNOWN_CHANNEL:
            raise
    found.reverse()
    return found


async def _said(message: discord.Message, asking: Lookups, place: Place) -> Said | None:
    """A message as it was said. Who attached files is looked up: a history tells no roles."""
    hook = bool(message.webhook_id)
    author = None
    if message.attachments:
        author = await asking.author(message.author, place, webhook=hook)
    return said(message, asking.me(), author)


async def _starter(
    client: discord.Client, key: ConversationKey, asking: Lookups, here: Place
) -> Said | None:
    """The thread's root from its channel or, in a forum, from the thread; None if it is ours."""
    for place in (int(key.channel), int(key.root)):
        channel = client.get_partial_messageable(place)
        try:
            return await _said(await channel.fetch_message(int(key.root)), asking, here)
        except discord.NotFound:
            continue
        except discord.HTTPException as error:
            if error.code != faults.WRONG_CHANNEL_TYPE:  # a forum holds no messages itself
                raise
    nobody = Author(id="", name="unknown", trusted=False)
    sent_at = discord.utils.snowflake_time(int(key.root)).timestamp()
    return Said(message_id=key.root, author=nobody, text=STARTER_GONE, sent_at=sent_at)
