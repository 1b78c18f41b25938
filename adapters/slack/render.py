"""Markdown to Slack's mrkdwn. Pure.

Sizes are UTF-8 bytes after escaping: Slack splits a post from about 4,000 characters and refuses an
edit over 4,000 bytes, so what fits here can be posted whole and edited later
(docs/decisions/0010-slack-message-size.md).
"""

from __future__ import annotations

import re

from adapters.slack.tables import DATE_FORMAT, clean, with_table
from core.markup.links import misleading
from core.markup.measure import Unit
from core.markup.render import render_pieces
from core.markup.runs import Style
from core.markup.split import Limit

MAX_BYTES = 3_900

_EDGE = "\u200b"  # zero-width space: Slack formats only between spaces and punctuation
_PART = "\u200a"  # hair space: a mark next to a space is none
_TICK = "\u02cb"  # looks like a backtick, and pairs with none
# Names with marks in them that have to stay as they are: __init__, *.py, src/**/*.ts, ~/bin.
_NAME = re.compile(
    r"(?<![\w.])(?:\w+\.)*__\w+__(?:\.\w+)*(?!\w)"
    r"|(?<![^\s(,])(?:[\w./*+-]*(?:\*\.|/\*|\*/)[\w./*+-]*|~/[\w./-]*)(?<![.,])(?![\w*~])"
)
_PAIR = re.compile(r"(?<![\w*_~])([*_~])(?=[^\s*_~])([^\n]{0,300}?[^\s*_~])\1(?![\w*_~])")
_TICKS = re.compile(r"`(?=``)")
_MARKERS = "*_~`"
_BULLETS = "•◦▪"


def escape(text: str) -> str:
    """The three characters Slack wants escaped, once; nothing in it can ping or link any more.

    What an entity (``&#8291;``) became is cleaned here.
    """
    return clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def render(markdown: str, label: str = "", limit: int = MAX_BYTES) -> tuple[str, ...]:
    """Turn an agent's Markdown into mrkdwn texts of at most ``limit`` UTF-8 bytes each.

    ``label`` (plain text) names the speaker on every one; several are numbered behind it. Empty
    when nothing visible is left. Behind a text may stand what a table block needs, which is not
    counted and not sent as text: ``adapters.slack.tables.shown`` gives the text alone.

    Raises:
        BadSettings: ``limit`` is too small to write in.
    """
    made = render_pieces(clean(markdown), clean(label), _Mrkdwn(), Limit(limit, Unit.BYTES))
    return tuple(map(with_table, made))


class _Mrkdwn:
    """Slack's spelling. It has no escape character, so some things are written around."""

    marks: dict[Style, str] = {"bold": "*", "italic": "_", "strike": "~"}  # noqa: RUF012
    fences_in_quotes = False

    def literal(self, text: str) -> str:
        text = escape(text)
        if text.count("`") > 1:
            text = text.replace("`", _TICK)
        if text.isalnum():
            return text
        done, at = "", 0
        for name in _NAME.finditer(text):
            done += _PAIR.sub(_unpaired, text[at : name.start()]) + f"`{name.group()}`"
            at = name.end()
        return done + _PAIR.sub(_unpaired, text[at:])

    def guard(self, word: str) -> str:
        return _EDGE if word.startswith("&gt;") else ""

    def code_span(self, text: str) -> str:
        """Slack has no longer backtick spans, but allows a fence within a line."""
        if "`" not in text:
            return f"`{escape(text)}`"
        return f"``` {self.code(text)} ```"

    def link(self, label: str, url: str) -> str:
        target = escape(url)
        if label == url:
            return f"<{target}>"
        if misleading(label, url):
            return f"{self.literal(label)} (<{target}>)"
        shown = escape(label).replace("|", "∣").replace("`", _TICK)
        return f"<{target}|{shown}>"

    def moment(self, at: int, text: str) -> str:
        """Slack shows it in the reader's zone, and as "today" where it is."""
        shown = escape(text).replace("|", "∣").replace("`", _TICK)
        return f"<!date^{at}^{DATE_FORMAT}|{shown}>"

    def code(self, text: str) -> str:
        return _TICKS.sub("`" + _EDGE, escape(text))

    def fence(self, language: str) -> str:  # noqa: ARG002 - Slack would show it as code
        return "```"

    def heading(self, level: int) -> str | None:  # noqa: ARG002
        return None

    def bullet(self, depth: int, number: int | None, *, done: bool | None) -> str:
        mark = f"{number}. " if number is not None else f"{_BULLETS[min(depth, 2)]} "
        if done is None:
            return mark
        return (mark if number is not None else "") + ("☑ " if done else "☐ ")

    def edge(self, outside: str) -> str:
        """Slack formats only between spaces and ASCII punctuation."""
        if not outside or outside.isspace():
            return ""
        plain = outside.isascii() and not outside.isalnum() and outside not in _MARKERS
        return "" if plain else _EDGE


def _unpaired(found: re.Match[str]) -> str:
    """Characters that Slack would take for marks: one word is shown as code, several are parted."""
    whole, mark, inside = found[0], found[1], found[2]
    if not any(ch.isspace() for ch in whole):
        return f"`{whole}`"
    return f"{mark}{_PART}{inside}{_PART}{mark}"
