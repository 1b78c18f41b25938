"""Who waits for a slot of the host, and how long: for notices and ``!status``. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.control import Place
from core.model import Turn
from core.tongue import say, to_say
from core.words import DELETED, literal

MAX_SHOWN = 20
SAVED = to_say(
    "⏳ Waiting: what is left of a budget is kept for the runs under way. This is asked as soon as "
    "they have shown what they leave."
)


@dataclass(frozen=True, slots=True)
class Line:
    """What the last look at the queue found.

    ``waiting`` are places in the order in which they are served; ``engines`` holds how many runs
    are under way, and how many there may be, of engines with a limit; ``saved`` are turns that wait
    for a budget.
    """

    used: int = 0
    at_once: int = 0
    engines: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    waiting: tuple[Place, ...] = ()
    saved: tuple[int, ...] = ()

    @property
    def full(self) -> bool:
        """Whether the host has all the runs that it may have."""
        return self.used >= self.at_once

    def before(self, place: Place) -> int:
        """How many are served before this one: of its engine, where it waits for that alone."""
        ahead = self.waiting[: self.waiting.index(place)]
        return sum(self.full or one.engine == place.engine for one in ahead)


def waiting_text(line: Line, place: Place) -> str:
    """What stands in the thread of a question that does not begin at once."""
    count = line.before(place)
    told = say("{count} before it", count=count) if count else say("it is the next one")
    why = say(
        "{used} of {at_once} runs are under way on this host", used=line.used, at_once=line.at_once
    )
    if not line.full and place.engine in line.engines:
        used, limit = line.engines[place.engine]
        why = say(
            "{used} of {limit} runs of {engine} are under way",
            used=used,
            limit=limit,
            engine=place.engine,
        )
    return say("⏳ Waiting for a free slot: {told} · {why}", told=told, why=why)


def say_line(line: Line, here: Sequence[Turn]) -> str:
    """What ``!status`` adds: the whole order, with no words of other threads."""
    own = {turn.id: turn for turn in here}
    lines = [
        f"{number}. {_named(place, own)} → {literal(place.engine, 40)}"
        for number, place in enumerate(line.waiting[:MAX_SHOWN], 1)
    ]
    more = len(line.waiting) - MAX_SHOWN
    if more > 0:
        lines.append(f"{MAX_SHOWN + 1}. " + say("… and {count} more", count=more))
    head = say(
        "**Waiting for a slot**, in order ({used} of {at_once} runs are under way):",
        used=line.used,
        at_once=line.at_once,
    )
    told = ["\n".join([head, "", *lines])] if lines else []
    saved = sum(turn in own for turn in line.saved)
    if saved:
        text = to_say("Waiting for what runs under way leave of a budget: {count} here.")
        told.append(say(text, count=saved))
    return "".join(f"\n\n{text}" for text in told)


def _named(place: Place, own: Mapping[int, Turn]) -> str:
    turn = own.get(place.turn)
    if turn is None:
        return say("another thread")
    what = literal(turn.prompt, 60) if turn.prompt else f"*{say(DELETED)}*"
    return say("here: {what}", what=what)
