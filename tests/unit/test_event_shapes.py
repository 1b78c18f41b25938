"""The shapes of the events that readers go by: a CLI that changes one is seen.

``SHAPES`` says what a reader takes from each event type, and of which type that is. Every recorded
event is held to it, and so are the streams of the real CLIs (``tests/contract``).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from core.model import EngineConfig
from tests.peers.shapes import SHAPES, event_type, faults
from tests.unit.test_transcripts import CASES, recording, task


def events(case: str) -> Iterator[dict[str, Any]]:
    for line in recording(case)[1].splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


@pytest.mark.parametrize("case", [c for c in CASES if c.partition("/")[0] in SHAPES])
def test_recorded_events_have_the_shapes_that_readers_go_by(case: str) -> None:
    engine = case.partition("/")[0]
    for event in events(case):
        assert faults(engine, event) == []


@pytest.mark.parametrize("engine", SHAPES)
def test_each_shape_was_recorded(engine: str) -> None:
    seen = Counter(
        event_type(engine, event)
        for case in CASES
        if case.startswith(f"{engine}/")
        for event in events(case)
    )
    assert {kind for kind in SHAPES[engine] if not seen[kind]} == set()


@pytest.mark.parametrize("engine", SHAPES)
def test_a_changed_shape_is_seen(engine: str) -> None:
    """Rename or retype any field that a reader goes by, and it shows."""
    for case in (c for c in CASES if c in (f"{engine}/simple", f"{engine}/tool")):
        for event in events(case):
            for path in SHAPES[engine].get(event_type(engine, event), {}):
                changed = json.loads(json.dumps(event))
                inner = changed
                *before, last = path.split(".")
                for key in before:
                    inner = inner.get(key, {})
                if last in inner and not path.endswith("?"):
                    inner[f"{last}_v2"] = inner.pop(last)
                    assert faults(engine, changed), (event_type(engine, event), path)


@pytest.mark.parametrize("engine", SHAPES)
def test_no_recorded_event_is_unknown_to_its_reader(engine: str) -> None:
    """What is not handled on purpose is named here; anything else would be news."""
    ignored = {"claude": {"rate_limit_event", "tool_progress", "control_cancel_request"}}
    unknown: set[str] = set()
    for case in (c for c in CASES if c.startswith(f"{engine}/")):
        meta, stdout, _ = recording(case)
        reader = import_module(f"core.engines.{engine}").ENGINE(EngineConfig()).reader(task(meta))
        reader.receive(stdout)
        unknown |= set(reader.unknown)
    assert unknown - ignored.get(engine, set()) == set()
