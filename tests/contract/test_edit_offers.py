"""What the mode edit offers differs by engine: the table in docs/how-to/permissions.md is held."""

from __future__ import annotations

import pytest

from tests.contract.desk import Desk

pytestmark = [pytest.mark.clis, pytest.mark.timeout(120)]


@pytest.mark.parametrize(
    ("desk", "changes", "fetches"),
    [
        ("gemini", {"replace", "write_file"}, {"web_fetch", "google_web_search"}),
        ("opencode", {"edit", "write"}, {"webfetch"}),
    ],
    indirect=["desk"],
)
async def test_edit_offers_changes_and_pages_and_no_shell(
    desk: Desk, changes: set[str], fetches: set[str]
) -> None:
    outcome = await desk.ask("@@fake tools@@", permission="edit")
    offered = set(outcome.text.removeprefix("tools: ").split(", "))
    assert changes | fetches <= offered
    assert not {"run_shell_command", "bash", "shell"} & offered
