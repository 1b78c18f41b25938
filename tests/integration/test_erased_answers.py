"""An answer whose post is deleted in chat is in nothing that is told or kept afterwards."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.access import Door
from bridge.delivery import Delivery
from bridge.intake import Intake
from core.model import Author, ChatEvent, ChatLimits, Participant, Posted
from core.records import changes, erasure, outbox, pointed, runs
from core.records.search import search
from core.records.tables import FindingRow, MessageRow, OutboxRow, RunRow, TopicRow
from core.records.thread import Records
from core.sources import recall, retrieval, work
from tests.integration.parlour import RULES, SEAT, Parlour, parlour
from tests.integration.scenes import scene_of
from tests.integration.test_intake import POLICY

SECRET = "Quetzal-7"
TELL = f"@@rehearse text='The key is {SECRET}.'@@"


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Parlour]:
    async with parlour(tmp_path) as made:
        made.house = replace(made.house, sources=(recall.SOURCE, retrieval.SOURCE, work.SOURCE))
        yield made


def intake(records: Records, gone: list[int] | None = None) -> Intake:
    return Intake(
        records,
        Door(("slack:UKim",)),
        POLICY,
        lambda _chat, text: (text,),
        on_turn=lambda: None,
        on_post=lambda: None,
        on_stop=lambda _: None,
        on_skip=lambda *_: None,
        on_gone=lambda: None if gone is None else gone.append(1),
    )


def deletion(here: Parlour, ident: str) -> ChatEvent:
    """As a platform tells it: the thread may be missing, and who did it is."""
    return ChatEvent(
        key=replace(here.conversation.key, root=ident),
        event_id=f"slack:T1:C1:{ident}:delete",
        message_id=ident,
        author=Author("", "somebody", "bot", trusted=False),
        text="",
        kind="delete",
        sent_at=time.time(),
    )


async def post_all(here: Parlour) -> None:
    """The platform takes all that is owed; a post's id is ``p`` and its row's."""

    def write() -> None:
        while item := outbox.take_next(here.conversation.id, time.time()):
            outbox.mark_sent(item.id, f"p{item.id}" if item.op == "post" else "", None, time.time())

    await here.records.do(write)


async def posts(here: Parlour, kind: str) -> list[str]:
    query = OutboxRow.select().where((OutboxRow.kind == kind) & (OutboxRow.message_id != ""))
    rows = await here.records.do(lambda: list(query.order_by(OutboxRow.id)))
    return [row.message_id for row in rows]


async def kept(records: Records, word: str = SECRET) -> list[str]:
    """Where the tables hold a word."""

    def read() -> list[str]:
        database = RunRow._meta.database
        tables = (MessageRow, OutboxRow, RunRow, TopicRow, FindingRow)
        return [
            table.__name__
            for table in tables
            for row in database.execute_sql(f"SELECT * FROM {table._meta.table_name}")
            if any(word in str(value) for value in row)
        ]

    return await records.do(read)


async def live(here: Parlour) -> list[str]:
    return [row.session for row in await here.sessions() if row.state == "live"]


def last(here: Parlour) -> str:
    return here.actor.asked[-1].context + here.actor.asked[-1].prompt


async def test_a_deleted_answer_is_erased_once_and_told_to_nobody(here) -> None:
    # Asked by form, so that the word is the agent's alone.
    question = await here.say("x")
    await here.ask(TELL)
    await here.remove(question + 1)
    await post_all(here)
    [answer] = await posts(here, "answer")
    assert set(await kept(here.records)) == {"MessageRow", "OutboxRow", "RunRow"}
    await here.ask("@@rehearse text='Aha.'@@ go on")
    assert SECRET in last(here)
    [session] = await live(here)

    woken: list[int] = []
    door = intake(here.records, woken)
    await door.accept(deletion(here, answer))
    assert await kept(here.records) == []
    assert await live(here) == []
    assert woken
    assert await here.records.do(search, scene_of(here.conversation.id), SECRET, 5) == ()
    await here.ask("and now?")
    assert here.actor.asked[-1].resume == ""
    assert SECRET not in last(here)
    again = await live(here)
    assert again != [session]
    before = await here.records.do(changes.gone)
    await door.accept(deletion(here, answer))  # it comes twice
    assert await live(here) == again
    assert await here.records.do(changes.gone) == before
    first = (await here.records.do(runs.runs_in_conversation, here.conversation.id, 9))[-1]
    assert first["sections"]  # what the run was told is explained all the same


async def test_one_piece_takes_the_whole_answer_and_what_is_not_posted_yet(here) -> None:
    here.house = replace(here.house, voice=lambda _c, text, _l: tuple(text.split("|")))
    await here.ask(f"@@rehearse text='one|{SECRET}|three'@@")
    await here.remove(1)

    def two_of_three() -> str:
        ids = []
        while len(ids) < 2:
            item = outbox.take_next(here.conversation.id, time.time())
            outbox.mark_sent(item.id, f"p{item.id}", None, time.time())
            ids += [f"p{item.id}"] if item.kind == "answer" else []
        return ids[0]

    first = await here.records.do(two_of_three)
    await intake(here.records).accept(deletion(here, first))
    assert await kept(here.records) == []
    rows = await here.records.do(
        lambda: [r.state for r in OutboxRow.select().where(OutboxRow.kind == "answer")]
    )
    assert rows == ["sent", "sent", "dropped"]


async def test_after_a_restart_and_with_rows_of_an_earlier_build(here) -> None:
    await here.ask(TELL)
    await here.remove(1)
    await post_all(here)
    [answer] = await posts(here, "answer")
    with closing(sqlite3.connect(here.records.path)) as earlier:
        earlier.execute("DROP INDEX outbox_message")
        earlier.execute("ALTER TABLE run DROP COLUMN message")
    again = Records(here.records.path)  # the life before it has not closed anything
    await again.open()
    try:
        later = replace(here, house=replace(here.house, records=again))
        await intake(again).accept(deletion(later, answer))
        assert await kept(again) == []
        assert "outbox_message" in await again.do(plan_of_lookup)
        assert await again.do(pointed.message_at, later.conversation, answer) == 0
        await later.ask("and now?")
        assert SECRET not in last(later)
    finally:
        await again.close()


def plan_of_lookup() -> str:
    """How SQLite finds a post: an echo of each status that is deleted asks for one."""
    sql, params = erasure._posts.bound(message_id="p1")
    plan = RunRow._meta.database.execute_sql(f"EXPLAIN QUERY PLAN {sql}", params)
    return str(list(plan))


async def test_a_parallel_round_does_not_tell_later_what_was_deleted_in_it(here) -> None:
    slow = f"{TELL} @@rehearse sleep=1.5 text='Me neither.' when='You are critic'@@"
    seats = (SEAT, Participant("rehearsal", "critic"))
    rules = replace(RULES, order="parallel")
    table = asyncio.create_task(here.ask(slow, seats=seats, rounds=2, rules=rules))

    async def first() -> RunRow | None:
        return await here.records.do(lambda: RunRow.get_or_none(RunRow.state == "answered"))

    async with asyncio.timeout(20):
        while not (run := await first()):
            await asyncio.sleep(0.02)
        while not await posts(here, "answer"):
            await post_all(here)
            await asyncio.sleep(0.02)
    assert not (await here.records.do(RunRow.get_by_id, run.id)).told
    [answer] = await posts(here, "answer")
    await intake(here.records).accept(deletion(here, answer))
    assert await table == "done"
    said = await here.records.do(
        lambda: [row.text for row in MessageRow.select().where(MessageRow.turn == run.turn_id)]
    )
    assert said.count("Me neither.") == 2
    assert said.count(f"The key is {SECRET}.") == 1  # of the second round, that nobody deleted
    assert not [text for text in said if "no answer" in text]


async def test_what_is_no_answer_changes_nothing_when_it_is_deleted(here) -> None:
    asked = f"@@rehearse text='The key is {SECRET}.' pull='messages: last 5'@@"
    table = (SEAT, Participant("rehearsal", "critic"))
    await here.ask(asked, seats=table, rounds=1, rules=RULES)

    def status() -> None:
        outbox.add_post(here.conversation.id, "status", ("working",), now=time.time())

    await here.records.do(status)
    await post_all(here)
    was, sessions = await here.records.do(changes.gone), await live(here)
    woken: list[int] = []
    door = intake(here.records, woken)
    done = 0
    for kind in ("status", "pull", "notice", "header"):
        for ident in await posts(here, kind):
            await door.accept(deletion(here, ident))
            assert not await here.records.do(changes.is_gone, here.conversation.key, ident)
            done += 1
    assert done >= 3
    assert not woken
    assert await here.records.do(changes.gone) == was
    assert await live(here) == sessions != []
    assert "MessageRow" in await kept(here.records)


async def test_what_came_of_its_blocks_goes_with_it(here) -> None:
    block = f"verdict fail\\n- high, security: {SECRET} is in the log"
    await here.ask(f"@@rehearse text='No.' block='{block}'@@ review it")
    await here.remove(1)
    await post_all(here)
    assert "FindingRow" in await kept(here.records)
    [answer] = await posts(here, "answer")
    await intake(here.records).accept(deletion(here, answer))
    assert await kept(here.records) == []


async def test_an_answer_of_a_table_and_its_synthesis_are_answers(here) -> None:
    seats = (SEAT, Participant("rehearsal", "critic"))
    rules = replace(RULES, synthesizer=Participant("rehearsal", "synthesizer"), order="parallel")
    await here.ask(TELL, seats=seats, rounds=1, rules=rules)
    await here.remove(1)
    await post_all(here)
    door = intake(here.records)
    found = await posts(here, "answer")
    assert len(found) == 3
    for ident in found:
        await door.accept(deletion(here, ident))
    assert await kept(here.records) == []


class Hasty:
    """A platform where a post is deleted before Moot knows its id."""

    name, limits = "slack", ChatLimits(post_units=1000, edit_interval_s=1.0)

    def __init__(self, here: Parlour) -> None:
        self.here, self.count = here, 0

    async def post(self, key, post):
        self.count += 1
        ident = f"h{self.count}"
        if SECRET in post.text:
            await intake(self.here.records).accept(deletion(self.here, ident))
        return Posted(ident, key.root)

    async def delete(self, key, message_id): ...

    async def edit(self, key, message_id, post): ...


async def test_a_deletion_that_comes_before_the_post_is_marked(here) -> None:
    await here.ask(TELL)
    await here.remove(1)
    woken: list[int] = []
    delivery = Delivery(
        here.records, {"slack": Hasty(here)}, lambda _c, text: (text,),
        lambda *_: None, lambda *_: None, lambda *_: None, lambda: woken.append(1),
    )  # fmt: skip
    task = asyncio.create_task(delivery.run())
    try:
        async with asyncio.timeout(20):
            await delivery.settled()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert woken
    assert await kept(here.records) == []
