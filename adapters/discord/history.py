"""What was said in a thread before Moot came, from Discord's own history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import discord

from adapters.discord import faults
from adapters.discord.events import WRITTEN, Place, said
from adapters.discord.faults import answered
from adapters.discord.lookups import Lookups
from core.model import Author, ConversationKey, Said

SCANNED_PER_WANTED = 4
LOOKED_UP = 50  # people of one thread, those who spoke last first; the others count as strangers
AT_ONCE = 5
LOOK_UP_S = 8.0

Messages = list[discord.Message]


async def thread(
    client: discord.Client, key: ConversationKey, limit: int, asking: Lookups
) -> tuple[Said, ...]:
    """See ``Chat.thread``. A deleted starter is said to be gone, not passed over in silence."""
    if limit <= 0 or (key.space and not key.root):
        return ()  # a command at channel level: there is no thread yet
    here = Place(key.space, key.channel, key.root)
    async with answered():
        found, gap = await _newest(client, int(key.root or key.channel), limit)
        rooted = any(str(one.id) == key.root for one in found)  # as in a forum
        starter = None if rooted or not key.root else await _starter(client, key)
        if starter is not None:
            found = [starter, *found[max(0, len(found) - limit + 1) :]]
            gap = gap or len(found) == limit
        people = await _people(found, asking, here)
    told = [one for message in found if (one := said(message, asking.me(), people(message)))]
    if gap and told:
        at = min(len(told) - 1, int(told[0].message_id == key.root))
        told[at] = replace(told[at], gap=True)
    gone = bool(key.root) and not rooted and starter is None
    return (_gone(key), *told) if gone else tuple(told)


async def _newest(client: discord.Client, channel_id: int, limit: int) -> tuple[Messages, bool]:
    """The newest ``limit`` that somebody wrote, oldest first, and whether there are older ones.

    None where there is no channel.
    """
    found: Messages = []
    scanned, most = 0, limit * SCANNED_PER_WANTED
    channel = client.get_partial_messageable(channel_id)
    try:
        async for message in channel.history(limit=most):
            scanned += 1
            if message.type not in WRITTEN:
                continue
            if len(found) == limit:
                return found[::-1], True
            found.append(message)
    except discord.NotFound as error:
        if error.code != faults.UNKNOWN_CHANNEL:
            raise
    return found[::-1], scanned == most


async def _people(
    found: Messages, asking: Lookups, place: Place
) -> Callable[[discord.Message], Author | None]:
    """Who they are: a history tells no roles, so each is looked up once, within a deadline."""
    last = {m.author.id: m for m in found if not (m.author.bot or m.webhook_id)}
    wanted = sorted(last.values(), key=lambda m: m.id, reverse=True)[:LOOKED_UP]
    known: dict[int, Author] = {}
    free = asyncio.Semaphore(AT_ONCE)

    async def look_up(message: discord.Message) -> None:
        async with free:
            known[message.author.id] = await asking.author(message.author, place)

    tasks = [asyncio.create_task(look_up(message)) for message in wanted]
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=LOOK_UP_S)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return lambda message: known.get(message.author.id)


async def _starter(client: discord.Client, key: ConversationKey) -> discord.Message | None:
    """The thread's first message from its channel or, in a forum, from the thread; None: gone."""
    for place in (int(key.channel), int(key.root)):
        channel = client.get_partial_messageable(place)
        try:
            return await channel.fetch_message(int(key.root))
        except discord.NotFound:
            continue
        except discord.HTTPException as error:
            if error.code != faults.WRONG_CHANNEL_TYPE:  # a forum holds no messages itself
                raise
    return None


def _gone(key: ConversationKey) -> Said:
    nobody = Author(id="", name="somebody", kind="bot", trusted=False)
    sent_at = discord.utils.snowflake_time(int(key.root)).timestamp()
    return Said(message_id=key.root, author=nobody, text="", sent_at=sent_at, gone=True)
