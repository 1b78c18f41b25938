"""Topics of conversations, and which messages they cover."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, cast

from peewee import JOIN, fn

from core.model import EXTRACT, Message, Statement, Topic, Usage
from core.records import lines, messages, statements
from core.records.derived import uncover
from core.records.messages import to_message
from core.records.prepared import Prepared
from core.records.tables import (
    ConversationRow,
    MessageRow,
    MetaRow,
    SummarisedRow,
    SummaryRow,
    TopicRow,
)

_MARK = "summarised-to"

_newest = Prepared(
    TopicRow,
    lambda conversation, limit: (
        TopicRow.select()
        .where(TopicRow.conversation == conversation)
        .order_by(TopicRow.last_message.desc(), TopicRow.id.desc())
        .limit(limit)
    ),
)
_count = Prepared(
    TopicRow,
    lambda conversation: TopicRow.select(fn.COUNT(TopicRow.id)).where(
        TopicRow.conversation == conversation
    ),
)
_titles = Prepared(
    TopicRow,
    lambda conversation: TopicRow.select(TopicRow.id, TopicRow.title).where(
        TopicRow.conversation == conversation
    ),
)
_covered = Prepared(
    SummarisedRow,
    lambda conversation: SummarisedRow.select(fn.COUNT(SummarisedRow.message)).where(
        SummarisedRow.conversation == conversation
    ),
)


def topics_of(conversation_id: int, limit: int = 1_000) -> tuple[Topic, ...]:
    """The topics of a conversation, the one with the newest messages first."""
    return tuple(_to_topic(row) for row in _newest.rows(conversation=conversation_id, limit=limit))


def count(conversation_id: int) -> int:
    """How many topics a conversation has."""
    return _count.value(conversation=conversation_id)


def covered(conversation_id: int) -> int:
    """How many messages of a conversation are summarised."""
    return _covered.value(conversation=conversation_id)


# --- what is to be done --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Due:
    """Conversations in which something may be to summarise; ``newest`` is how far was looked.

    ``undone`` are those that lost a summary.
    """

    conversations: tuple[int, ...]
    undone: frozenset[int]
    newest: int


def find_due(*, redo: bool) -> Due:
    """Where there is something new since ``note_done``, and where a summary was undone.

    With ``redo`` also what an extract stands in for. Only where Moot takes part. What was said
    before Moot ever summarised is not dug up: it is due when somebody speaks there again.
    """
    mark = MetaRow.get_or_none(MetaRow.name == _MARK)
    newest = int(MessageRow.select(fn.MAX(MessageRow.id)).scalar() or 0)
    if mark is None:
        note_done(newest)
    since = newest if mark is None else int(mark.value)
    engaged = ConversationRow.select(ConversationRow.id).where(ConversationRow.engaged)
    new = MessageRow.select(MessageRow.conversation).where(MessageRow.id > since)
    due = {row.id for row in engaged.where(ConversationRow.id.in_(new))}
    rows = SummaryRow.select().where(SummaryRow.state == "undone")
    undone = frozenset(row.conversation_id for row in rows)
    due |= undone
    if redo:
        due |= {row.conversation_id for row in SummaryRow.select().where(_extracts())}
    return Due(tuple(sorted(due)), undone, newest)


def note_done(newest: int) -> None:
    """All that was due up to the message ``newest`` is done."""
    MetaRow.insert(name=_MARK, value=str(newest)).on_conflict_replace().execute()


def note_redone(conversation_id: int) -> None:
    """What was undone in a conversation has been looked at again."""
    SummaryRow.update(state="stale").where(
        (SummaryRow.state == "undone") & (SummaryRow.conversation == conversation_id)
    ).execute()


def unsummarised(
    conversation_id: int, *, keep: int, at_least: int, limit: int, redo: bool
) -> tuple[Message, ...]:
    """The newest ``limit`` messages not yet summarised, oldest first, without the last ``keep``.

    None when there are fewer than ``at_least``, which is told without looking for them. With
    ``redo`` what only an extract stands in for counts as not summarised.
    """
    redo = redo and _has_extracts(conversation_id)
    left = messages.count(conversation_id) - keep - (0 if redo else covered(conversation_id))
    if left < at_least:
        return ()
    newest = messages.recent(conversation_id, keep)
    done = MessageRow.id == SummarisedRow.message
    missing: Any = SummarisedRow.message.is_null()
    if redo:
        stand_ins = SummaryRow.select(SummaryRow.id).where(SummaryRow.engine == EXTRACT)
        missing |= SummarisedRow.summary.in_(stand_ins)
    found = (
        MessageRow.select(MessageRow)
        .join(SummarisedRow, JOIN.LEFT_OUTER, on=done)
        .where(
            (MessageRow.conversation == conversation_id)
            & MessageRow.deleted_at.is_null()
            & (MessageRow.sent_at <= newest[0].sent_at)
            & MessageRow.id.not_in([message.id for message in newest])
            & missing
        )
        .order_by(MessageRow.sent_at.desc(), MessageRow.id.desc())
        .limit(min(limit, left))  # so that the search ends when it has them
    )
    rows = list(found)
    return tuple(to_message(row) for row in reversed(rows)) if len(rows) >= at_least else ()


def _has_extracts(conversation_id: int) -> bool:
    return (
        SummaryRow.select()
        .where((SummaryRow.conversation == conversation_id) & _extracts())
        .exists()
    )


def _extracts() -> Any:
    return (SummaryRow.engine == EXTRACT) & (SummaryRow.state == "done")


# --- passes --------------------------------------------------------------------------------


def open_pass(
    pass_id: str, conversation_id: int, engine: str, model: str, receipt: dict[str, Any], now: float
) -> None:
    """Write a pass before its process exists."""
    SummaryRow.create(
        id=pass_id,
        conversation=conversation_id,
        engine=engine,
        model=model,
        receipt=json.dumps(receipt, ensure_ascii=False),
        opened_at=now,
    )


def set_child(pass_id: str, pid: int, started: float) -> None:
    """The process of a pass, so that a later life can end it."""
    SummaryRow.change(pass_id, pid=pid, pid_started=started)


def left_open() -> tuple[tuple[str, int, float], ...]:
    """Passes that an earlier life left: id, pid (0: none) and start time."""
    rows = SummaryRow.select().where(SummaryRow.state == "open")
    return tuple((row.id, row.pid or 0, row.pid_started or 0.0) for row in rows)


def fail_pass(pass_id: str, state: str, error: str, usage: Usage, now: float) -> None:
    """A pass came to nothing: ``failed``, ``stale`` or ``cut``."""
    SummaryRow.change(
        pass_id, state=state, error=error, usage=json.dumps(asdict(usage)), ended_at=now
    )


def close_pass(
    pass_id: str,
    span: Sequence[Message],
    merged: Callable[[Sequence[Topic]], Sequence[Topic]],
    usage: Usage,
    now: float,
    *,
    findable: bool = False,
    about: Mapping[int, str] = MappingProxyType({}),
) -> bool:
    """Write what a pass over ``span`` made, all or nothing; False when it is stale.

    Stale is what was made of messages that were edited or deleted meanwhile, or that an engine's
    pass has summarised. An extract that stood in for some of them is taken down first.

    ``merged`` takes the conversation's topics of the same titles, as they are, and gives them with
    the new ones in. ``findable``: what an engine made of them is to be found by meaning.
    ``about``: a line of context for some of the messages, by their ids.
    """
    row = SummaryRow.get_by_id(pass_id)
    if not _still_so(span):
        fail_pass(pass_id, "stale", "messages changed meanwhile", usage, now)
        return False
    uncover(message.id for message in span)
    for message in span:
        SummarisedRow.create(message=message.id, conversation=row.conversation_id, summary=pass_id)
    titles = {topic.title.casefold() for topic in merged(())}
    known = _titles.rows(conversation=row.conversation_id)
    alike = {one.title: one.id for one in known if one.title.casefold() in titles}
    rows = [TopicRow.get_by_id(number) for number in alike.values()]
    passes = {one.title: json.loads(one.passes) for one in rows}
    before = [_to_topic(one) for one in rows]
    for topic in merged(before):
        first, last = topic.span
        values = {
            "first_message": first,
            "last_message": last,
            "statements": _statements(topic),
            "passes": json.dumps([*passes.get(topic.title, ()), pass_id]),
            "made_by": topic.made_by,
            "updated_at": now,
        }
        if topic.title in alike:
            number = alike[topic.title]
            TopicRow.change(number, **values)
        else:
            number = TopicRow.create(
                conversation=row.conversation_id, title=topic.title, created_at=now, **values
            ).id
        if findable and topic.made_by != EXTRACT:
            statements.write(number)
    lines.write(pass_id, about)
    read = json.dumps([message.id for message in span])
    told = json.dumps(asdict(usage))
    SummaryRow.change(pass_id, state="done", usage=told, read=read, ended_at=now)
    return True


def _still_so(span: Sequence[Message]) -> bool:
    ids = [message.id for message in span]
    rows = MessageRow.select().where(MessageRow.id.in_(ids) & MessageRow.deleted_at.is_null())
    texts = {row.id: row.text for row in rows}
    passes = SummarisedRow.select().join(SummaryRow).where(SummarisedRow.message.in_(ids))
    taken = passes.where(SummaryRow.engine != EXTRACT).exists()
    return not taken and all(texts.get(message.id) == message.text for message in span)


def _statements(topic: Topic) -> str:
    told = [[one.text, one.kind, one.ids, one.who] for one in topic.statements]
    return json.dumps(told, ensure_ascii=False)


def _to_topic(row: TopicRow) -> Topic:
    statements = cast("list[tuple[str, Any, list[int], str]]", json.loads(row.statements))
    return Topic(
        row.title,
        tuple(Statement(text, kind, tuple(ids), who) for text, kind, ids, who in statements),
        row.made_by,
    )
