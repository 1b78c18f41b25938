"""Engines that rest: whose quota is used up, and until when."""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.model import Outcome
from core.records.prepared import Prepared
from core.records.tables import ParkedRow

MAX_S = 8 * 86_400.0  # longer than a week's quota lasts; a misread date must not rest for a year
_OF_A_MODEL = re.compile(
    r"\b(?:on|for) (?:this|the|that) model|another model|switch models|different model"
    r"|\b(?:opus|sonnet|haiku|flash)\b(?: \w+)? limit|(?:for|on) (?:gpt|gemini|claude|o\d)-[\w.-]+"
    r"|daily [\w.-]+-[\d.]+[\w.-]* quota",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Parked:
    """``until`` in UTC seconds; ``told`` is the reset in the engine's words, with its zone."""

    engine: str
    model: str
    whole: bool
    told: str
    detail: str
    until: float


_resting = Prepared(
    ParkedRow,
    lambda engine, model, now: ParkedRow.select().where(
        (ParkedRow.engine == engine)
        & (ParkedRow.until > now)
        & ((ParkedRow.whole == True) | (ParkedRow.model == model))  # noqa: E712
    ),
)
_works_again = Prepared(
    ParkedRow,
    lambda engine, model: ParkedRow.delete().where(
        (ParkedRow.engine == engine) & ((ParkedRow.whole == True) | (ParkedRow.model == model))  # noqa: E712
    ),
)


def find(engine: str, model: str, now: float) -> Parked | None:
    """Whether this engine rests now, asked for this model."""
    rows = _resting.rows(engine=engine, model=model, now=now)
    found = max(rows, key=lambda row: row.until, default=None)
    return _parked(found) if found else None


def resting(now: float) -> tuple[Parked, ...]:
    """All that rest now, by name."""
    rows = ParkedRow.select().where(ParkedRow.until > now).order_by(ParkedRow.key)
    return tuple(_parked(row) for row in rows)


def note(engine: str, model: str, outcome: Outcome, now: float) -> None:
    """A run of ``engine`` told that its quota is used up until ``outcome.reset_s``: it rests."""
    whole = not _OF_A_MODEL.search(outcome.detail)
    key = f"{engine} *" if whole else f"{engine} {model}"
    ParkedRow.delete().where(ParkedRow.key == key).execute()
    ParkedRow.create(
        key=key,
        engine=engine,
        model=model,
        whole=whole,
        told=outcome.reset_at,
        detail=outcome.detail,
        until=min(outcome.reset_s, now + MAX_S),
        since=now,
    )


def unpark(engine: str, model: str | None = None) -> None:
    """It may be asked again: with ``model`` None for every model."""
    if model is None:
        ParkedRow.delete().where(ParkedRow.engine == engine).execute()
    else:
        _works_again.run(engine=engine, model=model)


def _parked(row: ParkedRow) -> Parked:
    return Parked(row.engine, row.model, row.whole, row.told, row.detail, row.until)
