"""The notice in a thread that says how long its question has to wait."""

from __future__ import annotations

from collections.abc import Sequence

from core.model import Button
from core.records import outbox
from core.records.prepared import Prepared
from core.records.tables import TurnRow

_notice = Prepared(TurnRow, lambda turn: TurnRow.select(TurnRow.waiting).where(TurnRow.id == turn))


def show(turn_id: int, text: str, buttons: Sequence[Button], *, now: float) -> None:
    """Owe a notice, or an edit of it, that says how long a queued turn has to wait.

    It goes as soon as the turn begins, or is over.
    """
    row = TurnRow.get_by_id(turn_id)
    if row.state != "queued":
        return
    if row.waiting is not None:
        outbox.change_post(row.waiting, text, buttons=buttons, now=now)
        return
    conversation = row.conversation_id
    notice = outbox.add_post(
        conversation, "status", (text,), buttons=buttons, turn_id=turn_id, now=now
    )
    TurnRow.change(turn_id, waiting=notice)


def hide(turn_id: int, now: float) -> None:
    """The turn waits no more: its notice, if it has one, goes."""
    notice = _notice.value(turn=turn_id)
    if notice is not None:
        TurnRow.change(turn_id, waiting=None)
        outbox.withdraw_post(notice, now=now)
