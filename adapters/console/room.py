"""The console's platform: a small durable room with channels, threads and messages.

What happened is in a file before it is true, and a restart reads the same records through the same
code. Watchers are told of every change. All on one event loop; the file is written in a thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import regex

from adapters.console.journal import Journal, Record
from adapters.console.ledger import Change, Ledger, RoomMessage
from core.errors import BadInput, BadSettings
from core.markup.measure import well_formed
from core.model import Button, Posted
from core.tongue import say

T = TypeVar("T")

_CHANNEL = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]{0,39}")
# The file is rewritten at the start when it holds this many records more than are still needed.
_SPARE_RECORDS = 2_000


class NoSuchPlace(LookupError):
    """The channel, thread or message is not (or no longer) there; says which."""


class Room(Ledger):
    """Channels, threads and messages, kept in ``folder``. Use it as ``async with Room(folder)``."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self._journal = Journal(folder / "room.jsonl")
        self._watchers: list[Callable[[Change], object]] = []
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
        self.replay(records)
        kept = self.records()
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

    def watch(self, watcher: Callable[[Change], object]) -> Callable[[], None]:
        """Tell ``watcher`` (quick, on the loop) of each change; call the result to stop."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

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
            old = self.message(message_id)
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
            here = self.message(message_id) is not None
            return ({"op": "delete", "id": message_id} if here else None), None

        await self._commit(make)

    async def mark_taken(self, message_id: str) -> None:
        """The bridge has the message. Raises OSError as ``say``."""

        def make() -> tuple[Record | None, None]:
            here = self.message(message_id) is not None
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
                say("A channel's name is 1 to 40 letters, digits, dots, dashes and underscores.")
            )

        def make() -> tuple[Record | None, None]:
            return (None if kept in self.channels else {"op": "channel", "name": kept}), None

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
            done = self.posted(nonce)
            if done is not None:
                return None, done
            if channel not in self.channels:
                raise NoSuchPlace(f"there is no channel {channel}")
            if root and not self.has_thread(channel, root):
                raise NoSuchPlace(f"there is no thread {root} in {channel}")
            now = time.time()
            fresh_id = self.next_id(now)
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
                change = self.apply(record)
                if change is not None:
                    for watcher in tuple(self._watchers):
                        watcher(change)
        return result
