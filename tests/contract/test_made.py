"""A file for people is written by the real CLI's own tool into its run's folder, unasked."""

from __future__ import annotations

import tempfile

import pytest

from tests.contract.desk import Desk

pytestmark = [pytest.mark.clis, pytest.mark.timeout(300)]

MODES = [
    ("claude", "edit"),
    ("claude", "full"),
    ("codex", "edit"),
    ("codex", "full"),
    ("gemini", "edit"),
    ("opencode", "edit"),
]


@pytest.mark.parametrize(("desk", "mode"), MODES, indirect=["desk"])
async def test_the_agent_makes_a_file_for_people(desk: Desk, mode: str) -> None:
    prompt = "@@fake write path=@OUT/chart.csv text=a,b@@"
    outcome = await desk.ask(prompt, permission=mode)
    assert outcome.kind == "answered", outcome
    made = desk.folder / desk.run_id / "out"
    assert [path.name for path in made.iterdir()] == ["chart.csv"]
    assert "a,b" in (made / "chart.csv").read_text()
    assert desk.environ["MOOT_FILES"] == str(made)
    assert desk.requests == []


@pytest.mark.parametrize("desk", ["claude", "codex", "gemini"], indirect=True)
async def test_nothing_else_outside_of_the_project_is_opened_for_it(desk: Desk) -> None:
    beside = desk.folder / "beside.txt"
    if desk.name == "codex" and beside.is_relative_to(tempfile.gettempdir()):
        pytest.skip("Codex by itself lets all of the temporary folder be written")
    prompt = f"@@fake write path={beside} text=x@@ (not into @OUT)"
    await desk.ask(prompt, permission="edit")
    assert not beside.exists()
