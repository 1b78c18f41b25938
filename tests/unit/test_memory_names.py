"""Who is named in a question."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.memory.names import forms, named, without

PEOPLE = {
    "caroline": ("Caroline",),
    "mel": ("Melanie Kim",),
    "minsu": ("김민수",),
    "other minsu": ("이민수",),
    "minji": ("박민지 (Minji Park)",),
    "tanaka": ("田中太郎", "田中"),
    "ivan": ("Иван Петров",),
    "ann": ("Ann Lee | Design",),
    "bot": ("Deploy Bot",),
    "will": ("Will Grey",),
    "dot": ("jane.doe",),
}


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ("What did Caroline's sister say?", {"caroline"}),
        ("what did caroline say", {"caroline"}),
        ("ask @Caroline about it", {"caroline"}),
        ("two carolines", set()),
        ("melanie kim's dog", {"mel"}),
        ("Kim?", {"mel"}),  # the others are Kim in another script
        ("김민수님이 말한 배포", {"minsu"}),
        ("김민수가 뭐라고 했지", {"minsu"}),
        ("민수가 뭐라고 했지", set()),  # there are two
        ("민수 말고 이민수는?", {"other minsu"}),
        ("민지한테 들은 이야기", {"minji"}),
        ("Minji said what?", {"minji"}),
        ("민지역의 배포", set()),
        ("田中さんは何と言った", {"tanaka"}),
        ("что сказал Иван?", {"ivan"}),
        ("what did Ann decide about design", {"ann"}),
        ("how do we deploy?", set()),
        ("what did Deploy Bot post", {"bot"}),
        ("will it rain", set()),
        ("Will it rain", set()),
        ("what did Will say", {"will"}),
        ("jane.doe wrote", {"dot"}),
        ("jane wrote", {"dot"}),
        ("Caroline and Melanie", {"caroline", "mel"}),
        ("", set()),
    ],
)
def test_who_is_named(question, keys):
    assert named(question, PEOPLE) == keys


def test_a_name_of_several_people_names_all_of_them_where_doubt_is_allowed():
    assert named("민수가 뭐라고 했지", PEOPLE, doubtful=True) == {"minsu", "other minsu"}


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("What did Caroline's sister say?", "What did sister say?"),
        ("김민수님이 말한 배포", "말한 배포"),
        ("how do we deploy with @Caroline", "how do we deploy with"),
        ("田中さんは何と言った", "は何と言った"),
        ("nobody here", "nobody here"),
    ],
)
def test_a_question_without_names(question, left):
    assert without(question, [name for names in PEOPLE.values() for name in names]) == left


@given(st.text(max_size=60), st.text(max_size=20))
def test_any_name_and_any_question_are_taken(question, name):
    keys = named(question, {"x": (name,)})
    assert keys <= {"x"}
    assert len(without(question, [name])) <= len(question)
    for form in forms(name):
        assert form == form.strip()


@given(st.from_regex(r"[A-Z][b-y]{4,9}x", fullmatch=True))
def test_a_name_is_found_by_itself_and_taken_out(name):
    assert named(f"what did {name} say", {"x": (name,)}) == {"x"}
    assert without(f"what did {name} say", [name]) == "what did say"


@pytest.mark.parametrize(
    ("question", "name", "is_named"),
    [
        ("하나만 골라 줘", "하나", False),
        ("가을에 배포한 것", "가을", False),
        ("하나님이 뭐라고 했지", "하나", True),
        ("@하나 뭐라고 했지", "하나", True),
        ("김하나가 뭐라고 했지", "김하나", True),
        ("who has the keys", "the", False),
        ("why (and when) did x fail?", "(", False),
        ("why (and when) did x fail?", "x", False),
        ("가는 날", "가", False),
        ("#12 says what", "12", False),
    ],
)
def test_a_name_that_is_a_word_or_a_sign_names_nobody_by_itself(question, name, is_named):
    assert named(question, {"one": (name,)}) == (frozenset(("one",)) if is_named else frozenset())


@pytest.mark.parametrize("question", ["(" * 10_000, "Kim " * 2_500, "x\n" * 5_000, "@" * 10_000])
def test_a_question_of_names_alone_takes_no_longer_than_another(question):
    people = {name: (name,) for name in ("(", "Kim", "x", "@", "Kim (", "김")}
    began = time.process_time()
    named(question, people)
    without(question, people)
    assert time.process_time() - began < 1.0
