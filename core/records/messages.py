"""Conversations and what was said in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from peewee import SQL, fn

from core.model import (
    Attachment,
    AuthorKind,
    ChatEvent,
    Conversation,
    ConversationKey,
    Message,
    Missing,
    Participant,
)
from core.records import derived, files, indexing, outbox_texts, sessions
from core.records.changes import note_deletion, note_edit
from core.records.prepared import Prepared
from core.records.tables import ConversationRow, EventRow, MessageRow


def first_time(event_id: str, now: float) -> bool:
    """Note a command or button; False when it was taken in before."""
    return bool(
        EventRow.insert(event_id=event_id, at=now).on_conflict_ignore().as_rowcount().execute()
    )


_conversation = Prepared(
    ConversationRow,
    lambda chat, space, channel, root: ConversationRow.select().where(
        (ConversationRow.chat == chat)
        & (ConversationRow.space == space)
        & (ConversationRow.channel == channel)
        & (ConversationRow.root == root)
        & (ConversationRow.twin == 0)
    ),
)


def find_conversation(key: ConversationKey) -> Conversation | None:
    """The conversation of a thread, if Moot knows it."""
    row = _conversation.first(chat=key.chat, space=key.space, channel=key.channel, root=key.root)
    return to_conversation(row) if row else None


def get_conversation(conversation_id: int) -> Conversation:
    """The conversation with this id."""
    return to_conversation(ConversationRow.get_by_id(conversation_id))


def open_conversation(
    key: ConversationKey, *, direct: bool, in_thread: bool, now: float
) -> Conversation:
    """The conversation of ``key``, made if it is new.

    A key without a root that is no DM gets a new conversation every time: its first post will open
    the thread. One that starts inside a thread has earlier messages to read.
    """
    pending = not key.root and not direct
    found = None if pending else find_conversation(key)
    if found:
        return found
    row = ConversationRow.create(
        chat=key.chat,
        space=key.space,
        channel=key.channel,
        root=None if pending else key.root,
        direct=direct,
        shared=is_shared(key),
        caught_up=not in_thread,
        created_at=now,
    )
    return to_conversation(row)


_shared = Prepared(
    ConversationRow,
    lambda chat, space, channel: (
        ConversationRow.select(ConversationRow.id)
        .where(
            (ConversationRow.chat == chat)
            & (ConversationRow.space == space)
            & (ConversationRow.channel == channel)
            & ConversationRow.shared
        )
        .limit(1)
    ),
)


def is_shared(key: ConversationKey) -> bool:
    """Whether people of other spaces are known to be in the channel of ``key``."""
    return bool(_shared.tuples(chat=key.chat, space=key.space, channel=key.channel))


# A thread's history may have brought a message first, without an event.
_same_message = Prepared(
    MessageRow,
    lambda event_id, conversation, platform_id: MessageRow.select().where(
        (MessageRow.event_id == event_id)
        | (
            (MessageRow.conversation == conversation)
            & (MessageRow.platform_id == platform_id)
            & SQL('"t1"."platform_id" != \'\'')  # word for word as in the index
        )
    ),
)


_by_event = Prepared(
    MessageRow, lambda event_id: MessageRow.select().where(MessageRow.event_id == event_id)
)


def add_event(
    conversation_id: int, event: ChatEvent, *, addressed: bool, admitted: bool = True
) -> tuple[int, bool]:
    """Write a message that was heard; returns its id and whether this is news.

    News is a first delivery, or a second one that names us where the first was not addressed: some
    workspaces send a mention as two events, and either may come alone. A repeat of what somebody
    said to the table does not become a question once the table is over. Not ``admitted`` is what
    nobody waits for: its author may not use Moot, and a person's files are not fetched.
    """
    found = _same_message.first(
        event_id=event.event_id, conversation=conversation_id, platform_id=event.message_id
    )
    if found:
        names_us = event.mentions_us or event.direct or found.event_id is None
        news = addressed and names_us and not found.addressed and found.deleted_at is None
        if news:
            MessageRow.change(found.id, addressed=True)
        if found.event_id is None and not _by_event.first(event_id=event.event_id):
            MessageRow.change(found.id, event_id=event.event_id, admitted=admitted)
        if found.deleted_at is None:
            files.note_event(conversation_id, found.id, event, admitted=admitted)
        return found.id, news
    row = MessageRow.create(
        conversation=conversation_id,
        platform_id=event.message_id,
        event_id=event.event_id,
        author_key=f"{event.key.chat}:{event.author.id}",
        author_name=event.author.name,
        author_kind=event.author.kind,
        text=event.text,
        sent_at=event.sent_at,
        addressed=addressed,
        admitted=admitted,
    )
    indexing.put(row.id)
    files.note_event(conversation_id, row.id, event, admitted=admitted)
    return row.id, True


def add_answer(
    conversation_id: int,
    seat: Participant,
    text: str,
    *,
    turn_id: int,
    now: float,
    interrupted: bool = False,
) -> int:
    """Write what an agent said; returns the message's id."""
    row = MessageRow.create(
        conversation=conversation_id,
        author_key=f"agent:{seat.name}",
        author_name=seat.name,
        author_kind="agent",
        engine=seat.engine,
        persona=seat.persona,
        text=text,
        sent_at=now,
        turn=turn_id,
        interrupted=interrupted,
    )
    if not interrupted:  # what a failed or stopped run said is nobody's word to find again (C109)
        indexing.put(row.id)
    return row.id


