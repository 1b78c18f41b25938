"""Which reaction each question is to have, worked out from how its turn stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peewee import JOIN, fn

from core.model import ConversationKey
from core.records.tables import (
    ConversationRow,
    MessageRow,
    ReactionRow,
    RequestRow,
    RunRow,
    TurnRow,
)

MOST = 500  # looked at together: some milliseconds
_BY_STATE = {
    "queued": "seen",
    "running": "working",
    "held": "waiting",
    "parked": "waiting",
    "done": "done",
    "failed": "failed",
}
_MAYBE = "?"  # behind a name in a row
_OVER = ("done", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Mark:
    """What stands under a question and what is to: ``wanted`` is "" for nothing.

    ``shown`` certainly stands there, ``maybe`` was to be put and it is not known whether it was.
    ``gone``: the message is, so there is nothing to do.
    """

    message: int
    key: ConversationKey
    platform_id: str
    shown: tuple[str, ...]
    maybe: tuple[str, ...]
    wanted: str
    over: bool
    gone: bool

    @property
    def right(self) -> bool:
        """Whether just what is wanted stands there."""
        there = ((self.wanted,) if self.wanted else (), ())
        return self.gone or (self.shown, self.maybe) == there


def note(message_id: int) -> None:
    """A question was queued: how it stands is to be seen under it.

    Not under what a command said, which is no message of that person's.
    """
    row = MessageRow.get_or_none(MessageRow.id == message_id)
    if row is None or not row.platform_id:
        return
    ReactionRow.insert(message=message_id).on_conflict(
        conflict_target=[ReactionRow.message], update={ReactionRow.settled: False}
    ).execute()


def unsettled() -> tuple[Mark, ...]:
    """All questions under which something may change, the oldest first."""
    waiting = (
        RequestRow.select(fn.COUNT(RequestRow.id))
        .join(RunRow, on=(RequestRow.run == RunRow.id))
        .where((RunRow.turn == TurnRow.id) & (RequestRow.state == "waiting"))
    )
    rows: Any = (
        ReactionRow.select(
            ReactionRow.message,
            ReactionRow.shown,
            MessageRow.platform_id,
            MessageRow.deleted_at,
            ConversationRow.chat,
            ConversationRow.space,
            ConversationRow.channel,
            ConversationRow.root,
            TurnRow.state,
            waiting,
        )
        .join(MessageRow, JOIN.LEFT_OUTER, on=(MessageRow.id == ReactionRow.message))
        .join(ConversationRow, JOIN.LEFT_OUTER, on=(ConversationRow.id == MessageRow.conversation))
        .join(TurnRow, JOIN.LEFT_OUTER, on=(TurnRow.id == MessageRow.turn))
        .where(~ReactionRow.settled)
        .order_by(ReactionRow.message)
        .limit(MOST)
        .tuples()
    )
    return tuple(_mark(*row) for row in rows)


def _mark(
    message: int,
    shown: str,
    platform_id: str | None,
    deleted_at: Any,
    chat: str | None,
    space: str | None,
    channel: str | None,
    root: str | None,
    state: str | None,
    waiting: int,
) -> Mark:
    wanted = _BY_STATE.get(state or "", "")
    return Mark(
        message,
        ConversationKey(chat or "", space or "", channel or "", root or ""),
        platform_id or "",
        tuple(name for name in shown.split() if not name.endswith(_MAYBE)),
        tuple(name[:-1] for name in shown.split() if name.endswith(_MAYBE)),
        "waiting" if waiting and wanted == "working" else wanted,
        over=state is None or state in _OVER,
        gone=not platform_id or deleted_at is not None,
    )


def set_shown(message_id: int, shown: Sequence[str], maybe: Sequence[str] = ()) -> None:
    """What stands there now, and what may."""
    there = (*shown, *(f"{name}{_MAYBE}" for name in maybe))
    ReactionRow.change(message_id, shown=" ".join(there))


def settle(message_id: int) -> None:
    """It is over, unless the question was put again meanwhile."""
    still = (
        MessageRow.select(MessageRow.id)
        .join(TurnRow, on=(TurnRow.id == MessageRow.turn))
        .where((MessageRow.id == message_id) & TurnRow.state.not_in(_OVER))
    )
    mine = (ReactionRow.message == message_id) & ReactionRow.message.not_in(still)
    ReactionRow.update(settled=True).where(mine).execute()


def give_up(message_id: int) -> None:
    """Nothing can be shown under it: it is let be, until the question is put again."""
    ReactionRow.change(message_id, settled=True)
