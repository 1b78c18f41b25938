"""The dialect: where it follows CommonMark, and where it must not."""

import pytest

from core.markup.parse import parse
from core.markup.tree import (
    Bold,
    Code,
    CodeSpan,
    Heading,
    Italic,
    LineBreak,
    Link,
    List,
    ListItem,
    Paragraph,
    Quote,
    Rule,
    Strike,
    Table,
    Text,
    plain,
)


def line(markdown):
    (block,) = parse(markdown)
    assert isinstance(block, Paragraph)
    return block.children


def styled(markdown, kind):
    return [plain(node.children) for node in line(markdown) if isinstance(node, kind)]


@pytest.mark.parametrize(
    ("markdown", "bold"),
    [
        ("**금요일**에", ["금요일"]),
        ("**컨테이너(Container)**를 쓴다", ["컨테이너(Container)"]),
        ("2(낮음)**3(중간)**4(높음)", ["3(중간)"]),
        ("**Mark(🚩)**down", ["Mark(🚩)"]),
        ("0(OFF)**1(ON)**0(OFF)", ["1(ON)"]),
        ("함수**(중요)**입니다", ["(중요)"]),
        ("**中文文本（带括号）。**这句子", ["中文文本（带括号）。"]),
        ("**「重要」**です。**注意！**次", ["「重要」", "注意！"]),
        ('**"인용"**은', ['"인용"']),
        ("**run_all()**을 그리고 **`x`**를", ["run_all()", "x"]),
        ("이것은**굵다**.", ["굵다"]),
        ("__굵게__는", ["굵게"]),
        ("__two words__ here", ["two words"]),
        ("f(x)**2 + g(x)**3", []),
        ("foo(**kwargs) and bar(**kwargs)", []),
        ("def f(*args, **kwargs): g(**kwargs)", []),
        ("a ** b ** c", []),
    ],
)
def test_bold_beside_letters(markdown, bold):
    assert styled(markdown, Bold) == bold


@pytest.mark.parametrize(
    ("markdown", "italic"),
    [
        ("*강조(em)*는", ["강조(em)"]),
        ("_강조_는 그렇다", ["강조"]),
        ("변수_이름_값", []),
        ("snake_case_name and __init__을", []),
        ("_it_ and *it*", ["it", "it"]),
    ],
)
def test_italics_beside_letters(markdown, italic):
    assert styled(markdown, Italic) == italic


def test_strikes_beside_letters():
    assert styled("~~취소(x)~~를 ~~b~~", Strike) == ["취소(x)", "b"]


@pytest.mark.parametrize("name", ["__init__", "__main__", "__a_b__", "x.__class__.y"])
def test_names_with_underscores_are_no_markup(name):
    assert line(f"use {name} here") == (Text(f"use {name} here"),)


def test_money_is_no_formula():
    assert styled("costs $5 **now** or $6, $a and \\[x\\]", Bold) == ["now"]
    assert plain(line("\\[x\\] \\*y\\*")) == "[x] *y*"


def test_tags_that_format_nothing_are_text_and_entities_are_decoded_once():
    assert line("<T>x</T> &amp;amp; A&amp;B &lt;i&gt; <!-- c --> <!channel>") == (
        Text("<T>x</T> &amp; A&B <i> <!-- c --> <!channel>"),
    )


@pytest.mark.parametrize(
    ("markdown", "url", "label"),
    [
        ("<https://ex.test/g|guide>", "https://ex.test/g", "guide"),
        ("<https://ex.test/?a=1&b=2>", "https://ex.test/?a=1&b=2", "https://ex.test/?a=1&b=2"),
        ("[a|b > c](https://ex.test)", "https://ex.test", "a|b > c"),
        ("[s](https://evil.test/?x=1|bank.test)", "https://evil.test/?x=1%7Cbank.test", "s"),
        ("[s](<https://ex.test/a b>)", "https://ex.test/a%20b", "s"),
        ("https://ex.test/a_b_c*d*", "https://ex.test/a_b_c*d", "https://ex.test/a_b_c*d"),
        ("![chart](https://ex.test/c.png)", "https://ex.test/c.png", "chart"),
        ("<https://ex.test/?a=1&amp;b=2|q &amp; a>", "https://ex.test/?a=1&b=2", "q & a"),
        ("<HTTPS://ex.test>", "HTTPS://ex.test", "HTTPS://ex.test"),
        ("https://ex.test/?a=1&amp;b=2", "https://ex.test/?a=1&b=2", "https://ex.test/?a=1&b=2"),
        ("<me@ex.test>", "mailto:me@ex.test", "me@ex.test"),
        (
            "https://ko.test/wiki/한국어",
            "https://ko.test/wiki/한국어",
            "https://ko.test/wiki/한국어",
        ),
    ],
)
def test_links(markdown, url, label):
    found = line(markdown)
    assert isinstance(found[0], Link)
    assert (found[0].url, plain(found[0].children)) == (url, label)