def last_of(conversation_id: int, turn_id: int, seat: Participant) -> int:
    """The record id of the last thing an agent said in a turn (0: nothing)."""
    found = (
        MessageRow.select(fn.MAX(MessageRow.id))
        .where(
            (MessageRow.conversation == conversation_id)
            & (MessageRow.turn == turn_id)
            & (MessageRow.author_key == f"agent:{seat.name}")
            & (MessageRow.interrupted == 0)
        )
        .scalar()
    )
    return int(found or 0)


def change_text(
    key: ConversationKey,
    platform_id: str,
    text: str,
    now: float,
    attachments: Iterable[Attachment] = (),
) -> int | None:
    """An edit in chat: the text and the files of now count. Returns the message's id if known."""
    row = _heard(key, platform_id)
    if row is None:
        return None
    if row.text == text:  # told again, or it was only shown another way (C047)
        files.keep_only(row.id, attachments)
        return row.id
    MessageRow.update(text=text, edited_at=now).where(MessageRow.id == row.id).execute()
    indexing.drop_vectors("message", row.id)  # of the words that were
    indexing.put(row.id)
    derived.forget([row.id])
    outbox_texts.forget_edited(row.id, row.turn, text)
    files.keep_only(row.id, attachments)
    note_edit(row.conversation_id)
    return row.id


def remove(key: ConversationKey, platform_id: str, now: float) -> int | None:
    """A deletion in chat: the text is gone from the row and the index. Returns the message's id."""
    row = _heard(key, platform_id)
    if row is None:
        return None
    erase(row.id, now)
    outbox_texts.withdraw_fleeting(now)
    sessions.end_told(row.conversation_id, row.sent_at)
    note_deletion()
    return row.id


def erase(message_id: int, now: float, *, aged: bool = False) -> None:
    """Take a message's words out of the row, the index and what derives from it.

    ``aged``: it is not deleted but was kept long enough (``derived.age``).
    """
    MessageRow.change(message_id, text="", deleted_at=now)
    indexing.drop(message_id)
    if aged:
        derived.age([message_id])
    else:
        derived.erase(message_id, now)


def _heard(key: ConversationKey, platform_id: str) -> MessageRow | None:
    # An edit or deletion may not tell its thread, so the channel and the message's id decide.
    return (
        MessageRow.select()
        .join(ConversationRow)
        .where(
            (ConversationRow.chat == key.chat)
            & (ConversationRow.space == key.space)
            & (ConversationRow.channel == key.channel)
            & (MessageRow.platform_id == platform_id)
            & MessageRow.deleted_at.is_null()
        )
        .first()
    )


