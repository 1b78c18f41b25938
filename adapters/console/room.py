"""The console's platform: a small durable room with channels, threads and messages.

What happened is in a file before it is true, and a restart reads the same records through the same
code. Watchers are told of every change. All on one event loop; the file is written in a thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import regex
import structlog

from adapters.console.journal import Journal, Record
from core.errors import BadInput, BadSettings
from core.markup.measure import well_formed
from core.model import Button, Posted

T = TypeVar("T")

log = structlog.get_logger(__name__)

FIRST_CHANNEL = "general"
_CHANNEL = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]{0,39}")
# The file is rewritten at the start when it holds this many records more than are still needed.
_SPARE_RECORDS = 2_000


@dataclass(frozen=True, slots=True)
class RoomMessage:
    """One message of the room.

    Attributes:
        id: microseconds since the epoch as digits: unique, growing, never given twice.
        root: the id of the thread's first message; its own id for that one.
        ours: posted by Moot, not by a person.
        taken: (a person's) the bridge has taken it in.
    """

    id: str
    channel: str
    root: str
    author: str
    text: str
    sent_at: float
    ours: bool = False
    buttons: tuple[Button, ...] = ()
    nonce: str = ""
    title: str = ""
    edited_at: float = 0.0
    taken: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What a watcher is told. ``message`` is the new state (the last one for ``deleted``)."""

    kind: Literal["posted", "edited", "deleted", "channel"]
    channel: str
    message: RoomMessage | None = None


class NoSuchPlace(LookupError):
    """The channel, thread or message is not (or no longer) there; says which."""


class Room:
    """Channels, threads and messages, kept in ``folder``. Use it as ``async with Room(folder)``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._journal = Journal(folder / "room.jsonl")
        self._messages: dict[str, RoomMessage] = {}
        self._channels: dict[str, None] = {FIRST_CHANNEL: None}
        self._threads: dict[str, str] = {}  # root -> channel; stays when the root is deleted
        self._nonces: dict[str, Posted] = {}
        self._last_id = 0
        self._watchers: list[Callable[[Change], None]] = []
        self._lock = asyncio.Lock()
        self._writing: set[asyncio.Task[Any]] = set()

    # --- life -----------------------------------------------------------------------------

    async def open(self) -> None:
        """Read what there is.

        Raises:
            AlreadyRunning: another process has the room open.
            BadSettings: the folder cannot be used.
        """
        try:
            records = await asyncio.to_thread(self._journal.open)
        except OSError as error:
            say = f"The room cannot be kept in {self.folder} ({error.strerror})."
            raise BadSettings(
                f"{say} Set [storage] dir to a folder that can be written."
            ) from error
        for record in records:
            try:
                self._apply(record)
            except (KeyError, TypeError, ValueError) as error:
                # Written by another version, or by hand: the rest is still good.
                log.warning("room.bad_record", op=record.get("op"), why=repr(error))
        kept = self._records()
        if len(records) > len(kept) + _SPARE_RECORDS:
            await asyncio.to_thread(self._journal.rewrite, kept)

    async def __aenter__(self) -> Room:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Finish what is being written; nothing can be written after that."""
        await asyncio.gather(*self._writing, return_exceptions=True)
        await asyncio.to_thread(self._journal.close)

    def watch(self, watcher: Callable[[Change], None]) -> Callable[[], None]:
        """Tell ``watcher`` (quick, on the loop) of each change; call the result to stop."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    # --- reading --------------------------------------------------------------------------

    @property
    def channels(self) -> tuple[str, ...]:
        """Names, oldest first."""
        return tuple(self._channels)

    def threads(self, channel: str) -> tuple[str, ...]:
        """Roots of the channel's threads that hold anything, the one last spoken in first."""
        last: dict[str, str] = {}
        for message in self._messages.values():
            if message.channel == channel:
                last[message.root] = max(message.id, last.get(message.root, ""))
        return tuple(sorted(last, key=lambda root: last[root], reverse=True))

    def thread(self, root: str) -> tuple[RoomMessage, ...]:
        """The messages of a thread, oldest first."""
        return tuple(m for m in self._messages.values() if m.root == root)

    def message(self, message_id: str) -> RoomMessage | None:
        """The message, unless it is deleted."""
        return self._messages.get(message_id)

    def has_thread(self, channel: str, root: str) -> bool:
        """Whether the thread was ever opened there."""
        return self._threads.get(root) == channel

    def untaken(self) -> tuple[RoomMessage, ...]:
        """People's messages the bridge has not taken in yet, oldest first."""
        return tuple(m for m in self._messages.values() if not m.ours and not m.taken)

    def people(self) -> frozenset[str]:
        """Names of the persons who wrote here."""
        return frozenset(m.author for m in self._messages.values() if not m.ours)

    # --- acting ---------------------------------------------------------------------------

    async def say(self, channel: str, root: str, author: str, text: str) -> RoomMessage:
        """A person writes; ``root`` "" opens a thread.

        Raises:
            NoSuchPlace: there is no such channel or thread.
            OSError: the file cannot be written; nothing happened.
        """
        message = await self._post(channel, root, author, text)
        assert isinstance(message, RoomMessage)
        return message

    async def post(
        self,
        channel: str,
        root: str,
        author: str,
        text: str,
        *,
        nonce: str,
        buttons: tuple[Button, ...] = (),
        title: str = "",
    ) -> Posted:
        """Moot writes; the same ``nonce`` gives the message that is there. Raises as ``say``."""
        done = await self._post(
            channel, root, author, text, ours=True, nonce=nonce, buttons=buttons, title=title
        )
        return done if isinstance(done, Posted) else Posted(done.id, done.root)

    async def edit(
        self, message_id: str, text: str, buttons: tuple[Button, ...] | None = None
    ) -> None:
        """Replace a message's text and, unless None, its buttons. Raises as ``say``."""

        def make() -> tuple[Record, None]:
            old = self._messages.get(message_id)
            if old is None:
                raise NoSuchPlace(f"there is no message {message_id}")
            kept = old.buttons if buttons is None else buttons
            return {
                "op": "edit",
                "id": message_id,
                "text": well_formed(text),
                "buttons": [asdict(button) for button in kept],
                "at": time.time(),
            }, None

        await self._commit(make)

    async def delete(self, message_id: str) -> None:
        """Remove a message; one that is gone is no error. Raises OSError as ``say``."""

        def make() -> tuple[Record | None, None]:
            here = message_id in self._messages
            return ({"op": "delete", "id": message_id} if here else None), None

        await self._commit(make)

    async def mark_taken(self, message_id: str) -> None:
        """The bridge has the message. Raises OSError as ``say``."""

        def make() -> tuple[Record | None, None]:
            here = message_id in self._messages
            return ({"op": "taken", "id": message_id} if here else None), None

        await self._commit(make)

    async def add_channel(self, name: str) -> str:
        """Make a channel, or find the one there is; returns its name as kept.

        Raises:
            BadInput: that cannot be a channel's name.
            OSError: as ``say``.
        """
        kept = "-".join(well_formed(name).strip().lstrip("#").casefold().split())
        if not _CHANNEL.fullmatch(kept):
            raise BadInput(
                "A channel's name is 1 to 40 letters, digits, dots, dashes and underscores."
            )

        def make() -> tuple[Record | None, None]:
            return (None if kept in self._channels else {"op": "channel", "name": kept}), None

        await self._commit(make)
        return kept

    # --- inside ---------------------------------------------------------------------------

    async def _post(
        self,
        channel: str,
        root: str,
        author: str,
        text: str,
        *,
        ours: bool = False,
        nonce: str = "",
        buttons: tuple[Button, ...] = (),
        title: str = "",
    ) -> RoomMessage | Posted:
        def make() -> tuple[Record | None, RoomMessage | Posted]:
            if nonce in self._nonces:
                return None, self._nonces[nonce]
            if channel not in self._channels:
                raise NoSuchPlace(f"there is no channel {channel}")
            if root and not self.has_thread(channel, root):
                raise NoSuchPlace(f"there is no thread {root} in {channel}")
            now = time.time()
            fresh_id = str(max(self._last_id + 1, int(now * 1_000_000)))
            message = RoomMessage(
                id=fresh_id,
                channel=channel,
                root=root or fresh_id,
                author=well_formed(author),
                text=well_formed(text),
                sent_at=now,
                ours=ours,
                nonce=nonce,
                buttons=buttons,
                title=well_formed(title),
            )
            return {"op": "post", **asdict(message)}, message

        return await self._commit(make)

    async def _commit(self, make: Callable[[], tuple[Record | None, T]]) -> T:
        """Write what ``make`` decides, then let it be true; a cancelled caller changes nothing."""
        task = asyncio.create_task(self._write(make))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return await asyncio.shield(task)

    async def _write(self, make: Callable[[], tuple[Record | None, T]]) -> T:
        async with self._lock:
            record, result = make()
            if record is not None:
                await asyncio.to_thread(self._journal.append, record)
                change = self._apply(record)
                for watcher in tuple(self._watchers) if change else ():
                    watcher(change)
        return result

    def _apply(self, record: Record) -> Change | None:
        """Let a written record be true; what it changed for a watcher."""
        match record.get("op"):
            case "channel":
                self._channels[record["name"]] = None
                return Change("channel", record["name"])
            case "thread":
                self._threads[record["root"]] = record["channel"]
                self._last_id = max(self._last_id, int(record["root"]))
            case "post":
                return Change("posted", record["channel"], self._apply_post(record))
            case "edit" if old := self._messages.get(record["id"]):
                fresh = replace(
                    old,
                    text=record["text"],
                    buttons=_buttons(record),
                    edited_at=record["at"],
                )
                self._messages[old.id] = fresh
                return Change("edited", old.channel, fresh)
            case "delete" if old := self._messages.pop(record["id"], None):
                return Change("deleted", old.channel, old)
            case "taken" if old := self._messages.get(record["id"]):
                self._messages[old.id] = replace(old, taken=True)
        return None

    def _apply_post(self, record: Record) -> RoomMessage:
        values = {name: value for name, value in record.items() if name != "op"}
        message = RoomMessage(**{**values, "buttons": _buttons(record)})
        self._messages[message.id] = message
        self._channels.setdefault(message.channel, None)
        self._threads[message.root] = message.channel
        self._last_id = max(self._last_id, int(message.id))
        if message.nonce:
            self._nonces[message.nonce] = Posted(message.id, message.root)
        return message

    def _records(self) -> list[Record]:
        """The shortest file that says the same."""
        channels: list[Record] = [
            {"op": "channel", "name": name} for name in self._channels if name != FIRST_CHANNEL
        ]
        threads: list[Record] = [
            {"op": "thread", "root": root, "channel": channel}
            for root, channel in self._threads.items()
            if root not in self._messages
        ]
        posts: list[Record] = [{"op": "post", **asdict(m)} for m in self._messages.values()]
        return channels + threads + posts


def _buttons(record: Record) -> tuple[Button, ...]:
    return tuple(Button(**button) for button in record["buttons"])
