"""Who speaks next (core.table): tables of values, then the laws over any course of events."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.model import (
    ORDERS,
    Message,
    Participant,
    Pull,
    Run,
    RunState,
    Step,
    TableRules,
    Turn,
)
from core.table import (
    MAX_ATTEMPTS,
    agreed,
    next_steps,
    positions,
    speaker,
    unread,
)

SEATS = (Participant("claude", "architect"), Participant("codex"), Participant("gemini", "critic"))
PULLS = (Pull("memory", "why JWT"),)


def a_turn(
    seats: int = 1,
    rounds: int = 1,
    kind: str = "ask",
    state: str = "running",
    rules: TableRules = TableRules(),  # noqa: B008 - frozen
) -> Turn:
    return Turn(
        id=1,
        conversation_id=1,
        kind=kind,
        prompt="why?",
        prompt_message_id=1,
        asker="slack:U1",
        seats=SEATS[:seats],
        rounds=rounds,
        state=state,
        rules=rules,
    )


def a_table(seats: int = 2, rounds: int = 2, order: str = "parallel", **rules) -> Turn:
    rules.setdefault("synthesizer", None)
    return a_turn(seats, rounds, "roundtable", rules=TableRules(order=order, **rules))


def said(step: Step, stance: str = "", **more) -> Run:
    """An answer, with a position at its end."""
    position = f'{{"stance": "{stance}", "summary": "s", "confidence": 1.0}}' if stance else ""
    return replace(a_run(step), answer="words", position=position, **more)


def a_run(
    step: Step, state: RunState = "answered", *, attempt: int = 1, pulls=(), can_write=False
) -> Run:
    return Run(
        id=f"{step}-{attempt}",
        turn_id=1,
        step=step,
        state=state,
        attempt=attempt,
        pulls=pulls,
        can_write=can_write,
    )


A, B = Step(0, 0), Step(0, 1)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([], (A,)),
        ([a_run(A)], ()),
        ([a_run(A, "failed")], ()),
        ([a_run(A, "cancelled")], ()),
        ([a_run(A, pulls=PULLS)], (Step(0, 0, 1),)),
        ([a_run(A, pulls=PULLS), a_run(Step(0, 0, 1))], ()),
        ([a_run(A, pulls=PULLS), a_run(Step(0, 0, 1), pulls=PULLS)], (Step(0, 0, 2),)),
        ([a_run(Step(0, 0, h), pulls=PULLS) for h in range(3)], ()),
        ([a_run(A, "failed", pulls=PULLS)], ()),
        ([a_run(A, pulls=PULLS), a_run(Step(0, 0, 1), "failed")], ()),
        ([a_run(A, "cut")], (A,)),
        ([a_run(A, "open")], (A,)),
        ([a_run(A, "cut", can_write=True)], ()),
        ([a_run(A, "cut"), a_run(A, "cut", attempt=2)], ()),
        ([a_run(A, "cut"), a_run(A, "cut")], ()),
        ([a_run(A, attempt=2), a_run(A, "cut")], ()),
        ([a_run(A, pulls=PULLS), a_run(Step(0, 0, 1), "cut")], (Step(0, 0, 1),)),
    ],
)
def test_a_mention(runs, expected):
    assert next_steps(a_turn(), runs) == expected


def test_a_mention_has_one_round_whatever_its_row_says():
    assert next_steps(a_turn(rounds=3), [a_run(A)]) == ()


@pytest.mark.parametrize("state", ["held", "done", "failed", "cancelled"])
def test_a_turn_that_is_over_has_no_next_step(state):
    assert next_steps(a_turn(3, 2, "roundtable", state), []) == ()


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([], Step(0, 0)),
        ([a_run(A)], B),
        ([a_run(A), a_run(B, "failed")], Step(0, 2)),
        ([a_run(A), a_run(B, pulls=PULLS)], Step(0, 1, 1)),
        ([a_run(A), a_run(B, "cut", can_write=True)], Step(0, 2)),
        ([a_run(Step(0, s)) for s in range(3)], Step(1, 0)),
    ],
)
def test_a_roundtable_goes_on_at_the_right_seat(runs, expected):
    assert next_steps(a_turn(3, 2, "roundtable"), runs) == (expected,)


@pytest.mark.parametrize("outcome", ["missing-binary", "auth", "bad-config", "bad-model"])
def test_a_seat_that_cannot_speak_is_not_asked_again(outcome):
    turn = a_turn(2, 3, "roundtable")
    lasting = replace(a_run(A, "failed"), outcome=outcome)
    assert next_steps(turn, [lasting]) == (B,)
    assert next_steps(turn, [lasting, a_run(B)]) == (Step(1, 1),)
    passing = replace(lasting, outcome="overloaded")
    assert next_steps(turn, [passing, a_run(B)]) == (Step(1, 0),)


def test_a_table_where_nobody_can_speak_is_over():
    missing = [replace(a_run(step, "failed"), outcome="missing-binary") for step in (A, B)]
    assert next_steps(a_turn(2, 3, "roundtable"), missing) == ()


def test_max_hops_can_be_set():
    runs = [a_run(A, pulls=PULLS)]
    assert next_steps(a_turn(), runs, max_hops=0) == ()
    assert next_steps(a_turn(), runs, max_hops=1) == (Step(0, 0, 1),)


# --- orders ------------------------------------------------------------------------------

FIRST, SECOND = (Step(0, 0), Step(0, 1)), (Step(1, 0), Step(1, 1))


@pytest.mark.parametrize("order", ["parallel", "blind"])
@pytest.mark.parametrize(
    ("runs", "running", "expected"),
    [
        ([], (), FIRST),
        ([], (A,), (B,)),
        ([], (A, B), ()),
        ([a_run(A)], (), (B,)),
        ([a_run(A)], (B,), ()),  # the next round begins when this one is over
        ([a_run(A, pulls=PULLS)], (B,), (Step(0, 0, 1),)),
        ([a_run(A, pulls=PULLS)], (Step(0, 0, 1), B), ()),
        ([a_run(A), a_run(B, "failed")], (), SECOND),
        ([a_run(A), a_run(B, "cut")], (), (B,)),
        ([a_run(A), a_run(B, "skipped")], (), SECOND),
        # An open run that is not running belongs to an earlier life; one that runs is left alone.
        ([a_run(A, "open"), a_run(B)], (), (A,)),
        ([a_run(A, "open"), a_run(B)], (A,), ()),
        ([a_run(A, "cut"), a_run(A, "open", attempt=2), a_run(B)], (A,), ()),
    ],
)
def test_a_round_at_once(order, runs, running, expected):
    turn = a_table(order=order)
    assert next_steps(turn, runs, running=running) == expected


def test_one_after_the_other_waits_for_the_one_who_speaks():
    turn = a_table(order="sequential")
    assert next_steps(turn, [], running=(A,)) == ()
    assert next_steps(turn, [a_run(A, "skipped")]) == (B,)


def test_blocks_that_do_not_parse_are_told_back_once():
    turn = a_turn()
    fault = replace(a_run(A), faults=("position: no JSON",))
    again = replace(a_run(Step(0, 0, 1)), faults=("position: still none",))
    assert next_steps(turn, [fault]) == (Step(0, 0, 1),)
    assert next_steps(turn, [fault, again]) == ()
    assert next_steps(turn, [fault, replace(again, pulls=PULLS)]) == (Step(0, 0, 2),)
    assert next_steps(turn, [fault], max_hops=0) == ()


# --- its end -----------------------------------------------------------------------------

SUMS_UP = Participant("codex", "synthesizer")


@pytest.mark.parametrize(
    ("stances", "expected"),
    [
        (("agree", "agree"), True),
        (("agree", "disagree"), False),
        (("agree", "abstain"), False),
        (("agree", ""), False),
    ],
)
def test_the_rest_is_left_out_when_all_agree(stances, expected):
    turn = a_table(synthesizer=SUMS_UP)
    runs = [said(step, stance) for step, stance in zip(FIRST, stances, strict=True)]
    assert agreed(turn, runs, 0) is expected
    assert next_steps(turn, runs) == ((turn.synthesis,) if expected else SECOND)
    stays = replace(turn, rules=replace(turn.rules, early_stop=False))
    assert next_steps(stays, runs) == SECOND


def test_those_who_are_missing_do_not_hinder_but_one_voice_is_no_agreement():
    turn = a_table(3)
    both = [said(A, "agree"), said(B, "agree"), a_run(Step(0, 2), "failed")]
    assert next_steps(turn, both) == ()
    alone = [said(A, "agree"), a_run(B, "failed"), a_run(Step(0, 2), "failed")]
    assert next_steps(turn, alone) == (Step(1, 0), Step(1, 1), Step(1, 2))


def test_the_last_hop_of_a_chain_says_where_a_seat_stands():
    first = said(A, "disagree", pulls=PULLS)
    runs = [first, said(Step(0, 0, 1), "agree"), said(B, "agree")]
    assert positions(a_table(), runs)[0].stance == "agree"
    assert next_steps(a_table(), runs) == ()


def a_message(id_: int, kind: str = "human") -> Message:
    return Message(id_, "", "slack:U2", "Lee", kind, "but what about X?", 1.0)


def test_a_person_whom_nobody_has_read_is_heard_before_an_early_end():
    turn = a_table(order="sequential")
    runs = [said(A, "agree", read_to=5), said(B, "agree", read_to=7)]
    assert next_steps(turn, runs, [a_message(6)]) == ()
    assert unread(turn, runs, [a_message(8)])
    assert next_steps(turn, runs, [a_message(8)]) == (Step(1, 0),)
    # The round that began for this is held to its end, although the message is read by then.
    heard = [*runs, said(Step(1, 0), "disagree", read_to=8)]
    assert next_steps(turn, heard, [a_message(8)]) == (Step(1, 1),)
    assert next_steps(turn, runs, [a_message(8, "bot")]) == ()


def test_a_table_ends_at_its_cap_with_what_there_is():
    turn = a_table(order="sequential", cap_chars=50, synthesizer=SUMS_UP)
    one = said(A, chars=20)
    assert next_steps(turn, [one]) == (turn.synthesis,)  # 20 + another + the synthesis is more
    roomy = replace(turn, rules=replace(turn.rules, cap_chars=60))
    assert next_steps(roomy, [one]) == (B,)
    lifted = replace(turn, rules=replace(turn.rules, confirmed=True))
    assert next_steps(lifted, [one]) == (B,)


def test_a_round_at_once_begins_whole_or_not_at_all():
    turn = a_table(cap_chars=70)
    runs = [said(step, chars=20) for step in FIRST]
    assert next_steps(turn, runs) == ()
    assert next_steps(replace(turn, rules=replace(turn.rules, cap_chars=80)), runs) == SECOND


def test_the_synthesis_comes_last_and_once():
    turn = a_table(rounds=1, synthesizer=SUMS_UP)
    runs = [said(step) for step in FIRST]
    assert next_steps(turn, runs[:1], running=(B,)) == ()
    assert next_steps(turn, runs) == (turn.synthesis,)
    for state in ("answered", "failed", "skipped"):
        assert next_steps(turn, [*runs, a_run(turn.synthesis, state)]) == ()
    assert next_steps(turn, [*runs, a_run(turn.synthesis, "cut")]) == (turn.synthesis,)


def test_nothing_is_summed_up_where_nobody_spoke():
    turn = a_table(rounds=1, synthesizer=SUMS_UP)
    assert next_steps(turn, [a_run(A, "failed"), a_run(B, "skipped")]) == ()


def test_a_synthesizer_without_an_engine_has_that_of_the_first_who_spoke():
    turn = a_table(rounds=1, synthesizer=Participant("", "synthesizer"))
    runs = [a_run(A, "failed"), said(B)]
    assert speaker(turn, turn.synthesis, runs) == Participant("codex", "synthesizer")
    assert speaker(turn, turn.synthesis, ()) == Participant("claude", "synthesizer")
    assert speaker(turn, A, runs) == SEATS[0]


# --- the laws ----------------------------------------------------------------------------

fates = st.tuples(
    st.sampled_from(["answered", "answered", "failed", "cancelled", "cut", "open"]),
    st.booleans(),
    st.booleans(),
)


def play(turn: Turn, fates_: list, max_hops: int, runs: list[Run] | None = None) -> list[Run]:
    """Run the turn to its end; each run meets the next fate (all answered when they run out)."""
    runs = list(runs or [])
    while steps := next_steps(turn, runs, max_hops=max_hops):
        assert len({(step.round, step.seat) for step in steps}) == len(steps)
        if turn.rules.order == "sequential":
            assert len(steps) == 1
        for step in steps:
            state, pulls, can_write = (
                fates_[len(runs)] if len(runs) < len(fates_) else ("answered", False, False)
            )
            attempt = 1 + sum(r.step == step for r in runs)
            pulled = PULLS if pulls else ()
            run = a_run(step, state, attempt=attempt, pulls=pulled, can_write=can_write)
            runs.append(replace(run, answer="words"))
        summing_up = turn.rules.synthesizer is not None
        places = len(turn.seats) * turn.rounds + summing_up
        assert len(runs) <= places * (max_hops + 1) * MAX_ATTEMPTS
    return runs


@given(st.integers(1, 3), st.integers(1, 5), st.lists(fates, max_size=60), st.integers(0, 3))
def test_every_seat_speaks_once_a_round_in_order_and_it_ends(seats, rounds, fates_, max_hops):
    turn = a_turn(seats, rounds, "roundtable")
    runs = play(turn, fates_, max_hops)
    places = list(dict.fromkeys((r.step.round, r.step.seat) for r in runs))
    assert places == list(product(range(rounds), range(seats)))
    steps = [r.step for r in runs]
    assert steps == sorted(steps, key=lambda s: (s.round, s.seat, s.hop))
    assert max(s.hop for s in steps) <= max_hops
    for run in runs:
        if run.state == "answered":
            assert sum(r.step == run.step and r.state == "answered" for r in runs) == 1
        if run.can_write and run.state in ("cut", "open"):
            assert [r for r in runs if r.step == run.step][-1] is run


@given(st.lists(fates, max_size=30), st.integers(0, 2), st.data())
@settings(max_examples=60)
def test_a_restart_at_any_point_goes_on_the_same(fates_, max_hops, data):
    turn = a_turn(3, 2, "roundtable")
    whole = play(turn, fates_, max_hops)
    stop = data.draw(st.integers(0, len(whole)))
    shuffled = data.draw(st.permutations(whole[:stop]))
    swept = [replace(r, state="cut") if r.state == "open" else r for r in shuffled]
    resumed = next_steps(turn, swept, max_hops=max_hops)
    assert resumed == ((whole[stop].step,) if stop < len(whole) else ())


STATES = st.sampled_from(["answered", "failed", "cancelled", "skipped", "cut", "open"])
any_run = st.builds(
    lambda round_, seat, hop, state, attempt, stance, chars, more: replace(
        said(Step(round_, seat, hop), stance, chars=chars),
        state=state,
        attempt=attempt,
        pulls=PULLS if more else (),
    ),
    st.integers(0, 5),
    st.integers(0, 3),
    st.integers(0, 3),
    STATES,
    st.integers(1, 3),
    st.sampled_from(["", "agree", "disagree"]),
    st.integers(0, 100),
    st.booleans(),
)
any_table = st.builds(
    lambda seats, rounds, order, early_stop, sums_up, cap: a_table(
        seats,
        rounds,
        order,
        early_stop=early_stop,
        synthesizer=SUMS_UP if sums_up else None,
        cap_chars=cap,
    ),
    st.integers(1, 3),
    st.integers(1, 5),
    st.sampled_from(ORDERS),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 0, 50, 500]),
)


@given(any_table, st.lists(any_run, max_size=12), st.lists(fates, max_size=40), st.integers(0, 3))
def test_whatever_the_rows_say_it_ends(turn, history, fates_, max_hops):
    played = play_on(turn, history, fates_, max_hops)
    assert next_steps(turn, played, max_hops=max_hops) == ()


def play_on(turn: Turn, history: list[Run], fates_: list, max_hops: int) -> list[Run]:
    """``play`` from rows that may be any: also such as no course of events leaves."""
    runs = list(history)
    made = 0
    while steps := next_steps(turn, runs, max_hops=max_hops):
        here = {(step.round, step.seat) for step in steps}
        assert len(here) == len(steps)
        assert len({round_ for round_, _ in here}) == 1
        for step in steps:
            state, pulls, can_write = fates_[made] if made < len(fates_) else ("answered", 0, 0)
            made += 1
            attempt = 1 + max((r.attempt for r in runs if r.step == step), default=0)
            run = a_run(
                step,
                state,
                attempt=attempt,
                pulls=PULLS if pulls else (),
                can_write=bool(can_write),
            )
            runs.append(replace(run, answer="words", chars=10))
        assert made <= (len(turn.seats) * turn.rounds + 1) * (max_hops + 1) * MAX_ATTEMPTS
    return runs


@given(any_table, st.lists(any_run, max_size=12), st.data())
def test_what_runs_is_never_begun_again_and_nothing_overtakes_it(turn, history, data):
    steps = next_steps(turn, history)
    running = data.draw(st.sets(st.sampled_from(steps)) if steps else st.just(set()))
    more = next_steps(turn, history, running=running)
    assert not {(s.round, s.seat) for s in more} & {(s.round, s.seat) for s in running}
    if running:
        assert {s.round for s in more} <= {s.round for s in running}
        if turn.rules.order == "sequential":
            assert more == ()
