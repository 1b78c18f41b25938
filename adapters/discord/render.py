"""Markdown to Discord's own. Pure.

Sizes are UTF-16 units, the strictest count of Discord's 2,000 characters.
"""

from __future__ import annotations

import re

from core.markup.links import misleading
from core.markup.measure import Unit
from core.markup.render import render as render_markdown
from core.markup.runs import Style
from core.markup.small import set_small
from core.markup.split import Limit

MAX_UNITS = 2_000

_EDGE = "\u200b"
# What Discord reads as markup, and underscores other than those inside a name.
_SPECIAL = re.compile(
    r"\\(?=[^0-9A-Za-z\s]|$)|[*`]|~(?=~)|(?<=~)~|\|(?=\|)|(?<=\|)\|"
    r"|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|<(?=[@#:]|a:\w|t:-?\d|id:\w|/[^<>\n]*:\d)|(?<=\])\("
)
_MENTION = re.compile(r"@(?=everyone|here|[!&]?\d)")
_LOUD = re.compile("@(?=everyone|here)")
_PATH = re.compile(r"[a-z]+://[^/]*/", re.IGNORECASE)
_AT_LINE_START = re.compile(r"(?:#{1,3}|-#|>|>>>|[-+])$")
_NUMBER = re.compile(r"\d+[.)]$")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+\-.#]+$")
_TICK_RUN = re.compile(r"`+")
_TICKS = re.compile(r"`(?=``)")


def escape(text: str) -> str:
    """Plain text as Discord shows it literally; mentions in it are broken without a trace."""
    return _MENTION.sub("@" + _EDGE, _SPECIAL.sub(r"\\\g<0>", text))


def render(markdown: str, label: str = "", limit: int = MAX_UNITS) -> tuple[str, ...]:
    """Turn an agent's Markdown into Discord texts of at most ``limit`` UTF-16 units each.

    ``label`` (plain text) names the speaker on every one; several are numbered behind it. Empty
    when nothing visible is left.

    Raises:
        BadSettings: ``limit`` is too small to write in.
    """
    pieces = render_markdown(markdown, label, _DiscordMarkdown(), Limit(limit, Unit.UTF16))
    return set_small(pieces, "*", "-# ", "")


class _DiscordMarkdown:
    """Discord's spelling: close to CommonMark, with spoilers, underlines and small print added."""

    marks: dict[Style, str] = {"bold": "**", "italic": "*", "strike": "~~"}  # noqa: RUF012
    fences_in_quotes = True

    def literal(self, text: str) -> str:
        return escape(text)

    def guard(self, word: str) -> str:
        if _AT_LINE_START.match(word):
            return "\\"
        return _EDGE if _NUMBER.match(word) else ""

    def code_span(self, text: str) -> str:
        """One backtick around, or two where one is inside; nothing in code is escaped."""
        text = self.code(text)
        lengths = {len(run) for run in _TICK_RUN.findall(text)}
        if not lengths:
            return f"`{text}`"
        if 2 in lengths and 1 in lengths:
            text, lengths = text.replace("``", f"`{_EDGE}`"), {1}
        mark = "`" if 1 not in lengths else "``"
        return f"{mark} {text} {mark}"

    def link(self, label: str, url: str) -> str:
        if url.startswith("mailto:"):
            address = url.removeprefix("mailto:")
            shown = label.removeprefix("mailto:")
            return escape(shown if shown == address else f"{label} ({address})")
        bare = label == url
        url = _quiet(url)
        target = f"<{url}>"
        if bare:
            return target
        if "://" in label or misleading(label, url):  # Discord makes no link of the first
            return f"{escape(label)} ({target})"
        shown = escape(label).replace("[", "\\[").replace("]", "\\]")
        return f"[{shown}]({url.replace('(', '%28').replace(')', '%29')})"

    def moment(self, at: int, text: str) -> str:  # noqa: ARG002 - every client can show it
        return f"<t:{at}:f>"

    def code(self, text: str) -> str:
        return _TICKS.sub("`" + _EDGE, text)

    def fence(self, language: str) -> str:
        return "```" + (language if _LANGUAGE.match(language) else "")

    def heading(self, level: int) -> str | None:
        return "#" * level + " " if level <= 3 else None

    def bullet(self, depth: int, number: int | None, *, done: bool | None) -> str:  # noqa: ARG002
        mark = f"{number}. " if number is not None else "- "
        return mark if done is None else mark + ("☑ " if done else "☐ ")

    def edge(self, outside: str) -> str:
        """Only asterisks beside asterisks and ticks beside ticks are read wrongly."""
        return _EDGE if outside and outside in "*`" else ""


def _quiet(url: str) -> str:
    """The address without a mention in its path; a host may be ``me@here.test``."""
    found = _PATH.match(url)
    return url if found is None else found.group() + _LOUD.sub("%40", url[found.end() :])
