"""Who spoke: display names and keys of those whose words a question may draw from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any

from peewee import JOIN, Query

from core.model import Scene
from core.records.changes import gone
from core.records.prepared import Prepared, meta_of
from core.records.scope import Shape, rule, sight
from core.records.tables import ConversationRow, MessageRow

MAX_NAMES = 5_000  # of all who ever spoke; a name is one step in the index

# A step from each name to the next in the index ``message_speaker``: SELECT DISTINCT reads all.
_NAMES = """
WITH RECURSIVE who(name) AS (
  SELECT min(author_name) FROM message
  UNION ALL
  SELECT (SELECT min(author_name) FROM message WHERE author_name > who.name)
  FROM who WHERE who.name IS NOT NULL
)
SELECT name FROM who WHERE name IS NOT NULL AND name != '' LIMIT ?
"""


# A new one is in a new message.
_SINCE = "SELECT DISTINCT author_name FROM message WHERE id > ? AND author_name != ''"
_NEWEST = "SELECT id, author_key, author_name, sent_at FROM message ORDER BY id DESC LIMIT 1"
_STILL = "SELECT id, author_key, author_name, sent_at FROM message WHERE id = ?"


@dataclass(frozen=True, slots=True)
class _Known:
    """Names as they were read on a connection, up to a message.

    ``newest`` is that message: where another has its id, it was never committed. ``gone`` as
    ``core.records.changes`` counts: words were deleted or changed since if it is another number.
    """

    connection: Any
    newest: tuple[Any, ...]
    gone: int
    names: tuple[str, ...]


_known: list[_Known] = []  # the last, if there is one


def names() -> tuple[str, ...]:
    """The display names of all who ever spoke, each once. To be asked ``of`` before any is told.

    Kept from question to question: of thousands they take milliseconds to read.
    """
    database = meta_of(MessageRow).database
    newest = database.execute_sql(_NEWEST).fetchone()
    if newest is None:
        return ()
    connection, now = database.connection(), gone()
    found: tuple[str, ...] | None = None
    for known in _known:
        same = known.connection is connection and known.gone == now
        if same and database.execute_sql(_STILL, (known.newest[0],)).fetchone() == known.newest:
            since = database.execute_sql(_SINCE, (known.newest[0],)).fetchall()
            new = {name for (name,) in since}.difference(known.names)
            # In SQLite's order, by code points: the first are the same as when all are read.
            found = tuple(sorted({*known.names, *new})[:MAX_NAMES]) if new else known.names
    if found is None:
        read = database.execute_sql(_NAMES, (MAX_NAMES,)).fetchall()
        found = tuple(name for (name,) in read)
    _known[:] = [_Known(connection, newest, now, found)]
    return found


def of(scene: Scene, display_names: Collection[str]) -> dict[str, str]:
    """The name by key of each who bears one of these and said something the scene may draw from."""
    seen = sight(scene)
    found: dict[str, str] = {}
    for name in display_names:
        for (key,) in _keys.tuples(name=name):
            if _visible(seen.shape).tuples(name=name, key=key, **seen.values):
                found[key] = name
    return found


def is_human(key: str, name: str) -> bool:
    """Whether the one of this key and display name is somebody, no agent and no app."""
    return ("human",) in _kind.tuples(name=name, key=key)


_kind = Prepared(
    MessageRow,
    lambda name, key: (
        MessageRow.select(MessageRow.author_kind)
        .where((MessageRow.author_name == name) & (MessageRow.author_key == key))
        .limit(1)
    ),
)
_keys = Prepared(
    MessageRow,
    lambda name: (
        MessageRow.select(MessageRow.author_key).where(MessageRow.author_name == name).distinct()
    ),
)


@cache
def _visible(shape: Shape) -> Prepared[MessageRow]:
    """One message of a person that may be seen, if there is one."""

    def build(
        name: Any,
        key: Any,
        here: Any,
        chat: Any,
        space: Any,
        channel: Any,
        listed: Any,
        refused: Any,
    ) -> Query:
        theirs = (MessageRow.author_name == name) & (MessageRow.author_key == key)
        seen = rule(shape, here, chat, space, channel, listed, refused)
        said = MessageRow.select(MessageRow.id).join(ConversationRow, JOIN.CROSS)
        place = ConversationRow.id == MessageRow.conversation
        return said.where(theirs & place & seen & MessageRow.deleted_at.is_null()).limit(1)

    return Prepared(MessageRow, build)
