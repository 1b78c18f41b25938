"""An agent's Markdown for the console: kept as Markdown, made harmless, cut where it is very long.

The view shows it with widgets of its own, so nothing here is ever read as terminal codes or as
the markup of the screen library.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import datetime

import regex
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from rich.console import Console
from rich.markdown import Markdown

from core.markup.dialect import make_parser
from core.markup.measure import Unit, visible, well_formed
from core.markup.split import Atom, Cut, Limit, Wrap, split

MAX_CHARS = 20_000

# Stands between the speaker's name and the text; ``clean`` leaves none in anybody's words.
_AFTER_LABEL = "\u2063\n"
_LONGEST_LABEL = 80
# Whole escape sequences first (a colour, a title, a link), then what is left of control codes;
# invisible separators; and what turns the direction of a line, which can make text lie.
_ESCAPES = regex.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*+(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*+[0-~]"
)
# A point in time, as core.markup.tree.Moment says; code before it on the line is stepped over.
_MOMENT = regex.compile(
    r"(?<!`)(`++)(?:[^`\n]|(?!\1(?!`))`++)*+\1(?!`)"
    r"|\[[^\[\]\n]{0,80}\]\(moot-time:([0-9]{1,11})\)"
)
_CONTROLS = regex.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2063]")


def clean(text: str) -> str:
    """``text`` without anything a terminal would obey; lines and tabs stay."""
    text = well_formed(text).replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("\u2028", "\n").replace("\u2029", "\n")
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def one_line(text: str, most: int = _LONGEST_LABEL) -> str:
    """``text`` as one clean line of at most ``most`` characters."""
    line = " ".join(clean(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def render(markdown: str, label: str = "", limit: int = MAX_CHARS) -> tuple[str, ...]:
    """Clean Markdown in pieces of at most ``limit`` code points, each under the speaker's name.

    One piece as a rule. Cuts are between blocks or lines, and code goes on as code. Empty when
    nothing visible is left.
    """
    text = _told_here(clean(markdown)).strip("\n").rstrip()
    if not visible(text):
        return ()
    name = one_line(label)
    head = f"{name}{_AFTER_LABEL}" if visible(name) else ""
    if len(head) + len(text) <= limit:
        return (head + text,)
    room = Limit(limit - len(head) - len(" (999/999)"), Unit.CODE_POINTS)
    pieces = split(_atoms(text), room)
    if not head:
        return tuple(pieces)
    return tuple(
        f"{name} ({at}/{len(pieces)}){_AFTER_LABEL}{piece}" for at, piece in enumerate(pieces, 1)
    )


def _told_here(text: str) -> str:
    """``text`` with its points in time in the zone of this machine, where it is read too."""
    if "](moot-time:" not in text:
        return text
    lines = text.split("\n")
    code = {n for first, (end, *_) in _fences(text).items() for n in range(first, end + 1)}
    return "\n".join(
        line if number in code else _MOMENT.sub(_local, line) for number, line in enumerate(lines)
    )


def _local(found: regex.Match[str]) -> str:
    if found[2] is None:
        return found[0]
    return datetime.fromtimestamp(int(found[2])).astimezone().strftime("%Y-%m-%d %H:%M %Z")


def split_label(text: str) -> tuple[str, str]:
    """The speaker's name ("" = none) and the Markdown of one rendered text."""
    name, mark, body = text.partition(_AFTER_LABEL)
    return (name, body) if mark else ("", text)


def render_plain(text: str, width: int = 0) -> str:
    """A rendered text for plain output: its Markdown as it is, or laid out for ``width`` > 0."""
    body = clean(split_label(text)[1])
    if width <= 0:
        return body
    out = io.StringIO()
    laid_out = Markdown(body, hyperlinks=False)
    laid_out.parsed = make_view_parser().parse(body)
    Console(file=out, width=width, color_system=None, force_terminal=False).print(laid_out)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n")).strip("\n")


def make_view_parser() -> MarkdownIt:
    """The house's Markdown; a line break is one, as people and agents mean it in a chat."""
    parser = make_parser()
    parser.core.ruler.push("breaks", _breaks)
    return parser


def _breaks(state: StateCore) -> None:
    for token in state.tokens:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"


def _atoms(text: str) -> Iterator[Atom]:
    """The lines, each knowing its fence, so that the cutter can close and reopen it."""
    lines = text.split("\n")
    fences = _fences(text)
    empty, fence_ends = False, -1
    wraps: tuple[Wrap, ...] = ()
    for number, line in enumerate(lines):
        if number in fences:
            fence_ends, opening, mark = fences[number]
            wraps = (Wrap(f"{opening}\n", f"\n{mark}", f"{opening}\n"),)
            empty = True
            continue
        if number <= fence_ends:
            if number == fence_ends:
                wraps, empty = (), True
                continue
            first = number - 1 in fences
            cut = Cut.BLOCK if first else Cut.LINE
            yield Atom(line, lead="\n\n" if first else "\n", cut=cut, wraps=wraps)
            continue
        if not line.strip():
            empty = True
            continue
        yield Atom(line, lead="\n\n" if empty else "\n", cut=Cut.BLOCK if empty else Cut.LINE)
        empty = False


def _fences(text: str) -> dict[int, tuple[int, str, str]]:
    """First line -> (closing line, opening line, closing mark) of fences at the outermost level."""
    lines = text.split("\n")
    found: dict[int, tuple[int, str, str]] = {}
    for token in make_parser().parse(text):
        if token.type == "fence" and token.markup[0] in "`~" and token.level == 0 and token.map:
            first, end = token.map
            closed = end - 1 > first and lines[end - 1].strip().startswith(token.markup)
            closing = end - 1 if closed else end
            found[first] = (closing, f"{token.markup}{token.info}", token.markup)
    return found
