"""From discord.py's events to the inbox: each is put in its channel's queue at once."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import discord
import structlog

from adapters.discord import events
from adapters.discord.answers import Render, answer
from adapters.discord.commands import SHORTCUTS, TARGET, typed
from adapters.discord.forms import form_event
from adapters.discord.forum import forum_of
from adapters.discord.inbox import Arrival, Inbox
from adapters.discord.lookups import Lookups
from adapters.discord.wording import Me
from core.errors import ChatBusy, ChatRefused, MootError
from core.model import ChatEvent, Reply
from core.tongue import language_at, speaking

log = structlog.get_logger(__name__)

REMEMBERED_INTERACTIONS = 2_000
OFFER_S = 2.2  # Discord lets three pass


class Receiver:
    """Outlives clients: what one client brought is translated with the help of the next."""

    def __init__(self, inbox: Inbox, ready: Callable[[], None], render: Render) -> None:
        self._inbox = inbox
        self._render = render
        self._client: discord.Client | None = None
        self._lookups: Lookups | None = None
        self._answers: set[asyncio.Task[None]] = set()
        self._seen: OrderedDict[int, None] = OrderedDict()
        self.ready = ready
        self.hearing = False
        self.session_began = 0.0  # what came since then is replayed after a break

    def use(self, client: discord.Client) -> None:
        """Look things up through this client from now on; what it knows outlives its connection."""
        self._client, self._lookups = client, Lookups(client)

    async def close(self) -> None:
        """End the answers that are still being given."""
        for task in self._answers:
            task.cancel()
        await asyncio.gather(*self._answers, return_exceptions=True)

    # --- arriving ------------------------------------------------------------------------

    def message(self, message: discord.Message) -> None:
        """Somebody wrote."""
        me = self._asking.me(message.guild)
        if message.author.id != me.user_id:
            self._put(message.channel.id, partial(self._message_event, message, me))

    def edited(self, update: discord.RawMessageUpdateEvent) -> None:
        """A message changed, or only what Discord shows with it."""
        message = update.message
        me = self._asking.me(message.guild)
        if message.author.id != me.user_id:
            make = partial(self._edit_event, message, update.cached_message, me)
            self._put(message.channel.id, make)

    def deleted(
        self, channel_id: int, guild_id: int | None, ident: int, before: discord.Message | None
    ) -> None:
        """A message is gone; one of our own may be an answer that people took back."""
        make = partial(self._delete_event, channel_id, guild_id, ident, time.time(), before)
        self._put(channel_id, make)

    def thread_gone(self, guild_id: int, parent_id: int, thread_id: int) -> None:
        """A thread was deleted; a forum's post with its first message."""
        place = events.Place(str(guild_id), str(parent_id), str(thread_id))
        self._put(thread_id, partial(self._made, events.thread_deletion(place, time.time())))
        if self._client is not None and forum_of(self._client, parent_id) is not None:
            gone = events.delete_event(thread_id, thread_id, place, time.time())
            self._put(thread_id, partial(self._made, gone))

    def thread_open(self, guild_id: int, parent_id: int, thread_id: int) -> None:
        """A thread changed, and is not locked."""
        place = events.Place(str(guild_id), str(parent_id), str(thread_id))
        self._put(thread_id, partial(self._made, events.place_event(place, time.time())))

    async def told(self, message: discord.Message) -> list[ChatEvent]:
        """A message out of a history, and the edit of it if there was one; none for our own."""
        me = self._asking.me(message.guild)
        if message.author.id == me.user_id:
            return []
        made = [
            await self._message_event(message, me),
            await self._edit_event(message, None, me),
        ]
        return [event for event in made if event is not None]

    def channel(self, channel: Any) -> None:
        """Who may read a channel changed, or came to be known."""
        self._put(channel.id, partial(self._channel_event, channel))

    def interaction(self, interaction: discord.Interaction) -> None:
        """A command, a click or a form: it waits its turn, its answer has three seconds."""
        channel_id = interaction.channel_id
        if channel_id is None:
            log.warning("discord.interaction_without_channel", id=interaction.id)
            return
        if interaction.id in self._seen:
            return
        self._seen[interaction.id] = None
        while len(self._seen) > REMEMBERED_INTERACTIONS:
            self._seen.popitem(last=False)
        taken: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
        self._put(channel_id, partial(self._interaction_event, interaction, channel_id), taken)
        with speaking(language_of(interaction)):
            task = asyncio.create_task(answer(interaction, taken, self._render))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def offer(
        self, interaction: discord.Interaction, option: str, typed_so_far: str
    ) -> tuple[tuple[str, str], ...]:
        """What can be chosen for an option that is being typed; nothing where that takes long."""
        channel_id = interaction.channel_id
        if channel_id is None:
            return ()
        try:
            async with asyncio.timeout(OFFER_S):
                asking = self._asking
                place = await asking.place(interaction.channel, channel_id, interaction.guild_id)
                author = await asking.author(interaction.user, place)
                name = str((interaction.data or {}).get("name", ""))
                event = events.command_event(interaction, place, name, typed_so_far, author)
                asked = replace(event, kind="complete", values={"option": (option,)})
                reply = await self._inbox.ask(asked)
        except (MootError, TimeoutError) as error:
            log.info("discord.not_offered", option=option, why=type(error).__name__)
            return ()
        return reply.options if reply else ()

    def _put(
        self,
        channel_id: int,
        make: Callable[[], Awaitable[ChatEvent | None]],
        reply: asyncio.Future[Reply | None] | None = None,
    ) -> None:
        self._inbox.put(Arrival(channel_id, make, reply))

    # --- translating, in the inbox -------------------------------------------------------

    @property
    def _asking(self) -> Lookups:
        if self._lookups is None:
            raise ChatBusy(1.0, "not connected to Discord")
        return self._lookups

    async def _message_event(self, message: discord.Message, me: Me) -> ChatEvent | None:
        asking = self._asking
        place = await asking.place(message.channel, message.channel.id, _guild_of(message))
        hook = bool(message.webhook_id)
        author = await asking.author(message.author, place, webhook=hook)
        event = events.message_event(message, place, me, author)
        if event is None or not event.reply_to or not (event.mentions_us or event.direct):
            return event
        replied = message.reference.resolved if message.reference else None
        if not isinstance(replied, discord.Message):
            return event
        hook = bool(replied.webhook_id)
        author = await asking.author(replied.author, place, webhook=hook)
        ours = replied.author.id == me.user_id
        return replace(event, quoted=None if ours else events.said(replied, me, author))

    async def _edit_event(
        self, message: discord.Message, before: discord.Message | None, me: Me
    ) -> ChatEvent | None:
        asking = self._asking
        place = await asking.place(message.channel, message.channel.id, _guild_of(message))
        hook = bool(message.webhook_id)
        author = await asking.author(message.author, place, webhook=hook)
        return events.edit_event(message, before, place, me, author)

    async def _delete_event(
        self,
        channel_id: int,
        guild_id: int | None,
        ident: int,
        now: float,
        before: discord.Message | None,
    ) -> ChatEvent | None:
        place = await self._asking.place(None, channel_id, guild_id)
        return events.delete_event(channel_id, ident, place, now, before)

    async def _made(self, event: ChatEvent) -> ChatEvent:
        return event

    async def _channel_event(self, channel: Any) -> ChatEvent | None:
        return events.channel_event(channel, time.time())

    async def _interaction_event(
        self, interaction: discord.Interaction, channel_id: int
    ) -> ChatEvent | None:
        asking = self._asking
        target = interaction.extras.get(TARGET)
        if target is not None:
            return await self._shortcut_event(interaction, channel_id, target)
        place = await asking.place(interaction.channel, channel_id, interaction.guild_id)
        author = await asking.author(interaction.user, place)
        if interaction.type is discord.InteractionType.component:
            return events.button_event(interaction, place, author)
        if interaction.type is discord.InteractionType.modal_submit:
            return form_event(interaction, place, author)
        data = interaction.data or {}
        name = str(data.get("name", ""))
        return events.command_event(interaction, place, name, typed(data), author)

    async def _shortcut_event(
        self, interaction: discord.Interaction, channel_id: int, message: discord.Message
    ) -> ChatEvent:
        """A command out of a message's menu, maybe where we are not."""
        asking = self._asking
        try:
            place = await asking.place(interaction.channel, channel_id, interaction.guild_id)
        except ChatRefused:  # not for us to see
            place = events.Place(str(interaction.guild_id or ""), str(channel_id))
        author = await asking.author(interaction.user, place)
        by = None
        if message.attachments:  # their files are fetched for whoever may use Moot
            by = await asking.author(message.author, place, webhook=bool(message.webhook_id))
        me, name = asking.me(interaction.guild), str((interaction.data or {}).get("name", ""))
        event = events.command_event(interaction, place, SHORTCUTS.get(name, ""), "", author)
        ident = str(message.id)
        return replace(
            event,
            key=place.key(ident),
            kind="shortcut",
            message_id=ident,
            target=events.said(message, me, by),
            outside=not _may_speak(interaction, place),
        )


def _may_speak(interaction: discord.Interaction, place: events.Place) -> bool:
    """Whether we can read where an interaction is, and answer in a thread there."""
    if place.direct:
        return True
    ours = interaction.app_permissions
    opens = bool(place.thread) or ours.create_public_threads
    return ours.view_channel and ours.send_messages_in_threads and opens


def _guild_of(message: discord.Message) -> int | None:
    """Also of a message whose server is not known yet (its channel is a mere id then)."""
    if message.guild is not None:
        return message.guild.id
    return getattr(message.channel, "guild_id", None)


def language_of(interaction: discord.Interaction) -> str:
    """What is spoken where somebody used a command or a button; a thread is its channel's."""
    channel = interaction.channel
    parent = getattr(channel, "parent_id", None) if channel is not None else None
    return language_at(
        events.CHAT, str(interaction.guild_id or ""), str(parent or interaction.channel_id)
    )
