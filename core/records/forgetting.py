"""What people ask Moot to forget: a message, a thread, all that a person said.

What is forgotten is hidden before anybody is told that it was: no reading finds it any more. A
little is hidden in the transaction of the asking and erased with it; much is hidden in steps that
follow at once, and erased in the background (``core.records.eraser``), both from rows, so that no
crash loses it. Every function is part of its caller's transaction.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from peewee import SQL, fn

from core.model import ConversationKey
from core.records import deeds, derived, erasure, marks, outbox_texts, sessions
from core.records.changes import note_deletion, note_forgotten, person_of, thread_of
from core.records.prepared import Prepared, each
from core.records.tables import (
    AttachmentRow,
    ConversationRow,
    MessageRow,
    MetaRow,
    OutboxRow,
    TurnRow,
)

AT_LEAST = 3  # messages of one step
SOME = 10  # messages that are hidden together: each pass over them is undone once
BUDGET_S = 0.008  # of one step
NOTED = 500  # messages of a row that says what is still to be hidden
_REST = "still-to-hide:"
_GOING = ("queued", "running", "held", "parked")

_said = Prepared(
    MessageRow,
    lambda author: MessageRow.select(MessageRow.id).where(
        (MessageRow.author_key == author) & MessageRow.deleted_at.is_null()
    ),
)
_answered = Prepared(
    MessageRow,
    lambda author: MessageRow.select(MessageRow.id).where(
        MessageRow.turn.in_(TurnRow.select(TurnRow.id).where(TurnRow.asker_key == author))
        & (MessageRow.author_kind == "agent")
        & MessageRow.deleted_at.is_null()
    ),
)
# Of a thread together: most passes over it are undone once.
_by_place = Prepared(
    MessageRow,
    lambda ids: (
        MessageRow.select(MessageRow.id)
        .where(MessageRow.id.in_(each(ids)) & MessageRow.deleted_at.is_null())
        .order_by(MessageRow.conversation, MessageRow.id)
    ),
)
_times = Prepared(
    MessageRow,
    lambda ids: MessageRow.select(MessageRow.conversation, MessageRow.sent_at).where(
        MessageRow.id.in_(each(ids))
    ),
)
_set_hidden = Prepared(
    MessageRow,
    lambda ids, now: MessageRow.update(
        deleted_at=now,
        # Also one that was only a file: what is hidden is told by its words.
        text=SQL("CASE text WHEN '' THEN ' ' ELSE text END"),
    ).where(MessageRow.id.in_(each(ids)) & MessageRow.deleted_at.is_null()),
)
_drop_files = Prepared(
    AttachmentRow, lambda ids: AttachmentRow.delete().where(AttachmentRow.message.in_(each(ids)))
)
_noted = Prepared(
    MetaRow,
    lambda first, last: (
        MetaRow.select()
        .where((MetaRow.name >= first) & (MetaRow.name < last))
        .order_by(MetaRow.name)
        .limit(1)
    ),
)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How much is forgotten, and the turns that were going on about it: they are to be stopped.

    ``rest``: under which name ``hide_some`` goes on; "" where all is hidden.
    """

    count: int
    turns: tuple[int, ...] = ()
    rest: str = ""


def standing(ids: Iterable[int]) -> tuple[int, ...]:
    """Those of these messages that stand, ascending."""
    query = MessageRow.select(MessageRow.id).where(
        MessageRow.id.in_(each(_dump(ids))) & MessageRow.deleted_at.is_null()
    )
    return tuple(row.id for row in query.order_by(MessageRow.id))


def of_message(message_id: int) -> tuple[int, ...]:
    """A message, and (of a question) what agents answered to it."""
    asked = TurnRow.select(TurnRow.id).where(TurnRow.prompt_message == message_id)
    answers = MessageRow.select(MessageRow.id).where(
        MessageRow.turn.in_(asked) & (MessageRow.author_kind == "agent")
    )
    return standing([message_id, *(row.id for row in answers)])


def of_thread(conversation_id: int) -> tuple[int, ...]:
    """All that stands in a conversation."""
    query = MessageRow.select(MessageRow.id).where(
        (MessageRow.conversation == conversation_id) & MessageRow.deleted_at.is_null()
    )
    return tuple(row.id for row in query.order_by(MessageRow.id))


