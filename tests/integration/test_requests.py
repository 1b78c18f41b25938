"""Requests of a run, also over a restart: at each moment it is clear what was decided and done."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bridge.expiry import Expiry
from core.control import Room, Stops, choose
from core.engines.rehearsal import RehearsalReader
from core.model import Asked, EngineEvent, EngineRequest, EngineTask, Project, Ruling, Verdict
from core.records import asked as rows
from core.records import outbox, runs, turns
from core.records.tables import OutboxRow, RequestRow, RunRow, TurnRow
from core.turns import asked as posts
from core.turns import requests
from core.turns.house import claim_ready
from core.turns.settle import settle_cut
from core.turns.take import take_turn
from tests.integration.parlour import Actor, Parlour, parlour

TOUCH = '@@rehearse ask="touch made.txt" text="done"@@'
YES = Ruling("once", "slack:UKim", "Kim")


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Parlour]:
    async with parlour(tmp_path) as made:
        project = Project("acme", str(tmp_path / "project"), "ask")
        made.house = replace(made.house, project_of=lambda _: project)
        slots = made.house.slots

        def serve() -> None:  # as the worker does
            here, wishes = slots.look()
            granted, left = choose(here, wishes)
            slots.settle(granted, crowded=bool(left))

        slots.on_free = serve
        yield made


async def waiting(room: Parlour, number: int) -> Asked:
    """The request, once it waits."""
    async with asyncio.timeout(20):
        while True:
            found = await room.records.do(rows.find, number)
            if found is not None and found.state == "waiting":
                return found
            await asyncio.sleep(0.02)


async def rule(room: Parlour, number: int, ruling: Ruling = YES, *, heard: bool = True) -> None:
    """A person decides; ``heard``: and the run is told."""
    asked = await waiting(room, number)
    voice, now = room.house.voice, time.time()
    assert await room.records.do(posts.settle, asked, ruling, voice, now)
    if heard:
        room.house.desk.ruled(asked.run_id, number)


async def end(asking: asyncio.Task[str]) -> None:
    """Moot ends while the run is under way: its rows stay as they are."""
    asking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asking


async def start_again(room: Parlour) -> None:
    """What the next life of Moot does first."""
    for run_id, *_ in await room.records.do(runs.left_open):
        await room.records.do(settle_cut, run_id, room.house.voice, time.time())
    await room.records.do(turns.requeue_running)


async def go_on(room: Parlour) -> str:
    """The queued turn is taken up."""
    claimed = await room.records.do(claim_ready, Room(1), (), (), time.time())
    (ready,) = claimed.ready
    async with asyncio.timeout(30):
        return await take_turn(ready, room.house, Stops())


async def states(room: Parlour) -> tuple[str, list[str], list[str]]:
    """The turn's, the runs' and the requests' states."""

    def read() -> tuple[str, list[str], list[str]]:
        return (
            TurnRow.get_by_id(1).state,
            [row.state for row in RunRow.select().order_by(RunRow.opened_at)],
            [row.state for row in RequestRow.select().order_by(RequestRow.id)],
        )

    return await room.records.do(read)


def made(room: Parlour) -> bool:
    return Path(room.house.project_of(room.conversation.key).path, "made.txt").exists()


async def test_cut_while_it_waits_then_decided(room: Parlour):
    asking = asyncio.ensure_future(room.ask(TOUCH))
    await waiting(room, 1)
    await end(asking)
    await start_again(room)
    assert await states(room) == ("parked", ["parked"], ["waiting"])
    await start_again(room)  # once more: nothing has changed
    assert await states(room) == ("parked", ["parked"], ["waiting"])
    claimed = await room.records.do(claim_ready, Room(1), (), (), time.time())
    assert claimed.ready == ()
    await rule(room, 1, heard=False)
    assert await room.records.do(turns.unpark, 1)
    assert await go_on(room) == "done"
    assert await states(room) == ("done", ["parked", "answered"], ["once"])
    assert made(room)
    last = room.actor.asked[-1]
    assert "shell: touch made.txt: allowed by Kim" in last.context + last.prompt


async def test_cut_between_the_decision_and_the_engine_hearing_it(room: Parlour):
    asking = asyncio.ensure_future(room.ask(TOUCH))
    await waiting(room, 1)
    await rule(room, 1, Ruling("deny", "slack:UKim", "Kim", "not now"), heard=False)
    await end(asking)
    await start_again(room)
    assert await states(room) == ("queued", ["parked"], ["deny"])
    assert await go_on(room) == "done"
    assert await states(room) == ("done", ["parked", "answered"], ["deny"])
    assert not made(room)


async def test_cut_after_the_engine_has_heard_it_is_asked_about_before_it_is_repeated(
    room: Parlour,
):
    asking = asyncio.ensure_future(room.ask('@@rehearse ask="sleep 60"@@'))
    await waiting(room, 1)
    await rule(room, 1)
    async with asyncio.timeout(20):
        while not await room.records.do(lambda: RequestRow.get_by_id(1).told_at):
            await asyncio.sleep(0.02)
    await end(asking)
    await start_again(room)
    state, runs_, _ = await states(room)
    assert (state, runs_) == ("queued", ["failed"])
    assert any("it may have changed files" in told for told in await room.notices())


