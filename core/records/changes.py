"""How often messages were edited and deleted: what was read before the last time is out of date."""

from __future__ import annotations

from core.model import ChatEvent, ConversationKey
from core.records.prepared import Prepared
from core.records.tables import EventRow, MetaRow

_DELETED = "messages-deleted"
_EDITED = "messages-edited:{}"
_GONE = "words-gone"
_SCRUBBED = "words-scrubbed"

_noted = Prepared(MetaRow, lambda name: MetaRow.select().where(MetaRow.name == name))


_replace = Prepared(
    MetaRow,
    lambda name, value: MetaRow.insert(name=name, value=value).on_conflict_replace(),
)


def changes(conversation_id: int) -> tuple[int, int]:
    """How many messages were deleted anywhere, and how many edits there were in a conversation."""
    return _count(_DELETED), _count(_EDITED.format(conversation_id))


def note_deletion() -> None:
    """A message was deleted: its words may have been read for any conversation."""
    _note(_DELETED)
    _note(_GONE)


def note_edit(conversation_id: int) -> None:
    """A message of this conversation was edited."""
    _note(_EDITED.format(conversation_id))
    _note(_GONE)


def note_gone(key: ConversationKey, platform_id: str, now: float) -> None:
    """A message was deleted that is not known: should it come late, it is not taken in."""
    EventRow.insert(event_id=_gone_id(key, platform_id), at=now).on_conflict_ignore().execute()


def is_gone(key: ConversationKey, platform_id: str) -> bool:
    """Whether the message was deleted before it came."""
    return _gone.first(event_id=_gone_id(key, platform_id)) is not None


def note_forgotten(what: str, sent_at: float) -> None:
    """All of a thread or a person up to a time is forgotten: what comes of it late stays out.

    ``what`` is ``thread_of`` or ``person_of``; ``sent_at`` by the platform's clock.
    """
    name = f"forgot:{what}"
    EventRow.insert(event_id=name, at=sent_at).on_conflict_ignore().execute()
    EventRow.update(at=sent_at).where(
        (EventRow.event_id == name) & (EventRow.at < sent_at)
    ).execute()


def is_forgotten(conversation_id: int, author_key: str, sent_at: float) -> bool:
    """Whether something said then belongs to a thread or a person that was forgotten since."""
    names = (thread_of(conversation_id), person_of(author_key))
    rows = (_gone.first(event_id=f"forgot:{name}") for name in names)
    return any(row is not None and sent_at <= row.at for row in rows)


def stays_out(event: ChatEvent, conversation_id: int) -> bool:
    """Whether what is heard now was deleted, or forgotten, before it came."""
    author = f"{event.key.chat}:{event.author.id}"
    return is_gone(event.key, event.message_id) or is_forgotten(
        conversation_id, author, event.sent_at
    )


def thread_of(conversation_id: int) -> str:
    """A thread, as what is forgotten of it is noted."""
    return f"thread:{conversation_id}"


def person_of(author_key: str) -> str:
    """A person (``"slack:U1"``), as what is forgotten of them is noted."""
    return f"person:{author_key}"


_gone = Prepared(EventRow, lambda event_id: EventRow.select().where(EventRow.event_id == event_id))


def _gone_id(key: ConversationKey, platform_id: str) -> str:
    return f"gone:{key.chat}:{key.space}:{key.channel}:{platform_id}"


def gone() -> int:
    """How often words were deleted or changed."""
    return _count(_GONE)


def scrubbed() -> int:
    """``gone`` as it was when the files last held nothing of them (``core.records.scrub``)."""
    return _count(_SCRUBBED)


def note_scrubbed(count: int) -> None:
    """The files hold nothing any more of what was gone then."""
    _put(_SCRUBBED, count)


def _count(name: str) -> int:
    row = _noted.first(name=name)
    return int(row.value) if row else 0


def _note(name: str) -> None:
    _put(name, _count(name) + 1)


def _put(name: str, count: int) -> None:
    _replace.run(name=name, value=str(count))
