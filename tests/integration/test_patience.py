"""A used-up quota lets an engine rest; what passes is tried again: rows, real child processes."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.model import EngineEvent, EngineTask, Outcome, Participant, Spawn
from core.records import parked
from core.records.tables import OutboxRow, ParkedRow, UsageRow
from core.turns import parking, retry
from tests.integration.parlour import RULES, Actor, Parlour, parlour

FAILS = "@@rehearse fail={}@@"
RESTING = Outcome("quota", detail="used up", reset_s=time.time() + 9_000)


class Worn(Actor):
    """An engine with a quota, whose next starts are told how to fail."""

    traits = replace(Actor.traits, rests=True)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.orders: list[str] = []

    def start(self, task: EngineTask) -> Spawn:
        order = self.orders.pop(0) if self.orders else ""
        return super().start(replace(task, prompt=f"{task.prompt} {order}"))


class Watcher:
    """Progress that is kept."""

    def __init__(self) -> None:
        self.retries: list[str] = []
        self.seen = asyncio.Event()

    def started(self, *_: Any) -> None: ...

    def waits(self, *_: Any) -> None: ...

    def ended(self, *_: Any) -> int:
        return 0

    def event(self, _run: str, event: Any) -> None:
        if event.kind == "retry" and event.name == "again":
            self.retries.append(event.text)
            self.seen.set()


@pytest.fixture
async def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Parlour]:
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.05)
    async with parlour(tmp_path) as here:
        engines = {name: Worn(name) for name in ("acme", "bolt")}
        house = replace(here.house, engines=engines, progress=Watcher())
        yield replace(here, house=house)


def worn(room: Parlour, name: str = "acme") -> Worn:
    engine = room.house.engines[name]
    assert isinstance(engine, Worn)
    return engine


async def ask(room: Parlour, text: str, *seats: str, **more: Any) -> str:
    return await room.ask(text, [Participant(name) for name in seats or ("acme",)], **more)


async def outcomes(room: Parlour) -> list[str]:
    return [run["outcome"] for run in await room.runs()]


async def posts(room: Parlour, kind: str) -> list[Any]:
    def read() -> list[Any]:
        return list(OutboxRow.select().where(OutboxRow.kind == kind).order_by(OutboxRow.id))

    return await room.records.do(read)


async def resting(room: Parlour) -> list[parked.Parked]:
    return list(await room.records.do(parked.resting, time.time()))


async def test_an_engine_whose_quota_is_used_up_rests(room: Parlour) -> None:
    notice = "You've hit your usage limit. Try again in 2 hours 5 minutes."
    worn(room).orders = [f'@@rehearse text="{notice}"@@']
    assert await ask(room, "one") == "failed"
    (row,) = await resting(room)
    assert (row.engine, row.whole) == ("acme", True)
    assert 7_400 < row.until - time.time() < 7_600
    assert await ask(room, "two") == "failed"
    assert len(worn(room).asked) == 1, "the second question starts no process"
    first, second = await posts(room, "notice")
    back = parking.when(row)
    assert re.fullmatch(r"\[[\d-]+ [\d:]+ UTC\]\(moot-time:\d+\)", back)
    assert f"comes back: {back}" in first.text
    assert f"comes back: {back}" in second.text, "the same words wherever it is said"
    assert "not asked" in second.text
    assert "Try anyway" in second.buttons
    assert await outcomes(room) == ["quota", "quota"]
    assert not await posts(room, "answer")
    assert await ask(room, "three", "bolt") == "done", "another engine is asked as ever"


async def test_it_rests_across_a_restart_and_no_longer_than_told(room: Parlour) -> None:
    outcome = Outcome("quota", detail="used up", reset_at="in 9 days", reset_s=time.time() + 9e5)
    await room.records.do(parked.note, "acme", "", outcome, time.time())
    (row,) = await resting(room)
    assert row.until <= time.time() + parked.MAX_S, "at most eight days"
    await room.records.do(lambda: ParkedRow.update(until=time.time() - 1).execute())
    assert await ask(room, "one") == "done"
    assert not await resting(room)


async def test_an_answer_unparks(room: Parlour) -> None:
    outcome = Outcome("quota", detail="used up on this model", reset_s=time.time() + 900)
    await room.records.do(parked.note, "acme", "big", outcome, time.time())
    assert await ask(room, "one") == "done", "only the model that it told of rests"
    assert await room.records.do(parked.find, "acme", "big", time.time())
    await room.records.do(parked.unpark, "acme")
    assert not await resting(room)


async def test_a_quota_without_a_time_parks_nobody(room: Parlour) -> None:
    worn(room).orders = ['@@rehearse text="Credit balance is too low"@@']
    assert await ask(room, "one") == "failed"
    assert not await resting(room)
    (notice,) = await posts(room, "notice")
    assert "Retry" in notice.buttons


class Absent(Worn):
    """Its program is not there."""

    def start(self, task: EngineTask) -> Spawn:
        return replace(super().start(task), argv=("/no/such/program",))


async def test_an_engine_that_was_not_asked_is_no_run_that_counts(room: Parlour) -> None:
    def counted() -> list[str]:
        return [row.engine for row in UsageRow.select()]

    engines = {**room.house.engines, "absent": Absent("absent")}
    room.house = replace(room.house, engines=engines)
    await room.records.do(parked.note, "acme", "", RESTING, time.time())
    for name in ("acme", "absent", "nobody"):
        assert await ask(room, "one", name) == "failed"
    assert await outcomes(room) == ["quota", "missing-binary", "bad-config"]
    assert await room.records.do(counted) == []
    await room.records.do(parked.unpark, "acme")
    worn(room).orders = [FAILS.format("refused")]
    assert await ask(room, "two") == "failed"
    assert await room.records.do(counted) == ["acme"], "one that was asked and failed is a run"


async def test_at_a_roundtable_a_resting_seat_sits_out_and_it_is_said_once(room: Parlour) -> None:
    await room.records.do(parked.note, "acme", "", RESTING, time.time())
    await ask(room, "topic", "acme", "bolt", "bolt", rounds=3, rules=RULES)
    assert await outcomes(room) == ["quota", *["answered"] * 6]
    assert not worn(room).asked
    (notice,) = [post.text for post in await posts(room, "notice") if "quota" in post.text]
    assert "sits out the rounds to come" in notice


async def test_a_quota_that_ends_at_no_known_time_lets_a_seat_sit_out_as_well(
    room: Parlour,
) -> None:
    worn(room).orders = ['@@rehearse text="Credit balance is too low"@@'] * 3
    await ask(room, "topic", "acme", "bolt", "bolt", rounds=3, rules=RULES)
    assert len(worn(room).asked) == 1


async def test_at_a_roundtable_a_resting_seat_is_absent(room: Parlour) -> None:
    outcome = Outcome("quota", detail="used up", reset_s=time.time() + 900)
    await room.records.do(parked.note, "acme", "", outcome, time.time())
    await ask(room, "topic", "acme", "bolt", rounds=1)
    assert await outcomes(room) == ["quota", "answered"]
    assert not worn(room).asked
    assert "no answer in this round: quota" in worn(room, "bolt").asked[0].context


async def test_what_passes_is_tried_again_in_sight(room: Parlour) -> None:
    worn(room).orders = [FAILS.format("overloaded")] * 2
    assert await ask(room, "one") == "done"
    watcher = room.house.progress
    assert isinstance(watcher, Watcher)
    assert len(watcher.retries) == 2
    assert all(text.startswith("trying again in ") for text in watcher.retries)
    (run,) = await room.runs()
    assert [again["why"] for again in run["retries"]] == ["overloaded", "overloaded"]
    marks = {task.mark for task in worn(room).asked}
    assert len(marks) == 3, "each try is a session of its own"


async def test_it_gives_up(room: Parlour) -> None:
    worn(room).orders = [FAILS.format("overloaded")] * 9
    assert await ask(room, "one") == "failed"
    assert len(worn(room).asked) == 3
    assert await outcomes(room) == ["overloaded"]


async def test_retries_can_be_switched_off(room: Parlour) -> None:
    room.set(retries=0)
    worn(room).orders = [FAILS.format("overloaded")]
    assert await ask(room, "one") == "failed"
    assert len(worn(room).asked) == 1


@pytest.mark.parametrize(
    "kind", ["auth", "quota", "bad-model", "bad-config", "context-too-long", "refused", "rate"]
)
async def test_what_cannot_help_is_not_tried(room: Parlour, kind: str) -> None:
    worn(room).orders = [FAILS.format(kind)]
    assert await ask(room, "one") == "failed"
    assert len(worn(room).asked) == 1


@pytest.mark.parametrize("before", ["tool=ls", "write=a.txt"])
async def test_not_once_a_tool_ran(room: Parlour, before: str) -> None:
    worn(room).orders = [f"@@rehearse {before} fail=overloaded@@"]
    assert await ask(room, "one") == "failed"
    assert len(worn(room).asked) == 1


async def test_a_wait_is_cancelled_at_once(room: Parlour, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 20.0)
    worn(room).orders = [FAILS.format("overloaded")]
    asking = asyncio.ensure_future(ask(room, "one"))
    watcher = room.house.progress
    assert isinstance(watcher, Watcher)
    async with asyncio.timeout(20):
        await watcher.seen.wait()
        began = time.monotonic()
        room.stops.stop()
        await asking
    assert time.monotonic() - began < 5
    assert len(worn(room).asked) == 1
    assert await outcomes(room) == ["cancelled"]


@pytest.mark.parametrize(
    ("tried", "helps"),
    [
        (retry.Tried(Outcome("overloaded")), True),
        (retry.Tried(Outcome("overloaded"), seconds=90), False),
        (retry.Tried(Outcome("overloaded"), shown=True), False),
        (retry.Tried(Outcome("rate", reset_s=1_010.0)), True),
        (retry.Tried(Outcome("rate", reset_s=9_000.0)), False),
        (retry.Tried(Outcome("rate")), False),
        (retry.Tried(Outcome("crashed")), False),
        (retry.Tried(Outcome("stalled")), False),
        (retry.Tried(Outcome("answered")), False),
    ],
)
def test_when_trying_again_may_help(tried: retry.Tried, helps: bool) -> None:
    assert retry.may_help(tried, 1_000.0) is helps


def test_a_run_that_said_something_is_not_tried_again() -> None:
    attempt = retry.Attempt()
    assert not attempt.over(Outcome("overloaded")).shown
    assert attempt.over(Outcome("overloaded", text="half an answer")).shown
    attempt.event(EngineEvent("delta", "half"))
    assert attempt.over(Outcome("overloaded")).shown
