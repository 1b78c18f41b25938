"""What an event alone does not tell: where a channel belongs, and who writes a direct message."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import replace
from typing import Any

import discord
import structlog

from adapters.discord.events import Place, author_of, place_of, public_of, role_grants
from adapters.discord.faults import answered
from adapters.discord.wording import Me
from core.model import Author

log = structlog.get_logger(__name__)

REMEMBERED = 2_000
STANDING_LASTS_S = 60.0
GUILDS_ASKED = 10
STANDING_S = 5.0


class Lookups:
    """Asks Discord through one client, and remembers for as long as it is safe."""

    def __init__(self, client: discord.Client) -> None:
        self._client = client
        self._places: OrderedDict[int, Place] = OrderedDict()
        self._standing: OrderedDict[str, tuple[float, tuple[str, ...] | None]] = OrderedDict()

    def me(self, guild: Any = None) -> Me:
        """Us, as mentions name us; ``guild`` may be unknown yet."""
        user = self._client.user
        role = guild.self_role if isinstance(guild, discord.Guild) else None
        return Me(user.id if user else 0, frozenset((role.id,)) if role else frozenset())

    async def place(self, channel: Any, channel_id: int, guild_id: int | None) -> Place:
        """Where a channel belongs; one that the client does not know (an archived thread) is asked.

        Raises:
            ChatRefused: it is gone, or not for us to see.
            ChatUnsure, ChatBusy: try again.
        """
        known = place_of(channel, guild_id) if channel is not None else None
        if known is None and guild_id is None:
            known = Place("", str(channel_id))
        if known is None:
            known = self._places.get(channel_id)
        if known is None:
            known = place_of(self._client.get_channel(channel_id), guild_id)
        if known is None:
            async with answered():
                known = place_of(await self._client.fetch_channel(channel_id), guild_id)
        if known is None:
            known = Place(str(guild_id), str(channel_id))
        _keep(self._places, channel_id, known)
        if known.direct:
            return replace(known, public=False)
        return replace(known, public=public_of(self._client.get_channel(int(known.channel))))

    async def author(self, user: Any, place: Place, *, webhook: bool = False) -> Author:
        """Who this is. A direct message brings only the account, so membership is looked up.

        A look-up that fails leaves the person untrusted.
        """
        author = author_of(user, webhook=webhook)
        if author.trusted or author.kind == "bot":
            return author
        roles = await self._roles(user.id, place)
        return Author(
            id=author.id,
            name=author.name,
            kind=author.kind,
            grants=author.grants + (roles or ()),
            trusted=roles is not None,
        )

    async def _roles(self, user_id: int, place: Place) -> tuple[str, ...] | None:
        """Grants from the servers we share with this person; ``None`` for a stranger."""
        name = f"{place.space}:{user_id}"
        until, roles = self._standing.get(name, (0.0, None))
        if time.monotonic() < until:
            return roles
        guilds = [guild.id for guild in self._client.guilds[:GUILDS_ASKED]]
        try:
            async with asyncio.timeout(STANDING_S):
                roles = await self._ask(guilds if place.direct else [int(place.space)], user_id)
        except (discord.DiscordException, OSError, TimeoutError) as error:
            log.warning("discord.standing_unknown", user=user_id, why=type(error).__name__)
            return None
        _keep(self._standing, name, (time.monotonic() + STANDING_LASTS_S, roles))
        return roles

    async def _ask(self, guilds: list[int], user_id: int) -> tuple[str, ...] | None:
        grants: list[str] = []
        member_of_any = False
        for guild in guilds:
            try:
                member = await self._client.http.get_member(guild, user_id)
            except discord.NotFound:
                continue
            member_of_any = True
            grants += role_grants(guild, member["roles"])
        return tuple(grants) if member_of_any else None


def _keep(kept: OrderedDict[Any, Any], name: Any, value: Any) -> None:
    kept[name] = value
    kept.move_to_end(name)
    while len(kept) > REMEMBERED:
        kept.popitem(last=False)
