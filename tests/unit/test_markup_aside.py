"""Long code becomes a file: what is named how, what stays, and that nothing else changes."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.markup.aside import PREVIEW_LINES, set_aside
from core.markup.parse import parse
from core.markup.tree import Code, List, Paragraph, Quote

CODE = "".join(f"x{i} = {i}\n" for i in range(100))
DIFF = "diff --git a/s/x.py b/s/x.py\n--- a/s/x.py\n+++ b/s/x.py\n@@ -1 +1 @@\n" + "+a\n" * 80


def indented(by, text=CODE):
    return "".join(by + line + "\n" for line in text.splitlines())


def only(markdown):
    (aside,) = set_aside(markdown, 60, 0)[1]
    return aside


def test_long_code_is_shortened_and_says_so():
    before, after = "Text *a*\r\n\r\n", "\n\nEnd  \n"
    markdown, (aside,) = set_aside(f"{before}```py\n{CODE}```{after}", 60, 0)
    assert (aside.name, aside.text) == ("code.py", CODE)
    shown = indented("", "".join(CODE.splitlines(keepends=True)[:PREVIEW_LINES]))
    note = "… 100 lines in all, as a file: `code.py`\n"
    assert markdown == f"{before}```py\n{shown}```\n{note}{after[1:]}"


@pytest.mark.parametrize(("lines", "chars"), [(100, 0), (0, 0), (0, len(CODE)), (200, 10_000)])
def test_what_is_no_longer_than_allowed_stays(lines, chars):
    markdown = f"a\n```py\n{CODE}```\nb"
    assert set_aside(markdown, lines, chars) == (markdown, ())


def test_one_endless_line_is_cut_and_says_how_long_it_is():
    markdown, (aside,) = set_aside("```js\n" + "가" * 5000 + "\n```", 60, 4000)
    assert aside.text == "가" * 5000 + "\n"
    assert re.fullmatch(
        r"```js\n가+…\n```\n… 5001 characters in all, as a file: `code.js`\n", markdown
    )
    assert len(markdown) < 400


@pytest.mark.parametrize(
    ("before", "info", "name"),
    [
        ("", "python", "code.py"),
        ("", "", "output.txt"),
        ("", "log", "output.log"),
        ("", "c++", "code.cpp"),
        ("", "tsx", "code.tsx"),
        ("", "no-such-language", "output.txt"),
        ("", "py title=src/app.py", "app.py"),
        ("", 'js filename="web/main.mjs" x', "main.mjs"),
        ("", "ts:src/a/index.ts", "index.ts"),
        ("", "src/main.go", "main.go"),
        ("In `src/lib.rs`:\n", "rust", "lib.rs"),
        ("**web/app.js**\n\n", "js", "app.js"),
        ("### docs/설계.md\n", "", "설계.md"),
        ("`C:\\work\\a b\\x.cs`\n", "cs", "code.cs"),
        ("`a\\x.cs`\n", "cs", "x.cs"),
        ("`../../../etc/passwd.d/../x.sh`\n", "sh", "x.sh"),
        ("`evil.exe`\n", "java", "evil.exe.java"),
        ("`.env.py`\n", "py", "env.py"),
        ("see e.g. version 1.2\n", "py", "code.py"),
        (f"`{'n' * 300}.py`\n", "py", "n" * 60 + ".py"),
        ("`src/x.py`\n", "diff", "x.py.diff"),
    ],
)
def test_names(before, info, name):
    assert only(f"{before}```{info}\n{CODE}```").name == name


def test_a_diff_of_one_file_is_named_after_it():
    assert only(f"```\n{DIFF}```").name == "x.py.diff"
    assert only(f"```diff\n{DIFF}+++ b/other.py\n```").name == "changes.diff"


def test_names_are_unique():
    fence = f"```py\n{CODE}```\n"
    _, asides = set_aside(fence + "`Code.py`\n" + fence + fence, 60, 0)
    assert [aside.name for aside in asides] == ["code.py", "Code-2.py", "code-3.py"]


@pytest.mark.parametrize(
    ("markdown", "kind"),
    [
        ("- item\n\n  ```py\n" + indented("  ") + "  ```\n- next", List),
        ("1. ```py\n" + indented("   ") + "   ```\n   more", List),
        ("> q\n> ```py\n" + indented("> ") + "> ```\n> more", Quote),
        ("1. > ~~~~py\n" + indented("   > "), List),
        ("```py\n" + CODE, Code),
    ],
)
def test_code_in_lists_and_quotes_stays_in_them(markdown, kind):
    shortened, (aside,) = set_aside(markdown, 60, 0)
    assert aside.text == CODE
    blocks = parse(shortened)
    assert isinstance(blocks[0], kind)
    assert len(blocks) == (1 if kind is not Code else 2)  # the note stands where the code does
    if markdown.endswith("more"):
        inside = blocks[0].items[0].blocks if kind is List else blocks[0].blocks
        assert inside[-1] == parse("more")[0]


def test_indented_code():
    shortened, (aside,) = set_aside("a\n\n" + indented("    ") + "end\n===", 60, 0)
    assert (aside.name, aside.text) == ("output.txt", CODE)
    assert [type(block).__name__ for block in parse(shortened)] == [
        "Paragraph", "Code", "Paragraph", "Heading",
    ]  # fmt: skip


def test_what_follows_the_fence_at_once_is_no_part_of_the_note():
    shortened, _ = set_aside(f"```\n{CODE}```\n---\nend", 60, 0)
    assert isinstance(parse(shortened)[1], Paragraph)


PIECES = [
    "text\n", "\n", "> q\n", "- a\n", "  b\r\n", "```py\n", "```\n", "~~~\n", "\u2028",
    "# h\n", "x" * 50 + "\n", "    code\n", "<!-- c\n", "| a |\n", "\ud83d", "end",
]  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60), st.integers(0, 8), st.sampled_from([0, 60]))
def test_nothing_is_lost_and_nothing_else_changes(pieces, lines, chars):
    markdown = "".join(pieces)
    shortened, asides = set_aside(markdown, lines, chars)
    if not asides:
        assert shortened == markdown
        return
    assert len({aside.name.casefold() for aside in asides}) == len(asides)
    rest = re.split(r"[^\n]*… \d+ (?:lines|characters) in all, as a file: `[\w.-]+`", shortened)
    assert len(rest) == len(asides) + 1
    # Up to the first preview and from the end of the last note all is as it was.
    together = enumerate(zip(markdown, shortened, strict=False))
    at = next((i for i, (a, b) in together if a != b), len(markdown))
    assert "`" in markdown[:at] or "~" in markdown[:at] or "    " in markdown[:at]
    tail = rest[-1].lstrip("\r\n >")
    assert markdown.replace("\r\n", "\n").endswith(tail.replace("\r\n", "\n"))
    for aside in asides:
        assert aside.text.encode()
        for line in aside.text.split("\n"):
            assert line.strip() in markdown.replace("\ud83d", "\ufffd")
