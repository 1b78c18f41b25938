"""What Moot says of a roundtable: states, its own count, its own summary."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.discord.render import render as render_discord
from core.minutes import (
    cut_short,
    failed_text,
    header_text,
    held_text,
    missing_text,
    plain_summary,
    stands,
    votes_text,
)
from core.model import Forecast, Participant, Pull, Step
from tests.unit.test_table import SUMS_UP, A, B, a_run, a_table, said

BOTH = (said(A, "agree"), said(B, "disagree"))


def ended(turn, state="done"):
    return replace(turn, state=state)


def test_the_count_is_of_positions_and_names_who_gave_none():
    turn = ended(a_table(3, 1, synthesizer=SUMS_UP))
    text = votes_text(turn, [*BOTH, said(Step(0, 2))])
    assert "| architect (claude) | agrees | 100% | s |" in text
    assert "| codex | disagrees | 100% | s |" in text
    assert "| critic (gemini) | gave none |  |  |" in text
    assert "1 agree, 1 disagree, 0 abstain, 1 gave no position." in text
    assert "Missing" not in text


def test_a_later_position_replaces_an_earlier_one_also_when_the_last_round_brought_none():
    turn = ended(a_table(2, 2))
    text = votes_text(turn, [*BOTH, said(Step(1, 0)), said(Step(1, 1), "agree")])
    assert "2 agree, 0 disagree, 0 abstain." in text


def test_somebodys_summary_is_no_markup_of_ours():
    nasty = replace(BOTH[0], position='{"stance": "agree", "summary": "a | b **c** <@U1>"}')
    text = votes_text(ended(a_table(2, 1)), [nasty, BOTH[1]])
    assert r"a \| b \*\*c\*\* \<@U1\>" in text


def test_who_was_missing_when_and_why():
    gone = replace(a_run(B, "failed"), outcome="missing-binary")
    runs = [said(A), gone, a_run(Step(0, 2), "skipped"), said(Step(1, 0)), said(Step(1, 2))]
    text = missing_text(ended(a_table(3, 2)), runs)
    assert text == (
        "codex in round 1 (missing-binary), codex in round 2 (sat out), "
        "critic (gemini) in round 1 (skipped)"
    )


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ([said(A, "agree"), said(B, "agree")], "agreed"),
        ([*BOTH], "cap"),
        ([said(A, "agree")], "cap"),
        ([said(A, "agree"), said(B, "agree"), said(Step(1, 0))], "cap"),
        ([*BOTH, said(Step(1, 0)), said(Step(1, 1))], ""),
    ],
)
def test_why_rounds_were_left_out(runs, why):
    assert cut_short(a_table(2, 2), runs) == why


def test_a_question_that_was_not_looked_up_any_more_is_missing():
    turn = ended(a_table(2, 1, cap_chars=9_000))
    asks = replace(said(B), pulls=(Pull("memory", "why"),))
    assert cut_short(turn, [said(A), asks]) == "cap"
    assert "· partial ·" in header_text(turn, [said(A), asks])
    assert cut_short(turn, [said(A), asks, said(Step(0, 1, 1))]) == ""


def test_the_header_says_how_it_ended_and_where_the_synthesis_is():
    turn = ended(a_table(2, 2, synthesizer=SUMS_UP))
    runs = [said(A, "agree", chars=900), said(B, "agree", chars=100), said(turn.synthesis)]
    text = header_text(turn, runs, 12)
    assert text.startswith("**Roundtable** · complete ·")
    assert "- Round 2: left out, all agreed" in text
    assert "- Synthesis: ✅ synthesizer (codex) · message #12, at the end of this thread" in text
    assert "sent: 3 calls, 1,000 characters" in text
    linked = header_text(replace(turn, synthesis_link="https://chat.test/12"), runs, 12)
    assert "· [message #12](https://chat.test/12), at the end" in linked
    assert header_text(turn, runs[:2]).startswith("**Roundtable** · partial ·")


def test_the_header_of_a_large_table_still_is_one_post():
    seats = tuple(Participant("opencode", f"security-reviewer-{n}") for n in range(8))
    forecast = Forecast(41, 9_000_000, 2_000_000, 0.0, ("opencode",), 100_000)
    turn = replace(
        a_table(2, 5, synthesizer=SUMS_UP, cap_chars=9_999_999),
        seats=seats,
        prompt="*_`~[]<>|#" * 40,
        forecast=forecast,
    )
    runs = [said(Step(n, seat), chars=99_999) for n in range(4) for seat in range(8)]
    text = header_text(turn, runs, 123_456)
    [post] = render_discord(text)
    assert len(post) <= 2_000
    assert "security-reviewer-7 (opencode)\n" in text
    assert "- Round 4: ✅ ✅ ✅ ✅ ✅ ✅ ✅ ✅\n" in text
    assert "budget 9,999,999" in text


def test_silence_is_no_voice_and_no_summary():
    turn = ended(a_table(2, 1, synthesizer=SUMS_UP))
    silent = replace(a_run(B), outcome="empty")
    text = header_text(turn, [said(A, "agree"), silent, said(turn.synthesis)])
    assert "✅ architect (claude), ⚠️ codex" in text
    only_a_block = replace(a_run(turn.synthesis), answer="<!-- position agree -->")
    assert "· partial ·" in header_text(turn, [*BOTH, only_a_block])


def test_the_header_shows_who_sums_up_while_it_does():
    turn = a_table(2, 1, synthesizer=Participant("", "synthesizer"))
    runs = [*BOTH, a_run(turn.synthesis, "open")]
    text = header_text(turn, runs)
    assert "· summing up ·" in text
    assert "- Synthesis: 💬 synthesizer (claude)" in text
    assert "sent so far: 3 calls" in text


def test_what_asks_says_how_much_and_what_to_do():
    forecast = Forecast(7, 91_000, 22_750, 0.0, ("claude",), 1_500)
    turn = replace(a_table(cap_chars=50_000), state="held", forecast=forecast)
    text = held_text(turn, forecast)
    assert "Forecast: up to" in text
    assert "no Pulls" in text
    assert "budget of 50,000 characters" in text
    assert "up to 7 calls, 91,000 characters, about 22,750 tokens" in text
    assert "cost unknown (claude told none)" in text
    assert "waits for your word" in header_text(turn, ())


def test_our_own_summary_repeats_the_last_words_and_says_that_it_is_ours():
    turn = ended(a_table(3, 2))
    first, last = said(A, id="r1"), said(Step(1, 0), id="r2")
    texts = {"r1": "SQL.", "r2": "Files\nthen **#1**"}
    text = plain_summary(turn, [first, last], texts, "nobody summed up (quota)")
    assert "**Summary by Moot**, since nobody summed up (quota)." in text
    assert r"- architect (claude), round 2: Files then \*\*\#1\*\*" in text
    assert "- codex: no answer" in text


def test_the_one_who_sums_up_is_told_where_everybody_stands():
    assert stands(a_table(3, 1), BOTH) == (
        "architect (claude): agree (confidence 100%): s",
        "codex: disagree (confidence 100%): s",
        "critic (gemini): gave no position",
    )


def test_a_failure_of_all_names_each_with_its_reason():
    runs = [replace(a_run(step, "failed"), outcome="quota") for step in (A, B)]
    text = failed_text(ended(a_table(2, 1), "failed"), runs)
    assert "nobody gave an answer. architect (claude) in round 1 (quota), codex in round 1" in text
