"""The door as the settings say."""

from __future__ import annotations

from bridge.access import Door
from bridge.bots import BotTerms
from config.settings import Settings


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
