r"""Lines in the open, and the comments in an answer that are blocks.

What is code is decided line by line by CommonMark's block rules (fences, lists, indented code,
raw HTML and comments; ``Ground``), so that a stream can be filtered with the same rules as the
whole. Pull markers (``core.pull``) and blocks (``core.blocks``) both live in the open only.

A block begins on a line of its own in the open::

    <!-- plan
    Audit log in SQL
    - Write the table
    -->

and ends at ``-->`` where that ends or begins a line; on the opening line also in mid-line, and so
in JSON wherever it stands in no string. Whatever begins as a block is taken out of what people
see, whether or not it can be read.
"""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass, field

BLOCK_WORDS = (
    "position",
    "plan",
    "verdict",
    "consensus",
    "subtask-done",
    "finding",
    "artifact",
)
MAX_BLOCK_CHARS = 20_000

_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_ITEM = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?: {1,4}(?=\S)|(?=$))")
# ASCII: a long s (ſ) would match an s, and be no word that anything knows.
_ANY_CASE = re.IGNORECASE | re.ASCII
_RAW = re.compile(r"<(pre|script|style|textarea)(?=[\s>]|$)", _ANY_CASE)
_WORDS = "|".join(BLOCK_WORDS)
_BEGIN = re.compile(rf"([ \t]{{0,99}})<!--[ \t]{{0,9}}({_WORDS})(?=[\s:{{\[]|-->|\Z)", _ANY_CASE)
_BEGINNING = re.compile(r"([ \t]{0,99})(?:<(?:!(?:-(?:-[ \t]{0,9}([a-z-]*))?)?)?)?", _ANY_CASE)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?')


