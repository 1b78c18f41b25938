"""Until when the platforms were heard, and what is to be read of the time when they were not."""

from __future__ import annotations

from typing import Any, ClassVar

from peewee import AutoField, CompositeKey, FloatField, IntegerField, TextField

from core.records.tables.base import Table


class HeardRow(Table):
    """A space (a workspace, a server; "": direct messages) whose events reached us until then."""

    chat = TextField()
    space = TextField()
    until = FloatField()
    event_at = FloatField(default=0.0)  # when the last event of the chat came (0: none yet)

    class Meta:
        table_name = "heard"
        primary_key = CompositeKey("chat", "space")


class GapRow(Table):
    """A place whose history is to be read from ``since`` on; gone once that is done.

    ``root`` is "" for a channel's level and for direct messages.
    """

    id = AutoField()
    chat = TextField()
    space = TextField()
    channel = TextField()
    root = TextField()
    since = FloatField()
    tries = IntegerField(default=0)
    due_at = FloatField(default=0.0)

    class Meta:
        table_name = "gap"
        indexes: ClassVar[Any] = ((("chat", "space", "channel", "root"), True),)
