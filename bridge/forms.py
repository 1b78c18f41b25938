"""The form of a roundtable: what it offers, and what is made of it when it comes back. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeVar

from bridge.commands import (
    MAX_ROUNDS,
    MAX_SEATS,
    MIN_SEATS,
    NOBODY,
    Convene,
    Names,
    parse_seats,
    parse_table,
    says_something,
)
from bridge.options import parse_budget
from bridge.tables import Tables
from core.errors import BadInput
from core.model import ORDERS, Field, Form, Order, Participant, Reply
from core.tongue import say, to_say

T = TypeVar("T")
Values = Mapping[str, tuple[str, ...]]

ROUNDTABLE = "roundtable"
TOPIC, SEATS, MODE, ROUNDS, BUDGET = "topic", "participants", "mode", "rounds", "budget"
MAX_OFFERED = 25
MAX_NAME_CHARS = 75
_ORDER_LABELS: Mapping[Order, str] = {
    "sequential": to_say("sequential: one after the other, each reads all before"),
    "parallel": to_say("parallel: all at once, each reads the earlier rounds"),
    "blind": to_say("blind: nobody reads anyone in the first round"),
}


def how_to_type(context: str = "") -> str:
    """What to do where no form can be shown."""
    more = f" {context}" if context else ""
    return say(
        "What is the roundtable about? Type it: `!rt topic{more} --with "
        "architect:claude,critic:codex --rounds 2`.",
        more=more,
    )


def roundtable_form(wanted: Convene, tables: Tables, names: Names) -> Form:
    """The form, filled in with what is ``wanted`` so far, else with the preset's or the usual."""
    setup = tables.setup(wanted)
    seats = [seat_entry(seat) for seat in setup.seats]
    cap = setup.rules.cap_chars
    usual = say("{cap:,} as the settings say", cap=cap) if cap else say("no limit")
    preset = say(" (preset {preset})", preset=wanted.preset) if wanted.preset else ""
    presets = (
        ""
        if preset or not tables.presets
        else say("; presets: {all}", all=", ".join(tables.presets))
    )
    fields = (
        Field(TOPIC, say("Topic"), "paragraph", wanted.topic, hint=say("What it is about")),
        Field(
            SEATS,
            say("Participants{preset}", preset=preset)[:45],
            "choices",
            "\n".join(seats),
            options=tuple((entry, _label(entry)) for entry in _offered(setup.seats, tables, names)),
            hint=say(
                "{fewest} to {most}, as persona (engine){presets}",
                fewest=MIN_SEATS,
                most=MAX_SEATS,
                presets=presets,
            )[:100],
            at_least=MIN_SEATS,
            at_most=MAX_SEATS,
        ),
        Field(
            MODE,
            say("Mode"),
            "choice",
            setup.rules.order,
            options=tuple((order, say(_ORDER_LABELS[order])) for order in ORDERS),
        ),
        Field(
            ROUNDS,
            say("Rounds"),
            "choice",
            str(setup.rounds),
            options=tuple((str(n), str(n)) for n in range(1, MAX_ROUNDS + 1)),
        ),
        Field(
            BUDGET,
            say("Budget"),
            "line",
            str(wanted.budget_chars or ""),
            optional=True,
            hint=say(
                "Characters for the whole roundtable, such as 90k; empty: {usual}", usual=usual
            ),
        ),
    )
    return Form(ROUNDTABLE, say("Roundtable"), say("Start"), fields, typed_options(wanted))


def read_roundtable(values: Values, context: str, names: Names) -> Convene | Reply:
    """What was filled in as a roundtable, or what is wrong with it, field by field."""
    errors: dict[str, str] = {}

    def taken(name: str, read: Callable[[], T], otherwise: T) -> T:
        try:
            return read()
        except BadInput as error:
            errors[name] = str(error)
            return otherwise

    base = taken(TOPIC, lambda: parse_table(context, names), Convene(""))
    wanted = replace(
        base,
        topic=taken(TOPIC, lambda: _topic(_one(values, TOPIC)), ""),
        seats=taken(SEATS, lambda: parse_seats(values.get(SEATS, ()), names), ()),
        order=taken(MODE, lambda: _order(_one(values, MODE)), None),
        rounds=taken(ROUNDS, lambda: _rounds(_one(values, ROUNDS)), 0),
        budget_chars=taken(BUDGET, lambda: parse_budget(_one(values, BUDGET).strip()), 0),
    )
    return refusal(errors, values, context) if errors else wanted


