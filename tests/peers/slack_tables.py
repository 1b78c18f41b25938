"""What Slack's table block takes (docs.slack.dev/reference/block-kit/blocks/table-block)."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def tables_ok(blocks: list[Json]) -> bool:
    """At most one table, 100 rows, 20 columns, 10,000 characters; no cell without anything."""
    tables = [block for block in blocks if block.get("type") == "table"]
    return len(tables) <= 1 and all(map(_table_ok, tables))


def words(table: Json) -> list[list[str]]:
    """What a reader sees in each cell."""
    return [["".join(_texts(cell)) for cell in row] for row in table["rows"]]


def _table_ok(table: Json) -> bool:
    rows = table.get("rows") or []
    settings = table.get("column_settings") or []
    characters = sum(len(word) for row in rows for cell in row for word in _texts(cell))
    return (
        0 < len(rows) <= 100
        and all(0 < len(row) <= 20 and len(row) == len(rows[0]) for row in rows)
        and len(settings) <= 20
        and all(setting.get("align") in ("left", "center", "right") for setting in settings)
        and characters <= 10_000
        and all(_cell_ok(cell) for row in rows for cell in row)
    )


def _cell_ok(cell: Json) -> bool:
    if cell.get("type") == "raw_text":
        return len(cell.get("text", "")) > 0
    if cell.get("type") != "rich_text" or not cell.get("elements"):
        return False
    return all(
        section.get("type") == "rich_text_section"
        and section.get("elements")
        and all(_element_ok(element) for element in section["elements"])
        for section in cell["elements"]
    )


def _element_ok(element: Json) -> bool:
    match element.get("type"):
        case "text":
            return bool(element.get("text"))
        case "link":
            return str(element.get("url", "")).startswith(("http://", "https://", "mailto:"))
        case "date":
            return isinstance(element.get("timestamp"), int) and bool(element.get("format"))
    return False


def _texts(cell: Json) -> list[str]:
    if cell.get("type") == "raw_text":
        return [cell.get("text", "")]
    return [
        str(element.get("text") or element.get("fallback") or element.get("url") or "")
        for section in cell.get("elements") or []
        for element in section.get("elements") or []
    ]
