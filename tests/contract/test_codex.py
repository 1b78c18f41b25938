"""What only Codex does: it is talked to while it works, and asks."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.model import EngineRequest, Limits, Verdict
from tests.contract.desk import Desk
from tests.contract.test_clis import TREE, sleepers
from tests.contract.test_in_run_pull import own_server

pytestmark = [
    pytest.mark.clis,
    pytest.mark.timeout(120),
    pytest.mark.parametrize("desk", ["codex"], indirect=True),
]

SHORT = Limits(idle_s=4, total_s=5)
PATCH = "@@fake patch path=made.txt text=made@@"


def call(tool: str, **given: object) -> str:
    return f"@@fake call tool={tool} json='{json.dumps(given)}'@@"


def beyond(command: str) -> str:
    """A command that Codex's model wants to run outside of its sandbox."""
    return call(
        "exec_command",
        cmd=command,
        sandbox_permissions="require_escalated",
        justification="It is needed.",
    )


TOUCH = beyond("touch made.txt")
ASKING = {"permission": "ask", "asks": True}


def says(choice: str, *answers: str, note: str = "") -> Callable[[EngineRequest], Verdict]:
    told = tuple((answer,) for answer in answers)
    return lambda request: Verdict(request.id, choice, told, "Ada", note)  # type: ignore[arg-type]


async def made(desk: Desk) -> bool:
    return await asyncio.to_thread((desk.project / "made.txt").exists)


async def test_a_command_waits_for_a_yes(desk: Desk) -> None:
    desk.decide = says("once")
    outcome = await desk.ask(TOUCH, **ASKING)
    assert outcome.kind == "answered", outcome
    (asked,) = desk.requests
    assert (asked.kind, asked.tool) == ("permission", "command_execution")
    assert asked.about == "touch made.txt"
    assert asked.scope_label == "exactly this command: touch made.txt"
    assert "It is needed." in asked.detail
    assert await made(desk)


@pytest.mark.parametrize("wish", [TOUCH, PATCH], ids=["command", "patch"])
async def test_a_no_is_told_with_its_reason_and_the_run_goes_on(desk: Desk, wish: str) -> None:
    desk.decide = says("deny", note="not on a Friday")
    outcome = await desk.ask(wish, **ASKING)
    assert outcome.kind == "answered", outcome
    assert not await made(desk)
    last = json.dumps(desk.models.seen[-1].body)
    assert "rejected by user" in last
    assert "denied by Ada: not on a Friday" in last
    assert [e.ok for e in desk.events if e.kind == "tool_end"] == [False]


async def test_a_change_of_a_file_is_shown_and_waits(desk: Desk) -> None:
    desk.decide = says("once")
    await desk.ask(PATCH, **ASKING)
    (asked,) = desk.requests
    path = str(desk.project / "made.txt")
    assert (asked.tool, asked.about) == ("file_change", path)
    assert asked.detail == f"add {path}\nmade"
    assert asked.scope == f"files:{desk.project}"
    assert await made(desk)


async def test_leave_for_a_session_is_for_the_very_same_command(desk: Desk) -> None:
    desk.decide = says("session")
    first = await desk.ask(TOUCH, **ASKING)
    (one,) = desk.requests
    await desk.ask(TOUCH, resume=first.session, **ASKING)  # a new process: Moot keeps the leave
    (two,) = desk.requests
    await desk.ask(beyond("touch other.txt"), resume=first.session, **ASKING)
    (three,) = desk.requests
    assert one.scope == two.scope != three.scope


async def test_reading_is_not_asked_for_and_no_write_slips_by(desk: Desk) -> None:
    read = await desk.ask('@@fake tool cmd="cat a.txt"@@', **ASKING)
    assert "alpha" in read.text
    wrote = await desk.ask('@@fake tool cmd="touch made.txt"@@', **ASKING)
    assert "Read-only file system" in wrote.text
    assert desk.requests == []
    assert not await made(desk)