def of_person(author_key: str) -> tuple[int, ...]:
    """All that a person (``"slack:U1"``) said anywhere, and what agents answered to them."""
    said = _said.tuples(author=author_key)
    answers = _answered.tuples(author=author_key)
    return tuple(sorted({number for (number,) in (*said, *answers)}))


def said_by(message_id: int) -> str:
    """Whose a message is: who wrote it, or (of an answer) who asked for it; "" for nobody's."""
    row = MessageRow.get_or_none(MessageRow.id == message_id)
    if row is None:
        return ""
    if row.author_kind == "human":
        return row.author_key
    turn = TurnRow.get_or_none(TurnRow.id == row.turn) if row.turn else None
    return turn.asker_key if turn is not None else ""


def begun_by(conversation_id: int) -> str:
    """Who began a thread, or who alone spoke in it; "" where that is not known."""
    place = ConversationRow.get_by_id(conversation_id)
    here = MessageRow.conversation == conversation_id
    people = MessageRow.select(MessageRow.author_key).where(
        here & (MessageRow.author_kind == "human")
    )
    alone = [row.author_key for row in people.distinct()]
    if len(alone) == 1 and place.caught_up:
        return alone[0]
    root = MessageRow.get_or_none(here & (MessageRow.platform_id == (place.root or "-")))
    if root is None and place.caught_up and not place.direct:
        root = MessageRow.select().where(here).order_by(MessageRow.sent_at, MessageRow.id).first()
    return root.author_key if root is not None and root.author_kind == "human" else ""


def place_of(message_id: int) -> ConversationKey | None:
    """Where a message was said."""
    row = MessageRow.get_or_none(MessageRow.id == message_id)
    if row is None:
        return None
    place = ConversationRow.get_by_id(row.conversation_id)
    return ConversationKey(place.chat, place.space, place.channel, place.root or "")


def is_in(conversation_id: int, here: ConversationKey) -> bool:
    """Whether there is such a conversation, in the channel of ``here``."""
    place = ConversationRow.get_or_none(ConversationRow.id == conversation_id)
    return place is not None and (place.chat, place.space, place.channel) == (
        here.chat,
        here.space,
        here.channel,
    )


def at_address(here: ConversationKey, ids: Sequence[str], address: str) -> int:
    """The message of this chat and space that an address means, an answer too; 0: there is none.

    ``ids`` may be its id. A platform may count them by channel: then the address names that, too.
    """
    same = (ConversationRow.chat == here.chat) & (ConversationRow.space == here.space)
    for one in ids:
        said = MessageRow.select(MessageRow, ConversationRow).join(ConversationRow)
        found = [
            (row.id, row.conversation) for row in said.where(same & (MessageRow.platform_id == one))
        ]
        posts = OutboxRow.select(OutboxRow, ConversationRow).join(ConversationRow)
        posted = posts.where(same & (OutboxRow.message_id == one) & (OutboxRow.kind == "answer"))
        found += [(erasure.said_by_run(row.run or ""), row.conversation) for row in posted]
        named = [
            number
            for number, place in found
            if number and (place.channel in address or (place.root or "-") in address)
        ]
        if named:
            return named[0]
    return 0


def forget(ids: Collection[int], now: float) -> Forgotten:
    """Hide these messages from everything, and erase what a few milliseconds suffice for.

    Of many only the first are hidden at once, those of questions that go on among them; the rest is
    noted under ``Forgotten.rest`` and hidden step by step (``hide_some``). ``erase_hidden`` does
    what is left, of an earlier life too.
    """
    going = TurnRow.select(TurnRow.id, TurnRow.prompt_message).where(
        TurnRow.prompt_message.in_(each(_dump(ids))) & TurnRow.state.in_(_GOING)
    )
    asked = {row.id: row.prompt_message for row in going}
    chosen = [number for (number,) in _by_place.tuples(ids=_dump(ids))]
    _hide(list(asked.values()), now)
    left = _hide_within(chosen, now)
    rest = _note_rest(left) if left else ""
    outbox_texts.withdraw_fleeting(now)
    note_deletion()
    if not rest:
        erase_hidden(now)
    return Forgotten(len(chosen), tuple(asked), rest)


