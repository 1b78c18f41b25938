"""PURE: Slack's table block for a table in a rendered text.

The text of a message is always complete in itself, with the table in monospace: it is what is
measured, kept, looked up, edited, shown in notifications, and sent alone where Slack refuses a
block. The cells of the one table that becomes a block travel in the text, as JSON between two
invisible separators that no agent can write, since ``render`` takes them out of what it is given
(docs/decisions/0081).

Limits: 100 rows with the header, 20 columns and 10,000 characters in all cells; one table in a
message; no empty cell (docs.slack.dev/reference/block-kit/blocks/table-block; issues 36219 of
vellum-assistant, 1143 of nao and 246 of SlackNet).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.markup.links import misleading
from core.markup.runs import Run, runs
from core.markup.split import Mark, Piece
from core.markup.tree import Cell, Table

SEPARATOR = "\u2063"
ROWS_MAX = 100
COLUMNS_MAX = 20
CELLS_MAX_CHARS = 9_000
SECTION_MAX = 3_000
DATE_FORMAT = "{date_short_pretty} {time}"

_CARRIED = re.compile(f"{SEPARATOR}([^{SEPARATOR}]*){SEPARATOR}")
_STYLES = {"b": "bold", "i": "italic", "s": "strike", "c": "code"}
_ALIGNS = {"l": "left", "c": "center", "r": "right"}


@dataclass(frozen=True, slots=True)
class Parted:
    """A message's text around its table: ``before`` and ``after`` are mrkdwn, maybe empty."""

    before: str
    table: dict[str, Any]
    after: str


# --- from the renderer to the text -----------------------------------------------------------


def clean(text: str) -> str:
    """``text`` without what could be taken for a table of ours."""
    return text.replace(SEPARATOR, "")


def with_table(piece: Piece) -> str:
    """The piece's text, with the cells of its widest table behind it if that fits a block."""
    fitting = [mark for mark in piece.marks if _fits(mark)]
    if not fitting:
        return piece.text
    mark = max(fitting, key=lambda mark: _columns(piece.text[mark.start : mark.end]))
    table = mark.what
    assert isinstance(table, Table)
    shown_rows = [table.header, *(table.rows[row - 1] for row in mark.parts if row > 0)]
    rows = [[_cell(cell) for cell in row] for row in shown_rows]
    carried = {
        "at": [mark.start, mark.end],
        "align": "".join((align or "left")[0] for align in table.align),
        "rows": rows,
    }
    characters = sum(len(part[0]) for row in rows for cell in row for part in cell)
    if characters > CELLS_MAX_CHARS:
        return piece.text
    told = json.dumps(carried, ensure_ascii=False, separators=(",", ":"))
    return f"{piece.text}{SEPARATOR}{clean(told)}{SEPARATOR}"


def _fits(mark: Mark) -> bool:
    table = mark.what
    rows = sum(row > 0 for row in mark.parts)
    return (
        isinstance(table, Table)
        and not mark.torn
        and 0 < rows < ROWS_MAX
        and len(table.header) <= COLUMNS_MAX
    )


def _columns(text: str) -> int:
    return max(map(len, text.split("\n")))


def _cell(cell: Cell) -> list[list[Any]]:
    """The cell's runs as ``[text, styles]``, ``[text, styles, url]`` or ``[text, "", seconds]``."""
    return [part for run in runs(cell) for part in _run(run)]


def _run(run: Run) -> list[list[Any]]:
    styles = "".join(style[0] for style in sorted(run.styles))
    match run.kind:
        case "break":
            return [["\n", ""]]
        case "code":
            return [[run.text, styles + "c"]]
        case "moment":
            return [[run.text, "", run.at]]
        case "link" if misleading(run.text, run.url):
            return [[f"{run.text} (", styles], [run.url, "", run.url], [")", ""]]
        case "link":
            return [[run.text, styles, run.url]]
        case "text":
            return [[run.text, styles]]


# --- from the text to the message ------------------------------------------------------------


def shown(text: str) -> str:
    """The text of a message as it is sent, without the cells that travel in it."""
    return _CARRIED.sub("", text)


def parted(text: str) -> Parted | None:
    """The message around its table block; None where it has none."""
    found = _CARRIED.search(text)
    if found is None:
        return None
    try:
        carried = json.loads(found[1])
        start, end = carried["at"]
        block = _block(carried)
    except (ValueError, TypeError, LookupError):
        return None  # not ours: the text alone is the message
    text = shown(text)
    return Parted(text[:start].strip("\n"), block, text[end:].strip("\n"))


def _block(carried: Mapping[str, Any]) -> dict[str, Any]:
    header, *rows = carried["rows"]
    return {
        "type": "table",
        "rows": [
            [_rich(cell, header=True) for cell in header],
            *([_rich(cell) for cell in row] for row in rows),
        ],
        "column_settings": [
            {"align": _ALIGNS[align], "is_wrapped": True} for align in carried["align"]
        ],
    }


def _rich(cell: Sequence[Sequence[Any]], *, header: bool = False) -> dict[str, Any]:
    elements = [_element(*part, header=header) for part in cell if part[0]]
    if not any(str(part[0]).strip() for part in cell):
        return {"type": "raw_text", "text": " "}
    if not header and all(len(part) == 2 and not part[1] for part in cell):
        return {"type": "raw_text", "text": "".join(part[0] for part in cell)}
    section = {"type": "rich_text_section", "elements": elements}
    return {"type": "rich_text", "elements": [section]}


def _element(text: str, styles: str, target: str | int = "", *, header: bool) -> dict[str, Any]:
    if isinstance(target, int):
        return {"type": "date", "timestamp": target, "format": DATE_FORMAT, "fallback": text}
    style = {_STYLES[letter]: True for letter in styles}
    if header:
        style["bold"] = True
    made: dict[str, Any] = {"type": "text", "text": text}
    if target:
        made = {"type": "link", "url": target, "text": text}
    return {**made, "style": style} if style else made


def sections(text: str) -> list[str] | None:
    """``text`` in parts that fit a section each, cut at line ends outside code; None: not so."""
    parts: list[str] = []
    while len(text) > SECTION_MAX:
        cut = text.rfind("\n", 0, SECTION_MAX)
        while cut > 0 and text.count("```", 0, cut) % 2:
            cut = text.rfind("\n", 0, cut)
        if cut <= 0:
            return None
        parts.append(text[:cut])
        text = text[cut:].lstrip("\n")
    return [*parts, text] if text else parts
