"""The whole product, as a process of its own, through a loopback Slack and real slack-bolt."""

from pathlib import Path

import pytest

from tests.e2e.product import Product
from tests.peers.slack import ALICE, LoopbackSlack

pytestmark = pytest.mark.peers


def settings(slack: LoopbackSlack, **more):
    return {
        "slack": {"enabled": True, "api_url": slack.api_url},
        "access": {"allow": [f"slack:{ALICE}"]},
        "engines": {"default": "rehearsal"},
        "roundtable": {"participants": ["rehearsal"]},
        **more,
    }


@pytest.fixture
async def slack():
    async with LoopbackSlack() as loopback:
        yield loopback


@pytest.fixture
async def moot(slack: LoopbackSlack, tmp_path: Path):
    async with Product(tmp_path, settings(slack), slack.env()) as product:
        await product.start("slack")
        yield product


async def test_a_mention_becomes_a_threaded_answer(slack, moot):
    root = await slack.mention("why is the build red?")
    answer = await slack.wait_for_answer(root, containing="why is the build red?")
    assert answer.root == root
    await moot.event("turn.ended", state="done")
