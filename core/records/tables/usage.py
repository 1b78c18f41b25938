"""What runs used, kept apart from what was said: it stays when that is erased."""

from __future__ import annotations

from typing import Any, ClassVar

from peewee import FloatField, IntegerField, TextField

from core.records.tables.base import Table


class UsageRow(Table):
    """One process (or request) of an engine. Holds no words of anybody.

    ``person`` is who asked (``chat:id``; "" for work of the house, such as summaries); ``channel``
    is ``chat:channel``. ``input_tokens`` counts those read from a cache, too, as ``Usage`` does.
    """

    run = TextField(primary_key=True)
    at = FloatField()
    kind = TextField(default="run")  # run | summary
    engine = TextField()
    model = TextField(default="")
    persona = TextField(default="")
    conversation = IntegerField(default=0)
    channel = TextField(default="")
    project = TextField(default="")
    person = TextField(default="")
    person_name = TextField(default="")
    outcome = TextField(default="")
    seconds = FloatField(default=0.0)
    input_tokens = IntegerField(default=0)
    output_tokens = IntegerField(default=0)
    cached_tokens = IntegerField(default=0)
    cost_usd = FloatField(default=0.0)

    class Meta:
        table_name = "usage"
        indexes: ClassVar[Any] = ((("at",), False), (("engine", "at"), False))


class BudgetToldRow(Table):
    """That a budget's subject was told of its state in a span of time: once, across restarts."""

    key = TextField(primary_key=True)
    at = FloatField()

    class Meta:
        table_name = "budget_told"
