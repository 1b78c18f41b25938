"""The person in front of Discord: types, replies, clicks, edits and looks at the screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simcord import interactions
from simcord.backend import serializers
from simcord.backend.models import AllowedMentions, Interaction, Message
from simcord.components import walk_components
from simcord.enums import AppCommandType, ComponentType, InteractionType

from tests.peers.discord import modals

if TYPE_CHECKING:
    from tests.peers.discord.world import LoopbackDiscord

Id = str | int
_VALUE_TYPES: dict[int, Callable[[Any], Any]] = {3: str, 4: int, 5: bool, 10: float}


@dataclass(frozen=True)
class Seen:
    """A message as it stands on the screen."""

    id: str
    channel: str
    author: str
    author_id: str
    text: str
    buttons: tuple[tuple[str, str], ...]
    """(custom id, label) of each button."""
    menus: dict[str, tuple[str, tuple[str, ...], bool]]
    """(custom id, values, whether it is disabled) of each menu, by what it shows."""
    reactions: frozenset[str]
    """Those of the bot."""
    edited: bool
    ephemeral: bool
    system: bool
    reply_to: str
    by_us: bool
    """Written by the bot under test."""
    files: tuple[str, ...] = ()


def seen(world: LoopbackDiscord, message: Message) -> Seen:
    backend = world.backend
    author = backend.users[message.author_id]
    buttons = tuple(
        (str(part.get("custom_id", "")), str(part.get("label", "")))
        for part in walk_components(message.components)
        if part.get("type") == ComponentType.BUTTON
    )
    return Seen(
        id=str(message.id),
        channel=str(message.channel_id),
        author=message.author_name or author.global_name or author.name,
        author_id=str(author.id),
        text=message.content,
        buttons=buttons,
        menus={
            str(part.get("placeholder", "")): (
                str(part["custom_id"]),
                tuple(str(one["value"]) for one in part["options"]),
                bool(part.get("disabled")),
            )
            for part in walk_components(message.components)
            if part.get("type") == ComponentType.STRING_SELECT
        },
        reactions=frozenset(
            reaction.emoji
            for reaction in message.reactions
            if backend.bot_user.id in reaction.user_ids
        ),
        edited=message.edited_timestamp is not None,
        ephemeral=message.is_ephemeral,
        system=message.type not in (0, 19, 20, 23),
        reply_to=str((message.reference or {}).get("message_id", "")),
        by_us=message.author_id == backend.bot_user.id,
        files=tuple(one["filename"] for one in message.attachments or ()),
    )


class Asked:
    """An interaction that was sent: what the bot made of it."""

    def __init__(self, world: LoopbackDiscord, record: Interaction) -> None:
        self._world = world
        self.record = record

    @property
    def acknowledged(self) -> bool:
        return self.record.responded

    @property
    def messages(self) -> list[Seen]:
        """The answer and its follow-ups, finished ones only."""
        ids = [] if self.record.loading else [self.record.message_id]
        ids += self.record.followup_ids
        stored = self._world.backend.messages.get(self.record.channel_id, {})
        own = self.record.source_message_id
        return [seen(self._world, stored[i]) for i in ids if i in stored and i != own]

    async def modal(self, timeout_s: float = 10) -> dict[str, Any]:
        """The modal it was answered with, as Discord shows it."""
        await self._world.until(lambda: self.record.modal, timeout_s, "a modal")
        assert self.record.modal is not None
        return self.record.modal

    @property
    def filled(self) -> dict[str, Any]:
        """What stands in the modal's fields before anything is typed."""
        assert self.record.modal is not None
        return modals.filled(self.record.modal)

    async def answer(self, timeout_s: float = 10) -> Seen:
        await self._world.until(lambda: bool(self.messages), timeout_s, "an answer to it")
        return self.messages[0]

    async def done(self, timeout_s: float = 10) -> None:
        """Wait until it was acknowledged, with or without a message."""
        await self._world.until(lambda: self.acknowledged, timeout_s, "an acknowledgement")


