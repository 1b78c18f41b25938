"""Code is cut where its syntax says, every line is in exactly one piece, and names are told."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sources.code import chunks
from core.sources.code.chunks import MAX_LINES, cut
from core.sources.code.index import Hit
from core.sources.code.show import fenced, lines_of, snippet
from core.sources.code.words import code_words, query_terms

SAMPLES = {
    "pay.py": (
        (
            '"""Doc."""\nimport os\n\n# said above\n@traced\ndef charge(x):\n    return x\n\n\n'
            "class Till:\n    def open(self):\n        pass\n\n    def close(self): ...\n"
        ),
        ["charge", "Till"],
    ),
    "pay.ts": (
        (
            "const charge = (x: number) => { return x }\nexport class Till { open(): void { } }\n"
            "export default function close() {}\ninterface Card { id: string }\n"
        ),
        ["charge", "Till", "close", "Card"],
    ),
    "pay.tsx": ("export function Button() { return <b>hi</b> }\n", ["Button"]),
    "pay.js": ("async function charge() {}\nmodule.exports = { charge }\n", ["charge"]),
    "pay.go": (
        (
            "package pay\n\n// Charge.\nfunc (t *Till) Charge(x int) error { return nil }\n\n"
            "type Till struct{}\n\nfunc main() {}\n"
        ),
        ["Till.Charge", "Till", "main"],
    ),
    "pay.rs": (
        "struct Till;\n\nimpl Till {\n    /// Doc.\n    fn charge() {}\n}\n\nfn main() {}\n",
        ["Till", "Till", "main"],
    ),
    "Pay.java": (
        "package a;\n\npublic class Pay {\n  @Override\n  int charge() { return 1; }\n}\n",
        ["Pay"],
    ),
    "pay.kt": ("class Till {\n  fun charge() = 1\n}\n\nfun top() = 1\n", ["Till", "top"]),
    "pay.c": ("#include <a.h>\n\nstatic int *charge(int x)\n{\n  return 0;\n}\n", ["charge"]),
    "pay.cpp": (
        "class Till { void open(); };\n\nint Till::charge() { return 1; }\n",
        ["Till", "Till::charge"],
    ),
    "Pay.cs": ("namespace A\n{\n  public class Till { int Charge() { return 1; } }\n}\n", ["A"]),
    "pay.rb": ("module Acme\n  class Till\n    def charge; end\n  end\nend\n", ["Acme"]),
    "pay.php": (
        "<?php\nclass Till { function charge() {} }\n\nfunction top() {}\n",
        ["Till", "top"],
    ),
    "Pay.swift": ("class Till { func charge() {} }\n\nfunc top() {}\n", ["Till", "top"]),
    "pay.md": ("intro\n# Till\ntext\n```\n# no heading\n```\n## Close\nmore\n", ["Till", "Close"]),
}


@pytest.mark.parametrize("path", SAMPLES)
def test_each_language_is_cut_at_its_definitions(path):
    text, names = SAMPLES[path]
    found = cut(path, text.splitlines())
    assert [chunk.symbol for chunk in found if chunk.symbol] == names


def test_what_stands_above_a_definition_belongs_to_it():
    [_, charge, *_] = cut("pay.py", SAMPLES["pay.py"][0].splitlines())
    assert (charge.first, charge.last, charge.symbol) == (4, 7, "charge")


def test_a_large_class_is_cut_at_its_methods():
    methods = [f"    def step_{n}(self):\n        a = 1\n        return a\n" for n in range(12)]
    found = cut("big.py", ("class Big:\n" + "\n".join(methods)).splitlines())
    assert [chunk.symbol for chunk in found] == ["Big", *(f"Big.step_{n}" for n in range(12))]


def test_a_huge_function_is_cut_at_blank_lines():
    body = "\n".join(f"    x = {n}" + ("\n" if n % 10 == 9 else "") for n in range(200))
    lines = f"def huge():\n{body}".splitlines()
    found = cut("huge.py", lines)
    assert all(chunk.symbol == "huge" for chunk in found)
    assert max(chunk.last - chunk.first for chunk in found) < MAX_LINES
    assert not lines[found[0].last - 1].strip() or found[0].last - found[0].first == MAX_LINES - 1


@given(
    st.sampled_from([*SAMPLES, "notes.txt", "schema.sql"]),
    st.lists(
        st.sampled_from(
            ["", "def f():", "class A {", "}", "  x", "# h", "```", "'", "ㄱ(", "fn a() {"]
        )
    ),
)
def test_every_line_with_text_is_in_exactly_one_piece(path, lines):
    covered = [n for chunk in cut(path, lines) for n in range(chunk.first, chunk.last + 1)]
    assert len(covered) == len(set(covered))
    assert {n for n, line in enumerate(lines, 1) if line.strip()} <= set(covered)


def test_grammars_are_there_for_every_suffix():
    for suffix in chunks._GRAMMARS:
        assert cut(f"x.{suffix}", ["x"])


def test_identifiers_are_found_by_their_parts_and_as_a_whole():
    words = list(code_words("getUserName(MAX_RETRIES) HTTPServer2 결제금액"))
    for word in ("getusername", "user", "maxretries", "retries", "server", "http", "결제", "제금"):
        assert word in words


def test_a_query_begins_with_the_identifiers():
    terms = query_terms("where do we use getUserName in the code?", ("getUserName",))
    assert terms[0] == "getusername"
    assert "the" not in terms
    assert "where" not in terms


def test_a_snippet_of_a_long_place_holds_what_was_asked():
    lines = [f"line {n}" for n in range(1, 101)]
    lines[70] = "the refund of a card"
    shown = snippet(Hit("a.py", 1, 100, "long", 0.0), lines, ["refund", "card"])
    assert "the refund of a card" in shown
    first, last = map(int, re.match(r"a\.py:(\d+)-(\d+) long \(of 1-100\)\n", shown).groups())
    assert first <= 71 <= last
    assert snippet(Hit("a.py", 200, 210, "", 0.0), lines, []) == ""


def test_no_line_closes_the_fence():
    shown = fenced("a.md", ["````", "text"])
    assert shown.startswith("`````md\n")
    assert shown.endswith("\n`````")


def test_brought_lines_come_in_pieces_and_say_what_is_left_out():
    pieces = lines_of(Hit("a.py", 1, 2_000, "", 0.0), [f"value_{n} = {n}" for n in range(2_000)])
    assert all(len(piece) < 4_000 for piece in pieces)
    assert "are left out for length" in pieces[-1]
    [first, *_] = pieces
    assert first.startswith("a.py:1-")
