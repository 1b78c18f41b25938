"""Findings of reviews and artifacts of the work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from core.errors import BadInput
from core.model import (
    FINDING_STATES,
    Actor,
    Artifact,
    Finding,
    FindingState,
    Origin,
    Scene,
    Severity,
)
from core.records.filing import file, note, origin_of, seen, seen_one
from core.records.tables import ArtifactRow, FindingRow
from core.tongue import say


def add_finding(
    origin: Origin,
    text: str,
    *,
    category: str = "general",
    severity: Severity = "medium",
    by: Actor,
    now: float,
) -> Finding:
    """Write an open finding."""
    return to_finding(
        file(FindingRow, origin, by, now, category=category, severity=severity, text=text)
    )


def find_finding(scene: Scene, number: int) -> Finding | None:
    """The project's finding of this number if it may be seen here."""
    row = seen_one(FindingRow, scene, number)
    return to_finding(row) if row else None


def list_findings(
    scene: Scene, states: Sequence[FindingState] = FINDING_STATES
) -> tuple[Finding, ...]:
    """The project's findings that may be seen here, newest first."""
    rows = seen(FindingRow, scene, FindingRow.state.in_(list(states)))
    return tuple(to_finding(row) for row in rows)


def set_finding_state(finding: Finding, state: FindingState, *, by: Actor, now: float) -> Finding:
    """Close a finding or open it again.

    Raises:
        BadInput: it is so already.
    """
    row = FindingRow.get_by_id(finding.id)
    if row.state == state:
        raise BadInput(say("Finding {number} is {state} already.", number=row.number, state=state))
    FindingRow.change(row.id, state=state)
    note(row, f"{row.state} -> {state}", by, now)
    return to_finding(FindingRow.get_by_id(row.id))


def add_artifact(
    origin: Origin, title: str, text: str, *, line: str = "", by: Actor, now: float
) -> Artifact:
    """Keep an artifact."""
    return to_artifact(file(ArtifactRow, origin, by, now, title=title, line=line, text=text))


def find_artifact(scene: Scene, number: int) -> Artifact | None:
    """The project's artifact of this number if it may be seen here."""
    row = seen_one(ArtifactRow, scene, number)
    return to_artifact(row) if row else None


def list_artifacts(scene: Scene) -> tuple[Artifact, ...]:
    """The project's artifacts that may be seen here, newest first."""
    return tuple(to_artifact(row) for row in seen(ArtifactRow, scene))


def to_finding(row: FindingRow) -> Finding:
    """A row as a value."""
    return Finding(
        id=row.id,
        number=row.number,
        origin=origin_of(row),
        category=row.category,
        severity=cast("Severity", row.severity),
        state=cast("FindingState", row.state),
        text=row.text,
        by=row.by_name,
        at=row.created_at,
        withdrawn=row.withdrawn_at is not None,
    )


def to_artifact(row: ArtifactRow) -> Artifact:
    """A row as a value."""
    return Artifact(
        id=row.id,
        number=row.number,
        origin=origin_of(row),
        title=row.title,
        line=row.line,
        text=row.text,
        by=row.by_name,
        at=row.created_at,
        withdrawn=row.withdrawn_at is not None,
    )
