"""How much one person may do in a while, over all channels.

Questions are counted from the rows, in sliding windows; whatever else is done is counted in
memory, for it leaves no row, and costs little.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.errors import NotAllowed
from core.model import Author
from core.records.often import asked_since
from core.tongue import say
from core.words import literal, moment

MINUTE_S, HOUR_S = 60.0, 3_600.0
SOON_S = 90.0
MAX_PEOPLE = 5_000


class TooMuch(NotAllowed):
    """Somebody asks or acts too often; says when it goes on."""


@dataclass(frozen=True, slots=True)
class Often:
    """How often at most; 0: any number. ``unlimited`` are names as in ``[access]``."""

    per_minute: int = 0
    per_hour: int = 0
    acts_per_minute: int = 0
    unlimited: frozenset[str] = frozenset()

    def spares(self, author: Author) -> bool:
        """Whether nothing of this counts for somebody."""
        everybody = "*" in self.unlimited and author.trusted
        return everybody or bool(self.unlimited.intersection(author.grants))


@dataclass(slots=True)
class Counter:
    """What everybody did lately."""

    limits: Often = field(default_factory=Often)
    _acted: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict[str, deque[float]])

    def act(self, author: Author, person: str) -> None:
        """Count one act of a person (``chat:id``).

        Raises:
            TooMuch: there were as many as there may be within a minute.
        """
        most, now = self.limits.acts_per_minute, time.monotonic()
        if not most or self.limits.spares(author):
            return
        acted = self._acted.setdefault(person, deque())
        self._acted.move_to_end(person)
        while len(self._acted) > MAX_PEOPLE:
            self._acted.popitem(last=False)
        while acted and acted[0] <= now - MINUTE_S:
            acted.popleft()
        if len(acted) >= most:
            wait = max(1, round(acted[0] + MINUTE_S - now))
            raise TooMuch(
                say(
                    "{name}, that was a lot in one minute. It goes on in {wait} seconds.",
                    name=literal(author.name, 60),
                    wait=wait,
                )
            )
        acted.append(now)

    def ask(self, author: Author, person: str, weight: int, now: float) -> None:
        """Let a question through that counts ``weight``.

        Raises:
            TooMuch: it would be more than there may be; says when it goes on.
        """
        limits = self.limits
        if limits.spares(author) or not (limits.per_minute or limits.per_hour):
            return
        asked = asked_since(person, now - HOUR_S)
        ends = max(
            free_at(asked, limits.per_minute, MINUTE_S, weight, now),
            free_at(asked, limits.per_hour, HOUR_S, weight, now),
        )
        wait = ends - now
        if wait <= 0:
            return
        when = (
            say("in {wait} seconds", wait=max(1, round(wait)))
            if wait <= SOON_S
            else say("at {time}", time=moment(ends + MINUTE_S))  # it has minutes only
        )
        raise TooMuch(
            say(
                "{name}, one person may ask {per_minute} times a minute and {per_hour} times an "
                "hour here (a roundtable counts for each of its participants). It goes on {when}.",
                name=literal(author.name, 60),
                per_minute=limits.per_minute or "∞",
                per_hour=limits.per_hour or "∞",
                when=when,
            )
        )


def free_at(
    asked: Sequence[tuple[float, int]], most: int, window_s: float, weight: int, now: float
) -> float:
    """When ``weight`` more fit into a sliding window: PURE. ``now`` or earlier: they do.

    ``asked`` is when and how much, oldest first. What counts more than a whole window fits when
    that is empty.
    """
    if not most:
        return now
    inside = [(at, count) for at, count in asked if at + window_s > now]
    used, room = sum(count for _, count in inside), most - min(weight, most)
    ends = now
    for at, count in inside:
        if used <= room:
            break
        used -= count
        ends = at + window_s
    return ends
