"""A table's rows as agents write them: nothing of a row that has too many cells is dropped.

Markdown's own rule counts every pipe that has no backslash before it, also within code, and drops
what goes beyond the header's columns.
"""

from __future__ import annotations

import regex
from markdown_it.rules_block import StateBlock, table

# A pair that escapes, code with its ticks, or a pipe that divides.
_TOKEN = regex.compile(r"\\.|(?<!`)(`++)(?:[^`]|(?!\1(?!`))`++)*+\1(?!`)|`++|(\|)|[^\\`|]++|\\")


def whole_rows(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """The parser's own rule; then rows that had too many cells are read again."""
    before = len(state.tokens)
    if not table(state, start, end, silent):
        return False
    tokens = state.tokens[before:]
    columns = sum(token.type == "th_open" for token in tokens)
    line, cell = -1, 0
    cells: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            line, cell, cells = token.map[0] if token.map else -1, 0, []
            if line > start:
                text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
                text = text.strip()
                inner = text.count("|") - text.startswith("|") - text.endswith("|")
                cells = _cells(text, columns) if inner >= columns else []
        elif token.type == "inline":
            if cells:
                token.content = cells[cell]
            cell += 1
    return True


def _cells(text: str, columns: int) -> list[str]:
    """The cells of a row with more pipes than columns; empty when the parser's own will do."""
    plain = _split(text, code=False)
    if len(plain) <= columns:
        return []
    found = _split(text, code=True)
    cells = found if len(found) >= columns else plain
    while len(cells) > columns and not cells[-1]:
        cells.pop()
    return [*cells[: columns - 1], " | ".join(cells[columns - 1 :])]


def _split(text: str, *, code: bool) -> list[str]:
    """The cells of a row; where ``code``, pipes in code are text."""
    cells = [""]
    for found in _TOKEN.finditer(text):
        piece = found.group()
        if piece == "|" or (not code and found[1] and "|" in piece):
            first, *others = piece.replace("\\|", "\0").split("|")
            cells[-1] += first.replace("\0", "|")
            cells += (other.replace("\0", "|") for other in others)
        else:
            cells[-1] += piece.replace("\\|", "|")
    if not cells[0].strip():
        cells = cells[1:]
    if cells and not cells[-1].strip():
        cells.pop()
    return [cell.strip() for cell in cells]
