"""The real Codex asks people, through the whole product on Slack and on Discord."""

from __future__ import annotations

import json

import pytest

from tests.contract.test_codex import PATCH, QUESTIONS, beyond
from tests.e2e.test_cli_requests import with_cli
from tests.e2e.test_requests import requests

pytestmark = [pytest.mark.clis, pytest.mark.peers, pytest.mark.timeout(180)]


async def test_leave_is_asked_for_and_given_and_refused():
    async with with_cli("slack", "codex") as stage:
        project = stage.moot.folder / "project"
        place = await stage.ask(beyond("touch one.txt"))
        asks = await stage.post(place, "#1", 60)
        assert "touch one.txt" in asks.text
        assert "exactly this command" in asks.text
        assert "It is needed." in asks.text
        assert stage.labels(asks) == ["Allow once", "Allow for this session", "Deny"]
        assert not (project / "one.txt").exists()
        await stage.press(asks, "Allow once", "bob")
        await stage.moot.event("turn.ended", state="done", turn=1, timeout_s=60)
        assert (project / "one.txt").exists()
        await stage.say(place, beyond("touch two.txt"))
        await stage.post(place, "#2", 60)
        await stage.say(place, "!deny 2 not on a Friday")
        await stage.moot.event("turn.ended", state="done", turn=2, timeout_s=60)
        assert not (project / "two.txt").exists()
        await stage.say(place, PATCH)
        asks = await stage.post(place, "#3", 60)
        assert "changes to files in" in asks.text
        await stage.press(asks, "Allow for this session")
        await stage.moot.event("turn.ended", state="done", turn=3, timeout_s=60)
        assert (project / "made.txt").read_text() == "made\n"
        await stage.say(place, PATCH.replace("made.txt", "more.txt"))
        await stage.post(place, "Not asked again", 60)
        assert (project / "more.txt").exists()
        assert [row["state"] for row in requests(stage)] == ["once", "deny", "session", "once"]


async def test_its_questions_come_as_a_form():
    async with with_cli("discord", "codex") as stage:
        place = await stage.ask(QUESTIONS)
        asks = await stage.post(place, "wants to know", 60)
        assert "Which one?" in asks.text
        await stage.say(place, "!answer 1 2\nas you like")
        told = json.dumps({"answers": ["SQLite"]}, separators=(",", ":"))
        await stage.post(place, told, 60)
        await stage.post(place, "as you like", 60)


async def test_a_request_survives_a_kill():
    async with with_cli("slack", "codex") as stage:
        place = await stage.ask(beyond("touch made.txt"))
        asks = await stage.post(place, "#1", 60)
        await stage.moot.kill()
        await stage.moot.start("slack")
        await stage.press(asks, "Allow once")
        await stage.moot.event("turn.ended", state="done", timeout_s=60)
        assert (stage.moot.folder / "project/made.txt").exists()
        assert [row["state"] for row in requests(stage)] == ["once"]