async def test_a_tool_of_the_users_own_server_is_asked_for(desk: Desk) -> None:
    env = await asyncio.to_thread(own_server, desk)
    desk.decide = says("session")
    outcome = await desk.ask(call("lab_echo", text="hi"), env=env, **ASKING)
    assert "echo: hi" in outcome.text
    (asked,) = desk.requests
    assert (asked.tool, asked.about, asked.scope) == (
        "mcp_tool_call",
        "lab lab_echo",
        "mcp:lab:lab_echo",
    )
    assert '"text": "hi"' in asked.detail
    desk.decide = says("deny")
    outcome = await desk.ask(call("lab_echo", text="hi"), env=env, **ASKING)
    assert "user rejected MCP tool call" in outcome.text


@pytest.mark.parametrize("permission", ["plan", "ask", "edit"])
async def test_the_users_own_rules_let_nothing_out(desk: Desk, permission: str) -> None:
    """What its owner once answered with "don't ask again" was not meant for a chat."""
    if permission == "edit" and Path(tempfile.gettempdir()) in desk.folder.parents:
        pytest.skip("in edit, Codex may write to the host's folder for temporary files")
    env = await asyncio.to_thread(own_server, desk)
    rules = Path(env["CODEX_HOME"], "rules", "default.rules")
    await asyncio.to_thread(rules.parent.mkdir)
    rule = 'prefix_rule(pattern=["touch"], decision="allow")\n'
    await asyncio.to_thread(rules.write_text, rule)
    for wish in ('@@fake tool cmd="touch made.txt ../made.txt"@@', beyond("touch ../made.txt")):
        await desk.ask(wish, permission=permission, asks=True, env=env)
    assert not await asyncio.to_thread((desk.folder / "made.txt").exists)
    assert await made(desk) == (permission == "edit")


async def test_a_session_that_could_do_anything_is_held_again(desk: Desk) -> None:
    first = await desk.ask('@@fake tool cmd="touch ../made.txt"@@', permission="full")
    assert await asyncio.to_thread((desk.folder / "made.txt").exists)
    for permission in ("plan", "ask"):
        await desk.ask(
            '@@fake tool cmd="touch made.txt"@@',
            permission=permission,
            asks=True,
            resume=first.session,
        )
        assert not await made(desk)


@pytest.mark.parametrize("permission", ["plan", "edit"])
async def test_other_modes_wait_for_nobody(desk: Desk, permission: str) -> None:
    outcome = await desk.ask(TOUCH, permission=permission, asks=True)
    assert "approval policy is Never" in outcome.text
    assert desk.requests == []
    assert not await made(desk)


async def test_a_run_that_waits_for_people_has_time_and_can_be_stopped(desk: Desk) -> None:
    asked = asyncio.ensure_future(desk.ask(TOUCH, limits=SHORT, **ASKING))
    async with asyncio.timeout(30):
        while not desk.requests:
            assert not asked.done(), asked.result()
            await asyncio.sleep(0.05)
    began = time.monotonic()
    while time.monotonic() - began < 5.5:  # longer than either limit
        assert not asked.done(), asked.result()
        await asyncio.sleep(0.2)
    desk.cancel.set()
    async with asyncio.timeout(8):
        outcome = await asked
    assert outcome.kind == "cancelled"
    assert not await made(desk)


async def test_what_was_allowed_is_cancelled_with_all_it_started(desk: Desk) -> None:
    desk.decide = says("once")
    task = asyncio.ensure_future(desk.ask(beyond(TREE.replace("'", '"')), **ASKING))
    async with asyncio.timeout(60):
        while await sleepers(desk.run_id) < 3:
            assert not task.done(), task.result()
            await asyncio.sleep(0.05)
    desk.cancel.set()
    async with asyncio.timeout(8):
        assert (await task).kind == "cancelled"
    assert await sleepers(desk.run_id) == 0


DATABASE = {
    "id": "db",
    "header": "Database",
    "question": "Which one?",
    "options": [
        {"label": "Postgres", "description": "big"},
        {"label": "SQLite", "description": "small"},
    ],
}
NAME = {"id": "name", "header": "Name", "question": "What is it called?", "options": [
    {"label": "Moot", "description": "as now"},
]}  # fmt: skip
QUESTIONS = call("request_user_input", questions=[DATABASE, NAME])


