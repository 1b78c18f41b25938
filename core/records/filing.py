"""What plans, findings, artifacts and decisions have in common: numbers, audit, withdrawal.

Every change of state is written with who made it, in the same transaction (``note``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any, TypeVar

from peewee import Expression, Select, fn

from core.model import Actor, AuditEntry, Origin, RecordKind, Scene
from core.records.prepared import Prepared
from core.records.scope import visible
from core.records.tables import (
    ArtifactRow,
    AuditRow,
    BranchRow,
    ConversationRow,
    DecisionRow,
    FindingRow,
    LinkRow,
    PlanRow,
    SubtaskRow,
)
from core.records.tables.plans import Record

R = TypeVar("R", bound=Record)

MAX_LISTED = 100
KINDS: dict[type[Record], RecordKind] = {
    PlanRow: "plan",
    FindingRow: "finding",
    ArtifactRow: "artifact",
    DecisionRow: "decision",
}


def _one_of(table: type[Record]) -> Prepared[Any]:
    mine = table.project
    return Prepared(table, lambda project: table.select(table.id).where(mine == project).limit(1))


def _made_of(table: type[Record]) -> Prepared[Any]:
    made = table.message
    return Prepared(
        table,
        lambda message: table.select().where((made == message) & table.withdrawn_at.is_null()),
    )


_standing_of = {table: _made_of(table) for table in KINDS}
_any = {table: _one_of(table) for table in KINDS}


_anything = Prepared(
    PlanRow,
    lambda project, here: Select(
        columns=(
            reduce(
                or_,
                (
                    fn.EXISTS(one.select(one.id).where(belongs == value))
                    for one, belongs, value in (
                        *((table, table.project, project) for table in KINDS),
                        (PlanRow, PlanRow.conversation, here),  # made for another project, perhaps
                        (LinkRow, LinkRow.first, here),
                        (LinkRow, LinkRow.second, here),
                        (BranchRow, BranchRow.conversation, here),
                        (BranchRow, BranchRow.parent, here),
                    )
                ),
            ),
        )
    ),
)


def has_any(scene: Scene) -> bool:
    """Whether there may be any record, link or branch to tell of: mostly none, and packs ask."""
    return bool(_anything.value(project=scene.project.name, here=scene.conversation.id))


def file(table: type[R], origin: Origin, by: Actor, now: float, **values: Any) -> R:
    """Write a new record under the project's next number, and that it was made."""
    row = table.create(
        project=origin.project,
        number=_next_number(table, origin.project),
        conversation=origin.conversation_id,
        message=origin.message_id,
        turn=origin.turn_id,
        by_key=by.key,
        by_name=by.name,
        created_at=now,
        **values,
    )
    note(row, "created", by, now)
    return row


def _next_number(table: type[Record], project: str) -> int:
    return (table.select(fn.MAX(table.number)).where(table.project == project).scalar() or 0) + 1


def note(row: Record, action: str, by: Actor, now: float) -> None:
    """Write down who changed a record, and to what; no words of the record."""
    write_audit(
        KINDS[type(row)], row.number, action, by, now, origin_of(row).project, row.conversation_id
    )


def write_audit(
    kind: RecordKind,
    number: int,
    action: str,
    by: Actor,
    now: float,
    project: str,
    conversation_id: int,
) -> None:
    """Write one line of the audit log."""
    AuditRow.create(
        at=now,
        project=project,
        conversation=conversation_id,
        actor_key=by.key,
        actor_name=by.name,
        kind=kind,
        number=number,
        action=action,
    )


def audit(scene: Scene, limit: int = 20) -> tuple[AuditEntry, ...]:
    """The newest changes of the project's records that may be seen here, newest first."""
    rows = (
        AuditRow.select()
        .join(ConversationRow)
        .where((AuditRow.project == scene.project.name) & visible(scene))
        .order_by(AuditRow.id.desc())
        .limit(limit)
    )
    return tuple(
        AuditEntry(row.at, Actor(row.actor_key, row.actor_name), row.kind, row.number, row.action)
        for row in rows
    )


def seen(
    table: type[R], scene: Scene, wanted: Expression | None = None, limit: int = MAX_LISTED
) -> list[R]:
    """The project's records that may be seen here, newest first."""
    if not _any[table].rows(project=scene.project.name):
        return []  # most projects have none of most kinds, and every pack asks
    where = (table.project == scene.project.name) & visible(scene)
    if wanted is not None:
        where &= wanted
    query = table.select().join(ConversationRow).where(where)
    return list(query.order_by(table.number.desc()).limit(limit))


def seen_one(table: type[R], scene: Scene, number: int) -> R | None:
    """The project's record of this number if it may be seen here."""
    if not 0 < number < 2**63:
        return None
    found = seen(table, scene, table.number == number, 1)
    return found[0] if found else None


def made_in(table: type[R], origin: Origin) -> list[R]:
    """What was made in this turn already: an agent may say the same again in a follow-up."""
    if not origin.turn_id:
        return []
    same = (table.conversation == origin.conversation_id) & (table.turn == origin.turn_id)
    return list(table.select().where(same))


def origin_of(row: Record) -> Origin:
    """Where a record comes from."""
    return Origin(row.project, row.conversation_id, row.message, row.turn)


def withdraw(message_id: int, now: float) -> None:
    """A message was deleted in chat: the words of what was made from it go, word for word.

    To be called in the transaction that removes the message. That a record was there, its number
    and its state stay.
    """
    blank: Sequence[tuple[type[Record], dict[str, Any]]] = (
        (PlanRow, {"title": "", "phase": "", "document": ""}),
        (FindingRow, {"category": "", "text": ""}),
        (ArtifactRow, {"title": "", "line": "", "text": ""}),
        (DecisionRow, {"axis": "", "axis_key": "", "decision": "", "stances": "[]"}),
    )
    for table, values in blank:
        for row in _standing_of[table].rows(message=message_id):
            table.change(row.id, withdrawn_at=now, **values)
            if table is PlanRow:
                SubtaskRow.update(title="", progress="", owner="").where(
                    SubtaskRow.plan == row.id
                ).execute()
            note(row, "withdrawn", Actor("moot", "Moot"), now)
