"""What may be used: budgets, the spans of time they are for, and what is said of them. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from core.errors import BadInput
from core.tongue import say, say_later, to_say
from core.words import literal, moment

Of = Literal["everyone", "person", "channel", "engine", "project"]
Per = Literal["day", "week", "month"]
By = Literal["day", "person", "channel", "engine", "model", "project"]
BYS: tuple[By, ...] = get_args(By)
SPANS = ("today", "yesterday", "week", "month", "7d", "30d", "2026-11")
WARN_AT = 0.8

_DAYS = re.compile(r"([1-9][0-9]{0,2})d")
_MONTH = re.compile(r"(20[0-9]{2})-(0[1-9]|1[0-2])")
_PER = {"day": to_say("daily"), "week": to_say("weekly"), "month": to_say("monthly")}


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be used in a span of time; 0 sets no limit.

    ``name`` is the one it is for (``slack:U1``, ``codex``); without it each person, channel, engine
    or project has such a budget of its own.
    """

    of: Of
    per: Per
    tokens: int = 0
    cost_usd: float = 0.0
    name: str = ""

    @property
    def limit(self) -> str:
        """``100,000 tokens``, ``$5.00``, or both."""
        told = [say("{tokens:,} tokens", tokens=self.tokens)] if self.tokens else []
        told += [f"${self.cost_usd:,.2f}"] if self.cost_usd else []
        return " or ".join(told)


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose use something is: names as usage rows have them. ``person`` is "" for the house's."""

    person: str
    channel: str
    project: str
    engines: tuple[str, ...]

    def names(self, of: Of) -> tuple[str, ...]:
        """Who of this kind it counts for."""
        match of:
            case "everyone":
                return ("",)
            case "engine":
                return tuple(dict.fromkeys(self.engines))
            case _:
                name: str = getattr(self, of)
                return (name,) if name else ()


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time, ``start`` <= t < ``end`` in UTC seconds; ``label`` says which."""

    label: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Amount:
    """What was used."""

    runs: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    untold: int = 0  # runs that used tokens and told no cost
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """Those that count for a budget: all that went in, cached or not, and came out."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Standing:
    """How a budget stands. ``who`` is its subject's name, ``called`` that for people ("" = none).

    ``reserved`` is what runs under way are expected to use.
    """

    budget: Budget
    who: str
    span: Span
    used: Amount
    reserved: Amount = Amount()
    called: str = ""

    @property
    def share(self) -> float:
        """The part that is used: 1.0 is all of it."""
        return _share(self.budget, self.used.tokens, self.used.cost_usd)

    @property
    def taken(self) -> float:
        """The part that is used or reserved."""
        used, more = self.used, self.reserved
        return _share(self.budget, used.tokens + more.tokens, used.cost_usd + more.cost_usd)


def _share(budget: Budget, tokens: int, cost_usd: float) -> float:
    of_tokens = tokens / budget.tokens if budget.tokens else 0.0
    return max(of_tokens, cost_usd / budget.cost_usd if budget.cost_usd else 0.0)


# --- time ----------------------------------------------------------------------------------


def zone_named(name: str) -> tzinfo | None:
    """The zone of days and months; ``None`` for "": this host's own."""
    return ZoneInfo(name) if name else None


def span_of(per: Per, now: float, zone: tzinfo | None) -> Span:
    """The day, week (from Monday) or month that ``now`` is in."""
    day = datetime.fromtimestamp(now, zone).date()
    match per:
        case "day":
            return _span(say_later("today"), day, day + timedelta(1), zone)
        case "week":
            monday = day - timedelta(day.weekday())
            return _span(say_later("this week"), monday, monday + timedelta(7), zone)
        case "month":
            return _month(day.replace(day=1), say_later("this month"), zone)


def span_typed(word: str, now: float, zone: tzinfo | None) -> Span:
    """What ``today``, ``yesterday``, ``week``, ``7d`` or ``2026-11`` means ("" = this month).

    Raises:
        BadInput: it is none of these.
    """
    per: dict[str, Per] = {"": "month", "today": "day", "day": "day", "week": "week"}
    if word in (*per, "month"):
        return span_of(per.get(word, "month"), now, zone)
    today = datetime.fromtimestamp(now, zone).date()
    if word == "yesterday":
        return _span(say_later("yesterday"), today - timedelta(1), today, zone)
    if days := _DAYS.fullmatch(word):
        first = today - timedelta(int(days[1]) - 1)
        return _span(
            say_later("the last {days} days", days=days[1]), first, today + timedelta(1), zone
        )
    if month := _MONTH.fullmatch(word):
        return _month(date(int(month[1]), int(month[2]), 1), word, zone)
    raise BadInput(
        say("“{word}” is no span of time. There are: {all}.", word=word[:40], all=", ".join(SPANS))
    )


