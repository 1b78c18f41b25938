"""Messages by words: keyword search over all conversations that a question may draw from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from peewee import JOIN, SQL, Expression, Query, fn

from core.keywords import MAX_QUERY_TERMS, also, query_terms
from core.model import Conversation, ConversationKey, Message, Scene
from core.records import fulltext
from core.records.prepared import Prepared, each
from core.records.scope import Shape, Sight, rule, sight
from core.records.tables import ConversationRow, MessageRow

CONSIDERED = 4 * MAX_QUERY_TERMS  # terms of a long text whose uses are counted
COMMON_ROWS = 10_000  # a word in more messages than this tells little, and costs a millisecond
COUNTED_ROWS = 400_000  # that all counts of one query may take: some 20 ms
COMMON_SHARE = 0.25  # of all messages: beside a rarer word, one in more of them tells nothing
READ_ROWS = 20_000  # index entries that one query may rank: some 15 ms
SMALL_ROWS = 50  # a word in no more messages than this is never too common
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


def search(scene: Scene, text: str, limit: int, *, few: bool | None = None) -> tuple[Found, ...]:
    """The best ``limit`` messages for any words of ``text``, best first.

    Only what ``core.records.scope`` allows now, without what ``scene.shown`` holds and without
    the question. The rarest words decide: the cost is bounded whatever the size of the database.
    ``few``: whether ``count_visible`` is at most ``FEW_MESSAGES``, where that is known.
    """
    return read(scored(scene, text, limit, few=few))


def scored(
    scene: Scene, text: str, limit: int, *, few: bool | None = None
) -> list[tuple[int, float]]:
    """What ``search`` finds, as (id, score), not read."""
    terms = query_terms(text, CONSIDERED)
    rare, common = _weighed(tuple(dict.fromkeys((*terms, *islice(also(text), MAX_QUERY_TERMS)))))
    if not rare and not common:
        return []
    look = _Look(sight(scene), _told_already(scene), limit, few)
    return look.ranked(rare) if rare else look.newest(common[0])


def fetch(scene: Scene, ids: Iterable[int]) -> tuple[Found, ...]:
    """The messages with these ids that ``search`` could find now, in the order given; score 0.

    The check on rows of whatever another index found: what may not be seen, is deleted, shown or
    nobody's word (``interrupted``), and what does not exist, is left out.
    """
    return read([(number, 0.0) for number in allowed(scene, ids)])


def allowed(scene: Scene, ids: Iterable[int]) -> list[int]:
    """The ids that ``fetch`` would bring."""
    wanted = list(dict.fromkeys(ids))
    seen = sight(scene)
    sql, params = _asked(seen.shape).bound(**seen.values, told=_told_already(scene))
    hits = "SELECT key, value AS id FROM json_each(?)"
    sql = f"SELECT hits.id FROM ({hits}) AS hits WHERE EXISTS ({sql}) ORDER BY hits.key"  # noqa: S608
    return [number for (number,) in fulltext.sql(sql, [json.dumps(wanted), *params])]


def _told_already(scene: Scene) -> str:
    """The ids that are not to be found, as JSON."""
    return json.dumps([*scene.shown, scene.prompt_message_id])


def count_visible(scene: Scene, limit: int) -> int:
    """How many messages may be drawn from, the ones shown included; counting ends at ``limit``."""
    return _count(sight(scene), limit)


def _count(seen: Sight, limit: int) -> int:
    sql, params = _listed(seen.shape).bound(**seen.values)
    [[count]] = fulltext.sql(f"SELECT count(*) FROM ({sql} LIMIT ?)", [*params, limit])  # noqa: S608
    return count


def _weighed(terms: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """The rarest terms that may be ranked together, with their uses; the rarest common one."""
    common = min(COMMON_ROWS, COUNTED_ROWS // max(1, len(terms)))
    uses = sorted((fulltext.uses(term, common + 1), at, term) for at, term in enumerate(terms))
    share = max(COMMON_SHARE * _newest_id(), SMALL_ROWS)
    rare: dict[str, int] = {}
    left = READ_ROWS
    for count, _, term in uses:
        left -= count
        if count > common or left < 0 or (rare and count > share) or len(rare) == MAX_QUERY_TERMS:
            break
        if count:
            rare[term] = count
    return rare, [term for count, _, term in uses if count > common][:1]


def _newest_id() -> int:
    return _newest.value() or 0


@dataclass(slots=True)
class _Look:
    """One search: where it may look, and what it is not to find (ids of messages, as JSON)."""

    seen: Sight
    told: str
    limit: int
    known_few: bool | None

    def ranked(self, terms: Mapping[str, int]) -> list[tuple[int, float]]:
        """The best hits, as (message, score)."""
        found, words = fulltext.hits(terms)
        order = "ORDER BY score DESC, id DESC LIMIT ?"
        if sum(terms.values()) > BEST_ROWS and self._few():
            # The list first: the hits in it are all that is ranked, and none of them is missed.
            allowed, params = self._bound(_listed_new)
            sql = f"{found} AND +rowid IN ({allowed}) {order}"
            return fulltext.sql(sql, [*words, *params, self.limit])
        return self._first_allowed(f"{found} {order}", [*words, BEST_ROWS])

    def newest(self, term: str) -> list[tuple[int, float]]:
        """The newest hits for a word that is everywhere: its count in a text tells nothing."""
        return self._first_allowed(*fulltext.newest(term, NEWEST_ROWS))

    def _first_allowed(self, hits: str, params: list[Any]) -> list[tuple[int, float]]:
        """The first hits that may be told, in their order."""
        if self._few():
            allowed, more = self._bound(_listed_new)
            told = f"hits.id IN ({allowed})"
        else:
            allowed, more = self._bound(_asked)
            told = f"EXISTS ({allowed})"
        sql = f"SELECT hits.id, hits.score FROM ({hits}) AS hits WHERE {told} LIMIT ?"  # noqa: S608
        return fulltext.sql(sql, [*params, *more, self.limit])

    def _few(self) -> bool:
        """Whether listing what may be seen is cheaper than asking for the place of each hit."""
        if self.known_few is None:
            self.known_few = _count(self.seen, FEW_MESSAGES + 1) <= FEW_MESSAGES
        return self.known_few

    def _bound(self, query: Callable[[Shape], Prepared[MessageRow]]) -> tuple[str, list[Any]]:
        return query(self.seen.shape).bound(**self.seen.values, told=self.told)


# SQLite keeps the order of a cross join, so all read only what they must.
_PLACE = ConversationRow.id == MessageRow.conversation


@cache
def _listed(shape: Shape) -> Prepared[MessageRow]:
    """The ids of all messages that may be seen, by conversation; it can end early."""

    def build(here: Any, chat: Any, space: Any, channel: Any, listed: Any, refused: Any) -> Query:
        seen = rule(shape, here, chat, space, channel, listed, refused)
        joined = ConversationRow.select(MessageRow.id).join(MessageRow, JOIN.CROSS)
        return joined.where(_PLACE & seen & MessageRow.deleted_at.is_null())

    return Prepared(MessageRow, build)


@cache
def _listed_new(shape: Shape) -> Prepared[MessageRow]:
    """``_listed`` without what is told already."""

    def build(
        here: Any, chat: Any, space: Any, channel: Any, listed: Any, refused: Any, told: Any
    ) -> Query:
        seen = rule(shape, here, chat, space, channel, listed, refused)
        joined = ConversationRow.select(MessageRow.id).join(MessageRow, JOIN.CROSS)
        return joined.where(_PLACE & seen & MessageRow.deleted_at.is_null() & _new(told))

    return Prepared(MessageRow, build)


@cache
def _asked(shape: Shape) -> Prepared[MessageRow]:
    """The message ``hits.id``, if it may be seen and is not told already."""

    def build(
        here: Any, chat: Any, space: Any, channel: Any, listed: Any, refused: Any, told: Any
    ) -> Query:
        seen = rule(shape, here, chat, space, channel, listed, refused)
        joined = MessageRow.select(MessageRow.id).join(ConversationRow, JOIN.CROSS)
        one = (MessageRow.id == SQL("hits.id")) & _PLACE & ~MessageRow.interrupted
        return joined.where(one & seen & MessageRow.deleted_at.is_null() & _new(told))

    return Prepared(MessageRow, build)


def _new(told: Any) -> Expression:
    return MessageRow.id.not_in(each(told))


_newest = Prepared(MessageRow, lambda: MessageRow.select(fn.MAX(MessageRow.id)))
_messages = Prepared(  # the fields of ``Message``, in their order: a row a hit would be half of all
    MessageRow,
    lambda ids: MessageRow.select(
        MessageRow.conversation,
        MessageRow.id,
        MessageRow.platform_id,
        MessageRow.author_key,
        MessageRow.author_name,
        MessageRow.author_kind,
        MessageRow.text,
        MessageRow.sent_at,
        MessageRow.engine,
        MessageRow.persona,
        MessageRow.turn,
        MessageRow.interrupted,
        MessageRow.admitted,
    ).where(MessageRow.id.in_(each(ids))),
)
_places = Prepared(  # the fields of a ``Conversation``, in the order of ``_conversation``
    ConversationRow,
    lambda ids: ConversationRow.select(
        ConversationRow.id,
        ConversationRow.chat,
        ConversationRow.space,
        ConversationRow.channel,
        ConversationRow.root,
        ConversationRow.direct,
        ConversationRow.engaged,
        ConversationRow.caught_up,
        ConversationRow.public,
        ConversationRow.mode,
        ConversationRow.apart,
    ).where(ConversationRow.id.in_(each(ids))),
)


def read(hits: Sequence[tuple[int, float]]) -> tuple[Found, ...]:
    """The messages of (id, score), in that order; that they may be told is known already."""
    ids = json.dumps([message_id for message_id, _ in hits])
    said: dict[int, tuple[Message, int]] = {}
    for place, *values, interrupted, admitted in _messages.tuples(ids=ids):
        message = Message(*values, interrupted=bool(interrupted), admitted=bool(admitted))
        said[message.id] = message, place
    places = json.dumps(list({place for _, place in said.values()}))
    known = {row[0]: _conversation(*row) for row in _places.tuples(ids=places)}
    found = ((*said[number], score) for number, score in hits)
    return tuple(Found(message, known[place], score) for message, place, score in found)


def _conversation(
    number: int,
    chat: str,
    space: str,
    channel: str,
    root: str | None,
    direct: int,
    engaged: int,
    caught_up: int,
    public: int,
    mode: str,
    apart: int,
) -> Conversation:
    return Conversation(
        number,
        ConversationKey(chat, space, channel, root or ""),
        direct=bool(direct),
        opened=root is not None,
        engaged=bool(engaged),
        caught_up=bool(caught_up),
        public=bool(public),
        mode=mode,
        apart=bool(apart),
    )
