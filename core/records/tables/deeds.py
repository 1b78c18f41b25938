"""The audit log: who did what, and who was refused. Holds no words of anybody."""

from __future__ import annotations

from typing import Any, ClassVar

from peewee import AutoField, FloatField, IntegerField, TextField

from core.records.tables.base import Table


class DeedRow(Table):
    """One act of a person, or the same refusal some times over (``count``, the last ``last_at``).

    ``person`` is ``chat:id``; of one who is forgotten it is a keyed hash, and ``name`` is empty.
    """

    id = AutoField()
    at = FloatField()
    last_at = FloatField()
    count = IntegerField(default=1)
    person = TextField()
    name = TextField(default="")
    role = TextField(default="")
    verb = TextField()
    outcome = TextField(default="done")  # done | refused | limited
    via = TextField(default="")  # message | command | button | form | shortcut | home | edit
    target = TextField(default="")
    chat = TextField(default="")
    space = TextField(default="")
    channel = TextField(default="")
    conversation = IntegerField(default=0)

    class Meta:
        table_name = "deed"
        indexes: ClassVar[Any] = (
            (("last_at",), False),
            (("person", "outcome", "last_at"), False),
        )
