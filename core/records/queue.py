"""The queue: turns that wait, at most one of each conversation to begin at a time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from peewee import SQL, IntegrityError, fn

from core.model import Turn
from core.records import waiting_notice
from core.records.prepared import Prepared, raw
from core.records.tables import TurnRow
from core.records.turns import to_turn

_heads = Prepared(
    TurnRow,
    lambda excluded: (
        TurnRow.select()
        .where(
            TurnRow.id.in_(
                TurnRow.select(fn.MIN(TurnRow.id))
                .where(TurnRow.state == "queued")
                .group_by(TurnRow.conversation)
            )
            & TurnRow.conversation.not_in(
                TurnRow.select(TurnRow.conversation).where(TurnRow.state.in_(("running", "parked")))
            )
            & TurnRow.conversation.not_in(SQL("(SELECT value FROM json_each(?))", [raw(excluded)]))
        )
        .order_by(TurnRow.id)
    ),
)


def heads(excluded: Sequence[int]) -> tuple[Turn, ...]:
    """The oldest queued turn of each conversation that has none running, oldest first.

    A parked turn keeps its conversation to itself as well, as it did before the restart.

    ``excluded`` are conversations whose last turn is over in the rows while its process is still
    being ended.
    """
    return tuple(to_turn(row) for row in _heads.rows(excluded=json.dumps(list(excluded))))


def claim(turn: Turn, now: float) -> Turn | None:
    """Take a queued turn; ``None`` if it is taken, or its conversation has one running."""
    try:
        if not _take.run(turn=turn.id, now=now):
            return None
    except IntegrityError:  # another worker was faster: the index keeps one per conversation
        return None
    waiting_notice.hide(turn.id, now)
    return replace(turn, state="running")


_take = Prepared(
    TurnRow,
    lambda turn, now: TurnRow.update(state="running", started_at=now).where(
        (TurnRow.id == turn) & (TurnRow.state == "queued")
    ),
)
