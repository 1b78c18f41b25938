"""A question that asks when, and what tells a time."""

from __future__ import annotations

import pytest

from core.memory.ranking import RECIPE, Ranked, timed
from core.memory.when import asked_in, tells


@pytest.mark.parametrize(
    ("question", "told", "other"),
    [
        ("When did we switch to NATS?", "We switched on Tuesday", "We switched to NATS"),
        ("배포는 무슨 요일에 했지?", "금요일 오후에 했어요", "배포는 끝났어요"),
        ("언제 옮겼어?", "We moved it in March", "We moved it"),
        ("いつリリースしましたか", "昨日リリースしました", "リリースしました"),
        ("什么时候上线的", "昨天上线了", "已经上线了"),
        ("kapan rilis terakhir?", "rilis kemarin sore", "rilis sudah selesai"),
        ("¿Cuándo fue la caída?", "fue el lunes", "fue la base de datos"),
        ("Wann war der Ausfall?", "gestern um 14:30", "der Ausfall war kurz"),
    ],
)
def test_who_asks_when_is_told_by_what_names_a_time(question, told, other):
    tongue = asked_in(question)
    assert tongue is not None
    assert tells(told, tongue)
    assert not tells(other, tongue)


@pytest.mark.parametrize(
    "question",
    ["What did she say when I left?", "いつもの店はどこ", "배포는 누가 했어?", "why?", ""],
)
def test_who_does_not_ask_when_is_told_anything(question):
    assert asked_in(question) is None


def test_the_bonus_is_lessened_by_what_people_marked():
    ranked = [Ranked(1, 0.9), Ranked(2, 0.8), Ranked(3, 0.8, {"wrong": 0.1})]
    again = timed(ranked, {2, 3}, RECIPE)
    assert [one.id for one in again] == [2, 1, 3]
    assert again[2].score == pytest.approx(0.8 + 0.1 * RECIPE.when)
    assert again[0].why["when"] == RECIPE.when
