"""What is written beside a message so that it is found: its keyword row, and a job for its vector.

In the transaction of the message itself, so keywords find it at once and no crash loses a job.
"""

from __future__ import annotations

import time

from core.keywords import context_text, index_text
from core.records.prepared import Prepared
from core.records.tables import IndexJobRow, MessageIndex, MessageRow, VectorRow

_unindex = Prepared(
    MessageIndex, lambda message: MessageIndex.delete().where(MessageIndex.rowid == message)
)
_add = Prepared(
    MessageIndex,
    lambda message, body, speaker, context: MessageIndex.insert(
        rowid=message, body=body, speaker=speaker, context=context
    ),
)
_before = Prepared(
    MessageRow,
    lambda conversation, at, message: (
        MessageRow.select()
        .where(
            (MessageRow.conversation == conversation)
            & MessageRow.deleted_at.is_null()
            & ((MessageRow.sent_at < at) | ((MessageRow.sent_at == at) & (MessageRow.id < message)))
        )
        .order_by(MessageRow.sent_at.desc(), MessageRow.id.desc())
        .limit(1)
    ),
)


def put(message_id: int) -> None:
    """Index a message as its row has it now, in place of what was indexed of it."""
    row = MessageRow.get_by_id(message_id)
    before = _before.first(conversation=row.conversation_id, at=row.sent_at, message=row.id)
    _unindex.run(message=row.id)
    _add.run(
        message=row.id,
        body=index_text(row.text),
        speaker=index_text(row.author_name),
        context=context_text(row.sent_at, before.text if before else ""),
    )
    queue("message", row.id, "put")


def drop(message_id: int) -> None:
    """A message is found no more: its keyword row and its vectors go, Chroma is owed a deletion."""
    _unindex.run(message=message_id)
    drop_vectors("message", message_id)


def drop_vectors(kind: str, item: int) -> None:
    """An item has no meaning any more: its vectors go at once, Chroma is owed a deletion."""
    VectorRow.delete().where((VectorRow.kind == kind) & (VectorRow.item == item)).execute()
    queue(kind, item, "drop")


def queue(kind: str, item: int, op: str) -> None:
    """Owe the vectors and Chroma something: ``put`` an item as it is then, or ``drop`` it."""
    IndexJobRow.create(kind=kind, item=item, op=op, at=time.time())
