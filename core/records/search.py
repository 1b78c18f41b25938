"""Messages by words: keyword search over all conversations that a question may draw from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import JOIN, SQL, Expression, ModelSelect

from core.keywords import match_any, query_terms
from core.model import Conversation, Message, Scene
from core.records.messages import to_conversation, to_message
from core.records.prepared import meta_of
from core.records.scope import visible
from core.records.tables import ConversationRow, MessageIndex, MessageRow

COMMON_ROWS = 10_000  # a word in more messages than this tells little, and costs a millisecond
READ_ROWS = 20_000  # index entries that one query may rank: some 15 ms
NEWEST_ROWS = 100_000  # where every word is common: how many of the newest uses are looked at
BEST_ROWS = 2_000  # how many of the best hits are asked for their place, one by one
FEW_MESSAGES = (
    20_000  # up to so many allowed messages are listed instead, where there are more hits
)


@dataclass(frozen=True, slots=True)
class Found:
    """A message that holds words of the query; a higher ``score`` is better (BM25, 0 if common)."""

    message: Message
    conversation: Conversation
    score: float


def search(scene: Scene, text: str, limit: int) -> tuple[Found, ...]:
    """The best ``limit`` messages for any words of ``text``, best first.

    Only what ``scope.visible`` allows now, without what ``scene.shown`` holds and without the
    question. The rarest words decide: the cost is bounded whatever the size of the database.
    """
    rare, common = _weighed(query_terms(text))
    if rare:
        scored = _ranked(scene, rare, limit)
    elif common:
        scored = _newest(scene, common[0], limit)
    else:
        return ()
    return _fetched(scored)


def count_visible(scene: Scene, limit: int) -> int:
    """How many messages may be drawn from, the ones shown included; counting ends at ``limit``."""
    return int(_listed(scene).limit(limit).count())


def _weighed(terms: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """The rarest terms that may be ranked together, with their uses; the rarest common one."""
    uses = sorted((_uses(term), place, term) for place, term in enumerate(terms))
    rare: dict[str, int] = {}
    left = READ_ROWS
    for count, _, term in uses:
        left -= count
        if count > COMMON_ROWS or left < 0:
            break
        if count:
            rare[term] = count
    return rare, [term for count, _, term in uses if count > COMMON_ROWS][:1]


def _uses(term: str) -> int:
    """In how many messages a term is; counting stops where it is common."""
    counted = "SELECT rowid FROM message_fts WHERE message_fts MATCH ? LIMIT ?"
    [[count]] = _sql(f"SELECT count(*) FROM ({counted})", [match_any([term]), COMMON_ROWS + 1])  # noqa: S608
    return count


def _ranked(scene: Scene, terms: Mapping[str, int], limit: int) -> list[tuple[int, float]]:
    """The best hits, as (message, score)."""
    found = "SELECT rowid AS id, -bm25(message_fts) AS score FROM message_fts"
    order = "ORDER BY score DESC, id DESC LIMIT ?"
    if sum(terms.values()) > BEST_ROWS and _few(scene):
        # The list first: the hits in it are all that is ranked, and none of them is missed.
        allowed, params = _listed(scene).where(_new(scene)).sql()
        sql = f"{found} WHERE message_fts MATCH ? AND +rowid IN ({allowed}) {order}"
        return _sql(sql, [match_any(terms), *params, limit])
    best = f"{found} WHERE message_fts MATCH ? {order}"
    return _first_allowed(scene, best, [match_any(terms), BEST_ROWS], limit)


def _newest(scene: Scene, term: str, limit: int) -> list[tuple[int, float]]:
    """The newest hits for a word that is everywhere: how often it stands there tells nothing."""
    newest = (
        "SELECT rowid AS id, 0.0 AS score FROM message_fts WHERE message_fts MATCH ? "
        "ORDER BY rowid DESC LIMIT ?"
    )
    return _first_allowed(scene, newest, [match_any([term]), NEWEST_ROWS], limit)


def _first_allowed(
    scene: Scene, hits: str, params: list[Any], limit: int
) -> list[tuple[int, float]]:
    """The first ``limit`` of these hits that may be told, in their order."""
    if _few(scene):
        allowed, more = _listed(scene).where(_new(scene)).sql()
        told = f"hits.id IN ({allowed})"
    else:
        allowed, more = _asked(scene).where(_new(scene)).sql()
        told = f"EXISTS ({allowed})"
    sql = f"SELECT hits.id, hits.score FROM ({hits}) AS hits WHERE {told} LIMIT ?"  # noqa: S608
    return _sql(sql, [*params, *more, limit])


def _few(scene: Scene) -> bool:
    """Whether listing what may be seen is cheaper than asking for the place of each hit."""
    return count_visible(scene, FEW_MESSAGES + 1) <= FEW_MESSAGES


# SQLite keeps the order of a cross join, so both read only what they must.
_PLACE = ConversationRow.id == MessageRow.conversation


def _listed(scene: Scene) -> ModelSelect[ConversationRow]:
    """The ids of all messages that may be seen, by conversation; it can end early."""
    joined = ConversationRow.select(MessageRow.id).join(MessageRow, JOIN.CROSS)
    return joined.where(_PLACE & visible(scene) & MessageRow.deleted_at.is_null())


def _asked(scene: Scene) -> ModelSelect[MessageRow]:
    """The message ``hits.id``, if it may be seen."""
    joined = MessageRow.select(MessageRow.id).join(ConversationRow, JOIN.CROSS)
    one = (MessageRow.id == SQL("hits.id")) & _PLACE
    return joined.where(one & visible(scene) & MessageRow.deleted_at.is_null())


def _new(scene: Scene) -> Expression:
    """Without what is shown anyway, and without the question itself."""
    return MessageRow.id.not_in((*sorted(scene.shown), scene.prompt_message_id))


def _fetched(scored: Sequence[tuple[int, float]]) -> tuple[Found, ...]:
    ids = [message_id for message_id, _ in scored]
    rows = {row.id: row for row in MessageRow.select().where(MessageRow.id.in_(ids))}
    places = {row.conversation_id for row in rows.values()}
    known = {
        row.id: to_conversation(row)
        for row in ConversationRow.select().where(ConversationRow.id.in_(places))
    }
    return tuple(
        Found(to_message(rows[number]), known[rows[number].conversation_id], score)
        for number, score in scored
    )


def _sql(sql: str, params: Sequence[Any]) -> list[Any]:
    database = meta_of(MessageIndex).database
    return database.execute_sql(sql, params).fetchall()
