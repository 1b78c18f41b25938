"""Controls below answers: only the newest answer of a conversation has them."""

from __future__ import annotations

from dataclasses import dataclass

from core.records.tables import OutboxRow


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier answer that still shows its controls."""

    id: int
    message_id: str
    text: str


def earlier(conversation_id: int, than: int, limit: int = 3) -> tuple[Earlier, ...]:
    """The newest answers before the post ``than`` that have controls still."""
    rows = (
        OutboxRow.select()
        .where(
            (OutboxRow.conversation == conversation_id)
            & (OutboxRow.id < than)
            & (OutboxRow.kind == "answer")
            & (OutboxRow.op == "post")
            & (OutboxRow.state == "sent")
            & OutboxRow.buttons.contains('"context:')
        )
        .order_by(OutboxRow.id.desc())
        .limit(limit)
    )
    return tuple(Earlier(row.id, row.message_id, row.text) for row in rows)


def gone(outbox_id: int) -> None:
    """This answer shows no controls any more, or cannot be changed: it is not looked at again."""
    OutboxRow.change(outbox_id, buttons="[]")
