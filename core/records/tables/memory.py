"""Memory: the summariser's passes and topics, and what is known of messages by meaning.

Vectors are kept here, in the transaction's reach; Chroma and what is held in memory are copies of
them that can be made anew at any time.
"""

from __future__ import annotations

from typing import Any, ClassVar

from peewee import (
    SQL,
    AutoField,
    BlobField,
    BooleanField,
    CompositeKey,
    FloatField,
    ForeignKeyField,
    IntegerField,
    TextField,
)

from core.records.tables.base import Table
from core.records.tables.chat import ConversationRow


class SummaryRow(Table):
    """One pass over some messages. ``undone``: a message of it is gone, the rest is due again."""

    id = TextField(primary_key=True)  # also the mark of the engine's processes
    conversation_id: int
    conversation = ForeignKeyField(ConversationRow, backref="summaries")
    engine = TextField()  # "extract": made without one
    model = TextField(default="")
    state = TextField(default="open", index=True)  # open | done | failed | stale | cut | undone
    error = TextField(default="")
    pid = IntegerField(null=True)
    pid_started = FloatField(null=True)
    usage = TextField(default="{}")
    receipt = TextField(default="{}")
    # JSON: the messages it was made of, while topics of it may stand.
    read = TextField(default="[]")
    opened_at = FloatField()
    ended_at = FloatField(null=True)

    class Meta:
        table_name = "summary"


class SummarisedRow(Table):
    """A message that a pass has covered, whether or not a topic tells of it."""

    message = IntegerField(primary_key=True)
    conversation = IntegerField(index=True)
    summary_id: str
    summary = ForeignKeyField(SummaryRow, backref="covered")

    class Meta:
        table_name = "summarised"


class TopicRow(Table):
    """A topic of a conversation; each statement names the messages it comes from."""

    id = AutoField()
    conversation_id: int
    conversation = ForeignKeyField(ConversationRow, backref="topics")
    title = TextField()
    first_message = IntegerField(default=0)
    last_message = IntegerField(default=0)
    statements = TextField()  # JSON: [[text, kind, [message, ...], who], ...]
    # JSON: ids of the passes that made it, those whose statements were trimmed away as well.
    passes = TextField(default="[]")
    made_by = TextField()  # engines, comma-separated; "extract": sentences word for word
    created_at = FloatField()
    updated_at = FloatField()

    class Meta:
        table_name = "topic"
        indexes: ClassVar[Any] = ((("conversation", "last_message"), False),)


class StatementRow(Table):
    """A statement of a topic, or the topic as a whole, as it is found by meaning (decision 0079).

    Written from its topic's row and gone with it (``core.records.statements``).
    """

    id = AutoField()
    topic = IntegerField(index=True)
    conversation = IntegerField(index=True)
    whole = BooleanField(default=False)
    text = TextField()
    sources = TextField()  # JSON: the messages it comes from

    class Meta:
        table_name = "statement"


class ContextLineRow(Table):
    """A line that an engine wrote about a message, in the context of its keyword row."""

    message = IntegerField(primary_key=True)
    summary = TextField(index=True)  # the pass that wrote it
    line = TextField()

    class Meta:
        table_name = "context_line"


class ScopeRow(Table):
    """Whose eyes a text is for: a channel, or one private thread of it (``apart``: its row's id).

    Its number is all that Chroma is told of where a vector belongs.
    """

    id = AutoField()
    chat = TextField()
    space = TextField()
    channel = TextField()
    apart = IntegerField(default=0)

    class Meta:
        table_name = "scope"
        indexes: ClassVar[Any] = ((("chat", "space", "channel", "apart"), True),)


class EmbedderRow(Table):
    """A model (with the recipe of what it is given) that vectors are of; one is current."""

    id = AutoField()
    name = TextField(unique=True)  # core.memory.embed: model, dimensions, recipe
    dim = IntegerField()
    state = TextField(default="building")  # building | current | old

    class Meta:
        table_name = "embedder"


class VectorRow(Table):
    """The meaning of one item: ``dim`` float16, L2-normalised, little-endian.

    Kept by scope, so that all of a scope are read at once. ``kind``: message | statement.
    """

    embedder = IntegerField()
    scope = IntegerField()
    kind = TextField()
    item = IntegerField()  # the id of its row
    vector = BlobField()

    class Meta:
        table_name = "vector"
        primary_key = CompositeKey("embedder", "scope", "kind", "item")
        without_rowid = True
        indexes: ClassVar[Any] = ((("kind", "item"), False),)


class IndexJobRow(Table):
    """What the vectors and Chroma are still to be told; written with what it is about.

    ``put``: embed the item as it is now, and tell Chroma; ``drop``: it is gone from Chroma, too.
    """

    id = AutoField()
    kind = TextField()
    item = IntegerField()
    op = TextField()  # put | drop
    attempts = IntegerField(default=0)
    at = FloatField()

    class Meta:
        table_name = "index_job"
        indexes: ClassVar[Any] = ((("kind", "item"), False),)


IndexJobRow.add_index(
    IndexJobRow.index(
        IndexJobRow.kind, IndexJobRow.item, where=SQL("op = 'drop'"), name="index_job_drop"
    )
)


class MarkRow(Table):
    """What somebody said of a message that was recalled: it is wrong, or no longer so."""

    id = AutoField()
    message = IntegerField(index=True)
    kind = TextField()  # wrong | stale
    by_key = TextField()
    by_name = TextField()
    note = TextField(default="")
    at = FloatField()
    said = IntegerField(default=0, index=True)  # the message that set it; 0: a button, a command

    class Meta:
        table_name = "mark"
        indexes: ClassVar[Any] = ((("message", "by_key"), True),)
