"""The summariser on real records with real child processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from core.control import Place, Slots
from core.engines.rehearsal import Rehearsal
from core.memory import summarise
from core.memory.summarise import By, Summariser
from core.memory.topics import MAX_STATEMENTS, merge
from core.model import (
    EXTRACT,
    Author,
    ChatEvent,
    ConversationKey,
    EngineConfig,
    EngineTask,
    Participant,
    Spawn,
    Statement,
    Topic,
    Usage,
)
from core.records import messages, places, topics
from core.records.tables import SummarisedRow, SummaryRow, UsageRow
from core.records.thread import Records
from core.records.usage import Purse
from core.sources import compressed
from core.spending import Budget
from tests.integration.scenes import scene_of

KEY = ConversationKey("slack", "T", "C1", "1")


class Directed(Rehearsal):
    """The rehearsal engine with a directive for the tasks to come."""

    order = ""

    def start(self, task: EngineTask) -> Spawn:
        told = f"{task.prompt}\n@@rehearse {self.order}@@" if self.order else task.prompt
        return super().start(replace(task, prompt=told))


class Memory:
    """Records and a summariser, with shorthands."""

    def __init__(self, records: Records, folder: Path) -> None:
        self.records = records
        self.engine = Directed(EngineConfig())
        self.slots = Slots(2)
        self.folder = folder
        self.summariser = self.made(By(self.engine))

    def made(self, by: By, *budgets: Budget) -> Summariser:
        return Summariser(
            self.records,
            by,
            scratch=self.folder / "scratch",
            slots=self.slots,
            purse=Purse(budgets),
        )

    async def say(self, count: int, text: str = "Message {n} is about table {n}.", first: int = 1):
        def write() -> None:
            here = messages.open_conversation(KEY, direct=False, in_thread=False, now=1.0)
            places.set_engaged(here.id)
            for n in range(first, first + count):
                event = ChatEvent(
                    KEY,
                    f"e{n}",
                    str(n),
                    Author("U1", "Kim"),
                    text.format(n=n),
                    "message",
                    float(n),
                )
                messages.add_event(here.id, event, addressed=False)

        await self.records.do(write)

    async def look(self) -> None:
        """One look for what is due, to its end."""
        await self.summariser._work()

    async def topics(self) -> list[tuple[str, str, list[int]]]:
        found = await self.records.do(topics.topics_of, 1)
        return [
            (t.title, t.made_by, [number for s in t.statements for number in s.ids]) for t in found
        ]

    async def passes(self) -> list[tuple[str, str]]:
        def read():
            return [(row.engine, row.state) for row in SummaryRow.select()]

        return await self.records.do(read)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    made = Memory(records, tmp_path)
    await made.look()
    yield made
    await records.close()


async def test_the_older_part_becomes_topics_and_grows_by_what_is_new(memory):
    await memory.say(17)
    await memory.look()
    assert await memory.topics() == []  # five older messages are too few
    await memory.say(3, first=18)
    await memory.look()
    assert await memory.topics() == [("Rehearsed", "rehearsal", [1, 2, 3, 4, 5, 6, 7, 8])]
    await memory.look()
    await memory.say(6, first=21)
    await memory.look()
    [(title, by, numbers)] = await memory.topics()
    assert (title, by, numbers) == ("Rehearsed", "rehearsal", list(range(1, 15)))
    assert await memory.passes() == [("rehearsal", "done")] * 2


async def test_the_receipt_of_a_pass_says_what_was_read_and_holds_none_of_it(memory):
    await memory.say(20, "Please never touch the xylophone table {n}.")
    await memory.look()
    [row] = await memory.records.do(lambda: list(SummaryRow.select()))
    receipt = json.loads(row.receipt)
    assert receipt["messages"] == list(range(1, 9))
    assert "recent" in {section["name"] for section in receipt["sections"]}
    assert "xylophone" not in row.receipt
    assert not list((memory.folder / "scratch").iterdir())


async def test_the_section_tells_title_span_maker_and_the_way_to_the_originals(memory):
    await memory.say(20, "We decided on plan {n}.")
    await memory.look()
    offered = await memory.records.do(lambda: compressed.offer(scene_of(1)))
    candidate = offered.candidates["compressed"]
    [part] = candidate.parts
    assert part.splitlines()[:2] == [
        "Rehearsed (#1–#8; summed up by rehearsal; for the originals pull messages: #1)",
        "- Kim (#1) [decision]: We decided on plan 1.",
    ]
    assert candidate.pull == "<!-- pull:messages: #1 -->"
    assert candidate.available == "1 topic of 8 earlier messages of this conversation"


@pytest.mark.parametrize("how", ["delete", "edit"])
async def test_a_message_that_is_gone_takes_its_topics_down_and_the_rest_is_due_again(memory, how):
    await memory.say(26, "Kim's secret {n} is kept.")
    await memory.look()
    if how == "delete":
        await memory.records.do(messages.remove, KEY, "3", 99.0)
    else:
        await memory.records.do(messages.change_text, KEY, "3", "The harmless one is kept.", 99.0)
    assert await memory.topics() == []
    assert await memory.records.do(topics.covered, 1) == 0
    await memory.look()
    [(_, _, numbers)] = await memory.topics()
    expected = set(range(1, 15)) - ({3} if how == "delete" else set())
    assert set(numbers) == expected
    told = await memory.records.do(topics.topics_of, 1)
    assert "secret 3 " not in str(told)


async def test_little_that_is_left_of_a_span_is_told_again_too(memory):
    await memory.say(18)
    await memory.look()
    for at in ("1", "2", "3"):
        await memory.records.do(messages.remove, KEY, at, 99.0)
    await memory.look()
    assert await memory.topics() == [("Rehearsed", "rehearsal", [4, 5, 6])]


def one_topic(title: str, number: int) -> str:
    """A directive for an answer of one topic with one statement."""
    topic = {"title": title, "statements": [{"text": title, "messages": [number]}]}
    return f"text={shlex.quote(json.dumps({'topics': [topic]}))}"


async def test_other_topics_stay_when_a_message_goes(memory):
    memory.engine.order = one_topic("A", 1)
    await memory.say(18)
    await memory.look()
    memory.engine.order = one_topic("B", 8)
    await memory.say(6, first=19)
    await memory.look()
    assert [title for title, _, _ in await memory.topics()] == ["B", "A"]
    await memory.records.do(messages.remove, KEY, "9", 99.0)  # read by the second pass only
    assert [title for title, _, _ in await memory.topics()] == ["A"]


async def test_a_title_goes_with_a_message_whose_statements_were_trimmed_away(memory):
    await memory.say(2)

    def passed(name: str, message_id: int, count: int) -> None:
        told = messages.get_message(message_id, 1)
        assert told is not None
        said = tuple(Statement(f"{name} {n}", "said", (message_id,), "Kim") for n in range(count))
        new = [Topic("What the first one said", said, "claude")]
        topics.open_pass(name, 1, "claude", "", {}, 1.0)
        assert topics.close_pass(name, [told], lambda known: merge(known, new), Usage(), 1.0)

    await memory.records.do(passed, "first", 1, 1)
    await memory.records.do(passed, "second", 2, MAX_STATEMENTS)
    [(_, _, sources)] = await memory.topics()
    assert 1 not in sources, "only the title is left of it"
    await memory.records.do(messages.remove, KEY, "1", 99.0)
    assert await memory.topics() == []


async def test_what_read_a_message_goes_with_it_also_once_it_is_not_covered_any_more(memory):
    await memory.say(3)

    def passed(name: str, sources: list[int], titles: dict[str, int]) -> None:
        span = [messages.get_message(number, 1) for number in sources]
        new = [
            Topic(title, (Statement(f"{name} {title}", "said", (number,), "Kim"),), "claude")
            for title, number in titles.items()
        ]
        topics.open_pass(name, 1, "claude", "", {}, 1.0)
        assert topics.close_pass(name, span, lambda known: merge(known, new), Usage(), 1.0)

    await memory.records.do(passed, "first", [1, 2], {"A": 1, "B": 2})
    await memory.records.do(passed, "second", [3], {"A": 3})
    await memory.records.do(messages.remove, KEY, "3", 99.0)
    assert [title for title, _, _ in await memory.topics()] == ["B"]
    await memory.records.do(messages.remove, KEY, "1", 99.0)  # B was made of it, too
    assert await memory.topics() == []


@pytest.mark.parametrize(
    "order", ["fail=quota", "silent", 'text="I would rather chat"', "fail=crash"]
)
async def test_when_the_engine_fails_an_extract_stands_in_until_it_can_be_asked_again(
    memory, monkeypatch, order
):
    memory.engine.order = order
    await memory.say(20, "We decided on plan {n}, never on plan B.")
    await memory.look()
    [(_, by, numbers)] = await memory.topics()
    assert (by, set(numbers)) == (EXTRACT, set(range(1, 9)))
    assert await memory.passes() == [("rehearsal", "failed"), (EXTRACT, "done")]
    offered = await memory.records.do(lambda: compressed.offer(scene_of(1)))
    assert "taken word for word" in offered.candidates["compressed"].parts[0]

    await memory.say(6, "Later: plan {n}.", first=21)
    await memory.look()  # it is left alone for a while, and the extract goes on
    assert await memory.passes() == [("rehearsal", "failed"), (EXTRACT, "done"), (EXTRACT, "done")]

    memory.engine.order = ""
    memory.summariser._again_at = 0.0
    await memory.look()
    [(title, by, numbers)] = await memory.topics()
    assert (title, by, set(numbers)) == ("Rehearsed", "rehearsal", set(range(1, 15)))


async def test_the_engine_is_asked_less_and_less_often_while_it_fails(memory):
    memory.engine.order = "fail=quota"
    waits = []
    for n in range(4):
        await memory.say(20 if not n else 6, first=1 if not n else 15 + 6 * n)
        memory.summariser._again_at = 0.0
        await memory.look()
        waits.append(memory.summariser._backoff_s)
    assert waits == [60.0, 120.0, 240.0, 480.0]


async def test_an_engine_that_breaks_us_is_a_failure_and_not_asked_again_at_once(memory):
    class Broken(Directed):
        def start(self, task: EngineTask) -> Spawn:
            raise KeyError("something nobody thought of")

    memory.summariser = memory.made(By(Broken(EngineConfig())))
    await memory.say(20)
    for _ in range(3):
        await memory.look()
    assert await memory.passes() == [("rehearsal", "failed"), (EXTRACT, "done")]


async def test_without_an_engine_none_is_asked(memory):
    memory.summariser = memory.made(By())
    await memory.say(20)
    await memory.look()
    assert await memory.passes() == [(EXTRACT, "done")]


async def test_c109_what_a_failed_run_said_is_not_summed_up(memory):
    await memory.say(10)
    await memory.records.do(
        lambda: messages.add_answer(
            1,
            Participant("claude"),
            "Never: usage limit reached 5.",
            turn_id=1,
            now=10.5,
            interrupted=True,
        )
    )
    await memory.say(20, first=11)
    for by in (By(memory.engine), By()):
        memory.summariser = memory.made(by)
        await memory.look()
        told = str(await memory.records.do(topics.topics_of, 1))
        assert "usage limit" not in told
        assert await memory.records.do(topics.covered, 1) == 19
        await memory.records.do(messages.remove, KEY, "1", 99.0)
        await memory.say(1, first=40)


async def test_what_changes_while_the_engine_works_is_not_written(memory):
    memory.engine.order = "sleep=1"
    await memory.say(20, "Plan {n} is secret.")
    looking = asyncio.create_task(memory.look())
    async with asyncio.timeout(20):
        while not await memory.passes():
            await asyncio.sleep(0.02)
    await memory.records.do(messages.remove, KEY, "2", 99.0)
    memory.engine.order = ""
    await looking
    assert (await memory.passes())[0] == ("rehearsal", "stale")
    [(_, _, numbers)] = await memory.topics()
    assert 2 not in numbers
    assert set(numbers) == {1, 3, 4, 5, 6, 7, 8}


async def test_a_pass_is_counted_and_none_is_made_beyond_a_budget(memory):
    await memory.say(20)
    await memory.look()
    [row] = await memory.records.do(lambda: list(UsageRow.select()))
    assert (row.kind, row.person, row.channel) == ("summary", "", "slack:C1")
    assert row.input_tokens > 0
    spent = Budget("engine", "month", tokens=row.input_tokens)
    memory.summariser = memory.made(By(memory.engine), spent)
    await memory.say(20, first=40)
    await memory.look()
    # What is older is summed up all the same, by extract: that costs nothing.
    assert await memory.passes() == [("rehearsal", "done"), ("extract", "done")]
    assert len(await memory.records.do(lambda: list(UsageRow.select()))) == 1


async def test_it_waits_for_a_free_slot_and_holds_none(memory):
    leases = [memory.slots.take(Place("claude")) for _ in range(2)]
    await memory.say(20)
    looking = asyncio.create_task(memory.look())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await asyncio.shield(looking)
    assert await memory.passes() == []
    leases[0].give()
    await looking
    assert memory.slots.take(Place("claude"))
    assert not memory.slots.room_for("claude")
    assert await memory.passes() == [("rehearsal", "done")]


async def test_it_works_through_a_long_backlog_the_newest_part_first(memory):
    await memory.say(200)
    await memory.look()
    read = await memory.records.do(lambda: sorted(r.message for r in SummarisedRow.select()))
    assert read == list(range(189 - summarise.PASSES * summarise.AT_MOST, 189))
    await memory.say(6, first=201)
    await memory.look()
    assert await memory.records.do(topics.covered, 1) == 194


async def test_stopping_moot_ends_the_engine_and_the_messages_are_due_again(memory):
    memory.engine.order = "hang"
    await memory.say(20)
    running = asyncio.create_task(memory.summariser.run())
    async with asyncio.timeout(20):
        while not (pids := await memory.records.do(_children)):
            await asyncio.sleep(0.02)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert await memory.passes() == [("rehearsal", "cut")]
    memory.engine.order = ""
    await memory.look()
    assert (await memory.topics())[0][2] == list(range(1, 9))


def _children() -> list[int]:
    return [row.pid for row in SummaryRow.select() if row.pid]


async def test_after_a_crash_what_was_left_running_is_ended(memory):
    sleeper = await asyncio.create_subprocess_exec(
        "sleep", "600", start_new_session=True, env={"MOOT_RUN": "pass1"}
    )

    def crashed() -> None:
        topics.open_pass("pass1", 1, "rehearsal", "", {}, 1.0)
        topics.set_child("pass1", sleeper.pid, psutil.Process(sleeper.pid).create_time())

    await memory.say(20)
    await memory.records.do(crashed)
    await memory.summariser.recover()
    async with asyncio.timeout(20):
        await sleeper.wait()
    assert await memory.passes() == [("rehearsal", "cut")]
    await memory.look()
    assert (await memory.topics())[0][2] == list(range(1, 9))
