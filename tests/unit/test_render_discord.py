"""Discord's Markdown: the field cases by their numbers, then the laws."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.discord.render import MAX_UNITS, escape, render
from core.errors import BadSettings
from core.markup.measure import graphemes, utf16_units
from tests.unit.answers import ZERO_WIDTH, answers, without_repeated_headers, words
from tests.unit.test_render_slack import FAMILY, HANGUL, TABLES

GOLDEN = Path(__file__).parents[1] / "fixtures" / "render" / "tables.discord.txt"


def one(markdown, label=""):
    (text,) = render(markdown, label)
    return text


def shown(text):
    """What a reader sees of literal text: backslashes taken away as Discord does."""
    return re.sub(r"\\([^0-9A-Za-z\s])", r"\1", text).replace(ZERO_WIDTH, "")


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("**[Open PR](https://ex.test/p/7)**", "**[Open PR](https://ex.test/p/7)**"),
        ("[**big**](https://ex.test)", "**[big](https://ex.test)**"),
        ("**<https://ex.test/p/7**>", "**<https://ex.test/p/7>**"),
        ("https://ex.test/a_b를", "<https://ex.test/a_b>를"),
        ("<https://ex.test/g|guide>", "[guide](https://ex.test/g)"),
        ("[a|b > c](https://ex.test)", "[a|b > c](https://ex.test)"),
        ("[w](https://ex.test/a_(b))", "[w](https://ex.test/a_%28b%29)"),
        ("[a\\]b](https://ex.test)", "[a\\]b](https://ex.test)"),
        ("[m](mailto:a@ex.test) <a@ex.test>", "m (a@ex.test) a@ex.test"),
    ],
)
def test_c002_c011_links(markdown, text):
    assert one(markdown) == text


@pytest.mark.parametrize("label", ["bank.test", "https://bank.test", "https://evil.test/b"])
def test_c011_a_label_that_looks_like_an_address_shows_the_target(label):
    assert one(f"[{label}](https://evil.test/a)") == f"{label} (<https://evil.test/a>)"


def test_a_link_discord_would_not_see_is_not_made_one():
    assert one("\\[x](https://ex.test)") == "[x]\\(<https://ex.test>)"


def test_c003_headings_stay_and_deeper_ones_are_bold():
    text = one("# **Outcome**\n## b\n### **Part A**: set up\n#### `deep` end")
    assert text == "# **Outcome**\n## b\n### **Part A**: set up\n**`deep` end**"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("```python\nx = 1\n```", "```python\nx = 1\n```"),
        ("~~~sh\nls\n~~~", "```sh\nls\n```"),
        ("```c++ title=1\nx\n```", "```c++\nx\n```"),
        ("```언어\nx\n```", "```\nx\n```"),
    ],
)
def test_c005_fences_keep_their_language(source, text):
    assert one(source) == text


def test_c006_code_spans_keep_their_characters():
    text = one("use `` `**x**` `` and ``a`b`` and `c**d` but **this** is bold")
    assert text == "use `` `**x**` `` and `` a`b `` and `c**d` but **this** is bold"


def test_c013_bold_beside_korean_letters():
    source = (
        "배포는 **금요일**에 합니다. **컨테이너(Container)**를 쓰고 `run_all`로 확인. "
        "2(낮음)**3(중간)**4(높음)"
    )
    text = one(source)
    assert text == source
    # Discord's own rule for bold, which knows no flanking.
    assert re.findall(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)", text) == [
        "금요일",
        "컨테이너(Container)",
        "3(중간)",
    ]


def test_c014_tables_are_monospace():
    assert one(TABLES) == GOLDEN.read_text("utf-8").rstrip("\n")


def test_c017_what_only_discord_reads_as_markup_is_literal():
    source = (
        "run a || b || c, then __init__ and __main__; # not a heading mid-line; > quoted\n-# tiny"
    )
    text = one(source)
    assert text == (
        "run a \\|\\| b \\|\\| c, then \\_\\_init\\_\\_ and \\_\\_main\\_\\_; "
        "# not a heading mid-line; > quoted\n\\-# tiny"
    )
    assert shown(text) == source
    assert one(f"```\n{source}\n```") == f"```\n{source}\n```"
    assert one("`a || b __x__ \\*`") == "`a || b __x__ \\*`"


@pytest.mark.parametrize(
    "line", ["\\# h", "\\> q", "\\>>> q", "-# tiny", "\\- item", "1\\. one", "2\\) two", "\\* item"]
)
def test_c017_line_starts_are_guarded(line):
    plain = shown(line)
    for source in (line, f"first\n{line}"):
        last = one(source).split("\n")[-1]
        assert re.match(r"(#{1,3}|-#|>|>>>|[-+*]|\d+[.)]) ", last) is None
        assert shown(last) == plain


@pytest.mark.parametrize(
    "text",
    [
        "*a*b",
        "snake_case_name",
        "_x",
        "a_",
        "~~x~~",
        "~x~",
        "||a||",
        "`x",
        "C:\\dir\\",
        "a\\*b",
        "x](y)",
        "a[0](b)",
        "변수_이름_값",
        "<@1> <@&2> <#3> <:e:4> <t:5:R> </cmd:6> <b>",
    ],
)
def test_literal_text_is_shown_as_it_is(text):
    assert shown(escape(text)) == text


def test_identifiers_stay_copyable():
    assert escape("run_all(a_b) x*y a|b ~/c") == "run_all(a_b) x\\*y a|b ~/c"


def test_nothing_pings():
    text = one(
        "@everyone @here <@12> <@!12> <@&34> <#56> <t:1> me@here.test `@everyone` "
        "[@everyone](https://ex.test) **@here**",
        "@everyone",
    )
    head, body = text.split("\n")
    assert head == f"**@{ZERO_WIDTH}everyone**"
    outside = re.sub(r"`[^`]*`", "", body)
    assert re.search(r"@(everyone|here)|<@[!&]?\d|(?<!\\)<[#t:]", outside) is None
    assert "`@everyone`" in body
    assert "@everyone @here <@12>" in shown(body)


def test_lists_tasks_quotes_and_rules():
    source = (
        "Intro:\n\n- a\n- b **c**\n  - d\n    1. e\n- [ ] g\n- [x] h\n\n> q one\n> two\n>\n"
        "> ```py\n> x\n> ```\n> > deep\n\n---\n\n3. x\n4. y"
    )
    assert one(source) == (
        "Intro:\n- a\n- b **c**\n  - d\n    1. e\n- ☐ g\n- ☑ h\n\n> q one\n> two\n> ```py\n> x\n"
        "> ```\n> ▏ deep\n\n────────────\n\n3. x\n4. y"
    )


def test_touching_marks_are_kept_apart():
    assert one("**a***b*") == f"**a**{ZERO_WIDTH}*b*"
    assert one("***both*** ~~x~~") == "***both*** ~~x~~"
    # Together their ticks would be a fence.
    assert one("$x_1$``a`b``") == f"`$x_1$`{ZERO_WIDTH}`` a`b ``"
    assert one("``a`b``<kbd>c</kbd>") == f"`` a`b ``{ZERO_WIDTH}`c`"


def test_c019_everything_added_is_counted():
    for fill in range(1960, 2004):
        body = "x" * (fill - 60) + "\n" + "y" * 60
        for text in render(f"```python\n{body}\n```", "label"):
            assert utf16_units(text) <= MAX_UNITS
            assert text.count("```") == 2
            assert "```python\n" in text


def test_c019_an_absurd_info_string():
    texts = render("```" + "i" * 1980 + "\n" + "line of code\n" * 480 + "```")
    assert all(utf16_units(text) <= MAX_UNITS and text.count("```") == 2 for text in texts)
    assert sum(text.count("line of code") for text in texts) == 480


@pytest.mark.parametrize("source", ["A" * 9000, "```js\n" + "A" * 9000 + "\n```"])
def test_c020_a_run_without_spaces_is_cut_hard(source):
    texts = render(source, "claude")
    assert len(texts) == 5
    assert all(utf16_units(text) <= MAX_UNITS for text in texts)
    assert sum(text.count("A") for text in texts) == 9000


@pytest.mark.parametrize("limit", [0, 5, -1])
def test_c020_silly_limits_are_refused(limit):
    with pytest.raises(BadSettings, match="too small"):
        render("text", limit=limit)


def test_c021_graphemes_stay_whole_and_halves_are_replaced():
    source = "a" * 1997 + FAMILY + "🇰🇷" + HANGUL
    texts = render(source + "\ud83d")
    assert all(text.encode("utf-8") and utf16_units(text) <= MAX_UNITS for text in texts)
    assert [g for text in texts for g in graphemes(text)] == graphemes(source + "\ufffd")


def test_c022_one_unit_measures_and_cuts():
    texts = render("😀" * 1500)
    assert [utf16_units(text) <= MAX_UNITS for text in texts] == [True, True]
    assert "".join(texts) == "😀" * 1500


@pytest.mark.parametrize("nothing", ["", "\n \u200b\n", "---", "```\n```", "\u2060"])
def test_c029_nothing_to_see_is_nothing_to_send(nothing):
    assert render(nothing, "claude") == ()


def test_labels_are_numbered_when_there_are_several():
    assert one("text", "claude_x") == "**claude_x**\ntext"
    texts = render("word " * 1000, "a*b")
    assert [text.split("\n")[0] for text in texts] == [f"**a\\*b ({at}/3)**" for at in (1, 2, 3)]


def test_a_message_does_not_begin_with_accidental_markup():
    for text in render("a # b > c - d 1. e -# f " * 900):
        assert re.match(r"(#|>|-|-#|\d+\.) ", text) is None


@settings(max_examples=60, deadline=None)
@given(answers(), st.sampled_from(["", "claude", "설계자 & co"]), st.sampled_from([120, 400, 2000]))
def test_laws(answer, label, limit):
    texts = render(answer, label, limit=limit)
    once = without_repeated_headers(texts)
    numbers = [word for text in once for word in words(text)]
    assert numbers == words(answer)  # all, once, in order
    for atom in (FAMILY, "🇰🇷", "https://ex.test/"):
        assert sum(text.count(atom) for text in once) == answer.count(atom)
    for at, text in enumerate(texts, 1):
        assert utf16_units(text) <= limit
        assert text.count("```") % 2 == 0
        if label:
            number = f" ({at}/{len(texts)})" if len(texts) > 1 else ""
            assert text.startswith(f"**{label}{number}**\n")
        for url in re.findall(r"https://\S*", text):
            assert re.match(r"https://ex\.test/\d\?a=1&b=2[)>]", url)


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec="utf-8")), st.integers(64, 200))
def test_any_text_at_all(text, limit):
    for part in render(text, "x", limit=limit):
        assert utf16_units(part) <= limit


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("abc 가😀&<>*`_-#\\|", max_size=60), min_size=1, max_size=40))
def test_code_comes_back_as_it_was(lines):
    code = "\n".join(lines)
    texts = render(f"~~~py\n{code}\n~~~", limit=300)
    if not code.strip():
        return
    inner = [re.fullmatch(r"```py\n(.*)\n```", text, re.DOTALL) for text in texts]
    back = "".join(found[1] for found in inner).replace(ZERO_WIDTH, "")
    assert back.replace("\n", "") == code.replace("\n", "")


def test_code_in_nested_quotes_is_not_touched():
    assert one("> a\n> > ```py\n> > x\n> > ```") == "> a\n> ```py\n> x\n> ```"
    assert one("> > |a|b|\n> > |-|-|\n> > |1|2|") == "> ```\n> a | b\n> --+--\n> 1 | 2\n> ```"


@pytest.mark.parametrize("limit", [100, MAX_UNITS])
def test_a_header_without_an_end_leaves_no_row_unfenced(limit):
    header = "h" + "\u0301" * 3000
    texts = render(f"|{header}|b|\n|-|-|\n|@everyone|{'@everyone ' * 9}|\n|x|y|", limit=limit)
    for text in texts:
        assert utf16_units(text) <= limit
        assert "@everyone" not in re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert sum(text.count("@everyone") for text in texts) == 10


def test_no_address_holds_a_mention():
    assert one("https://ex.test/x@everyone [a](https://ex.test/@here) https://ex.test/p@1.2") == (
        "<https://ex.test/x%40everyone> [a](https://ex.test/%40here) <https://ex.test/p@1.2>"
    )
