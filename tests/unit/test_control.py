"""Slots of the host, and what ends the processes of a turn."""

from __future__ import annotations

import asyncio

from core.control import Slots, Stops
from core.model import Step

A, B = Step(0, 0), Step(0, 1)


def test_no_more_slots_are_taken_than_there_are():
    told = []
    slots = Slots(2, lambda: told.append(1))
    assert [slots.take() for _ in range(3)] == [True, True, False]
    slots.give()
    assert told == [1]
    assert slots.take_all() == 1
    assert slots.take_all() == 0
    assert not slots.take()
    slots.put_back(1)
    assert told == [1]
    assert slots.take()


async def test_who_waits_for_a_slot_is_woken_by_either_way():
    slots = Slots(1)
    for give in (slots.give, lambda: slots.put_back(1)):
        assert slots.take()
        waiting = asyncio.ensure_future(slots.given())
        await asyncio.sleep(0)
        slots.put_back(0)
        await asyncio.sleep(0)
        assert not waiting.done()
        give()
        async with asyncio.timeout(5):
            await waiting


async def test_that_a_run_has_ended_is_told_apart_from_a_look():
    slots = Slots(1)
    waiting = asyncio.ensure_future(slots.ended())
    await asyncio.sleep(0)
    slots.put_back(slots.take_all())
    await asyncio.sleep(0)
    assert not waiting.done()
    assert slots.take()
    slots.give()
    async with asyncio.timeout(5):
        await waiting


async def test_one_who_gives_up_waiting_is_forgotten():
    slots = Slots(0)
    waiting = asyncio.ensure_future(slots.given())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait((waiting,))
    slots.give()
    assert slots.take()


def test_a_stop_ends_all_steps_and_those_to_come():
    stops = Stops()
    first = stops.of(A)
    stops.stop()
    assert stops.stopped
    assert first.is_set()
    assert stops.of(B).is_set()


def test_a_skip_ends_its_step_and_no_other():
    stops = Stops()
    first, second = stops.of(A), stops.of(B)
    stops.skip(A)
    assert (first.is_set(), second.is_set(), stops.stopped) == (True, False, False)
    stops.over(A)
    stops.skip(A)  # its process is gone: another attempt is not meant
    assert not stops.of(A).is_set()
