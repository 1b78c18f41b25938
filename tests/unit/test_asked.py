"""Requests of engines: what people type, and what a thread is shown. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bridge.answers import answer_form, one_answer, read_answers, typed_answers
from bridge.asked_commands import Decide, Requests, Revoke
from bridge.commands import Names, parse, typed_command
from core.errors import BadInput
from core.model import Asked, AskedQuestion, EngineRequest
from core.turns.asked import _put, by_leave_text, code_block, one_line, outcome, whole

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


def put(request: Asked, room: int) -> str:
    """The message on a platform whose posts hold so many characters."""
    return _put(request, "chat", lambda _c, text, _l: (text,) if len(text) <= room else ("", ""))[0]


@pytest.mark.parametrize("room", [5_000, 2_000, 1_000])
def test_what_is_cut_says_so_at_the_cut_and_before_how_to_decide(room):
    long = asked(tool="Bash", about="echo " + "x" * 3_000 + "; rm -rf /", detail="y" * 3_000)
    lines = [line for line in put(long, room).splitlines() if line and line != "```"]
    assert "rm -rf" not in put(long, room)
    cut = next(n for n, line in enumerate(lines) if line.endswith("x…"))
    assert lines[cut + 1] == "✂️ Cut here; `!requests 7` shows all of it."
    assert lines[-2] == "✂️ Cut here; `!requests 7` shows all of it." or "not shown" in lines[-2]
    assert lines[-1].startswith("Or type `!allow 7`")
    assert "rm -rf" in whole(long)
    assert "Cut here" not in whole(long) + put(asked(tool="Bash", about="ls", detail="why"), room)


def test_a_long_question_that_is_cut_says_so():
    long = asked(AskedQuestion("x" * 3_000 + " or not?", options=(("yes", ""),)))
    assert "`!requests 7` shows all of it" in put(long, 2_000)
    assert "or not?" in whole(long)


def test_the_tools_have_names_that_people_know_and_files_are_those_of_the_project():
    files = replace(asked(tool="file_change", about="/p/a.py, /p/../etc/b, /q/c"), cwd="/p")
    assert "asks leave to **change files**" in whole(files)
    assert "\na.py, ../etc/b, /q/c\n" in whole(files)
    assert "a.py, ../etc/b" in one_line(files).replace("\\", "")
    command = replace(asked(tool="command_execution", about="cd /tmp && cat /p/a"), cwd="/p")
    assert "asks leave to **run a command**" in whole(command)
    assert "cat /p/a" in whole(command)  # what would be run is shown as it is
    assert "to use **frobnicate**" in whole(asked(tool="frobnicate"))


def test_once_decided_the_change_is_still_there_and_short():
    change = asked(tool="file_change", about="a.py", detail="+new line\n" * 100, state="once")
    assert "+new line" in put(change, 5_000)
    assert len(put(change, 5_000)) < 700
    assert put(change, 5_000).endswith("✅ Allowed once by Lee.")
    assert whole(change).count("+new line") == 100


def test_a_question_that_nobody_answered_says_so():
    assert outcome(asked(ONE, state="expired")) == "⌛ Nobody answered in time."


def test_what_was_done_by_leave_is_one_line():
    assert by_leave_text([]) == ""
    assert "npm (2×, leave by Kim)" in by_leave_text([("npm", "Kim", 2)])
