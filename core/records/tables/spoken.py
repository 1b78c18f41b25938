"""Languages that were chosen in the chat."""

from __future__ import annotations

from peewee import CompositeKey, FloatField, TextField

from core.records.tables.base import Table


class SpokenRow(Table):
    """What Moot speaks in a channel, as somebody there chose it."""

    chat = TextField()
    space = TextField()
    channel = TextField()
    language = TextField()
    by_key = TextField()
    at = FloatField()

    class Meta:
        table_name = "spoken"
        primary_key = CompositeKey("chat", "space", "channel")
