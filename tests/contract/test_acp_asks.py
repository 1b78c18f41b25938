"""The real Gemini CLI and OpenCode ask people, over the Agent Client Protocol, and go on.

Gemini starts in 1.5 s, OpenCode in 5: what is the same client's doing is looked at once.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from collections.abc import Callable
from dataclasses import replace

import psutil
import pytest

from core.engines.process.tree import marked
from core.model import EngineRequest, Limits, Verdict
from tests.contract.desk import Desk
from tests.contract.test_clis import TEXTS, TREE, sleepers

pytestmark = [pytest.mark.clis, pytest.mark.timeout(120)]

both = pytest.mark.parametrize("desk", ["gemini", "opencode"], indirect=True)
gemini = pytest.mark.parametrize("desk", ["gemini"], indirect=True)
opencode = pytest.mark.parametrize("desk", ["opencode"], indirect=True)

ASKING = {"permission": "ask", "asks": True}
TOUCH = '@@fake tool cmd="touch made.txt"@@'
WRITE = "@@fake write path=made.txt text=made@@"
SHORT = Limits(idle_s=6, total_s=7)


def says(choice: str, note: str = "") -> Callable[[EngineRequest], Verdict]:
    return lambda request: Verdict(request.id, choice, (), "Ada", note)  # type: ignore[arg-type]


def call(tool: str, **given: object) -> str:
    return f"@@fake call tool={tool} json='{json.dumps(given)}'@@"


async def made(desk: Desk) -> bool:
    return await asyncio.to_thread((desk.project / "made.txt").exists)


@both
async def test_a_command_waits_for_a_yes_and_reading_does_not(desk: Desk) -> None:
    desk.decide = says("session")
    outcome = await desk.ask('@@fake tool cmd="touch made.txt" n=2@@', **ASKING)
    assert outcome.kind == "answered", outcome
    assert outcome.text.startswith("Done after 2 tool call(s)"), "what came before is no answer"
    assert not outcome.unclean
    assert outcome.usage.input_tokens > 0
    one, two = desk.requests  # "for this session" is Moot's to remember
    assert (one.kind, one.about) == ("permission", "touch made.txt")
    assert one.scope_label == "exactly this command: touch made.txt"
    assert one.scope == two.scope != ""
    assert one.id != two.id
    assert await made(desk)
    assert [e.id for e in desk.events if e.kind == "started"] == [outcome.session]
    assert [e.ok for e in desk.events if e.kind == "tool_end"] == [True, True]
    assert any(e.kind == "delta" for e in desk.events)
    desk.decide = says("deny")
    read = await desk.ask("@@fake read path=a.txt@@", **ASKING)
    assert "alpha" in read.text
    assert desk.requests == []


@gemini
async def test_a_no_is_told_and_the_run_goes_on(desk: Desk) -> None:
    desk.decide = says("deny")
    outcome = await desk.ask(TOUCH, **ASKING)
    assert outcome.kind == "answered", outcome
    assert "canceled by the user" in outcome.text
    assert len(desk.requests) == 1
    assert not await made(desk)


@both
async def test_a_change_of_a_file_is_shown_and_waits(desk: Desk) -> None:
    desk.decide = says("deny" if desk.name == "opencode" else "once")
    outcome = await desk.ask(WRITE, **ASKING)
    assert outcome.kind == "answered", outcome
    (asked,) = desk.requests
    assert asked.about == str(desk.project / "made.txt")
    assert "made" in asked.detail
    assert asked.scope == f"files:{desk.project}"
    assert await made(desk) == (desk.name == "gemini")
    if desk.name == "opencode":
        assert "rejected permission" in outcome.text


@gemini
@pytest.mark.parametrize("path", [".github/ci.yml", ".gemini/settings.json"])
async def test_leave_for_edits_ends_at_what_says_what_is_run(desk: Desk, path: str) -> None:
    desk.decide = says("deny")
    await desk.ask(f"@@fake write path={path} text=made@@", **ASKING)
    (asked,) = desk.requests
    assert asked.scope == ""


def answers_of_strangers(run_id: str) -> list[int]:
    """What a run's processes say to who knows no password, on each port that they listen on."""
    statuses: list[int] = []
    for pid in marked(run_id):
        for found in psutil.Process(pid).net_connections():
            if found.status == psutil.CONN_LISTEN:
                at = http.client.HTTPConnection("127.0.0.1", found.laddr.port, timeout=5)
                at.request("GET", "/permission")
                statuses.append(at.getresponse().status)
                at.close()
    return statuses


@opencode
async def test_what_reaches_outside_of_the_project_is_asked_for_by_itself(desk: Desk) -> None:
    heard: list[int] = []

    def decide(request: EngineRequest) -> Verdict:
        heard.extend(answers_of_strangers(desk.run_id))
        return Verdict(request.id, "once")

    desk.decide = decide
    outcome = await desk.ask('@@fake tool cmd="cat /etc/hostname"@@', **ASKING)
    assert outcome.kind == "answered", outcome
    assert set(heard) <= {401}, "others on the host could give leave"
    outside, command = desk.requests
    assert (outside.tool, outside.scope) == ("external_directory", "")
    assert "/etc" in outside.detail
    assert command.scope