def lines_of(text: str) -> list[str]:
    r"""Lines with their ends; only ``\n`` ends a line, whatever else is in the text."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


# --- blocks ------------------------------------------------------------------------------


@dataclass(slots=True)
class RawBlock:
    """A block as it was written. ``body`` is what stands between its word and ``-->``.

    Of a body longer than ``MAX_BLOCK_CHARS`` only so much (and one character) is kept.
    """

    word: str
    body: str = ""
    closed: bool = False

    def take(self, text: str) -> None:
        """More of the body."""
        self.body += text[: MAX_BLOCK_CHARS + 1 - len(self.body)]

    def end_in(self, line: str) -> int:
        """Where ``-->`` ends the block in this line of it (-1: not here)."""
        first = not self.body
        is_json = (self.body + line).lstrip(" \t\r\n:").startswith(("{", "["))
        bare = _STRING.sub(lambda s: "x" * len(s[0]), line) if is_json else line
        at = line.find("-->")
        while at >= 0:
            ends = not line[at + 3 :].strip() or not line[:at].strip()
            if ends or (is_json and bare.startswith("-->", at)) or (first and not is_json):
                return at
            at = line.find("-->", at + 1)
        return -1


class BlockSieve:
    """Takes blocks out of a text that comes in pieces, cut anywhere.

    Holds back only what is, or may still become, a block; ``found`` are the blocks so far. What
    follows ``-->`` on its line stays, as a line of its own.
    """

    def __init__(self) -> None:
        self.found: list[RawBlock] = []
        self._ground = Ground()
        self._inside: RawBlock | None = None
        self._held = ""
        self._shown: list[str] = []  # pieces of this line that were let go

    def feed(self, text: str) -> str:
        """Take the next characters; return what is no block and may be shown now."""
        return "".join(self._take(piece) for piece in lines_of(text))

    def flush(self) -> str:
        """The text has ended: the rest that is no block."""
        return self._end_line("")

    def _take(self, piece: str) -> str:
        if piece.endswith("\n"):
            return self._end_line(piece)
        self._held += piece
        if self._inside or (not self._shown and self._may_begin()):
            return ""
        piece, self._held = self._held, ""
        self._shown.append(piece)
        return piece

    def _end_line(self, piece: str) -> str:
        rest, shown = self._held + piece, "".join(self._shown)
        self._held, self._shown = "", []
        if shown:
            self._ground.step(shown + rest)
            return rest
        while rest:  # several blocks may stand on one line
            block = self._inside
            if block is None:
                begin = self._begins(rest)
                if begin is None:
                    self._ground.step(rest)
                    return rest
                block = self._inside = RawBlock(begin[2].lower())
                self.found.append(block)
                rest = rest[begin.end() :]
            at = block.end_in(rest)
            if at < 0:
                block.take(rest)
                return ""
            block.take(rest[:at])
            block.closed, self._inside = True, None
            rest = rest[at + 3 :].lstrip(" \t\r")
            rest = "" if rest == "\n" else rest
        return ""

    def _begins(self, line: str) -> re.Match[str] | None:
        begin = _BEGIN.match(line)
        if begin is None or not copy(self._ground).step(f"{begin[1]}x"):
            return None
        self._ground.step(f"{begin[1]}x")
        return begin

    def _may_begin(self) -> bool:
        begin = _BEGIN.match(self._held)
        if begin is None:
            begin = _BEGINNING.fullmatch(self._held)
            word = (begin[2] or "").lower() if begin else ""
            if begin is None or not any(_may_be(word, known) for known in BLOCK_WORDS):
                return False
        return copy(self._ground).step(f"{begin[1]}x")


def _may_be(word: str, known: str) -> bool:
    """Whether ``word`` is the beginning of ``known``, or that with the beginning of ``-->``."""
    return known.startswith(word) or word in (f"{known}-", f"{known}--")


# --- what is code ------------------------------------------------------------------------


@dataclass(slots=True)
class Ground:
    """Knows, line by line, whether the next line stands in the open or in code.

    Follows CommonMark's block structure as far as it matters for markers: list items (their
    content may be indented), fenced and indented code, raw HTML that ends with its own tag, and
    comments. What a block quote holds never stands in the open, since its lines begin with ``>``.
    """

    fence: str = ""
    _raw_end: str = ""
    _lists: tuple[int, ...] = field(default=())
    _depth: int = 0

    def __copy__(self) -> Ground:
        return Ground(self.fence, self._raw_end, self._lists, self._depth)

    @property
    def in_code(self) -> str:
        """The character of the fence that is open outside lists: no line without it ends it."""
        return self.fence[0] if self.fence and not self._lists else ""

    def step(self, line: str) -> bool:
        """Take one line in; True if it is a line of its own in the open (a marker would live)."""
        if self.in_code and self.in_code not in line:
            return False  # most lines of code, seen at once
        text = line.rstrip().expandtabs(4)
        body = text.lstrip(" ")
        if not body:
            return False
        indent = len(text) - len(body)
        self._leave_lists(indent)
        if self._raw_end:
            if self._raw_end in body.lower():
                self._raw_end = ""
            return False
        indent -= self._lists[-1] if self._lists else 0
        if self.fence:
            if indent < 4 and len(body) >= len(self.fence) and not body.strip(self.fence[0]):
                self.fence = ""
            return False
        if indent >= 4:
            return False
        return self._open_blocks(body, len(text) - len(body))

    def _leave_lists(self, indent: int) -> None:
        while self._lists and indent < self._lists[-1]:
            self._lists = self._lists[:-1]
        if len(self._lists) < self._depth:  # the list item that held the code has ended
            self.fence = self._raw_end = ""
            self._depth = len(self._lists)

    def _open_blocks(self, body: str, at: int) -> bool:
        alone = not body.startswith(">")
        while item := _ITEM.match(body):
            alone = False
            at += len(item[0]) + (not item[0].endswith(" "))
            self._lists = (*self._lists, at)
            body = body[len(item[0]) :]
        if fence := _FENCE.match(body):
            self.fence = fence[1] or fence[2]
        elif raw := _RAW.match(body):
            end = f"</{raw[1].lower()}>"
            self._raw_end = "" if end in body.lower() else end
        elif body.startswith("<!--") and "-->" not in body:
            self._raw_end = "-->"
        if self.fence or self._raw_end:
            self._depth = len(self._lists)
            return False
        return alone
