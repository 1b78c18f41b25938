"""From what Discord says to a ``ChatEvent``, or ``None`` for what is no event of ours. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import discord

from adapters.discord.files import attachments
from adapters.discord.wording import Me, name_of, readable
from core.model import Author, ChatEvent, ConversationKey, Said

CHAT = "discord"

# What people and bots write; everything else (joins, pins, "started a thread") is the platform's.
WRITTEN = frozenset(
    {
        discord.MessageType.default,
        discord.MessageType.reply,
        discord.MessageType.chat_input_command,
        discord.MessageType.context_menu_command,
    }
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where something happened. ``thread`` is empty at channel level and in a direct message.

    ``apart``: a private thread. ``public``: everybody in the server may read the channel (the
    thread's parent); ``None`` if that is not known. ``owner``: who opened the thread, if known.
    """

    space: str
    channel: str
    thread: str = ""
    apart: bool = False
    public: bool | None = None
    owner: str = field(default="", compare=False)

    @property
    def direct(self) -> bool:
        """Whether this is a direct message."""
        return not self.space

    def key(self, message_id: str = "") -> ConversationKey:
        """The one rule: a thread is its own root, a message at channel level is its own root."""
        root = self.thread or ("" if self.direct else message_id)
        return ConversationKey(CHAT, self.space, self.channel, root)


def place_of(channel: Any, guild_id: int | None) -> Place | None:
    """The place of a channel object; ``None`` when it does not tell (it must be fetched)."""
    if guild_id is None:
        return Place("", str(channel.id))
    if isinstance(channel, discord.Thread):
        private = channel.type is discord.ChannelType.private_thread
        thread = str(channel.id)
        owner = str(channel.owner_id or "")
        return Place(str(guild_id), str(channel.parent_id), thread, private, owner=owner)
    if isinstance(channel, discord.abc.GuildChannel):
        return Place(str(guild_id), str(channel.id))
    return None


def public_of(channel: Any) -> bool | None:
    """Whether @everyone may view a channel; ``None`` when it or its server is not known."""
    if not isinstance(channel, discord.abc.GuildChannel):
        return None
    everyone = channel.guild.get_role(channel.guild.id)
    return None if everyone is None else channel.permissions_for(everyone).view_channel


# --- people --------------------------------------------------------------------------------


def role_grants(guild_id: int, role_ids: Iterable[object]) -> tuple[str, ...]:
    """The names that roles answer to in ``[access] allow``."""
    return tuple(f"discord:{guild_id}:role:{role}" for role in role_ids)


def author_of(user: Any, *, webhook: bool = False) -> Author:
    """A member of the guild is trusted; a mere user (a direct message) must be looked up.

    So must a member of a guild that is not known yet: its roles cannot be read.
    """
    grants: tuple[str, ...] = (f"discord:{user.id}",)
    member = isinstance(user, discord.Member) and isinstance(user.guild, discord.Guild)
    if member:
        grants += role_grants(user.guild.id, (r.id for r in user.roles if not r.is_default()))
    return Author(
        id=str(user.id),
        name=name_of(user),
        kind="bot" if user.bot or webhook else "human",
        grants=grants,
        trusted=member and not webhook,
    )


# --- messages ------------------------------------------------------------------------------


def message_event(
    message: Any, place: Place, me: Me, author: Author | None = None
) -> ChatEvent | None:
    """A message that somebody wrote; ``None`` for our own and for the platform's notices.

    ``author`` replaces what the message alone tells of its writer (looked up for a direct one).
    """
    if message.author.id == me.user_id or message.type not in WRITTEN:
        return None
    users = {user.id for user in message.mentions}
    roles = {role.id for role in message.role_mentions}
    ours = me.user_id in users or bool(me.role_ids & roles)
    if message.author.bot or message.webhook_id:
        ours = ours and _says_our_name(message, me)
    # A reply to one's own message mentions oneself, which addresses nobody.
    users -= {me.user_id, message.author.id}
    others = bool(users or roles - me.role_ids or message.mention_everyone)
    ident = str(message.id)
    return ChatEvent(
        key=place.key(ident),
        event_id=f"{CHAT}:{message.channel.id}:{ident}",
        message_id=ident,
        author=author or author_of(message.author, webhook=bool(message.webhook_id)),
        text=readable(message, me),
        kind="message",
        sent_at=message.created_at.timestamp(),
        mentions_us=ours,
        mentions_others=others,
        direct=place.direct,
        in_thread=bool(place.thread),
        reply_to=_replied(message),
        public=place.public,
        our_thread=bool(place.thread) and place.owner == str(me.user_id),
        apart=place.apart,
        attachments=attachments(message),
    )


def _says_our_name(message: Any, me: Me) -> bool:
    """Whether another bot wrote our name of its own accord.

    Not when it only replies to us with a ping, as libraries do by default, or answers somebody's
    command: then that person's words would speak for the bot.
    """
    commands = (discord.MessageType.chat_input_command, discord.MessageType.context_menu_command)
    if message.type in commands or message.interaction_metadata is not None:
        return False
    named = me.user_id in message.raw_mentions
    return named or bool(me.role_ids.intersection(message.raw_role_mentions))


