"""Who speaks next (core.table): tables of values, then the laws over any course of events."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.model import Participant, Pull, Run, RunState, Step, Turn
from core.table import MAX_ATTEMPTS, next_steps

SEATS = (Participant("claude", "architect"), Participant("codex"), Participant("gemini", "critic"))
PULLS = (Pull("memory", "why JWT"),)


def a_turn(seats: int = 1, rounds: int = 1, kind: str = "ask", state: str = "running") -> Turn:
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
    )


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


@pytest.mark.parametrize("state", ["done", "failed", "cancelled"])
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
        (step,) = steps
        state, pulls, can_write = (
            fates_[len(runs)] if len(runs) < len(fates_) else ("answered", False, False)
        )
        attempt = 1 + sum(r.step == step for r in runs)
        runs.append(
            a_run(step, state, attempt=attempt, pulls=PULLS if pulls else (), can_write=can_write)
        )
        assert len(runs) <= len(turn.seats) * turn.rounds * (max_hops + 1) * MAX_ATTEMPTS
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
