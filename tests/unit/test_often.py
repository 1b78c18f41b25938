"""Sliding windows: how much fits, and when more does."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bridge.often import Counter, Often, TooMuch, free_at
from core.model import Author

KIM = Author("U1", "Kim", grants=("slack:U1",))
GUS = Author("U2", "Gus", grants=("slack:U2",), trusted=False)


@pytest.mark.parametrize(
    ("asked", "most", "weight", "at"),
    [
        ([], 3, 1, 100.0),
        ([(90.0, 1), (95.0, 1)], 3, 1, 100.0),
        ([(90.0, 1), (95.0, 1), (99.0, 1)], 3, 1, 150.0),  # when the oldest is a minute old
        ([(40.0, 3)], 3, 1, 100.0),  # just over
        ([(90.0, 1), (95.0, 2)], 3, 2, 155.0),  # two must go for two
        ([(95.0, 1)], 3, 8, 155.0),  # a large table waits for an empty window, not for ever
        ([], 3, 8, 100.0),
        ([(99.0, 9)], 0, 1, 100.0),  # any number
    ],
)
def test_when_more_fits(asked, most, weight, at):
    assert free_at(asked, most, 60.0, weight, 100.0) == at


@settings(max_examples=60)
@example([(196.9277252310399, 1)], 1, 1)  # 196.9… + 60 - 60 is a little more than it was
@given(
    st.lists(st.tuples(st.floats(0, 200), st.integers(1, 8)), max_size=30).map(sorted),
    st.integers(1, 12),
    st.integers(1, 8),
)
def test_what_is_let_in_never_exceeds_the_window(asked, most, weight):
    now = 200.0
    ends = free_at(asked, most, 60.0, weight, now)
    inside = sum(count for at, count in asked if at + 60.0 > max(ends, now))
    assert inside + min(weight, most) <= most
    assert ends <= now + 60.0


def test_acts_are_counted_by_person_and_some_are_spared():
    counter = Counter(Often(acts_per_minute=2, unlimited=frozenset(("*",))))
    for _ in range(5):
        counter.act(KIM, "slack:U1")  # a member, and "*" is spared
    counter.act(GUS, "slack:U2")
    counter.act(GUS, "slack:U2")
    with pytest.raises(TooMuch, match="Gus, that was a lot"):
        counter.act(GUS, "slack:U2")
    counter.act(GUS, "slack:U3")
