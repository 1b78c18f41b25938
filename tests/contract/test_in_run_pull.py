"""The real agent CLIs Pull while they work, from the real server on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

from adapters.pull.server import McpPulls
from core.model import Pull, PullAccess
from tests.contract.desk import Desk

pytestmark = [pytest.mark.clis, pytest.mark.timeout(300)]

CLIS = ("claude", "codex", "opencode")
pulling = pytest.mark.parametrize("desk", CLIS, indirect=True)
KINDS = {"memory": "search what was said before", "plan": "the plan and its document"}
LOOK = '@@fake lookup kind=memory query="why JWT"@@'


@pytest.fixture
async def pulls() -> AsyncIterator[McpPulls]:
    server = McpPulls()
    await server.open()
    yield server
    await server.close()


async def status(access: PullAccess, token: str) -> int:
    """What the door says to a request with ``token``."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(access.url, json=body, headers=headers) as response,
    ):
        return response.status


@pulling
@pytest.mark.parametrize("permission", ["plan", "edit", "full"])
async def test_a_pull_goes_through_and_comes_back(desk: Desk, pulls: McpPulls, permission: str):
    asked: list[Pull] = []

    async def answer(pull: Pull) -> str:
        asked.append(pull)
        return "> FOUNDWORD because of the mobile app"

    access = pulls.admit("r", KINDS, answer)
    outcome = await desk.ask(LOOK, permission=permission, pulls=access)
    assert outcome.kind == "answered", outcome
    assert "FOUNDWORD" in outcome.text
    assert asked == [Pull("memory", "why JWT")]
    last = json.dumps(desk.models.seen[-1].body)
    assert "FOUNDWORD" in last  # what the model was sent next
    assert any(e.kind == "tool_start" and "pull" in f"{e.name} {e.text}" for e in desk.events)
    assert access.token not in desk.bodies()
    pulls.dismiss("r")
    assert await status(access, access.token) == 401
