"""Sharing an integer number of characters among sections, by water-filling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Want:
    """What a section asks for, in characters. ``need`` is its true size; ``weight`` is positive."""

    name: str
    need: int
    min_chars: int
    max_chars: int
    weight: float

    @property
    def cap(self) -> int:
        """The most it can use."""
        return max(0, min(self.need, self.max_chars))

    @property
    def floor(self) -> int:
        """The least it is worth having with."""
        return min(self.cap, self.min_chars)


def allocate(total_chars: int, wants: Sequence[Want]) -> tuple[int, ...]:
    """Share ``total_chars`` among ``wants``; one size per want, in their order.

    Everyone gets ``min(need, min_chars)``; the rest flows by weight, and what reaches
    ``min(need, max_chars)`` gives its excess back to the others. Sizes are rounded down, so up to
    one character a want may stay idle. The sum never exceeds the total.

    When the minimums do not fit, whole wants are dropped (size 0): lowest weight first, of equal
    weights the last by name first.
    """
    kept = [want for want in wants if want.cap]
    kept.sort(key=lambda want: (-want.weight, want.name))
    while kept and sum(want.floor for want in kept) > total_chars:
        kept.pop()
    sizes = _fill(total_chars, kept)
    return tuple(sizes.get(want, 0) for want in wants)


def _fill(total: int, wants: Sequence[Want]) -> dict[Want, int]:
    """Raise one water level until the total is used: size = floor + level * weight, up to cap."""
    rest = Fraction(total - sum(want.floor for want in wants))
    weights = {want: Fraction(want.weight).limit_denominator(1000) for want in wants}
    full_at = {want: Fraction(want.cap - want.floor) / weights[want] for want in wants}
    level, rising = Fraction(0), sum(weights.values(), Fraction(0))
    for want in sorted(wants, key=lambda want: (full_at[want], want.name)):
        step = full_at[want] - level
        if step * rising > rest:
            break
        rest -= step * rising
        level = full_at[want]
        rising -= weights[want]
    if rising:
        level += rest / rising
    return {want: min(want.cap, want.floor + int(level * weights[want])) for want in wants}
