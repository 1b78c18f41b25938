"""What is shown of an answer while it is written: balanced, and no marker or secret."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import core.live
from adapters.discord.render import render as to_discord
from adapters.slack.render import render as to_slack
from core import redact as redaction
from core.live import LiveText, Pane, presentable, steady
from core.markup.parse import parse
from core.model import EngineEvent


def live(*deltas: str) -> LiveText:
    text = LiveText()
    for delta in deltas:
        text.take(EngineEvent("delta", delta))
    return text


@pytest.mark.parametrize(
    ("half", "shown"),
    [
        ("**bo", "**bo**"),
        ("**bold*", "**bold**"),
        ("**a *b", "**a *b***"),
        ("a ***b** c", "a ***b** c*"),
        ("a *", "a"),
        ("~~x", "~~x~~"),
        ("한국어 **강조", "한국어 **강조**"),
        ("5*3 is a_name", "5*3 is a_name"),
        ("a\\*b *c", "a\\*b *c*"),
        ("see [the do", "see the do"),
        ("see [the docs](http", "see the docs"),
        ("[a](b) c **", "[a](b) c"),
        ("x `co", "x `co`"),
        ("x ``", "x"),
        ("one\n\n- one\n- **tw", "one\n\n- one\n- **tw**"),
        ("# T *x", "# T *x*"),
        ("# ", ""),
        ("1.", ""),
        ("- [ ", ""),
        ("- [x] a", "- [x] a"),
        ("a\n--", "a"),
        ("a <!-- note", "a"),
        ("| a | b |\n", ""),
        ("t\n\n| a | b |\n|--", "t"),
        ("| a | b |\n|---|---|\n| 1 | 2", "| a | b |\n|---|---|"),
        ("```py", ""),
        ("```py\n", ""),
        ("```py\n**kw = `1", "```py\n**kw = `1\n```"),
        ("```py\nx\n``", "```py\nx\n```"),
        ("~~~~\nx", "~~~~\nx\n~~~~"),
        ("> ```py\n> **kw = `1\n> ", "> ```py\n> **kw = `1"),
        ("> ```\n> x\n> ``", "> ```\n> x"),
        ("> a\n> ```", "> a"),
        ("> ```\n> x\n> ```\n> and **b", "> ```\n> x\n> ```\n> and **b**"),
        ("all *.p", "all *.p"),
        ("in src/**/*.t", "in src/**/*.t"),
        ("*a*. And *b", "*a*. And *b*"),
    ],
)
def test_half_written_markdown_is_shown_balanced(half, shown):
    assert presentable(half) == shown


@pytest.mark.parametrize(
    ("half", "shown"),
    [
        ("it is sk-ant-api03-abcd1234", "it is [redacted]"),
        ("it is ghp_abcd1234", "it is"),
        ("password = 'correct hor", ""),
        ("use Bearer abcd12", "use"),
        ("see https://bob:hunter22", "see"),
        ("a short w", "a short w"),
    ],
)
def test_what_may_become_a_secret_is_not_shown_before_it_is_whole(half, shown):
    assert presentable(half) == shown


SECRET = "ghp_abcdEFGH1234ijklMNOP5678qrst"


def test_a_secret_never_shows_more_than_its_first_letters_in_any_prefix():
    text = f"The key is {SECRET} and password = 'correct horse 77' is another. Done."
    for end in range(len(text)):
        shown = presentable(text[:end])
        assert SECRET[:9] not in shown
        assert "horse" not in shown
    assert "Done." in presentable(text, whole=True)


MARKERS = (
    "<!-- pull:memory: why JWT -->",
    "  <!-- pull:messages: a b -->",
    "tunaflow:tool-request:memory:why",
    '<!-- position {"stance": "agree", "summary": "x"} -->',
)


@pytest.mark.parametrize("marker", MARKERS)
def test_c140_no_fragment_of_a_marker_is_ever_shown(marker):
    """Every split into two deltas, and one-character deltas; all around it is shown."""
    text = f"Start\n{marker}\nend"
    for at in range(len(text) + 1):
        halves = live(text[:at])
        seen = [presentable(halves.text)]
        halves.take(EngineEvent("delta", text[at:]))
        seen.append(presentable(halves.text))
        assert seen[-1].split() == ["Start", "end"]
        assert all(not set(shown) - set("Starend \n") for shown in seen)
    letters = LiveText()
    for letter in text:
        letters.take(EngineEvent("delta", letter))
        assert not set(presentable(letters.text)) - set("Starend \n")
    assert presentable(letters.text).split() == ["Start", "end"]


def test_c140_a_lone_first_character_is_shown():
    assert presentable(live("S").text) == "S"
    assert presentable(live("가").text) == "가"


def test_the_newest_text_takes_the_place_of_the_one_before():
    text = live("I look ", "first.")
    text.take(EngineEvent("message", "I look first.\n<!-- pull:memory: x -->"))
    assert (text.text, text.whole) == ("I look first.", True)
    text.take(EngineEvent("tool_start", "ls", name="shell"))
    assert text.text == "I look first."
    text.take(EngineEvent("delta", "It is "))
    assert (text.text, text.whole) == ("It is ", False)


@pytest.mark.parametrize(
    "again",
    [
        EngineEvent("retry", "overloaded", name="overloaded"),
        EngineEvent("delta", name="anew"),
        EngineEvent("started", "another session"),
    ],
)
def test_a_text_that_is_begun_anew_is_not_shown_twice(again):
    text = live("It is bro")
    assert text.take(again)
    text.take(EngineEvent("delta", "It is fine"))
    assert text.text == "It is fine"


# --- laws ---------------------------------------------------------------------------------------

WORDS = st.lists(st.sampled_from(["plain", "words", "한국어", "go", "on"]), min_size=1, max_size=4)
PLAIN = WORDS.map(" ".join)


MARKED = st.sampled_from(["**{}**", "*{}*", "~~{}~~", "`{}`", "[{}](https://ex.example/a)"])
NESTED = st.sampled_from(
    [
        "**{} *{}* {}**",
        "**~~{}~~ {}** {}",
        "*{} ~~{} {}~~*",
        "**[{}](http://a.b) {}** {}",
        "[**{}** {}](http://a.b) {}",
        "~~{} `{}`~~ {}",
    ]
)
WRAPPED = st.one_of(
    st.tuples(MARKED, PLAIN).map(lambda both: both[0].format(both[1])),
    st.tuples(NESTED, PLAIN, PLAIN, PLAIN).map(lambda all_: all_[0].format(*all_[1:])),
)
INLINE = st.lists(st.one_of(PLAIN, WRAPPED), min_size=1, max_size=4).map(" ".join)
BLOCK = st.one_of(
    INLINE,
    INLINE.map(lambda t: f"## {t}"),
    st.lists(INLINE, min_size=1, max_size=3).map(lambda ts: "\n".join(f"- {t}" for t in ts)),
    INLINE.map(lambda t: f"> {t}"),
    PLAIN.map(lambda t: f"```py\n{t}\n{t}\n```"),
    st.tuples(PLAIN, PLAIN).map(lambda p: f"| {p[0]} | {p[1]} |\n|---|---|\n| {p[1]} | {p[0]} |"),
)
DOCUMENT = st.lists(BLOCK, min_size=1, max_size=4).map("\n\n".join)
MARKS = re.compile(r"[*~`\[\]|#]|\]\(")


def shown_words(markdown: str) -> str:
    """What a reader of the console sees of it: the text of the tree, without any mark."""

    def words(node: object) -> str:
        if isinstance(node, str):
            return node
        if isinstance(node, tuple | list):
            return " ".join(map(words, node))
        fields = getattr(node, "__slots__", ()) or getattr(node, "__dataclass_fields__", ())
        kept = [name for name in fields if name not in ("url", "language")]
        return " ".join(words(getattr(node, name)) for name in kept)

    return words(parse(markdown))


@settings(max_examples=30, deadline=None)
@given(DOCUMENT)
def test_no_prefix_of_a_document_shows_a_half_mark(document):
    for end in range(len(document) + 1):
        shown = presentable(document[:end])
        assert not MARKS.search(shown_words(shown)), (document[:end], shown)


@settings(max_examples=20, deadline=None)
@given(DOCUMENT)
def test_what_is_shown_only_grows(document):
    """No flicker: the words of what is shown come one after the other, but for the last of them."""
    seen = [shown_words(presentable(document[:end])).split() for end in range(len(document) + 1)]
    for one, two in pairwise(seen):
        assert one[:-1] == two[: max(0, len(one) - 1)]


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="*_`~[]()<>!-|#\\ \n:=ab1.한", max_size=80))
def test_nothing_that_is_written_breaks_it(text):
    for end in range(len(text) + 1):
        shown = presentable(text[:end])
        assert len(shown) <= 2 * end + 10
    presentable(text, whole=True)


@pytest.mark.parametrize(("render", "room"), [(to_slack, 3_900), (to_discord, 1_900)])
@pytest.mark.parametrize("piece", ["word **bold** and `code` 한국어 😀 & < >\n", "x" * 97 + " "])
def test_what_outgrows_a_message_shows_its_end(render, room, piece):
    pane, text = Pane(room), ""
    for step in range(120):
        text += piece * 3 + ("\n" if step % 3 else f"\n\n```py\ncode {step}\n\n```\n\n")
        shown = presentable(text + f"end{step}")
        message = pane.show(shown, "still writing", lambda t: render(t, "claude"))
        assert f"end{step}" in message
        assert "still writing" in message
        assert len(message.encode()) <= 3_900 if render is to_slack else len(message) <= 2_000


def test_code_and_tables_that_were_begun_before_the_message_go_on_in_it():
    pane = Pane(600)
    code = "```python\n" + "".join(f"line_{n} = {n}\n" for n in range(200))
    drawn = pane.show(presentable(code), "below", lambda t: to_slack(t, "", 600))
    assert drawn.count("```") == 2
    assert "line_199" in drawn
    table = "| a | b |\n|---|---|\n" + "".join(f"| one {n} | two |\n" for n in range(200))
    drawn = Pane(600).show(presentable(table), "below", lambda t: to_slack(t, "", 600))
    assert "one 199" in drawn
    assert "| one" not in drawn


@pytest.mark.parametrize(
    "value", ["correct horse battery staple", "비밀번호는아무도모른다", "pa(ss)wo{rd}!x;y,z"]
)
def test_no_prefix_shows_a_part_of_a_value_that_this_house_knows(monkeypatch, value):
    """Whatever it is made of: blanks and other scripts end no value."""
    monkeypatch.setattr(redaction, "_known", redaction.Secrets((value,)))
    text = f"So the word is {value} and nothing else."
    for end in range(len(text) + 1):
        for shown in (presentable(text[:end]), steady(text[:end])):
            assert value[:4] not in shown


def test_a_long_text_with_much_open_is_not_looked_at_again_and_again(monkeypatch):
    """Each look takes time in proportion to the text, so a long one gets few."""
    looked = []
    balanced = core.live._balanced
    monkeypatch.setattr(core.live, "_balanced", lambda text: looked.append(text) or balanced(text))
    assert steady("*a " * 20_000) == ""
    assert 0 < len(looked) < 8
