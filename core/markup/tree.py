"""Markdown as a tree: what an agent's text says, free of any platform's spelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# --- inside a line -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Text:
    """Literal characters: entities decoded, backslash escapes resolved, no line breaks."""

    text: str


@dataclass(frozen=True, slots=True)
class CodeSpan:
    """Inline code, exactly as it was written between its backticks."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a web or mail address. ``url`` holds no spaces, angle brackets or pipes."""

    url: str
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Bold:
    """Strong text."""

    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Italic:
    """Stressed text."""

    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Strike:
    """Struck-out text."""

    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time, ``at`` in seconds since 1970; ``text`` says it where nothing can tell it.

    Written as a link to ``moot-time:`` and the seconds; platforms show it in the reader's zone.
    """

    at: int
    text: str


@dataclass(frozen=True, slots=True)
class LineBreak:
    """The author began a new line: in a chat every such line is shown, soft or hard."""


Inline = Text | CodeSpan | Link | Moment | Bold | Italic | Strike | LineBreak

# --- blocks --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines of text."""

    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """A title; ``level`` is 1 to 6."""

    level: int
    children: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class ListItem:
    """One item; ``done`` is None unless it is a task."""

    blocks: tuple[Block, ...]
    done: bool | None = None


@dataclass(frozen=True, slots=True)
class List:
    """A list; ``start`` counts only when ``ordered``."""

    items: tuple[ListItem, ...]
    ordered: bool = False
    start: int = 1


@dataclass(frozen=True, slots=True)
class Quote:
    """Quoted blocks."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """A block of code. ``text`` is verbatim, without the last line's end."""

    language: str
    text: str


Align = Literal["", "left", "center", "right"]
Cell = tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; every row has as many cells as ``header``."""

    header: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    align: tuple[Align, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across."""


Block = Paragraph | Heading | List | Quote | Code | Table | Rule


def plain(inlines: tuple[Inline, ...]) -> str:
    """What a reader sees of ``inlines``: no marks, links as their labels, breaks as spaces."""
    parts: list[str] = []
    for node in inlines:
        match node:
            case Text(text) | CodeSpan(text) | Moment(text=text):
                parts.append(text)
            case LineBreak():
                parts.append(" ")
            case _:
                parts.append(plain(node.children))
    return "".join(parts)
