"""Skills: read from text of any shape, chosen by name, words and dependencies, told in parts."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sources.fitting import Fit, says
from core.sources.skills import BadSkill, choose, fitting_parts, parse, split

QUEUE = """\
---
name: postgres-queue
description: Job queues in Postgres with SKIP LOCKED, when work must not be lost
keywords: [queue, 대기열]
dependencies: [psycopg]
---
# Postgres queue
How we do it.
## Retries and back-off
Retry with jitter; give up after 5.
## Vacuum
Autovacuum settings of the jobs table.
"""


def skill(text=QUEUE, **front):
    lines = [f"{key}: {value}" for key, value in front.items()]
    return parse("folder", "---\n" + "\n".join(lines) + "\n---\nbody" if front else text)


def chosen(prompt, *skills, needs=frozenset()):
    return [one.skill.name for one in choose({s.name: s for s in skills}, prompt, needs)]


def test_front_matter_is_read():
    read = skill()
    assert (read.name, read.activation) == ("postgres-queue", "auto")
    assert read.keywords == ("queue", "대기열")
    assert read.dependencies == ("psycopg",)
    assert [part.heading for part in read.parts] == [
        "Postgres queue",
        "Retries and back-off",
        "Vacuum",
    ]


def test_a_skill_without_front_matter_has_its_folder_s_name():
    read = parse("my-skill", "# Use\nLike this.")
    assert read.name == "my-skill"
    assert read.intro == "my-skill: Like this."


@pytest.mark.parametrize(
    "front",
    [
        "name: [",
        "- a\n- b",
        "name: 'a b: c'",
        "activation: sometimes",
        "name: a\nb: &x [*x",
        "name: ../x",
        "a: b\n" * 3_000,
        "a: &a [x]\nname: *a",
        "\n".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9 if n else 'x'}]" for n in range(40))
        + "\nname: *a39",
    ],
)
def test_bad_front_matter_is_told_in_our_words(front):
    with pytest.raises(BadSkill) as told:
        parse("folder", f"---\n{front}\n---\nbody")
    assert "../x" not in str(told.value)
    assert "sometimes" not in str(told.value)


@given(st.text(max_size=300))
def test_any_text_is_a_skill_or_a_bad_one(text):
    for whole in (text, f"---\n{text}\n---\nbody"):
        with contextlib.suppress(BadSkill):
            assert fitting_parts(parse("folder", whole), text)[0].strip()


def test_other_types_in_front_matter_do_not_count():
    read = skill(name="a", description="{x: 1}", keywords="{x: 1}", dependencies="[1, {a: b}, [c]]")
    assert read.description == ""
    assert read.keywords == ()
    assert read.dependencies == ("1",)


def test_a_number_of_any_length_is_text_and_harms_nobody():
    assert len(skill(name="a", description="0x" + "F" * 6_000).description) == 2_000
    assert skill(name="1.10").name == "1.10"


def test_keywords_choose_in_english_and_korean():
    assert chosen("how do queues retry?", skill()) == ["postgres-queue"]
    assert chosen("대기열이 막혔어요", skill()) == ["postgres-queue"]
    assert chosen("what is for lunch?", skill()) == []


def test_a_korean_keyword_of_two_words_is_found_with_particles():
    assert says(Fit("결제를 취소할 때는요?"), "결제 취소")
    assert not says(Fit("결제를 다시 합니다"), "결제 취소")


def test_a_dependency_chooses_after_what_was_said():
    other = skill(name="other", keywords="refund")
    assert chosen("refund?", skill(), other, needs=frozenset({"psycopg"})) == [
        "other",
        "postgres-queue",
    ]


def test_manual_is_chosen_by_its_name_only():
    manual = skill(name="release-notes", keywords="release", activation="manual")
    assert chosen("the release is near", manual) == []
    assert chosen("use release-notes please", manual) == ["release-notes"]


def test_a_name_that_is_any_word_must_be_meant():
    manual = skill(name="review", activation="manual")
    assert chosen("please review this", manual) == []
    for prompt in (
        "/review this",
        "use the review skill",
        "review 스킬로 봐 주세요",
        "`review` it",
    ):
        assert chosen(prompt, manual) == ["review"], prompt


def test_always_is_always_chosen():
    assert chosen("what is for lunch?", skill(name="house", activation="always")) == ["house"]


def test_only_the_parts_that_fit_are_told_and_begin_with_the_name():
    parts = fitting_parts(skill(), "how many retries before we give up?")
    assert parts[0].startswith("postgres-queue: Job queues")
    assert any("Retry with jitter" in part for part in parts)
    assert not any("Autovacuum" in part for part in parts)
    assert all(part.startswith("postgres-queue") for part in parts)


def test_no_heading_inside_a_fence_cuts_a_part():
    [only] = split("```sh\n# a comment\n## more\n```\ntext")
    assert only.heading == ""
    assert "# a comment" in only.text
