"""What vectors of tokens would give: rows of ``benchmarks.retrieval --tokens``.

Late chunking (Günther et al. 2024): each message's vector is made of its tokens as they are read in
the midst of its session, in place of the product's own. MaxSim (ColBERT; Khattab and Zaharia 2020):
the product's first 50 are ranked again, by their score and by how well each token of the question
is matched by one of theirs. Both with the model of the default embedder
(``core.memory.embed.e5_tokens``); neither is on in the product, see docs/decisions/0068.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from core.memory.embed.clean import clean
from core.memory.embed.e5_tokens import E5Tokens
from core.memory.embed.port import Vectors
from core.memory.find import Hit, people_in
from core.memory.memory import told
from core.memory.texts import passage_of, question_of
from core.model import Near
from core.records.thread import Records

AGAIN = 50  # of the first ones are ranked again
WEIGHT = 0.4  # of what their tokens say


class Tokens:
    """The token vectors of one conversation's turns; ``sessions``: to which each belongs."""

    def __init__(self, model: E5Tokens, texts: Sequence[str], sessions: Sequence[int]) -> None:
        self.model = model
        said = [clean(passage_of(text)) for text in texts]
        by_session = groupby(range(len(said)), key=lambda place: sessions[place])
        self.late = np.concatenate(
            [model.late([said[place] for place in places]) for _, places in by_session]
        )
        self.said = said
        self.read: dict[int, Vectors] = {}

    async def near(self, records: Records, text: str, ids: Sequence[int], asked: int) -> Near:
        """What is near by late chunking, as memory would tell it."""
        question = clean(question_of(text, await records.do(people_in, text)))

        def look() -> Near:
            cosines = self.late @ self.model.query(question)
            order = np.argsort(-cosines, kind="stable")[:201]
            found = np.asarray(ids, np.int64)[order]
            return told(self.model.name, found, cosines[order].astype(np.float32), asked)

        return await asyncio.to_thread(look)

    def again(self, text: str, hits: Sequence[Hit], places: Sequence[int]) -> list[int]:
        """The places of hits, the first ones ranked again by MaxSim."""
        first = list(places[:AGAIN])
        if not first:
            return []
        lacking = [place for place in first if place not in self.read]
        if lacking:
            made = self.model.token_vectors([self.said[place] for place in lacking])
            self.read |= dict(zip(lacking, made, strict=True))
        [question] = self.model.token_vectors([clean(passage_of(text))], query=True)
        match = [float((question @ self.read[place].T).max(axis=1).mean()) for place in first]
        scores = np.array([hit.score for hit in hits[: len(first)]])
        mixed = (1 - WEIGHT) * _share(scores) + WEIGHT * _share(np.array(match))
        return [first[n] for n in np.argsort(-mixed, kind="stable")] + list(places[AGAIN:])


def _share(scores: np.ndarray) -> np.ndarray:
    """From 0 for the least to 1 for the largest."""
    spread = float(np.ptp(scores))
    return (scores - scores.min()) / spread if spread else np.zeros_like(scores)
