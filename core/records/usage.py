"""What runs used: written as they end, summed up for people and for budgets.

Rows hold no words of anybody, so they stay when what was said is erased.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import reduce
from operator import and_
from typing import Any

from peewee import Expression, fn

from core.model import ConversationKey, Outcome, Participant, Turn, Usage
from core.records import messages
from core.records.prepared import Prepared
from core.records.tables import (
    BudgetToldRow,
    ConversationRow,
    MetaRow,
    RunRow,
    SummaryRow,
    TurnRow,
    UsageRow,
)
from core.spending import Amount, Budget, By, Of, Span, Standing, Subject, day_of, span_of

MEAN_OF = 20  # newest runs of an engine: what one is expected to use
KEEP_TOLD_S = 70 * 86_400.0
_FILLED = "usage_filled"


@dataclass(frozen=True, slots=True)
class Purse:
    """The budgets of the house. ``project_of`` names the project of a channel.

    ``others`` names the engines that could be asked instead of one (it looks at files).
    """

    budgets: tuple[Budget, ...] = ()
    zone: tzinfo | None = None
    project_of: Callable[[ConversationKey], str] = lambda _: ""
    others: Callable[[str], tuple[str, ...]] = lambda _: ()


# --- written -------------------------------------------------------------------------------


def note_run(
    run_id: str, turn: Turn, seat: Participant, outcome: Outcome, project: str, now: float
) -> None:
    """Write what a run used, however it ended; once more changes nothing."""
    run = RunRow.get_by_id(run_id)
    key = messages.get_conversation(turn.conversation_id).key
    _write(
        outcome.usage,
        run=run_id,
        at=now,
        engine=seat.engine,
        model=seat.model,
        persona=seat.persona,
        conversation=turn.conversation_id,
        channel=f"{key.chat}:{key.channel}",
        project=project,
        person=turn.asker_key,
        person_name=turn.asker,
        outcome=outcome.kind,
        seconds=max(0.0, now - run.opened_at),
    )


def note_cut(run_id: str, project_of: Callable[[ConversationKey], str], now: float) -> None:
    """A crash ended a run: that it was counts, what it used was not told."""
    run = RunRow.get_by_id(run_id)
    turn = TurnRow.get_by_id(run.turn_id)
    key = messages.get_conversation(turn.conversation_id).key
    _write(
        Usage(),
        run=run_id,
        at=now,
        engine=run.engine,
        persona=run.persona,
        conversation=turn.conversation_id,
        channel=f"{key.chat}:{key.channel}",
        project=project_of(key),
        person=turn.asker_key,
        person_name=turn.asker,
        outcome="cut",
        seconds=max(0.0, now - run.opened_at),
    )


def note_pass(
    pass_id: str,
    usage: Usage,
    outcome: str,
    project_of: Callable[[ConversationKey], str],
    now: float,
) -> None:
    """Write what a pass of the summariser used: work of the house, for nobody in particular."""
    row = SummaryRow.get_by_id(pass_id)
    key = messages.get_conversation(row.conversation_id).key
    _write(
        usage,
        run=pass_id,
        at=now,
        kind="summary",
        engine=row.engine,
        model=row.model,
        conversation=row.conversation_id,
        channel=f"{key.chat}:{key.channel}",
        project=project_of(key),
        outcome=outcome,
        seconds=max(0.0, now - row.opened_at),
    )


_written = Prepared(UsageRow, lambda run: UsageRow.select(UsageRow.run).where(UsageRow.run == run))


def _write(usage: Usage, **values: Any) -> None:
    told = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "cost_usd": usage.cost_usd,
    }
    if not _written.rows(run=values["run"]):
        UsageRow.create(**values, **told)


def fill_in(project_of: Callable[[ConversationKey], str]) -> int:
    """Write rows for runs of before there were any, once; how many."""
    if MetaRow.get_or_none(MetaRow.name == _FILLED) is not None:
        return 0
    rows = list(
        RunRow.select(RunRow, TurnRow, ConversationRow)
        .join(TurnRow)
        .join(ConversationRow)
        .where(
            RunRow.ended_at.is_null(is_null=False) & RunRow.id.not_in(UsageRow.select(UsageRow.run))
        )
    )
    for row in rows:
        place: Any = row.turn.conversation
        key = ConversationKey(place.chat, place.space, place.channel, place.root or "")
        _write(
            Usage(**json.loads(row.usage)),
            run=row.id,
            at=row.ended_at or row.opened_at,
            engine=row.engine,
            persona=row.persona,
            conversation=place.id,
            channel=f"{key.chat}:{key.channel}",
            project=project_of(key),
            person=row.turn.asker_key,
            person_name=row.turn.asker,
            outcome=row.outcome or row.state,
            seconds=max(0.0, (row.ended_at or row.opened_at) - row.opened_at),
        )
    MetaRow.create(name=_FILLED, value="1")
    return len(rows)


# --- summed up -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sum:
    """What one day, person, channel, engine, model or project used; ``called`` for people."""

    name: str
    amount: Amount
    called: str = ""


def sums(
    span: Span, by: By, zone: tzinfo | None, *, person: str = "", channel: str = ""
) -> tuple[Sum, ...]:
    """What was used, in parts, the dearest first (days in order): of all, of one person or channel.

    ``person`` and ``channel`` are names as the rows have them; "" = every one.
    """
    where = _within(span)
    where = where & (UsageRow.person == person) if person else where
    where = where & (UsageRow.channel == channel) if channel else where
    if by == "day":
        return _by_day(where, zone)
    fields: list[Any] = [getattr(UsageRow, by)]
    fields = [UsageRow.engine, *fields] if by == "model" else fields
    rows = UsageRow.select(*fields, fn.MAX(UsageRow.person_name), *_SUMS).where(where)
    found: list[Sum] = []
    for row in _tuples(rows.group_by(*fields)):
        *names, called = row[: len(fields) + 1]
        name = "/".join(names) if by == "model" and names[1] else str(names[0])
        shown = called if by == "person" else ""
        found.append(Sum(name, _amount(row[len(fields) + 1 :]), shown))
    return tuple(sorted(found, key=lambda one: (-one.amount.cost_usd, -one.amount.tokens)))


def _by_day(where: Expression, zone: tzinfo | None) -> tuple[Sum, ...]:
    """By the zone's days; SQLite knows the host's own zone only."""
    days: dict[str, list[tuple[Any, ...]]] = {}
    rows = UsageRow.select(UsageRow.at, *_SUMS).where(where).group_by(UsageRow.run)
    for at, *values in _tuples(rows):
        days.setdefault(day_of(at, zone), []).append(tuple(values))
    return tuple(
        Sum(day, _amount([sum(column) for column in zip(*days[day], strict=True)]))
        for day in sorted(days)
    )


_untold = (UsageRow.cost_usd == 0) & ((UsageRow.input_tokens > 0) | (UsageRow.output_tokens > 0))
_SUMS = (
    fn.COUNT(UsageRow.run),
    fn.SUM(UsageRow.input_tokens),
    fn.SUM(UsageRow.output_tokens),
    fn.SUM(UsageRow.cached_tokens),
    fn.SUM(UsageRow.cost_usd),
    fn.SUM(_untold),
    fn.SUM(UsageRow.seconds),
)


def _amount(values: Iterable[Any]) -> Amount:
    return Amount(*(value or 0 for value in values))


def _tuples(query: Any) -> list[tuple[Any, ...]]:
    """What a query of expressions finds, as SQLite gives it."""
    return list(query.tuples())


def _within(span: Span) -> Expression:
    return (UsageRow.at >= span.start) & (UsageRow.at < span.end)


def is_public(channel: str) -> bool:
    """Whether a channel (``chat:id``) is known to be readable by everybody of its space."""
    chat, _, place = channel.partition(":")
    here = (ConversationRow.chat == chat) & (ConversationRow.channel == place)
    open_ = ConversationRow.public & ~ConversationRow.direct
    return ConversationRow.select().where(here & open_).exists()


# --- budgets -------------------------------------------------------------------------------


def standings(
    purse: Purse, subject: Subject, now: float, *, without_turn: int = 0
) -> tuple[Standing, ...]:
    """How all budgets stand that this falls under, with what runs under way are to use.

    ``without_turn`` counts only by its open runs: it is being begun.
    """
    return tuple(
        _standing(budget, who, purse, now, without_turn)
        for budget in purse.budgets
        for who in subject.names(budget.of)
        if budget.name in ("", who) or budget.of == "everyone"
    )


def all_standings(purse: Purse, now: float) -> tuple[Standing, ...]:
    """Every budget of everybody who used something of it in its span."""
    found: list[Standing] = []
    for budget in purse.budgets:
        span = span_of(budget.per, now, purse.zone)
        names = ("",) if budget.of == "everyone" else _users(budget, span)
        found += [_standing(budget, who, purse, now, 0) for who in names]
    return tuple(found)


def _users(budget: Budget, span: Span) -> tuple[str, ...]:
    if budget.name:
        return (budget.name,)
    column = getattr(UsageRow, budget.of)
    rows = UsageRow.select(column).where(_within(span) & (column != "")).distinct()
    return tuple(sorted(name for (name,) in _tuples(rows)))


def _standing(budget: Budget, who: str, purse: Purse, now: float, without: int) -> Standing:
    span = span_of(budget.per, now, purse.zone)
    where = [_within(span)]
    where += [] if budget.of == "everyone" else [getattr(UsageRow, budget.of) == who]
    [used] = _tuples(UsageRow.select(*_SUMS).where(reduce(and_, where)))
    return Standing(
        budget,
        who,
        span,
        _amount(used),
        _reserved(budget.of, who, purse, without),
        _called(budget.of, who),
    )


def _called(of: Of, who: str) -> str:
    """What people call somebody: a person's newest name."""
    if of != "person":
        return ""
    row = (
        UsageRow.select(UsageRow.person_name)
        .where(UsageRow.person == who)
        .order_by(UsageRow.at.desc())
        .first()
    )
    return row.person_name if row else ""


