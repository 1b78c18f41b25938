"""What a roundtable may send before it starts, reckoned from the packs of its first round. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.model import Forecast, Turn

LABEL_CHARS = 60  # what an answer takes in a pack beside its text
USUAL_ANSWER_CHARS = 1_500  # of an engine that has not answered yet


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known of a seat before the table talks.

    Attributes:
        engine: its engine's name.
        chars / tokens: of its pack for the first round, as it would be sent.
        budget_chars: what a pack of it may hold.
        again_chars: what a later round sends beside the new answers (its standing, the prompt),
            where its engine goes on with its session; ``None``: everything is sent again.
        answer_chars: the mean length of the engine's answers (0: it has not answered yet).
        usd_per_char: what a character sent to it cost so far (0: it never told).
    """

    engine: str
    chars: int
    tokens: int
    budget_chars: int
    again_chars: int | None = None
    answer_chars: int = 0
    usd_per_char: float = 0.0


def reckon(turn: Turn, seats: Sequence[Expected], max_message_chars: int) -> Forecast:
    """The most that a roundtable sends if all rounds are held and nobody Pulls.

    Args:
        turn: the roundtable.
        seats: one for each seat, in order; one more for the synthesizer, if somebody sums up.
        max_message_chars: of one answer in a pack.
    """
    count = len(turn.seats)
    lengths = [min(s.answer_chars or USUAL_ANSWER_CHARS, max_message_chars) for s in seats[:count]]
    one_by_one = turn.rules.order == "sequential"
    chars: dict[int, int] = dict.fromkeys(range(len(seats)), 0)
    calls = 0
    for round_ in range(turn.rounds):
        for seat in range(count):
            earlier = sum(lengths[:seat]) + LABEL_CHARS * seat if one_by_one else 0
            new = earlier if not round_ else _others(lengths, seat)
            held = round_ * (sum(lengths) + LABEL_CHARS * count) + earlier
            chars[seat] += _sent(seats[seat], held, new, first=not round_)
            calls += 1
    if len(seats) > count:
        held = turn.rounds * (sum(lengths) + LABEL_CHARS * count)
        chars[count] += _sent(seats[count], held, held, first=True)
        calls += 1
    return Forecast(
        calls=calls,
        chars=sum(chars.values()),
        tokens=sum(_share(chars[n], s.tokens, s.chars) for n, s in enumerate(seats)),
        cost_usd=round(sum(chars[n] * s.usd_per_char for n, s in enumerate(seats)), 4),
        unpriced=tuple(dict.fromkeys(s.engine for s in seats if not s.usd_per_char)),
        answer_chars=sum(lengths) // max(1, len(lengths)),
    )


def _others(lengths: Sequence[int], seat: int) -> int:
    """What the others said since this seat spoke last."""
    return sum(lengths) - lengths[seat] + LABEL_CHARS * (len(lengths) - 1)


def _sent(seat: Expected, held: int, new: int, *, first: bool) -> int:
    """One pack: everything and the answers ``held`` so far, or only what is ``new``."""
    whole = max(seat.chars, min(seat.chars + held, seat.budget_chars))
    if first or seat.again_chars is None:
        return whole
    return min(whole, seat.again_chars + new)


def _share(chars: int, tokens: int, of_chars: int) -> int:
    return chars * tokens // of_chars if of_chars else 0
