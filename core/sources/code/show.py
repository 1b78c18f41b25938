"""How places in code are shown: ``path:first-last symbol``, with or without their lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from core.sources.code.chunks import Chunk
from core.sources.code.index import Hit
from core.sources.code.words import code_words

MAX_SNIPPET_LINES = 30
MAX_SNIPPET_CHARS = 1_200
MAX_LINE_CHARS = 300
MAX_PIECE_CHARS = 3_500  # of brought lines: a hit, as a follow-up shows it whole
MAX_PIECES = 4
MAX_OUTLINE = 150


def reference(hit: Hit) -> str:
    """One line: where, and what is there."""
    return f"{hit.path}:{hit.first}-{hit.last} {hit.symbol}".rstrip()


def snippet(hit: Hit, lines: Sequence[str], terms: Sequence[str]) -> str:
    """The place with its lines; of a long one those that hold the most of ``terms``.

    Empty when the lines are not there any more.
    """
    there = lines[hit.first - 1 : hit.last]
    if not there:
        return ""
    start = _densest(there, set(terms)) if len(there) > MAX_SNIPPET_LINES else 0
    shown: list[str] = []
    room = MAX_SNIPPET_CHARS
    for line in map(_short, there[start : start + MAX_SNIPPET_LINES]):
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    first = hit.first + start
    part = Hit(hit.path, first, first + len(shown) - 1, hit.symbol, hit.score)
    whole = "" if len(shown) == len(there) else f" (of {hit.first}-{hit.last})"
    return f"{reference(part)}{whole}\n{fenced(hit.path, shown)}"


def lines_of(hit: Hit, lines: Sequence[str]) -> tuple[str, ...]:
    """Lines that were asked for, in pieces that a follow-up shows whole; too many are left out."""
    pieces: list[str] = []
    row, end = hit.first, min(hit.last, len(lines))
    while row <= end and len(pieces) < MAX_PIECES:
        taken: list[str] = []
        room = MAX_PIECE_CHARS
        while row + len(taken) <= end:
            line = _short(lines[row + len(taken) - 1])
            room -= len(line) + 3
            if room < 0 and taken:
                break
            taken.append(line)
        part = Hit(hit.path, row, row + len(taken) - 1, "", 0.0)
        pieces.append(f"{reference(part)}\n{fenced(hit.path, taken)}")
        row += len(taken)
    if row <= end:
        pieces.append(f"lines {row}-{end} are left out for length: ask for them by themselves")
    return tuple(pieces)


def outline(path: str, chunks: Sequence[Chunk], count: int) -> str:
    """What stands where in a file."""
    named = [chunk for chunk in chunks if chunk.symbol]
    rows = [f"{chunk.first}-{chunk.last} {chunk.symbol}" for chunk in named[:MAX_OUTLINE]]
    more = [f"and {len(named) - MAX_OUTLINE} more"] if len(named) > MAX_OUTLINE else []
    return "\n".join((f"{path}:1-{count}", *rows, *more))


def fenced(path: str, lines: Sequence[str]) -> str:
    """``lines`` as a code block that none of them can close."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    suffix = PurePosixPath(path).suffix[1:].lower()
    language = suffix if suffix.isalnum() and suffix.isascii() else ""
    return "\n".join((f"{fence}{language}", *lines, fence))


def _densest(lines: Sequence[str], terms: set[str]) -> int:
    """Where the stretch of ``MAX_SNIPPET_LINES`` begins that holds the most of ``terms``."""
    held = [len(terms.intersection(code_words(line))) for line in lines]
    starts = range(len(lines) - MAX_SNIPPET_LINES + 1)
    return max(starts, key=lambda at: (sum(held[at : at + MAX_SNIPPET_LINES]), -at))


def _short(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]} …"
