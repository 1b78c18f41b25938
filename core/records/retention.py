"""Messages that were kept as long as they are kept, with what derives from them.

Conversations are gone through in the order of their ids, some milliseconds at a time. One in which
a question runs or waits is left alone until that is over. Tombstones (rows without words) stay, so
that no history brings back what was erased.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from core.model import ConversationKey
from core.records import erasure
from core.records.prepared import Prepared
from core.records.tables import (
    ConversationRow,
    DecisionRow,
    MessageRow,
    OutboxRow,
    PullRow,
    RequestRow,
    RunRow,
    SummaryRow,
    TurnRow,
)

DAY_S = 86_400.0
Kept = Callable[[ConversationKey], float]
"""How many days the messages of a conversation are kept; 0: for ever."""

_PIECE = 50
_next = Prepared(
    ConversationRow,
    lambda after, limit: (
        ConversationRow.select()
        .where(ConversationRow.id > after)
        .order_by(ConversationRow.id)
        .limit(limit)
    ),
)
_going = Prepared(
    TurnRow,
    lambda conversation: (
        TurnRow.select(TurnRow.id)
        .where(
            (TurnRow.conversation == conversation)
            & TurnRow.state.in_(("queued", "running", "held", "parked"))
        )
        .limit(1)
    ),
)
_old = Prepared(
    MessageRow,
    lambda conversation, before, limit: (
        MessageRow.select(MessageRow.id)
        .where(
            (MessageRow.conversation == conversation)
            & MessageRow.deleted_at.is_null()
            & (MessageRow.sent_at < before)
        )
        .order_by(MessageRow.sent_at)
        .limit(limit)
    ),
)


def age_some(kept: Kept, now: float, after: int, budget_s: float = 0.008) -> tuple[int | None, int]:
    """Erase what is too old in the conversations whose ids are greater than ``after``.

    For about as long as ``budget_s``. Returns where to go on (``None``: all was looked at) and how
    many messages were erased.
    """
    ends = time.perf_counter() + budget_s
    erased = 0
    while True:
        rows = _next.rows(after=after, limit=_PIECE)
        for row in rows:
            place = ConversationKey(row.chat, row.space, row.channel, row.root or "")
            days = kept(place)
            if days and not _going.rows(conversation=row.id):
                done, more = _age(row.id, now - days * DAY_S, now, ends)
                erased += done
                if more:
                    return after, erased
            after = row.id
            if time.perf_counter() > ends:
                return after, erased
        if len(rows) < _PIECE:
            return None, erased


def _age(conversation_id: int, before: float, now: float, ends: float) -> tuple[int, bool]:
    """One conversation: how many messages were erased, and whether there may be more."""
    done = 0
    while rows := _old.rows(conversation=conversation_id, before=before, limit=_PIECE):
        for row in rows:
            erasure.erase(row.id, now, aged=True)
            done += 1
            if time.perf_counter() > ends:
                return done, True
    clear(conversation_id, before)
    return done, False


def clear(conversation_id: int, before: float) -> None:
    """What is beside the messages: questions, answers, lookups, requests and posts of that time.

    Who asked what when, and what it used, stays; so do the posts that are still owed.
    """
    over = (TurnRow.conversation == conversation_id) & TurnRow.state.not_in(
        ("queued", "running", "held", "parked")
    )
    TurnRow.update(prompt="", error="").where(
        over & (TurnRow.queued_at < before) & ((TurnRow.prompt != "") | (TurnRow.error != ""))
    ).execute()
    mine = RunRow.turn.in_(TurnRow.select(TurnRow.id).where(over))
    old = mine & (RunRow.opened_at < before)
    RunRow.update(answer="", error="", position="", faults="[]").where(
        old & ((RunRow.answer != "") | (RunRow.error != "") | (RunRow.faults != "[]"))
    ).execute()
    PullRow.update(query="", note="").where(
        PullRow.run.in_(RunRow.select(RunRow.id).where(old)) & (PullRow.query != "")
    ).execute()
    asked = (
        (RequestRow.conversation == conversation_id)
        & (RequestRow.asked_at < before)
        & (RequestRow.state != "waiting")
        & ((RequestRow.about != "") | (RequestRow.detail != "") | (RequestRow.questions != "[]"))
    )
    RequestRow.update(about="", detail="", questions="[]", answers="[]", note="").where(
        asked
    ).execute()
    posts = (
        (OutboxRow.conversation == conversation_id)
        & (OutboxRow.created_at < before)
        & OutboxRow.state.not_in(("due", "kept"))
        & ((OutboxRow.text != "") | (OutboxRow.title != "") | (OutboxRow.buttons != "[]"))
    )
    OutboxRow.update(text="", title="", buttons="[]").where(posts).execute()
    failed = (SummaryRow.conversation == conversation_id) & (SummaryRow.opened_at < before)
    SummaryRow.update(error="").where(failed & (SummaryRow.error != "")).execute()
    decided = (DecisionRow.conversation == conversation_id) & (DecisionRow.created_at < before)
    DecisionRow.update(stances="[]").where(decided & (DecisionRow.stances != "[]")).execute()