@gemini
async def test_a_run_that_waits_for_people_has_time(desk: Desk) -> None:
    asked = asyncio.ensure_future(desk.ask(TOUCH, limits=SHORT, **ASKING))
    async with asyncio.timeout(30):
        while not desk.requests:
            await asyncio.sleep(0.05)
    began = time.monotonic()
    while time.monotonic() - began < SHORT.total_s + 0.5:
        assert not asked.done(), asked.result()
        await asyncio.sleep(0.2)
    desk.cancel.set()
    async with asyncio.timeout(8):
        outcome = await asked
    assert outcome.kind == "cancelled"
    assert not await made(desk)


@both
async def test_nothing_is_offered_that_would_wait_for_nobody(desk: Desk) -> None:
    """C150: their questions cannot be answered over this protocol, sub-agents' reach nobody."""
    outcome = await desk.ask("@@fake tools@@", **ASKING)
    offered = set(outcome.text.removeprefix("tools: ").split(", "))
    assert {"read", "read_file"} & offered
    assert not offered & {"ask_user", "enter_plan_mode", "exit_plan_mode", "question", "task"}


@gemini
async def test_its_lists_are_free_and_its_agents_may_only_read(desk: Desk) -> None:
    todo = call("write_todos", todos=[{"description": "x", "status": "pending"}])
    listed = await desk.ask(todo, **ASKING)
    assert "Successfully updated" in listed.text, listed
    general = await desk.ask(call("invoke_agent", agent_name="generalist", prompt="x"), **ASKING)
    assert "denied by policy" in general.text, general
    looks = call("invoke_agent", agent_name="codebase_investigator", prompt="x")
    looked = await desk.ask(looks, **ASKING)
    assert "Subagent 'codebase_investigator' finished" in looked.text, looked
    assert desk.requests == []


@gemini
async def test_a_command_that_was_allowed_is_cancelled_with_all_it_started(desk: Desk) -> None:
    desk.decide = says("once")
    task = asyncio.ensure_future(desk.ask(f'@@fake tool cmd="{TREE}"@@', **ASKING))
    async with asyncio.timeout(60):
        while await sleepers(desk.run_id) < 3:
            assert not task.done(), task.result()
            await asyncio.sleep(0.05)
    desk.cancel.set()
    async with asyncio.timeout(8):
        outcome = await task
    assert outcome.kind == "cancelled"
    assert await sleepers(desk.run_id) == 0


@both
async def test_one_session_in_both_of_its_modes(desk: Desk) -> None:
    """A conversation may come to ask, or to ask no more."""
    first = await desk.ask("One. @@fake plain@@", permission="plan")
    if desk.name == "gemini":
        await another_minute(desk)
    second = await desk.ask("Two. @@fake history@@", resume=first.session, context="", **ASKING)
    assert json.loads(second.text)["user_turns"] == 2, "what it said before is not said again"
    assert second.session == first.session
    if desk.name == "gemini":
        third = await desk.ask("Three. @@fake history@@", resume=first.session, context="")
        assert json.loads(third.text)["user_turns"] == 3


async def another_minute(desk: Desk) -> None:
    """Rename the session's file as if it were of another minute.

    In the minute that a session was begun in, its loading over ACP overwrites it: Moot begins anew
    then (see the decision).
    """
    folder = desk.homes.folder / "gemini" / ".gemini" / "tmp"

    def rename() -> None:
        newest = max(folder.glob("*/chats/session-*"), key=lambda p: p.stat().st_mtime)
        newest.rename(newest.with_name(f"session-2020-01-01T00-00-{newest.name[-14:]}"))

    await asyncio.to_thread(rename)


@opencode
async def test_a_session_of_another_folder_is_lost_at_once(desk: Desk) -> None:
    """OpenCode would open it, and hang."""
    here = await desk.ask("x @@fake plain@@", permission="plan")
    elsewhere = replace(desk, folder=desk.folder / "elsewhere")
    await asyncio.to_thread(elsewhere.project.mkdir, parents=True)
    lost = await elsewhere.ask("x @@fake plain@@", resume=here.session, **ASKING)
    assert lost.kind == "session-lost", lost


@gemini
async def test_awkward_prompts_arrive_in_a_dialogue(desk: Desk) -> None:
    names = ("command after a mark", "mention", "shell", "korean", "nul")
    texts = {name: TEXTS[name] for name in names} | {"large": " ".join(map(str, range(40_000)))}
    for name, text in texts.items():
        said = f"{text} @@fake echo@@"
        outcome = await desk.ask(said, context="", **ASKING)
        told = json.loads(outcome.text)
        extra = 1 if name.startswith("command") else 0  # what makes it no command
        assert told["chars"] == len(said.replace("\0", "")) + extra, name
    assert "root:x:0:0" not in desk.bodies()


@gemini
async def test_a_refusal_that_it_keeps_to_itself_is_named_at_the_end(desk: Desk) -> None:
    """Over ACP it writes its complaints only as it ends: they say why it was silent."""
    outcome = await desk.ask("@@fake error status=429@@", limits=Limits(8, 60), **ASKING)
    assert outcome.kind == "rate", outcome
