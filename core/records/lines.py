"""Lines of context that an engine wrote for messages: words by which their keyword rows are found.

Such a line may hold something of any message its pass read, so the lines of a pass go together,
with the first of these messages that is edited, deleted or too old (``core.records.derived``).
Shown nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.records import indexing
from core.records.prepared import Prepared
from core.records.tables import ContextLineRow, MessageRow

# The keyword row of one that is hidden goes as a whole (``core.records.forgetting``).
_standing = Prepared(
    ContextLineRow,
    lambda summary: (
        ContextLineRow.select(ContextLineRow.message)
        .join(MessageRow, on=(MessageRow.id == ContextLineRow.message))
        .where((ContextLineRow.summary == summary) & MessageRow.deleted_at.is_null())
    ),
)
_drop = Prepared(
    ContextLineRow, lambda summary: ContextLineRow.delete().where(ContextLineRow.summary == summary)
)


def write(summary_id: str, lines: Mapping[int, str]) -> None:
    """The lines that a pass wrote, by message, in place of those of earlier passes."""
    for message, line in lines.items():
        ContextLineRow.insert(
            message=message, summary=summary_id, line=line
        ).on_conflict_replace().execute()
        indexing.surround(message)


def drop(summary_id: str) -> None:
    """All lines of a pass go, out of the keyword rows as well."""
    told = _standing.tuples(summary=summary_id)
    _drop.run(summary=summary_id)
    for (message,) in told:
        indexing.surround(message)
