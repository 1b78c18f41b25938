"""What a roundtable may send, reckoned before it starts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.forecast import LABEL_CHARS, USUAL_ANSWER_CHARS, Expected, reckon
from core.minutes import forecast_text
from core.model import ORDERS
from tests.unit.test_table import SUMS_UP, a_table

ONE = Expected("claude", chars=10_000, tokens=2_500, budget_chars=60_000, answer_chars=940)
STEP = 940 + LABEL_CHARS  # what an answer adds to a pack: 1,000


def test_a_round_at_once_sends_the_first_packs_and_no_more():
    forecast = reckon(a_table(3, 1), [ONE] * 3, 4_000)
    assert (forecast.calls, forecast.chars, forecast.tokens) == (3, 30_000, 7_500)


def test_one_after_the_other_reads_what_was_said_before():
    forecast = reckon(a_table(3, 1, "sequential"), [ONE] * 3, 4_000)
    assert forecast.chars == 30_000 + (0 + 1 + 2) * STEP


def test_later_rounds_hold_all_earlier_answers_or_only_the_new_ones():
    full = reckon(a_table(2, 2), [ONE] * 2, 4_000)
    assert full.chars == 2 * 10_000 + 2 * (10_000 + 2 * STEP)
    goes_on = replace(ONE, again_chars=3_000)
    resumed = reckon(a_table(2, 2), [goes_on] * 2, 4_000)
    assert resumed.chars == 2 * 10_000 + 2 * (3_000 + STEP)


def test_the_synthesis_reads_everything_once():
    table = a_table(2, 2, synthesizer=SUMS_UP)
    whole = reckon(table, [ONE] * 3, 4_000)
    without = reckon(a_table(2, 2), [ONE] * 2, 4_000)
    assert whole.calls == without.calls + 1
    assert whole.chars - without.chars == 10_000 + 4 * STEP


def test_a_pack_keeps_to_its_budget_and_an_answer_to_what_is_shown_of_it():
    small = replace(ONE, budget_chars=11_000, answer_chars=90_000)
    forecast = reckon(a_table(2, 2), [small] * 2, 4_000)
    assert forecast.chars == 2 * 10_000 + 2 * 11_000
    assert forecast.answer_chars == 4_000
    over = replace(ONE, budget_chars=8_000)  # tier 0 alone is over it: sent whole
    assert reckon(a_table(2, 1), [over] * 2, 4_000).chars == 20_000


def test_an_engine_that_has_not_answered_yet_is_taken_to_be_as_usual():
    new = replace(ONE, answer_chars=0)
    assert reckon(a_table(2, 1), [new] * 2, 4_000).answer_chars == USUAL_ANSWER_CHARS


def test_costs_are_said_where_they_are_known():
    priced = replace(ONE, usd_per_char=0.00001)
    both = reckon(a_table(2, 1), [priced, replace(ONE, engine="codex")], 4_000)
    assert (both.cost_usd, both.unpriced) == (0.1, ("codex",))
    assert "about $0.10, and unknown for codex" in forecast_text(both)
    assert "cost unknown (claude told none)" in forecast_text(reckon(a_table(), [ONE] * 2, 1))
    all_priced = forecast_text(reckon(a_table(2, 1), [priced] * 2, 4_000))
    assert "about $0.20; reckoned with answers of 940 characters" in all_priced


@pytest.mark.parametrize("order", ORDERS)
def test_more_rounds_and_seats_never_send_less(order):
    sizes = [
        reckon(a_table(seats, rounds, order), [ONE] * seats, 4_000).chars
        for seats, rounds in ((2, 1), (2, 2), (3, 2), (3, 3))
    ]
    assert sizes == sorted(sizes)
