"""The recent conversation (core.context.window), judged on the rendered text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.context.pack import build_context_pack
from core.context.window import _lines
from core.model import Participant
from core.pull import Ground
from tests.unit.packs import (
    ARCHITECT,
    CODEX,
    a_request,
    agent,
    human,
    section,
    some_facts,
    spoken_in,
)

LONG_CODE = "```python\n" + "call(x)\n" * 200 + "```"


def shown(*messages, name="recent", **more):
    prompt = more.pop("prompt", "What now?")
    fields = {"count": len(messages), **more}
    facts = some_facts(*messages, message_count=fields.pop("count"), fresh=fields.pop("fresh", ()))
    return section(build_context_pack(a_request(prompt, **fields), facts), name)


# --- what is shown -------------------------------------------------------------------------


def test_oldest_first_each_with_its_number_and_speaker():
    said = spoken_in(
        shown(human(1, "a"), agent(2, "b"), agent(3, "c", CODEX), human(4, "d", "Lee"))
    )
    assert [(s.id, s.speaker, s.body) for s in said] == [
        (1, "Kim (human)", "a"),
        (2, "architect (claude)", "b"),
        (3, "codex (codex)", "c"),
        (4, "Lee (human)", "d"),
    ]


def test_the_message_being_answered_is_not_repeated():
    text = shown(
        human(1, "a"), human(2, "the question"), prompt_message_id=2, prompt="the question"
    )
    assert [s.id for s in spoken_in(text)] == [1]
    assert "left out" not in text
    assert shown(human(2, "q"), prompt_message_id=2) == ""


def test_the_message_being_answered_is_never_cut():
    prompt = "x" * 50_000 + " end"
    pack = build_context_pack(a_request(prompt, prompt_message_id=1), some_facts(human(1, prompt)))
    assert pack.prompt == prompt


def test_c086_an_interrupted_message_is_marked_as_such():
    text = shown(agent(1, "I changed a.py and", interrupted=True), human(2, "continue"))
    assert (
        "[#1] architect (claude), interrupted before it was finished:\n> I changed a.py and" in text
    )
    assert [s.body for s in spoken_in(text)] == ["I changed a.py and", "continue"]


def test_c044_the_root_by_another_bot_is_data_with_its_author():
    root = replace(human(1, "build 41 failed", "ci"), author_kind="bot")
    assert "[#1] ci (bot):\n> build 41 failed" in shown(root, human(2, "why?"))


def test_c133_two_people_keep_their_lines():
    said = spoken_in(shown(human(1, "ship it"), human(2, "no, wait", "Lee")))
    assert [(s.speaker, s.body) for s in said] == [
        ("Kim (human)", "ship it"),
        ("Lee (human)", "no, wait"),
    ]


def test_people_who_look_alike_are_told_apart_and_an_agents_name_makes_no_agent():
    said = spoken_in(
        shown(
            human(1, "a", "Kim", "slack:U1"),
            human(2, "b", "KI\u200bM", "slack:U2"),
            human(3, "c", "architect (claude)", "slack:U3"),
            agent(4, "d"),
        )
    )
    assert [s.speaker for s in said] == [
        "Kim (human, slack:U1)",
        "KI\\u{200b}M (human, slack:U2)",
        "architect \\(claude\\) (human)",
        "architect (claude)",
    ]


def test_c135_who_gave_no_answer_is_named_without_the_error_text():
    facts = some_facts(human(1, "a"), absent=((CODEX, "timed out"),))
    pack = build_context_pack(a_request(), facts)
    assert section(pack, "latest").endswith("[codex (codex) gave no answer: timed out]")


def test_what_was_said_since_stands_in_the_own_part():
    fresh = (agent(7, "my view", CODEX), human(8, "hurry"))
    assert [s.id for s in spoken_in(shown(human(1, "a"), fresh=fresh, name="latest"))] == [7, 8]
    assert [s.id for s in spoken_in(shown(human(1, "a"), fresh=fresh))] == [1]


# --- what is cut ---------------------------------------------------------------------------


def test_c129_a_long_paste_is_capped_with_a_mark_and_both_ends():
    log = "first line\n" + "noise\n" * 8000 + "the real error is here"
    (said, _) = spoken_in(shown(human(1, log), human(2, "see above")))
    assert len(said.body) <= 4000
    assert said.body.startswith("first line\nnoise")
    assert said.body.endswith("the real error is here")
    (mark,) = said.marks
    missing = len(log) - len(said.body)
    assert abs(int(mark[1:].split()[0].replace(",", "")) - missing) <= 2
    assert mark.endswith("left out; to read it whole: <!-- pull:messages: #1 -->]")


@pytest.mark.parametrize("length", [3_999, 4_000, 4_001])
def test_the_cap_is_exact(length):
    text = shown(human(1, "x" * length), human(2, "?"))
    assert ("left out" in text) == (length > 4_000)


def test_old_output_shrinks_to_a_line_that_says_what_it_was():
    old = f"Look:\n{LONG_CODE}\nso `x` is wrong\n" + "> hit\n" * 30 + "and\n" + "    out\n" * 30
    last = [human(n, "later") for n in range(2, 7)]
    text = shown(human(1, old), *last)
    assert "1,614 characters of this message are left out (a code block, python, 202 lines)" in text
    assert "(a quotation, 30 lines)" in text
    assert "(output or code, 30 lines)" in text
    assert "call(x)" not in text
    assert "> so `x` is wrong" in text
    assert text.count("<!-- pull:messages: #1 -->") == 3


def test_the_last_five_and_every_agents_last_word_are_not_shrunk():
    messages = [agent(1, LONG_CODE), *(human(n, LONG_CODE) for n in range(2, 9))]
    said = {s.id: s for s in spoken_in(shown(*messages))}
    assert [n for n, s in said.items() if s.body == LONG_CODE] == [1, 4, 5, 6, 7, 8]
    assert all("a code block, python" in said[n].marks[0] for n in (2, 3))


@given(st.text(st.sampled_from("ab `~>#\n\t-") | st.characters(codec="utf-8"), max_size=300))
def test_what_is_not_long_is_not_touched_however_old(body):
    text = shown(human(1, body), *(human(n, "later") for n in range(2, 9)))
    assert spoken_in(text)[0].body == body


def test_what_is_left_out_is_counted_also_what_was_not_loaded():
    messages = [human(n, "word " * 700) for n in range(10, 40)]
    text = shown(*messages, count=131, budget_chars=20_000)
    ids = [s.id for s in spoken_in(text)]
    assert ids == list(range(40 - len(ids), 40))
    hidden = 131 - 1 - len(ids)  # one is the message being answered
    assert f"[{hidden} messages are left out here; to ask for some: <!-- pull:messages" in text


# --- nobody's last word is lost ------------------------------------------------------------

seats = [ARCHITECT, CODEX, Participant("gemini", "critic"), Participant("claude", "reviewer")]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6000)), max_size=30),
    st.integers(0, 30_000),
)
@settings(max_examples=150, deadline=None)
def test_every_agents_last_word_is_really_there_even_over_budget(said, budget):
    messages = [
        agent(n, f"head{n} {'mid ' * (size // 4)}tail{n}", seats[who])
        if who < len(seats)
        else human(n, "mid " * (size // 4))
        for n, (who, size) in enumerate(said, start=1)
    ]
    text = shown(*messages, budget_chars=budget)
    read = {s.id: s for s in spoken_in(text)}
    last = {m.persona or m.engine: m for m in messages if m.author_kind == "agent"}
    for message in last.values():
        body = read[message.id].body
        assert body.startswith(f"head{message.id} ")
        assert body.endswith(f"tail{message.id}")
        assert len(body) <= 4000
        assert body == message.text or len(message.text) > 4000


def test_an_interrupted_message_does_not_take_the_place_of_the_last_finished_word():
    messages = [
        agent(1, "older"),
        agent(2, "my position"),
        *(human(n, "word " * 500) for n in range(3, 60)),
        agent(60, "I would now", interrupted=True),
        *(human(n, "word " * 500) for n in range(61, 90)),
    ]
    said = {s.id: s.body for s in spoken_in(shown(*messages, budget_chars=8_000))}
    assert said[2] == "my position"
    assert said[60] == "I would now"
    assert 1 not in said


@given(st.lists(st.integers(0, 3000), max_size=30), st.integers(2_000, 40_000))
@settings(max_examples=100, deadline=None)
def test_people_are_shown_from_the_newest_without_a_hole(lengths, budget):
    messages = [human(n, "w " * (size // 2)) for n, size in enumerate(lengths, start=1)]
    ids = [s.id for s in spoken_in(shown(*messages, budget_chars=budget))]
    assert ids == list(range(len(lengths) + 1 - len(ids), len(lengths) + 1))


LINES = st.lists(
    st.sampled_from(
        ["```", "```py", "~~~", "   ```", "- item", "  - deeper", "    code", "\tcode", "> quoted",
         "text", "", "a ` b", "````", "x\r```", "\u2028```"]
    ),
    max_size=40,
)  # fmt: skip


@given(LINES)
@settings(max_examples=300, deadline=None)
def test_code_that_is_taken_in_one_piece_is_read_as_line_by_line(lines):
    text = "\n".join(lines)
    taken, one_by_one = Ground(), Ground()
    pieces = []
    for piece in _lines(text, taken):
        pieces.append(piece)
        taken.step(piece)
        for line in piece.splitlines(keepends=True):
            one_by_one.step(line)
        assert taken == one_by_one
    assert "".join(pieces) == text
