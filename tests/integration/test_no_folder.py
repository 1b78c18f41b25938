"""A project without its folder: the thread is told which setting, and no engine is blamed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from core.model import Participant, Project
from core.records.tables import OutboxRow
from tests.integration.parlour import parlour


async def test_the_setting_and_doctor_are_named_and_not_the_engine(tmp_path: Path) -> None:
    async with parlour(tmp_path) as here:
        gone = Project("billing", str(tmp_path / "gone"))
        room = replace(here, house=replace(here.house, project_of=lambda _: gone))
        assert await room.ask("why?", [Participant("rehearsal")]) == "failed"

        def said() -> list[str]:
            return [row.text for row in OutboxRow.select().where(OutboxRow.kind == "notice")]

        (notice,) = await room.records.do(said)
        for word in ("`[projects.billing] path`", "`moot doctor`", str(tmp_path / "gone")):
            assert word in notice
        assert "[engines" not in notice
        assert "could not be started" not in notice
