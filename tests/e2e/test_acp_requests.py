"""A CLI that speaks the Agent Client Protocol asks people in the thread, through the whole product.

Gemini CLI for both: OpenCode's client is the same one (tests/contract/test_acp_asks.py).
"""

from __future__ import annotations

import pytest

from tests.e2e.test_cli_requests import with_cli

pytestmark = [pytest.mark.clis, pytest.mark.peers, pytest.mark.timeout(180)]


async def test_gemini_from_its_request_to_what_people_decide():
    async with with_cli("slack", "gemini") as stage:
        project = stage.moot.folder / "project"
        place = await stage.ask('@@fake tool cmd="touch made.txt" n=2@@')
        asks = await stage.post(place, "exactly this command", 60)
        assert "touch made.txt" in asks.text
        assert not (project / "made.txt").exists()
        await stage.press(asks, "Allow for this session", "bob")  # the second one is the same
        await stage.post(place, "Done after 2 tool call(s)", 60)
        await stage.moot.event("turn.ended", state="done", turn=1, timeout_s=60)
        assert (project / "made.txt").exists()
        place = await stage.ask('@@fake tool cmd="touch other.txt"@@')
        asks = await stage.post(place, "exactly this command", 60)
        assert "touch other.txt" in asks.text
        await stage.press(asks, "Deny", "bob")
        await stage.post(place, "canceled by the user", 60)
        await stage.moot.event("turn.ended", state="done", turn=2, timeout_s=60)
        assert not (project / "other.txt").exists()
