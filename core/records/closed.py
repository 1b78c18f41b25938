"""Conversations whose place takes no posts: what is owed there is kept until it does again."""

from __future__ import annotations

from peewee import fn

from core.model import ConversationKey
from core.records.prepared import Prepared
from core.records.tables import ConversationRow, OutboxRow

LONGEST_PAUSE_S = 600.0
_CLOSED = ConversationRow.closed_at.is_null(False)  # noqa: FBT003


def close(conversation_id: int, why: str, now: float) -> None:
    """Nothing can be posted there; what is owed waits for ``reopen``.

    Each time it turns out to be closed still, it is left alone for longer: a busy channel in which
    Moot may not write must not cost a call for every message.
    """
    times = ConversationRow.get_by_id(conversation_id).closed_times
    pause_s = min(LONGEST_PAUSE_S, 2.0**times - 1.0)
    ConversationRow.change(
        conversation_id,
        closed_at=now,
        closed_why=why,
        closed_times=times + 1,
        closed_until=now + pause_s,
    )


_reopen = Prepared(
    ConversationRow,
    lambda chat, space, channel, now: ConversationRow.update(closed_at=None).where(
        _CLOSED
        & (ConversationRow.chat == chat)
        & (ConversationRow.space == space)
        & (ConversationRow.channel == channel)
        & (ConversationRow.closed_until <= now)
    ),
)


def reopen(key: ConversationKey, now: float, *, surely: bool = False) -> bool:
    """Something happened in the channel, so it may take posts again: whether anything is tried.

    ``surely``: the place itself has changed (un-archived, joined, unlocked).
    """
    when = float("inf") if surely else now
    return bool(_reopen.run(chat=key.chat, space=key.space, channel=key.channel, now=when))


def reopen_all(now: float) -> bool:
    """What may have opened while nobody heard of it is tried again; whether there is any."""
    due = _CLOSED & (ConversationRow.closed_until <= now)
    return bool(ConversationRow.update(closed_at=None).where(due).execute())


_opened = Prepared(
    ConversationRow,
    lambda conversation: ConversationRow.update(closed_times=0, closed_why="").where(
        (ConversationRow.id == conversation) & (ConversationRow.closed_times > 0)
    ),
)


def opened(conversation_id: int) -> None:
    """A post was taken there."""
    _opened.run(conversation=conversation_id)


def waiting() -> tuple[int, int]:
    """How many conversations are closed, and how many posts are kept for them."""
    closed = ConversationRow.select(ConversationRow.id).where(_CLOSED)
    kept = (
        OutboxRow.select(fn.COUNT(OutboxRow.id))
        .where((OutboxRow.state == "due") & OutboxRow.conversation.in_(closed))
        .scalar()
    )
    return closed.count(), int(kept or 0)
