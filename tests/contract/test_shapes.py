"""The real CLIs still send the events that the readers go by."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest

from bridge.check import KNOWN_VERSIONS
from tests.contract.desk import Desk
from tests.peers.npm import HERE
from tests.peers.shapes import SHAPES, event_type, faults

pytestmark = [pytest.mark.clis, pytest.mark.timeout(300)]


@pytest.mark.parametrize("desk", tuple(SHAPES), indirect=True)
async def test_events_have_the_shapes_that_readers_go_by(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = bytearray()
    readers: list[Any] = []
    engine = import_module(f"core.engines.{desk.name}").ENGINE
    make = engine.reader

    def reader(self: Any, task: Any) -> Any:
        made = make(self, task)
        receive = made.receive

        def heard(data: bytes) -> Any:
            raw.extend(data)
            return receive(data)

        made.receive = heard
        readers.append(made)
        return made

    monkeypatch.setattr(engine, "reader", reader)
    outcome = await desk.ask('@@fake tool cmd="ls -a"@@', permission="full")
    assert outcome.kind == "answered", outcome
    events = [json.loads(line) for line in raw.splitlines() if line.startswith(b"{")]
    assert [fault for event in events for fault in faults(desk.name, event)] == []
    seen = {event_type(desk.name, event) for event in events}
    assert len(seen & set(SHAPES[desk.name])) >= 4
    assert readers[0].unknown == {}


def test_the_versions_that_check_knows_are_those_that_are_tested() -> None:
    pinned = set(json.loads((HERE / "package.json").read_text())["dependencies"].values())
    assert {version for known in KNOWN_VERSIONS.values() for version in known} <= pinned