def hide_some(now: float, rest: str = "") -> bool:
    """Hide what is noted under ``rest`` ("": under any); whether there is more of it.

    For about as long as ``BUDGET_S``.
    """
    noted = _noted.first(first=f"{_REST}{rest}", last=f"{_REST}{rest}~")
    if noted is None:
        return False
    left = _hide_within(json.loads(noted.value), now)
    if left:
        MetaRow.update(value=_dump(left)).where(MetaRow.name == noted.name).execute()
    else:
        MetaRow.delete().where(MetaRow.name == noted.name).execute()
    outbox_texts.withdraw_fleeting(now)
    note_deletion()
    return bool(left) or _noted.first(first=f"{_REST}{rest}", last=f"{_REST}{rest}~") is not None


def _note_rest(ids: Sequence[int]) -> str:
    """Note that these are still to be hidden; returns under which name."""
    rest = secrets.token_hex(8)
    for place in range(0, len(ids), NOTED):
        name = f"{_REST}{rest}:{place:09}"
        MetaRow.create(name=name, value=_dump(ids[place : place + NOTED]))
    return rest


def _hide_within(ids: Sequence[int], now: float) -> Sequence[int]:
    """Hide some at a time until the time is over, some in any case; those that are left."""
    ends = time.perf_counter() + BUDGET_S
    for place in range(0, len(ids), SOME):
        _hide(ids[place : place + SOME], now)
        if time.perf_counter() > ends:
            return ids[place + SOME :]
    return ()


def _hide(ids: Sequence[int], now: float) -> None:
    """Nothing finds these any more, nor what was made of them."""
    given = _dump(ids)
    first: dict[int, float] = {}
    for place, sent_at in _times.tuples(ids=given):
        first[place] = min(first.get(place, sent_at), sent_at)
    _set_hidden.run(ids=given, now=now)
    _drop_files.run(ids=given)
    derived.forget(ids)
    for conversation_id, sent_at in first.items():
        sessions.end_told(conversation_id, sent_at)


def forget_thread(
    conversation_id: int, now: float, at: float, ids: Collection[int] | None = None
) -> Forgotten:
    """Forget all of a thread up to ``at`` (by the platform's clock), and what was posted in it.

    ``ids``: what stands of it, where that is known.
    """
    done = forget(of_thread(conversation_id) if ids is None else ids, now)
    note_forgotten(thread_of(conversation_id), max(at, _newest(conversation_id)))
    return done


def forget_person(
    author_key: str, now: float, at: float, ids: Collection[int] | None = None
) -> Forgotten:
    """Forget all that a person said up to ``at``, what agents answered to them, and their marks.

    ``ids``: these messages, where they are known.
    """
    done = forget(of_person(author_key) if ids is None else ids, now)
    marks.forget_by(author_key)
    deeds.forget_by(author_key)
    note_forgotten(person_of(author_key), at)
    return done


def _newest(conversation_id: int) -> float:
    newest = MessageRow.select(fn.MAX(MessageRow.sent_at)).where(
        (MessageRow.conversation == conversation_id) & (MessageRow.author_kind == "human")
    )
    return float(newest.scalar() or 0.0)


def erase_hidden(now: float, budget_s: float = BUDGET_S) -> bool:
    """Erase what is hidden, for about as long as ``budget_s``; whether there may be more.

    First what is still to be hidden is. A few are erased in any case: what somebody has just asked
    for is mostly one or two.
    """
    if hide_some(now):
        return True
    ends = time.perf_counter() + budget_s
    hidden = SQL("deleted_at IS NOT NULL AND text != ''")  # word for word as in the index
    rows = MessageRow.select(MessageRow.id).where(hidden).order_by(MessageRow.id).limit(100)
    for place, row in enumerate(list(rows)):
        if place >= AT_LEAST and time.perf_counter() > ends:
            return True
        erasure.erase(row.id, now, forgotten=True)
    return len(rows) == 100


def _dump(ids: Iterable[int]) -> str:
    return json.dumps(list(ids))
