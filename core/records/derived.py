"""What is derived from messages goes with them: the one place where all of it is named.

A message is also a keyword row and vectors (``core.records.indexing``); what was said because of it
are messages of their own. Everything else that may hold words of one is taken down here:

- topics and their statements, with their vectors, and lines of context (``forget``);
- marks that people set on it, and the note of a mark that it set (``forget``);
- its files, and posts that tell its words: a header that quotes it, a plan as it was proposed
  (``erase``);
- plans, findings, artifacts and decisions that were made from it (``erase``).

Part of the transaction that edits, deletes or forgets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from peewee import SQL, fn

from core.records import files, filing, lines, marks, statements
from core.records.prepared import Prepared, each
from core.records.tables import MessageRow, OutboxRow, SummarisedRow, SummaryRow, TopicRow

EARLIER = "Earlier"
"""The title of a topic whose own title may come from messages that are no more."""

GONE = "*deleted*"
"""Stands in a post that is not sent yet, and so must have a text."""

_told = Prepared(
    OutboxRow,
    lambda message: OutboxRow.select().where(
        (OutboxRow.message == message) & SQL('"t1"."message" != 0')  # word for word as in the index
    ),
)


_covers = Prepared(
    SummarisedRow, lambda ids: SummarisedRow.select().where(SummarisedRow.message.in_(each(ids)))
)
_read = Prepared(
    SummaryRow,
    lambda ids: SummaryRow.select(SummaryRow.id, SummaryRow.conversation, SummaryRow.read).where(
        SummaryRow.conversation.in_(
            MessageRow.select(MessageRow.conversation).where(MessageRow.id.in_(each(ids)))
        )
        & (SummaryRow.read != "[]")
    ),
)

_of_pass = Prepared(
    SummarisedRow,
    lambda summary: SummarisedRow.select().where(SummarisedRow.summary == summary),
)
_free = Prepared(
    SummarisedRow, lambda ids: SummarisedRow.delete().where(SummarisedRow.message.in_(each(ids)))
)
_topics = Prepared(
    TopicRow,
    lambda conversation, first, last, name: TopicRow.select().where(
        (TopicRow.conversation == conversation)
        & (
            ((TopicRow.first_message <= last) & (TopicRow.last_message >= first))
            # Its title may outlive the statements of a pass: a topic that grows too long is trimmed
            | (fn.INSTR(TopicRow.passes, name) > 0)
        )
    ),
)
_stale = Prepared(
    SummaryRow,
    lambda conversation: SummaryRow.update(state="stale").where(
        (SummaryRow.conversation == conversation)
        & (SummaryRow.state == "done")
        & SummaryRow.id.not_in(
            SummarisedRow.select(SummarisedRow.summary).where(
                SummarisedRow.conversation == conversation
            )
        )
    ),
)


def erase(message_id: int, now: float) -> None:
    """A message is gone for good: whatever holds words of it goes, word for word."""
    forget([message_id])
    files.forget(message_id)
    filing.withdraw(message_id, now)
    _posts_of(message_id)


def age(message_ids: Iterable[int]) -> None:
    """Messages were kept as long as they are kept: what is derived from them goes, as far as it is.

    Unlike after ``forget`` the messages beside them are not summed up anew: their turn comes next.
    What the team filed on purpose (plans, findings, artifacts, decisions) stays.
    """
    gone = frozenset(message_ids)
    for conversation, summary_id in _passes(gone):
        _shorten(conversation, summary_id)
    _free.run(ids=_dump(gone))
    marks.forget(gone)
    for message_id in gone:
        files.forget(message_id)
        _posts_of(message_id)


def forget(message_ids: Iterable[int]) -> None:
    """Drop whatever is told beside these messages and may hold words of them.

    Whatever a pass made may hold something of any message it read, so all its topics go, and the
    messages behind them are uncovered: they are due again.
    """
    gone = frozenset(message_ids)
    marks.forget(gone)
    for conversation, summary_id in _passes(gone):
        _undo(conversation, summary_id)


def uncover(message_ids: Iterable[int]) -> None:
    """Take down what covers these messages now: they are summarised anew, or gone."""
    for conversation, summary_id in _covering(frozenset(message_ids)):
        _undo(conversation, summary_id)


_drop_topics = Prepared(TopicRow, lambda ids: TopicRow.delete().where(TopicRow.id.in_(each(ids))))


def drop_topics(topic_ids: Iterable[int]) -> None:
    """Topics are no more: their rows, statements, vectors, and what Chroma has of them."""
    ids = _dump(topic_ids)
    _drop_topics.run(ids=ids)
    statements.drop(ids)


def _posts_of(message_id: int) -> None:
    """What was posted with words of a message; what is not posted yet says only that it is gone."""
    for row in _told.rows(message=message_id):
        OutboxRow.change(row.id, text=GONE if row.state == "due" else "", title="")


def _dump(ids: Iterable[int]) -> str:
    return json.dumps(list(ids))


def _covering(ids: frozenset[int]) -> list[tuple[int, str]]:
    """The passes that cover messages now, each with its conversation."""
    rows = _covers.rows(ids=_dump(ids))
    return list(dict.fromkeys((row.conversation, row.summary_id) for row in rows))


def _passes(ids: frozenset[int]) -> list[tuple[int, str]]:
    """The passes that read messages, each with its conversation.

    A message that another pass's end uncovered may still stand in what the first one made of it.
    """
    found = _covering(ids)
    read = _read.rows(ids=_dump(ids))
    found += [
        (row.conversation_id, row.id) for row in read if ids.intersection(json.loads(row.read))
    ]
    return list(dict.fromkeys(found))


def _made_of(conversation: int, summary_id: str, read: frozenset[int]) -> list[TopicRow]:
    """The topics that may hold something of a pass over the messages ``read``."""
    topics = _topics.rows(
        conversation=conversation,
        first=min(read, default=0),
        last=max(read, default=0),
        name=json.dumps(summary_id),
    )
    return [
        topic
        for topic in topics
        if _sources(topic) & read or summary_id in json.loads(topic.passes)
    ]


def _sources(topic: TopicRow) -> set[int]:
    return {number for _, _, ids, _ in json.loads(topic.statements) for number in ids}


def _undo(conversation: int, summary_id: str) -> None:
    """Take down all topics and lines of a pass; the messages behind them are due again."""
    lines.drop(summary_id)
    freed = {row.message for row in _of_pass.rows(summary=summary_id)}
    made = _made_of(conversation, summary_id, frozenset(freed))
    freed.update(*map(_sources, made))
    drop_topics(topic.id for topic in made)
    _free.run(ids=_dump(freed))
    SummaryRow.change(summary_id, state="undone", read="[]")
    # Other passes whose topics went with it may cover nothing any more.
    _stale.run(conversation=conversation)


def _shorten(conversation: int, summary_id: str) -> None:
    """Take what a pass made out of its topics; what other passes made stays.

    A title that it may have given goes as well, and its lines. What it covered stays covered.
    """
    lines.drop(summary_id)
    row = SummaryRow.get_by_id(summary_id)
    covered = SummarisedRow.select().where(SummarisedRow.summary == summary_id)
    read = frozenset(json.loads(row.read)) | {one.message for one in covered}
    for topic in _made_of(conversation, summary_id, read):
        stated = json.loads(topic.statements)
        left = [one for one in stated if not read.intersection(one[2])]
        passes = [one for one in json.loads(topic.passes) if one != summary_id]
        if not left or not passes:
            drop_topics([topic.id])
            continue
        numbers = [number for one in left for number in one[2]]
        TopicRow.change(
            topic.id,
            title=EARLIER,
            statements=json.dumps(left, ensure_ascii=False),
            passes=json.dumps(passes),
            first_message=min(numbers),
            last_message=max(numbers),
        )
        statements.follow(topic.id)
    SummaryRow.change(summary_id, read="[]", error="")
