"""Sections of a document: what stands under one heading, and the headings above it. PURE.

Every line is in exactly one section, so the sections one after the other are the file. Markdown is
read by a CommonMark parser: what looks like a heading within a fence, a list or a quote is none. A
long section is cut between its blocks (paragraphs, lists, fences), never within one that fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath

from markdown_it import MarkdownIt
from markdown_it.token import Token

MAX_SECTION_CHARS = 1_200
MAX_HEADING_CHARS = 100
MAX_DEPTH = 6

_MARKDOWN = ("md", "mdx", "markdown")
_FRONT = re.compile(r"(?P<fence>---|\+\+\+)[ \t]*")
_TITLE = re.compile(r"title\s*[:=]\s*(?P<quote>[\"']?)(?P<title>.+?)(?P=quote)\s*", re.IGNORECASE)
_MARKUP = re.compile(r"!?\[([^\]\n]*)\](?:\([^)\n]*\)|\[[^\]\n]*\])?|<[^>\n]+>|[*`]+")
_UNDERLINE = re.compile(r"([!-/:-@[-`{-~])\1{2,}")  # reStructuredText, also above its heading
_MDX = re.compile(r"(?:import|export)\s")
_RST_NEVER = re.compile(r"\s|\.\. |[-*+]\s")


@dataclass(frozen=True, slots=True)
class Section:
    """Lines ``first`` to ``last`` of a document (from 1), and the headings above them."""

    first: int
    last: int
    headings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """``Deploy > Rollback``; "" before the first heading."""
        return " > ".join(self.headings)


def sections(path: str, lines: Sequence[str]) -> list[Section]:
    """The sections of a document, in order; together they hold every line."""
    suffix = PurePosixPath(path).suffix[1:].lower()
    front, title = _front_matter(lines) if suffix in _MARKDOWN else (0, "")
    if suffix in _MARKDOWN:
        # What is not to be parsed stays as blank lines, so that rows stay what they are.
        text = [*[""] * front, *(_plain(line) for line in lines[front:])]
        tokens = _parser().parse("\n".join(text))
        starts, blocks = _headings(tokens), _blocks(tokens)
    else:
        starts = _underlined(lines) if suffix == "rst" else {}
        blocks = _paragraphs(lines)
    edges = frozenset(row + 1 for row in blocks)
    return [
        piece for one in _between(starts, len(lines), title) for piece in _cut(one, lines, edges)
    ]


# --- headings ----------------------------------------------------------------------------


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"maxNesting": 40}).enable("table")


def _plain(line: str) -> str:
    return "" if _MDX.match(line) else line.replace("\r", " ")


def _front_matter(lines: Sequence[str]) -> tuple[int, str]:
    """How many lines the front matter takes (0: none), and the title in it."""
    fence = _FRONT.fullmatch(lines[0]) if lines else None
    if fence is None:
        return 0, ""
    title = ""
    for row, line in enumerate(lines[1:200], 1):
        if line.rstrip() == fence["fence"]:
            return row + 1, title
        if found := _TITLE.fullmatch(line):
            title = _said(found["title"])
    return 0, ""


def _headings(tokens: Sequence[Token]) -> dict[int, tuple[int, str]]:
    """Row -> depth and text of each heading that is in nothing else."""
    found: dict[int, tuple[int, str]] = {}
    for token, inner in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            found[token.map[0]] = (int(token.tag[1:]), _said(inner.content))
    return found


def _underlined(lines: Sequence[str]) -> dict[int, tuple[int, str]]:
    """Headings of reStructuredText; how deep each underline is, its first use tells."""
    found: dict[int, tuple[int, str]] = {}
    depths: list[str] = []
    row = 1
    while row < len(lines):
        text, under = lines[row - 1].rstrip(), lines[row].rstrip()
        if (
            text
            and _UNDERLINE.fullmatch(under)
            and not _UNDERLINE.fullmatch(text)
            and not _RST_NEVER.match(text)
            and len(under) >= len(text)
        ):
            over = row >= 2 and lines[row - 2].rstrip() == under
            kind = under[0] * (1 + over)
            if kind not in depths:
                depths.append(kind)
            found[row - 1 - over] = (depths.index(kind) + 1, _said(text))
            row += 1
        row += 1
    return found


def _said(heading: str) -> str:
    """A heading's words, without its markup."""
    return " ".join(_MARKUP.sub(r"\1", heading).split())[:MAX_HEADING_CHARS]


def _between(starts: dict[int, tuple[int, str]], count: int, title: str) -> Iterator[Section]:
    """From one heading to the next, each with the path of those above it."""
    above: list[tuple[int, str]] = [(0, title)] if title else []
    rows = sorted({0, *starts})
    for row, end in zip(rows, [*rows[1:], count], strict=True):
        if row in starts:
            depth, text = starts[row]
            above = [one for one in above if one[0] < depth and one[1] != text]
            if text:
                above.append((depth, text))
        if end > row:
            yield Section(row + 1, end, tuple(text for _, text in above[-MAX_DEPTH:]))


# --- long sections -----------------------------------------------------------------------


def _blocks(tokens: Sequence[Token]) -> list[int]:
    """The rows on which a block begins, of those of the topmost level and of items of lists."""
    items = ("list_item_open",)
    return sorted(
        {
            token.map[0]
            for token in tokens
            if token.map and (token.level == 0 or (token.type in items and token.level == 1))
        }
    )


def _paragraphs(lines: Sequence[str]) -> list[int]:
    """The rows on which a paragraph begins at the left margin."""
    return [
        row
        for row, line in enumerate(lines)
        if line.strip() and not line[0].isspace() and (row == 0 or not lines[row - 1].strip())
    ]


def _cut(section: Section, lines: Sequence[str], edges: Set[int]) -> Iterator[Section]:
    """A section in pieces of at most ``MAX_SECTION_CHARS``, cut where a block begins (``edges``).

    A block that is longer than that by itself is cut between its lines.
    """
    first, size, edge = section.first, 0, section.first
    for row in range(section.first, section.last + 1):
        if row in edges and size:
            edge = row
        length = len(lines[row - 1]) + 1
        while size and size + length > MAX_SECTION_CHARS:
            at = edge if edge > first else row
            yield Section(first, at - 1, section.headings)
            first, edge = at, at
            size = sum(len(lines[n - 1]) + 1 for n in range(at, row))
        size += length
    yield Section(first, section.last, section.headings)