def is_span(word: str) -> bool:
    """Whether ``span_typed`` knows it."""
    known = ("today", "day", "yesterday", "week", "month")
    return word in known or bool(_DAYS.fullmatch(word) or _MONTH.fullmatch(word))


def day_of(at: float, zone: tzinfo | None) -> str:
    """``2026-11-30``."""
    return datetime.fromtimestamp(at, zone).date().isoformat()


def _month(first: date, label: str, zone: tzinfo | None) -> Span:
    return _span(label, first, (first + timedelta(32)).replace(day=1), zone)


def _span(label: str, first: date, after: date, zone: tzinfo | None) -> Span:
    # A day is not always 24 hours, so both ends are midnights of the zone.
    start, end = (datetime.combine(day, time(), zone).timestamp() for day in (first, after))
    return Span(label, start, end)


# --- words ---------------------------------------------------------------------------------


def when(at: float, zone: tzinfo | None) -> str:
    """A point in time as each reader's own, and else in ``zone`` (``None``: this host's)."""
    return moment(at, zone or datetime.fromtimestamp(at).astimezone().tzinfo)


def is_shared(standing: Standing) -> bool:
    """Whether a sum of it is of what people of other channels used: not for everybody to read."""
    return standing.budget.of not in ("person", "channel")


def whose(standing: Standing, *, limit: bool = True) -> str:
    """``the daily budget of Kim (100,000 tokens)``; with its limit, a percentage tells a sum."""
    budget = standing.budget
    name = literal(standing.called or standing.who, 60)
    owner = {
        "everyone": say("of the whole house"),
        "channel": say("of {name}", name=name) if standing.called else say("of this channel"),
        "project": say("of the project {name}", name=name),
    }.get(budget.of, say("of {name}", name=name))
    told = f" ({budget.limit})" if limit else ""
    return say("the {per} budget {owner}{told}", per=say(_PER[budget.per]), owner=owner, told=told)


def _in_thread(standing: Standing) -> tuple[str, str]:
    """Which budget it is, and what was used of it ("" where that is not for everybody)."""
    if is_shared(standing):
        return whose(standing, limit=False), ""
    return whose(standing), used_text(standing)


def used_text(standing: Standing) -> str:
    """``83,000 tokens``, ``$4.10``, or both, as the budget counts them."""
    told = [say("{tokens:,} tokens", tokens=standing.used.tokens)] if standing.budget.tokens else []
    told += [f"${standing.used.cost_usd:,.2f}"] if standing.budget.cost_usd else []
    return ", ".join(told)


def refused_text(standing: Standing, zone: tzinfo | None) -> str:
    """Why a question is not asked, when it may be, and what can be done."""
    told, used = _in_thread(standing)
    sum_ = f" ({used})" if used else ""
    return say(
        "⛔ Not asked: {told} is used up{sum}. It begins anew on {when}. Nothing is lost: "
        "**Retry** asks this once more then. Whoever runs Moot can raise it in "
        "[[budgets]] of moot.toml.",
        told=told,
        sum=sum_,
        when=when(standing.span.end, zone),
    )


def ended_text(standing: Standing, zone: tzinfo | None) -> str:
    """Why a roundtable ends early that was not to."""
    told, used = _in_thread(standing)
    sum_ = say(" ({used} used)", used=used) if used else ""
    return say(
        "⛔ No more rounds are held: {told} is used up, or the runs under way are "
        "expected to use its rest{sum}. It begins anew on {when}.",
        told=told,
        sum=sum_,
        when=when(standing.span.end, zone),
    )


def warned_text(standing: Standing, zone: tzinfo | None) -> str:
    """What a thread is told once when most, or all, of a budget is used."""
    anew = when(standing.span.end, zone)
    told, used = _in_thread(standing)
    sum_ = f": {used}" if used else ""
    if standing.share >= 1:
        return say(
            "⛔ {told} is used up{sum}. New questions that fall under it are refused until {anew}.",
            told=_begun(told),
            sum=sum_,
            anew=anew,
        )
    return say(
        "🔔 {share:.0%} of {told} is used{sum}. At 100 % new questions are refused until {anew}.",
        share=standing.share,
        told=told,
        sum=sum_,
        anew=anew,
    )


def _begun(text: str) -> str:
    return text[0].upper() + text[1:]
