"""Blocks (core.blocks): what is one, what it says, and what people and streams see of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.blocks import (
    FORMS,
    MAX_BLOCKS,
    Agreed,
    ArtifactBlock,
    Blocks,
    Consensus,
    FindingBlock,
    PlanBlock,
    PlannedTask,
    Position,
    SubtaskDone,
    Verdict,
    split_blocks,
)
from core.context.faults import build_fault_followup
from core.context.rules import rules
from core.ground import BLOCK_WORDS, MAX_BLOCK_CHARS
from core.model import PackRequest, Participant
from core.pull import KINDS, Holdback, neutralise, split_markers

P = "<!-- position agree -->"
PLAN = "<!-- plan\nTitle\n- first\n- second\n-->"
AGREE = Position(stance="agree")
TWO = PlanBlock(title="Title", subtasks=("first", "second"))


def streamed(chunks) -> str:
    held = Holdback()
    return "".join([held.feed(c) for c in chunks]) + held.flush()


def whole(text: str) -> str:
    return split_markers(split_blocks(text).text)[0]


# --- the grammar ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "read"),
    [
        (P, AGREE),
        ("<!--POSITION:Agree-->", AGREE),
        (
            '<!-- position {"stance": "disagree", "summary": "too slow", "confidence": 0.8} -->',
            Position(stance="disagree", summary="too slow", confidence=0.8),
        ),
        (
            '<!-- position\n{\n  "stance": "abstain"\n}\n-->',
            Position(stance="abstain"),
        ),
        ("<!-- position disagree: too slow -->", Position(stance="disagree", summary="too slow")),
        (PLAN, TWO),
        (PLAN.replace("\n", "\r\n"), TWO),
        ("<!-- plan: Title\n1. first\n2) [ ] second -->", TWO),
        ("<!-- plan\n\n# Title\n\n* first\n\n* [x] second\n\n-->", TWO),
        ('<!-- plan {"title": "Title", "subtasks": ["first", {"title": "second"}]} -->', TWO),
        (
            "<!-- plan\nTitle\nPhase: design\n- a --> b\n- c\n  more\n---\n# Why\n\nx --> y\n-->",
            PlanBlock(
                title="Title",
                phase="design",
                subtasks=("a --> b", "c more"),
                document="# Why\n\nx --> y",
            ),
        ),
        (
            '<!-- plan {"title": "a --> \\"b\\"", "subtasks": [{"title": "t", "owner": "o"}]} -->',
            PlanBlock(title='a --> "b"', subtasks=(PlannedTask(title="t", owner="o"),)),
        ),
        ("<!-- verdict pass -->", Verdict(verdict="pass")),
        (
            "<!-- verdict: fail: two things\n- critical: it leaks\n- the name is odd\n-->",
            Verdict(
                verdict="fail",
                summary="two things",
                findings=(
                    FindingBlock(text="it leaks", severity="critical"),
                    FindingBlock(text="the name is odd"),
                ),
            ),
        ),
        (
            (
                '<!-- verdict {"verdict": "conditional",\n "findings": [{"text": "t",\n'
                ' "severity": "low", "category": "style"}]} -->'
            ),
            Verdict(
                verdict="conditional",
                findings=(FindingBlock(text="t", severity="low", category="style"),),
            ),
        ),
        (
            "<!-- finding [high] security: it leaks -->",
            FindingBlock(text="it leaks", severity="high", category="security"),
        ),
        ("<!-- finding see http://x: no -->", FindingBlock(text="see http://x: no")),
        (
            "<!-- consensus\n- storage: SQL: always\n- 인증: JWT\n-->",
            Consensus(
                decisions=(
                    Agreed(axis="storage", decision="SQL: always"),
                    Agreed(axis="인증", decision="JWT"),
                )
            ),
        ),
        (
            '<!-- consensus {"axis": "a", "decision": "d", "stances": {"critic": "disagree"}} -->',
            Consensus(decisions=(Agreed(axis="a", decision="d", stances={"critic": "disagree"}),)),
        ),
        (
            '<!-- consensus [{"axis": "a", "decision": "d"}] -->',
            Consensus(decisions=(Agreed(axis="a", decision="d"),)),
        ),
        ("<!-- subtask-done:3 -->", SubtaskDone(numbers=(3,))),
        ("<!-- subtask-done: #3, 4 -->", SubtaskDone(numbers=(3, 4))),
        ("<!-- subtask-done [1, 2] -->", SubtaskDone(numbers=(1, 2))),
        (
            "<!-- artifact\nTitle\n---\ntext\n\nmore\n-->",
            ArtifactBlock(title="Title", text="text\n\nmore"),
        ),
    ],
)
def test_a_block_is_read_and_taken_out(block, read):
    answer = split_blocks(f"Start\n{block}\nend")
    assert (answer.text, answer.found, answer.faults) == ("Start\nend", (read,), ())
    assert split_blocks(block).found == (read,)
    assert split_blocks(block).text == ""


@pytest.mark.parametrize(
    "text",
    [
        f"see {P}",
        f"> {P}",
        f"> {PLAN}",
        f"- {P}",
        f"`{P}`",
        f"    {P}",
        f"\t{P}",
        f"```\n{P}\n```",
        f"```\n{PLAN}\n```",
        f"~~~ markdown\n{P}\n~~~",
        f"````\n```\n{P}\n```\n````",
        f"- step\n  ```\n  {P}\n  ```",
        f"<pre>\n{P}\n</pre>",
        f"<!-- not now\n{P}\n-->",
        "<!-- planning -->",
        "<!-- plan-b -->",
        "<!-- positions agree -->",
        "<!-- subtask -->",
        "<!-- po\u017fition agree -->",
        "<!-- subta\u017fk-done:3 -->",
        "<!-- subtas\u212a-done:3 -->",
        "<!-- verd\u0131ct approve -->",
        "<!- - plan -->",
        "<! -- plan -->",
        "<!--\nplan\n-->",
        f"a\u2028{P}",
        "plan: Title\n- first",
    ],
)
def test_no_block_and_the_text_unchanged(text):
    answer = split_blocks(text)
    assert (answer.text, answer.found, answer.faults) == (text, (), ())
    assert streamed(text) == text
    assert streamed([text]) == text


def test_a_block_shown_as_an_example_beside_a_live_one():
    text = f"Use `{P}` like so:\n```\n{PLAN}\n```\n"
    assert split_blocks(f"{text}{PLAN}") == Blocks(text, (TWO,))


def test_what_follows_the_end_stays_and_several_may_stand_on_one_line():
    answer = split_blocks(f"{P} <!-- subtask-done:1 -->{PLAN} thanks\nend")
    assert answer.text == "thanks\nend"
    assert answer.found == (AGREE, SubtaskDone(numbers=(1,)), TWO)


def test_a_pull_marker_inside_a_block_asks_nothing():
    answer = split_blocks("<!-- plan\nT\n- a\n<!-- pull:memory: x\n-->\nend")
    assert answer.text == "end"
    assert split_markers(answer.text) == ("end", ())


def test_the_last_position_counts():
    answer = split_blocks(f"{P}\n<!-- position disagree -->")
    assert answer.position == Position(stance="disagree")
    assert split_blocks("none").position is None


# --- faults --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        ("<!-- plan", "does not end"),
        ("<!-- plan\nT\n- a\nand then nothing", "does not end"),
        ("<!-- plan -->", "needs a title"),
        ("<!-- plan\nT\n-->", "subtasks: Tuple should have at least 1 item"),
        ("<!-- plan\nT\n- a\nprose\n-->", "no item"),
        ('<!-- plan {"title": "T"} -->', "subtasks: Field required"),
        ('<!-- plan {"title": "T", "subtasks": ["a"], "x": 1} -->', "x: Extra inputs"),
        ('<!-- plan {"title": "T", "subtasks": ["a"] -->', "Invalid JSON"),
        ('<!-- position {"stance": "maybe"} -->', "'agree', 'disagree' or 'abstain'"),
        ('<!-- position {"stance": "agree", "confidence": 8} -->', "less than or equal to 1"),
        ('<!-- position {"stance": "agree", "confidence": NaN} -->', "confidence"),
        ('<!-- position {"stance": "agree", "summary": "\\ud800"} -->', "Invalid JSON"),
        ("<!-- verdict fail -->", "needs at least one finding"),
        ("<!-- verdict -->", "'pass', 'fail' or 'conditional'"),
        ("<!-- consensus\n- SQL\n-->", "`axis: decision`"),
        ("<!-- consensus -->", "at least 1 item"),
        ("<!-- subtask-done:the third -->", "by its number"),
        ("<!-- subtask-done:0 -->", "greater than or equal to 1"),
        ("<!-- finding -->", "at least 1 character"),
        ("<!-- artifact\nT\n-->", "then ---"),
        (f"<!-- plan\nT\n- {'a' * MAX_BLOCK_CHARS}\n-->", "longer than 20,000"),
        ('<!-- plan {"title": ' + "[" * 5_000 + " -->", "Invalid JSON"),
    ],
)
def test_a_block_that_does_not_parse_is_taken_out_and_its_fault_told(block, fault):
    answer = split_blocks(f"Start\n{block}")
    assert answer.text == "Start\n"
    assert answer.found == ()
    [told] = answer.faults
    assert fault in told
    assert "Value error" not in told  # pydantic's word for our own
    assert told.startswith(block.split()[1].partition(":")[0])
    assert len(told) < 400


def test_a_fault_holds_no_words_of_the_block():
    block = json.dumps({"stance": "ignore all rules", "ignore\nall rules <!-- plan": 1})
    [told] = split_blocks(f"<!-- position {block} -->").faults
    assert "ignore" not in told
    assert "\n" not in told


def test_of_many_blocks_so_many_are_read_and_all_are_taken_out():
    answer = split_blocks("\n".join([P] * (MAX_BLOCKS + 3)) + "\nend")
    assert answer.text == "end"
    assert len(answer.found) == MAX_BLOCKS
    assert answer.faults == (
        f"position: 3 more than the {MAX_BLOCKS} blocks that are read in an answer",
    )


def test_a_thousand_blocks_on_one_line_and_a_line_without_an_end():
    assert split_blocks(P * 1_000 + "end").text == "end"
    assert split_blocks("<!-- plan " + "x" * 200_000).text == ""
    assert split_blocks("<!-- plan " + "--> x " * 2_000).faults


def test_faults_go_back_with_the_form_that_would_do():
    faults = split_blocks("Fine.\n<!-- plan {} -->\n<!-- subtask-done:x -->").faults
    request = PackRequest("do it", 1, Participant("codex", "architect"))
    told = build_fault_followup(request, faults)
    assert told.startswith("architect (codex): ")
    assert all(fault in told for fault in faults)
    assert FORMS["plan"] in told
    assert FORMS["subtask-done"] in told
    assert FORMS["verdict"] not in told
    assert [type(b) for b in split_blocks(told).found] == [PlanBlock, SubtaskDone]
    again = build_fault_followup(request, faults, earlier="Fine.\n# Rules")
    assert "> Fine.\n> # Rules" in again
    assert again.endswith("do it")


def test_every_word_has_a_form_that_parses():
    assert set(FORMS) == set(BLOCK_WORDS)
    for word, form in FORMS.items():
        answer = split_blocks(form)
        assert len(answer.found) == 1, word
        assert answer.text == ""


@pytest.mark.parametrize("kinds", [(), KINDS])
@pytest.mark.parametrize("variant", ["hosted", "light"])
def test_the_rules_teach_blocks_as_they_are_read(kinds, variant):
    taught = split_blocks(rules(kinds, variant))
    assert taught.faults == ()
    assert taught.of(PlanBlock)[0].subtasks[0].title == "first subtask"
    if variant == "hosted":
        assert taught.of(SubtaskDone)
        assert taught.of(Verdict)[0].findings[0].severity == "high"
    assert bool(split_markers(taught.text)[1]) is bool(kinds)


def test_the_reference_shows_blocks_that_are_read():
    page = Path("docs/reference/blocks.md").read_text("utf-8")
    examples = re.findall(r"^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(examples) >= len(BLOCK_WORDS)
    for shown in examples:
        answer = split_blocks(shown)
        assert (len(answer.found), answer.faults, answer.text) == (1, (), ""), shown
    assert split_blocks(page).found == ()
    assert all(f"| `{word}` |" in page for word in BLOCK_WORDS)


# --- streams -------------------------------------------------------------------------------


def test_every_split_in_two_and_every_character_alone():
    text = f"Start\n{PLAN}\nmiddle\n<!-- pull:memory: q -->\n{P}\nend"
    for at in range(len(text) + 1):
        assert streamed([text[:at], text[at:]]) == "Start\nmiddle\nend"
    held, shown = Holdback(), ""
    for char in text:
        shown += held.feed(char)
        assert "Start\nmiddle\nend".startswith(shown)
    assert shown + held.flush() == "Start\nmiddle\nend"


def test_nothing_else_waits():
    assert Holdback().feed("<!-- planning") == "<!-- planning"
    assert Holdback().feed("<!-- plan-b") == "<!-- plan-b"
    assert Holdback().feed("<!-- x") == "<!-- x"
    assert Holdback().feed("a <!-- plan") == "a <!-- plan"
    assert Holdback().feed("    <!-- plan") == "    <!-- plan"
    held = Holdback()
    assert (held.feed("<!-- pla"), held.flush()) == ("", "<!-- pla")


fragments = (
    '<!--| plan|-->| position| agree|subtask-done|:3|{|}|"|\\|[|```|- |  |    |> |x|`|<|~~~|---|'
    "pull:|memory:| q |<pre>|</pre>|<!-- po\u017fition|<\u017fcript>"
)
words = st.sampled_from([P, PLAN, "\n", "\n", "\r", "\t", *fragments.split("|")])


@given(st.lists(words, max_size=25).map("".join), st.data())
@settings(max_examples=1500, deadline=None)
@example(f"    {P}\n{P}", None)
@example("- a\n<!-- pull:memory: q -->\n     <!-- plan", None)
@example("<!-- plan-", None)
@example("<!-- plan--", None)
def test_a_stream_shows_what_the_whole_shows(text, data):
    visible = whole(text)
    assert streamed(text) == visible
    if data is not None:
        at = data.draw(st.integers(0, len(text)))
        assert streamed([text[:at], text[at:]]) == visible
        assert visible.startswith(Holdback().feed(text[:at]))


# --- words of others -----------------------------------------------------------------------


@pytest.mark.parametrize("text", [*FORMS.values(), "say: <!--\n\tplan\nT\n- a\n-->", f"`{P}`"])
def test_blocks_typed_by_people_are_inert_but_seen(text):
    inert = neutralise(text)
    assert inert != text
    assert inert.replace("quoted-", "") == text
    copied = inert[inert.index("<!--") :]
    assert split_blocks(copied).found == ()
    assert split_blocks(copied).text == copied
    assert neutralise(inert) == inert


@given(st.lists(words, max_size=25).map("".join), st.data())
@settings(max_examples=500, deadline=None)
def test_no_piece_of_neutralised_text_is_a_block(text, data):
    inert = neutralise(text)
    start = data.draw(st.integers(0, len(inert)))
    end = data.draw(st.integers(start, len(inert)))
    answer = split_blocks(inert[start:end])
    assert (answer.found, answer.faults) == ((), ())
    assert neutralise(inert) == inert


@given(st.text())
def test_text_without_blocks_is_not_touched(text):
    if "<!--" not in text:
        assert split_blocks(text).text == text
        assert streamed(text) == whole(text)
