"""How long messages are kept, by channel, as the settings say."""

from __future__ import annotations

import time
from dataclasses import replace

from config.settings import Settings
from core.model import Check, ConversationKey, Said
from core.records.retention import DAY_S, Kept


def kept_days(settings: Settings) -> Kept | None:
    """For how many days a conversation's messages are kept; ``None`` where nothing ever goes."""
    house = settings.memory.retention_days
    own = {
        name: channel.retention_days
        for name, channel in settings.channels.items()
        if channel.retention_days is not None
    }
    if not house and not any(own.values()):
        return None
    return lambda key: own.get(f"{key.chat}:{key.channel}", house)


def still_kept(kept: Kept | None, key: ConversationKey, said: tuple[Said, ...]) -> tuple[Said, ...]:
    """Of a thread's history what is not too old to be kept; that there was more is known."""
    days = kept(key) if kept is not None else 0
    since = time.time() - days * DAY_S
    young = tuple(one for one in said if one.sent_at >= since) if days else said
    if len(young) == len(said):
        return young
    if not young:
        return (replace(said[0], text="", attachments=(), gone=True),)
    return (replace(young[0], gap=True), *young[1:])


def keeping_check(settings: Settings) -> Check:
    """The line of ``moot doctor``: what is kept how long."""
    house = settings.memory.retention_days
    told = [f"messages are kept {_for(house)}"]
    told += [
        f"{name} {_for(channel.retention_days)}"
        for name, channel in sorted(settings.channels.items())
        if channel.retention_days is not None and channel.retention_days != house
    ]
    return Check("retention", ok=True, detail="; ".join(told))


def _for(days: float) -> str:
    return f"{days:g} day{'s' if days != 1 else ''}" if days else "until they are deleted"