_recent = Prepared(
    MessageRow,
    lambda conversation, limit: (
        MessageRow.select()
        .where((MessageRow.conversation == conversation) & MessageRow.deleted_at.is_null())
        .order_by(MessageRow.sent_at.desc(), MessageRow.id.desc())
        .limit(limit)
    ),
)
_since = Prepared(
    MessageRow,
    lambda conversation, after: (
        MessageRow.select()
        .where(
            (MessageRow.conversation == conversation)
            & (MessageRow.id > after)
            & MessageRow.deleted_at.is_null()
        )
        .order_by(MessageRow.id)
    ),
)
_interjections = Prepared(
    MessageRow,
    lambda conversation, after: (
        MessageRow.select()
        .where(
            (MessageRow.conversation == conversation)
            & (MessageRow.id > after)
            & (MessageRow.author_kind == "human")
            & (MessageRow.addressed == 0)
            & (MessageRow.admitted == 1)
            & MessageRow.deleted_at.is_null()
        )
        .order_by(MessageRow.id)
    ),
)
_count = Prepared(
    MessageRow,
    lambda conversation: MessageRow.select(fn.COUNT(MessageRow.id)).where(
        (MessageRow.conversation == conversation) & MessageRow.deleted_at.is_null()
    ),
)


def recent(conversation_id: int, limit: int) -> tuple[Message, ...]:
    """The newest ``limit`` messages that still stand, oldest first."""
    rows = _recent.rows(conversation=conversation_id, limit=limit)
    return tuple(to_message(row) for row in reversed(rows))


def since(conversation_id: int, message_id: int) -> tuple[Message, ...]:
    """Messages written after the record ``message_id``, in the order they were written."""
    rows = _since.rows(conversation=conversation_id, after=message_id)
    return tuple(to_message(row) for row in rows)


def interjections(conversation_id: int, message_id: int) -> tuple[Message, ...]:
    """What people who may use Moot wrote to nobody after the record ``message_id``, in order."""
    rows = _interjections.rows(conversation=conversation_id, after=message_id)
    return tuple(to_message(row) for row in rows)


def count(conversation_id: int) -> int:
    """How many messages stand in the conversation."""
    return _count.value(conversation=conversation_id)


def get_message(message_id: int, conversation_id: int) -> Message | None:
    """The message with this record id if it stands in this conversation."""
    row = MessageRow.get_or_none(
        (MessageRow.id == message_id)
        & (MessageRow.conversation == conversation_id)
        & MessageRow.deleted_at.is_null()
    )
    return to_message(row) if row else None


def find_message(message_id: int) -> tuple[Message, Conversation] | None:
    """A standing message with where it was said. Ask ``core.records.scope`` before telling it."""
    row = MessageRow.get_or_none((MessageRow.id == message_id) & MessageRow.deleted_at.is_null())
    return (to_message(row), get_conversation(row.conversation_id)) if row else None


def is_deleted(message_id: int | None) -> bool:
    """Whether the message was deleted in chat."""
    return (
        MessageRow.select()
        .where((MessageRow.id == message_id) & (MessageRow.deleted_at > 0))
        .exists()
    )


def to_conversation(row: ConversationRow) -> Conversation:
    """A row as a value."""
    return Conversation(
        id=row.id,
        key=ConversationKey(row.chat, row.space, row.channel, row.root or ""),
        direct=row.direct,
        opened=row.root is not None,
        engaged=row.engaged,
        caught_up=row.caught_up,
        public=row.public,
        mode=row.mode,
        apart=row.apart,
        shared=row.shared,
        missing=cast("tuple[Missing, ...]", tuple(row.missing.split())),
    )


def to_message(row: MessageRow) -> Message:
    """A row as a value."""
    kind = cast("AuthorKind", row.author_kind)
    return Message(
        id=row.id,
        platform_id=row.platform_id,
        author_key=row.author_key,
        author_name=row.author_name,
        author_kind=kind,
        text=row.text,
        sent_at=row.sent_at,
        engine=row.engine,
        persona=row.persona,
        turn_id=row.turn,
        interrupted=row.interrupted,
        admitted=row.admitted,
    )
