"""Until when the platforms were heard, and the places whose history is still to be read.

Every function is part of its caller's transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from peewee import fn

from core.model import ConversationKey
from core.records.messages import find_conversation, to_conversation
from core.records.prepared import Prepared
from core.records.tables import (
    ConversationRow,
    GapRow,
    HeardRow,
    MessageRow,
    OutboxRow,
    TurnRow,
)

LOOKED_AT = 3_000  # newest messages of the house, among which a space's busy threads are found
_WAITING = ("queued", "held", "parked")


@dataclass(frozen=True, slots=True)
class Gap:
    """A place to be read from ``since`` on."""

    id: int
    key: ConversationKey
    since: float
    tries: int


# --- until when ------------------------------------------------------------------------------


def until(chat: str) -> dict[str, float]:
    """Until when each space of a chat was heard."""
    rows = HeardRow.select().where(HeardRow.chat == chat)
    return {row.space: row.until for row in rows}


def note(chat: str, spaces: Iterable[str], now: float, event_at: float) -> None:
    """These spaces are heard now; the chat's last event came at ``event_at`` (0: not known)."""
    for space in spaces:
        HeardRow.insert(
            chat=chat, space=space, until=now, event_at=event_at
        ).on_conflict_ignore().execute()
        HeardRow.update(until=now, event_at=fn.MAX(HeardRow.event_at, event_at)).where(
            (HeardRow.chat == chat) & (HeardRow.space == space)
        ).execute()


def last_events() -> tuple[tuple[str, float, float], ...]:
    """For each chat: until when it was heard, and when its last event came (0: none yet)."""
    rows = HeardRow.select().order_by(HeardRow.chat)
    told: dict[str, tuple[float, float]] = {}
    for row in rows:
        heard, event_at = told.get(row.chat, (0.0, 0.0))
        told[row.chat] = max(heard, row.until), max(event_at, row.event_at)
    return tuple((chat, heard, event_at) for chat, (heard, event_at) in told.items())


# --- what is to be read ----------------------------------------------------------------------


def add_gaps(keys: Iterable[ConversationKey], since: float) -> None:
    """Read these places from ``since`` on, or from earlier where that is still owed."""
    for key in keys:
        place = {"chat": key.chat, "space": key.space, "channel": key.channel, "root": key.root}
        GapRow.insert(**place, since=since).on_conflict_ignore().execute()
        GapRow.update(since=fn.MIN(GapRow.since, since)).where(
            (GapRow.chat == key.chat)
            & (GapRow.space == key.space)
            & (GapRow.channel == key.channel)
            & (GapRow.root == key.root)
        ).execute()


def next_gap(chat: str, spaces: Collection[str], now: float) -> Gap | None:
    """The next place to be read of the spaces that are heard."""
    row = (
        GapRow.select()
        .where((GapRow.chat == chat) & GapRow.space.in_(tuple(spaces)) & (GapRow.due_at <= now))
        .order_by(GapRow.id)
        .first()
    )
    if row is None:
        return None
    key = ConversationKey(row.chat, row.space, row.channel, row.root)
    return Gap(row.id, key, row.since, row.tries)


def close_gap(gap: Gap) -> None:
    """It was read; one that was widened meanwhile stays."""
    GapRow.delete().where((GapRow.id == gap.id) & (GapRow.since >= gap.since)).execute()


def put_off(gap: Gap, due_at: float) -> None:
    """It could not be read just now."""
    GapRow.update(tries=GapRow.tries + 1, due_at=due_at).where(GapRow.id == gap.id).execute()


def busy_places(chat: str, space: str, limit: int) -> tuple[ConversationKey, ...]:
    """The threads and direct messages of a space in which something was said last, newest first."""
    newest = (
        MessageRow.select(MessageRow.conversation, MessageRow.id)
        .order_by(MessageRow.id.desc())
        .limit(LOOKED_AT)
    )
    rows = (
        ConversationRow.select()
        .join(newest, on=(newest.c.conversation_id == ConversationRow.id))
        .where(
            (ConversationRow.chat == chat)
            & (ConversationRow.space == space)
            & (ConversationRow.engaged | ConversationRow.direct)
            & (ConversationRow.twin == 0)
            & ConversationRow.root.is_null(False)  # noqa: FBT003
        )
        .group_by(ConversationRow.id)
        .order_by(fn.MAX(newest.c.id).desc())
        .limit(limit)
    )
    return tuple(to_conversation(row).key for row in rows)


def asked_since(key: ConversationKey, earliest: float) -> float | None:
    """When the oldest question that still waits there was asked, if it was after ``earliest``."""
    place = find_conversation(key)
    if place is None:
        return None
    waits = TurnRow.select(TurnRow.prompt_message).where(
        (TurnRow.conversation == place.id) & TurnRow.state.in_(_WAITING)
    )
    asked = MessageRow.select(fn.MIN(MessageRow.sent_at)).where(
        MessageRow.id.in_(waits) & (MessageRow.sent_at > earliest)
    )
    found = asked.scalar()
    return float(found) if found is not None else None


_heard = Prepared(
    MessageRow,
    lambda conversation, after, before: MessageRow.select(MessageRow.platform_id).where(
        (MessageRow.conversation == conversation)
        & MessageRow.deleted_at.is_null()
        & (MessageRow.sent_at > after)
        & (MessageRow.sent_at < before)
        & (MessageRow.platform_id != "")
    ),
)


def vanished(
    key: ConversationKey, standing: Collection[str], after: float, before: float
) -> tuple[str, ...]:
    """Messages of a thread, heard between two moments, that do not stand there any more."""
    place = find_conversation(key)
    if place is None:
        return ()
    rows = _heard.rows(conversation=place.id, after=after, before=before)
    return tuple(row.platform_id for row in rows if row.platform_id not in standing)


def told_in(key: ConversationKey) -> tuple[str, ...]:
    """The platform's ids of all that stands in a thread: of people, and of our answers."""
    place = find_conversation(key)
    if place is None:
        return ()
    rows = _heard.rows(conversation=place.id, after=0.0, before=float("inf"))
    answers = OutboxRow.select(OutboxRow.message_id).where(
        (OutboxRow.conversation == place.id)
        & (OutboxRow.message_id != "")
        & (OutboxRow.kind == "answer")
        & (OutboxRow.text != "")
    )
    ids = [*(row.platform_id for row in rows), *(row.message_id for row in answers)]
    return tuple(one for one in ids if one != key.root)


def edited_since(key: ConversationKey, platform_id: str, moment: float) -> bool:
    """Whether an edit of a message was heard after that moment: a history read then is older."""
    row = (
        MessageRow.select(MessageRow.edited_at)
        .join(ConversationRow)
        .where(
            (ConversationRow.chat == key.chat)
            & (ConversationRow.space == key.space)
            & (ConversationRow.channel == key.channel)
            & (MessageRow.platform_id == platform_id)
        )
        .first()
    )
    return row is not None and (row.edited_at or 0.0) > moment


def said_lately(conversation_id: int, text: str, since: float) -> bool:
    """Whether just this was said in a conversation since then."""
    return (
        OutboxRow.select()
        .where(
            (OutboxRow.conversation == conversation_id)
            & (OutboxRow.text == text)
            & (OutboxRow.created_at > since)
        )
        .exists()
    )
