"""Tables for a monospace font. Pure."""

from __future__ import annotations

from core.markup.measure import width
from core.markup.tree import (
    Align,
    Bold,
    Cell,
    CodeSpan,
    Inline,
    Italic,
    LineBreak,
    Link,
    List,
    ListItem,
    Moment,
    Paragraph,
    Strike,
    Table,
    Text,
    plain,
)


def table_rows(table: Table) -> list[str]:
    """The table's lines: header, a line across, rows; columns padded by display width."""
    grid = [[_words(cell) for cell in row] for row in (table.header, *table.rows)]
    widths = [max(max(map(width, column)), 1) for column in zip(*grid, strict=True)]
    lines = [_line(row, widths, table.align) for row in grid]
    across = "-+-".join("-" * columns for columns in widths)
    return [lines[0], across, *lines[1:]]


def _line(cells: list[str], widths: list[int], align: tuple[Align, ...]) -> str:
    padded = (
        _pad(cell, columns, how) for cell, columns, how in zip(cells, widths, align, strict=True)
    )
    return " | ".join(padded).rstrip()


def _pad(cell: str, columns: int, align: Align) -> str:
    spare = columns - width(cell)
    left = {"right": spare, "center": spare // 2}.get(align, 0)
    return " " * left + cell + " " * (spare - left)


def _words(cell: Cell) -> str:
    """A cell's plain text; links cannot be clicked in a fence, so their targets are written out."""
    parts: list[str] = []
    for node in cell:
        match node:
            case Text(text) | CodeSpan(text) | Moment(text=text):
                parts.append(text)
            case LineBreak():
                parts.append(" ")
            case Link(url, children):
                label = _words(children)
                parts.append(label if label == url else f"{label} ({url})")
            case Bold(children) | Italic(children) | Strike(children):
                parts.append(_words(children))
    return "".join(parts).strip()


def as_list(table: Table) -> List:
    """A table too wide for a chat: each row an item, each cell a line behind its column's title."""
    return List(tuple(ListItem((Paragraph(_record(table.header, row)),)) for row in table.rows))


def _record(header: tuple[Cell, ...], row: tuple[Cell, ...]) -> Cell:
    lines: list[Inline] = []
    for title, cell in zip(header, row, strict=True):
        if not plain(cell).strip():
            continue
        if lines:
            lines.append(LineBreak())
        if plain(title).strip():
            lines += (Bold(title), Text(": "))
        lines += cell
    return tuple(lines)
