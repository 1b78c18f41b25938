"""The form of a roundtable: it fits the platforms, and comes back as it was typed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.commands import NOBODY, Convene, Names, parse, parse_table
from bridge.forms import (
    BUDGET,
    MODE,
    ROUNDS,
    SEATS,
    TOPIC,
    read_roundtable,
    refusal,
    roundtable_form,
    typed_options,
)
from bridge.tables import Setup, Tables
from core.model import ORDERS, Participant, Reply, TableRules

PERSONAS = ("architect", "critic", "developer", "검토자", "x" * 74)
ENGINES = ("claude", "codex", "gemini", "opencode", "ollama", "rehearsal")
NAMES = Names(frozenset(ENGINES), frozenset(PERSONAS), frozenset({"duel"}))
TABLES = Tables(
    Setup((Participant("", "architect"), Participant("", "critic")), 2, TableRules()),
    ENGINES,
    {
        "duel": Setup(
            (Participant("codex", "developer", "o9"), Participant("claude")),
            3,
            TableRules("blind", cap_chars=90_000),
        )
    },
)
seats = st.builds(Participant, st.sampled_from(ENGINES), st.sampled_from(("", *PERSONAS[:4])))
wanted = st.builds(
    Convene,
    st.just(""),
    st.lists(seats, min_size=2, max_size=8, unique=True).map(tuple) | st.just(()),
    st.integers(0, 5),
    st.sampled_from(("", "lite", "full")),
    st.sampled_from((None, *ORDERS)),
    st.sampled_from(("", "duel")),
    st.sampled_from((None, NOBODY)) | seats,
    st.sampled_from((None, True, False)),
    st.sampled_from((0, 4_000, 90_000)),
)


@given(wanted)
def test_a_form_fits_both_platforms(convene):
    form = roundtable_form(convene, TABLES, NAMES)
    assert len(form.fields) <= 5
    assert max(len(form.title), len(form.submit)) <= 24
    assert len({field.name for field in form.fields}) == len(form.fields)
    for field in form.fields:
        assert len(field.label) <= 45
        assert len(field.hint) <= 100
        values = [value for value, _ in field.options]
        assert len(values) == len(set(values)) <= 25
        assert all(0 < len(text) <= 75 for pair in field.options for text in pair)
        if values:
            assert set(field.value.split("\n")) <= set(values)


@given(wanted, st.sampled_from(("why?", "line one\n  line two", "탭 or spaces")))
def test_a_form_sent_as_it_was_opened_is_what_was_wanted(convene, topic):
    form = roundtable_form(convene, TABLES, NAMES)
    values = {field.name: tuple(v for v in field.value.split("\n") if v) for field in form.fields}
    read = read_roundtable({**values, TOPIC: (topic,)}, form.context, NAMES)
    assert isinstance(read, Convene)
    assert TABLES.setup(read) == TABLES.setup(convene)
    assert (read.topic, read.mode) == (topic, convene.mode)


@given(wanted)
def test_options_are_typed_as_they_are_read(convene):
    assert parse_table(typed_options(convene, all_of_them=True), NAMES) == convene


@pytest.mark.parametrize(
    ("values", "faults"),
    [
        ({TOPIC: (" \u200b",)}, {TOPIC}),
        ({TOPIC: ("x",), SEATS: ("critic:codex",)}, {SEATS}),
        ({TOPIC: ("x",), SEATS: ("critic:codex", "nobody:codex")}, {SEATS}),
        ({TOPIC: ("x",), MODE: ("round",)}, {MODE}),
        ({TOPIC: ("x",), ROUNDS: ("6",)}, {ROUNDS}),
        ({TOPIC: ("x",), ROUNDS: ("²",)}, {ROUNDS}),
        ({TOPIC: ("x",), BUDGET: ("100",)}, {BUDGET}),
        ({}, {TOPIC, SEATS}),
    ],
)
def test_each_fault_is_at_its_field(values, faults):
    given_ = {SEATS: ("critic:codex", "claude"), **values} if values else {}
    read = read_roundtable(given_, "", NAMES)
    assert isinstance(read, Reply)
    assert set(read.errors) == faults


def test_nothing_that_was_typed_is_lost_and_it_can_be_typed_again():
    values = {
        TOPIC: ("SQL or files?\nsecond line",),
        SEATS: ("critic:codex", "developer:claude"),
        MODE: ("blind",),
        ROUNDS: ("3",),
        BUDGET: ("90k",),
    }
    text = refusal({TOPIC: "no"}, values, "--preset duel").text
    typed = text.split("```")[1].strip().removeprefix("!rt ")
    assert parse("roundtable", typed, NAMES) == replace(
        read_roundtable(values, "--preset duel", NAMES), topic="SQL or files?\nsecond line"
    )


def test_a_preset_that_is_gone_is_told_not_forgotten():
    read = read_roundtable({TOPIC: ("x",), SEATS: ("claude", "codex")}, "--preset old", NAMES)
    assert isinstance(read, Reply)
    assert "There is no preset “old”" in read.errors[TOPIC]
