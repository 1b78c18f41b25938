"""The room as a ``Chat``: what people do in it becomes events, what Moot says becomes messages."""

from __future__ import annotations

import asyncio
import getpass
import os
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import regex
import structlog

from adapters.console.ledger import Change, RoomMessage
from adapters.console.render import MAX_CHARS, render
from adapters.console.room import NoSuchPlace, Room
from core.errors import ChatBusy, ChatRefused
from core.model import (
    Attachment,
    Author,
    ChatEvent,
    ChatLimits,
    Check,
    ConversationKey,
    EventKind,
    Post,
    Posted,
    Reply,
    Said,
)
from core.ports import Accept
from core.tongue import say, speaking_at, to_say

log = structlog.get_logger(__name__)

CHAT = "console"
SPACE = "local"
BOT_NAME = "Moot"
GRANT = "console:owner"
EDIT_INTERVAL_S = 1.0
DISK_PAUSE_S = 5.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0

_MENTION = regex.compile(r"(?<![\p{L}\p{N}_.@/])@([\p{L}\p{N}_.-]*[\p{L}\p{N}_])")


@dataclass(frozen=True, slots=True)
class Whisper:
    """A reply for the person at the console only: shown where they acted, kept nowhere."""

    channel: str
    root: str
    reply: Reply


@dataclass(frozen=True, slots=True)
class _Arrival:
    event: ChatEvent
    message: RoomMessage | None = None  # a person's message: it is marked once it is taken in