@pytest.mark.parametrize(
    ("markdown", "rest"),
    [
        ("https://ex.test/run를 봐", "를 봐"),
        ("https://ex.test/x.", "."),
        ("https://ex.test/a_(b)), ok", "), ok"),
        ("https://ex.test/?", "?"),
        ("https://ex.test&gt; x", "> x"),
    ],
)
def test_a_bare_address_ends_where_the_sentence_goes_on(markdown, rest):
    assert line(markdown)[1:] == (Text(rest),)


@pytest.mark.parametrize(
    "markdown",
    [
        "**[x](https://ex.test)**",
        "**<https://ex.test|x>**",
        "**<https://ex.test|x**>",
        "**[x](https://ex.test**)",
        "[**x](https://ex.test)**",
    ],
)
def test_bold_crossed_with_a_link(markdown):
    assert line(markdown) == (Bold((Link("https://ex.test", (Text("x"),)),)),)


def test_links_a_chat_cannot_follow_keep_their_target():
    assert line("[d](docs/a.md) [e](#top) [j](javascript:x)") == (
        Text("d (docs/a.md) e [j](javascript:x)"),
    )


def test_no_line_vanishes_as_a_link_definition():
    assert plain(line("[WARN]: disk")) == "[WARN]: disk"
    assert plain(line("[docs]: https://ex.test/a")) == "[docs]: https://ex.test/a"
    assert parse("[1]: https://ex.test\n\nsee [a][1]") == (
        Paragraph((Text("see "), Link("https://ex.test", (Text("a"),)))),
    )


def test_blocks():
    text = (
        "# A *b*\n\none\ntwo\n\n- [ ] open\n- [x] done\n  1. one\n\n> q\n\n"
        "~~~py title=1\nx  = `1`\n~~~\n\n***\n"
    )
    assert parse(text) == (
        Heading(1, (Text("A "), Italic((Text("b"),)))),
        Paragraph((Text("one"), LineBreak(), Text("two"))),
        List(
            (
                ListItem((Paragraph((Text("open"),)),), done=False),
                ListItem(
                    (
                        Paragraph((Text("done"),)),
                        List((ListItem((Paragraph((Text("one"),)),)),), ordered=True),
                    ),
                    done=True,
                ),
            )
        ),
        Quote((Paragraph((Text("q"),)),)),
        Code("py", "x  = `1`"),
        Rule(),
    )


def test_a_list_keeps_its_first_number():
    (block,) = parse("7. a\n8. b")
    assert (block.ordered, block.start, len(block.items)) == (True, 7, 2)


def test_a_table():
    assert parse("|a|b|c|\n|-|:-:|-:|\n|한|`x\\|y`|\n") == (
        Table(
            header=((Text("a"),), (Text("b"),), (Text("c"),)),
            rows=(((Text("한"),), (CodeSpan("x|y"),), ()),),
            align=("", "center", "right"),
        ),
    )


def test_a_code_span_keeps_its_characters():
    assert line("`` `**x**` `` ``a`b``") == (CodeSpan("`**x**`"), Text(" "), CodeSpan("a`b"))


@pytest.mark.parametrize(
    "markdown",
    [
        "> " * 200 + "deep",
        "- " * 200 + "deep",
        "".join("  " * i + "- x\n" for i in range(60)) + "  " * 60 + "- deep",
        "![" * 3000 + "deep",
        "**[" * 2000 + "deep",
        "[" * 3000 + "deep",
    ],
    ids=["quotes", "bullets", "list", "images", "bold", "brackets"],
)
def test_nothing_nested_beyond_reason_is_lost(markdown):
    assert "deep" in repr(parse(markdown))


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ("`a|b`|x", ["a|b", "x"]),
        ("|``a`|b``|`x|y`|", ["a`|b", "x|y"]),
        ("a\\|b|`c\\|d`", ["a|b", "c|d"]),
        ("a|b|c|d", ["a", "b | c | d"]),
        ("`a|b|c", ["`a", "b | c"]),
        ("|a|b||", ["a", "b"]),
        ("a", ["a", ""]),
    ],
)
@pytest.mark.parametrize("around", ["", "> ", "- "])
def test_no_cell_of_a_row_is_dropped(around, row, cells):
    again = around.replace("-", " ")
    (block,) = parse(f"{around}|h1|h2|\n{again}|-|-|\n{again}{row}")
    while not isinstance(block, Table):
        block = block.items[0].blocks[0] if isinstance(block, List) else block.blocks[0]
    assert [plain(cell) for cell in block.rows[0]] == cells
