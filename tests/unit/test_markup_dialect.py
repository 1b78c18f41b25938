"""What agents write that is not CommonMark: formulas, HTML, globs, alerts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.markup.parse import parse
from core.markup.tree import (
    Bold,
    Code,
    CodeSpan,
    Italic,
    LineBreak,
    Link,
    List,
    Paragraph,
    Quote,
    Strike,
    Text,
    plain,
)


def line(markdown):
    (block,) = parse(markdown)
    assert isinstance(block, Paragraph)
    return block.children


# --- formulas ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "formula",
    [
        "$x^*$",
        "$x_1 + y_2$",
        "$a*b*c$",
        r"$\{a_1, *b*\}$",
        r"$$\sum_{i}^{n} a_i * b_i$$",
        r"\(a_i * b_i * c\)",
        r"\[x = y\]",
    ],
)
def test_formulas_are_code_as_they_are_written(formula):
    assert line(f"so {formula} holds") == (Text("so "), CodeSpan(formula), Text(" holds"))
    assert line(f"{formula}은 *참*")[:2] == (CodeSpan(formula), Text("은 "))


@pytest.mark.parametrize(
    "block",
    [
        "$$\nx = *a* \\\\\ny\n$$",
        "\\[\n- a_1\n= b\n\\]",
        "\\begin{align*}\na &= b \\\\\n\n# c\n\\end{align*}",
    ],
)
@pytest.mark.parametrize(("before", "after"), [("", ""), ("text\n", "\nmore"), ("# h\n", "\n- a")])
def test_formulas_of_several_lines_are_blocks_of_code(block, before, after):
    blocks = parse(before + block + after)
    assert Code("latex", block) in blocks
    assert len(blocks) == 1 + bool(before) + bool(after)


def test_a_formula_in_an_item():
    (items,) = parse("1. a\n   $$\n   x_1\n   $$\n2. b")
    assert isinstance(items, List)
    assert items.items[0].blocks[1] == Code("latex", "$$\nx_1\n$$")


@pytest.mark.parametrize(
    "text",
    [
        "costs $5 and $10_000",
        "$PATH_A and $B_C/$D and ${A_B}",
        "$$ is the pid, $$ again",
        "$$\nunclosed",
        "$n$ of $m$",
        "a$b_c$d",
    ],
)
def test_money_and_variables_are_no_formulas(text):
    assert plain(line(text)) == text.replace("\n", " ")
    assert not any(isinstance(node, CodeSpan) for node in line(text))


# --- HTML ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markdown", "nodes"),
    [
        ("a<br>b<BR />c", (Text("a"), LineBreak(), Text("b"), LineBreak(), Text("c"))),
        ("<kbd>Ctrl</kbd>", (CodeSpan("Ctrl"),)),
        ("<code>a *b* &lt;</code>", (CodeSpan("a *b* <"),)),
        ("<b>a *b*</b>", (Bold((Text("a "), Italic((Text("b"),)))),)),
        ("<em>a</em><del>b</del>", (Italic((Text("a"),)), Strike((Text("b"),)))),
        ("<u>a <mark>b</mark></u>", (Text("a b"),)),
        ("H<sub>2</sub>O x<sup>10</sup>", (Text("H₂O x¹⁰"),)),
        ("x<sup>Q</sup> y<sub>a b</sub>", (Text("x^Q y_(a b)"),)),
        ('<a href="https://e.test/a|b">l</a>', (Link("https://e.test/a%7Cb", (Text("l"),)),)),
        ("<img src='https://e.test/i.png' alt='A'>", (Link("https://e.test/i.png", (Text("A"),)),)),
        ("<details><summary>T</summary>", (Bold((Text("T"),)),)),
    ],
)
def test_tags_mean_what_they_mean(markdown, nodes):
    assert line(markdown) == nodes


@pytest.mark.parametrize(
    "text",
    [
        "List<int> and <T> and <div> and a < b > c",
        "<b> without an end",
        "</b> alone",
        "use the <details> tag here",
        "<a href='javascript:alert(1)'>x</a>",
        "<script>alert(1)</script>",
        "<!-- comment --> <!channel> <!subteam^S1|@x>",
        "<kbd></kbd>",
    ],
)
def test_other_tags_are_text(text):
    assert line(text) == (Text(text),)


def test_details_lose_only_their_tags():
    blocks = parse("<details>\n<summary>Sum *i*</summary>\n\nHidden\n\n</details>\nend")
    assert [plain(block.children).strip() for block in blocks] == ["Sum i", "Hidden", "end"]


def test_tags_in_code_stay():
    assert line("`<b>x</b><br>`") == (CodeSpan("<b>x</b><br>"),)


# --- names of files, alerts, tasks ------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "glob *.py and **/*.py",
        "src/**/*.ts or src/*, lib/*",
        "/* a */ and /* b */",
        "(*.py, *.ts)",
        "f(*args, **kwargs)",
    ],
)
def test_globs_are_text(text):
    assert line(text) == (Text(text),)


@pytest.mark.parametrize("bold", ["src/", "/etc/hosts", ".env", "a/b"])
def test_paths_may_be_bold(bold):
    (node,) = line(f"**{bold}**")
    assert isinstance(node, Bold)
    assert plain(node.children) == bold


def test_alerts_show_their_kind():
    (quote,) = parse("> [!WARNING]\n> careful")
    assert quote == Quote((Paragraph((Bold((Text("Warning"),)), LineBreak(), Text("careful"))),))
    (quote,) = parse("> [!NOTE] inline")
    assert plain(quote.blocks[0].children) == "[!NOTE] inline"


def test_a_task_may_be_empty():
    (tasks,) = parse("- [ ]\n- [x]\n- [x]no")
    assert [item.done for item in tasks.items] == [False, True, None]


# --- anything ------------------------------------------------------------------------------

PIECES = [
    "<b>", "</b>", "<u>", "</u>", "<a href='https://e.test'>", "</a>", "<br>", "$", "$$", "\\(",
    "\\)", "\\[", "\\]", "*", "**", "`", "x", " ", "\n", "_", "<details>", "<summary>",
    "</summary>", "\\begin{a}", "\\end{a}", "|", "|-|\n", "- ", "> ",
]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=80))
def test_nothing_raises(pieces):
    parse("".join(pieces))


@pytest.mark.parametrize(
    "piece", ["<u>", "<b>", "$x_", "<details>\n", "<sup>a", "$$\n", "\\[", "*/"]
)
def test_much_of_it_takes_no_longer_than_its_length(piece):
    """A pattern that looks to the end each time would take minutes here."""
    parse(piece * 6_000)


@pytest.mark.parametrize(
    "text", ["2*3 and 4*5", "2**10 and 3**2", "a*b + c*d", "5 * 3 * 2", "k*(a+b)*c"]
)
def test_products_are_text(text):
    assert line(text) == (Text(text),)


def test_emphasis_within_a_word():
    assert [type(node) for node in line("pre*fix*ed **1**st")] == [Text, Italic, Text, Bold, Text]


@pytest.mark.parametrize(
    "address",
    [
        "https://ex.test/?a=1&section=2&copy=3",
        "https://ex.test/?id=1&lt=3&not=4&para",
        "https://ex.test/?a&sectx;b",
    ],
)
def test_c008_an_address_keeps_its_parameters(address):
    """``&sect`` in ``&section=2`` is no entity: it has no semicolon."""
    link = (Paragraph((Link(address, (Text(address),)),)),)
    assert parse(address) == link
    assert parse(f"<{address}>") == link
    assert parse(f'<a href="{address}">{address}</a>') == link


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("a&#10;# b", "a # b"),
        ("a&#13;&#10;> b", "a  > b"),
        ("<code>a&#x0a;b</code>", "a b"),
        ("[a&#10;b](https://ex.test)", "a b"),
        ('<img src="https://ex.test/i.png" alt="a\nb">', "a b"),
    ],
)
def test_an_entity_begins_no_line(markdown, shown):
    (block,) = parse(markdown)
    assert plain(block.children) == shown
