"""A line of the tree as flat runs, each in one style. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.markup.tree import (
    Bold,
    CodeSpan,
    Inline,
    Italic,
    LineBreak,
    Link,
    Moment,
    Strike,
    Text,
    plain,
)

Style = Literal["bold", "italic", "strike"]
PLAIN: frozenset[Style] = frozenset()
BOLD: frozenset[Style] = frozenset({"bold"})
_ITALIC: frozenset[Style] = frozenset({"italic"})
_STRIKE: frozenset[Style] = frozenset({"strike"})
# Outermost first.
STYLES: dict[Style, frozenset[Style]] = {"bold": BOLD, "italic": _ITALIC, "strike": _STRIKE}


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of a line in one style.

    ``url`` belongs to a link, whose label is ``text``; ``at`` to a moment, which ``text`` says too.
    """

    kind: Literal["text", "code", "link", "moment", "break"]
    text: str = ""
    styles: frozenset[Style] = PLAIN
    url: str = ""
    at: int = 0


def runs(inlines: Sequence[Inline], styles: frozenset[Style] = PLAIN) -> list[Run]:
    """The line as flat runs. A link keeps a plain label; bold in all of it goes around the link."""
    found: list[Run] = []
    for node in inlines:
        match node:
            case Text(text):
                found.append(Run("text", text, styles))
            case CodeSpan(text):
                found.append(Run("code", text, styles))
            case LineBreak():
                found.append(Run("break"))
            case Moment(at, text):
                found.append(Run("moment", text, styles, at=at))
            case Link(url, children):
                inner = [run.styles for run in runs(children, styles) if run.kind != "break"]
                common = frozenset[Style].intersection(*inner) if inner else styles
                found.append(Run("link", plain(children).strip() or url, common, url))
            case Bold(children):
                found += runs(children, styles | BOLD)
            case Italic(children):
                found += runs(children, styles | _ITALIC)
            case Strike(children):
                found += runs(children, styles | _STRIKE)
    return found


def outermost(styles: frozenset[Style]) -> Style | None:
    """Which of ``styles`` stands around the others."""
    for style, alone in STYLES.items():
        if alone <= styles:
            return style
    return None
