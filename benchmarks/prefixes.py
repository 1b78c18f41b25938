"""What context beside a message gives: rows of ``benchmarks.retrieval --prefix``.

Contextual Retrieval (Anthropic 2024) puts before each text what it is about. By rule: who said it,
when, and what it answers. The product has that in columns of the keyword index; these rows have it
nowhere, and (as that article does) before the text that is embedded. See docs/decisions/0080.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import numpy as np

from benchmarks.locomo import Turn
from core.memory.embed.port import Embedder, Vectors
from core.memory.find import people_in
from core.memory.memory import told
from core.memory.texts import passage_of, question_of
from core.model import Near
from core.records import fulltext
from core.records.thread import Records

BEFORE_CHARS = 120  # of the message before
BATCH = 16


class Prefixed:
    """Vectors of one conversation's turns, each with its context before it."""

    def __init__(self, embedder: Embedder, turns: Sequence[Turn]) -> None:
        self.embedder = embedder
        said = [passage_of(text) for text in map(_with_context, turns, [None, *turns[:-1]])]
        batches = (said[at : at + BATCH] for at in range(0, len(said), BATCH))
        self.vectors: Vectors = np.concatenate([embedder.passages(batch) for batch in batches])

    async def near(self, records: Records, text: str, ids: Sequence[int], asked: int) -> Near:
        """What is near by these vectors, as memory would tell it."""
        question = question_of(text, await records.do(people_in, text))

        def look() -> Near:
            cosines = self.vectors @ self.embedder.query(question)
            order = np.argsort(-cosines, kind="stable")[:201]
            found = np.asarray(ids, np.int64)[order]
            return told(self.embedder.name, found, cosines[order].astype(np.float32), asked)

        return await asyncio.to_thread(look)


def _with_context(turn: Turn, before: Turn | None) -> str:
    day = datetime.fromtimestamp(turn.at, UTC).strftime("%d %B %Y")
    same = before is not None and before.session == turn.session
    answers = f', after "{before.text[:BEFORE_CHARS]}"' if before is not None and same else ""
    return f"{turn.speaker} on {day}{answers}: {turn.text}"


@contextmanager
def no_context_column() -> Iterator[None]:
    """The keyword index counts what a message says and who said it, not what stands around it."""
    before = fulltext.WEIGHTS
    fulltext.WEIGHTS = "1.0, 1.0, 0.0"
    try:
        yield
    finally:
        fulltext.WEIGHTS = before
