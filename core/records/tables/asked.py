"""What engines ask people for while they work, and what was granted for a session."""

from __future__ import annotations

from typing import Any, ClassVar

from peewee import AutoField, FloatField, ForeignKeyField, IntegerField, TextField

from core.records.tables.base import Table
from core.records.tables.chat import ConversationRow
from core.records.tables.work import RunRow


class RequestRow(Table):
    """A request of a run (core.model.EngineRequest) and what became of it.

    The row is written before the thread sees it. ``id`` is the number people type. A request
    outlives its process: after a restart it still waits, bound to the same question of its turn.
    """

    id = AutoField()
    run_id: str
    run = ForeignKeyField(RunRow, backref="requests")
    conversation_id: int
    conversation = ForeignKeyField(ConversationRow, backref="requests")
    session = IntegerField(default=0)  # the EngineSessionRow of its run (0: none is kept)
    engine_id = TextField()  # the engine's own id of it
    kind = TextField()  # permission | question
    tool = TextField(default="")
    about = TextField(default="")
    detail = TextField(default="")
    scope = TextField(default="")
    scope_label = TextField(default="")
    questions = TextField(default="[]")  # JSON of core.model.AskedQuestion
    # Tells the same request again after a restart: a hash of tool and input.
    fingerprint = TextField(default="")
    # waiting | once | session | deny | answer | expired | withdrawn
    state = TextField(default="waiting")
    answers = TextField(default="[]")  # JSON: for each question what was picked or written
    note = TextField(default="")
    by_key = TextField(default="")
    by_name = TextField(default="")
    post = IntegerField(null=True)  # outbox id of the message with the buttons
    asked_at = FloatField()
    decided_at = FloatField(null=True)
    told_at = FloatField(null=True)  # when the engine was told the decision

    class Meta:
        table_name = "request"
        indexes: ClassVar[Any] = ((("run", "engine_id"), False), (("conversation", "state"), False))


class GrantRow(Table):
    """Leave that a person gave for a session: it is not asked for again there.

    ``session`` is the ``EngineSessionRow`` it belongs to: with that one it ends.
    """

    id = AutoField()
    conversation_id: int
    conversation = ForeignKeyField(ConversationRow, backref="+")
    session = IntegerField(default=0, index=True)
    engine = TextField()
    persona = TextField(default="")
    model = TextField(default="")
    scope = TextField()
    label = TextField(default="")
    request = IntegerField()
    by_key = TextField()
    by_name = TextField()
    created_at = FloatField()
    ended_at = FloatField(null=True)

    class Meta:
        table_name = "grant_"
