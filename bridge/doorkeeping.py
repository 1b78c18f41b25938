"""The door as the settings say."""

from __future__ import annotations

from bridge.access import Door
from bridge.bots import BotTerms
from bridge.often import Counter, Often
from config.settings import Settings
from core.model import Author, ConversationKey


def door_of(settings: Settings, owners: tuple[str, ...] = ()) -> Door:
    """Who may do what where; ``owners`` are admins beside those whom the settings name."""
    access = settings.access
    return Door(
        access.allow,
        access.approvers,
        settings.permissions.at_most,
        viewers=access.viewers,
        admins=(*access.admins, *owners),
        channels={
            name: channel.access.given
            for name, channel in settings.channels.items()
            if channel.access is not None
        },
        bots={name: BotTerms(name, **dict(entry)) for name, entry in settings.bots.items()},
    )


def often_of(settings: Settings) -> Counter:
    """How much one person may do in a while."""
    access = settings.access
    return Counter(
        Often(
            access.per_minute,
            access.per_hour,
            access.acts_per_minute,
            frozenset(access.unlimited),
        )
    )


def admits(door: Door, author: Author, key: ConversationKey) -> bool:
    """Whether what somebody said is an own word or that of a person who may use Moot there.

    Of nobody else files are fetched, and whoever reads it is told so.
    """
    return author.kind == "agent" or door.allows(author, key)
