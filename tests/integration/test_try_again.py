"""Retry and Try anyway: an engine is woken only for what is asked, a refusal is told once."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from bridge.access import Door
from bridge.intake import Intake
from bridge.usage_acts import Counting
from core.model import Outcome
from core.records import outbox, parked, turns
from core.records.tables import OutboxRow, UsageRow
from core.records.usage import Purse
from core.spending import Budget
from core.words import retry_button
from tests.integration.scenes import claim_oldest
from tests.integration.test_intake import POLICY, House, house

__all__ = ["house"]  # the fixture

NO_MORE = Purse((Budget("engine", "day", tokens=1),))


def under(house: House, purse: Purse) -> None:
    house.intake = Intake(
        house.records,
        Door(("slack:U1", "slack:U2")),
        replace(POLICY, counting=Counting(purse)),
        lambda _chat, text: (text,),
        on_turn=lambda: None,
        on_post=lambda: None,
        on_stop=lambda _: None,
        on_skip=lambda *_: None,
    )


async def failed(house: House) -> None:
    """A question whose engine rests."""
    await house.say("one", at="1", mention=True)

    def fail() -> None:
        turns.end_turn(1, "failed", "", time.time())
        resting = Outcome("quota", detail="used up", reset_s=time.time() + 9_000)
        parked.note("claude", "", resting, time.time())

    await house.records.do(fail)


async def rests(house: House) -> bool:
    return await house.records.do(parked.find, "claude", "", time.time()) is not None


async def notices(house: House) -> list[str]:
    return await house.records.do(
        lambda: [row.text for row in OutboxRow.select().where(OutboxRow.kind == "notice")]
    )


async def press(house: House, action: str, number: int) -> str:
    return (await house.act("button", action, event_id=f"b{number}")).text


async def test_try_anyway_wakes_the_engine_for_what_is_asked(house: House) -> None:
    await failed(house)
    assert await press(house, "anyway:1", 1) == "Trying again."
    assert not await rests(house)


@pytest.mark.parametrize("why", ["deleted", "waits", "full", "budget"])
async def test_try_anyway_wakes_nobody_where_nothing_is_asked(house: House, why: str) -> None:
    await failed(house)
    match why:
        case "deleted":
            await house.say("", at="1", mention=True, kind="delete", event_id="d1")
        case "waits":
            await press(house, "retry:1", 1)
        case "full":
            for at in ("2", "3", "4", "5"):
                await house.say(f"more {at}", at=at, root="1", mention=True)
        case "budget":
            await used_up(house)
    told = await press(house, "anyway:1", 2)
    assert told != "Trying again."
    assert await rests(house), told


async def test_a_retry_pressed_before_the_turn_has_ended_is_put(house: House) -> None:
    """The post that offers it is out a moment before the turn's own row has ended."""
    await house.say("one", at="1", mention=True)
    await house.records.do(claim_oldest, (), 1.0)
    assert "already" in await press(house, "retry:1", 1), "nothing was offered: it runs"

    def fail() -> None:
        outbox.add_post(1, "notice", ("failed",), buttons=(retry_button(1),), turn_id=1, now=1.0)

    await house.records.do(fail)
    assert await press(house, "retry:1", 2) == "Trying again."
    assert "already" in await press(house, "retry:1", 3)
    assert await house.turns() == [("one", "running"), ("one", "queued")]


async def used_up(house: House) -> None:
    under(house, NO_MORE)
    await house.records.do(
        lambda: UsageRow.create(run="r", at=time.time(), engine="claude", input_tokens=9)
    )


async def test_a_retry_that_a_budget_refuses_is_told_to_the_presser_alone(house: House) -> None:
    await failed(house)
    await used_up(house)
    before = await notices(house)
    for number in range(3):
        told = await press(house, "retry:1", number)
        assert "Not asked: the daily budget of claude is used up" in told
        assert "begins anew" in told
    assert await notices(house) == before
    assert await house.records.do(turns.get_turn, 2) is None, "nothing is queued for it"
    under(house, Purse())
    assert await press(house, "retry:1", 9) == "Trying again."
