"""The real Claude Code asks people, by the control requests of its stream, and goes on."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.model import EngineRequest, Limits, Verdict
from tests.contract.desk import Desk
from tests.contract.test_clis import TEXTS, sleepers

pytestmark = [
    pytest.mark.clis,
    pytest.mark.timeout(120),
    pytest.mark.parametrize("desk", ["claude"], indirect=True),
]

TOUCH = '@@fake tool cmd="touch made.txt"@@'
SHORT = Limits(idle_s=4, total_s=5)


def says(choice: str, *answers: str, by: str = "Ada", note: str = "") -> Callable[..., Verdict]:
    told = tuple((answer,) for answer in answers)
    return lambda request: Verdict(request.id, choice, told, by, note)  # type: ignore[arg-type]


def call(tool: str, **given: object) -> str:
    return f"@@fake call tool={tool} json='{json.dumps(given)}'@@"


async def made(desk: Desk) -> bool:
    return await asyncio.to_thread((desk.project / "made.txt").exists)


async def test_a_command_waits_for_a_yes(desk: Desk) -> None:
    desk.decide = says("once")
    outcome = await desk.ask(TOUCH, permission="ask", asks=True)
    assert outcome.kind == "answered", outcome
    (asked,) = desk.requests
    assert (asked.kind, asked.tool, asked.about) == ("permission", "Bash", "touch made.txt")
    assert asked.scope_label == "exactly this command: touch made.txt"
    assert await made(desk)


async def test_a_no_is_told_with_who_said_it_and_the_run_goes_on(desk: Desk) -> None:
    desk.decide = says("deny", note="not on a Friday")
    outcome = await desk.ask(TOUCH, permission="ask", asks=True)
    assert outcome.kind == "answered", outcome
    assert "This was denied by Ada: not on a Friday." in outcome.text
    assert not await made(desk)


async def test_leave_for_a_session_is_for_the_very_same_command(desk: Desk) -> None:
    desk.decide = says("session")
    await desk.ask('@@fake tool cmd="touch made.txt" n=2@@', permission="ask", asks=True)
    first, second = desk.requests  # Claude Code keeps no leave: Moot does, by the scope
    assert first.scope == second.scope != ""
    assert first.id != second.id
    await desk.ask('@@fake tool cmd="touch made.txt; ls"@@', permission="ask", asks=True)
    assert desk.requests[0].scope != first.scope


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ("made.txt", "edit:project"),
        ("new/deep.txt", "edit:project"),
        (".git/hooks/pre-commit", ""),
        (".claude/settings.json", ""),
        ("../made.txt", ""),
        ("out/made.txt", ""),  # a link that leads out of the project
    ],
)
async def test_leave_for_edits_ends_where_they_are_no_plain_edits(
    desk: Desk, path: str, scope: str
) -> None:
    await asyncio.to_thread((desk.project / "out").symlink_to, desk.folder)
    desk.decide = says("deny")
    await desk.ask(f"@@fake write path={path} text=made@@", permission="ask", asks=True)
    (asked,) = desk.requests
    assert (asked.tool, asked.scope) == ("Write", scope)
    assert "made" in asked.detail


async def test_what_changes_nothing_is_not_asked_for(desk: Desk) -> None:
    outcome = await desk.ask('@@fake tool cmd="ls"@@', permission="ask", asks=True)
    assert "a.txt" in outcome.text
    assert desk.requests == []


async def test_a_run_that_waits_for_people_has_time(desk: Desk) -> None:
    asked = asyncio.ensure_future(desk.ask(TOUCH, permission="ask", asks=True, limits=SHORT))
    async with asyncio.timeout(30):
        while not desk.requests:
            await asyncio.sleep(0.05)
    began = time.monotonic()
    while time.monotonic() - began < 5.5:  # longer than either limit
        assert not asked.done(), asked.result()
        await asyncio.sleep(0.2)
    assert len(desk.requests) == 1
    desk.cancel.set()
    async with asyncio.timeout(20):
        outcome = await asked
    assert outcome.kind == "cancelled"
    assert not await made(desk)


COLOURS = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [
        {"label": "Red", "description": "warm"},
        {"label": "Blue", "description": "cold"},
    ],
}
SIZES = {**COLOURS, "question": "Which sizes?", "multiSelect": True}
ASK = call("AskUserQuestion", questions=[COLOURS])


@pytest.mark.parametrize("permission", ["plan", "ask", "edit", "full"])
async def test_its_questions_reach_people_in_every_mode(desk: Desk, permission: str) -> None:
    desk.decide = says("answer", "Green, please")
    outcome = await desk.ask(ASK, permission=permission, asks=True)
    (asked,) = desk.requests
    assert asked.kind == "question"
    (question,) = asked.questions
    assert (question.text, question.header, question.several) == ("Which colour?", "Colour", False)
    assert question.options == (("Red", "warm"), ("Blue", "cold"))
    assert '"Which colour?"="Green, please"' in outcome.text


async def test_several_questions_and_several_picks(desk: Desk) -> None:
    def decide(request: EngineRequest) -> Verdict:
        return Verdict(request.id, "answer", (("Red",), ("Red", "Blue")), "Ada")

    desk.decide = decide
    outcome = await desk.ask(
        call("AskUserQuestion", questions=[COLOURS, SIZES]), permission="plan", asks=True
    )
    assert '"Which colour?"="Red"' in outcome.text
    assert '"Which sizes?"="Red, Blue"' in outcome.text


async def test_a_question_that_nobody_answers(desk: Desk) -> None:
    desk.decide = says("deny", by="Moot", note="nobody decided in time")
    outcome = await desk.ask(ASK, permission="plan", asks=True)
    assert "The question was not answered by Moot: nobody decided in time." in outcome.text


async def test_who_cannot_be_asked_is_not(desk: Desk) -> None:
    """C150: nothing waits that nobody sees, and nobody "denied" what nobody was asked."""
    offered = await desk.ask("@@fake tools@@", permission="full")
    assert not {"AskUserQuestion", "ExitPlanMode", "EnterPlanMode"} & set(offered.text.split(", "))
    outcome = await desk.ask('@@fake tool cmd="python3 -c 1"@@', permission="edit", asks=True)
    assert "nobody was asked" in outcome.text
    assert desk.requests == []
    assert [e.name for e in desk.events if e.kind == "warning"] == ["denied"]


async def test_plan_stays_plan_whatever_is_said(desk: Desk) -> None:
    desk.decide = says("once")
    offered = await desk.ask("@@fake tools@@", permission="plan", asks=True)
    assert "AskUserQuestion" in offered.text
    assert "ExitPlanMode" not in offered.text
    for wish in (TOUCH, "@@fake write path=made.txt@@"):
        await desk.ask(wish, permission="plan", asks=True)
        assert desk.requests == []
        assert not await made(desk)


PLANS = "@@fake calls tools=EnterPlanMode,ExitPlanMode@@"


@pytest.mark.parametrize(("permission", "asks"), [("plan", False), ("ask", True), ("edit", False)])
async def test_the_hosts_own_rules_do_not_lift_a_mode(
    desk: Desk, tmp_path: Path, permission: str, asks: bool
) -> None:
    """What was allowed in a terminal ("don't ask again") is not so allowed in a channel."""
    rules = {"permissions": {"allow": ["Bash(python3 *)", "Bash(ls *)"]}}
    (tmp_path / "settings.json").write_text(json.dumps(rules))
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    make = "python3 -c 'open(chr(109), chr(119))'"  # makes a file named "m"
    asked = {"permission": permission, "asks": asks, "env": env}
    desk.decide = says("deny")
    outcome = await desk.ask(f'@@fake tool cmd="{make}"@@', **asked)
    assert outcome.kind == "answered", outcome
    assert not (desk.project / "m").exists()
    assert [r.about for r in desk.requests] == ([make] if permission == "ask" else [])
    outcome = await desk.ask('@@fake tool cmd="ls -a"@@', **asked)
    assert "a.txt" in outcome.text
    assert desk.requests == []


async def test_a_plan_is_put_to_people(desk: Desk) -> None:
    desk.decide = says("answer", "Go ahead")
    outcome = await desk.ask(PLANS, permission="ask", asks=True)
    (asked,) = desk.requests
    assert (asked.kind, asked.tool) == ("question", "ExitPlanMode")
    assert [label for label, _ in asked.questions[0].options] == ["Go ahead", "Not yet"]
    assert "approved" in outcome.text
    desk.decide = says("answer", "Shorter, please")
    outcome = await desk.ask(PLANS, permission="ask", asks=True)
    assert "not approved by Ada. What was said: Shorter, please" in outcome.text


async def test_a_session_goes_on_in_a_dialogue(desk: Desk) -> None:
    first = await desk.ask("One. @@fake plain@@", permission="ask", asks=True)
    second = await desk.ask(
        "Two. @@fake history@@", permission="ask", asks=True, resume=first.session, context=""
    )
    assert json.loads(second.text)["user_turns"] == 2
    assert second.session == first.session
    lost = await desk.ask(
        "x", permission="ask", asks=True, resume="00000000-0000-4000-8000-000000000000"
    )
    assert lost.kind == "session-lost", lost


async def test_awkward_prompts_arrive_in_a_dialogue(desk: Desk) -> None:
    for name in ("command after a mark", "mention", "nul", "large"):
        said = f"{TEXTS[name]} @@fake echo@@"
        outcome = await desk.ask(said, permission="ask", asks=True)
        told = json.loads(outcome.text)
        assert told["chars"] == len(said.replace("\0", "").strip()), name
    assert "root:x:0:0" not in desk.bodies()


async def test_a_command_that_was_allowed_is_cancelled_with_all_it_started(desk: Desk) -> None:
    desk.decide = says("once")
    nap = "python3 -c 'import time; time.sleep(611.5)'"
    tree = f"{nap} & (setsid {nap} >/dev/null 2>&1 &) ; {nap}"
    task = asyncio.ensure_future(
        desk.ask(f'@@fake tool cmd="{tree}"@@', permission="ask", asks=True)
    )
    async with asyncio.timeout(60):
        while await sleepers(desk.run_id) < 3:
            assert not task.done(), task.result()
            await asyncio.sleep(0.05)
    desk.cancel.set()
    async with asyncio.timeout(20):
        outcome = await task
    assert outcome.kind == "cancelled"
    assert await sleepers(desk.run_id) == 0


async def test_the_small_model_stays_the_one_that_was_asked_for(desk: Desk) -> None:
    """Claude Code itself plans with Sonnet where exactly "haiku" is asked for."""
    await desk.ask("@@fake plain@@", permission="plan", model="haiku")
    (sent,) = [seen.body["model"] for seen in desk.models.seen]
    assert "haiku" in sent


async def test_a_session_tells_what_it_has_cost_so_far(desk: Desk) -> None:
    first = (await desk.ask("@@fake plain@@")).usage
    assert first.cost_usd == first.session_cost_usd > 0
    other = await desk.ask("@@fake plain@@")
    assert other.usage.session_cost_usd == pytest.approx(first.cost_usd, rel=0.1)
    third = (await desk.ask("@@fake plain@@", resume=other.session)).usage
    assert third.cost_usd == 0.0  # not known by itself
    assert third.session_cost_usd == pytest.approx(2 * first.cost_usd, rel=0.1)
