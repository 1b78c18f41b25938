"""Laws of splitting, on both platforms.

A document is rendered once whole, without any limit, and once in messages: nothing is lost or
doubled but what a cut adds, every message fits, fences are closed, and no atom is torn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.discord import render as discord
from adapters.slack import render as slack
from adapters.slack.tables import shown
from core.markup.measure import graphemes, utf8_bytes, utf16_units
from tests.unit.answers import ZERO_WIDTH, without_repeated_headers

FAMILY = "👨‍👩‍👧‍👦"
BETWEEN = "\uffff"  # stands where a cut is


@dataclass(frozen=True)
class Platform:
    """What the laws need to know of one platform; ``atoms`` match what no cut may tear."""

    render: object
    size: object
    atoms: str


PLATFORMS = {
    "slack": Platform(
        lambda markdown, limit: [shown(text) for text in slack.render(markdown, "", limit)],
        utf8_bytes,
        r"<(?:https?|!date)[^>]*>|&(?:amp|lt|gt);",
    ),
    "discord": Platform(
        lambda markdown, limit: list(discord.render(markdown, "", limit)),
        utf16_units,
        r"\[[^\]\n]*\]\(https[^)]*\)|<https[^>]*>|<t:\d+:f>|\\[^\w\s]|@\u200b\w+",
    ),
}
SPANS = r"|(?<!`)`` .*? ``(?!`)|(?<!`)`[^`\n]+`(?!`)"
WHOLE = 10_000_000

WORDS = [
    "word", "한국어", "日本語です。", "*", "_x_", "a_b", "~", "<b>", "&", "\\*", "]", "(x)", FAMILY,
    "🇰🇷", "한", "e\u0301", "👍🏽", "||", ">", "#", "1.", "-", "@everyone", "<@12>", "<!channel>",
    "x" * 60,
]  # fmt: skip
ATOMS = [
    "`code span`", "``a`b``", "[label](https://ex.test/a?b=1&c=2)", "https://ex.test/x_y",
    "[now](moot-time:1764525300)", "**bold words here**", "*it*", "~~gone~~", "$x_1$", "**굵게**를",
]  # fmt: skip
text = st.lists(st.sampled_from(WORDS + ATOMS), min_size=1, max_size=25).map(" ".join)
short = st.lists(st.sampled_from(["a", "한글", "😀", "`c`", "**b**", ""]), max_size=3).map(" ".join)


@st.composite
def tables(draw):
    columns = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(short, min_size=columns, max_size=columns), max_size=12))
    # The header and every row have a name, so that none can be taken for another.
    named = [[f"row{n}z", *row[1:]] for n, row in enumerate([["h"] * columns, *rows])]
    lines = ["|" + "|".join(row) + "|" for row in named]
    return "\n".join([lines[0], "|-" * columns + "|", *lines[1:]])


def block(kind):
    return {
        "text": text,
        "list": st.lists(text, min_size=1, max_size=4).map(
            lambda i: "\n".join(f"- {x}" for x in i)
        ),
        "quote": text.map(lambda words: f"> {words}"),
        "heading": text.map(lambda words: f"## {words}"),
        "code": st.lists(text, min_size=1, max_size=8).map(
            lambda lines: "```py\n" + "\n".join(f"  {line}" for line in lines) + "\n```"
        ),
        "table": tables(),
    }[kind]


documents = st.lists(
    st.sampled_from(["text", "text", "list", "quote", "heading", "code", "table"]).flatmap(block),
    min_size=1,
    max_size=5,
).map(lambda blocks: "\n\n".join(b.replace("row", f"row{n}y") for n, b in enumerate(blocks)))


def bare(pieces):
    """The characters that say something, without marks, white space and what guards them."""
    once = without_repeated_headers(pieces)
    joined = "".join(re.sub(r"```[\w+]*\n", "", text) for text in once)
    return re.sub(rf"[\s*_~`>\\▏{ZERO_WIDTH}\u200a]|&gt;|-+\+-+|^-+$", "", joined)


@pytest.mark.parametrize("name", PLATFORMS)
@settings(max_examples=40, deadline=None)
@given(documents, st.sampled_from([220, 500, 1900]))
def test_messages_are_the_document(name, document, limit):
    platform = PLATFORMS[name]
    whole = platform.render(document, WHOLE)
    pieces = platform.render(document, limit)
    assert len(whole) <= 1
    for piece in pieces:
        assert platform.size(piece) <= limit
        assert piece.count("```") % 2 == 0
        assert piece.strip()
    assert bare(pieces) == bare(whole)


@pytest.mark.parametrize("name", PLATFORMS)
@settings(max_examples=40, deadline=None)
@given(documents, st.sampled_from([220, 500, 1900]))
def test_no_atom_is_torn(name, document, limit):
    platform = PLATFORMS[name]
    whole = "".join(platform.render(document, WHOLE))
    pieces = without_repeated_headers(platform.render(document, limit))
    joined = BETWEEN.join(pieces)
    for atom in set(re.findall(platform.atoms + SPANS, outside_fences(whole))):
        assert outside_fences(joined).count(atom) == outside_fences(whole).count(atom), atom
    lines = joined.replace(BETWEEN, "\n").split("\n")
    for row in re.findall(r"^(?:> )?row\d+y[^\n]*", whole, re.MULTILINE):
        assert lines.count(row) == whole.split("\n").count(row), row
    for cluster in (FAMILY, "🇰🇷", "한", "e\u0301", "👍🏽"):
        assert sum(graphemes(piece).count(cluster) for piece in pieces) == graphemes(whole).count(
            cluster
        )


def outside_fences(rendered):
    return re.sub(r"```.*?```", "", rendered, flags=re.DOTALL)
