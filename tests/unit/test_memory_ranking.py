"""One ranking of what keywords and vectors found; the very same is one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.memory.alike import folded, sameness
from core.memory.ranking import DAY_S, RECIPE, Asked, Candidate, rank

PLAIN = replace(RECIPE, sitting=0, beside=0, near_by=0)


def said(number: int, thread: int = 0, **more) -> Candidate:
    """A message of a thread of its own, unless it is said otherwise."""
    given = {"before": (), "author": "kim", "sent_at": float(number)} | more
    return Candidate(id=number, thread=thread or number, **given)


def order(candidates, recipe=RECIPE, asked=None, floor=0.0) -> list[int]:
    return [one.id for one in rank(candidates, recipe, asked or Asked(), floor)]


def test_words_and_meaning_are_blended_and_either_alone_will_do():
    both = [said(1, keyword=4.0), said(2, cosine=0.9), said(3, keyword=3.0, cosine=0.88)]
    assert order(both, floor=0.8)[0] == 3
    assert order([said(1, keyword=1.0), said(2, keyword=2.0)]) == [2, 1]
    assert order([said(1, cosine=0.8), said(2, cosine=0.9)], floor=0.8) == [2, 1]
    assert order([]) == []


def test_keywords_count_less_where_they_are_overlapping_pairs_and_all_without_vectors():
    words, meaning = said(1, keyword=4.0), said(2, keyword=0.2, cosine=0.9)
    both = [words, said(3, cosine=0.88), meaning]
    recipe = replace(PLAIN, keywords=0.6, pairs=0.4)
    assert order(both, recipe, Asked(pairs=0.0), 0.8)[0] == 1
    assert order(both, recipe, Asked(pairs=1.0), 0.8)[0] == 2
    [alone] = rank([words], recipe, Asked(pairs=1.0))
    assert alone.score == pytest.approx(1.0)


def test_the_only_near_one_is_near():
    [one] = rank([said(1, cosine=0.9)], PLAIN, Asked(), 0.9)
    assert one.score == pytest.approx(1.0)


def test_a_statement_lends_to_its_messages_as_much_as_the_recipe_says():
    recipe = replace(PLAIN, statements=0.3, topics=0.1)
    two = [said(1, keyword=1.0), said(2, keyword=0.8, stated=1.0), said(3, keyword=0.8)]
    assert order(two, recipe) == [2, 1, 3]
    assert order(two, replace(recipe, statements=0.0)) == [1, 3, 2]
    summed = [said(1, keyword=1.0), said(2, keyword=0.95, summed=1.0)]
    assert order(summed, recipe) == [2, 1]
    assert order(summed, replace(recipe, topics=0.0)) == [1, 2]


def test_an_answer_is_found_by_the_question_before_it():
    answer, other = said(2, 1, before=(1,), cosine=0.81), said(9, 7, cosine=0.82)
    asked = said(1, 1, keyword=5.0, cosine=0.9)
    assert order([asked, answer, other], floor=0.8) == [1, 2, 9]
    assert order([asked, answer, other], PLAIN, floor=0.8) == [1, 9, 2]


def test_what_was_said_hours_later_in_the_thread_is_another_sitting():
    recipe = replace(PLAIN, sitting=0.4)
    late = said(2, 1, sent_at=10 * 3_600.0, keyword=1.0)
    soon = said(3, 1, sent_at=60.0, keyword=1.0)
    assert order([said(1, 1, sent_at=0.0, keyword=5.0), late, soon], recipe) == [1, 3, 2]


def test_what_stands_beside_an_answer_by_chance_does_not_place_it_behind_another():
    recipe = replace(PLAIN, sitting=0.4)
    best, second = said(1, 1, keyword=5.0), said(2, 2, keyword=4.9)
    beside = [said(3, 1, keyword=0.1), said(4, 2, keyword=4.8)]
    assert order([best, second, *beside], recipe)[0] == 1


def test_bonuses_for_the_one_named_author_and_for_a_named_time_and_no_filter():
    two = [said(1, keyword=2.0), said(2, keyword=1.8, author="lee", sent_at=50 * DAY_S)]
    assert order(two, PLAIN) == [1, 2]
    assert order(two, PLAIN, Asked(authors={"lee"})) == [2, 1]
    assert order(two, PLAIN, Asked(authors={"lee", "kim"})) == [1, 2]
    assert order(two, PLAIN, Asked(times=[(50 * DAY_S, 51 * DAY_S)])) == [2, 1]
    assert order(two, PLAIN, Asked(times=[(48 * DAY_S, 49 * DAY_S)])) == [2, 1]  # a day later
    assert order(two, PLAIN, Asked(times=[(20 * DAY_S, 21 * DAY_S)])) == [1, 2]
    weak = [said(1, keyword=2.0), said(2, keyword=0.2, author="lee")]
    assert order(weak, PLAIN, Asked(authors={"lee"})) == [1, 2]


def test_age_counts_only_where_the_settings_say_so():
    two = [said(1, keyword=2.0, sent_at=0.0), said(2, keyword=1.8, sent_at=90 * DAY_S)]
    asked = Asked(now=100 * DAY_S)
    assert order(two, PLAIN, asked) == [1, 2]
    assert order(two, replace(PLAIN, half_life_days=30), asked) == [2, 1]


def test_what_people_marked_wrong_or_stale_comes_later_and_says_why():
    three = [said(1, keyword=2.0, marks={"wrong"}), said(2, keyword=1.9, marks={"stale"})]
    ranked = rank([*three, said(3, keyword=1.8)], PLAIN, Asked())
    assert [one.id for one in ranked] == [3, 2, 1]
    assert ranked[2].why["wrong"] == PLAIN.wrong
    assert ranked[1].why["stale"] == PLAIN.stale


def test_a_thread_does_not_fill_the_first_places_while_others_say_as_much():
    crowd = [said(n, 1, keyword=2.0 - n / 1_000) for n in range(1, 13)]
    others = [said(n, keyword=1.9) for n in (50, 51, 52)]
    first = order([*crowd, *others], PLAIN)[:9]
    assert {50, 51, 52} <= set(first)
    alone = order(crowd, PLAIN)
    assert sorted(alone) == list(range(1, 13))


_candidates = st.lists(
    st.builds(
        Candidate,
        id=st.integers(1, 60),
        thread=st.integers(1, 4),
        before=st.lists(st.integers(1, 60), max_size=2),
        author=st.sampled_from(["kim", "lee"]),
        sent_at=st.floats(0, 1e9),
        keyword=st.floats(0, 30),
        cosine=st.none() | st.floats(-1, 1),
        marks=st.sets(st.sampled_from(["wrong", "stale"])),
    ),
    max_size=30,
    unique_by=lambda one: one.id,
)


@given(_candidates, st.floats(-1, 1), st.randoms())
def test_everyone_has_one_place_whatever_the_order_they_come_in(candidates, floor, random):
    asked = Asked(authors={"kim"}, times=[(0.0, 5e8)], now=1e9)
    ranked = rank(candidates, RECIPE, asked, floor)
    assert sorted(one.id for one in ranked) == sorted(one.id for one in candidates)
    assert all(one.score >= 0 for one in ranked)
    shuffled = random.sample(candidates, len(candidates))
    assert [one.id for one in rank(shuffled, RECIPE, asked, floor)] == [one.id for one in ranked]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Guests may post.", "guests may post"),
        ("배포 가능", "배포  가능!"),
        ("hey, the port is 8080", "The port is 8080"),
        ("shipped ❤️", "shipped ❤"),
    ],
)
def test_the_very_same(one, other):
    assert sameness(one) == sameness(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("guests may post", "guests may not post"),
        ("배포 가능", "배포 불가"),
        ("build 41 failed", "build 42 failed"),
        ("the port is 80", "the port was 80"),
        ("ship on Friday", "ship on Friday?"),
        ("a > b", "a < b"),
        ("v1.2", "v12"),
        ("assign @kim", "assign @lee"),
        ("don't deploy", "do deploy"),
        ("👍", "👎"),
        ("release 42 ✅", "release 42 ❌"),
        ("release 42 :white_check_mark:", "release 42 :x:"),
        ("a timeout of .5", "a timeout of 5"),
        ("if (!ready) deploy()", "if (ready) deploy()"),
    ],
)
def test_c132_what_differs_in_a_word_or_sign_is_never_the_same(one, other):
    assert sameness(one) != sameness(other)


def test_the_newest_stands_for_the_same_of_one_person():
    said_of = [(3, "kim", "we ship"), (9, "kim", "We ship!"), (5, "lee", "we ship")]
    assert folded(said_of) == {9: (3,), 5: ()}


@given(st.text(max_size=40), st.sampled_from(["not", "no", "불가", "7", "<", "nicht"]))
def test_one_more_word_is_another_text(text, word):
    assert sameness(f"{text} {word}") != sameness(text)


_PIECES = ("the", "Hi", "port", "PORT.", "(port", "8080", ".5", "✅", "❤️", "\u00a0", "é", "e\u0301")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("U1", "U2")),
            st.lists(st.sampled_from(_PIECES) | st.text(max_size=3), max_size=3).map(" ".join),
        ),
        max_size=12,
    )
)
def test_what_is_the_same_is_told_once_whatever_its_beginning(said: list[tuple[str, str]]):
    groups: dict[object, list[int]] = {}
    for number, (author, text) in enumerate(said):
        groups.setdefault((author, sameness(text)), []).append(number)
    one = folded([(number, *each) for number, each in enumerate(said)])
    assert list(one.items()) == [(ids[-1], tuple(ids[:-1])) for ids in groups.values()]
