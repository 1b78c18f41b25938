"""Requests of engines: what people type, and what a thread is shown. Pure."""

from __future__ import annotations

import re

import pytest

from bridge.answers import answer_form, one_answer, read_answers, typed_answers
from bridge.asked_commands import Decide, Requests, Revoke
from bridge.commands import Names, parse, typed_command
from core.errors import BadInput
from core.model import Asked, AskedQuestion, EngineRequest
from core.turns.asked import by_leave_text, code_block, outcome, whole

ONE = AskedQuestion("Which one?", options=(("SQL", "a table"), ("Files", "")))
MANY = AskedQuestion("Which?", options=(("a", ""), ("b", ""), ("c", "")), several=True)
FREE = AskedQuestion("Why?")
NUMBERS = AskedQuestion("How many?", options=(("4", ""), ("8", "")))


def asked(*questions: AskedQuestion, state="waiting", **more) -> Asked:
    kind = "question" if questions else "permission"
    request = EngineRequest("r1", kind, **more, questions=questions)
    return Asked(7, "run", 1, 1, "claude", "", "Kim", request, state, session=1, by="Lee")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("!allow 7", Decide(7, "once")),
        ("!allow #7", Decide(7, "once")),
        ("!allow 7 session", Decide(7, "session")),
        ("!ALLOW 7 Session", Decide(7, "session")),
        ("!deny 7", Decide(7, "deny")),
        ("!deny 7 not on this\nbranch", Decide(7, "deny", "not on this\nbranch")),
        ("!answer 7 2", Decide(7, "answer", "2")),
        ("!answer #7: in my own words", Decide(7, "answer", "in my own words")),
        ("!requests", Requests()),
        ("!requests 7", Requests(7)),
        ("!revoke 3", Revoke(3)),
        ("!approve 7", Decide(7, "once")),
        ("!yes 7 session", Decide(7, "session")),
        ("!ok!", Decide(0, "once")),
        ("!allow it", Decide(0, "once")),
        ("!allow session", Decide(0, "session")),
        ("!reject 7", Decide(7, "deny")),
        ("!no not here", Decide(0, "deny", "not here")),
        ("!answer files", Decide(0, "answer", "files")),
        ("!answer 2", Decide(2, "answer")),
        ("!revoke", Revoke()),
    ],
)
def test_what_is_typed(typed, meant):
    command, text = typed_command(typed)
    assert parse(command, text, Names()) == meant


@pytest.mark.parametrize(
    ("typed", "works"),
    [
        ("!allow all", "`!allow N`"),
        ("!allow 17 for ever", "`!allow 17`"),
        ("!requests all", "`!requests N`"),
        ("!revoke 3 now", "`!revoke N`"),
    ],
)
def test_what_is_typed_wrongly_says_what_would_work(typed, works):
    command, text = typed_command(typed)
    with pytest.raises(BadInput, match=re.escape(works)):
        parse(command, text, Names())


@pytest.mark.parametrize("typed", ["!now what?", "!not that", "!note this", "!oh", "!yep"])
def test_a_short_command_makes_no_command_of_other_words(typed):
    assert typed_command(typed) is None


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        (ONE, "2", ("Files",)),
        (ONE, "sql", ("SQL",)),
        (ONE, "in 2024", ("in 2024",)),
        (NUMBERS, "8", ("8",)),  # an option by its name
        (ONE, "neither of them", ("neither of them",)),
        (MANY, "1, 3", ("a", "c")),
        (MANY, "3 3 1", ("c", "a")),
        (FREE, "2", ("2",)),
    ],
)
def test_an_answer_is_an_option_by_number_or_name_else_the_words(question, text, answer):
    assert one_answer(question, text) == answer


@pytest.mark.parametrize(
    ("question", "text", "why"),
    [
        (ONE, "5", "There is no option 5. There are: 1 = SQL, 2 = Files."),
        (ONE, "0", "There is no option 0"),
        (MANY, "1, 9", "There is no option 9"),
        (ONE, "1, 2", "Only one can be picked: 1 = SQL, 2 = Files."),
    ],
)
def test_a_number_that_cannot_be_picked_says_which_there_are(question, text, why):
    with pytest.raises(BadInput, match=re.escape(why)):
        one_answer(question, text)


def test_several_questions_take_a_line_each():
    assert typed_answers(asked(ONE, FREE), "2\nbecause") == (("Files",), ("because",))
    with pytest.raises(BadInput, match="2 questions"):
        typed_answers(asked(ONE, FREE), "2")


def test_a_form_holds_options_and_free_text_and_is_read_back():
    form = answer_form(asked(MANY, ONE))
    assert [(f.name, f.kind) for f in form.fields] == [
        ("pick0", "choices"), ("text0", "paragraph"), ("pick1", "choice"), ("text1", "paragraph"),
    ]  # fmt: skip
    values = {"pick0": ("1", "3"), "text0": (), "pick1": (), "text1": ("both of them",)}
    assert read_answers(asked(MANY, ONE), values) == (("a", "c"), ("both of them",))
    with pytest.raises(BadInput):
        read_answers(asked(MANY, ONE), {"pick0": (), "text0": ("  ",)})
    assert len(answer_form(asked(ONE, ONE, ONE)).fields) == 3
    assert answer_form(asked(*[FREE] * 6)) is None


def test_a_command_cannot_leave_its_block_nor_read_as_another():
    told = code_block("echo ```\n@here\u202e; rm -rf /\u200b")
    assert told.startswith("````\n")
    assert told.endswith("\n````")
    assert "\\u{202e}" in told
    assert "\\u{200b}" in told
    assert "\u202e" not in told


def test_what_others_wrote_stays_text():
    evil = asked(tool="**Bash** <!channel>", about="x", scope="s", scope_label="[a](http://b)")
    shown = whole(evil)
    assert "<!channel>" not in shown
    assert r"\<\!channel\>" in shown
    assert "[a](http" not in shown


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("once", "Allowed once by Lee"),
        ("session", "for this session"),
        ("deny", "Denied by Lee"),
        ("expired", "Nobody decided in time"),
        ("withdrawn", "Not needed any more"),
        ("waiting", ""),
    ],
)
def test_what_became_of_it(state, told):
    assert told in outcome(asked(state=state, tool="Bash", scope="s"))


def test_what_was_done_by_leave_is_one_line():
    assert by_leave_text([]) == ""
    assert "npm (2×, leave by Kim)" in by_leave_text([("npm", "Kim", 2)])
