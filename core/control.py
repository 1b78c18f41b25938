"""How many runs may be under way on this host, and what ends those of one turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from core.model import Step


class Slots:
    """The host's runs at once. ``on_free`` is told whenever one is given back."""

    def __init__(self, count: int, on_free: Callable[[], None] = lambda: None) -> None:
        self._left = count
        self.on_free = on_free
        self._waiting: set[asyncio.Future[None]] = set()
        self._ending: set[asyncio.Future[None]] = set()

    @property
    def free(self) -> bool:
        """Whether one is left just now, for who wants to take none."""
        return self._left > 0

    def take(self) -> bool:
        """Take one, if there is one."""
        if self._left <= 0:
            return False
        self._left -= 1
        return True

    def take_all(self) -> int:
        """Take all that are left, to look what they are needed for; returns how many."""
        taken, self._left = max(0, self._left), min(0, self._left)
        return taken

    def put_back(self, count: int) -> None:
        """Give back what was not needed after all; ``on_free`` is not told."""
        self._left += count
        if count:
            _wake(self._waiting)

    def give(self) -> None:
        """Give one back; whoever waits looks again."""
        self.put_back(1)
        _wake(self._ending)
        self.on_free()

    async def given(self) -> None:
        """Return once one was given or put back (another may have taken it by then)."""
        await _woken(self._waiting)

    async def ended(self) -> None:
        """Return once a run gave its own back: not when a look took none, as a turn begins."""
        await _woken(self._ending)


def _wake(waiting: set[asyncio.Future[None]]) -> None:
    for future in waiting:
        if not future.done():
            future.set_result(None)


async def _woken(waiting: set[asyncio.Future[None]]) -> None:
    future = asyncio.get_running_loop().create_future()
    waiting.add(future)
    try:
        await future
    finally:
        waiting.discard(future)


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
