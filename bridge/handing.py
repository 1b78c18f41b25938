"""Files of posts on their way out: where their copies lie, and what is said of those that are lost.

The text of a post is never lost because of a file: the adapter posts it all the same, and names
what the platform refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from core.model import Attachment, ChatLimits, OutFile, Outgoing, Posted
from core.ports import Chat
from core.records import out_files, outbox
from core.tongue import say
from core.turns.made import Left, left_text
from core.turns.shelf import Shelf

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Lost:
    """A file that was not posted, why, and the code in it where it is part of the answer."""

    file: OutFile
    why: str
    code: str = ""


def limits_of(chats: Mapping[str, Chat], chat: str) -> ChatLimits:
    """What a chat takes; nothing where its adapter is off in this life."""
    return chats[chat].limits if chat in chats else ChatLimits(0, 0.0)


async def heard_by(chats: Mapping[str, Chat], chat: str, attachment: Attachment) -> str:
    """What a chat itself says is spoken in a voice message."""
    return await chats[chat].heard(attachment) if chat in chats else ""


class Handing:
    """``render`` is ``(chat, markdown) -> texts``."""

    def __init__(self, shelf: Shelf, render: Callable[[str, str], tuple[str, ...]]) -> None:
        self._shelf = shelf
        self._render = render

    async def ready(self, item: Outgoing) -> tuple[OutFile, ...]:
        """The files of a post, where they lie; one whose copy is gone is left out."""
        if not item.files:
            return ()
        return await asyncio.to_thread(self._there, item.files)

    def _there(self, files: tuple[OutFile, ...]) -> tuple[OutFile, ...]:
        placed = (replace(file, path=self._shelf.folder / file.path) for file in files)
        return tuple(file for file in placed if file.path.is_file())

    async def lost(self, item: Outgoing, posted: Posted) -> tuple[Lost, ...]:
        """What of a post's files was not posted."""
        if not item.files:
            return ()
        return await asyncio.to_thread(self._lost, item, dict(posted.lost))

    def _lost(self, item: Outgoing, refused: dict[str, str]) -> tuple[Lost, ...]:
        found: list[Lost] = []
        for file in item.files:
            path = self._shelf.folder / file.path
            there = path.is_file()
            if there and file.name not in refused:
                continue
            why = refused.get(file.name) or say("its copy is gone")
            code = path.read_text("utf-8", "replace") if file.aside and there else ""
            found.append(Lost(replace(file, path=path if there else Path()), why, code))
        return tuple(found)

    def sent(self, item: Outgoing, lost: tuple[Lost, ...], now: float) -> None:
        """The post was sent: its copies may go, and the thread is told what it goes without.

        Part of the caller's transaction.
        """
        if not item.files:
            return
        lying = [one for one in lost if not one.code]
        out_files.note_sent(item.id, [one.file.name for one in lying])
        chat, place = item.conversation.key.chat, item.conversation.id
        for one in lost:
            if one.code:  # in pieces, as any long text
                text = f"`{one.file.name}`:\n{_fenced(one.code, one.file.name)}"
                texts = self._render(chat, text)
                outbox.add_post(place, item.kind, texts, run_id=item.run_id or None, now=now)
        left = [
            Left(one.file.name, one.why, str(one.file.path) if one.file.path.name else "")
            for one in lying
        ]
        if left:
            log.warning("files.not_posted", outbox=item.id, files=len(left))
            texts = self._render(chat, left_text(left))
            outbox.add_post(place, "notice", texts, run_id=item.run_id or None, now=now)

    def swept(self, item: Outgoing) -> None:
        """After the commit: copies that nobody needs go."""
        if item.files:
            self._shelf.wake()


def _fenced(code: str, name: str) -> str:
    fence = "`" * 3
    while fence in code:
        fence += "`"
    ending = name.rpartition(".")[2]
    return f"{fence}{ending if ending.isalnum() else ''}\n{code.rstrip()}\n{fence}"
