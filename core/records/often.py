"""How much a person asked lately. Counted from the turns, so that no restart begins anew."""

from __future__ import annotations

import json

from core.records.prepared import Prepared
from core.records.tables import TurnRow

_asked = Prepared(
    TurnRow,
    lambda asker, since: (
        TurnRow.select(TurnRow.queued_at, TurnRow.kind, TurnRow.seats)
        .where((TurnRow.asker_key == asker) & (TurnRow.queued_at > since))
        .order_by(TurnRow.queued_at)
    ),
)


def asked_since(asker_key: str, since: float) -> tuple[tuple[float, int], ...]:
    """When somebody (``chat:id``) asked, oldest first, and how much each counts."""
    return tuple(
        (at, weight(kind, len(json.loads(seats))))
        for at, kind, seats in _asked.tuples(asker=asker_key, since=since)
    )


def weight(kind: str, seats: int) -> int:
    """How many questions a turn counts as: a roundtable asks each of its participants."""
    return max(seats, 1) if kind == "roundtable" else 1
