"""A source that never ends: its section is empty and says so, and every turn goes on."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Never

from core.model import Pull, Scene
from core.sources.port import Source
from tests.integration.parlour import parlour


async def test_more_hung_lookups_than_there_are_threads_hold_up_no_turn(tmp_path: Path) -> None:
    over = threading.Event()

    def never(*_: Scene | Pull) -> Never:
        over.wait()
        raise AssertionError("nobody waits for this any more")

    hung = Source(
        "docs", "outside", ("skills",), ("docs",), offer=never, answer=never, deadline_s=0.05
    )
    try:
        async with parlour(tmp_path, max_followups=1) as here:
            here.house = replace(here.house, sources=(hung,))
            for _ in range(20):
                assert await here.ask('what now? @@rehearse pull="docs: jwt"@@') == "done"
            first = (await here.runs())[0]
            assert "docs: nothing, too late" in first["notes"]
            told = "".join(task.prompt for task in here.actor.asked)
            assert "docs could not be asked just now" in told
    finally:
        over.set()
