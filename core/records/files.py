"""Files that people attached to messages: what the platforms say of them, never their bytes.

Every function is part of its caller's transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.model import Attachment, ChatEvent, Said
from core.records.prepared import Prepared
from core.records.tables import AttachmentRow, ConversationRow

MOST = 200  # of the newest ones of a conversation that are looked at


@dataclass(frozen=True, slots=True)
class Kept:
    """A file of a message; ``told`` says that the thread knows it could not be fetched.

    ``heard``: it is a voice message, and what is said in it stands in its message.
    """

    id: int
    message_id: int
    attachment: Attachment
    told: bool = False
    heard: bool = False


_here = Prepared(
    AttachmentRow,
    lambda conversation, limit: (
        AttachmentRow.select()
        .where(AttachmentRow.conversation == conversation)
        .order_by(AttachmentRow.id.desc())
        .limit(limit)
    ),
)


def note(conversation_id: int, message_id: int, attachments: Iterable[Attachment]) -> None:
    """Write the files of a message down; those that are known stay as they are."""
    attachments = tuple(attachments)
    if not attachments:
        return
    known = {
        row.platform_id for row in AttachmentRow.select().where(AttachmentRow.message == message_id)
    }
    for one in attachments:
        if one.id not in known:
            AttachmentRow.create(
                message=message_id,
                conversation=conversation_id,
                platform_id=one.id,
                name=one.name,
                mime=one.mime,
                size=one.size,
                url=one.url,
                voice=one.voice,
            )


def note_event(
    conversation_id: int, message_id: int, said: ChatEvent | Said, *, admitted: bool
) -> None:
    """As ``note``, of those whose files are fetched: who may use Moot, and the space's own bots.

    What a bot posts (a screenshot of a failed test) is data like its words; in a channel that is
    shared with others it may be a stranger's.
    """
    if not said.attachments:
        return
    bot = said.author.kind == "bot" and not ConversationRow.get_by_id(conversation_id).shared
    if admitted or bot:
        note(conversation_id, message_id, said.attachments)


def keep_only(message_id: int, attachments: Iterable[Attachment]) -> None:
    """A message was edited: files that it has no more are gone."""
    ids = [one.id for one in attachments]
    AttachmentRow.delete().where(
        (AttachmentRow.message == message_id) & AttachmentRow.platform_id.not_in(ids)
    ).execute()


_forget = Prepared(
    AttachmentRow,
    lambda message: AttachmentRow.delete().where(AttachmentRow.message == message),
)


def forget(message_id: int) -> None:
    """A message was deleted."""
    _forget.run(message=message_id)


def of_conversation(conversation_id: int) -> tuple[Kept, ...]:
    """The newest files of a conversation's standing messages, newest first."""
    rows = _here.rows(conversation=conversation_id, limit=MOST)
    return tuple(
        Kept(
            row.id,
            row.message_id,
            Attachment(row.platform_id, row.name, row.mime, row.size, row.url, voice=row.voice),
            row.told,
            row.heard not in ("", "-"),
        )
        for row in rows
    )


def untold(ids: Iterable[int]) -> frozenset[int]:
    """Those of these files that the thread was not told about yet; it is told now."""
    rows = AttachmentRow.select().where(AttachmentRow.id.in_(list(ids)) & (AttachmentRow.told == 0))
    found = frozenset(row.id for row in rows)
    AttachmentRow.update(told=True).where(AttachmentRow.id.in_(list(found))).execute()
    return found
