"""Who waits for a slot of the host, and how long: for notices and ``!status``. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.control import Place
from core.model import Turn
from core.tongue import to_say
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
    told = f"{count} before it" if count else "it is the next one"
    why = f"{line.used} of {line.at_once} runs are under way on this host"
    if not line.full and place.engine in line.engines:
        used, limit = line.engines[place.engine]
        why = f"{used} of {limit} runs of {place.engine} are under way"
    return f"⏳ Waiting for a free slot: {told} · {why}"


def say_line(line: Line, here: Sequence[Turn]) -> str:
    """What ``!status`` adds: the whole order, with no words of other threads."""
    own = {turn.id: turn for turn in here}
    lines = [
        f"{number}. {_named(place, own)} → {literal(place.engine, 40)}"
        for number, place in enumerate(line.waiting[:MAX_SHOWN], 1)
    ]
    more = len(line.waiting) - MAX_SHOWN
    lines += [f"{MAX_SHOWN + 1}. … and {more} more"] if more > 0 else []
    head = f"**Waiting for a slot**, in order ({line.used} of {line.at_once} runs are under way):"
    told = ["\n".join([head, "", *lines])] if lines else []
    saved = sum(turn in own for turn in line.saved)
    told += [f"Waiting for what runs under way leave of a budget: {saved} here."] if saved else []
    return "".join(f"\n\n{text}" for text in told)


def _named(place: Place, own: Mapping[int, Turn]) -> str:
    turn = own.get(place.turn)
    if turn is None:
        return "another thread"
    return f"here: {literal(turn.prompt, 60)}" if turn.prompt else f"here: *{DELETED}*"
