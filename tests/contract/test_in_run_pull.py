"""The real agent CLIs Pull while they work, from the real server on loopback."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from adapters.pull.server import McpPulls
from core.model import Pull, PullAccess
from core.turns.in_run import DEADLINE_S
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


# OpenCode starts slowly: its other modes are those of tests below.
MODES = [(cli, mode) for cli in ("claude", "codex") for mode in ("plan", "edit", "full")]


@pytest.mark.parametrize(("desk", "permission"), [*MODES, ("opencode", "plan")], indirect=["desk"])
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


@pulling
async def test_a_dead_token_costs_the_tool_and_not_the_answer(desk: Desk, pulls: McpPulls):
    """Another run's server, an old token: the engine answers without, and markers remain."""

    async def answer(pull: Pull) -> str:
        raise AssertionError(f"let in: {pull}")

    old = pulls.admit("r", KINDS, answer)
    pulls.admit("r", KINDS, answer)
    outcome = await desk.ask(LOOK, pulls=old)
    assert (outcome.kind, outcome.text) == ("answered", "(no pull tool was offered)"), outcome


@pulling
async def test_a_server_that_is_gone_costs_the_tool_and_not_the_answer(desk: Desk, pulls: McpPulls):
    access = pulls.admit("r", KINDS, nothing)
    await pulls.close()
    outcome = await desk.ask(LOOK, pulls=access)
    assert (outcome.kind, outcome.text) == ("answered", "(no pull tool was offered)"), outcome


@pytest.mark.parametrize("desk", ["opencode"], indirect=True)  # by itself it waits for 5 s only
async def test_a_slow_pull_is_waited_for(desk: Desk, pulls: McpPulls):
    """Moot gives a Pull up before the engine does: what the agent hears are Moot's words."""

    async def answer(pull: Pull) -> str:
        await asyncio.sleep(DEADLINE_S)
        return "[nothing after 20 s]"

    outcome = await desk.ask(LOOK, pulls=pulls.admit("r", KINDS, answer))
    assert "[nothing after 20 s]" in outcome.text, outcome


@pulling
async def test_a_resumed_session_pulls_with_the_token_of_its_new_run(desk: Desk, pulls: McpPulls):
    first = await desk.ask(LOOK, pulls=pulls.admit("one", KINDS, nothing))
    pulls.dismiss("one")

    async def answer(pull: Pull) -> str:
        return "[of the second run]"

    again = pulls.admit("two", KINDS, answer)
    second = await desk.ask(LOOK, resume=first.session, context="", pulls=again)
    assert second.session == first.session
    assert "[of the second run]" in second.text, second


@pulling
async def test_the_token_stays_on_no_disk_and_goes_through_no_proxy(desk: Desk, pulls: McpPulls):
    access = pulls.admit("r", KINDS, nothing)
    dead = "http://127.0.0.1:9"
    env = {"HTTP_PROXY": dead, "http_proxy": dead}
    outcome = await desk.ask(LOOK, permission="edit", env=env, pulls=access)
    assert "[nothing]" in outcome.text, outcome
    shutil.rmtree(desk.folder / desk.run_id)  # the run's own folder, as Moot removes it
    for folder in (desk.homes.folder, desk.folder):
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert files
        assert not [path for path in files if access.token.encode() in path.read_bytes()]


@pulling
async def test_servers_of_the_users_own_go_on_working(desk: Desk, pulls: McpPulls):
    # "full": below it OpenCode is held to its own tools, with Pulls or without.
    access = pulls.admit("r", KINDS, nothing)
    outcome = await desk.ask(LOOK, permission="full", env=own_server(desk), pulls=access)
    assert "[nothing]" in outcome.text, outcome
    assert "lab_echo" in desk.bodies()


async def nothing(pull: Pull) -> str:
    return "[nothing]"


def own_server(desk: Desk) -> dict[str, str]:
    """A configuration of the engine that has an MCP server of the user's; the way to it."""
    program, script = sys.executable, str(Path(__file__).parents[1] / "peers" / "echo_mcp.py")
    env, folder = desk.homes.env(desk.name), desk.folder / "own"
    folder.mkdir()
    match desk.name:
        case "claude":
            entry = {"type": "stdio", "command": program, "args": [script]}
            (folder / ".claude.json").write_text(json.dumps({"mcpServers": {"lab": entry}}))
            return {"CLAUDE_CONFIG_DIR": str(folder)}
        case "codex":
            held = Path(env["CODEX_HOME"], "config.toml").read_text()
            args = f"command = {json.dumps(program)}\nargs = [{json.dumps(script)}]\n"
            (folder / "config.toml").write_text(f"{held}\n[mcp_servers.lab]\n{args}")
            return {"CODEX_HOME": str(folder)}
        case _:
            held = json.loads(Path(env["OPENCODE_CONFIG"]).read_text())
            entry = {"type": "local", "command": [program, script]}
            (folder / "own.json").write_text(json.dumps({**held, "mcp": {"lab": entry}}))
            return {"OPENCODE_CONFIG": str(folder / "own.json")}