class Person:
    """A member of the guild (or, with ``member=False``, a stranger who can only write DMs)."""

    def __init__(self, world: LoopbackDiscord, user_id: int) -> None:
        self._world = world
        self._id = user_id
        self.id = str(user_id)

    @property
    def mention(self) -> str:
        return f"<@{self.id}>"

    @property
    def dm(self) -> str:
        """The id of the direct-message channel with the bot."""
        return str(self._world.backend.get_dm_channel(self._id).id)

    def say(self, channel: Id, text: str, *, reply_to: Id = "", ping: bool = True) -> str:
        """Write a message; returns its id. ``channel`` may be a thread or a DM."""
        backend = self._world.backend
        place = backend.get_channel(int(channel))
        if place.guild_id is not None:
            need = "send_messages_in_threads" if place.is_thread else "send_messages"
            backend.require_permissions(place.guild_id, self._id, place.id, need)
        if place.is_thread and place.thread_metadata.archived:
            backend.edit_channel(place.id, {}, thread_metadata={"archived": False})
        reference = None
        if reply_to:
            reference = {"channel_id": str(channel), "message_id": str(reply_to)}
        policy = None if ping else AllowedMentions(replied_user=False)
        message = backend.create_message(
            place.id, self._id, text, reference=reference, allowed_mentions=policy
        )
        return str(message.id)

    def share(self, channel: Id, text: str, *files: dict[str, Any], reply_to: Id = "") -> str:
        """Write a message with files (see ``file``)."""
        backend = self._world.backend
        place = backend.get_channel(int(channel))
        reference = None
        if reply_to:
            reference = {"channel_id": str(channel), "message_id": str(reply_to)}
        message = backend.create_message(
            place.id, self._id, text, reference=reference, attachments=list(files)
        )
        return str(message.id)

    def file(
        self, channel: Id, name: str, data: bytes = b"", *, size: int = -1, **how: Any
    ) -> dict[str, Any]:
        """A file in the store, as Discord tells of it; ``size`` as it is said to be."""
        (told,) = self._world.backend.store_attachments(int(channel), [(name, b"")])
        url = self._world.files.put(f"{channel}/{told['id']}", data, **how)
        said = len(data) if size < 0 else size
        return {**told, "filename": name, "size": said, "url": url, "proxy_url": url}

    def ask(self, channel: Id, text: str) -> str:
        """Mention the bot."""
        return self.say(channel, f"{self._world.mention} {text}")

    def write(self, text: str) -> str:
        """Write to the bot directly."""
        return self.say(self.dm, text)

    def edit(self, channel: Id, message_id: Id, text: str) -> None:
        self._world.backend.edit_message(int(channel), int(message_id), {"content": text})

    def delete(self, channel: Id, message_id: Id) -> None:
        self._world.backend.delete_message(int(channel), int(message_id))

    def open_thread(self, channel: Id, name: str, message_id: Id = "") -> str:
        """Start a thread, from a message or out of nothing; returns its id."""
        thread = self._world.backend.create_thread(
            int(channel), name, self._id, message_id=int(message_id) if message_id else None
        )
        return str(thread.id)

    def forum_post(self, forum: Id, title: str) -> str:
        """A forum post's thread, without its first message yet (an upload may hold it up)."""
        backend = self._world.backend
        thread = backend.create_thread(int(forum), title, self._id, broadcast=False)
        backend.announce_thread_create(thread)
        return str(thread.id)

    def first_message(self, post: Id, text: str, *files: dict[str, Any]) -> str:
        """The starter of a forum post: it carries the id of its thread."""
        backend = self._world.backend
        message = backend.prepare_message(int(post), self._id, text, attachments=list(files))
        message.id = int(post)
        backend.commit_message(message)
        return str(message.id)

    def slash(self, channel: Id, name: str, **options: Any) -> Asked:
        """Use a registered slash command, with the options the bot declared."""
        backend = self._world.backend
        place = backend.get_channel(int(channel))
        command = backend.find_command(name, place.guild_id, AppCommandType.CHAT_INPUT)
        assert command is not None, f"/{name} is not registered"
        declared = {option["name"]: option for option in command["options"]}
        missing = {n for n, o in declared.items() if o.get("required")} - options.keys()
        assert options.keys() <= declared.keys(), f"/{name} has only {sorted(declared)}"
        assert not missing, f"/{name} requires {sorted(missing)}"
        given = [
            {
                "name": n,
                "type": declared[n]["type"],
                "value": _VALUE_TYPES[declared[n]["type"]](value),
            }
            for n, value in options.items()
        ]
        data = {"id": command["id"], "name": name, "type": 1, "options": given}
        return self._interact(InteractionType.APPLICATION_COMMAND, place.id, data)

    def click(self, message: Seen, action: str = "", *, label: str = "") -> Asked:
        """Click the button with this custom id or label."""
        ids = [i for i, shown in message.buttons if i == action or (label and shown == label)]
        assert ids, f"no such button among {message.buttons}"
        data = {"custom_id": ids[0], "component_type": 2}
        stored = self._world.backend.get_message(int(message.channel), int(message.id))
        assert stored.visible_to(self._id), "that message cannot be seen by this person"
        return self._interact(InteractionType.MESSAGE_COMPONENT, int(message.channel), data, stored)

    def choose(self, message: Seen, menu: str, value: str) -> Asked:
        """Pick one of a menu's choices; ``menu`` is what it shows while nothing is picked."""
        action, offered, disabled = message.menus[menu]
        assert value in offered, f"the menu offers only {offered}"
        assert not disabled, "that menu cannot be used"
        data = {"custom_id": action, "component_type": 3, "values": [value]}
        stored = self._world.backend.get_message(int(message.channel), int(message.id))
        return self._interact(InteractionType.MESSAGE_COMPONENT, int(message.channel), data, stored)

    def shortcut(self, name: str, channel: Id, message_id: Id) -> Asked:
        """Use a command out of a message's menu."""
        backend = self._world.backend
        place = backend.get_channel(int(channel))
        command = backend.find_command(name, place.guild_id, AppCommandType.MESSAGE)
        assert command is not None, f"{name!r} is not registered"
        stored = backend.get_message(place.id, int(message_id))
        data = {
            "id": command["id"],
            "name": name,
            "type": int(AppCommandType.MESSAGE),
            "target_id": str(message_id),
            "resolved": {
                "messages": {str(message_id): dict(serializers.message_payload(backend, stored))}
            },
        }
        return self._interact(InteractionType.APPLICATION_COMMAND, place.id, data)

    async def offered(self, channel: Id, name: str, option: str, typed: str = "") -> list[str]:
        """What is offered while an option of a command is typed."""
        backend = self._world.backend
        place = backend.get_channel(int(channel))
        command = backend.find_command(name, place.guild_id, AppCommandType.CHAT_INPUT)
        assert command is not None, f"/{name} is not registered"
        declared = {one["name"]: one for one in command["options"]}
        assert declared[option].get("autocomplete"), f"/{name} {option} is not offered anything"
        given = {"name": option, "type": 3, "value": typed, "focused": True}
        data = {"id": command["id"], "name": name, "type": 1, "options": [given]}
        asked = self._interact(InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE, place.id, data)
        await self._world.until(
            lambda: asked.record.autocomplete_choices is not None, 30, "what is offered"
        )
        return [str(one["value"]) for one in asked.record.autocomplete_choices or ()]

    def submit(self, asked: Asked, times: int = 1, **values: Any) -> Asked:
        """Send the modal that ``asked`` was answered with; what is not given stays as it stood."""
        modal = asked.record.modal
        assert modal is not None, "it was not answered with a modal"
        assert asked.record.user_id == self._id, "somebody else's modal"
        data = modals.submission(modal, values)
        place = asked.record.channel_id
        sent = [self._interact(InteractionType.MODAL_SUBMIT, place, data) for _ in range(times)]
        return sent[-1]

    def _interact(
        self, kind: InteractionType, channel: int, data: dict[str, Any], source: Any = None
    ) -> Asked:
        backend = self._world.backend
        record, payload = interactions.base_payload(
            backend,
            type=kind,
            channel_id=channel,
            guild_id=backend.get_channel(channel).guild_id,
            user_id=self._id,
            data=data,
        )
        if source is not None:
            payload["message"] = dict(serializers.message_payload(backend, source))
            record.source_message_id = source.id
        backend.emit("INTERACTION_CREATE", payload)
        return Asked(self._world, record)