@pytest.mark.parametrize("permission", ["plan", "ask", "edit", "full"])
async def test_its_questions_reach_people_in_every_mode(desk: Desk, permission: str) -> None:
    desk.decide = says("answer", "SQLite", "as you like")
    outcome = await desk.ask(QUESTIONS, permission=permission, asks=True)
    (asked,) = desk.requests
    assert asked.kind == "question"
    first, second = asked.questions
    assert (first.text, first.header) == ("Which one?", "Database")
    assert first.options == (("Postgres", "big"), ("SQLite", "small"))
    assert second.text == "What is it called?"
    told = json.loads(outcome.text.removeprefix("Tool said: "))["answers"]
    assert told == {"db": {"answers": ["SQLite"]}, "name": {"answers": ["as you like"]}}


async def test_a_question_that_nobody_answers(desk: Desk) -> None:
    desk.decide = says("deny", note="nobody decided in time")
    outcome = await desk.ask(QUESTIONS, asks=True)
    assert outcome.text.count("user_note: nobody decided in time") == 2


async def test_who_cannot_be_asked_is_not(desk: Desk) -> None:
    """C150: nothing waits that nobody sees, whatever the user's own configuration says."""
    env = await asyncio.to_thread(own_server, desk)
    config = Path(env["CODEX_HOME"], "config.toml")
    wish = "[features]\ndefault_mode_request_user_input = true\n"
    await asyncio.to_thread(config.write_text, await asyncio.to_thread(config.read_text) + wish)
    outcome = await desk.ask(QUESTIONS, env=env)
    assert "request_user_input is unavailable" in outcome.text
    assert desk.requests == []


async def test_a_session_that_another_codex_has_open_is_named(desk: Desk) -> None:
    first = await desk.ask("@@fake plain@@")
    other = Desk("codex", desk.homes, desk.models, desk.folder)
    task = asyncio.ensure_future(
        other.ask("@@fake slow chunks=400 delay=0.1@@", resume=first.session)
    )
    async with asyncio.timeout(30):
        while not any(e.kind == "delta" for e in other.events):
            await asyncio.sleep(0.05)
    outcome = await desk.ask("@@fake plain@@", resume=first.session)
    other.cancel.set()
    await task
    assert outcome.kind == "crashed", outcome
    assert "open in another Codex" in outcome.detail


async def test_tokens_are_those_of_the_run_alone(desk: Desk) -> None:
    first = await desk.ask("@@fake plain@@")
    second = await desk.ask("@@fake plain@@", resume=first.session)
    third = await desk.ask("@@fake plain@@", resume=second.session)
    assert third.usage.input_tokens < 1.5 * first.usage.input_tokens
    assert third.usage.output_tokens == first.usage.output_tokens


async def test_a_summary_of_an_older_part_is_told(desk: Desk) -> None:
    await asyncio.to_thread((desk.project / "big.txt").write_text, "lorem ipsum dolor " * 900)
    engine = desk.engine
    desk.engine = lambda: engine(args=("-c", "model_auto_compact_token_limit=9000"))  # type: ignore[method-assign]
    outcome = await desk.ask('@@fake tool cmd="cat big.txt" n=3@@')
    assert outcome.kind == "answered", outcome
    assert "compacted" in {e.kind for e in desk.events}


async def test_its_sessions_are_found_for_a_terminal(desk: Desk) -> None:
    first = await desk.ask("The first words. @@fake plain@@", context="")
    second = await desk.ask("Other words. @@fake plain@@", context="")
    await desk.ask("Left behind. @@fake plain@@", passing=True)
    home = desk.homes.env("codex")
    engine = desk.engine()
    found = await asyncio.to_thread(engine.terminal_sessions, str(desk.project), home)
    assert [kept.id for kept in found] == [second.session, first.session]
    assert found[1].about == "The first words. @@fake plain@@"
    assert found[0].at >= found[1].at > time.time() - 120
    assert await asyncio.to_thread(engine.terminal_sessions, str(desk.folder), home) == []
    line = engine.resume_command(first.session, str(desk.project))
    assert line == f"cd {desk.project} && codex resume {first.session}"
