"""The keyword index as SQLite's FTS5 has it: the one module that knows its syntax.

Tokens come from ``core.keywords``, with spaces between them. FTS5's ``ascii`` tokeniser takes every
other character for a part of a word, so all scripts, marks and emoji stay as they were cut there,
whatever version of Unicode SQLite knows; ``porter`` then stems what is English.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from core.keywords import is_run
from core.records.prepared import Prepared, meta_of
from core.records.tables import MessageIndex

WEIGHTS = "1.0, 1.0, 0.5"  # of body, speaker and context: measured on LoCoMo

_put = Prepared(
    MessageIndex,
    lambda message, body, speaker, context: MessageIndex.insert(
        rowid=message, body=body, speaker=speaker, context=context
    ).on_conflict_replace(),
)
_drop = Prepared(
    MessageIndex, lambda message: MessageIndex.delete().where(MessageIndex.rowid == message)
)
_set_context = Prepared(
    MessageIndex,
    lambda message, context: MessageIndex.update(context=context).where(
        MessageIndex.rowid == message
    ),
)


def put(message_id: int, body: str, speaker: str, context: str) -> None:
    """Write a message's row, in place of the one there is."""
    _put.run(message=message_id, body=body, speaker=speaker, context=context)


def set_context(message_id: int, context: str) -> None:
    """Write what stands around a message anew, where it has a row."""
    _set_context.run(message=message_id, context=context)


def drop(message_id: int) -> None:
    """A message has no row any more."""
    _drop.run(message=message_id)


def uses(term: str, limit: int) -> int:
    """In how many messages a term is; counting stops at ``limit``."""
    counted = "SELECT rowid FROM message_fts WHERE message_fts MATCH ? LIMIT ?"
    [[count]] = sql(f"SELECT count(*) FROM ({counted})", [match_any([term]), limit])  # noqa: S608
    return count


def hits(terms: Iterable[str]) -> tuple[str, list[Any]]:
    """A SELECT of ``id`` and ``score`` for messages with any of these terms, to go on with AND."""
    found = (
        f"SELECT rowid AS id, -bm25(message_fts, {WEIGHTS}) AS score "  # noqa: S608
        "FROM message_fts WHERE message_fts MATCH ?"
    )
    return found, [match_any(terms)]


def newest(term: str, limit: int) -> tuple[str, list[Any]]:
    """A SELECT of ``id`` and ``score`` (0) for the newest messages with a term."""
    found = (
        "SELECT rowid AS id, 0.0 AS score FROM message_fts WHERE message_fts MATCH ? "
        "ORDER BY rowid DESC LIMIT ?"
    )
    return found, [match_any([term]), limit]


def match_any(terms: Iterable[str]) -> str:
    """A MATCH expression for what holds any of these terms: valid whatever they hold.

    A term of several words is a phrase; one character of a script without spaces also finds the
    pairs that begin with it.
    """
    return " OR ".join(_quoted(term) for term in terms)


def _quoted(term: str) -> str:
    safe = term.replace("\0", " ").replace('"', '""').encode("utf-8", "ignore").decode("utf-8")
    return f'"{safe}"*' if len(term) == 1 and is_run(term) else f'"{safe}"'


def sql(statement: str, params: Sequence[Any]) -> list[Any]:
    """What a SELECT over the index finds, as SQLite gives it."""
    database = meta_of(MessageIndex).database
    return database.execute_sql(statement, params).fetchall()
