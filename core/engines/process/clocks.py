"""When a run is to be ended: silence, length, refusals, and what it may wait for. PURE."""

from __future__ import annotations

import math
from typing import Literal

from core.model import Limits

NO_OUTPUT = "no output for {:.0f} s ([runs] idle_s in moot.toml)"
NOT_FINISHED = "still not finished after {:.0f} s ([runs] total_s in moot.toml)"
Why = Literal["", "cancelled", "stalled", "timeout"]

_IN_A_ROW = 3


class Clocks:
    """A run's times, in seconds of one clock that the caller reads.

    While a person is asked for something (``waits``), the run is neither idle nor late: its
    limits stand still, until every request is decided or withdrawn, or the run has settled.
    """

    def __init__(self, limits: Limits, now: float) -> None:
        self._limits = limits
        self._began = self._last = now
        self._waiting: dict[str, None] = {}
        self._waits_since = self._waited_s = 0.0
        self._refused_at = self._settled_at = 0.0
        self._complaints = 0

    @property
    def waiting(self) -> tuple[str, ...]:
        """The requests that nobody has decided yet."""
        return tuple(self._waiting)

    @property
    def is_settled(self) -> bool:
        """Whether nothing can change the verdict any more."""
        return bool(self._settled_at)

    def heard(self, now: float) -> None:
        """The engine said something: it is alive, and over what refused it."""
        self._last, self._refused_at, self._complaints = now, 0.0, 0

    def refused(self, now: float, *, surely: bool = True) -> None:
        """The engine complained that it was refused (rate, quota, sign-in).

        That it could not reach its service is said in passing as well: then (not ``surely``) the
        third complaint in a row counts.
        """
        self._complaints += 1
        if surely or self._complaints >= _IN_A_ROW:
            self._refused_at = self._refused_at or now

    def settled(self, now: float) -> bool:
        """Nothing can change the verdict any more; whether this is news."""
        news = not self._settled_at
        self._settled_at = self._settled_at or now
        return news

    def waits(self, request_id: str, now: float) -> None:
        """A person is asked; until then the limits stand still."""
        if not self._waiting:
            self._waits_since = now
        self._waiting[request_id] = None

    def no_longer_waits(self, request_id: str, now: float) -> None:
        """It was decided or withdrawn; one that is not open changes nothing."""
        if request_id not in self._waiting:
            return
        del self._waiting[request_id]
        if not self._waiting:  # from here on it has all its patience again
            self._last = now
            self._waited_s += now - self._waits_since
            if self._refused_at:
                self._refused_at = now

    def due(self) -> tuple[float, Why]:
        """When the run is to be ended as things stand, and why; ``math.inf`` for never."""
        limits = self._limits
        if self._settled_at:
            return self._settled_at + limits.linger_s, ""
        if self._waiting:
            return math.inf, ""
        ends: list[tuple[float, Why]] = [
            (self._last + limits.idle_s, "stalled"),
            (self._began + self._waited_s + limits.total_s, "timeout"),
        ]
        if self._refused_at:
            ends.append((self._refused_at + limits.trouble_s, "stalled"))
        return min(ends)
