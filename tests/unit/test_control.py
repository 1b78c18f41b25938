"""Slots: who is served next and never more than there are; what ends the processes of a turn."""

from __future__ import annotations

import asyncio
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from core.control import Place, Room, Slots, Stops, choose, in_order
from core.model import Step

A, B = Step(0, 0), Step(0, 1)


def place(turn: int, person: str = "kim", engine: str = "claude", conversation: int = 0) -> Place:
    return Place(engine, person, conversation or turn, turn)


# --- who is next -------------------------------------------------------------------------------


def test_one_who_asked_much_does_not_starve_another():
    many = [place(n) for n in range(1, 21)]
    lee = place(99, "lee")
    taken, left = choose(Room(2), [*many, lee])
    assert taken == (many[0], lee)
    assert left == tuple(many[1:])
    taken, _ = choose(Room(1, people={"kim": 5}), [*many, lee])
    assert taken == (lee,)


def test_the_conversations_of_one_person_take_turns():
    table = [place(1, conversation=1) for _ in range(3)]
    other = place(2, conversation=2)
    assert in_order(Room(1), [*table, other]) == (table[0], other, *table[1:])
    assert choose(Room(1, conversations={1: 7}), [*table, other])[0] == (other,)


def test_a_full_engine_holds_nobody_else_back_and_loses_no_place():
    first, second, third = place(1), place(2), place(3, engine="codex")
    taken, left = choose(Room(2, {"claude": 0}), [first, second, third])
    assert taken == (third,)
    assert left == (first, second)
    taken, _ = choose(Room(9, {"claude": 1}, {"kim": 3}), left)
    assert taken == (first,)


def test_one_that_lent_its_slot_comes_first():
    back = Place("claude", "kim", 1, 1, first=True)
    taken, _ = choose(Room(1, people={"kim": 9}), [place(2, "lee"), back])
    assert taken == (back,)


ENGINES, PEOPLE = ("claude", "codex", "opencode"), ("kim", "lee", "mia")
ASKED = st.tuples(st.sampled_from(PEOPLE), st.sampled_from(ENGINES), st.integers(1, 6))
EVENTS = st.lists(st.one_of(ASKED, st.just("end"), st.just("lend")), max_size=60)


@settings(deadline=None)
@given(EVENTS, st.integers(1, 4), st.dictionaries(st.sampled_from(ENGINES), st.integers(1, 2)))
def test_whatever_comes_nothing_is_forgotten_and_no_limit_is_broken(events, at_once, limits):
    asyncio.run(_model(events, at_once, limits))


async def _model(events, at_once, limits):
    slots = Slots(at_once, limits)
    queued: list[Place] = []
    running, lent = [], []
    overtaken = Counter()  # how often another person was served twice while one could have been
    begun = 0

    def look():
        nonlocal begun
        room, wishes = slots.look()
        taken, left = choose(room, (*wishes, *queued))
        granted = [one for one in taken if one.first]
        fresh = [one for one in taken if not one.first]
        assert Counter(taken) + Counter(left) == Counter((*wishes, *queued))
        leases = slots.settle(granted, fresh, crowded=any(not one.first for one in left))
        for lease in leases:
            queued.remove(lease.place)
            running.append(lease)
            for waiting in {one.person for one in queued} - {lease.place.person}:
                fits = any(
                    one.person == waiting and one.engine == lease.place.engine for one in queued
                )
                overtaken[waiting, lease.place.person] += fits
            for key in [key for key in overtaken if key[0] == lease.place.person]:
                del overtaken[key]
        begun += len(leases)
        assert slots.used <= at_once
        assert all(slots.used_by(engine) <= limit for engine, limit in limits.items())
        # Whoever waits although there is room for it would wait for ever.
        assert not any(slots.room_for(one.engine) for one in left)
        assert all(count <= 2 for count in overtaken.values()), overtaken

    asked = 0
    for event in events:
        if event == "end":
            if running:
                running.pop(0).give()
        elif event == "lend":
            if running:
                lease = running.pop(0)
                lease.lend()
                lent.append((lease, asyncio.ensure_future(lease.take_back())))
                await asyncio.sleep(0)
        else:
            person, engine, conversation = event
            asked += 1
            queued.append(Place(engine, person, 10 * PEOPLE.index(person) + conversation, asked))
        look()
    while running or lent or queued:
        for lease in running:
            lease.give()
        running.clear()
        look()
        for lease, back in list(lent):
            for _ in range(3):
                await asyncio.sleep(0)
            if back.done():
                lease.give()
                lent.remove((lease, back))
        look()
    assert (begun, slots.used) == (asked, 0)