class ConsoleChat:
    """The ``Chat`` port over a ``Room`` that is open. Whoever sits at it is the owner."""

    name = CHAT
    limits = ChatLimits(post_units=MAX_CHARS, edit_interval_s=EDIT_INTERVAL_S)

    def __init__(self, room: Room, owner: str = "") -> None:
        self.room = room
        self.owner = owner or login_name()
        self._arrivals: asyncio.Queue[_Arrival] = asyncio.Queue()
        self._listeners: list[Callable[[Whisper], object]] = []
        self._started = asyncio.Event()

    # --- receiving ------------------------------------------------------------------------

    async def run(self, accept: Accept, ready: Callable[[], None]) -> None:
        """See ``Chat.run``. What was said and not taken in before a crash comes first."""
        for message in self.room.untaken():
            self._arrivals.put_nowait(self._arrival(message))
        unwatch = self.room.watch(self._on_change)
        self._started.set()
        try:
            ready()
            while True:
                arrival = await self._arrivals.get()
                try:
                    await self._deliver(accept, arrival)
                finally:
                    self._arrivals.task_done()
        finally:
            unwatch()
            self._started.clear()

    async def command(self, channel: str, root: str, name: str, text: str) -> None:
        """The person gave a slash command; its answer comes as a whisper."""
        self._act("command", channel, root, message_id="", text=text, command=name)

    async def press(self, channel: str, root: str, message_id: str, action: str) -> None:
        """The person pressed a button of a message (of a whisper: ``message_id`` is "")."""
        self._act("button", channel, root, message_id=message_id, text=action)

    def hear(self, listener: Callable[[Whisper], object]) -> Callable[[], None]:
        """Give whispers to ``listener`` (quick, on the loop); call the result to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def idle(self) -> None:
        """Return once everything that was said and done so far has been taken in."""
        await self._started.wait()
        await self._arrivals.join()

    async def _deliver(self, accept: Accept, arrival: _Arrival) -> None:
        """Give one event until it is taken; a command or button only once, for somebody waits."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                reply = await accept(arrival.event)
                if arrival.message is not None:
                    await self.room.mark_taken(arrival.message.id)
                break
            except Exception as error:  # the room must go on; the event comes again or is answered
                log.exception("console.not_taken", event_id=arrival.event.event_id)
                if arrival.message is None:
                    with speaking_at(arrival.event.key):
                        text = to_say("⚠️ That did not work: {name}. Try again; the log has more.")
                        reply = Reply(say(text, name=type(error).__name__))
                    break
                if pause_s == FIRST_PAUSE_S:
                    with speaking_at(arrival.event.key):
                        text = say("⚠️ Your message could not be taken in yet; Moot keeps trying.")
                    self._whisper(arrival.event, Reply(text))
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
        if reply is not None:
            self._whisper(arrival.event, reply)

    def _whisper(self, event: ChatEvent, reply: Reply) -> None:
        for listener in tuple(self._listeners):
            listener(Whisper(event.key.channel, event.key.root, reply))

    def _on_change(self, change: Change) -> None:
        if change.kind == "posted" and change.message is not None and not change.message.ours:
            self._arrivals.put_nowait(self._arrival(change.message))

    def _act(
        self,
        kind: EventKind,
        channel: str,
        root: str,
        *,
        message_id: str,
        text: str,
        command: str = "",
    ) -> None:
        event = ChatEvent(
            key=ConversationKey(CHAT, SPACE, channel, root),
            event_id=f"{CHAT}:{kind}:{uuid.uuid4().hex}",
            message_id=message_id,
            author=self._author(self.owner),
            text=text,
            kind=kind,
            sent_at=time.time(),
            command=command,
            in_thread=bool(root),
        )
        self._arrivals.put_nowait(_Arrival(event))

    def _arrival(self, message: RoomMessage) -> _Arrival:
        at_channel_level = message.id == message.root
        names = {name.casefold() for name in _MENTION.findall(message.text)}
        # Only people who are here are mentioned: "@property" in a question is a word.
        others = {name.casefold() for name in self.room.people() - {message.author}}
        ours = BOT_NAME.casefold()
        event = ChatEvent(
            key=ConversationKey(CHAT, SPACE, message.channel, message.root),
            event_id=f"{CHAT}:{message.channel}:{message.id}",
            message_id=message.id,
            author=self._author(message.author),
            text=_without_our_name(message.text),
            kind="message",
            sent_at=message.sent_at,
            mentions_us=at_channel_level or ours in names,
            mentions_others=bool(names & (others - {ours})),
            in_thread=not at_channel_level,
        )
        return _Arrival(event, message)

    @property
    def me(self) -> Author:
        """Whoever sits at the room."""
        return self._author(self.owner)

    def _author(self, name: str) -> Author:
        if name == self.owner:
            return Author(id=name, name=name, grants=(GRANT,))
        return Author(id=name, name=name, grants=(f"{CHAT}:{name}",), trusted=False)

    def _teller(self, message: RoomMessage) -> Author:
        if message.ours:
            return Author(BOT_NAME, BOT_NAME, "agent")
        return self._author(message.author)

    # --- sending --------------------------------------------------------------------------

    def render(self, markdown: str, label: str = "") -> tuple[str, ...]:
        """See ``Chat.render``: Markdown stays Markdown here. Sizes are code points."""
        return render(markdown, label)

    async def post(self, key: ConversationKey, post: Post) -> Posted:
        """See ``Chat.post``; the room itself knows the nonce, so nothing is ever unsure."""
        try:
            return await self.room.post(
                key.channel,
                key.root,
                BOT_NAME,
                post.text,
                nonce=post.nonce,
                buttons=post.buttons,
                title=post.title,
            )
        except (NoSuchPlace, OSError) as error:
            raise _fault(error) from error

    async def edit(self, key: ConversationKey, message_id: str, post: Post) -> None:  # noqa: ARG002
        """See ``Chat.edit``."""
        try:
            await self.room.edit(message_id, post.text, post.buttons)
        except (NoSuchPlace, OSError) as error:
            raise _fault(error) from error

    async def react(
        self, key: ConversationKey, message_id: str, name: str, *, on: bool = True
    ) -> None:
        """See ``Chat.react``: a terminal shows no reactions; its status line tells as much."""
        del key, message_id, name, on

    async def delete(self, key: ConversationKey, message_id: str) -> None:  # noqa: ARG002
        """See ``Chat.delete``."""
        try:
            await self.room.delete(message_id)
        except OSError as error:
            raise _fault(error) from error

    async def thread(self, key: ConversationKey, limit: int) -> tuple[Said, ...]:
        """See ``Chat.thread``."""
        if not self.room.has_thread(key.channel, key.root):
            raise ChatRefused(f"there is no thread {key.root} in {key.channel}", "no_such_place")
        said = [
            Said(m.id, self._teller(m), _without_our_name(m.text), m.sent_at)
            for m in self.room.thread(key.root)
        ]
        return tuple(said[-limit:] if limit > 0 else ())

    async def download(self, attachment: Attachment, limit_bytes: int) -> bytes:
        """See ``Chat.download``: nothing can be attached in a terminal."""
        del limit_bytes
        raise ChatRefused(f"there are no files in this room, so {attachment.name} is in none")

    async def heard(self, attachment: Attachment) -> str:
        """See ``Chat.heard``; nobody speaks here."""
        return attachment.transcript

    async def direct(self, person: str) -> ConversationKey | None:  # noqa: ARG002
        """See ``Chat.direct``: whoever sits here sees the whole room."""
        return None

    def address(self, key: ConversationKey, message_id: str = "") -> str:  # noqa: ARG002
        """See ``Chat.address``: a room in a terminal has no addresses."""
        return ""

    async def checks(
        self,
        channels: Sequence[str] = (),  # noqa: ARG002 - any may be made
        people: Sequence[str] = (),  # noqa: ARG002 - there is one
    ) -> list[Check]:
        """See ``Chat.checks``: the room's folder can be used, or why not."""
        folder = self.room.folder
        found = folder
        while not found.exists() and found != found.parent:
            found = found.parent
        usable = found.is_dir() and await asyncio.to_thread(os.access, found, os.W_OK)
        if usable:
            return [Check("console", ok=True, detail=f"the room is in {folder}")]
        fix = f"Let {self.owner} write in {found}, or set [storage] dir to another folder."
        return [Check("console", ok=False, detail=f"{found} is no folder to write in", fix=fix)]


def login_name() -> str:
    """The name of whoever sits here; "owner" where the system has none for them."""
    try:
        return getpass.getuser() or "owner"
    except (KeyError, OSError, ImportError):
        return "owner"


def _without_our_name(text: str) -> str:
    """``text`` without ``@moot`` at its beginning, which is an address and no content."""
    found = _MENTION.match(text.lstrip())
    if found is None or found[1].casefold() != BOT_NAME.casefold():
        return text
    return text.lstrip()[found.end() :].lstrip(" ,:\n")


def _fault(error: Exception) -> ChatBusy | ChatRefused:
    if isinstance(error, OSError):
        # Disk full or the like: the room took nothing, and may again when there is space.
        return ChatBusy(DISK_PAUSE_S, f"the room's file cannot be written ({error.strerror})")
    return ChatRefused(str(error), "no_such_place")
