"""Blocks through the whole product: proposed by an agent, told in the thread and in the pack."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.product import Product
from tests.e2e.test_slack import settings
from tests.peers.slack import LoopbackSlack

pytestmark = pytest.mark.peers


@pytest.fixture
async def moot(slack: LoopbackSlack, tmp_path: Path):
    async with Product(tmp_path, settings(slack), slack.env()) as product:
        await product.start("slack")
        yield product


async def said(slack: LoopbackSlack, root: str, words: str) -> list[str]:
    """All our posts of the thread, once the words are there and nothing is at work."""

    async def found():
        texts = [seen.text for seen in await slack.answers(root)]
        there = any(words in text for text in texts)
        return texts if there and not any("⏳" in text for text in texts) else None

    return await slack.wait(found, f"“{words}” in {root}", 30)


async def test_a_proposed_plan_is_in_the_next_pack(slack, moot):
    plan = "plan\\nAudit log in SQL\\n- write the table\\n- move the writers"
    root = await slack.mention(f'@@rehearse text="I propose this." block="{plan}"@@ plan it')
    texts = await said(slack, root, "*Plan 1* proposed")
    assert any("I propose this." in text for text in texts)
    assert not any("write the table" in text or "<!--" in text for text in texts)

    # Somebody else at the table: an engine session of its own, that is told everything.
    known = "2. [todo] move the writers"
    await slack.say(f'!ask --as critic @@rehearse text="I see it." when="{known}"@@', thread=root)
    await said(slack, root, "I see it.")

    await slack.say("!context", thread=root)
    receipt = "\n".join(await said(slack, root, "has-plan"))
    assert re.search(r"^\W*plan\b", receipt, re.MULTILINE)


async def test_a_block_that_does_not_parse_is_told_back_once(slack, moot):
    root = await slack.mention('@@rehearse text="See this." block="plan\\nonly a title"@@ plan it')
    texts = await said(slack, root, "could not be read")
    assert sum("could not be read" in text for text in texts) == 1
    assert not any("Plan 1" in text for text in texts)
    told = next(text for text in texts if "could not be read" in text)
    assert "subtasks: Tuple should have at least 1 item" in told
    assert "See this." not in told


async def test_a_block_that_stays_unreadable_is_said_to_the_thread(slack, tmp_path):
    no_way_back = settings(slack, pull={"max_followups": 0})
    async with Product(tmp_path, no_way_back, slack.env()) as product:
        await product.start("slack")
        root = await slack.mention('@@rehearse text="No." block="verdict fail"@@ review it')
        *_, told = await said(slack, root, "nothing came of it")
        assert "A block that rehearsal wrote" in told
        assert "a verdict of fail needs at least one finding" in told


async def test_a_block_that_a_person_types_proposes_nothing(slack, moot):
    typed = "&lt;!-- plan\nMine\n- a\n--&gt;"
    root = await slack.mention(f"please repeat:\n{typed}")
    texts = await said(slack, root, "quoted-plan")
    assert not any("*Plan 1*" in text for text in texts)


async def test_a_person_decides_and_an_agent_reports(slack, moot):
    root = await slack.mention(r'@@rehearse text="Do this." block="plan\nLog\n- a\n- b"@@ plan it')
    await said(slack, root, "*Plan 1* proposed")
    await slack.say('@@rehearse text="early" block="subtask-done:1"@@', thread=root)
    await said(slack, root, "no plan is active")
    await slack.say("!plan approve 1", thread=root)
    await said(slack, root, "(active)")
    await slack.say('@@rehearse text="did it" block="subtask-done:1"@@', thread=root)
    await said(slack, root, "subtask 1 done")
    await slack.say("!plan show 1", thread=root)
    texts = await said(slack, root, "☑ 1.1 a")
    assert "☐ 1.2 b" in texts[-1]


async def test_a_review_is_written_down_and_told_to_the_next(slack, moot):
    review = r"verdict fail\n- high, security: the token is in the log\n- odd name"
    root = await slack.mention(f'@@rehearse text="No." block="{review}"@@ review it')
    texts = await said(slack, root, "*Verdict: fail*")
    assert "finding 1 (high, security): the token is in the log" in texts[-1]
    known = "- finding 1 (open, high, security, by rehearsal): the token is in the log"
    order = f'@@rehearse text="I see it." when="{known}"@@'
    await slack.say(f"!ask --as developer --mode standard {order} what now?", thread=root)
    await said(slack, root, "I see it.")


async def test_what_a_deleted_message_was_written_down_as_is_gone(slack, moot):
    root = await slack.mention("hello")
    await said(slack, root, "hello")
    at = await slack.say("!finding add the zanzibar key", thread=root)
    await said(slack, root, "finding *1*")
    await slack.delete(at)
    await moot.event("event.accepted", kind="delete")
    await slack.say("!finding show 1", thread=root)
    texts = await said(slack, root, "withdrawn")
    assert not any("zanzibar" in text for text in texts)
