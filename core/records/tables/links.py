"""How conversations belong together: links that a person confirmed, and branches."""

from __future__ import annotations

from typing import Any, ClassVar

from peewee import AutoField, FloatField, ForeignKeyField, IntegerField, TextField

from core.records.tables.base import Table
from core.records.tables.chat import ConversationRow


class LinkRow(Table):
    """Two conversations of one project; ``first`` has the smaller id."""

    id = AutoField()
    first_id: int
    first = ForeignKeyField(ConversationRow, backref="+")
    second_id: int
    second = ForeignKeyField(ConversationRow, backref="+")
    by_key = TextField()
    by_name = TextField()
    created_at = FloatField()

    class Meta:
        table_name = "link"
        indexes: ClassVar[Any] = ((("first", "second"), True),)


class BranchRow(Table):
    """A conversation forked from a message of ``parent``."""

    id = AutoField()
    conversation_id: int
    conversation = ForeignKeyField(ConversationRow, backref="+", unique=True)
    parent_id: int
    parent = ForeignKeyField(ConversationRow, backref="+")
    message = IntegerField()
    state = TextField(default="open")  # open | adopted | discarded
    by_key = TextField()
    by_name = TextField()
    created_at = FloatField()

    class Meta:
        table_name = "branch"
