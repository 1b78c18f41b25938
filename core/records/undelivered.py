"""Posts that could not be delivered: where they are kept, and how they are had after all.

Every function is part of its caller's transaction.
"""

from __future__ import annotations

from collections.abc import Callable

from peewee import Expression

from core.model import ConversationKey
from core.records import closed, erasure, outbox
from core.records.messages import to_conversation
from core.records.tables import ConversationRow, OutboxRow, TurnRow

MAX_POSTS = 60  # at one time
_GIVEN_UP = (OutboxRow.state == "dead") & (OutboxRow.kind == "answer") & (OutboxRow.op == "post")
_WORTH_IT = OutboxRow.kind.in_(("answer", "notice", "pull")) & (OutboxRow.op == "post")


def try_again(conversation_id: int) -> int:
    """Owe once more what was given up in a conversation or waits for its place; how many posts.

    One that may have taken effect in an attempt whose reply was lost is looked for first.
    """
    key = to_conversation(ConversationRow.get_by_id(conversation_id)).key
    here = OutboxRow.conversation == conversation_id
    given_up = _GIVEN_UP & here & (OutboxRow.text != "")
    OutboxRow.update(
        state="due", attempts=0, due_at=0.0, error="", tried_at=OutboxRow.created_at
    ).where(given_up).execute()
    closed.reopen(key, 0.0, surely=True)
    return OutboxRow.select().where(here & (OutboxRow.state == "due")).count()


def hand_over(
    asker_key: str,
    turn_id: int | None,
    to_conversation_id: int,
    now: float,
    may: Callable[[ConversationKey], bool] = lambda _there: True,
) -> int:
    """Post what is kept of a person's questions (of one turn, or all) where they are alone.

    They are copies: the thread gets its own when its place opens. ``may``: whether this person may
    still look into the place that they are owed to. Returns how many there are.
    """
    theirs = TurnRow.select(TurnRow.id).where(_of(asker_key, turn_id))
    shut = ConversationRow.select(ConversationRow.id).where(
        ConversationRow.closed_at.is_null(False)  # noqa: FBT003
    )
    waits = (OutboxRow.state == "due") & OutboxRow.conversation.in_(shut)
    rows = (
        OutboxRow.select()
        .where(
            OutboxRow.turn.in_(theirs)
            & (OutboxRow.conversation != to_conversation_id)
            & ((waits & _WORTH_IT) | _GIVEN_UP)
            & (OutboxRow.text != "")
        )
        .order_by(OutboxRow.id)
        .limit(MAX_POSTS)
    )
    owed = list(rows)
    places = {row.conversation_id for row in owed}
    seen = {n for n in places if may(to_conversation(ConversationRow.get_by_id(n)).key)}
    found = [row for row in owed if row.conversation_id in seen]
    for row in found:
        said = erasure.said_by_run(row.run) if row.run and row.kind == "answer" else 0
        outbox.add_post(
            to_conversation_id, "notice", (row.text,), message_id=said, fleeting=True, now=now
        )
    return len(found)


def _of(asker_key: str, turn_id: int | None) -> Expression:
    mine = TurnRow.asker_key == asker_key
    return mine if turn_id is None else mine & (TurnRow.id == turn_id)
