"""Statements of topics as rows that are found by meaning: written from a topic, gone with it.

What an engine wrote is nobody's word: a statement that fits a question lends weight to the messages
it comes from, and is shown itself nowhere (``core.memory.find``). Part of the transaction that
writes or takes down the topic, so nothing outlives a message that it tells of.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.records import indexing
from core.records.prepared import Prepared, each
from core.records.tables import StatementRow, TopicRow

KIND = "statement"


@dataclass(frozen=True, slots=True)
class Stated:
    """Which messages a statement comes from; ``whole``: it is a topic with its title."""

    whole: bool
    messages: tuple[int, ...]


_of_topic = Prepared(
    StatementRow, lambda topic: StatementRow.select().where(StatementRow.topic == topic)
)
_of_topics = Prepared(
    StatementRow,
    lambda ids: StatementRow.select(StatementRow.id).where(StatementRow.topic.in_(each(ids))),
)
_delete = Prepared(
    StatementRow, lambda ids: StatementRow.delete().where(StatementRow.id.in_(each(ids)))
)
_by_id = Prepared(
    StatementRow,
    lambda ids: StatementRow.select(
        StatementRow.id, StatementRow.conversation, StatementRow.text
    ).where(StatementRow.id.in_(each(ids))),
)
_sources = Prepared(
    StatementRow,
    lambda ids: StatementRow.select(
        StatementRow.id, StatementRow.whole, StatementRow.sources
    ).where(StatementRow.id.in_(each(ids))),
)


def write(topic_id: int) -> None:
    """Have what a topic's row says now found, each statement and all of it; nothing else of it."""
    topic = TopicRow.get_by_id(topic_id)
    told = json.loads(topic.statements)
    wanted = {(False, text, json.dumps(ids)) for text, _, ids, _ in told}
    every = sorted({number for _, _, ids, _ in told for number in ids})
    text = "\n".join((topic.title, *(one[0] for one in told)))
    wanted.add((True, text, json.dumps(every)))
    past: list[int] = []
    for row in _of_topic.rows(topic=topic_id):
        known = (row.whole, row.text, row.sources)
        if known in wanted:
            wanted.remove(known)  # its vector stays
        else:
            past.append(row.id)
    _drop(past)
    for whole, text, sources in sorted(wanted):
        made = StatementRow.create(
            topic=topic_id,
            conversation=topic.conversation_id,
            whole=whole,
            text=text,
            sources=sources,
        )
        indexing.queue(KIND, made.id, "put")


def follow(topic_id: int) -> None:
    """A topic has changed: where it was found, it is found as it is now."""
    if _of_topic.first(topic=topic_id) is not None:
        write(topic_id)


def drop(topic_ids: str) -> None:
    """Topics (JSON) are no more: neither are their statements, vectors, and what Chroma has."""
    _drop([number for (number,) in _of_topics.tuples(ids=topic_ids)])


def _drop(numbers: Sequence[int]) -> None:
    if numbers:
        _delete.run(ids=json.dumps(numbers))
        indexing.drop_all_vectors(KIND, numbers)


_some = Prepared(StatementRow, lambda: StatementRow.select(StatementRow.id).limit(1))


def some() -> bool:
    """Whether there are any."""
    return bool(_some.tuples())


def texts(ids: Iterable[int]) -> list[tuple[int, int, str]]:
    """Of those that are there: (id, conversation, text)."""
    return [tuple(row) for row in _by_id.tuples(ids=json.dumps(list(ids)))]


def sources(ids: Iterable[int]) -> dict[int, Stated]:
    """Which messages these come from; those that are gone are not in it."""
    return {
        number: Stated(bool(whole), tuple(json.loads(told)))
        for number, whole, told in _sources.tuples(ids=json.dumps(list(ids)))
    }
