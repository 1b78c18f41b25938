"""When a message may be edited: runs of one place, and of one platform, share what it allows."""

from __future__ import annotations

import asyncio
import time

from core.model import ChatLimits

FORGET_AT = 1_000


class Pace:
    """Turns at the edits of one chat; a turn is a moment, so nothing queues but who waits for it.

    Whoever waits looks at what there is to show when the turn has come: the newest state is shown,
    and what it replaced never is.
    """

    def __init__(self, limits: ChatLimits) -> None:
        self._limits = limits
        self._free: dict[str, float] = {}  # by place: when it may be edited again
        self._anywhere = 0.0

    async def turn(self, place: str) -> None:
        """Return when the place may be edited."""
        while True:  # meanwhile somebody else may have had a turn
            left_s = self._left(place)
            if left_s <= 0.0:
                break
            await asyncio.sleep(left_s)
        now = time.monotonic()
        if len(self._free) > FORGET_AT:
            self._free = {name: at for name, at in self._free.items() if at > now}
        self._free[place] = now + self._limits.edit_interval_s
        self._anywhere = now + self._limits.edit_gap_s

    def rest(self, place: str, seconds: float) -> None:
        """The platform asks to wait there."""
        until = time.monotonic() + seconds
        self._free[place] = max(self._free.get(place, 0.0), until)

    def _left(self, place: str) -> float:
        return max(self._free.get(place, 0.0), self._anywhere) - time.monotonic()
