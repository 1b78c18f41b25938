"""Posts owed to a platform. Order of id is order in the thread."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from functools import reduce
from operator import or_
from typing import Any, cast

from peewee import fn

from core.model import (
    Button,
    Conversation,
    ConversationKey,
    OutFile,
    Outgoing,
    OutgoingKind,
    OutgoingOp,
)
from core.records.buttons import dump_buttons, load_buttons
from core.records.messages import to_conversation
from core.records.out_files import dump_files, load_files
from core.records.places import set_root
from core.records.prepared import Prepared
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
    keep: bool = False,
    message_id: int = 0,
    fleeting: bool = False,
    files: Sequence[OutFile] = (),
    staying: Sequence[OutFile] = (),
    live: int | None = None,
    stream: str = "",
) -> int | None:
    """Owe the pieces of a message, in order; buttons go on the last. Returns the last row's id.

    ``keep``: not yet; ``release`` lets them go. ``message_id``: whose words it tells, so that they
    go with it; ``fleeting``: its text is not needed any more once it is posted. ``files`` go with
    the last piece, ``staying`` ones lie on the host where its words say (``out_files``). ``live``
    is the row whose message shows these words already: the first piece takes its place. ``stream``
    is who reads along a message that is to grow (``Post.stream``).
    """
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
            message=message_id,
            fleeting=fleeting,
            state="kept" if keep else "due",
            files=dump_files(files, staying) if number == len(texts) else "[]",
            target=live if number == 1 else None,
            stream=stream,
            created_at=now,
        ).id
    return last


_kept = Prepared(
    OutboxRow,
    lambda run: (
        OutboxRow.select()
        .where((OutboxRow.run == run) & (OutboxRow.state == "kept"))
        .order_by(OutboxRow.id)
    ),
)


def release(run_id: str) -> int:
    """Owe now what was kept of a run, behind all that is owed already; returns how many posts.

    Order of id is order in the thread, so each becomes a new row: an earlier seat's posts may have
    come later.
    """
    kept = _kept.rows(run=run_id)
    for row in kept:
        values = {name: value for name, value in row.__data__.items() if name != "id"}
        OutboxRow.delete().where(OutboxRow.id == row.id).execute()  # first: a nonce is unique
        OutboxRow.create(**values | {"state": "due"})
    return len(kept)


_reword = Prepared(
    OutboxRow,
    lambda outbox_id, text, buttons: OutboxRow.update(text=text, buttons=buttons).where(
        (OutboxRow.id == outbox_id) & _OPEN & OutboxRow.tried_at.is_null()
    ),
)


def change_post(outbox_id: int, text: str, *, now: float, buttons: Sequence[Button] = ()) -> None:
    """Owe an edit of an earlier post; edits of it that still wait are superseded.

    A post that surely was not sent yet is changed itself.
    """
    shown = dump_buttons(buttons)
    if _reword.run(outbox_id=outbox_id, text=text, buttons=shown):
        return
    target = OutboxRow.get_by_id(outbox_id)
    OutboxRow.update(state="dropped", error="superseded").where(
        _OPEN & (OutboxRow.op == "edit") & (OutboxRow.target == outbox_id)
    ).execute()
    _owe(target, "edit", now, text=text, buttons=shown)


def _owe(target: OutboxRow, op: OutgoingOp, now: float, **values: str) -> None:
    """Owe an act on an earlier post."""
    OutboxRow.create(
        conversation=target.conversation_id,
        turn=target.turn,
        run=target.run,
        op=op,
        kind=target.kind,
        target=target.id,
        nonce=secrets.token_hex(12),
        created_at=now,
        **values,
    )


_withdraw = Prepared(
    OutboxRow,
    lambda outbox_id: OutboxRow.update(state="dropped", error="withdrawn").where(
        (OutboxRow.id == outbox_id) & _OPEN & OutboxRow.tried_at.is_null()
    ),
)


def withdraw_post(outbox_id: int, *, now: float) -> None:
    """Take a post back: dropped when it surely was not sent, else a deletion is owed."""
    if _withdraw.run(outbox_id=outbox_id):
        return
    target = OutboxRow.get_by_id(outbox_id)
    if target.state in ("due", "sent"):
        _owe(target, "delete", now)


def _closed() -> Any:
    """Conversations whose place takes no posts (``core.records.closed``)."""
    return ConversationRow.select(ConversationRow.id).where(
        ConversationRow.closed_at.is_null(False)  # noqa: FBT003
    )


_heads = Prepared(
    OutboxRow,
    lambda: (
        OutboxRow.select(OutboxRow.conversation, OutboxRow.due_at)
        .where(
            OutboxRow.id.in_(
                OutboxRow.select(fn.MIN(OutboxRow.id))
                .where(_OPEN & OutboxRow.conversation.not_in(_closed()))
                .group_by(OutboxRow.conversation)
            )
        )
        .order_by(OutboxRow.id)
    ),
)


def conversations_due(now: float) -> tuple[tuple[int, ...], float | None]:
    """Conversations whose oldest owed row may be sent now, and when the next one may be."""
    heads = _heads.rows()
    later = [row.due_at for row in heads if row.due_at > now]
    due = tuple(row.conversation_id for row in heads if row.due_at <= now)
    return due, min(later, default=None)


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


_next = Prepared(
    OutboxRow,
    lambda conversation: (
        OutboxRow.select()
        .where(_OPEN & (OutboxRow.conversation == conversation))
        .order_by(OutboxRow.id)
        .limit(1)
    ),
)
_posted = Prepared(
    OutboxRow,
    lambda conversation: OutboxRow.select(OutboxRow.message_id).where(
        (OutboxRow.conversation == conversation) & (OutboxRow.message_id != "")
    ),
)
_posted_in_channel = Prepared(
    OutboxRow,
    lambda chat, channel: (
        OutboxRow.select(OutboxRow.message_id)
        .join(ConversationRow)
        .where(
            (ConversationRow.chat == chat)
            & (ConversationRow.channel == channel)
            & (OutboxRow.message_id != "")
        )
    ),
)


def take_next(conversation_id: int, now: float) -> Outgoing | None:
    """The oldest owed row of a conversation, noted as being tried; None if there is nothing to do.

    From here on the attempt may take effect unseen, so ``tried_at`` is written before the act. The
    value handed out carries the ``tried_at`` of *earlier* attempts.
    """
    row = _next.first(conversation=conversation_id)
    if row is None or row.due_at > now:
        return None
    conversation = to_conversation(ConversationRow.get_by_id(conversation_id))
    target = OutboxRow.get_by_id(row.target) if row.target else None
    earlier = row.tried_at
    OutboxRow.change(row.id, attempts=row.attempts + 1, tried_at=earlier or now)
    known = _known(conversation) if earlier is not None else frozenset[str]()
    return Outgoing(
        id=row.id,
        conversation=conversation,
        op=cast("OutgoingOp", row.op),
        kind=cast("OutgoingKind", row.kind),
        nonce=row.nonce,
        text=row.text,
        buttons=load_buttons(row.buttons),
        title=row.title,
        attempts=row.attempts + 1,
        tried_at=earlier,
        target_message=target.message_id if target else "",
        run_id=row.run or "",
        known_ids=known,
        files=load_files(row.files),
        live=target.message_id if target and row.op == "post" else "",
        stream=row.stream,
    )


def _known(conversation: Conversation) -> frozenset[str]:
    """Posts that are another row's: of the thread, or of the channel while there is no thread."""
    key = conversation.key
    rows = (
        _posted.rows(conversation=conversation.id)
        if conversation.opened
        else _posted_in_channel.rows(chat=key.chat, channel=key.channel)
    )
    return frozenset(row.message_id for row in rows)


