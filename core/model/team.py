"""A team's records: plans, findings, artifacts, decisions, links and branches, as values.

Their words are somebody's (a person's or an agent's): data, never authority. ``withdrawn`` says
that the message they came from was deleted: their words are gone, that they were is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

PlanState = Literal["proposed", "active", "done", "rejected"]
SubtaskState = Literal["todo", "in-progress", "done", "abandoned"]
FindingState = Literal["open", "closed"]
Severity = Literal["critical", "high", "medium", "low"]
BranchState = Literal["open", "adopted", "discarded"]
RecordKind = Literal["plan", "finding", "artifact", "decision", "link", "branch", "mark"]
PLAN_STATES: tuple[PlanState, ...] = get_args(PlanState)
SUBTASK_STATES: tuple[SubtaskState, ...] = get_args(SubtaskState)
FINDING_STATES: tuple[FindingState, ...] = get_args(FindingState)
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it: ``key`` as on messages ("slack:U1", "agent:architect"), ``name`` for people."""

    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a record comes from; who may see it follows from its conversation.

    ``message_id`` is the record id of the message whose words it holds (0: none, such as a slash
    command): when that message is deleted, its words go.
    """

    project: str
    conversation_id: int
    message_id: int = 0
    turn_id: int = 0


@dataclass(frozen=True, slots=True)
class Subtask:
    """One step of a plan. ``progress`` is a few words on how far it is."""

    number: int
    title: str
    state: SubtaskState = "todo"
    owner: str = ""
    progress: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done; ``number`` counts within the project, ``document`` is Markdown."""

    id: int
    number: int
    origin: Origin
    title: str
    phase: str
    document: str
    state: PlanState
    subtasks: tuple[Subtask, ...]
    by: str
    at: float
    withdrawn: bool = False

    @property
    def settled(self) -> int:
        """How many subtasks are done or abandoned."""
        return sum(1 for task in self.subtasks if task.state in ("done", "abandoned"))


@dataclass(frozen=True, slots=True)
class Finding:
    """What a review found; ``number`` counts within the project."""

    id: int
    number: int
    origin: Origin
    category: str
    severity: Severity
    state: FindingState
    text: str
    by: str
    at: float
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class Artifact:
    """A piece of work kept for the team: a title, one line about it, and its text."""

    id: int
    number: int
    origin: Origin
    title: str
    line: str
    text: str
    by: str
    at: float
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """An entry of the consensus ledger.

    ``stances`` are (participant, agree | disagree | abstain); ``superseded_by`` is the number of
    the later decision on the same axis (0: it stands); ``supersedes`` that of the one before.
    """

    id: int
    number: int
    origin: Origin
    axis: str
    decision: str
    stances: tuple[tuple[str, str], ...]
    confidence: float
    by: str
    at: float
    superseded_by: int = 0
    supersedes: int = 0
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change of state, and who made it. Holds states and numbers, no words of a record."""

    at: float
    actor: Actor
    kind: str
    number: int
    action: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A conversation that was forked from a message of another."""

    id: int
    conversation_id: int
    parent_id: int
    message_id: int
    state: BranchState
    by: str
    at: float
    by_key: str = ""  # who that is; names can be anybody's
