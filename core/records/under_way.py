"""What runs or waits in all places that one person may look into."""

from __future__ import annotations

from core.model import Conversation, Turn
from core.records.messages import get_conversation
from core.records.tables import ConversationRow, TurnRow
from core.records.turns import to_turn

_UNDER_WAY = ("queued", "running", "held", "parked")


def under_way(
    chat: str, space: str, person: str, *, everybodys: bool, limit: int
) -> tuple[tuple[Turn, Conversation], ...]:
    """Turns that this person (``chat:id``) asked, oldest first.

    With ``everybodys`` also those in channels of ``space`` that everybody there can read.
    """
    mine = (ConversationRow.chat == chat) & (TurnRow.asker_key == person)
    seen = mine
    if everybodys and space:
        place = (ConversationRow.chat == chat) & (ConversationRow.space == space)
        private = ConversationRow.direct | ConversationRow.apart
        seen = mine | (place & ConversationRow.public & ~private)
    found = (
        TurnRow.select()
        .join(ConversationRow)
        .where(TurnRow.state.in_(_UNDER_WAY) & seen)
        .order_by(TurnRow.id)
        .limit(limit)
    )
    return tuple((to_turn(row), get_conversation(row.conversation_id)) for row in found)
