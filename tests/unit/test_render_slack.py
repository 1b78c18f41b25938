"""Slack's mrkdwn: the field cases by their numbers, then the laws."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.slack.render import MAX_BYTES, escape
from adapters.slack.render import render as render_with_tables
from adapters.slack.tables import shown as sent
from adapters.slack.text import Names, plain
from core.errors import BadSettings
from core.markup.measure import graphemes, utf8_bytes, width
from tests.unit.answers import ZERO_WIDTH, answers, without_repeated_headers, words

GOLDEN = Path(__file__).parents[1] / "fixtures" / "render" / "tables.slack.txt"
FAMILY = "👨‍👩‍👧‍👦"
HANGUL = "\u1112\u1161\u11ab"


def render(markdown, label="", limit=MAX_BYTES):
    """The texts alone: what table blocks need is tested in test_slack_tables.py."""
    return tuple(sent(text) for text in render_with_tables(markdown, label, limit))


def one(markdown, label=""):
    (text,) = render(markdown, label)
    return text


def shown(text):
    return text.replace(ZERO_WIDTH, "")


def bold_runs(text):
    """What Slack shows in bold: a mark counts only between spaces and punctuation."""
    return re.findall(r"(?<![\w*])\*(?=\S)([^*\n]*[^*\s])\*(?![\w*])", text)


def outside_code(text):
    return re.sub(r"```.*?```|`[^`\n]+`", "", text, flags=re.DOTALL)


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("**[Open PR](https://ex.test/p/7)**", "*<https://ex.test/p/7|Open PR>*"),
        ("[**big**](https://ex.test)", "*<https://ex.test|big>*"),
        ("**<https://ex.test/p/7**>", "*<https://ex.test/p/7>*"),
        ("[a **b** c](https://ex.test)", "<https://ex.test|a b c>"),
        ("**see [x](https://ex.test) now**", "*see <https://ex.test|x> now*"),
    ],
)
def test_c002_bold_and_links(markdown, text):
    assert one(markdown) == text


def test_c003_a_heading_is_one_bold_run():
    text = one(
        "### **Part A**: set up\n# **Outcome**\n## plain words\n#### a `b` [c](https://ex.test)"
    )
    assert text == ("*Part A: set up*\n*Outcome*\n*plain words*\n*a `b` <https://ex.test|c>*")


@pytest.mark.parametrize("fence", ["```python\nx = 1\n```", "~~~sh\nx = 1\n~~~", "    x = 1"])
def test_c005_fences_are_bare(fence):
    assert one(fence) == "```\nx = 1\n```"


def test_c006_code_spans_with_backticks_keep_their_characters():
    text = one("use `` `**x**` `` and ``a`b`` but **this** is bold")
    assert text == "use ``` `**x**` ``` and ``` a`b ``` but *this* is bold"
    assert bold_runs(outside_code(text)) == ["this"]


def test_c008_mixed_links_and_escapes():
    text = one(
        'Read <https://ex.test/g|guide>, [q](https://ex.test/?a=1&b=2), A&amp;B and it\'s "quoted"'
    )
    assert text == (
        "Read <https://ex.test/g|guide>, <https://ex.test/?a=1&amp;b=2|q>, "
        'A&amp;B and it\'s "quoted"'
    )


def test_c009_what_slack_escaped_is_decoded_once_and_escaped_once():
    typed = 'vector<int> v; if (p && q) say "&lt;"'
    raw = 'vector&lt;int&gt; v; if (p &amp;&amp; q) say "&amp;lt;"'
    assert plain(raw, "", Names()) == typed
    assert plain(f"`{raw}`", "", Names()) == f"`{typed}`"
    assert one(f"`{typed}`") == f"`{raw}`"


def test_c011_pipes_and_brackets_end_no_link():
    text = one("[status](https://evil.test/?x=1|bank.test) and [a|b > c](https://ex.test)")
    assert text == ("<https://evil.test/?x=1%7Cbank.test|status> and <https://ex.test|a∣b &gt; c>")


@pytest.mark.parametrize("label", ["bank.test", "https://bank.test/in", "go to www.bank.com now"])
def test_c011_a_label_that_names_another_host_shows_where_it_leads(label):
    assert one(f"[{label}](https://evil.test/a)") == f"{label} (<https://evil.test/a>)"


@pytest.mark.parametrize(
    "label", ["setup.py", "core/model.py", "ex.test", "docs.ex.test", "README.md"]
)
def test_c011_file_names_and_the_true_host_are_fine_labels(label):
    assert one(f"[{label}](https://docs.ex.test/a)") == f"<https://docs.ex.test/a|{label}>"


def test_c011_mail_addresses():
    assert one("<me@ex.test> [mail me@ex.test](mailto:me@ex.test)") == (
        "<mailto:me@ex.test|me@ex.test> <mailto:me@ex.test|mail me@ex.test>"
    )


def test_c013_bold_beside_korean_letters():
    text = one(
        "배포는 **금요일**에 합니다. **컨테이너(Container)**를 쓰고 `run_all`로 확인. "
        "2(낮음)**3(중간)**4(높음)"
    )
    assert bold_runs(text) == ["금요일", "컨테이너(Container)", "3(중간)"]
    assert "`run_all`" in text
    assert shown(text) == (
        "배포는 *금요일*에 합니다. *컨테이너(Container)*를 쓰고 `run_all`로 확인. "
        "2(낮음)*3(중간)*4(높음)"
    )


@pytest.mark.parametrize(
    "markdown",
    [
        "日本語の**強調**です",
        "这是**粗体**文字",
        "이것은*기울임*체",
        "앞~~취소~~뒤",
        "앞`코드`뒤",
        "pre**fix**ed",
    ],
)
def test_c013_every_mark_beside_letters_has_an_edge(markdown):
    text = one(markdown)
    assert re.search(r"\w\u200b[*_~`][^*_~`\u200b]+[*_~`]\u200b\w", text)


def test_c013_no_edge_within_code_names_and_addresses():
    source = "한글 `a**b**c` run_all의 https://ex.test/run_all를 [링크](https://ex.test/a_b)로"
    text = one(source)
    for kept in (
        "`a**b**c`",
        "run_all의",
        "<https://ex.test/run_all>",
        "<https://ex.test/a_b|링크>",
    ):
        assert kept in text


TABLES = r"""# 비교