def mark_sent(outbox_id: int, message_id: str, root: str | None, now: float) -> None:
    """The platform has it. ``root`` names the thread if this post opened one."""
    row = OutboxRow.get_by_id(outbox_id)
    values = {"state": "sent", "message_id": message_id, "sent_at": now, "tried_at": None}
    OutboxRow.change(outbox_id, **values, **({"text": ""} if row.fleeting else {}))
    if root is not None:
        set_root(row.conversation_id, root)


def mark_busy(outbox_id: int, due_at: float, tried_at: float | None) -> None:
    """This attempt took no effect; try again at ``due_at``. ``tried_at`` is of earlier attempts.

    It does not count: a long storm of limits must not use up the tries of a post.
    """
    OutboxRow.update(due_at=due_at, tried_at=tried_at, attempts=OutboxRow.attempts - 1).where(
        OutboxRow.id == outbox_id
    ).execute()


def mark_unsure(outbox_id: int, due_at: float) -> None:
    """It may have taken effect; ``tried_at`` stays, so that the next attempt looks first."""
    OutboxRow.change(outbox_id, due_at=due_at)


def mark_dead(outbox_id: int, why: str) -> None:
    """It will never work; kept with the reason."""
    fleeting = OutboxRow.get_by_id(outbox_id).fleeting
    values = {"state": "dead", "error": why, "tried_at": None}
    OutboxRow.change(outbox_id, **values, **({"text": ""} if fleeting else {}))