# --- slots -------------------------------------------------------------------------------------


async def test_no_more_slots_are_taken_than_there_are():
    told = []
    slots = Slots(2, {"codex": 1}, lambda: told.append(1))
    first, second = slots.take(place(1, engine="codex")), slots.take(place(2))
    assert first
    assert second
    assert slots.take(place(3)) is None
    second.give()
    second.give()  # twice is harmless
    assert told == [1]
    assert slots.take(place(3, engine="codex")) is None
    assert slots.take(place(4))


async def test_nobody_takes_a_slot_past_those_who_wait_or_while_somebody_looks():
    slots = Slots(1)
    slots.settle((), (), crowded=True)
    assert slots.take(place(1)) is None
    slots.settle((), (), crowded=False)
    slots.look()
    assert slots.take(place(1)) is None
    slots.settle((), (), crowded=False)
    wish = slots.wish(place(2))
    assert slots.take(place(1)) is None
    wish.withdraw()
    assert slots.take(place(1))


async def test_a_wish_is_granted_by_a_look_and_one_withdrawn_costs_no_slot():
    slots = Slots(1)
    kept, dropped = slots.wish(place(1)), slots.wish(place(2))
    room, wishes = slots.look()
    granted, _ = choose(room, wishes)
    kept.withdraw()  # while the look is under way
    slots.settle(granted, crowded=False)
    assert (slots.used, dropped.granted.done()) == (0, False)
    room, wishes = slots.look()
    slots.settle(choose(room, wishes)[0], crowded=False)
    assert slots.used == 1
    dropped.withdraw()  # granted, and not needed any more
    assert slots.used == 0


async def test_a_slot_is_lent_while_a_person_is_asked_and_taken_back_first():
    slots = Slots(1)
    lease = slots.take(place(1))
    lease.lend()
    other = slots.take(place(2, "lee"))
    assert other
    back = asyncio.ensure_future(lease.take_back())
    await asyncio.sleep(0)
    assert not back.done()
    other.give()
    room, wishes = slots.look()
    granted, left = choose(room, (place(3, "mia"), *wishes))
    slots.settle(granted, crowded=bool(left))
    async with asyncio.timeout(5):
        await back
    assert (slots.used, len(left)) == (1, 1)
    lease.give()
    assert slots.used == 0


async def test_a_run_that_ends_while_its_slot_is_lent_gives_back_nothing_twice():
    slots = Slots(1)
    lease = slots.take(place(1))
    lease.lend()
    back = asyncio.ensure_future(lease.take_back())
    await asyncio.sleep(0)
    lease.give()
    async with asyncio.timeout(5):
        await back
    assert slots.used == 0
    assert slots.take(place(2))


async def test_that_a_slot_was_given_is_told():
    slots = Slots(1)
    lease = slots.take(place(1))
    waiting = asyncio.ensure_future(slots.given())
    gone = asyncio.ensure_future(slots.given())
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.wait((gone,))
    lease.give()
    async with asyncio.timeout(5):
        await waiting


# --- what ends runs ----------------------------------------------------------------------------


async def test_a_stop_ends_all_steps_and_those_to_come():
    stops = Stops()
    first = stops.of(A)
    waiting = asyncio.ensure_future(stops.wait())
    stops.stop()
    assert stops.stopped
    assert first.is_set()
    assert stops.of(B).is_set()
    async with asyncio.timeout(5):
        await waiting


def test_a_skip_ends_its_step_and_no_other():
    stops = Stops()
    first, second = stops.of(A), stops.of(B)
    stops.skip(A)
    assert (first.is_set(), second.is_set(), stops.stopped) == (True, False, False)
    stops.over(A)
    stops.skip(A)  # its process is gone: another attempt is not meant
    assert not stops.of(A).is_set()