|이름|크기|상태|
|----|---:|:--:|
|한글 셀|1|좋음|
|ascii|22|😀|
|日本語|333|-|

그 다음

|키|값|
|-|-|
|`a\|b`|1|
|빈칸||
"""


def test_c014_tables_are_monospace_and_padded_by_width():
    golden = GOLDEN.read_text("utf-8")
    text = one(TABLES)
    assert text == golden.rstrip("\n")
    first, second = re.findall(r"```\n(.*?)\n```", text, re.DOTALL)
    columns = [[width(cell) for cell in line.split("|")[:-1]] for line in first.split("\n")]
    assert columns[0] == columns[2] == columns[3] == columns[4]
    assert "a|b  | 1" in second


def test_a_table_too_wide_for_a_chat_is_a_list():
    wide = "|Option|What it costs|\n|-|-|\n|**A**|" + "many words " * 12 + "|\n|B||"
    assert one(wide) == (
        "• *Option*: *A*\n  *What it costs*: " + ("many words " * 12).strip() + "\n• *Option*: B"
    )


def test_c019_everything_added_is_counted():
    for fill in range(MAX_BYTES - 40, MAX_BYTES + 5):
        body = "x" * (fill - 60) + "\n" + "y" * 60
        for text in render(f"```\n{body}\n```", "label"):
            assert utf8_bytes(text) <= MAX_BYTES
            assert text.count("```") == 2


def test_c019_an_absurd_info_string_is_dropped():
    texts = render("```" + "i" * 1980 + "\n" + "line of code\n" * 500 + "```", "claude")
    assert all(utf8_bytes(text) <= MAX_BYTES for text in texts)
    assert sum(text.count("line of code") for text in texts) == 500


@pytest.mark.parametrize("source", ["A" * 9000, "```\n" + "A" * 9000 + "\n```"])
def test_c020_a_run_without_spaces_is_cut_hard(source):
    texts = render(source, "claude")
    assert len(texts) == 3
    assert sum(text.count("A") for text in texts) == 9000


@pytest.mark.parametrize("limit", [0, 5, -1])
def test_c020_silly_limits_are_refused(limit):
    with pytest.raises(BadSettings, match="too small"):
        render("text", limit=limit)


def test_c021_graphemes_stay_whole_and_halves_are_replaced():
    source = "a" * (MAX_BYTES - 3) + FAMILY + "🇰🇷" + HANGUL
    texts = render(source + "\ud83d")
    assert [g for text in texts for g in graphemes(text)] == graphemes(source + "\ufffd")
    assert all(text.encode("utf-8") for text in texts)
    assert sum(text.count(FAMILY) for text in texts) == 1
    assert sum(text.count("🇰🇷") for text in texts) == 1
    assert sum(text.count(HANGUL) for text in texts) == 1


def test_c022_one_unit_measures_and_cuts():
    texts = render("😀" * 1500)
    assert all(utf8_bytes(text) <= MAX_BYTES for text in texts)
    assert "".join(texts) == "😀" * 1500


@pytest.mark.parametrize("before", range(2940, 3000, 3))
def test_c026_links_and_entities_are_not_cut(before):
    link = "<https://ex.test/" + "p" * 40 + "|label>"
    source = ("word " * 1000)[:before] + link + " " + "word " * 590 + "< " * 20 + "x" * 3000
    texts = render(source, limit=3000)
    assert sum(text.count(link) for text in texts) == 1
    for text in texts:
        bare = text.replace(link, "")
        assert "<" not in bare
        assert bare.count("&") == bare.count("&lt;")
        assert utf8_bytes(text) <= 3000


@pytest.mark.parametrize(
    "nothing", ["", "\n \u200b\n", "---", "\ufeff", "```\n\n```", "\u200d \u2060", "&nbsp;"]
)
def test_c029_nothing_to_see_is_nothing_to_send(nothing):
    assert render(nothing, "claude") == ()


def test_nothing_pings():
    text = one("<!channel> <!here|x> <@U0ALICE> <#C1|g> <!subteam^S1> @channel `<@U1>` & <b>")
    assert re.search(r"<[!@#]", text) is None
    assert text == (
        "&lt;!channel&gt; &lt;!here|x&gt; &lt;@U0ALICE&gt; &lt;#C1|g&gt; &lt;!subteam^S1&gt; "
        "@channel `&lt;@U1&gt;` &amp; &lt;b&gt;"
    )
    assert escape("<!here> & co") == "&lt;!here&gt; &amp; co"


def test_lists_tasks_quotes_and_rules():
    source = (
        "Intro:\n\n- a\n- b **c**\n  - d\n    1. e\n    2. f\n\n      more\n- [ ] g\n- [x] h\n\n"
        "> q one\n> two\n>\n> > deep\n\nend\n\n---\n\n3. x\n4. y"
    )
    assert one(source) == (
        "Intro:\n• a\n• b *c*\n  ◦ d\n    1. e\n    2. f\n    more\n☐ g\n☑ h\n\n"
        "> q one\n> two\n> ▏ deep\n\nend\n\n────────────\n\n3. x\n4. y"
    )


def test_a_mark_ends_with_its_line():
    assert one("**a\nb** c") == "*a*\n*b* c"


def test_backticks_in_a_label_open_no_code():
    assert one("[a `b` ``` c](https://ex.test) `d`").count("`") == 2


def test_strike_and_both():
    assert one("~~old~~ ***both*** **a *b* c**") == "~old~ *_both_* *a _b_ c*"


def test_literal_marks_are_not_formatting():
    assert one("__init__ and x ~ y, 2 * 3 * 4") == "`__init__` and x ~ y, 2 * 3 * 4"
    text = one("\\*not bold\\*")
    assert text.replace("\u200a", "") == "*not bold*"
    assert bold_runs(text) == []
    assert one("\\> no quote").startswith(ZERO_WIDTH + "&gt;")


def test_code_is_never_touched():
    code = "a **b** __c__ <d> & [e](f) ~~g~~ :tada: @here\n\n\tindented\n  # no heading"
    text = one(f"```\n{code}\n```")
    assert text == f"```\n{escape(code)}\n```"


def test_a_fence_within_a_fence_does_not_end_it():
    text = one("````\n```py\nx\n```\n````")
    assert text.count("```") == 2
    assert shown(text) == "```\n```py\nx\n```\n```"


def test_labels():
    assert one("text", "claude") == "*claude*\ntext"
    assert one("text", "a <b> & c") == "*a &lt;b&gt; &amp; c*\ntext"
    assert one("text", "two\nlines") == "*two lines*\ntext"
    texts = render("word " * 2000, "architect")
    assert len(texts) == 3
    for at, text in enumerate(texts, 1):
        assert text.startswith(f"*architect ({at}/3)*\nword")
    assert all(not text.startswith("*") for text in render("word " * 2000))


def test_an_endless_label_is_shortened():
    texts = render("word " * 2000, "n" * 5000)
    assert all(utf8_bytes(text) <= MAX_BYTES for text in texts)
    assert texts[0].split("\n")[0].startswith("*nnnn")
    assert len(render("word " * 100, "&" * 5000, limit=100)) > 5


def test_a_long_quote_stays_a_quote():
    texts = render("> " + "word " * 2000)
    assert all(text.startswith("> word") for text in texts)


def test_a_message_does_not_begin_with_an_accidental_quote():
    for text in render("a > b " * 2000):
        assert not text.startswith("&gt;")


@settings(max_examples=60, deadline=None)
@given(answers(), st.sampled_from(["", "claude", "설계자 & co"]), st.sampled_from([120, 400, 3900]))
def test_laws(answer, label, limit):
    texts = render(answer, label, limit=limit)
    once = without_repeated_headers(texts)
    numbers = [word for text in once for word in words(text)]
    assert numbers == words(answer)  # all, once, in order
    for atom in (FAMILY, "🇰🇷", "https://ex.test/"):
        assert sum(text.count(atom) for text in once) == answer.count(atom)
    for at, text in enumerate(texts, 1):
        assert utf8_bytes(text) <= limit
        assert text.count("```") % 2 == 0
        if label:
            number = f" ({at}/{len(texts)})" if len(texts) > 1 else ""
            assert text.startswith(f"*{escape(label)}{number}*\n")
        assert re.search(r"<(?!https://ex\.test/\d\?a=1&amp;b=2[|>])", text) is None
        assert re.search(r"&(?!(?:amp|lt|gt);)", text) is None
        for link in re.findall(r"<https[^>]*>", text):
            assert re.fullmatch(r"<https://ex\.test/\d\?a=1&amp;b=2(?:\|[^<>|\n]+)?>", link)


@settings(max_examples=60, deadline=None)
@given(st.text("abc한글é😀 .,()&<\n", max_size=3000), st.sampled_from([64, 200, 3900]))
def test_joined_pieces_are_the_text(text, limit):
    """White space aside, for a cut may stand for a space."""
    text = re.sub(" +", " ", text)  # four of them would be code
    texts = render(text, limit=limit)
    back = "".join(texts).replace("&lt;", "<").replace("&amp;", "&")
    assert "".join(shown(back).split()) == "".join(text.split())


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="`")), st.integers(64, 200))
def test_any_text_at_all(text, limit):
    for part in render(text, "x", limit=limit):
        assert utf8_bytes(part) <= limit


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("abc 가😀&<>*`_-#", max_size=60), min_size=1, max_size=40))
def test_code_comes_back_as_it_was(lines):
    code = "\n".join(lines)
    texts = render(f"~~~\n{code}\n~~~", limit=300)
    if not code.strip():
        return
    inner = [re.fullmatch(r"```\n(.*)\n```", text, re.DOTALL) for text in texts]
    back = "".join(found[1] for found in inner).replace(ZERO_WIDTH, "")
    assert back.replace("\n", "") == escape(code).replace("\n", "")
