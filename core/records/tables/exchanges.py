"""What other bots asked: kept to bound it. Holds no words of anybody."""

from __future__ import annotations

from typing import Any, ClassVar

from peewee import AutoField, FloatField, IntegerField, TextField

from core.records.tables.base import Table


class ExchangeRow(Table):
    """One question of a bot that the settings name (``bot``, as there: ``slack:B123``).

    ``refused`` ones count for nothing but that the refusal was told.
    """

    id = AutoField()
    bot = TextField()
    conversation = IntegerField()
    sent_at = FloatField()  # by the platform's clock, as messages have it
    at = FloatField()  # by ours
    refused = TextField(default="")  # "" | thread | hour: which budget was used up

    class Meta:
        table_name = "exchange"
        indexes: ClassVar[Any] = ((("bot", "at"), False), (("bot", "conversation"), False))
