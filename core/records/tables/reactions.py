"""Reactions of ours under people's questions."""

from __future__ import annotations

from peewee import BooleanField, IntegerField, TextField

from core.records.tables.base import Table


class ReactionRow(Table):
    """Which of our reactions may stand under a question (the record of the message).

    ``shown`` names them with blanks between; one that was to be put, the row before the act, has a
    ``?`` behind it. ``settled``: the question is over and what stands there is right; nobody looks
    any more.
    """

    message = IntegerField(primary_key=True)
    shown = TextField(default="")
    settled = BooleanField(default=False)

    class Meta:
        table_name = "reaction"


# Mostly none.
ReactionRow.add_index(
    ReactionRow.index(ReactionRow.message, where=~ReactionRow.settled, name="reaction_open")
)
