"""How a roundtable is set: what was asked for, else the preset's, else the settings'. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle

from bridge.commands import NOBODY, Convene, Names, parse_seats, parse_synthesizer
from config.tables import Table
from core.errors import BadInput, BadSettings
from core.model import Participant, TableRules


@dataclass(frozen=True, slots=True)
class Setup:
    """One way to hold a roundtable. Seats without an engine take the table's engines in turn."""

    seats: tuple[Participant, ...]
    rounds: int
    rules: TableRules


@dataclass(frozen=True, slots=True)
class Tables:
    """What the settings say of roundtables: the usual setup, and others by name.

    ``engines`` are what seats without one take in turn; ``personas`` and ``engines`` together are
    what a form offers.
    """

    usual: Setup
    engines: tuple[str, ...]
    presets: Mapping[str, Setup] = field(default_factory=dict[str, Setup])

    def named(self, preset: str) -> Setup:
        """The preset of that name ("": the usual setup), every seat with its engine."""
        setup = self.presets[preset] if preset else self.usual
        return replace(setup, seats=seated(setup.seats, self.engines))

    def setup(self, wanted: Convene) -> Setup:
        """What a roundtable that was asked for is: every seat has an engine."""
        base = self.named(wanted.preset)
        rules = replace(
            base.rules,
            order=wanted.order or base.rules.order,
            early_stop=base.rules.early_stop if wanted.early_stop is None else wanted.early_stop,
            synthesizer=_sums_up(wanted.synthesizer or base.rules.synthesizer),
            cap_chars=wanted.budget_chars or base.rules.cap_chars,
        )
        seats = seated(wanted.seats, self.engines) if wanted.seats else base.seats
        return Setup(seats, wanted.rounds or base.rounds, rules)


def _sums_up(seat: Participant | None) -> Participant | None:
    """Who sums up; one without an engine gets that of the first who spoke (``core.table``)."""
    return None if seat == NOBODY else seat


def read_setup(where: str, entry: Table, names: Names) -> Setup:
    """A setup as the settings write it.

    Raises:
        BadSettings: a participant or the synthesizer does not exist; names the key.
    """
    key = "participants"
    try:
        seats = parse_seats(entry.participants, names)
        key = "synthesis"
        synthesizer = parse_synthesizer(entry.synthesis, names)
    except BadInput as error:
        raise BadSettings(f"[{where}] {key}: {error}") from None
    rules = TableRules(
        order=entry.mode,
        early_stop=entry.early_stop,
        synthesizer=None if synthesizer == NOBODY else synthesizer,
        cap_chars=entry.budget_chars,
    )
    return Setup(seats, entry.rounds, rules)


def read_tables(
    usual: Table, presets: Mapping[str, Table], names: Names, engines: Iterable[str]
) -> Tables:
    """All setups of the settings.

    Raises:
        BadSettings: see ``read_setup``.
    """
    found = {
        name: read_setup(f"roundtable.presets.{name}", entry, names)
        for name, entry in presets.items()
    }
    return Tables(read_setup("roundtable", usual, names), tuple(engines), found)


def seated(seats: Sequence[Participant], engines: Sequence[str]) -> tuple[Participant, ...]:
    """Seats with an engine each: those without one take ``engines`` in turn."""
    turn_by_turn = cycle(engines)
    return tuple(
        seat if seat.engine else replace(seat, engine=next(turn_by_turn)) for seat in seats
    )
