"""What holds of a conversation as a place: its mode, and that not everybody can read it."""

from __future__ import annotations

from core.model import ConversationKey
from core.records.tables import ConversationRow


def set_mode(conversation_id: int, mode: str) -> None:
    """The conversation's own pack mode; "" gives it back to the settings."""
    ConversationRow.change(conversation_id, mode=mode)


def set_apart(key: ConversationKey) -> None:
    """This thread is a private one: not everybody in its channel can read it."""
    ConversationRow.update(apart=True).where(
        (ConversationRow.chat == key.chat)
        & (ConversationRow.space == key.space)
        & (ConversationRow.channel == key.channel)
        & (ConversationRow.root == key.root)
        & ~ConversationRow.apart
    ).execute()
