"""Compressed memory: passes of the summariser, what they covered, and the topics they made."""

from __future__ import annotations

from typing import Any, ClassVar

from peewee import AutoField, FloatField, ForeignKeyField, IntegerField, TextField

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
