"""Whatever arrives, in whatever pieces: a parser says what it understood, and never breaks.

``fuzz.py`` makes the streams, and goes on with them for as long as one likes.
"""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.model import Exit, Verdict
from core.streams import MAX_LINE_BYTES
from tests.unit import fuzz

STREAMS = 100  # for each engine; takes some seconds
MAX_CHARS = 50_000  # of an answer that is kept, here; else two million
MEMORY_BYTES = 2_000_000  # that a parser may keep then


@pytest.mark.parametrize("engine", fuzz.ENGINES)
def test_no_stream_breaks_a_parser(engine: str) -> None:
    for seed in range(STREAMS):
        fuzz.play(engine, seed)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(engine=st.sampled_from(fuzz.ENGINES), seed=st.integers(0, 2**64))
def test_no_stream_that_was_never_tried_breaks_a_parser(engine: str, seed: int) -> None:
    fuzz.play(engine, seed)


@pytest.mark.parametrize("engine", fuzz.ENGINES)
def test_wrong_types_in_every_field(engine: str) -> None:
    """Each part of each kind of event, replaced by each sort of value, and left out."""
    tried: set[tuple[Any, ...]] = set()
    for line in fuzz.lines_of(engine):
        for path in fuzz.paths(line):
            here = (fuzz.kind_of(line), *("" if isinstance(key, int) else key for key in path))
            if here in tried or len(path) > 6:
                continue
            tried.add(here)
            for wrong in (*fuzz.WRONG, ()):
                reader = fuzz.reader_of(engine)
                reader.to_send()
                sent = json.dumps(fuzz.replaced(line, path, wrong)).encode() + b"\n"
                for event in reader.receive(sent):
                    fuzz.check(event)
                    if event.request is not None:
                        reader.decide(Verdict(event.request.id, "once"))
                assert isinstance(reader.to_send(), bytes)
                fuzz.check_outcome(reader.finish(Exit(0)))


def larger(value: Any, number: int) -> Any:
    """``value`` with long texts that were never there before; the names of events stay."""
    if isinstance(value, dict):
        return {k: v if k in NAMES else larger(v, number) for k, v in value.items()}
    if isinstance(value, list):
        return [larger(part, number) for part in value]
    return f"{value} {number} " + "x" * 20_000 if isinstance(value, str) else value


NAMES = ("type", "subtype", "method", "role", "status", "kind", "sessionUpdate", "jsonrpc", "id")


@pytest.mark.parametrize("engine", fuzz.ENGINES)
def test_a_flood_of_any_event_fills_no_memory(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.streams.reader._MAX_PARTIAL_CHARS", MAX_CHARS)
    for line in {fuzz.kind_of(line): line for line in fuzz.lines_of(engine)}.values():
        reader = fuzz.reader_of(engine, line_cap=MAX_LINE_BYTES)
        size = len(json.dumps(larger(line, 0)))
        tracemalloc.start()
        try:
            for number in range(2 * MEMORY_BYTES // size):
                reader.receive(json.dumps(larger(line, number)).encode() + b"\n")
                reader.to_send()
            kept = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        assert kept < MEMORY_BYTES, line


@pytest.mark.parametrize("engine", fuzz.ENGINES)
def test_ten_thousand_kinds_of_events_are_only_counted(engine: str) -> None:
    reader = fuzz.reader_of(engine)
    for number in range(10_000):
        reader.receive(json.dumps({"type": f"new{number}", "text": "x"}).encode() + b"\n")
    unknown: dict[str, int] = reader.unknown  # type: ignore[attr-defined]
    assert len(unknown) <= 101
    assert sum(unknown.values()) in (0, 10_000)  # Ollama's lines have no type