async def test_a_decision_is_used_once_and_for_the_same_only(room: Parlour):
    asking = asyncio.ensure_future(room.ask(TOUCH.replace("text", "asks=2 noscope text")))
    await waiting(room, 1)
    await end(asking)
    await start_again(room)
    await rule(room, 1, heard=False)
    await room.records.do(turns.unpark, 1)
    going = asyncio.ensure_future(go_on(room))
    second = await waiting(room, 2)  # the same again: that is another request
    assert second.request.about == "touch made.txt"
    await rule(room, 2, Ruling("deny", "slack:UKim", "Kim"))
    assert await going == "done"
    assert (await states(room))[2] == ["once", "deny"]


def test_the_same_is_told_by_what_would_be_done():
    run = EngineRequest("1", tool="Bash", about="ls", detail="to look", same="k")
    assert rows.fingerprint(run) == rows.fingerprint(replace(run, id="2", detail="looking"))
    assert rows.fingerprint(run) != rows.fingerprint(replace(run, same="other"))
    assert rows.fingerprint(run) != rows.fingerprint(replace(run, tool="Write"))
    seen = replace(run, same="")
    assert rows.fingerprint(seen) != rows.fingerprint(replace(seen, detail="looking"))
    assert rows.fingerprint(seen) == rows.fingerprint(replace(seen, id="2", scope="s"))


async def test_leave_for_a_session_goes_on_in_the_session_and_ends_with_it(room: Parlour):
    asking = asyncio.ensure_future(room.ask(TOUCH))
    asked = await waiting(room, 1)
    assert asked.session
    assert await room.records.do(rows.grant, asked, "slack:UKim", "Kim", time.time()) == 1
    await rule(room, 1, Ruling("session", "slack:UKim", "Kim"))
    assert await asking == "done"
    assert await room.ask(TOUCH) == "done"
    here = (room.conversation.id,)
    assert [grant.label for grant in await room.records.do(rows.grants_in, here)] == ["shell touch"]
    assert any("1×" in told for told in await room.notices())
    await room.records.do(lambda: rows.revoke(1, time.time()))
    again = asyncio.ensure_future(room.ask(TOUCH))
    await rule(room, 3)
    assert await again == "done"
    assert await room.records.do(rows.grants_in, here) == ()


async def test_what_could_not_be_posted_is_denied(room: Parlour):
    asking = asyncio.ensure_future(room.ask(TOUCH))
    asked = await waiting(room, 1)
    assert asked.post is not None
    await room.records.do(outbox.mark_dead, asked.post, "channel_not_found")
    expiry = Expiry(
        room.records,
        room.house.desk,
        room.house.voice,
        within_s=0,
        on_turn=lambda: None,
        on_post=lambda: None,
    )
    watching = asyncio.ensure_future(expiry.run())
    try:
        async with asyncio.timeout(20):
            assert await asking == "done"
    finally:
        watching.cancel()
        await asyncio.wait((watching,))
    assert (await states(room))[2] == ["deny"]
    assert not made(room)


async def test_the_message_asks_with_its_buttons_and_then_says_who_decided(room: Parlour):
    asking = asyncio.ensure_future(room.ask(TOUCH))
    asked = await waiting(room, 1)
    post = await room.records.do(OutboxRow.get_by_id, asked.post)
    actions = [button.action for button in outbox.load_buttons(post.buttons)]
    assert actions == ["req:1:once", "req:1:session", "req:1:deny"]
    await rule(room, 1)
    assert await asking == "done"
    post = await room.records.do(OutboxRow.get_by_id, asked.post)
    assert "Allowed once by Kim" in post.text
    assert outbox.load_buttons(post.buttons) == ()


class Greedy(Actor):
    """It asks for seven things at once, and keeps what it is told of them."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Verdict] = []

    def reader(self, task: EngineTask) -> RehearsalReader:
        reader = super().reader(task)
        asks, decide = reader.handlers["request"], reader.decide

        def handle(d: Any) -> None:
            asks(d)
            for number in range(6):
                request = EngineRequest(f"more-{number}", tool="shell", about=f"rm {number}.txt")
                reader._events.append(EngineEvent("request", id=request.id, request=request))

        def keep(verdict: Verdict) -> None:
            self.told.append(verdict)
            decide(verdict)

        reader.handlers["request"] = handle
        reader.decide = keep  # type: ignore[method-assign]
        return reader


@pytest.mark.parametrize(("limit", "why"), [("MAX_WAITING", "wait"), ("MAX_ASKED", "times")])
async def test_one_run_asks_for_no_more_than_people_can_decide(
    room: Parlour, monkeypatch: pytest.MonkeyPatch, limit: str, why: str
):
    monkeypatch.setattr(requests, limit, 3)
    greedy = Greedy()
    room.house = replace(room.house, engines={"rehearsal": greedy})
    asking = asyncio.ensure_future(room.ask(TOUCH))
    await waiting(room, 3)
    async with asyncio.timeout(20):
        while len(greedy.told) < 4:
            await asyncio.sleep(0.02)
    assert {(one.choice, one.by) for one in greedy.told} == {("deny", "Moot")}
    assert all(why in one.note for one in greedy.told)
    assert (await states(room))[2] == ["waiting"] * 3
    said = [text for text in await room.notices() if "more than people can decide" in text]
    assert len(said) == 1
    await rule(room, 1)
    assert await asking == "done"
    assert made(room)
