"""What is written beside a message so that it is found: its keyword row, and a job for its vector.

In the transaction of the message itself, so keywords find it at once and no crash loses a job. A
row also holds words of the message before it, and of a line that an engine may have written about
it (``context``): it is written anew when these change, or when another message comes between, so
nothing of what is erased stays in it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from core.keywords import context_text, index_text
from core.records import fulltext
from core.records.prepared import Prepared, each, meta_of
from core.records.tables import ContextLineRow, IndexJobRow, MessageRow, VectorRow

# What failed and stopped runs said is nobody's memory: such messages are found by no word (C109),
# and are context of none.
_before = Prepared(
    MessageRow,
    lambda conversation, at, message: (
        MessageRow.select(MessageRow.text)
        .where(
            (MessageRow.conversation == conversation)
            & MessageRow.deleted_at.is_null()
            & (MessageRow.sent_at <= at)  # by itself: the index is read from there
            & ((MessageRow.sent_at < at) | (MessageRow.id < message))
            & ~MessageRow.interrupted
        )
        .order_by(MessageRow.sent_at.desc(), MessageRow.id.desc())
        .limit(1)
    ),
)
_after = Prepared(
    MessageRow,
    lambda conversation, at, message: (
        MessageRow.select(MessageRow.id, MessageRow.sent_at)
        .where(
            (MessageRow.conversation == conversation)
            & MessageRow.deleted_at.is_null()
            & (MessageRow.sent_at >= at)
            & ((MessageRow.sent_at > at) | (MessageRow.id > message))
            & ~MessageRow.interrupted
        )
        .order_by(MessageRow.sent_at, MessageRow.id)
        .limit(1)
    ),
)


def put(message_id: int) -> None:
    """Index a message as its row has it now, in place of what was indexed of it.

    One that is not to be found (deleted, interrupted) is dropped instead.
    """
    row = MessageRow.get_by_id(message_id)
    if row.deleted_at is not None or row.interrupted:
        drop(message_id)
        return
    write(row)
    _follow(row, row.text)
    queue("message", row.id, "put")


def write(row: MessageRow) -> None:
    """Write the keyword row of a message that is to be found."""
    before = _before.first(conversation=row.conversation_id, at=row.sent_at, message=row.id)
    fulltext.put(
        row.id,
        index_text(row.text),
        index_text(row.author_name),
        _context(row.id, row.sent_at, before.text if before else ""),
    )


_line = Prepared(
    ContextLineRow, lambda message: ContextLineRow.select().where(ContextLineRow.message == message)
)


def _context(message_id: int, sent_at: float, before: str) -> str:
    """When it was said, what was said before, and what an engine wrote about it, if any did."""
    line = _line.first(message=message_id)
    around = context_text(sent_at, before)
    return f"{around} {index_text(line.line)}" if line else around


def surround(message_id: int) -> None:
    """The line about a message is another one, or gone: its keyword row, if any, says so."""
    row = MessageRow.get_by_id(message_id)
    before = _before.first(conversation=row.conversation_id, at=row.sent_at, message=row.id)
    fulltext.set_context(row.id, _context(row.id, row.sent_at, before.text if before else ""))


def drop(message_id: int) -> None:
    """A message is found no more: its keyword row, its words in the next one's, its vectors go.

    Chroma is owed a deletion. To be called once the row says that it is not to be found.
    """
    fulltext.drop(message_id)
    row = MessageRow.get_by_id(message_id)
    before = _before.first(conversation=row.conversation_id, at=row.sent_at, message=row.id)
    _follow(row, before.text if before else "")
    drop_vectors("message", message_id)


_drop_vectors = Prepared(
    VectorRow,
    lambda kind, item: VectorRow.delete().where(
        (VectorRow.kind == kind) & (VectorRow.item == item)
    ),
)


def drop_vectors(kind: str, item: int) -> None:
    """An item has no meaning any more: its vectors go at once, Chroma is owed a deletion."""
    _drop_vectors.run(kind=kind, item=item)
    queue(kind, item, "drop")


_drop_all = Prepared(
    VectorRow,
    lambda kind, ids: VectorRow.delete().where(
        (VectorRow.kind == kind) & VectorRow.item.in_(each(ids))
    ),
)


def drop_all_vectors(kind: str, items: Sequence[int]) -> None:
    """``drop_vectors`` of many items of a kind."""
    ids = json.dumps(list(items))
    _drop_all.run(kind=kind, ids=ids)
    meta_of(IndexJobRow).database.execute_sql(
        "INSERT INTO index_job (kind, item, op, attempts, at) "
        "SELECT ?, value, 'drop', 0, ? FROM json_each(?)",
        (kind, time.time(), ids),
    )


def queue(kind: str, item: int, op: str) -> None:
    """Owe the vectors and Chroma something: ``put`` an item as it is then, or ``drop`` it."""
    IndexJobRow.create(kind=kind, item=item, op=op, at=time.time())


def _follow(row: MessageRow, before: str) -> None:
    """What was said right after a message has ``before`` as its context now."""
    after = _after.first(conversation=row.conversation_id, at=row.sent_at, message=row.id)
    if after is not None:
        fulltext.set_context(after.id, _context(after.id, after.sent_at, before))
