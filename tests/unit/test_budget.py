"""Water-filling (core.context.budget): awkward tables first, then its laws."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from core.context.budget import Want, allocate


def want(name: str, need: int, low: int = 500, high: int = 4000, weight: float = 1.0) -> Want:
    return Want(name, need, low, high, weight)


@pytest.mark.parametrize(
    ("total", "wants", "sizes"),
    [
        (1000, [], ()),
        (0, [want("a", 100)], (0,)),
        (-5, [want("a", 100)], (0,)),
        (1000, [want("a", 0)], (0,)),
        (1000, [want("a", 100)], (100,)),
        (10_000, [want("a", 9000)], (4000,)),
        (1000, [want("a", 9000), want("b", 9000)], (500, 500)),
        (999, [want("a", 9000), want("b", 9000)], (999, 0)),
        (999, [want("b", 9000), want("a", 9000)], (0, 999)),
        (999, [want("a", 9000, weight=0.6), want("b", 9000)], (0, 999)),
        (400, [want("a", 9000), want("b", 300, weight=0.5)], (0, 0)),
        (3000, [want("a", 9000, weight=2.0), want("b", 9000)], (1833, 1166)),
        # What b cannot use flows to the others by weight.
        (4000, [want("a", 9000, weight=2.0), want("b", 600), want("c", 9000)], (2100, 600, 1300)),
        (9000, [want("a", 9000, high=2000), want("b", 9000)], (2000, 4000)),
    ],
)
def test_a_table(total, wants, sizes):
    assert allocate(total, wants) == sizes


names = st.sampled_from(["plan", "plan-doc", "findings", "artifacts", "code", "graph", "cross"])
one = st.builds(
    Want,
    name=names,
    need=st.integers(0, 20_000),
    min_chars=st.integers(0, 1000),
    max_chars=st.integers(1000, 6000),
    weight=st.sampled_from([0.6, 0.8, 1.0, 1.2, 2.0]),
)
several = st.lists(one, max_size=7, unique_by=lambda w: w.name)
totals = st.integers(0, 60_000)


def fits(total: int, wants: list[Want]) -> bool:
    return sum(min(w.need, w.min_chars) for w in wants) <= total


@given(totals, several)
def test_never_above_the_total_the_need_or_the_maximum(total, wants):
    sizes = allocate(total, wants)
    assert sum(sizes) <= max(total, 0)
    for size, w in zip(sizes, wants, strict=True):
        assert 0 <= size <= min(w.need, w.max_chars)
        assert size == 0 or size >= min(w.need, w.min_chars)


@given(totals, several, st.randoms(use_true_random=False))
def test_the_order_does_not_matter(total, wants, random):
    before = dict(zip((w.name for w in wants), allocate(total, wants), strict=True))
    mixed = list(wants)
    random.shuffle(mixed)
    assert dict(zip((w.name for w in mixed), allocate(total, mixed), strict=True)) == before


@given(totals, several)
def test_nobody_is_left_short_while_budget_is_idle(total, wants):
    assume(fits(total, wants))
    sizes = allocate(total, wants)
    short = [w for s, w in zip(sizes, wants, strict=True) if s < min(w.need, w.max_chars)]
    if short:
        assert total - sum(sizes) <= len(wants)
    for size, w in zip(sizes, wants, strict=True):
        assert size >= min(w.need, w.min_chars)


@given(totals, st.integers(0, 5000), several)
def test_more_in_all_never_makes_a_section_smaller(total, more, wants):
    assume(fits(total, wants))
    less = allocate(total, wants)
    assert all(
        after >= before for before, after in zip(less, allocate(total + more, wants), strict=True)
    )


@given(totals, several)
@example(0, [Want("a", 1, 1, 1000, 0.6), Want("b", 1, 0, 1000, 0.8)])
def test_when_minimums_do_not_fit_the_lowest_weights_go_first_and_whole(total, wants):
    assume(not fits(total, wants))
    sizes = allocate(total, wants)
    # Nothing at all is a size, too, where no minimum is asked for.
    gone = [w for s, w in zip(sizes, wants, strict=True) if not s and min(w.need, w.min_chars)]
    kept = [w for s, w in zip(sizes, wants, strict=True) if s]
    assert gone
    assert all(k.weight >= g.weight for k in kept for g in gone)
    # No more was dropped than had to be: with the best of the dropped it would not fit.
    best = min(gone, key=lambda w: (-w.weight, w.name))
    assert not fits(total, [*kept, best])


@given(totals, several)
def test_in_proportion_to_the_weights_above_the_minimum(total, wants):
    sizes = allocate(total, wants)
    between = [
        ((s - min(w.need, w.min_chars)) / w.weight, w.weight)
        for s, w in zip(sizes, wants, strict=True)
        if min(w.need, w.min_chars) < s < min(w.need, w.max_chars)
    ]
    for level, weight in between:
        for other, other_weight in between:
            assert abs(level - other) <= 1 / weight + 1 / other_weight
