"""Messages that others reply to: in the reply's conversation they stand as well, word for word.

So a message may stand twice, and what happens to it happens to all of it. Every function is part
of its caller's transaction.
"""

from __future__ import annotations

from core.model import ChatEvent
from core.records import derived, files, indexing, messages, sessions
from core.records.changes import note_edit
from core.records.tables import ConversationRow, MessageRow


def erase_copies(event: ChatEvent, now: float) -> tuple[int, ...]:
    """A message was deleted in chat: where it stands still it goes, too; their ids."""
    gone: list[int] = []
    for row in _standing(event):
        messages.erase(row.id, now)
        sessions.end_told(row.conversation_id, row.sent_at)
        gone.append(row.id)
    return tuple(gone)


def change_copies(event: ChatEvent, now: float) -> None:
    """A message was edited in chat: where it stands otherwise it reads the same."""
    for row in _standing(event):
        files.keep_only(row.id, event.attachments)
        if row.text == event.text:
            continue
        MessageRow.change(row.id, text=event.text, edited_at=now)
        indexing.drop_vectors("message", row.id)
        indexing.put(row.id)
        derived.forget([row.id])
        note_edit(row.conversation_id)


def _standing(event: ChatEvent) -> list[MessageRow]:
    key, platform_id = event.key, event.message_id
    if not platform_id:
        return []
    rows = (
        MessageRow.select()
        .join(ConversationRow)
        .where(
            (ConversationRow.chat == key.chat)
            & (ConversationRow.space == key.space)
            & (ConversationRow.channel == key.channel)
            & (MessageRow.platform_id == platform_id)
            & MessageRow.deleted_at.is_null()
        )
    )
    return list(rows)
