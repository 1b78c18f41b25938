"""Compressed memory: what is kept of messages that are not shown any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StatementKind = Literal["not", "decision", "question", "objection", "fact", "said"]
"""``not``: something is denied or must not be; ``fact``: holds numbers or names of code."""

EXTRACT = "extract"
"""What stands as the maker of topics that no engine made."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that was said. ``ids`` are its messages (ascending), ``who`` their speakers."""

    text: str
    kind: StatementKind
    ids: tuple[int, ...]
    who: str


@dataclass(frozen=True, slots=True)
class Topic:
    """Statements under a title, in the order of their messages; ``made_by`` names engines."""

    title: str
    statements: tuple[Statement, ...]
    made_by: str

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last message that it tells of."""
        ids = [number for statement in self.statements for number in statement.ids]
        return min(ids), max(ids)
