"""The real CLIs ask people, through the whole product on both platforms, and hear what they say.

They speak to a model server on loopback; what the model does is steered from the question.
"""

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

COLOURS = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [
        {"label": "Red", "description": "warm"},
        {"label": "Blue", "description": "cold"},
    ],
}


@asynccontextmanager
async def with_cli(platform: str, name: str) -> AsyncIterator[Stage]:
    """The product with this CLI as its default engine, in a channel whose mode is ``ask``."""
    require_cli(name)
    with folder_for("asks") as folder:  # not below /tmp, where Codex may write
        async with FakeModels(default="plain") as models:
            engines = {"default": name, "codex": {"env": ["FAKE_API_KEY"]}}
            env = Homes(folder, models.url).everything()
            async with playing(platform, folder, {"engines": engines}, env=env) as stage:
                yield stage


@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_claude_code_from_its_request_to_what_people_decide(platform):
    async with with_cli(platform, "claude") as stage:
        project = stage.moot.folder / "project"
        place = await stage.ask('@@fake tool cmd="touch made.txt"@@')
        asks = await stage.post(place, "exactly this command", 60)  # a status has no such words
        assert "run a command" in asks.text
        assert "touch made.txt" in asks.text
        assert not (project / "made.txt").exists()
        await stage.press(asks, "Allow once", "bob")
        await stage.moot.event("turn.ended", state="done", turn=1, timeout_s=60)
        assert (project / "made.txt").exists()
        await stage.say(place, '@@fake tool cmd="touch other.txt"@@')
        await stage.post(place, "#2", 60)
        await stage.say(place, "!deny 2 not on a Friday")
        await stage.post(place, "not on a Friday.", 60)  # the model was told, and says so
        await stage.moot.event("turn.ended", state="done", turn=2, timeout_s=60)
        assert not (project / "other.txt").exists()
        await stage.say(
            place,
            f"@@fake call tool=AskUserQuestion json='{json.dumps({'questions': [COLOURS]})}'@@",
        )
        asks = await stage.post(place, "wants to know", 60)
        assert stage.labels(asks) == ["Red", "Blue", "Other…", "Do not answer"]
        await stage.fill(asks, "Other…", text0="Green, please")
        await stage.post(place, "Green, please", 60)
        await stage.moot.event("turn.ended", state="done", turn=3, timeout_s=60)


async def test_claude_code_is_cut_while_it_waits_and_goes_on_in_its_session():
    async with with_cli("slack", "claude") as stage:
        place = await stage.ask('@@fake tool cmd="touch made.txt"@@')
        asks = await stage.post(place, "#1", 60)
        await stage.moot.kill()
        await stage.moot.start("slack")
        await stage.press(asks, "Allow once")
        await stage.moot.event("turn.ended", state="done", timeout_s=60)
        assert (stage.moot.folder / "project/made.txt").exists()
        assert [row["state"] for row in requests(stage)] == ["once"]
