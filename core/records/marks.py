"""What people said of messages that were recalled: wrong, or stale (no longer so).

One mark a person and message; setting another replaces it. A mark lowers its message in rankings
(``core.memory.ranking``) and is told beside it; it never hides it. Who may mark what is asked
before: nothing here does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import cast

from core.model import Actor, Conversation, Mark, MarkKind
from core.records.filing import write_audit
from core.records.prepared import Prepared, each
from core.records.tables import MarkRow

MAX_NOTE_CHARS = 300

_of = Prepared(
    MarkRow,
    lambda ids: MarkRow.select().where(MarkRow.message.in_(each(ids))).order_by(MarkRow.id),
)

_drop = Prepared(MarkRow, lambda ids: MarkRow.delete().where(MarkRow.message.in_(each(ids))))
_drop_notes = Prepared(
    MarkRow, lambda ids: MarkRow.update(note="").where(MarkRow.said.in_(each(ids)))
)


def put(
    message_id: int,
    conversation: Conversation,
    kind: MarkKind,
    *,
    by: Actor,
    note: str,
    now: float,
    project: str,
    said: int = 0,
) -> None:
    """Mark a message for a person, in place of the mark that they set before.

    ``conversation`` is where it was said; of ``note`` one line of ``MAX_NOTE_CHARS`` is kept, while
    the message that told it stands (``said``; 0: there is none).
    """
    note = " ".join(note.split())[:MAX_NOTE_CHARS]
    MarkRow.delete().where((MarkRow.message == message_id) & (MarkRow.by_key == by.key)).execute()
    MarkRow.create(
        message=message_id,
        kind=kind,
        by_key=by.key,
        by_name=by.name,
        note=note,
        at=now,
        said=said,
    )
    write_audit("mark", message_id, kind, by, now, project, conversation.id)


def take(
    message_id: int, conversation: Conversation, *, by: Actor, now: float, project: str
) -> bool:
    """Take a person's own mark away; False when there was none."""
    mine = (MarkRow.message == message_id) & (MarkRow.by_key == by.key)
    if not MarkRow.delete().where(mine).execute():
        return False
    write_audit("mark", message_id, "removed", by, now, project, conversation.id)
    return True


def marks_of(message_ids: Iterable[int]) -> dict[int, tuple[Mark, ...]]:
    """The marks of these messages, by message, in the order they were set; none: not in it."""
    found: dict[int, tuple[Mark, ...]] = {}
    for row in _of.rows(ids=json.dumps(list(message_ids))):
        mark = Mark(row.message, cast("MarkKind", row.kind), row.by_name, row.note, row.at)
        found[row.message] = (*found.get(row.message, ()), mark)
    return found


def forget(message_ids: Iterable[int]) -> None:
    """Messages are gone or changed: so are the marks of them, and notes that were words of them."""
    ids = json.dumps(list(message_ids))
    _drop.run(ids=ids)
    _drop_notes.run(ids=ids)


def forget_by(person_key: str) -> None:
    """A person is forgotten (``chat:id``): so is what they said of others' messages."""
    MarkRow.delete().where(MarkRow.by_key == person_key).execute()
