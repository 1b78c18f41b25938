"""How many runs may be under way, who is served next, and what ends the runs of one turn."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.model import Step

MAX_REMEMBERED = 10_000  # of people and conversations that were served


@dataclass(frozen=True, slots=True)
class Place:
    """A run that waits for a slot, or has one: by which engine, for whom, where.

    ``first``: it had one already, lent it while a person was asked, and comes before all others.
    """

    engine: str
    person: str = ""
    conversation: int = 0
    turn: int = 0
    first: bool = False


@dataclass(frozen=True, slots=True)
class Room:
    """What is free, and who was served when (a later service has a larger number).

    ``engines`` holds only those that have a limit of their own.
    """

    free: int
    engines: Mapping[str, int] = field(default_factory=dict[str, int])
    people: Mapping[str, int] = field(default_factory=dict[str, int])
    conversations: Mapping[int, int] = field(default_factory=dict[int, int])

    def has(self, engine: str) -> bool:
        """Whether one more run of this engine may begin."""
        return self.free > 0 and self.engines.get(engine, 1) > 0

    def after(self, place: Place) -> Room:
        """Once this one was served."""
        now = max((0, *self.people.values(), *self.conversations.values())) + 1
        left = self.engines.get(place.engine)
        return Room(
            self.free - 1,
            self.engines if left is None else {**self.engines, place.engine: left - 1},
            {**self.people, place.person: now},
            {**self.conversations, place.conversation: now},
        )


def in_order(room: Room, waiting: Sequence[Place]) -> tuple[Place, ...]:
    """Who is served after whom, were there room: people in turn, their conversations in turn.

    Whoever was served longest ago comes first; how many runs somebody has waiting moves nobody
    else back by more than one. Pure.
    """
    by_age = sorted(waiting, key=lambda place: (not place.first, place.turn))
    here, mine = Counter[int](), Counter[str]()
    nth: list[tuple[int, Place]] = []
    for place in by_age:
        nth.append((here[place.conversation], place))
        here[place.conversation] += 1
    nth.sort(key=lambda item: (item[0], room.conversations.get(item[1].conversation, 0)))
    ranked: list[tuple[bool, int, int, int, Place]] = []
    for _, place in nth:
        served = room.people.get(place.person, 0)
        ranked.append((not place.first, mine[place.person], served, place.turn, place))
        mine[place.person] += 1
    ranked.sort(key=lambda item: item[:4])
    return tuple(place for *_, place in ranked)


def choose(room: Room, waiting: Sequence[Place]) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
    """Who gets a slot now, and who waits on, both in order. Pure.

    One whose engine is full is passed over: it keeps its place and holds back nobody else.
    """
    left, taken = list(waiting), list[Place]()
    while fits := [place for place in left if room.has(place.engine)]:
        place = in_order(room, fits)[0]
        left.remove(place)
        taken.append(place)
        room = room.after(place)
    return tuple(taken), in_order(room, left)


class Lease:
    """A slot that somebody has. ``give`` it back once its run is over; twice is harmless."""

    def __init__(self, slots: Slots, place: Place) -> None:
        self.place = place
        self._slots = slots
        self._held = True
        self._back: Wish | None = None
        self._over = False

    def give(self) -> None:
        """The run is over, whether or not its slot is lent just now."""
        if self._over:
            return
        self._over = True
        if self._back is not None:
            self._back.withdraw()
            self._back = None
        if self._held:
            self._held = False
            self._slots.give(self.place)

    def lend(self) -> None:
        """The run waits for a person: others may have the slot meanwhile."""
        if self._held and not self._over:
            self._held = False
            self._slots.give(self.place)

    async def take_back(self) -> None:
        """The run may go on: returns once it has a slot again, as the first of all that wait.

        Harmless where nothing is lent, or the run is over.
        """
        if self._held or self._over:
            return
        if self._back is None:
            self._back = self._slots.wish(replace(self.place, first=True))
        back = self._back
        await asyncio.wait((back.granted,))
        if self._back is back:
            self._back = None
            if not back.granted.cancelled():
                self._held = True  # the lease that was granted is this one's slot now


class Wish:
    """Somebody waits for a slot; ``granted`` is done with a ``Lease`` once there is one."""

    def __init__(self, slots: Slots, place: Place) -> None:
        self.place = place
        self.granted: asyncio.Future[Lease] = asyncio.get_running_loop().create_future()
        self._slots = slots

    def withdraw(self) -> None:
        """It is not needed any more; a slot that was granted goes back."""
        self._slots.forget(self)
        if self.granted.done() and not self.granted.cancelled():
            self.granted.result().give()
        else:
            self.granted.cancel()


class Slots:
    """The runs that may be under way: on this host, and of engines that have a limit.

    ``on_free`` is told whenever somebody should look who is next (``look`` and ``settle``): one was
    given back, or somebody waits in vain. Not for several threads.
    """

    def __init__(
        self,
        at_once: int,
        engines: Mapping[str, int] | None = None,
        on_free: Callable[[], None] = lambda: None,
    ) -> None:
        self.at_once = at_once
        self.limits: Mapping[str, int] = dict(engines or {})
        self.on_free = on_free
        self._used = 0
        self._of = Counter[str]()
        self._wishes: list[Wish] = []
        self._looking = self._crowded = False
        self._clock = 0
        self._people: dict[str, int] = {}
        self._conversations: dict[int, int] = {}
        self._given: set[asyncio.Future[None]] = set()

    @property
    def used(self) -> int:
        """How many runs are under way."""
        return self._used

    def used_by(self, engine: str) -> int:
        """How many of them by this engine."""
        return self._of[engine]

    def room_for(self, engine: str) -> bool:
        """Whether one more run of this engine may begin, for who wants to take no slot."""
        return self._used < self.at_once and (
            engine not in self.limits or self._of[engine] < self.limits[engine]
        )

    def take(self, place: Place) -> Lease | None:
        """A slot at once, if there is room and nobody waits."""
        if self._looking or self._crowded or self._wishes or not self.room_for(place.engine):
            return None
        return self._lease(place)

    def wish(self, place: Place) -> Wish:
        """Wait for a slot; ``on_free`` is told, for there may be room."""
        wish = Wish(self, place)
        self._wishes.append(wish)
        self.on_free()
        return wish

    def forget(self, wish: Wish) -> None:
        """Whoever made this wish has given it up, or has its slot."""
        if wish in self._wishes:
            self._wishes.remove(wish)

    def give(self, place: Place) -> None:
        """Give one back (``Lease.give`` does it, once)."""
        self._used -= 1
        self._of[place.engine] -= 1
        for future in self._given:
            if not future.done():
                future.set_result(None)
        self.on_free()

    async def given(self) -> None:
        """Return once one was given back (another may have taken it by then)."""
        future = asyncio.get_running_loop().create_future()
        self._given.add(future)
        try:
            await future
        finally:
            self._given.discard(future)

    # --- who is next -------------------------------------------------------------------------

    def look(self) -> tuple[Room, tuple[Place, ...]]:
        """What is free, and who waits for it here; nothing is taken until ``settle``."""
        self._looking = True
        left = {name: limit - self._of[name] for name, limit in self.limits.items()}
        room = Room(self.at_once - self._used, left, dict(self._people), dict(self._conversations))
        return room, tuple(wish.place for wish in self._wishes)

    def settle(
        self, granted: Sequence[Place], taken: Sequence[Place] = (), *, crowded: bool
    ) -> tuple[Lease, ...]:
        """The look is over: what it came to, from ``choose``.

        ``granted`` are of those that wished for a slot here (one that was withdrawn meanwhile gets
        none); the leases of ``taken``, who wait elsewhere, come back in order. ``crowded``: more of
        these wait, so that nobody is to take a slot past them.
        """
        self._looking, self._crowded = False, crowded
        for place in granted:
            wish = next((wish for wish in self._wishes if wish.place == place), None)
            if wish is not None:
                self._wishes.remove(wish)
                wish.granted.set_result(self._lease(place))
        return tuple(self._lease(place) for place in taken)

    def _lease(self, place: Place) -> Lease:
        self._used += 1
        self._of[place.engine] += 1
        self._clock += 1
        _note(self._people, place.person, self._clock)
        _note(self._conversations, place.conversation, self._clock)
        return Lease(self, place)


def _note(served: dict[Any, int], who: Any, at: int) -> None:
    """Remember who was served; of those served longest ago no more than what matters."""
    served.pop(who, None)
    served[who] = at
    if len(served) > MAX_REMEMBERED:
        del served[next(iter(served))]


class Stops:
    """What ends the processes of one turn: all of them, or those of some steps.

    A step that begins after ``stop`` ends at once; one that was skipped ends alone.
    """

    def __init__(self) -> None:
        self._all = asyncio.Event()
        self._steps: dict[Step, asyncio.Event] = {}

    @property
    def stopped(self) -> bool:
        """Whether the whole turn was stopped."""
        return self._all.is_set()

    async def wait(self) -> None:
        """Return once the whole turn was stopped."""
        await self._all.wait()

    def of(self, step: Step) -> asyncio.Event:
        """The event that ends this step's process."""
        event = self._steps.setdefault(step, asyncio.Event())
        if self._all.is_set():
            event.set()
        return event

    def over(self, step: Step) -> None:
        """The step's process is gone: what is skipped from now on is another attempt."""
        self._steps.pop(step, None)

    def stop(self) -> None:
        """End everything."""
        self._all.set()
        for event in self._steps.values():
            event.set()

    def skip(self, step: Step) -> None:
        """End this step, if it is under way."""
        if step in self._steps:
            self._steps[step].set()