def refusal(errors: Mapping[str, str], values: Values, context: str) -> Reply:
    """Nothing was done: what is wrong, and all that was filled in, ready to be sent again."""
    faults = "\n".join(f"- {message}" for message in errors.values())
    typed = _typed(values, context)
    longest = max((len(run) for run in re.findall("`+", typed)), default=0)
    fence = "`" * max(3, longest + 1)
    text = say(
        "Nothing was started:\n\n"
        "{faults}\n\n"
        "What you filled in, to be corrected and sent as a message:\n\n"
        "{fence}\n"
        "{typed}\n"
        "{fence}",
        faults=faults,
        fence=fence,
        typed=typed,
    )
    return Reply(text, errors=dict(errors))


def seat_entry(seat: Participant) -> str:
    """A participant as one types it: ``persona:engine/model``."""
    model = f"/{seat.model}" if seat.model else ""
    return f"{seat.persona}:{seat.engine}{model}" if seat.persona or model else seat.engine


def _label(entry: str) -> str:
    persona, _, engine = entry.rpartition(":")
    return f"{persona} ({engine})" if persona else engine


def _offered(chosen: Sequence[Participant], tables: Tables, names: Names) -> tuple[str, ...]:
    """Who can be picked: first who is, then the presets', then every persona with every engine."""
    entries = [seat_entry(seat) for seat in chosen]
    for preset in ("", *tables.presets):
        entries += [seat_entry(seat) for seat in tables.named(preset).seats]
    entries += [f"{persona}:{e}" for e, persona in product(tables.engines, sorted(names.personas))]
    entries += tables.engines
    short = (entry for entry in dict.fromkeys(entries) if len(_label(entry)) <= MAX_NAME_CHARS)
    return tuple(short)[:MAX_OFFERED]


def typed_options(wanted: Convene, *, all_of_them: bool = False) -> str:
    """What is wanted as options are typed: those that the form has no field for, or all."""
    words = [f"--preset {wanted.preset}"] if wanted.preset else []
    if all_of_them:
        words += [f"--with {','.join(map(seat_entry, wanted.seats))}"] if wanted.seats else []
        words += [f"--mode {wanted.order}"] if wanted.order else []
        words += [f"--rounds {wanted.rounds}"] if wanted.rounds else []
        words += [f"--budget {wanted.budget_chars}"] if wanted.budget_chars else []
    if wanted.mode:
        words.append(f"--mode {wanted.mode}")
    if wanted.synthesizer is not None:
        none = wanted.synthesizer == NOBODY
        words.append(f"--synth {'none' if none else seat_entry(wanted.synthesizer)}")
    if wanted.permission is not None:
        words.append(f"--permission {wanted.permission}")
    if wanted.early_stop is not None:
        words.append(f"--early-stop {'on' if wanted.early_stop else 'off'}")
    return " ".join(words)


def _typed(values: Values, context: str) -> str:
    """What was filled in, as one would type it."""
    options = {
        "with": ",".join(values.get(SEATS, ())),
        "mode": _one(values, MODE),
        "rounds": _one(values, ROUNDS),
        "budget": _one(values, BUDGET).strip(),
    }
    given = [f"--{name} {_quoted(value)}" for name, value in options.items() if value]
    return " ".join(word for word in ("!rt", _one(values, TOPIC).strip(), context, *given) if word)


def _quoted(value: str) -> str:
    value = " ".join(value.replace('"', "").split())
    return f'"{value}"' if " " in value else value


def _one(values: Values, name: str) -> str:
    found = values.get(name, ())
    return found[0] if found else ""


def _topic(topic: str) -> str:
    if not says_something(topic):
        raise BadInput(say("What is the roundtable about?"))
    return topic.strip()


def _order(word: str) -> Order | None:
    if word and word not in ORDERS:
        raise BadInput(say("The mode is one of {all}.", all=", ".join(ORDERS)))
    return word or None


def _rounds(typed: str) -> int:
    allowed: Iterable[str] = ("", *(str(n) for n in range(1, MAX_ROUNDS + 1)))
    if typed not in allowed:
        raise BadInput(say("A roundtable has 1 to {max_rounds} rounds.", max_rounds=MAX_ROUNDS))
    return int(typed or 0)
