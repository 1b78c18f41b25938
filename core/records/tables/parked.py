"""Engines that rest until their quota comes back."""

from __future__ import annotations

from peewee import BooleanField, FloatField, TextField

from core.records.tables.base import Table


class ParkedRow(Table):
    """An engine whose quota is used up: it is not asked before ``until`` (UTC seconds).

    With ``whole`` it is so whatever the model; else for the one that was asked for (``model``, "":
    the engine's own default).
    """

    key = TextField(primary_key=True)
    engine = TextField()
    model = TextField(default="")
    whole = BooleanField(default=True)
    told = TextField(default="")  # the reset as the engine told it, with its zone
    detail = TextField(default="")  # the engine's own words, redacted
    until = FloatField()
    since = FloatField()

    class Meta:
        table_name = "parked"
