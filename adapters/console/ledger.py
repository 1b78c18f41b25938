"""What the room holds, as its records tell it. Pure: the same records give the same room."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import structlog

from adapters.console.journal import Record
from core.model import Button, Posted

log = structlog.get_logger(__name__)

FIRST_CHANNEL = "general"


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


class Ledger:
    """Channels, threads and messages; changed by ``apply`` only."""

    def __init__(self) -> None:
        self._messages: dict[str, RoomMessage] = {}
        self._channels: dict[str, None] = {FIRST_CHANNEL: None}
        self._threads: dict[str, str] = {}  # root -> channel; stays when the root is deleted
        self._ids: dict[str, dict[str, None]] = {}  # root -> the thread's messages, in order
        self._nonces: dict[str, Posted] = {}
        self._last_id = 0

    # --- reading --------------------------------------------------------------------------

    @property
    def channels(self) -> tuple[str, ...]:
        """Names, oldest first."""
        return tuple(self._channels)

    def threads(self, channel: str) -> tuple[str, ...]:
        """Roots of the channel's threads that hold anything, the one last spoken in first."""
        last = {
            root: next(reversed(ids))
            for root, ids in self._ids.items()
            if ids and self._threads[root] == channel
        }
        return tuple(sorted(last, key=lambda root: int(last[root]), reverse=True))

    def thread(self, root: str) -> tuple[RoomMessage, ...]:
        """The messages of a thread, oldest first."""
        return tuple(self._messages[message_id] for message_id in self._ids.get(root, ()))

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

    def posted(self, nonce: str) -> Posted | None:
        """What the post with this nonce became, if there was one."""
        return self._nonces.get(nonce)

    def next_id(self, now: float) -> str:
        """An id that was never given, above all that were."""
        return str(max(self._last_id + 1, int(now * 1_000_000)))

    # --- records --------------------------------------------------------------------------

    def replay(self, records: list[Record]) -> None:
        """Apply what a file holds; what cannot be read is left out."""
        for record in records:
            try:
                self.apply(record)
            except (KeyError, TypeError, ValueError) as error:
                # Written by another version, or by hand: the rest is still good.
                log.warning("room.bad_record", op=record.get("op"), why=repr(error))

    def apply(self, record: Record) -> Change | None:
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
                del self._ids[old.root][old.id]
                return Change("deleted", old.channel, old)
            case "taken" if old := self._messages.get(record["id"]):
                self._messages[old.id] = replace(old, taken=True)
        return None

    def _apply_post(self, record: Record) -> RoomMessage:
        values: dict[str, Any] = {**record, "buttons": _buttons(record)}
        del values["op"]
        message = RoomMessage(**values)
        self._messages[message.id] = message
        self._ids.setdefault(message.root, {})[message.id] = None
        self._channels.setdefault(message.channel, None)
        self._threads[message.root] = message.channel
        self._last_id = max(self._last_id, int(message.id))
        if message.nonce:
            self._nonces[message.nonce] = Posted(message.id, message.root)
        return message

    def records(self) -> list[Record]:
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
    return tuple(_button(**button) for button in record["buttons"])


def _button(options: Iterable[Iterable[str]] = (), **fields: Any) -> Button:
    return Button(options=tuple((value, shown) for value, shown in options), **fields)
