r"""The frame around other people's words: what is ours and what is theirs, line by line.

One law (``docs/decisions/0020``): in a pack, **every line that holds what somebody else wrote
begins with** ``>``, and no line of ours does. So no text can pose as a heading, a rule, a
speaker or a cut mark, whatever it holds, and in Markdown a quote closes what it left open.
``quote`` adds two characters a line and changes nothing else; taking them off again gives the text
back exactly.

Short facts from outside that stand within our lines (names, paths) go through ``one_line``.
"""

from __future__ import annotations

import re
import unicodedata

from core.markup.measure import graphemes
from core.pull import Ground, neutralise

MAX_NAME_CHARS = 80
LOOK_BACK = 80

RARE_BREAK = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_EMPTY_LINE = re.compile(r"^> $", re.MULTILINE)
_ESCAPED = frozenset("\\()[]<>`:")


def quote(body: str) -> str:
    r"""Frame ``body``: ``>`` before every line, with a space before what is not empty.

    A line ends wherever Python or Markdown would see one end (``\r``, ``\u2028`` and their like
    too), so that nothing of the body ever begins a line.
    """
    if RARE_BREAK.search(body) is None:
        framed = "> " + body.replace("\n", "\n> ")
        if "\n\n" in body or body[:1] in ("", "\n") or body.endswith("\n"):
            return _EMPTY_LINE.sub(">", framed)
        return framed
    lines = f"{body}x".splitlines(keepends=True)
    lines[-1] = lines[-1][:-1]  # so that an empty body, or one that ends in a line end, has it seen
    return "".join(f"> {line}" if any(line.splitlines()) else f">{line}" for line in lines)


def hang(text: str) -> str:
    """``text`` as one item of a list of ours: what is not its first line is indented.

    So no line of it can pose as the next item.
    """
    first, *rest = text.splitlines() or [""]
    return "\n".join((first, *(f"  {line}" if line.strip() else "" for line in rest)))


def one_line(text: str, limit: int = MAX_NAME_CHARS) -> str:
    """``text`` as an inert piece of one of our lines, at most about ``limit`` characters.

    What could end the line, close our brackets, start a marker or hide is written as an escape;
    distinct texts within the limit stay distinct.
    """
    short = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return "".join(_visible(char) for char in short)


def _visible(char: str) -> str:
    if char in _ESCAPED:
        return f"\\{char}"
    if char == " " or char.isalnum():
        return char
    category = unicodedata.category(char)
    if category[0] not in "CZ":
        return char
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char, f"\\u{{{ord(char):x}}}")


def theirs(body: str) -> str:
    """Text of others, ready to stand in a pack: markers made inert, then framed."""
    return quote(neutralise(body))


# --- cutting -----------------------------------------------------------------------------


def cut_head(text: str, room: int) -> str:
    """The beginning of ``text`` within ``room`` characters, ended at a line or word.

    A fence that is open there is closed, so that the piece is well-formed on its own. May be
    empty when ``room`` is too small for anything.
    """
    if len(text) <= room:
        return text
    ground, opener, kept, best = Ground(), "", 0, ""
    for line in text.splitlines(keepends=True):
        kept += len(line)
        if kept > room:
            break
        ground.step(line)
        opener = (opener or _opener(line, ground.fence)) if ground.fence else ""
        if kept + (len(opener) + 1 if opener else 0) <= room:
            best = _closed(text[:kept], opener)
    # A good part of one long line says more than the few short lines before it.
    if len(best) < room // 2:
        begun = text[: boundary(text, room - (len(opener) + 1 if opener else 0))]
        inside = _closed(begun, _open_at(begun, len(begun)))
        if len(best) < len(inside) <= room:
            return inside
    return best


def _closed(head: str, opener: str) -> str:
    head = head.rstrip()
    return f"{head}\n{opener}" if opener else head


def fit(text: str, room: int) -> str:
    """The beginning of ``text`` that takes at most ``room`` characters once it is framed."""
    size = room
    while size > 0:
        piece = cut_head(text, size)
        framed = len(theirs(piece))
        if framed <= room:
            return piece
        # In proportion: of many short lines the frame is as long as they are themselves.
        size = min(size, len(piece)) * room // framed
    return ""


def cut_tail(text: str, room: int) -> str:
    """The end of ``text`` within ``room`` characters; a fence open there is opened again."""
    if len(text) <= room:
        return text
    at = _tail_start(text, room)
    opener = _open_at(text, at)
    if opener:
        at = _tail_start(text, room - len(opener) - 1)
        opener = _open_at(text, at)
    tail = text[at:]
    return f"{opener}\n{tail}" if opener and tail else tail


def _tail_start(text: str, room: int) -> int:
    """Where a tail of at most ``room`` begins: at a line if that costs less than half of it."""
    at = boundary(text, len(text) - max(0, room), forward=True)
    line_end = text.find("\n", at)
    return line_end + 1 if 0 <= line_end < at + room // 2 else at


def _open_at(text: str, at: int) -> str:
    """The opening line of the fence that is open at ``at``, if any."""
    ground, opener = Ground(), ""
    for line in text[:at].splitlines(keepends=True):
        ground.step(line)
        opener = (opener or _opener(line, ground.fence)) if ground.fence else ""
    return opener


def boundary(text: str, at: int, *, forward: bool = False) -> int:
    """A place near ``at`` (never above it, or with ``forward`` never below it) fit for a cut.

    After white space if there is some near, so that words and identifiers stay whole; at least
    between what a reader takes for characters.
    """
    at = max(0, min(at, len(text)))
    if at in (0, len(text)):
        return at
    low, high = max(0, at - LOOK_BACK), min(len(text), at + LOOK_BACK)
    if forward:
        for place in range(at, high):
            if text[place - 1].isspace():
                return place
    else:
        for place in range(at, low, -1):
            if text[place - 1].isspace():
                return place
    place, before = low, low
    for cluster in graphemes(text[low:high]):
        before, place = place, place + len(cluster)
        if place == at:
            return at
        if place > at:
            return place if forward else before
    return at


def _opener(line: str, fence: str) -> str:
    """A line that opens (or closes) the same fence at the same indent, without its info string."""
    return " " * max(0, line.find(fence)) + fence
