"""What was derived from messages goes with them: topics of one that was edited or deleted."""

from __future__ import annotations

import json
from collections.abc import Iterable

from core.records.tables import SummarisedRow, SummaryRow, TopicRow


def forget(message_ids: Iterable[int]) -> None:
    """Drop whatever may hold words of these messages; the other sources are due again.

    Whatever a pass made may hold something of any message it read, so all its topics go, and the
    messages behind them are uncovered. Part of the transaction that edits or deletes.
    """
    for message_id in message_ids:
        covered = SummarisedRow.get_or_none(SummarisedRow.message == message_id)
        if covered is not None:
            _undo(covered.conversation, covered.summary_id)


def _undo(conversation: int, summary_id: str) -> None:
    of_pass = SummarisedRow.select().where(SummarisedRow.summary == summary_id)
    freed = {row.message for row in of_pass}
    read = frozenset(freed)
    near = (TopicRow.first_message <= max(read)) & (TopicRow.last_message >= min(read))
    # Its title may outlive the statements of a pass: a topic that grows too long is trimmed.
    made = TopicRow.passes.contains(json.dumps(summary_id))
    for topic in TopicRow.select().where((TopicRow.conversation == conversation) & (near | made)):
        sources = {number for _, _, ids, _ in json.loads(topic.statements) for number in ids}
        if sources & read or summary_id in json.loads(topic.passes):
            freed |= sources
            TopicRow.delete().where(TopicRow.id == topic.id).execute()
    for number in freed:
        SummarisedRow.delete().where(SummarisedRow.message == number).execute()
    SummaryRow.change(summary_id, state="undone")
    # Other passes whose topics went with it may cover nothing any more.
    left = SummarisedRow.select(SummarisedRow.summary).where(
        SummarisedRow.conversation == conversation
    )
    SummaryRow.update(state="stale").where(
        (SummaryRow.conversation == conversation)
        & (SummaryRow.state == "done")
        & SummaryRow.id.not_in(left)
    ).execute()
