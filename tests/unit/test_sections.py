"""Documents are cut at their headings, every line is in one section, and fences stay whole."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sources.code.files import is_document
from core.sources.documents import sections as module
from core.sources.documents.finder import passage_of
from core.sources.documents.sections import MAX_SECTION_CHARS, sections

CASES = {
    "headings under headings": (
        "a.md",
        "intro\n# Deploy\ntext\n## Rollback\nhow\n### Fast\nx\n## Checks\ny\n# Other\nz",
        [
            (1, ""),
            (2, "Deploy"),
            (4, "Deploy > Rollback"),
            (6, "Deploy > Rollback > Fast"),
            (8, "Deploy > Checks"),
            (10, "Other"),
        ],
    ),
    "what is within a fence, a list or a quote is no heading": (
        "a.md",
        "# A\n```sh\n# no\n```\n- # no\n\n> # no\n\n~~~\n## no\n```\n## no\n~~~\n    # no\n## B",
        [(1, "A"), (15, "A > B")],
    ),
    "a fence that is never closed goes to the end": ("a.md", "# A\n```\n# no\n", [(1, "A")]),
    "underlined, closed and empty": (
        "a.md",
        "Title\n===\nx\n\nSub **one**\n---\n## [Two](x.md) ##\n#\nlast",
        [(1, "Title"), (5, "Title > Sub one"), (7, "Title > Two"), (8, "")],
    ),
    "levels may be left out": (
        "a.md",
        "# A\n#### D\n## B\n",
        [(1, "A"), (2, "A > D"), (3, "A > B")],
    ),
    "front matter is no heading, its title is one": (
        "a.md",
        '---\ntitle: "Run book"\ntags: x\n---\nfirst\n# Run book\n## Night\nx',
        [(1, "Run book"), (6, "Run book"), (7, "Run book > Night")],
    ),
    "a rule at the top is no front matter": ("a.md", "---\n# A\n", [(1, ""), (2, "A")]),
    "MDX": (
        "a.mdx",
        "import X from 'x'\n\n# A\n<X>\n\n## B\n\n</X>",
        [(1, ""), (3, "A"), (6, "A > B")],
    ),
    "a carriage return ends no line": ("a.md", "x\r# no\n# A", [(1, ""), (2, "A")]),
    "Korean": ("a.md", "# 배포\n## 되돌리기\n절차", [(1, "배포"), (2, "배포 > 되돌리기")]),
    "reStructuredText": (
        "a.rst",
        "=====\nTitle\n=====\n\nSub\n---\n\ntext::\n\n  code\n  ----\n\nMore\n----\n\n- item",
        [(1, "Title"), (5, "Title > Sub"), (13, "Title > More")],
    ),
    "plain text": ("notes.txt", "one\n# two\n\nthree", [(1, "")]),
    "nothing": ("a.md", "", [(1, "")]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_documents_are_cut_at_their_headings(case):
    path, text, wanted = CASES[case]
    assert [(one.first, one.title) for one in sections(path, text.split("\n"))] == wanted


PIECES = st.sampled_from(
    [
        "", "# A", "## B", "```", "~~~", "---", "===", "+++", "- item", "  - inner", "> quote",
        "| a | b |", "|---|---|", "text", "x " * 300, "    code", "<div>", "</div>", "[a]: b",
        "import x", "title: y", "\t", "1. one", "<!--", "-->", ".. note::", "\u2028", "가나다",
    ]
)  # fmt: skip


@given(st.sampled_from(["a.md", "a.mdx", "a.rst", "a.txt"]), st.lists(PIECES, max_size=60))
def test_the_sections_one_after_the_other_are_the_file(path, lines):
    found = sections(path, lines)
    covered = [n for one in found for n in range(one.first, one.last + 1)]
    assert covered == list(range(1, len(lines) + 1))
    for one in found:
        size = sum(len(line) + 1 for line in lines[one.first - 1 : one.last])
        assert size <= MAX_SECTION_CHARS or one.first == one.last


def test_what_is_left_after_a_cut_is_cut_again():
    found = sections("a.md", ["", "x " * 300, "x " * 300])
    assert [(one.first, one.last) for one in found] == [(1, 1), (2, 2), (3, 3)]


def test_a_long_section_is_cut_between_its_blocks():
    paragraphs = [f"paragraph {n} " + "word " * 60 for n in range(12)]
    fence = ["```py", *(f"line_{n} = {n}" for n in range(30)), "", "more = 1", "```"]
    lines = "\n\n".join(["# Long", *paragraphs[:5], "\n".join(fence), *paragraphs[5:]]).split("\n")
    found = sections("a.md", lines)
    assert len(found) > 3
    assert {one.title for one in found} == {"Long"}
    [holder] = [one for one in found if "```py" in lines[one.first - 1 : one.last]]
    assert lines[holder.first - 1 : holder.last].count("```") == 1  # from its beginning to its end
    for one in found[1:]:
        assert lines[one.first - 1].strip()  # nowhere but where a block begins


def test_reading_takes_its_time_in_proportion(monkeypatch):
    monkeypatch.setattr(module, "MAX_SECTION_CHARS", 50)
    lines = ["> " * 200 + "x", "[" * 2_000, "*a_" * 2_000, *["- " * 50 + "x"] * 200] * 2
    assert sections("a.md", lines)[-1].last == len(lines)


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("README.md", True), ("readme", True), ("docs/adr/0001.md", True), ("a/b/GUIDE.rst", True),
        ("docs/notes.txt", True), ("CHANGELOG.txt", True), ("site/page.mdx", True),
        (".github/CONTRIBUTING.md", True), ("requirements.txt", False), ("robots.txt", False),
        ("src/main.py", False), ("data/words.txt", False), ("node_modules/x/README.md", False),
        ("vendor/x/README.md", False), (".moot/skills/x/SKILL.md", False), ("md", False),
        (".claude/skills/x/SKILL.md", False), ("history.py", False),
    ],
)  # fmt: skip
def test_what_was_written_for_people_is_a_document(path, counts):
    assert is_document(path) is counts


def test_an_embedder_is_told_the_headings_and_the_words():
    lines = ["## Rollback", "", "| step | who |", "|---|---|", "| **stop** | `ops` |"]
    assert passage_of("d.md", "Deploy > Rollback", lines, lines) == (
        "Deploy > Rollback. Rollback step who stop ops"
    )
    assert passage_of("docs/run-book.md", "", ["x"], ["x"]) == "run book. x"


def test_thousands_of_headings_are_cut_in_a_time_that_grows_as_they_do():
    lines = [line for n in range(8_000) for line in (f"# Part {n}", "words")]
    began = time.process_time()
    assert len(sections("a.md", lines)) == 8_000
    assert time.process_time() - began < 6.0
