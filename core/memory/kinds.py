"""What has vectors: for each kind of item, how its text is read and which items lack a vector.

Whoever keeps another kind adds an entry to ``KINDS``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.memory.texts import passage_of
from core.records import statements
from core.records.prepared import meta_of
from core.records.scopes import scope_of
from core.records.tables import MessageRow


@dataclass(frozen=True, slots=True)
class Text:
    """An item's text as its row has it, and whose eyes it is for. Equal: nothing changed."""

    scope: int
    text: str


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of item.

    Attributes:
        name: as in ``VectorRow.kind``.
        read: the texts of some items; those that are gone, or are not to be found, are not in it.
            Runs on the records' thread, also in the transaction that writes the vectors.
        lacking: ``(embedder, before, span)`` -> the items, newest first, among the ``span`` ids
            below ``before`` that have neither a vector of this model nor a job, and where the next
            look begins (0: that was all). On the records' thread; quick whatever there is.
        passage: what is embedded of a text ("": it has no vector). In a thread.
    """

    name: str
    read: Callable[[Sequence[int]], Mapping[int, Text]]
    lacking: Callable[[int, int, int], tuple[list[int], int]]
    passage: Callable[[str], str] = passage_of


def lacking(table: str, where: str, kind: str) -> Callable[[int, int, int], tuple[list[int], int]]:
    """``Kind.lacking`` for the rows of a table with a numeric ``id`` for which ``where`` holds.

    Args:
        table: its name, which stands for itself in ``where``.
        where: SQL of ours, never of anybody else's text.
        kind: the name of the kind.
    """

    def find(embedder: int, before: int, span: int) -> tuple[list[int], int]:
        if not before:
            [(newest,)] = _sql(f"SELECT COALESCE(max(id), 0) FROM {table}", [])  # noqa: S608
            before = newest + 1
        low = max(1, before - span)
        found = _sql(
            f"SELECT id FROM {table} WHERE id >= ? AND id < ? AND {where} AND NOT EXISTS "  # noqa: S608
            "(SELECT 1 FROM vector WHERE kind = ? AND item = id AND embedder = ?) AND NOT EXISTS "
            "(SELECT 1 FROM index_job WHERE kind = ? AND item = id) ORDER BY id DESC",
            [low, before, kind, embedder, kind],
        )
        return [item for (item,) in found], low if low > 1 else 0

    return find


def _messages(items: Sequence[int]) -> dict[int, Text]:
    found = _sql(
        f"SELECT id, conversation_id, text FROM message WHERE {_TOLD} "  # noqa: S608
        "AND id IN (SELECT value FROM json_each(?))",
        [json.dumps(list(items))],
    )
    scopes = {place: scope_of(place) for place in {place for _, place, _ in found}}
    return {item: Text(scopes[place], text) for item, place, text in found}


# What failed and stopped runs said is nobody's memory.
_TOLD = "deleted_at IS NULL AND NOT interrupted AND text != ''"

MESSAGES = Kind("message", _messages, lacking("message", _TOLD, "message"))


def _statements(items: Sequence[int]) -> dict[int, Text]:
    return {item: Text(scope_of(place), text) for item, place, text in statements.texts(items)}


# Their sources are of one conversation: no scope is narrower than its own.
STATEMENTS = Kind(statements.KIND, _statements, lacking("statement", "text != ''", statements.KIND))
KINDS: dict[str, Kind] = {kind.name: kind for kind in (MESSAGES, STATEMENTS)}


def _sql(sql: str, params: Sequence[Any]) -> list[Any]:
    return meta_of(MessageRow).database.execute_sql(sql, list(params)).fetchall()
