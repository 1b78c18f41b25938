"""Posts owed to a platform. Order of id is order in the thread."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Sequence
from typing import cast

from peewee import fn

from core.model import Button, Outgoing, OutgoingKind
from core.records.messages import to_conversation
from core.records.tables import ConversationRow, OutboxRow

_OPEN = OutboxRow.state == "due"


def add_post(
    conversation_id: int,
    kind: OutgoingKind,
    texts: Sequence[str],
    *,
    now: float,
    buttons: Sequence[Button] = (),
    turn_id: int | None = None,
    run_id: str | None = None,
    title: str = "",
) -> int | None:
    """Owe the pieces of a message, in order; buttons go on the last. Returns the last row's id."""
    last = None
    for number, text in enumerate(texts, 1):
        shown = buttons if number == len(texts) else ()
        last = OutboxRow.create(
            conversation=conversation_id,
            turn=turn_id,
            run=run_id,
            kind=kind,
            nonce=secrets.token_hex(12),
            text=text,
            buttons=dump_buttons(shown),
            title=title,
            created_at=now,
        ).id
    return last


def change_post(outbox_id: int, text: str, *, now: float, buttons: Sequence[Button] = ()) -> None:
    """Owe an edit of an earlier post; edits of it that still wait are superseded."""
    target = OutboxRow.get_by_id(outbox_id)
    OutboxRow.update(state="dropped", error="superseded").where(
        _OPEN & (OutboxRow.op == "edit") & (OutboxRow.target == outbox_id)
    ).execute()
    OutboxRow.create(
        conversation=target.conversation_id,
        turn=target.turn,
        run=target.run,
        op="edit",
        kind=target.kind,
        target=outbox_id,
        nonce=secrets.token_hex(12),
        text=text,
        buttons=dump_buttons(buttons),
        created_at=now,
    )


def withdraw_post(outbox_id: int, *, now: float) -> None:
    """Take a post back: dropped when it surely was not sent, else a deletion is owed."""
    never_sent = (
        OutboxRow.update(state="dropped", error="withdrawn")
        .where((OutboxRow.id == outbox_id) & _OPEN & OutboxRow.tried_at.is_null())
        .execute()
    )
    if never_sent:
        return
    target = OutboxRow.get_by_id(outbox_id)
    if target.state in ("due", "sent"):
        OutboxRow.create(
            conversation=target.conversation_id,
            turn=target.turn,
            run=target.run,
            op="delete",
            kind=target.kind,
            target=outbox_id,
            nonce=secrets.token_hex(12),
            created_at=now,
        )


def conversations_due(now: float) -> tuple[tuple[int, ...], float | None]:
    """Conversations whose oldest owed row may be sent now, and when the next one may be."""
    heads = (
        OutboxRow.select(OutboxRow.conversation, OutboxRow.due_at)
        .where(
            OutboxRow.id.in_(
                OutboxRow.select(fn.MIN(OutboxRow.id)).where(_OPEN).group_by(OutboxRow.conversation)
            )
        )
        .order_by(OutboxRow.id)
        .tuples()
    )
    rows = cast(list[tuple[int, float]], list(heads))
    later = [due for _, due in rows if due > now]
    return tuple(conversation for conversation, due in rows if due <= now), min(later, default=None)


def take_due(
    busy: Collection[int], now: float, limit: int = 20
) -> tuple[tuple[Outgoing, ...], float | None]:
    """``take_next`` for conversations that are due and not ``busy``, and when to look again.

    At most ``limit`` at a time: when more are due, "when" is now.
    """
    conversations, later = conversations_due(now)
    due = [conversation for conversation in conversations if conversation not in busy]
    taken = [take_next(conversation, now) for conversation in due[:limit]]
    when = now if len(due) > limit else later
    return tuple(item for item in taken if item is not None), when


def take_next(conversation_id: int, now: float) -> Outgoing | None:
    """The oldest owed row of a conversation, noted as being tried; None if there is nothing to do.

    From here on the attempt may take effect unseen, so ``tried_at`` is written before the act. The
    value handed out carries the ``tried_at`` of *earlier* attempts.
    """
    row = (
        OutboxRow.select()
        .where(_OPEN & (OutboxRow.conversation == conversation_id))
        .order_by(OutboxRow.id)
        .first()
    )
    if row is None or row.due_at > now:
        return None
    conversation = to_conversation(ConversationRow.get_by_id(conversation_id))
    target = OutboxRow.get_by_id(row.target) if row.target else None
    earlier = row.tried_at
    OutboxRow.update(attempts=OutboxRow.attempts + 1, tried_at=earlier or now).where(
        OutboxRow.id == row.id
    ).execute()
    known: frozenset[str] = frozenset()
    if earlier is not None:
        sent = OutboxRow.select(OutboxRow.message_id).where(
            (OutboxRow.conversation == conversation_id) & (OutboxRow.message_id != "")
        )
        known = frozenset(other.message_id for other in sent)
    return Outgoing(
        id=row.id,
        conversation=conversation,
        op=row.op,
        kind=row.kind,
        nonce=row.nonce,
        text=row.text,
        buttons=load_buttons(row.buttons),
        title=row.title,
        attempts=row.attempts + 1,
        tried_at=earlier,
        target_message=target.message_id if target else "",
        run_id=row.run or "",
        known_ids=known,
    )


def mark_sent(outbox_id: int, message_id: str, root: str | None, now: float) -> None:
    """The platform has it. ``root`` names the thread if this post opened one."""
    row = OutboxRow.get_by_id(outbox_id)
    OutboxRow.update(state="sent", message_id=message_id, sent_at=now, tried_at=None).where(
        OutboxRow.id == outbox_id
    ).execute()
    if root is not None:
        ConversationRow.update(root=root).where(
            (ConversationRow.id == row.conversation_id) & ConversationRow.root.is_null()
        ).execute()


def mark_busy(outbox_id: int, due_at: float, tried_at: float | None) -> None:
    """This attempt took no effect; try again at ``due_at``. ``tried_at`` is of earlier attempts."""
    OutboxRow.update(due_at=due_at, tried_at=tried_at).where(OutboxRow.id == outbox_id).execute()


def mark_unsure(outbox_id: int, due_at: float) -> None:
    """It may have taken effect; ``tried_at`` stays, so that the next attempt looks first."""
    OutboxRow.update(due_at=due_at).where(OutboxRow.id == outbox_id).execute()


def mark_dead(outbox_id: int, why: str) -> None:
    """It will never work; kept with the reason."""
    OutboxRow.update(state="dead", error=why, tried_at=None).where(
        OutboxRow.id == outbox_id
    ).execute()


def posted_id(outbox_id: int) -> str:
    """The platform's id of a sent post, or an empty string."""
    row = OutboxRow.get_or_none(OutboxRow.id == outbox_id)
    return row.message_id if row else ""


def undelivered() -> tuple[int, int]:
    """How many rows are owed, and how many could never be delivered."""
    owed = OutboxRow.select().where(_OPEN).count()
    return owed, OutboxRow.select().where(OutboxRow.state == "dead").count()


def dump_buttons(buttons: Sequence[Button]) -> str:
    """Buttons as they are stored."""
    return json.dumps([[b.action, b.label, b.style] for b in buttons], ensure_ascii=False)


def load_buttons(stored: str) -> tuple[Button, ...]:
    """Stored buttons as values."""
    return tuple(Button(action, label, style) for action, label, style in json.loads(stored))
