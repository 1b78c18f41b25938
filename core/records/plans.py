"""Plans: proposed by an agent or a person, made active by a person, worked off by subtasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from core.errors import BadInput
from core.model import PLAN_STATES, Actor, Origin, Plan, PlanState, Scene, Subtask, SubtaskState
from core.records.filing import file, note, origin_of, seen, seen_one
from core.records.prepared import Prepared
from core.records.tables import PlanRow, SubtaskRow
from core.tongue import say

_NEXT: Mapping[PlanState, tuple[PlanState, ...]] = {
    "proposed": ("active", "rejected"),
    "active": ("done", "rejected"),
    "done": ("active",),
    "rejected": (),
}


def propose(
    origin: Origin,
    title: str,
    *,
    phase: str = "",
    document: str = "",
    subtasks: Sequence[Subtask | str] = (),
    by: Actor,
    now: float,
) -> Plan:
    """Write a plan in state proposed. Subtasks given as texts are to do; all are numbered anew."""
    row = file(PlanRow, origin, by, now, title=title, phase=phase, document=document)
    for number, task in enumerate(subtasks, start=1):
        given = task if isinstance(task, Subtask) else Subtask(number, task)
        SubtaskRow.create(
            plan=row.id,
            number=number,
            title=given.title,
            state=given.state,
            owner=given.owner,
            progress=given.progress,
        )
    return to_plan(row)


def find_plan(scene: Scene, number: int) -> Plan | None:
    """The project's plan of this number if it may be seen here."""
    row = seen_one(PlanRow, scene, number)
    return to_plan(row) if row else None


def list_plans(scene: Scene, states: Sequence[PlanState] = PLAN_STATES) -> tuple[Plan, ...]:
    """The project's plans that may be seen here, newest first."""
    return tuple(to_plan(row) for row in seen(PlanRow, scene, PlanRow.state.in_(list(states))))


_of_state = Prepared(
    PlanRow,
    lambda conversation, state: (
        PlanRow.select()
        .where(
            (PlanRow.conversation == conversation)
            & (PlanRow.state == state)
            & PlanRow.withdrawn_at.is_null()
        )
        .order_by(PlanRow.number.desc())
        .limit(1)
    ),
)


def active_plan(conversation_id: int) -> Plan | None:
    """The plan that this conversation works on."""
    row = _of_state.first(conversation=conversation_id, state="active")
    return to_plan(row) if row else None


def current_plan(conversation_id: int) -> Plan | None:
    """The conversation's active plan, else the newest proposed one."""
    row = _of_state.first(conversation=conversation_id, state="active")
    row = row or _of_state.first(conversation=conversation_id, state="proposed")
    return to_plan(row) if row else None


def set_plan_state(plan: Plan, state: PlanState, *, by: Actor, now: float) -> Plan:
    """Change a plan's state.

    Raises:
        BadInput: not possible from the state it is in, or another plan is active in its thread.
    """
    row = _standing(plan)
    can = _NEXT[cast("PlanState", row.state)]
    if not can:
        raise BadInput(
            say(
                "Plan {number} is {state}: propose it anew with `!plan new TITLE`, subtasks on "
                "further lines.",
                number=row.number,
                state=row.state,
            )
        )
    if state not in can:
        raise BadInput(
            say(
                "Plan {number} is {state}; it can become {all}, not {state2}.",
                number=row.number,
                state=row.state,
                all=" or ".join(can),
                state2=state,
            )
        )
    other = active_plan(row.conversation_id) if state == "active" else None
    if other is not None:
        raise BadInput(
            say(
                "Plan {number} is active in this thread: mark it done or reject it first.",
                number=other.number,
            )
        )
    PlanRow.change(row.id, state=state)
    note(row, f"{row.state} -> {state}", by, now)
    return to_plan(PlanRow.get_by_id(row.id))


def set_subtask(
    plan: Plan,
    number: int,
    *,
    state: SubtaskState | None = None,
    owner: str | None = None,
    progress: str | None = None,
    by: Actor,
    now: float,
) -> Plan:
    """Change one subtask; what is ``None`` stays.

    Raises:
        BadInput: there is no such subtask, or the plan is over.
    """
    row = _standing(plan)
    task = SubtaskRow.get_or_none((SubtaskRow.plan == row.id) & (SubtaskRow.number == number))
    if task is None:
        count = len(to_plan(row).subtasks)
        raise BadInput(
            say(
                "Plan {number} has no subtask {number2}; it has {count}.",
                number=row.number,
                number2=number,
                count=count,
            )
        )
    if row.state not in ("proposed", "active"):
        raise BadInput(
            say(
                "Plan {number} is {state}: its subtasks do not change any more.",
                number=row.number,
                state=row.state,
            )
        )
    given = {"state": state, "owner": owner, "progress": progress}
    values = {name: value for name, value in given.items() if value is not None}
    if values:
        SubtaskRow.change(task.id, **values)
        told = [f"{task.state} -> {state}"] if state is not None and state != task.state else []
        told += [f"{name} set" for name in ("owner", "progress") if name in values]
        if told:
            note(row, f"subtask {number}: {', '.join(told)}", by, now)
    return to_plan(PlanRow.get_by_id(row.id))


def _standing(plan: Plan) -> PlanRow:
    row = PlanRow.get_by_id(plan.id)
    if row.withdrawn_at is not None:
        raise BadInput(
            say(
                "Plan {number} was withdrawn: the message it came from was deleted.",
                number=row.number,
            )
        )
    return row


_subtasks = Prepared(
    SubtaskRow,
    lambda plan: SubtaskRow.select().where(SubtaskRow.plan == plan).order_by(SubtaskRow.number),
)


def to_plan(row: PlanRow) -> Plan:
    """A row as a value, with its subtasks."""
    tasks = _subtasks.rows(plan=row.id)
    return Plan(
        id=row.id,
        number=row.number,
        origin=origin_of(row),
        title=row.title,
        phase=row.phase,
        document=row.document,
        state=cast("PlanState", row.state),
        subtasks=tuple(_to_subtask(task) for task in tasks),
        by=row.by_name,
        at=row.created_at,
        withdrawn=row.withdrawn_at is not None,
    )


def _to_subtask(row: SubtaskRow) -> Subtask:
    state = cast("SubtaskState", row.state)
    return Subtask(row.number, row.title, state, row.owner, row.progress)
