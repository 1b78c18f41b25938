"""Spans of time, budgets and their words; the grammar of !usage; what a host can hold."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from bridge.capacity import engine_limit, host_limit
from bridge.line import Line, say_line, waiting_text
from bridge.load import load_engines
from bridge.usage_commands import BudgetsShown, Usage, parse_usage
from bridge.usage_words import cost_text, say_budgets, say_usage, total
from config.settings import load_settings
from core.control import Place
from core.errors import BadInput
from core.model import EngineTraits
from core.records.usage import Sum
from core.spending import (
    Amount,
    Budget,
    Span,
    Standing,
    Subject,
    day_of,
    refused_text,
    span_of,
    span_typed,
    warned_text,
)

BERLIN, UTC = ZoneInfo("Europe/Berlin"), ZoneInfo("UTC")


def at(text: str, zone: ZoneInfo = UTC) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


NOW = at("2026-11-30T23:30:00")  # a Monday; in Berlin it is Tuesday already


def test_days_weeks_and_months_are_those_of_the_zone():
    assert span_of("day", NOW, UTC).start == at("2026-11-30T00:00")
    assert span_of("day", NOW, BERLIN).start == at("2026-12-01T00:00", BERLIN)
    assert span_of("week", NOW, BERLIN).start == at("2026-11-30T00:00", BERLIN)
    month = span_of("month", NOW, BERLIN)
    assert (month.start, month.end) == (at("2026-12-01", BERLIN), at("2027-01-01", BERLIN))
    assert day_of(NOW, BERLIN) == "2026-12-01"


def test_a_day_on_which_the_clock_is_set_back_has_25_hours():
    span = span_of("day", at("2026-10-25T12:00", BERLIN), BERLIN)
    assert (span.end - span.start) / 3600 == 25


def test_spans_as_they_are_typed():
    week = span_typed("7d", NOW, UTC)
    assert (week.start, week.end) == (at("2026-11-24"), at("2026-12-01"))
    month = span_typed("2026-02", NOW, UTC)
    assert (month.start, month.end) == (at("2026-02-01"), at("2026-03-01"))
    assert span_typed("", NOW, UTC) == span_of("month", NOW, UTC)
    assert span_typed("today", NOW, None).end - 86_400 <= NOW + 86_400
    with pytest.raises(BadInput, match="no span"):
        span_typed("2026-13", NOW, UTC)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("", Usage()),
        ("week by person --all", Usage("week", "person", "all")),
        ("here by model 30d", Usage("30d", "model", "here")),
        ("Budgets", BudgetsShown()),
        ("budgets all", BudgetsShown("all")),
    ],
)
def test_what_is_typed_after_usage(typed, meant):
    assert parse_usage(typed) == meant


@pytest.mark.parametrize("typed", ["by", "by persn", "someday", "0d", "2026-00"])
def test_what_means_nothing_is_told(typed):
    with pytest.raises(BadInput):
        parse_usage(typed)


# --- words ---------------------------------------------------------------------------------


def standing(tokens: int, **values) -> Standing:
    budget = Budget("person", "day", tokens=1_000, cost_usd=values.pop("cost_usd", 0.0))
    span = span_of("day", NOW, UTC)
    return Standing(budget, "slack:U1", span, Amount(1, tokens), called="*Kim*", **values)


def test_a_refusal_says_whose_budget_when_it_begins_anew_and_what_to_do():
    text = refused_text(standing(1_234), UTC)
    assert "daily budget of \\*Kim\\* (1,000 tokens) is used up (1,234 tokens)" in text
    assert "[2026-12-01 00:00 UTC](moot-time:1796083200)" in text
    assert "**Retry**" in text


def test_a_warning_is_another_one_than_the_end():
    assert warned_text(standing(830), UTC).startswith("🔔 83%")
    assert "is used up" in warned_text(standing(1_000), UTC)


def test_the_share_is_that_of_the_limit_which_is_nearer():
    one = standing(100, cost_usd=10.0)
    assert one.share == 0.1
    used = Amount(1, 100, cost_usd=9.0)
    assert Standing(one.budget, "x", one.span, used).share == 0.9
    assert Standing(one.budget, "x", one.span, used, Amount(cost_usd=2.0)).taken == 1.1


def test_whom_a_use_counts_for():
    subject = Subject("slack:U1", "slack:C1", "billing", ("claude", "codex", "claude"))
    assert subject.names("engine") == ("claude", "codex")
    assert subject.names("everyone") == ("",)
    assert Subject("", "slack:C1", "p", ()).names("person") == ()


def test_what_is_not_told_is_never_shown_as_nothing():
    assert cost_text(Amount(2, 10, 5, untold=2)) == "not told"
    assert cost_text(Amount(2, 10, 5, cost_usd=1.5, untold=1)) == "$1.50 + not told"
    assert cost_text(Amount(1, 10, 5, cost_usd=0.004)) == "under $0.01"
    assert cost_text(Amount(1)) == "$0.00"
    parts = [
        Sum("claude", Amount(3, 1_200_000, 3_000, 900_000, 4.2)),
        Sum("co|dex", Amount(1, 5, 5, untold=1)),
    ]
    text = say_usage(parts, span_of("month", NOW, UTC), "engine", UTC, whose_use="everybody")
    assert "| claude | 3 | 1,200,000 | 900,000 | 3,000 | $4.20 |" in text
    assert "| co\\|dex |" in text
    assert "| all | 4 | 1,200,005 | 900,000 | 3,005 | $4.20 + not told |" in text
    assert total([]) == Amount()
    assert say_usage([], Span("today", 0, 1), "day", UTC, whose_use="Kim").endswith("nothing.")


def test_budgets_are_listed_the_fullest_first():
    text = say_budgets([standing(100), standing(900, reserved=Amount(input_tokens=50))], UTC)
    first, second = [line for line in text.splitlines() if line.startswith("- ")]
    assert "🔔 **90%**" in first
    assert "5% expected of runs under way" in first
    assert "**10%**" in second
    assert "No budget" in say_budgets([], UTC)


# --- who waits -----------------------------------------------------------------------------


def test_one_that_waits_for_its_engine_alone_counts_only_those_of_it():
    places = (Place("claude", turn=1), Place("codex", turn=2), Place("codex", turn=3))
    line = Line(3, 4, {"codex": (1, 1)}, places)
    assert "1 before it · 1 of 1 runs of codex" in waiting_text(line, places[2])
    full = Line(4, 4, {"codex": (1, 1)}, places)
    assert "2 before it · 4 of 4 runs are under way" in waiting_text(full, places[2])
    assert "the next one" in waiting_text(full, places[0])


def test_the_order_names_no_words_of_other_threads_and_is_bounded():
    text = say_line(Line(1, 1, {}, tuple(Place("x", turn=n) for n in range(25))), ())
    assert "1. another thread" in text
    assert "and 5 more" in text
    assert say_line(Line(), ()) == ""


# --- what a host can hold ------------------------------------------------------------------

HEAVY = EngineTraits(memory_mb=1_300, cores=2.0)


@pytest.mark.parametrize(
    ("traits", "cores", "memory_mb", "host", "engine"),
    [
        (EngineTraits(memory_mb=270), 4, 16_000, 8, 57),
        (EngineTraits(memory_mb=270), 4, 1_500, 3, 3),
        (EngineTraits(memory_mb=270), 1, 300, 1, 1),
        (HEAVY, 4, 16_000, 8, 2),
        (HEAVY, 1, 16_000, 2, 1),
        (EngineTraits(memory_mb=0), 2, 100, 4, 0),
    ],
)
def test_the_default_is_from_cores_and_memory(traits, cores, memory_mb, host, engine):
    assert host_limit(traits, cores, memory_mb) == host
    assert engine_limit(traits, cores, memory_mb) == engine


def test_what_a_run_of_each_engine_weighs_is_known():
    """Measured peaks; one OpenCode keeps two cores busy for seconds at its start."""
    engines = load_engines(load_settings().engines)
    weights = {name: engine.traits.memory_mb for name, engine in engines.items()}
    assert weights["claude"] < weights["gemini"] < weights["opencode"]
    assert (weights["opencode"], engines["opencode"].traits.cores) == (1_300, 2.0)


def test_yesterday_and_by_user_are_understood():
    assert parse_usage("yesterday by user") == Usage("yesterday", "person")
    day, today = span_typed("yesterday", NOW, UTC), span_typed("today", NOW, UTC)
    assert (day.end, day.label) == (today.start, "yesterday")


def test_a_model_that_was_not_named_is_called_the_engines_default():
    parts = [Sum("claude", Amount(runs=1)), Sum("codex/gpt-9", Amount(runs=1))]
    text = say_usage(parts, span_of("month", NOW, UTC), "model", UTC, whose_use="all")
    assert "| claude's default |" in text
    assert "| codex/gpt-9 |" in text


def test_the_host_is_told_how_it_is_typed_there():
    with pytest.raises(BadInput, match=r"^moot usage knows no") as told:
        parse_usage("nonsense", "moot usage [today] [by engine]")
    assert "!usage" not in str(told.value)
