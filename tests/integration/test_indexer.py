"""The indexer on real records: what is said has a vector, and what is gone has none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from core.memory import indexer as of_indexer
from core.memory.embed.port import EmbedderError, Vectors
from core.memory.indexer import Indexer
from core.model import Author, ChatEvent, ConversationKey
from core.records import embedders, jobs, messages, places
from core.records.tables import IndexJobRow, VectorRow
from core.records.thread import Records

KEY = ConversationKey("slack", "T", "C1", "1")
PLACE = 1
WITHIN_S = 20.0


class Counted:
    """A small embedder: a letter has its direction. What it is given can be held up or refused."""

    def __init__(self, name: str = "letters/26/r1", refuses: str = "\0") -> None:
        self.name = name
        self.dim = 26
        self.refuses = refuses
        self.away = False
        self.given: list[list[str]] = []
        self.entered = threading.Event()
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def passages(self, texts: Sequence[str]) -> Vectors:
        self.given.append(list(texts))
        self.entered.set()
        assert self.may_go_on.wait(WITHIN_S)
        if self.away:
            raise EmbedderError("the embedder is away")
        if any(self.refuses in text for text in texts):
            raise ValueError("I cannot take that")
        made = np.full((len(texts), 26), 0.01, np.float32)
        for row, text in enumerate(texts):
            for letter in text.lower():
                if "a" <= letter <= "z":
                    made[row, ord(letter) - ord("a")] += 1
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    def query(self, text: str) -> Vectors:
        return self.passages([text])[0]


class Told:
    """What stands for Chroma: a dictionary that is told the same."""

    def __init__(self) -> None:
        self.has: dict[str, tuple[int, Vectors]] = {}
        self.model: int | None = None
        self.prepared: list[int] = []

    async def put(
        self, items: Sequence[tuple[str, int]], vectors: Vectors, *, embedder: int | None = None
    ) -> None:
        if self.model in (None, embedder):
            for (name, scope), vector in zip(items, vectors, strict=True):
                self.has[name] = (scope, vector)

    async def drop(self, ids: Sequence[str]) -> None:
        for name in ids:
            self.has.pop(name, None)

    async def prepare(self, embedder: int) -> None:
        self.prepared.append(embedder)

    def look(self) -> None:
        self.has.clear()


class House:
    def __init__(self, records: Records) -> None:
        self.records = records
        self.said = 0
        self.copy = Told()

    async def say(self, *texts: str) -> list[int]:
        def write() -> list[int]:
            here = messages.open_conversation(KEY, direct=False, in_thread=False, now=1.0)
            ids: list[int] = []
            for text in texts:
                self.said += 1
                n = self.said
                event = ChatEvent(
                    KEY, f"e{n}", str(n), Author("U1", "Kim"), text, "message", float(n)
                )
                ids.append(messages.add_event(here.id, event, addressed=False)[0])
            return ids

        return await self.records.do(write)

    async def edit(self, item: int, text: str) -> None:
        await self.records.do(messages.change_text, KEY, str(item), text, 99.0)

    async def erase(self, item: int) -> None:
        await self.records.do(messages.erase, item, 99.0)

    async def vectors(self, model: str = "") -> dict[int, Vectors]:
        def read() -> dict[int, Vectors]:
            found = [m for m in embedders.every() if model in ("", m.name)]
            rows = VectorRow.select().where(VectorRow.embedder.in_([m.id for m in found]))
            return {row.item: np.frombuffer(row.vector, "<f2") for row in rows}

        return await self.records.do(read)

    async def jobs(self) -> int:
        return await self.records.do(lambda: IndexJobRow.select().count())

    @asynccontextmanager
    async def indexing(self, embedder: Counted | None, **more) -> AsyncIterator[Indexer]:
        made = Indexer(self.records, embedder, self.copy, **more)
        task = asyncio.create_task(made.run())
        try:
            yield made
        finally:
            if embedder is not None:
                embedder.may_go_on.set()
            task.cancel()
            await asyncio.wait({task})

    async def settled(self, indexer: Indexer, left: int = 0) -> None:
        async def is_settled() -> bool:
            return await self.jobs() == left and not indexer.catching_up and bool(indexer.serving)

        await self.until(is_settled)

    async def until(self, true: Callable) -> None:
        async with asyncio.timeout(WITHIN_S):
            while not await true():
                await asyncio.sleep(0.02)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    yield House(records)
    await records.close()


async def test_what_is_said_has_its_vector_within_two_seconds(house):
    async with house.indexing(Counted()) as indexer:
        await house.settled(indexer)
        [item] = await house.say("zebra")
        async with asyncio.timeout(2.0):  # nobody woke it
            while item not in await house.vectors():
                await asyncio.sleep(0.02)
        await house.settled(indexer)
        assert set(house.copy.has) == {f"message:{item}"}
        [(scope, vector)] = house.copy.has.values()
        assert scope == 1
        assert np.allclose(vector, (await house.vectors())[item], atol=1e-3)


async def test_an_edit_while_it_is_embedded_wins(house):
    embedder = Counted()
    embedder.may_go_on.clear()
    async with house.indexing(embedder) as indexer:
        [item] = await house.say("zzzz")
        indexer.wake()
        assert await asyncio.to_thread(embedder.entered.wait, WITHIN_S)
        await house.edit(item, "aaaa")
        embedder.may_go_on.set()
        await house.settled(indexer)
        vector = (await house.vectors())[item]
        assert vector[0] > 0.9
        assert house.copy.has[f"message:{item}"][1][0] > 0.9
    assert ["zzzz"] in embedder.given


async def test_a_message_deleted_while_it_is_embedded_leaves_no_vector(house):
    embedder = Counted()
    embedder.may_go_on.clear()
    async with house.indexing(embedder) as indexer:
        gone, stays = await house.say("gone", "stays")
        indexer.wake()
        assert await asyncio.to_thread(embedder.entered.wait, WITHIN_S)
        await house.erase(gone)
        embedder.may_go_on.set()
        await house.settled(indexer)
        assert set(await house.vectors()) == {stays}
        assert set(house.copy.has) == {f"message:{stays}"}
    assert any("gone" in given for given in embedder.given)


async def test_a_deleted_message_is_gone_everywhere_while_the_embedder_is_away(house):
    embedder = Counted()
    async with house.indexing(embedder) as indexer:
        [item] = await house.say("soon gone")
        await house.settled(indexer)
        embedder.away = True
        await house.say("waits")

        async def told() -> bool:
            return indexer.why == "the embedder is away"

        await house.until(told)
        await house.erase(item)
        indexer.wake()

        async def is_gone() -> bool:
            return not house.copy.has and not await house.vectors()

        await house.until(is_gone)


async def test_what_the_embedder_cannot_take_holds_up_no_other_and_is_given_up(house, monkeypatch):
    monkeypatch.setattr(jobs, "AGAIN_S", 0.0)
    embedder = Counted(refuses="poison")
    async with house.indexing(embedder) as indexer:
        poison, *others = await house.say("poison", "one", "two", "three")
        await house.settled(indexer, left=1)
        assert set(await house.vectors()) == set(others)

        async def given_up() -> bool:
            return await house.records.do(jobs.given_up) == 1

        await house.until(given_up)
        alone = embedder.given.count(["poison"])
        assert alone <= 2 * jobs.ATTEMPTS
        await house.say("four")
        await house.settled(indexer, left=1)
        assert embedder.given.count(["poison"]) == alone
        await house.edit(poison, "an antidote")  # another text is another matter
        await house.settled(indexer)
        assert poison in await house.vectors()


async def test_an_embedder_that_is_away_costs_no_attempts(house, monkeypatch):
    monkeypatch.setattr(of_indexer, "BACKOFF_S", 0.05)
    monkeypatch.setattr(of_indexer, "MAX_BACKOFF_S", 0.05)
    monkeypatch.setattr(of_indexer, "POLL_S", 0.05)
    embedder = Counted()
    embedder.away = True
    async with house.indexing(embedder) as indexer:
        [item] = await house.say("patience")

        async def tried_often() -> bool:
            return len(embedder.given) > 2 * 2 * jobs.ATTEMPTS

        await house.until(tried_often)
        assert indexer.why == "the embedder is away"
        assert await house.records.do(jobs.count) == 1
        embedder.away = False
        await house.settled(indexer)
        assert item in await house.vectors()
        assert indexer.why == ""


async def test_messages_without_a_vector_are_found_and_those_without_words_left_out(house):
    items = await house.say(*(f"message {n}" for n in range(30)), "👍", " \n ")
    await house.records.do(lambda: IndexJobRow.delete().execute())
    async with house.indexing(Counted()) as indexer:
        await house.settled(indexer)
        assert set(await house.vectors()) == set(items[:30])
        assert len(house.copy.has) == 30


async def test_new_messages_are_done_before_old_ones_that_lack_a_vector(house):
    await house.say(*(f"old {n}" for n in range(60)))
    await house.records.do(lambda: IndexJobRow.delete().execute())
    embedder = Counted()
    embedder.may_go_on.clear()
    async with house.indexing(embedder) as indexer:
        assert await asyncio.to_thread(embedder.entered.wait, WITHIN_S)
        await house.say("new")
        embedder.may_go_on.set()
        await house.settled(indexer)
    assert ["new"] in embedder.given[1:3]


async def test_without_an_embedder_an_edited_message_loses_its_vector_until_there_is_one(house):
    async with house.indexing(Counted()) as indexer:
        item, other = await house.say("aaaa", "bbbb")
        await house.settled(indexer)
    async with house.indexing(None) as indexer:
        await house.edit(item, "zzzz")
        indexer.wake()

        async def no_job() -> bool:
            return not await house.jobs()

        await house.until(no_job)
        assert set(await house.vectors()) == {other}
        assert set(house.copy.has) == {f"message:{other}"}
        indexer.use(Counted())
        await house.settled(indexer)
        assert (await house.vectors())[item][25] > 0.9


async def test_a_new_model_takes_over_when_all_have_its_vectors_whatever_is_in_between(
    house, monkeypatch
):
    old = Counted("old/26/r1")
    monkeypatch.setattr(of_indexer, "earlier", lambda name, now: old if name == old.name else None)
    async with house.indexing(old) as indexer:
        items = await house.say(*(f"message {n}" for n in range(40)))
        await house.settled(indexer)
    new = Counted("new/26/r2")
    new.may_go_on.clear()
    async with house.indexing(new) as indexer:  # stopped in the middle
        assert await asyncio.to_thread(new.entered.wait, WITHIN_S)
        assert indexer.serving.embedder is old

        async def some() -> bool:
            new.may_go_on.set()
            return len(await house.vectors("new/26/r2")) >= 8

        await house.until(some)
    part = set(await house.vectors("new/26/r2"))
    assert part < set(items) or indexer.serving.embedder is new
    new.given.clear()
    house.copy.model = None
    async with house.indexing(new) as indexer:
        [more] = await house.say("said meanwhile")

        async def switched() -> bool:
            return indexer.serving is not None and indexer.serving.embedder is new

        await house.until(switched)
        assert house.copy.prepared[-1] == indexer.serving.id

        async def only_new() -> bool:
            return [m.name for m in await house.records.do(embedders.every)] == ["new/26/r2"]

        await house.until(only_new)
        await house.settled(indexer)
        assert set(await house.vectors()) == {*items, more}
        assert await house.records.do(lambda: VectorRow.select().count()) == 41
    done_again = [text for given in new.given for text in given]
    assert len(done_again) == 41 - len(part)


async def test_a_model_whose_predecessor_cannot_be_asked_counts_at_once(house):
    async with house.indexing(Counted("gone/26/r1")) as indexer:
        [item] = await house.say("hello")
        await house.settled(indexer)
    new = Counted("new/26/r1")
    async with house.indexing(new) as indexer:

        async def only_new() -> bool:
            names = [m.name for m in await house.records.do(embedders.every)]
            return names == [new.name] and set(await house.vectors()) == {item}

        await house.until(only_new)
        assert indexer.serving.embedder is new


async def test_a_thread_that_turns_private_takes_its_vectors_along(house):
    async with house.indexing(Counted()) as indexer:
        [item] = await house.say("secret")
        await house.settled(indexer)
        before = house.copy.has[f"message:{item}"][0]
        await house.records.do(places.set_apart, KEY)
        indexer.wake()

        async def moved() -> bool:
            rows = await house.records.do(lambda: list(VectorRow.select()))
            return len(rows) == 1 and rows[0].scope != before

        await house.until(moved)
        await house.settled(indexer)
        assert house.copy.has[f"message:{item}"][0] != before