def _replied(message: Any) -> str:
    """The message that this one replies to; a notice of a pin or thread refers, too."""
    if message.type is not discord.MessageType.reply or message.reference is None:
        return ""
    return str(message.reference.message_id or "")


def edit_event(
    message: Any, before: Any, place: Place, me: Me, author: Author | None = None
) -> ChatEvent | None:
    """An edit by a person; ``None`` for link previews, pins, thread marks and our own edits.

    ``before`` is the message as it was, where known. The time of the edit is part of the event's
    id, so an update that repeats an old edit is that edit again.
    """
    if message.edited_at is None or (before is not None and _same(before, message)):
        return None
    event = message_event(message, place, me, author)
    if event is None:
        return None
    return ChatEvent(
        key=event.key,
        event_id=f"{event.event_id}:edit:{message.edited_at.timestamp():.3f}",
        message_id=event.message_id,
        author=event.author,
        text=event.text,
        kind="edit",
        sent_at=message.edited_at.timestamp(),
        mentions_us=event.mentions_us,
        mentions_others=event.mentions_others,
        direct=event.direct,
        in_thread=event.in_thread,
        public=event.public,
        apart=event.apart,
        attachments=event.attachments,
    )


def _same(before: Any, after: Any) -> bool:
    """Whether neither the words nor the files of a message changed."""
    files = [[file.id for file in message.attachments] for message in (before, after)]
    return before.content == after.content and files[0] == files[1]


def delete_event(
    channel_id: int, message_id: int, place: Place, now: float, before: Any = None
) -> ChatEvent:
    """A deleted message. Discord does not tell who did it: the author is its writer, if known."""
    ident = str(message_id)
    nobody = Author(id="", name="somebody", trusted=False)
    return ChatEvent(
        key=place.key(ident),
        event_id=f"{CHAT}:{channel_id}:{ident}:delete",
        message_id=ident,
        author=author_of(before.author) if before is not None else nobody,
        text="",
        kind="delete",
        sent_at=now,
        direct=place.direct,
        in_thread=bool(place.thread),
        public=place.public,
        apart=place.apart,
    )


def said(message: Any, me: Me, author: Author | None = None) -> Said | None:
    """A message out of a thread's history; ``None`` for notices. Our own are an agent's.

    ``author`` as for ``message_event``.
    """
    if message.type not in WRITTEN:
        return None
    if message.author.id == me.user_id:
        author = Author(str(me.user_id), name_of(message.author), "agent")
    return Said(
        message_id=str(message.id),
        author=author or author_of(message.author, webhook=bool(message.webhook_id)),
        text=readable(message, me),
        sent_at=message.created_at.timestamp(),
        attachments=attachments(message),
    )


# --- commands and buttons ------------------------------------------------------------------


def command_event(
    interaction: Any, place: Place, command: str, text: str, author: Author
) -> ChatEvent:
    """A slash command. Typed at channel level it has no root: the first post opens the thread."""
    return ChatEvent(
        key=place.key(),
        event_id=f"{CHAT}:interaction:{interaction.id}",
        message_id="",
        author=author,
        text=text,
        kind="command",
        sent_at=interaction.created_at.timestamp(),
        command=command,
        mentions_us=True,
        direct=place.direct,
        in_thread=bool(place.thread),
        public=place.public,
        apart=place.apart,
    )


def button_event(interaction: Any, place: Place, author: Author) -> ChatEvent:
    """A click, or a choice: the custom id, with what was chosen behind it.

    An ephemeral message roots nothing.
    """
    message = interaction.message
    root = "" if message.flags.ephemeral else str(message.id)
    return ChatEvent(
        key=place.key(root),
        event_id=f"{CHAT}:interaction:{interaction.id}",
        message_id=str(message.id),
        author=author,
        text=":".join(
            (str(interaction.data["custom_id"]), *interaction.data.get("values", ())[:1])
        ),
        kind="button",
        sent_at=interaction.created_at.timestamp(),
        direct=place.direct,
        in_thread=bool(place.thread),
        public=place.public,
        apart=place.apart,
    )


def channel_event(channel: Any, now: float) -> ChatEvent | None:
    """Who may read a channel changed, or came to be known; ``None`` for what is none."""
    place = place_of(channel, channel.guild.id)
    if place is None or place.thread:
        return None
    return replace(place_event(place, now), public=public_of(channel))


def place_event(place: Place, now: float) -> ChatEvent:
    """A channel or a thread changed, so that it may take posts again."""
    return ChatEvent(
        key=place.key(),
        event_id=f"{CHAT}:{place.thread or place.channel}:channel:{now:.6f}",
        message_id="",
        author=Author(id="", name="somebody", kind="bot", trusted=False),
        text="",
        kind="channel",
        sent_at=now,
        in_thread=bool(place.thread),
    )


def thread_deletion(place: Place, now: float) -> ChatEvent:
    """A thread was deleted with all that was heard in it: no message is named.

    The message of a channel that a thread was opened from still stands.
    """
    return ChatEvent(
        key=place.key(),
        event_id=f"{CHAT}:{place.thread}:thread:delete",
        message_id="",
        author=Author(id="", name="somebody", trusted=False),
        text="",
        kind="delete",
        sent_at=now,
        in_thread=bool(place.thread),
    )