def _reserved(of: Of, who: str, purse: Purse, without: int) -> Amount:
    """What runs under way are expected to use: as the mean of their engine's newest runs.

    A turn that was claimed and has no run yet counts for one of its first seat.
    """
    total = Amount()
    turns = list(
        TurnRow.select(TurnRow, ConversationRow)
        .join(ConversationRow)
        .where(TurnRow.state == "running")
    )
    for turn in turns:
        place: Any = turn.conversation
        key = ConversationKey(place.chat, place.space, place.channel, place.root or "")
        open_ = RunRow.select().where((RunRow.turn == turn.id) & (RunRow.state == "open"))
        engines = [(run.engine, _estimate(run)) for run in open_]
        if not engines and turn.id != without:
            engines = [(json.loads(turn.seats)[0][0], 0)]
        subject = Subject(
            turn.asker_key,
            f"{key.chat}:{key.channel}",
            purse.project_of(key) if of == "project" else "",
            (),
        )
        for engine, estimate in engines:
            if who in replace(subject, engines=(engine,)).names(of):
                total = _plus(total, _expected(engine, estimate))
    return total


def _estimate(run: RunRow) -> int:
    return int(json.loads(run.receipt).get("estimated_tokens", 0))


def _expected(engine: str, at_least: int) -> Amount:
    """What a run of an engine uses, from its newest ones; of a first one, what it is sent."""
    newest = list(
        UsageRow.select()
        .where((UsageRow.engine == engine) & (UsageRow.kind == "run") & (UsageRow.input_tokens > 0))
        .order_by(UsageRow.at.desc())
        .limit(MEAN_OF)
    )
    if not newest:
        return Amount(input_tokens=at_least)
    count = len(newest)
    return Amount(
        input_tokens=max(at_least, sum(row.input_tokens for row in newest) // count),
        output_tokens=sum(row.output_tokens for row in newest) // count,
        cost_usd=sum(row.cost_usd for row in newest) / count,
    )


def _plus(one: Amount, other: Amount) -> Amount:
    return Amount(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cost_usd=one.cost_usd + other.cost_usd,
    )


def first_time(standing: Standing, level: str, now: float) -> bool:
    """Whether a budget's state is told for the first time in its span; from now on it was."""
    budget = standing.budget
    limits = f"{budget.tokens}/{budget.cost_usd}"
    place = f"{budget.of}:{budget.name}:{budget.per}:{limits}:{standing.who}"
    key = f"{level}:{standing.span.start:.0f}:{place}"
    if BudgetToldRow.get_or_none(BudgetToldRow.key == key) is not None:
        return False
    BudgetToldRow.delete().where(BudgetToldRow.at < now - KEEP_TOLD_S).execute()
    BudgetToldRow.create(key=key, at=now)
    return True


def spent(found: Sequence[Standing], *, reserved: bool = False) -> Standing | None:
    """The first of these that has nothing left (``reserved``: or nothing that is not reserved)."""
    return next((one for one in found if (one.taken if reserved else one.share) >= 1), None)
