"""Skills and code through the loopback Slack: told, announced, on the receipt, brought by Pull."""

import asyncio
import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from tests.e2e.product import MOOT, Product
from tests.e2e.test_slack import settings, standing, whole_answer
from tests.integration.checkout import checkout, git, put
from tests.peers.slack import GENERAL, LoopbackSlack

pytestmark = pytest.mark.peers

SKILL = """\
---
name: money-in-code
description: How amounts are rounded
keywords: [amount, 금액]
---
## Rounding
Half even, two digits, at the very end.
"""


@pytest.fixture
async def moot(slack: LoopbackSlack, tmp_path: Path):
    project = checkout(tmp_path / "shop")
    put(project, ".moot/skills/money-in-code/SKILL.md", SKILL)
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "skill")
    projects = {"shop": {"path": str(project), "channels": [f"slack:{GENERAL}"]}}
    async with Product(
        tmp_path, settings(slack, projects=projects), slack.env(), by_meaning=True
    ) as product:
        await product.start("slack")
        yield product


async def test_a_question_about_code_is_told_where_and_the_receipt_says_so(slack, moot):
    root = await slack.mention(
        'how does `charge_card` round an amount? @@rehearse show="context"@@'
    )
    told = await whole_answer(slack, root)
    assert "src/pay.py:4-9 PaymentService" in told
    assert "def charge_card(self, amount):" in told
    assert "money-in-code" in told
    await slack.say("!context", thread=root)
    receipt = await slack.wait_for_answer(root, containing="platform-rules")
    assert "code" in receipt.text.split("platform-rules")[1]
    assert "skills" in receipt.text
    assert "built-in index" in receipt.text


async def test_chat_is_told_no_code(slack, moot):
    root = await slack.mention('what is for lunch? @@rehearse show="context"@@')
    told = await whole_answer(slack, root)
    assert "pay.py" not in told
    assert "money-in-code" not in told


@pytest.mark.parametrize(
    ("query", "brought"),
    [
        ("code: src/pay.py:12-14", "은행가 반올림"),
        ("code: charge a card", "def charge_card"),
        ("skill: money-in-code: rounding", "Half even, two digits"),
    ],
)
async def test_an_agent_that_pulls_gets_it(slack, moot, query, brought):
    asked = f'please look @@rehearse text="Let me look." pull="{query}"@@'
    root = await slack.mention(asked)
    _, status, answer = await standing(slack, root, 3)
    assert "found" in status
    # The rehearsal quotes what it was asked: in its second run that is what was brought.
    assert brought in answer.split(f"Pulled {query}", 1)[1]


RUNBOOK = """\
# Deploy

Push the tag.

## Rollback

Flip the load balancer to the previous colour.
"""


async def test_mode_full_is_told_the_section_of_a_document(slack, moot, tmp_path):
    put(tmp_path / "shop", "docs/deploy.md", RUNBOOK)
    git(tmp_path / "shop", "add", "-A")
    root = await slack.mention('--mode full how do we do a rollback? @@rehearse show="context"@@')
    told = await whole_answer(slack, root)
    assert "Documents that may matter" in told
    assert "docs/deploy.md:5-7 Deploy &gt; Rollback" in told
    assert "Flip the load balancer to the previous colour." in told


async def test_an_agent_that_pulls_code_in_other_words_gets_it(slack, moot, tmp_path):
    """Nothing of the question stands in the code: it is found by what it means."""
    query = "code: 카드로 돈을 받는 곳"
    await whole_answer(slack, await slack.mention("how does `charge_card` round an amount?"))
    [index] = (tmp_path / "data" / "index").glob("code-*.sqlite")

    def known() -> bool:
        with contextlib.closing(sqlite3.connect(index)) as db:
            pieces, made = db.execute(
                "SELECT count(*), sum(key IN (SELECT key FROM vector)) FROM chunk"
            ).fetchone()
        return bool(pieces) and pieces == made

    async with asyncio.timeout(60):
        while not known():
            await asyncio.sleep(0.1)
    root = await slack.mention(f'please look @@rehearse text="Let me look." pull="{query}"@@')
    _, status, answer = await standing(slack, root, 3)
    assert "found" in status
    assert "src/pay.py:" in answer.split(f"Pulled {query}", 1)[1]


async def test_doctor_tells_of_each_source_and_fails_for_none(slack, moot):
    doctor = await asyncio.create_subprocess_exec(
        str(MOOT), "doctor", "--json", "--config", str(moot.config),
        env=moot.env, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    said, _ = await doctor.communicate()
    checks = {check["name"]: check for check in json.loads(said)}
    for name in ("skills", "code search", "graph", "documents", "docs"):
        assert checks[name]["ok"], checks[name]
