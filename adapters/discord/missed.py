"""What was written while nobody listened, out of the histories of channels and threads.

Discord replays what was missed within a session only. A restart, or a session that is not taken
back, loses it; and it lists no direct messages, so of those only the known ones can be read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import discord
import structlog

from adapters.discord import faults
from adapters.discord.events import CHAT
from adapters.discord.faults import answered
from core.model import ChatEvent, ConversationKey, Missed

log = structlog.get_logger(__name__)

Told = Callable[[discord.Message], Awaitable[list[ChatEvent]]]
DEADLINE_S = 60.0  # of one place


def places(
    client: discord.Client, space: str, since: float, known: tuple[ConversationKey, ...]
) -> tuple[ConversationKey, ...]:
    """The channels and active threads of a server with anything newer, and what is ``known``."""
    guild = client.get_guild(int(space)) if space else None
    if guild is None:
        return known
    oldest = discord.utils.time_snowflake(datetime.fromtimestamp(since, UTC))
    fresh = [
        place
        for place in (*guild.text_channels, *guild.voice_channels, *guild.threads)
        if (place.last_message_id or 0) > oldest and _readable(place)
    ]
    fresh.sort(key=lambda place: place.last_message_id or 0, reverse=True)
    return tuple(dict.fromkeys((*map(_key_of, fresh), *known)))


def _key_of(place: Any) -> ConversationKey:
    if isinstance(place, discord.Thread):
        return ConversationKey(CHAT, str(place.guild.id), str(place.parent_id), str(place.id))
    return ConversationKey(CHAT, str(place.guild.id), str(place.id), "")


def _readable(place: Any) -> bool:
    """As far as is known: who asks for what is refused too often is shut out by Discord."""
    return _may_read(place) is not False


def _may_read(place: Any) -> bool | None:
    """Whether we may read a place's history; ``None``: not known."""
    channel = place.parent if isinstance(place, discord.Thread) else place
    if not isinstance(channel, discord.abc.GuildChannel) or channel.guild.me is None:
        return None
    may = channel.permissions_for(channel.guild.me)
    return may.view_channel and may.read_message_history


async def missed(
    client: discord.Client, told: Told, key: ConversationKey, since: float, limit: int
) -> Missed:
    """See ``WithHistory.missed``; ``told`` translates a message.

    Who may not read a history is given an empty one: then nothing is gone from it.
    """
    place = int(key.root or key.channel)
    parent = client.get_channel(place) or client.get_channel(int(key.channel))
    sure = not key.space or _may_read(parent) is True
    moment = datetime.fromtimestamp(since, UTC)
    async with answered(DEADLINE_S):
        found = await _newest(_at(client, key, place), moment, limit)
        if key.root and discord.utils.snowflake_time(int(key.root)) > moment:
            starter = await _starter(client, key)
            found = [*([] if starter is None else [starter]), *found]
    events: list[ChatEvent] = []
    for message in {message.id: message for message in found}.values():
        events += await told(message)
    ids = frozenset(str(message.id) for message in found)
    return Missed(tuple(events), ids, since if sure and len(found) < limit else None)


def _at(client: discord.Client, key: ConversationKey, place: int) -> Any:
    guild = int(key.space) if key.space else None
    return client.get_channel(place) or client.get_partial_messageable(place, guild_id=guild)


async def _newest(channel: Any, moment: datetime, limit: int) -> list[discord.Message]:
    """The newest messages since then, oldest first; none where there is no such place."""
    found: list[discord.Message] = []
    try:
        history = channel.history(limit=limit, after=moment, oldest_first=False)
        found = [message async for message in history]
    except discord.NotFound as error:
        if error.code != faults.UNKNOWN_CHANNEL:
            raise
    if len(found) == limit:
        log.warning("discord.too_much_missed", channel=channel.id)
    return found[::-1]


async def _starter(client: discord.Client, key: ConversationKey) -> discord.Message | None:
    """The message that a thread hangs on, in its channel; ``None`` if it is gone, or not there."""
    try:
        return await _at(client, key, int(key.channel)).fetch_message(int(key.root))
    except discord.NotFound:
        return None
    except (discord.HTTPException, AttributeError) as error:  # a forum holds no messages itself
        if isinstance(error, discord.HTTPException) and error.code != faults.WRONG_CHANNEL_TYPE:
            raise
        return None
