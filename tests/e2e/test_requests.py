"""What agents ask people for, through the whole product, on both platforms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import test_slack as slack_product
from tests.e2e.product import Product
from tests.peers.slack import BOB, GUEST, LoopbackSlack

pytestmark = pytest.mark.peers

ASKING = {"engines": {"default": "rehearsal"}}


def project(tmp_path: Path, permission: str = "ask") -> dict:
    folder = tmp_path / "project"
    folder.mkdir(exist_ok=True)
    return {"p": {"path": str(folder), "channels": ["*"], "permission": permission}}


@pytest.fixture
async def on_slack(slack: LoopbackSlack, tmp_path: Path):
    settings = slack_product.settings(slack, projects=project(tmp_path))
    settings["access"] = {"allow": ["*", f"slack:{GUEST}"]}
    async with Product(tmp_path, settings, slack.env()) as product:
        await product.start("slack")
        yield product


async def test_slack_allowed_once_by_a_button(slack, on_slack, tmp_path):
    root = await slack.mention('please @@rehearse ask="touch made.txt" text="done"@@')
    asks = await slack.wait_for_answer(root, containing="#1")
    assert "touch made.txt" in asks.text
    assert not (tmp_path / "project/made.txt").exists()
    await slack.click(asks, "Allow once", user=BOB)
    await slack.wait_for_answer(root, containing="Ran touch made.txt: exit status 0")
    assert (tmp_path / "project/made.txt").exists()
    asks = await slack.wait_for_answer(root, containing="Allowed once")
    assert not asks.buttons


async def test_slack_a_parked_request_survives_a_kill_and_its_decision_is_used(
    slack, on_slack, tmp_path
):
    root = await slack.mention('please @@rehearse ask="touch made.txt" text="done"@@')
    asks = await slack.wait_for_answer(root, containing="#1")
    await on_slack.kill()
    await on_slack.start("slack")
    await slack.say("and what of this?", thread=root)  # waits behind it
    await slack.say("!status", thread=root)
    status = await slack.wait_for_answer(root, containing="Waiting for a decision")
    assert "parked" in status.text
    assert not any("interrupted" in seen.text for seen in await slack.answers(root))
    await slack.click(asks, "Allow once", user=BOB)
    await slack.wait_for_answer(root, containing="Ran touch made.txt: exit status 0")
    await slack.wait_for_answer(root, containing="and what of this?")
    assert [s.text for s in await slack.answers(root) if "#2" in s.text] == []
    assert (tmp_path / "project/made.txt").exists()
