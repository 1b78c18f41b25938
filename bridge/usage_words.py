"""What was used, in words: tables for the chats and the command line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo

from core.records.usage import Sum
from core.spending import WARN_AT, Amount, By, Span, Standing, is_shared, used_text, when, whose
from core.tongue import say, say_now, to_say
from core.words import literal

OTHERS = to_say("other channels")
MAX_ROWS = 25
_BY: Mapping[By, str] = {
    "engine": to_say("engine"),
    "model": to_say("model"),
    "person": to_say("person"),
    "channel": to_say("channel"),
    "project": to_say("project"),
    "day": to_say("day"),
}


def say_usage(
    found: Sequence[Sum], span: Span, by: By, zone: tzinfo | None, *, whose_use: str
) -> str:
    """The table: a row for each part, the dearest first, and the sum."""
    head = say("**Used {label}** by {whose_use}", label=say_now(span.label), whose_use=whose_use)
    if span.label != "today":
        head += say(" (since {when})", when=when(span.start, zone))
    if not found:
        return say("{head}: nothing.", head=head)
    shown, rest = found[:MAX_ROWS], found[MAX_ROWS:]
    rows = [(_named(one, by), one.amount) for one in shown]
    if rest:
        rows.append((say("{count} more", count=len(rest)), total(one.amount for one in rest)))
    whole = total(one.amount for one in found)
    lines = [
        say("| {by} | runs | tokens in | from cache | tokens out | cost |", by=say(_BY[by])),
        "|---|---:|---:|---:|---:|---:|",
        *(_row(name, amount) for name, amount in rows),
    ]
    lines += [_row(say("all"), whole)] if len(rows) > 1 else []
    told = [head + ":", "", *lines]
    if whole.untold:
        told += ["", say("Where no cost is told, the engine tells none: Moot does not guess.")]
    return "\n".join(told)


def _row(name: str, amount: Amount) -> str:
    cells = (
        name,
        f"{amount.runs:,}",
        f"{amount.input_tokens:,}",
        f"{amount.cached_tokens:,}",
        f"{amount.output_tokens:,}",
        cost_text(amount),
    )
    return f"| {' | '.join(cells)} |"


def cost_text(amount: Amount) -> str:
    """``$1.23``, ``not told``, or both in part; never $0 for what is not known."""
    if not amount.cost_usd:
        return say("not told") if amount.untold else "$0.00"
    told = f"${amount.cost_usd:,.2f}" if amount.cost_usd >= 0.01 else say("under $0.01")
    return say("{told} + not told", told=told) if amount.untold else told


def _named(one: Sum, by: By) -> str:
    if by == "person":
        return literal(one.called or one.name, 40) if one.name else say("Moot (summaries)")
    if by == "channel" and one.name == OTHERS:
        return say(OTHERS)
    if by == "model" and one.name and "/" not in one.name:
        return say("{name}'s default", name=literal(one.name, 40))
    return literal(one.name, 40) or say("not known")


def total(amounts: Iterable[Amount]) -> Amount:
    """All of it together."""
    columns = [
        (a.runs, a.input_tokens, a.output_tokens, a.cached_tokens, a.cost_usd, a.untold, a.seconds)
        for a in amounts
    ]
    return Amount(*(sum(column) for column in zip(*columns, strict=True)))  # type: ignore[arg-type]


def say_budgets(found: Sequence[Standing], zone: tzinfo | None, *, sums: bool = True) -> str:
    """How budgets stand, the fullest first; without ``sums`` shared ones in percent only."""
    if not found:
        return say("No budget is set here: [[budgets]] in moot.toml sets one.")
    lines = [
        _standing(one, zone, sums=sums or not is_shared(one))
        for one in sorted(found, key=lambda one: -one.share)
    ]
    return "\n".join([say("**Budgets**"), "", *lines])


def _standing(one: Standing, zone: tzinfo | None, *, sums: bool) -> str:
    mark = "⛔" if one.share >= 1 else "🔔" if one.share >= WARN_AT else "▫️"
    budget = whose(one, limit=sums)
    if sums:
        used = used_text(one)
        text = to_say("- {mark} **{share:.0%}** of {budget}: {used} used")
        told = say(text, mark=mark, share=one.share, budget=budget, used=used)
    else:
        text = to_say("- {mark} **{share:.0%}** of {budget} is used")
        told = say(text, mark=mark, share=one.share, budget=budget)
    if one.taken > one.share:
        told += say(", {taken:.0%} expected of runs under way", taken=one.taken - one.share)
    return say("{told}; anew {when}", told=told, when=when(one.span.end, zone))