def says_already(conversation_id: int, text: str, run_id: str) -> bool:
    """Whether the conversation was told, or is to be told, the same of this run."""
    return (
        OutboxRow.select()
        .where(
            (OutboxRow.conversation == conversation_id)
            & (OutboxRow.run == run_id)
            & (OutboxRow.text == text)
        )
        .exists()
    )


def told_already(turn_id: int, text: str) -> bool:
    """Whether just this was said of a turn before."""
    return OutboxRow.select().where((OutboxRow.turn == turn_id) & (OutboxRow.text == text)).exists()


def said_in(conversation_id: int, text: str) -> bool:
    """Whether just this was said in a conversation before."""
    here = OutboxRow.conversation == conversation_id
    return OutboxRow.select().where(here & (OutboxRow.text == text)).exists()


def told_of(conversation_id: int, turn_id: int) -> bool:
    """Whether anything of this turn was, or is to be, posted in the conversation."""
    return (
        OutboxRow.select()
        .where((OutboxRow.conversation == conversation_id) & (OutboxRow.turn == turn_id))
        .exists()
    )


def close_question(turn_id: int, text: str, *, now: float) -> None:
    """Ask no more whether a held turn may go on: what asks reads ``text``, or goes ("")."""
    asks = OutboxRow.buttons.startswith(f'[["go:{turn_id}"')
    posts = (OutboxRow.turn == turn_id) & (OutboxRow.op == "post") & asks
    for row in list(OutboxRow.select().where(posts & (OutboxRow.state != "dropped"))):
        if text:
            change_post(row.id, text, now=now)
        else:
            withdraw_post(row.id, now=now)
        OutboxRow.update(buttons="[]").where(OutboxRow.id == row.id).execute()  # closed once


def close_post(key: ConversationKey, message_id: str, text: str, *, now: float) -> bool:
    """What a notice of this channel asked with its buttons is done: it reads ``text`` instead.

    False when it is no post that we keep, such as an answer for one person's eyes.
    """
    posts = (
        OutboxRow.select(OutboxRow.id)
        .join(ConversationRow)
        .where(
            (ConversationRow.chat == key.chat)
            & (ConversationRow.space == key.space)
            & (ConversationRow.channel == key.channel)
            & (OutboxRow.message_id == message_id)
            & (OutboxRow.message_id != "")
            & (OutboxRow.kind == "notice")
        )
    )
    row = posts.first()
    if row is None:
        return False
    OutboxRow.change(row.id, buttons="[]")
    change_post(row.id, text, now=now)
    return True


def close_offers(turn_id: int, *, now: float) -> None:
    """The question of a turn was put again: what offers that keeps its words, and no buttons."""
    for row in _offers(turn_id):
        if row.text:
            change_post(row.id, row.text, now=now)
        OutboxRow.update(buttons="[]").where(OutboxRow.id == row.id).execute()  # closed once


def is_offered(turn_id: int) -> bool:
    """Whether a post offers to put the question of a turn again, which it does once it is over."""
    return bool(_offers(turn_id))


def _offers(turn_id: int) -> list[OutboxRow]:
    ends = (("retry", '"'), ("anyway", '"'), ("other", ":"), ("other", '"'))
    shown = [OutboxRow.buttons.contains(f'"{verb}:{turn_id}{end}') for verb, end in ends]
    posts = (OutboxRow.turn == turn_id) & (OutboxRow.op == "post") & (OutboxRow.state != "dropped")
    return list(OutboxRow.select().where(posts & reduce(or_, shown)))


def undelivered() -> tuple[int, int]:
    """How many rows are owed where posts are taken, and how many could never be delivered."""
    owed = OutboxRow.select().where(_OPEN & OutboxRow.conversation.not_in(_closed())).count()
    return owed, OutboxRow.select().where(OutboxRow.state == "dead").count()
