"""What was written while nobody listened: looked up when a server comes into view.

Discord replays what was missed only within a session. A restart, or a session that is not taken
back, loses what is written meanwhile; so the newest messages are read. What was heard before is
known to the intake by its id and changes nothing. Direct messages are in no such list.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

import discord
import structlog

from adapters.discord.faults import answered
from core.errors import ChatBusy, ChatRefused, ChatUnsure

log = structlog.get_logger(__name__)

LOOK_BACK_S = 900.0  # an answer to an older question surprises more than it helps
MOST_PLACES = 50
MOST_MESSAGES = 100
DEADLINE_S = 30.0  # of one place


async def missed(guild: discord.Guild) -> list[discord.Message]:
    """The newest messages of a server's channels and active threads, oldest first.

    A place that cannot be read is passed over.
    """
    since = datetime.fromtimestamp(time.time() - LOOK_BACK_S, UTC)
    oldest = discord.utils.time_snowflake(since)
    places = [
        place
        for place in (*guild.text_channels, *guild.threads)
        if (place.last_message_id or 0) > oldest and _for_us_to_read(place)
    ]
    places.sort(key=lambda place: place.last_message_id or 0, reverse=True)
    found: list[discord.Message] = []
    for place in places[:MOST_PLACES]:
        try:
            async with answered(DEADLINE_S):
                found += [m async for m in place.history(limit=MOST_MESSAGES, after=since)]
        except (ChatBusy, ChatUnsure, ChatRefused) as error:
            log.warning("discord.missed_unread", channel=place.id, why=str(error))
    return sorted(found, key=lambda message: message.id)


def _for_us_to_read(place: discord.TextChannel | discord.Thread) -> bool:
    """As far as is known: who asks for what is refused too often is shut out by Discord."""
    channel = place.parent if isinstance(place, discord.Thread) else place
    if channel is None or place.guild.me is None:
        return True
    may = channel.permissions_for(place.guild.me)
    return may.view_channel and may.read_message_history
