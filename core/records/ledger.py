"""The consensus ledger: what was settled, by axis; a later decision supersedes an earlier one."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence

from core.model import Actor, Decision, Origin, Scene
from core.records.filing import file, note, origin_of, seen, seen_one
from core.records.tables import ConversationRow, DecisionRow


def decide(
    origin: Origin,
    axis: str,
    decision: str,
    *,
    stances: Sequence[tuple[str, str]] = (),
    confidence: float = 0.0,
    by: Actor,
    now: float,
) -> Decision:
    """Write a decision; the one that stood on the same axis is marked as superseded by it.

    Only a decision that the same people may see is superseded: what is settled in a private
    channel says nothing elsewhere, not even by a mark on an older entry.
    """
    key = axis_key(axis)
    earlier = _standing(origin, key)
    row = file(
        DecisionRow,
        origin,
        by,
        now,
        axis=axis,
        axis_key=key,
        decision=decision,
        stances=json.dumps([list(stance) for stance in stances], ensure_ascii=False),
        confidence=confidence,
        supersedes=earlier[0].number if earlier else 0,
    )
    for old in earlier:
        DecisionRow.change(old.id, superseded_by=row.number)
        note(old, f"superseded by {row.number}", by, now)
    return to_decision(row)


def _standing(origin: Origin, key: str) -> list[DecisionRow]:
    """What stands on an axis with the same audience, newest first."""
    here = ConversationRow.get_by_id(origin.conversation_id)
    rows = (
        DecisionRow.select(DecisionRow, ConversationRow)
        .join(ConversationRow)
        .where(
            (DecisionRow.project == origin.project)
            & (DecisionRow.axis_key == key)
            & (DecisionRow.superseded_by == 0)
            & DecisionRow.withdrawn_at.is_null()
        )
        .order_by(DecisionRow.number.desc())
    )
    return [row for row in rows if _audience(row.conversation) == _audience(here)]


def _audience(place: ConversationRow) -> tuple[str | int, ...]:
    """What tells apart who may see a conversation's records (as ``core.records.scope`` rules)."""
    if place.apart:
        return (place.id,)
    if place.public and not place.direct:
        return (place.chat, place.space)
    return (place.chat, place.space, place.channel)


def axis_key(axis: str) -> str:
    """An axis as it is compared: width, case, punctuation and spaces do not make it another."""
    folded = unicodedata.normalize("NFKC", axis).casefold()
    words = "".join(char if char.isalnum() else " " for char in folded).split()
    return " ".join(words) or folded.strip()


def find_decision(scene: Scene, number: int) -> Decision | None:
    """The project's decision of this number if it may be seen here."""
    row = seen_one(DecisionRow, scene, number)
    return to_decision(row) if row else None


def list_decisions(scene: Scene, *, standing: bool = False) -> tuple[Decision, ...]:
    """The ledger as it may be seen here, newest first; ``standing``: without the superseded."""
    wanted = (DecisionRow.superseded_by == 0) if standing else None
    return tuple(to_decision(row) for row in seen(DecisionRow, scene, wanted))


def to_decision(row: DecisionRow) -> Decision:
    """A row as a value."""
    return Decision(
        id=row.id,
        number=row.number,
        origin=origin_of(row),
        axis=row.axis,
        decision=row.decision,
        stances=tuple((name, stance) for name, stance in json.loads(row.stances)),
        confidence=row.confidence,
        by=row.by_name,
        at=row.created_at,
        superseded_by=row.superseded_by,
        supersedes=row.supersedes,
        withdrawn=row.withdrawn_at is not None,
    )
