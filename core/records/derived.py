"""What was derived from messages goes with them: topics of one that was edited or deleted."""

from __future__ import annotations

import json
from collections.abc import Iterable

from core.records.tables import MessageRow, SummarisedRow, SummaryRow, TopicRow


def forget(message_ids: Iterable[int]) -> None:
    """Drop whatever may hold words of these messages; the other sources are due again.

    Whatever a pass made may hold something of any message it read, so all its topics go, and the
    messages behind them are uncovered. Part of the transaction that edits or deletes.
    """
    gone = frozenset(message_ids)
    uncover(gone)
    # A message that another pass's end uncovered may still stand in what the first one made of it.
    where = MessageRow.select(MessageRow.conversation).where(MessageRow.id.in_(gone))
    passes = SummaryRow.select().where(
        SummaryRow.conversation.in_(where) & (SummaryRow.read != "[]")
    )
    for row in list(passes):
        if gone.intersection(json.loads(row.read)):
            _undo(row.conversation_id, row.id)


def uncover(message_ids: Iterable[int]) -> None:
    """Take down what covers these messages now: they are summarised anew, or gone."""
    for message_id in message_ids:
        covered = SummarisedRow.get_or_none(SummarisedRow.message == message_id)
        if covered is not None:
            _undo(covered.conversation, covered.summary_id)


def _undo(conversation: int, summary_id: str) -> None:
    of_pass = SummarisedRow.select().where(SummarisedRow.summary == summary_id)
    freed = {row.message for row in of_pass}
    read = frozenset(freed)
    span = (min(read, default=0), max(read, default=0))
    near = (TopicRow.first_message <= span[1]) & (TopicRow.last_message >= span[0])
    # Its title may outlive the statements of a pass: a topic that grows too long is trimmed.
    made = TopicRow.passes.contains(json.dumps(summary_id))
    for topic in TopicRow.select().where((TopicRow.conversation == conversation) & (near | made)):
        sources = {number for _, _, ids, _ in json.loads(topic.statements) for number in ids}
        if sources & read or summary_id in json.loads(topic.passes):
            freed |= sources
            TopicRow.delete().where(TopicRow.id == topic.id).execute()
    for number in freed:
        SummarisedRow.delete().where(SummarisedRow.message == number).execute()
    SummaryRow.change(summary_id, state="undone", read="[]")
    # Other passes whose topics went with it may cover nothing any more.
    left = SummarisedRow.select(SummarisedRow.summary).where(
        SummarisedRow.conversation == conversation
    )
    SummaryRow.update(state="stale").where(
        (SummaryRow.conversation == conversation)
        & (SummaryRow.state == "done")
        & SummaryRow.id.not_in(left)
    ).execute()
