"""The real agent CLIs (and Ollama's API) against the loopback model server.

One contract for every engine: what is asked arrives, what is answered comes back, what may not be
changed is not changed, what goes wrong is named, and nothing is left running.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid

import psutil
import pytest

from core.engines.process import probe
from core.engines.process.tree import marked
from core.model import Limits
from tests.contract.desk import CLIS, ENGINES, Desk
from tests.peers.npm import HERE

pytestmark = [pytest.mark.clis, pytest.mark.timeout(300)]

every_engine = pytest.mark.parametrize("desk", ENGINES, indirect=True)
every_cli = pytest.mark.parametrize("desk", CLIS, indirect=True)
quick_clis = pytest.mark.parametrize("desk", ["claude", "codex"], indirect=True)


@every_engine
async def test_found_signed_in_and_pinned(desk: Desk) -> None:
    info = await probe(desk.engine(), desk.homes.env(desk.name))
    assert (info.name, info.installed, info.signed_in) == (desk.name, True, True), info
    if desk.name in CLIS:
        pinned = json.loads((HERE / "package.json").read_text())["dependencies"]
        assert info.version in pinned.values()


@every_engine
async def test_answers_and_goes_on(desk: Desk) -> None:
    """And it is told the context of its turn."""
    place = "system" if desk.name in ("claude", "ollama") else "user#0"
    context = "# About\n\nMOOTWORD " * 3
    first = await desk.ask("My name is Ada. @@fake find text=MOOTWORD@@", context=context)
    assert (first.kind, first.text) == ("answered", f"found in: {place}"), first
    assert not first.unclean
    assert first.usage.input_tokens > 0
    assert first.usage.output_tokens > 0
    if desk.name == "ollama":
        return
    started = [e.id for e in desk.events if e.kind == "started"]
    assert started == [first.session]
    second = await desk.ask("And now? @@fake history@@", resume=first.session, context="")
    assert json.loads(second.text)["user_turns"] == 2
    assert second.session == first.session


TEXTS = {
    "dash": "- [ ] do this",
    "option": "--help",
    "front matter": "---\ntitle: x\n---\nfix it",
    "command": "/cost",
    "command after a line": "\n/clear",
    "command after a mark": "\ufeff/clear",
    "mention": "@/etc/passwd says",
    "shell": "!ls",
    "korean": "배포는 **금요일**에 합니다 😀\r\n\t끝",
    "nul": "a\0b",
    "large": "x" * 200_000,
}


async def check_arrival(desk: Desk, text: str) -> None:
    outcome = await desk.ask(f"{text} @@fake echo@@")
    assert outcome.kind == "answered", outcome
    told = json.loads(outcome.text)
    said = f"{text} @@fake echo@@".replace("\0", "")
    if desk.name in ("claude", "ollama"):
        said = said.strip()
        assert told["sha256"] == hashlib.sha256(said.encode()).hexdigest()
    else:
        joined = f"You are being tested.\n\n---\n\n{said}"
        assert told["sha256"] == hashlib.sha256(joined.encode()).hexdigest()
    assert "root:x:0:0" not in desk.bodies()


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize("desk", ["claude", "codex", "ollama"], indirect=True)
async def test_prompts_arrive_as_text(desk: Desk, text: str) -> None:
    """C121, C122, and what a chat user may type to reach further than the words."""
    if desk.name == "ollama" and len(text) > 100_000:
        pytest.skip("the model's window is smaller than that")
    await check_arrival(desk, text)


@pytest.mark.parametrize("desk", ["gemini", "opencode"], indirect=True)
async def test_an_awkward_prompt_arrives_as_text(desk: Desk) -> None:
    """All in one, for these start slowly."""
    text = "".join(f"{t}\n" for name, t in TEXTS.items() if name != "large")
    await check_arrival(desk, text + "y" * 150_000)


@every_cli
async def test_plan_changes_nothing(desk: Desk) -> None:
    for wish in ("write path=made.txt", 'tool cmd="touch made.txt"'):
        outcome = await desk.ask(f"@@fake {wish}@@", permission="plan")
        assert outcome.kind == "answered", outcome
        assert [p.name for p in desk.project.iterdir()] == ["a.txt"]


@every_cli
async def test_edit_may_write_here(desk: Desk) -> None:
    outcome = await desk.ask("@@fake write path=made.txt text=made@@", permission="edit")
    assert outcome.kind == "answered", outcome
    assert (desk.project / "made.txt").read_text().strip() == "made"


@every_cli
async def test_no_chat_token_reaches_a_command(desk: Desk) -> None:
    env = {"SLACK_BOT_TOKEN": "xoxb-of-the-team", "MOOT__SECRET": "ours-alone"}
    outcome = await desk.ask('@@fake tool cmd="env | sort"@@', permission="full", env=env)
    assert outcome.kind == "answered", outcome
    assert f"MOOT_RUN={desk.run_id}" in desk.bodies()
    assert "xoxb-of-the-team" not in desk.bodies()
    assert "ours-alone" not in desk.bodies()


NAP = "python3 -c 'import time; time.sleep(611.5)'"
TREE = f"{NAP} & (setsid {NAP} >/dev/null 2>&1 &) ; {NAP}"


async def sleepers(run_id: str) -> int:
    """How many of the commands that ``TREE`` starts are running."""
    count = 0
    for pid in await asyncio.to_thread(marked, run_id):
        try:
            count += "time.sleep(611.5)" in " ".join(psutil.Process(pid).cmdline()[-1:])
        except psutil.Error:
            continue
    return count


@every_cli
async def test_cancel_in_a_tool_leaves_nothing(desk: Desk) -> None:
    task = asyncio.ensure_future(desk.ask(f'@@fake tool cmd="{TREE}"@@', permission="full"))
    async with asyncio.timeout(120):
        while await sleepers(desk.run_id) < 3:
            assert not task.done(), task.result()
            await asyncio.sleep(0.05)
    desk.cancel.set()
    async with asyncio.timeout(8):
        outcome = await task
    assert outcome.kind == "cancelled"
    assert await sleepers(desk.run_id) == 0


@pytest.mark.parametrize("desk", ["claude", "codex", "gemini", "ollama"], indirect=True)
async def test_cancel_in_a_text_keeps_what_was_said(desk: Desk) -> None:
    task = asyncio.ensure_future(desk.ask("@@fake slow chunks=400 delay=0.1@@"))
    async with asyncio.timeout(120):
        while not any("word003" in e.text for e in desk.events):
            await asyncio.sleep(0.02)
    desk.cancel.set()
    seen = len(desk.events)
    outcome = await task
    assert outcome.kind == "cancelled"
    assert outcome.text.startswith("word000 word001")
    assert len(desk.events) == seen


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("error status=401", "auth"),
        ("quota", "quota"),
        ("context", "context-too-long"),
        ("error status=404", "bad-model"),
        ("error status=529", "overloaded"),
    ],
)
@pytest.mark.parametrize("desk", ["ollama"], indirect=True)
async def test_faults_are_named(desk: Desk, fault: str, kind: str) -> None:
    """Those of the CLIs stand in the table."""
    outcome = await desk.ask(f"@@fake {fault}@@")
    assert outcome.kind == kind, outcome
    assert outcome.detail
    assert outcome.text == ""


@pytest.mark.parametrize("desk", ["gemini", "opencode"], indirect=True)
async def test_a_refused_key_is_named(desk: Desk) -> None:
    outcome = await desk.ask("@@fake error status=401@@")
    assert outcome.kind == "auth", outcome
    assert outcome.detail == "invalid x-api-key (scripted)."
    assert outcome.fix


@every_cli
async def test_a_session_that_is_gone(desk: Desk) -> None:
    gone = "ses_0000000000000000000000000a" if desk.name == "opencode" else str(uuid.uuid4())
    outcome = await desk.ask("Go on. @@fake plain@@", resume=gone, context="")
    assert outcome.kind == "session-lost", outcome


@pytest.mark.parametrize("desk", ["claude", "codex", "gemini", "ollama"], indirect=True)
async def test_an_unreachable_service_is_named(desk: Desk) -> None:
    await desk.models.stop()
    outcome = await desk.ask("Hello")
    assert outcome.kind == "overloaded", outcome


@quick_clis
async def test_one_session_many_turns_in_two_permissions(desk: Desk) -> None:
    first = await desk.ask("@@fake plain@@", permission="edit")
    second = await desk.ask(
        "@@fake write path=made.txt@@", permission="plan", resume=first.session, context=""
    )
    assert second.kind == "answered"
    assert not (desk.project / "made.txt").exists(), "a resumed session keeps the new permission"


@pytest.mark.parametrize("desk", ["opencode"], indirect=True)
async def test_endless_silent_retries_are_ended_and_named(desk: Desk) -> None:
    """C108: OpenCode goes on trying without end and without a word on its output."""
    outcome = await desk.ask("@@fake error status=429@@", limits=Limits(120, 240, trouble_s=4))
    assert outcome.kind == "rate", outcome
