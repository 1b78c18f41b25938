"""An answer while it is written: what of it may be shown now, balanced, in one message. PURE.

What is, or may still become, a Pull marker or a block is not shown (``core.pull.Holdback``), nor
what may still become a secret. What is left is cut back to where it reads well, and what is open is
closed, so that a reader never sees half a mark: a fence, emphasis, a code span, a link that has not
ended, the first lines of what becomes a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from core.blocks import visible_of
from core.ground import Ground, lines_of
from core.model import EngineEvent
from core.pull import Holdback
from core.redact import MASK, MIN_CHARS, known, redact

MAX_CHARS = 200_000
"""Of a text that is shown while it is written; the rest comes with the answer."""

_LONGEST_WORD = 4_000
_UNBROKEN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+=:@~%?&#$"
_VALUE_BEGUN = re.compile(
    r"(?i)(?:(?:pass(?:word|wd|phrase)?|secret|token|key)\\?[\"'`]?\s?[=:]\s?\\?"
    r"(?:[\"'`][^\n\"'`]*|[^\s\"'`]*)|\b(?:bearer|basic)[ :]{1,2}\S*)\Z"
)
_NUMBERED = re.compile(r"[ \t>]*\d{1,3}[.)]?[ \t]*")
_ITEM = re.compile(r"[ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]|#{1,6}[ \t]")
_TASK = re.compile(r"[ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]+\[[ xX]?\]?[ \t]*")
_FENCE = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)?(?:`{3,}[^`]*|~{3,}.*)")
_QUOTED_FENCE = re.compile(
    r"[ \t]*>[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*\Z)|~{3,})"
)
_ROW = re.compile(r"[ \t>]*\|")
_DELIMITERS = re.compile(r"[ \t>|:-]*-[ \t|:-]*")
_UNDECIDED = re.compile(
    r"(?:(?<!\\)(?:[*_~`]|!?\[)+|(?<!\\)(?:\\\\)*\\|<[A-Za-z/!-][^\s<>]{0,300}|<)\Z"
)
_SIGNS = re.compile(r"\\.|`+|\*+|_+|~~|<!--|!?\[", re.DOTALL)
_LONGEST_LINK = 2_000
_TRIES, _LOOKED_AT = 40, 200_000  # ends of a text, and characters in all


class LiveText:
    """Follows the events of one run; ``text`` is its newest text, since the last is the answer.

    ``whole`` says that this text is complete, ``number`` which one it is.
    """

    def __init__(self) -> None:
        self.number = 0
        self._begin()

    def take(self, event: EngineEvent) -> bool:
        """Take an event in; whether the text is another one now."""
        match event.kind:
            case "delta" if event.name == "anew":
                self._begin()
                return True
            case "delta":
                return self._more(event.text)
            case "message":
                if self.whole:
                    self._begin()
                self._pieces, self.whole = [visible_of(event.text[:MAX_CHARS])], True
                return True
            case "retry" | "started" if self._pieces and not self.whole:
                self._begin()  # it will be written anew
                return True
            case _:
                return False

    @property
    def text(self) -> str:
        """The Markdown so far, without markers and blocks; its end may be half written."""
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def _more(self, text: str) -> bool:
        if self.whole:
            self._begin()
        self._chars += len(text)
        shown = self._filter.feed(text) if self._chars <= MAX_CHARS else ""
        self._pieces += [shown] if shown else []
        return bool(shown)

    def _begin(self) -> None:
        self._filter, self._pieces, self._chars = Holdback(), list[str](), 0
        self.whole = False
        self.number += 1


# --- what may be shown ---------------------------------------------------------------------------


def presentable(text: str, *, whole: bool = False) -> str:
    """What may be shown of a text that is being written: balanced Markdown without secrets.

    Of one that is ``whole`` nothing is held back; only an open fence is closed. "" while there is
    nothing to see. Takes time in proportion to the text.
    """
    text = redact(text)
    if not whole:
        text = _without_half_secret(text)
    lines = lines_of(text)
    last = lines.pop() if lines and not whole and not lines[-1].endswith("\n") else ""
    begun, ground = _last_block(lines)
    if ground.fence:
        return _code(lines, last, begun, ground)
    if whole:
        return text.strip("\n").rstrip()
    if last and _ITEM.match(last):
        begun = len(lines)
    settled, block = lines[:begun], _without_half_lines([*lines[begun:], last])
    return ("".join(settled) + _balanced("".join(block))).strip("\n").rstrip()


def _last_block(lines: Sequence[str]) -> tuple[int, Ground]:
    """The number of the line with which the last block, or the open fence, begins; the ground."""
    ground, begun = Ground(), 0
    for at, line in enumerate(lines):
        before = ground.fence
        ground.step(line)
        if ground.fence and not before:
            begun = at
        elif (before and not ground.fence) or not line.strip():
            begun = at + 1
        elif not ground.fence and _ITEM.match(line):
            begun = at
    return begun, ground


def steady(text: str, *, whole: bool = False) -> str:
    """As ``presentable``, and nothing of it will change: for what can only be added to.

    It ends before whatever is open (emphasis, a link, a line of code), where ``text`` goes on.
    """
    if whole:
        return redact(text)
    text = _without_half_secret(redact(text))
    lines = lines_of(text)
    last = lines.pop() if lines and not lines[-1].endswith("\n") else ""
    begun, ground = _last_block(lines)
    if ground.fence:
        return "".join(lines)
    if last and _ITEM.match(last):
        begun = len(lines)
    settled = "".join(lines[:begun])
    block = "".join(_without_half_lines([*lines[begun:], last]))
    tries = min(_TRIES, 2 + _LOOKED_AT // (len(block) + 1))
    for end in [found.start() for found in re.finditer(r"\s+|\Z", block)][:-tries:-1]:
        if _balanced(block[:end]) == block[:end].rstrip():
            return settled + block[:end]
    return settled


def _without_half_secret(text: str) -> str:
    """Without the value, or the long word, at the end that may still grow into a secret.

    A value that this house knows may hold anything, blanks and other scripts too.
    """
    text = text[: len(text) - known().held_back(text)]
    begun = _VALUE_BEGUN.search(text, max(0, len(text) - 400))
    if begun is not None:
        return text[: begun.start()]
    end = text[-_LONGEST_WORD:]
    token = len(end) - len(end.rstrip(_UNBROKEN))
    return text[: len(text) - token] if MIN_CHARS <= token < _LONGEST_WORD else text


def _code(lines: list[str], last: str, begun: int, ground: Ground) -> str:
    """Of open code all is shown but what may become its end, and it is closed."""
    if not last.strip().strip(ground.fence[0]):
        last = ""
    if not last.strip() and not "".join(lines[begun + 1 :]).strip():
        return "".join(lines[:begun]).strip("\n").rstrip()
    text = ("".join(lines) + last).strip("\n").rstrip()
    return f"{text}\n{ground.fence}" if ground.in_code else text  # a list's end ends its code


def _without_half_lines(lines: list[str]) -> list[str]:
    """Without lines at the end that are nothing yet; the last one has not ended (or is "")."""
    last = lines[-1]
    if _is_bare(last) or _FENCE.fullmatch(last) or _ROW.match(last):
        lines = lines[:-1]
    elif last:
        return lines
    lines = [line for line in lines if line]
    rows = 0
    while rows < len(lines) and rows < 3 and _ROW.match(lines[-1 - rows]):
        rows += 1
    head = rows == 1 or (rows == 2 and _DELIMITERS.fullmatch(lines[-1].rstrip("\n")))
    return lines[:-rows] if rows == 1 and head else lines


def _is_bare(line: str) -> bool:
    """Marks alone: what they mean is not known before a word comes."""
    marks = not line.strip(" \t>-+*_=#:~`<!")
    return marks or bool(_NUMBERED.fullmatch(line)) or bool(_TASK.fullmatch(line))


# --- what is open is closed ----------------------------------------------------------------------


def _balanced(block: str) -> str:
    """The inline Markdown of one block with what is open at its end closed, or left out."""
    block = block.rstrip()
    if block.startswith(("    ", "\t")) and not _ITEM.match(block):
        return block  # code by its indent, or deep in a list
    lines = block.split("\n")
    if _ROW.match(lines[-1]):
        return block  # whole rows
    if _in_quoted_code(lines):  # the quote's end closes it
        while lines and not lines[-1].strip(" \t>`~"):
            lines.pop()
        return "\n".join(lines)
    return _closed(_UNDECIDED.sub("", block).rstrip())


def _closed(block: str) -> str:
    """``block`` with the marks closed that are open at its end."""
    at, stack = 0, list[list[str | int]]()
    while found := _SIGNS.search(block, at):
        sign, start, at = found[0], found.start(), found.end()
        if sign[0] == "\\":
            continue
        if sign[0] == "`":
            end = re.compile(rf"(?<!`){sign}(?!`)").search(block, at)
            if end is None:
                block = _ended(block[:at], block[at:], sign)
                break
            at = end.end()
        elif sign == "<!--":
            end_at = block.find("-->", at)
            if end_at < 0:
                block = block[:start].rstrip()
                break
            at = end_at + 3
        elif sign.endswith("["):
            words = _words_of_link(block, start, at)
            if words is not None:
                block, at = words, start
        else:
            _step(stack, block, sign, start, at)
    for mark, size, begins in reversed(stack):
        block = _ended(block[: int(begins)], block[int(begins) :], str(mark) * int(size))
    return block


def _in_quoted_code(lines: Sequence[str]) -> bool:
    """Whether a fence within a quote is open at the end."""
    fence = ""
    for line in lines:
        inside = line.strip(" \t>")
        if not line.lstrip().startswith(">"):
            fence = ""
        elif fence:
            fence = "" if inside.startswith(fence) and not inside.strip(fence[0]) else fence
        elif found := _QUOTED_FENCE.match(line):
            fence = found[1]
    return bool(fence)


def _ended(before: str, inside: str, mark: str) -> str:
    """``inside`` with its closing mark; where nothing is inside, its opening mark goes."""
    if inside.strip():
        return before + inside.rstrip() + mark
    return before.removesuffix(mark).rstrip()


def _step(stack: list[list[str | int]], block: str, token: str, start: int, end: int) -> None:
    """Take a run of emphasis marks in: it closes what is open, else it opens."""
    before, after, mark = block[start - 1 : start], block[end : end + 1], token[0]
    size = len(token)
    within = before.isalnum() and after.isalnum()
    if within and (mark == "_" or (size == 1 and (before + after).isascii())):
        return  # a_name, 5*3
    if mark == "*" and _is_glob(before, size, block[end : end + 2]):
        return
    if before.strip() and any(opened[0] == mark for opened in stack):
        while size and stack:
            opened = stack[-1]
            if opened[0] == mark:
                took = min(size, int(opened[1]))
                size -= took
                opened[1] = int(opened[1]) - took
                if opened[1]:
                    break
            stack.pop()
            if not any(one[0] == mark for one in stack):
                break
    if size and after.strip():
        stack.append([mark, size, end])


def _is_glob(before: str, size: int, after: str) -> bool:
    """``*.py`` and ``src/**/*.ts``, as ``core.markup.dialect`` has it."""
    if size > 1:
        return after[:1] == "/" and (before == "/" or after[1:] == "*")
    begins = not before.strip() or before in "(,"
    return before == "/" or after[:1] == "/" or (after[:1] == "." and begins)


def _words_of_link(block: str, start: int, label: int) -> str | None:
    """The block with a link that has not ended as its words alone; None where it has, or is none.

    ``start`` is where the link begins, ``label`` where its words do.
    """
    if len(block) - start > _LONGEST_LINK:
        return None
    end = _end_of(block, label, "[]")
    if end < 0:
        return block[:start] + block[label:]
    rest = block[end + 1 :]
    if not rest and block[start:] != MASK:  # what comes next decides
        return block[:start] + block[label:end]
    if not rest.startswith("(") or _end_of(rest, 1, "()") >= 0 or "\n" in rest:
        return None
    return block[:start] + block[label:end]


def _end_of(text: str, at: int, pair: str) -> int:
    """Where the bracket that is open at ``at`` ends; -1: it has not ended."""
    depth = 1
    while at < len(text):
        letter = text[at]
        at += 2 if letter == "\\" else 1
        depth += (letter == pair[0]) - (letter == pair[1])
        if not depth:
            return at - 1
    return -1


# --- one message ---------------------------------------------------------------------------------


class Pane:
    """The newest part of a text that fits one message; it moves on by some paragraphs at a time.

    ``room`` is what a message holds, in the platform's units.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._from = 0
        self._again = ""  # what was open there: a fence's first line, a table's head

    def show(self, shown: str, below: str, draw: Callable[[str], Sequence[str]]) -> str:
        """A platform text of ``shown`` (as ``presentable`` gives it) with ``below`` under it.

        ``draw`` renders Markdown to the texts of as many messages as it needs. Where not even the
        end fits, there is only what stands ``below``.
        """
        if self._from > len(shown):
            self._from, self._again = 0, ""  # another text
        if len(shown) - self._from > 3 * self._room:
            self._move(shown, 2 * self._room)
        for _ in range(12):
            part = shown[self._from :].strip("\n")
            more = "…\n\n" if self._from else ""
            texts = draw(f"{more}{self._again}{part}\n\n{below}") if part else ()
            if len(texts) == 1:
                return texts[0]
            if len(texts) > 1:
                self._move(shown, int((len(shown) - self._from) * 0.6 / (len(texts) - 0.9)))
            if not texts or self._from >= len(shown):
                break
        return next(iter(draw(below)), "")

    def _move(self, shown: str, keep: int) -> None:
        """Begin at about ``keep`` characters before the end, where a paragraph or a line does."""
        least = max(self._from + 1, len(shown) - keep)
        for mark, reach in (("\n\n", keep // 2), ("\n", keep // 2), (" ", 100)):
            at = shown.find(mark, least, least + reach)
            if at >= 0:
                self._from = at + len(mark)
                break
        else:
            self._from = min(least, len(shown))
        self._again = open_at(shown, self._from)


def open_at(text: str, at: int) -> str:
    """What must be said again so that ``text[at:]`` reads as it did within the text."""
    ground, opening, table = Ground(), "", list[str]()
    for line in lines_of(text[:at]):
        before = ground.fence
        ground.step(line)
        if ground.fence and not before:
            opening = line.strip(" \t>").lstrip("-+*.) \t0123456789")
        in_row = not ground.fence and _ROW.match(line)
        table = [*table, line] if in_row and len(table) < 2 else table if in_row else []
    if ground.fence:
        return opening if opening.endswith("\n") else f"{opening}\n"
    in_table = len(table) == 2 and _DELIMITERS.fullmatch(table[1].rstrip("\n"))
    return "".join(table) if in_table and _ROW.match(text[at:]) else ""
