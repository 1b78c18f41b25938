"""The one discord.py client: settings that matter, and every event handed on at once."""

from __future__ import annotations

import time
from typing import Any

import discord
import structlog
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from adapters.discord.commands import command_tree, sync_if_changed
from adapters.discord.events import public_of
from adapters.discord.receiving import Receiver

log = structlog.get_logger(__name__)

# discord.py waits this long by itself when told to; for longer it raises (30 is its minimum).
PATIENCE_S = 30.0


def intents() -> discord.Intents:
    """Only what is used; ``message_content`` is the one that must be switched on in the portal."""
    wanted = discord.Intents.none()
    wanted.guilds = wanted.guild_messages = wanted.dm_messages = wanted.message_content = True
    return wanted


def point_at(api_url: str, gateway_url: str) -> None:
    """Make discord.py talk to another server than Discord. Its addresses are module globals."""
    if api_url:
        Route.BASE = api_url.rstrip("/")
    if gateway_url:
        DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway_url)


class MootClient(discord.Client):
    """Connects, registers the commands when they changed, and translates nothing."""

    def __init__(self, receiver: Receiver | None = None) -> None:
        # Moot never speaks; that voice cannot be had would be the first thing its log says.
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
        super().__init__(
            intents=intents(),
            allowed_mentions=discord.AllowedMentions.none(),
            max_ratelimit_timeout=PATIENCE_S,
            guild_ready_timeout=0.2,  # events are handled before the guilds are all known
        )
        self._receiver = receiver
        self._own_gateway: yarl.URL | None = None
        self._registered = False
        self._tree = command_tree(self, self._forward, receiver.offer) if receiver else None

    async def choose_gateway(self, api_url: str, gateway_url: str) -> None:
        """After the login: with an API of one's own, the gateway is its gateway too.

        Raises:
            discord.GatewayNotFound: that API does not tell.
        """
        if api_url and not gateway_url:
            _, gateway_url, _ = await self.http.get_bot_gateway()
        if gateway_url:
            point_at("", gateway_url)
            self._own_gateway = yarl.URL(gateway_url)

    async def on_connect(self) -> None:
        """READY names where to resume: never another host than the configured one."""
        own, socket = self._own_gateway, self.ws
        if own is not None and (socket.gateway.host, socket.gateway.port) != (own.host, own.port):
            log.warning("discord.resume_elsewhere_refused", host=socket.gateway.host)
            socket.gateway = own

    async def on_ready(self) -> None:
        """Comes again with every new session."""
        if self._receiver is None or self._tree is None:
            return
        if not self._registered:
            try:
                await sync_if_changed(self._tree)
                self._registered = True
            except (discord.DiscordException, OSError) as error:
                # Messages work all the same; the next session tries again.
                log.warning("discord.commands_not_registered", why=str(error))
        self._receiver.hearing, self._receiver.session_began = True, time.time()
        self._receiver.ready()

    async def on_resumed(self) -> None:
        """The session goes on; what was missed has been replayed."""
        if self._receiver is not None:
            self._receiver.hearing = True
            self._receiver.ready()

    async def on_disconnect(self) -> None:
        """Also of an attempt that failed."""
        if self._receiver is not None:
            self._receiver.hearing = False

    async def on_guild_available(self, guild: discord.Guild) -> None:
        """A server comes into view: with every new session, and after a breakdown of its own."""
        if self._receiver is not None:
            self._tell_closed(guild)

    async def on_guild_channel_update(self, _: Any, after: discord.abc.GuildChannel) -> None:
        """A channel changed, maybe who may read it."""
        if self._receiver is not None:
            self._receiver.channel(after)

    async def on_guild_role_update(self, _: Any, after: discord.Role) -> None:
        """What everybody may do shows in all channels."""
        if after.is_default():
            self._tell_closed(after.guild)

    def _tell_closed(self, guild: discord.Guild) -> None:
        """Name the channels that not everybody may read: that must not wait for a message."""
        for channel in guild.channels:
            if self._receiver is not None and not public_of(channel):
                self._receiver.channel(channel)

    async def on_guild_join(self, guild: discord.Guild) -> None:
        """So is one called that the session's beginning did not list as unavailable."""
        await self.on_guild_available(guild)

    async def on_message(self, message: discord.Message) -> None:
        """A message anywhere."""
        if self._receiver is not None:
            self._receiver.message(message)

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """Any change of a message, also of one that is not in memory."""
        if self._receiver is not None:
            self._receiver.edited(payload)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        """A message is gone."""
        if self._receiver is not None:
            before = payload.cached_message
            self._receiver.deleted(payload.channel_id, payload.guild_id, payload.message_id, before)

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        """Many messages are gone at once."""
        before = {message.id: message for message in payload.cached_messages}
        for ident in sorted(payload.message_ids):
            if self._receiver is not None:
                self._receiver.deleted(
                    payload.channel_id, payload.guild_id, ident, before.get(ident)
                )

    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        """A whole thread is gone, and every message in it: of these nothing is told."""
        if self._receiver is not None:
            self._receiver.thread_gone(payload.guild_id, payload.parent_id, payload.thread_id)

    async def on_raw_thread_update(self, payload: discord.RawThreadUpdateEvent) -> None:
        """A thread was opened again, maybe."""
        locked = (payload.data.get("thread_metadata") or {}).get("locked", False)
        if self._receiver is not None and not locked:
            self._receiver.thread_open(payload.guild_id, payload.parent_id, payload.thread_id)

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """A click or a form. Commands come through the tree instead."""
        if interaction.type in (
            discord.InteractionType.component,
            discord.InteractionType.modal_submit,
        ):
            await self._forward(interaction)

    async def _forward(self, interaction: discord.Interaction) -> None:
        if self._receiver is not None:
            self._receiver.interaction(interaction)

    async def on_error(self, event_method: str, /, *_: Any, **__: Any) -> None:
        """A fault of ours in a handler; discord.py would print it."""
        log.exception("discord.handler_failed", handler=event_method)
