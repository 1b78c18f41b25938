"""Messages by words: keyword search over all conversations that a question may draw from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peewee import ModelSelect

from core.keywords import match_any, query_terms
from core.model import Conversation, Message, Scene
from core.records.messages import to_conversation, to_message
from core.records.prepared import meta_of
from core.records.scope import visible_ids
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
        scored = _newest(scene, match_any(common), limit)
    else:
        return ()
    return _fetched(scored)


def count_visible(scene: Scene, limit: int) -> int:
    """How many messages may be drawn from, the ones shown included; counting ends at ``limit``."""
    standing = _allowed(scene, without=()).limit(limit)
    return int(standing.count())


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


def _allowed(scene: Scene, without: Sequence[int]) -> ModelSelect[MessageRow]:
    """A query of the ids of messages that may be found; one index has all that it needs."""
    standing = MessageRow.conversation.in_(visible_ids(scene)) & MessageRow.deleted_at.is_null()
    if without:
        standing &= MessageRow.id.not_in(without)
    return MessageRow.select(MessageRow.id).where(standing)


def _ranked(scene: Scene, terms: Mapping[str, int], limit: int) -> list[tuple[int, float]]:
    """The best hits, as (message, score)."""
    expression = match_any(terms)
    allowed, params = _allowed(scene, _hidden(scene)).sql()
    score = "-bm25(message_fts) AS score"
    many = sum(terms.values()) > BEST_ROWS
    if many and count_visible(scene, FEW_MESSAGES + 1) <= FEW_MESSAGES:
        # The list first: the hits in it are all that is ranked, and none of them is missed.
        sql = (
            f"SELECT rowid, {score} FROM message_fts WHERE message_fts MATCH ? "  # noqa: S608
            f"AND +rowid IN ({allowed}) ORDER BY score DESC, rowid DESC LIMIT ?"
        )
        return _sql(sql, [expression, *params, limit])
    best = (
        f"SELECT rowid AS id, {score} FROM message_fts WHERE message_fts MATCH ? "  # noqa: S608
        "ORDER BY score DESC, rowid DESC LIMIT ?"
    )
    sql = (
        f"SELECT best.id, best.score FROM ({best}) AS best WHERE EXISTS "  # noqa: S608
        f"({allowed} AND t1.id = best.id) ORDER BY best.score DESC, best.id DESC LIMIT ?"
    )
    return _sql(sql, [expression, BEST_ROWS, *params, limit])


def _newest(scene: Scene, expression: str, limit: int) -> list[tuple[int, float]]:
    """The newest hits for a word that is everywhere: how often it stands there tells nothing."""
    allowed, params = _allowed(scene, _hidden(scene)).sql()
    newest = (
        "SELECT rowid AS id FROM message_fts WHERE message_fts MATCH ? ORDER BY rowid DESC LIMIT ?"
    )
    sql = (
        f"SELECT newest.id, 0.0 FROM ({newest}) AS newest WHERE EXISTS "  # noqa: S608
        f"({allowed} AND t1.id = newest.id) LIMIT ?"
    )
    return _sql(sql, [expression, NEWEST_ROWS, *params, limit])


def _hidden(scene: Scene) -> tuple[int, ...]:
    return (*sorted(scene.shown), scene.prompt_message_id)


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
