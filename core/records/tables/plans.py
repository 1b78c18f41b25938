"""Plans, findings, artifacts and decisions of a project, and who changed what.

Each belongs to a conversation: who may see it follows from there (``core.records.scope``).
``message`` is the message whose words a row holds; ``withdrawn_at`` that it was deleted in chat.
"""

from __future__ import annotations

from typing import Any, ClassVar

from peewee import AutoField, FloatField, ForeignKeyField, IntegerField, TextField

from core.records.tables.base import Table
from core.records.tables.chat import ConversationRow


class Record(Table):
    """What plans, findings, artifacts and decisions have in common."""

    id = AutoField()
    project = TextField()
    number = IntegerField()  # counts within the project
    conversation_id: int
    conversation = ForeignKeyField(ConversationRow)
    message = IntegerField(default=0, index=True)
    turn = IntegerField(default=0)
    by_key = TextField()
    by_name = TextField()
    created_at = FloatField()
    withdrawn_at = FloatField(null=True)


class PlanRow(Record):
    """A plan; its document is Markdown."""

    title = TextField()
    phase = TextField(default="")
    document = TextField(default="")
    state = TextField(default="proposed")  # proposed | active | done | rejected

    class Meta:
        table_name = "plan"
        indexes: ClassVar[Any] = ((("project", "number"), True),)


class SubtaskRow(Table):
    """One step of a plan."""

    id = AutoField()
    plan_id: int
    plan = ForeignKeyField(PlanRow, backref="subtasks")
    number = IntegerField()
    title = TextField()
    state = TextField(default="todo")  # todo | in-progress | done | abandoned
    owner = TextField(default="")
    progress = TextField(default="")

    class Meta:
        table_name = "subtask"
        indexes: ClassVar[Any] = ((("plan", "number"), True),)


class FindingRow(Record):
    """What a review found."""

    category = TextField()
    severity = TextField()
    state = TextField(default="open")  # open | closed
    text = TextField()

    class Meta:
        table_name = "finding"
        indexes: ClassVar[Any] = ((("project", "number"), True),)


class ArtifactRow(Record):
    """A piece of work kept for the team."""

    title = TextField()
    line = TextField(default="")
    text = TextField()

    class Meta:
        table_name = "artifact"
        indexes: ClassVar[Any] = ((("project", "number"), True),)


class DecisionRow(Record):
    """An entry of the consensus ledger. ``axis_key`` is the axis as it is compared."""

    axis = TextField()
    axis_key = TextField()
    decision = TextField()
    stances = TextField(default="[]")  # JSON: [[participant, stance], ...]
    confidence = FloatField(default=0.0)
    superseded_by = IntegerField(default=0)  # the number of the later decision
    supersedes = IntegerField(default=0)

    class Meta:
        table_name = "decision"
        indexes: ClassVar[Any] = ((("project", "number"), True), (("project", "axis_key"), False))


class AuditRow(Table):
    """One change of state, in the transaction that made it. Holds no words of a record."""

    id = AutoField()
    at = FloatField()
    project = TextField()
    conversation_id: int
    conversation = ForeignKeyField(ConversationRow)
    actor_key = TextField()
    actor_name = TextField()
    kind = TextField()
    number = IntegerField()
    action = TextField()

    class Meta:
        table_name = "audit"
        indexes: ClassVar[Any] = ((("project", "id"), False),)
