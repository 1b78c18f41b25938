"""The real Claude Code asks people through the whole product, on both platforms."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.e2e.stages import Stage
from tests.e2e.test_requests import playing, requests
from tests.peers.homes import Homes, folder_for
from tests.peers.models import FakeModels
from tests.peers.npm import require_cli

pytestmark = [pytest.mark.clis, pytest.mark.peers, pytest.mark.timeout(180)]

both = pytest.mark.parametrize("platform", ["slack", "discord"])

QUESTION = json.dumps(
    {
        "questions": [
            {
                "question": "Which one?",
                "header": "Store",
                "multiSelect": False,
                "options": [
                    {"label": "SQL", "description": "one file"},
                    {"label": "Files", "description": "many"},
                ],
            }
        ]
    }
)
ASK = f"@@fake call tool=AskUserQuestion json='{QUESTION}'@@"


@asynccontextmanager
async def claude(platform: str, permission: str) -> AsyncIterator[Stage]:
    require_cli("claude")
    with folder_for("e2e") as folder:
        async with FakeModels() as models:
            env = Homes(folder, models.url).env("claude")
            more = {"engines": {"default": "claude"}}
            async with playing(platform, folder, more, permission=permission, env=env) as stage:
                yield stage


@both
async def test_leave_is_asked_for_and_given_and_refused(platform):
    async with claude(platform, "ask") as stage:
        project = stage.moot.folder / "project"
        place = await stage.ask('@@fake tool cmd="touch one.txt"@@')
        asks = await stage.post(place, "#1")
        assert "touch one.txt" in asks.text
        assert stage.labels(asks) == ["Allow once", "Allow for this session", "Deny"]
        assert not (project / "one.txt").exists()
        await stage.click(asks, "Allow once")
        await stage.post(place, "Done after 1 tool call(s)")
        assert (project / "one.txt").exists()
        await stage.say(place, '@@fake tool cmd="touch two.txt"@@')
        await stage.post(place, "#2")
        await stage.say(place, "!deny 2 not on a Friday", "bob")
        told = await stage.post(place, "not on a Friday. Go on without it")
        assert "This was denied by" in told.text
        assert not (project / "two.txt").exists()
        await stage.say(place, "@@fake write path=three.txt@@")
        asks = await stage.post(place, "#3")
        assert "edits of files in the project" in asks.text
        await stage.click(asks, "Allow for this session")
        await stage.post(place, "File created")
        await stage.say(place, "@@fake write path=four.txt@@")
        await stage.post(place, "Not asked again")
        assert (project / "four.txt").exists()
        assert [row["state"] for row in requests(stage)] == ["once", "deny", "session", "once"]


@pytest.mark.parametrize("platform", ["discord"])
async def test_a_question_is_answered_by_a_button_and_in_words(platform):
    async with claude(platform, "plan") as stage:
        place = await stage.ask(ASK)
        asks = await stage.post(place, "#1")
        assert stage.labels(asks) == ["SQL", "Files", "Other…", "Do not answer"]
        await stage.click(asks, "Files")
        await stage.post(place, '"Which one?"="Files"')
        await stage.say(place, ASK)
        asks = await stage.post(place, "#2")
        await stage.fill(asks, "Other…", "bob", text0="neither, really")
        await stage.post(place, '"Which one?"="neither, really"')


@pytest.mark.parametrize("platform", ["slack"])
async def test_a_request_survives_a_kill(platform):
    async with claude(platform, "ask") as stage:
        place = await stage.ask('@@fake tool cmd="touch made.txt"@@')
        asks = await stage.post(place, "#1")
        await stage.moot.kill()
        await stage.moot.start(platform)
        await stage.click(asks, "Allow once")
        await stage.post(place, "Done after 1 tool call(s)", 60)
        assert (stage.moot.folder / "project/made.txt").exists()
        assert len(requests(stage)) == 1
