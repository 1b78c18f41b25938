"""Vectors held in memory: found exactly, by scope, and gone when they are dropped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.memory.shelf import BLOCK, Shelf

DIM = 48


def vectors(count: int, seed: int = 1) -> np.ndarray:
    made = np.random.default_rng(seed).standard_normal((count, DIM)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def test_the_nearest_of_some_scopes_as_float32_has_them():
    made = vectors(20_000)
    shelf = Shelf(DIM)
    for scope in range(1, 41):
        ids = range(scope, 20_001, 40)
        shelf.put(scope, list(ids), made[np.array(ids) - 1])
    query = vectors(1, seed=2)[0]
    allowed = (3, 7, 40)
    found, cosines = shelf.find(query, allowed, 50)
    exact = made @ query
    theirs = [i for i in range(1, 20_001) if (i - 1) % 40 + 1 in allowed]
    best = sorted(theirs, key=lambda i: -exact[i - 1])[:50]
    assert len(set(best) & set(found)) >= 48  # eight bits: the last ones may differ
    assert list(found[:5]) == best[:5]
    assert np.abs(cosines - exact[found - 1]).max() < 0.005
    assert list(cosines) == sorted(cosines, reverse=True)


def test_a_scope_that_is_not_asked_for_is_never_searched_even_if_it_is_nearest():
    shelf = Shelf(DIM)
    made = vectors(2)
    shelf.put(1, [1], made[:1])
    shelf.put(2, [2], made[1:])
    found, _ = shelf.find(made[1], (1,), 10)
    assert list(found) == [1]
    assert list(shelf.find(made[1], (), 10)[0]) == []
    assert list(shelf.find(made[1], (9,), 10)[0]) == []


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "drop", "forget"]), st.integers(1, 3), st.integers(0, 9)),
        max_size=30,
    )
)
def test_what_is_dropped_is_not_found_and_what_is_put_is(steps):
    made = vectors(10)
    shelf, held = Shelf(DIM), dict[int, set[int]]()
    for what, scope, item in steps:
        there = held.setdefault(scope, set())
        if what == "put" and item not in there:
            shelf.put(scope, [item], made[item : item + 1])
            there.add(item)
        elif what == "drop":
            shelf.drop(scope, [item, 77])
            there.discard(item)
        elif what == "forget":
            shelf.forget(scope)
            there.clear()
    for scope, there in held.items():
        assert set(shelf.find(made[0], (scope,), 99)[0]) == there
        assert shelf.count((scope,)) == len(there)


def test_memory_is_given_back_and_holds_nothing_of_what_was_dropped():
    shelf = Shelf(DIM)
    made = vectors(3 * BLOCK)
    shelf.put(1, range(2 * BLOCK), made[: 2 * BLOCK])
    shelf.put(2, range(BLOCK), made[2 * BLOCK :])
    full = shelf.size_bytes
    shelf.forget(1)
    assert shelf.size_bytes == pytest.approx(full / 3, rel=0.01)
    shelf.drop(2, range(BLOCK - 5))
    assert shelf.size_bytes < full / 100
    assert len(shelf.find(made[0], (2,), 99)[0]) == 5
