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


MarkKind = Literal["wrong", "stale"]


@dataclass(frozen=True, slots=True)
class Near:
    """Messages whose meaning is near a text, as the vectors have it, nearest first.

    Found by what the index knows of scopes: whoever uses it asks the rows again
    (``core.records.scope``).

    Attributes:
        embedder: the name of the model.
        ids: record ids of messages.
        cosines: of each, -1 to 1.
        floor: the cosine that counts as nothing: of the last of a full list, else of the farthest.
        statements: the same for statements of topics (``ids`` are theirs), where they are kept:
            what they say is nobody's word, their messages are.
    """

    embedder: str
    ids: tuple[int, ...] = ()
    cosines: tuple[float, ...] = ()
    floor: float = 0.0
    statements: Near | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """What somebody said of a message that was recalled; ``at`` in UTC seconds."""

    message_id: int
    kind: MarkKind
    by: str
    note: str
    at: float


@dataclass(frozen=True, slots=True)
class MemoryState:
    """How memory stands, for ``moot memory status`` and ``doctor``.

    Attributes:
        embedder: the current model's name; "" = keywords only, ``why`` says why.
        chroma: ready | behind | rebuilding | away | off.
        messages / vectors / in_chroma: how many of each.
        jobs: what is still to be embedded, told or dropped.
        why: what is wrong, in words for people ("" = nothing).
    """

    embedder: str = ""
    chroma: Literal["ready", "behind", "rebuilding", "away", "off"] = "off"
    messages: int = 0
    vectors: int = 0
    in_chroma: int = 0
    jobs: int = 0
    why: str = ""
