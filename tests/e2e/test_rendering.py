"""What a person sees of a rendered answer, in the whole product."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.product import Product
from tests.peers.slack import ALICE, LoopbackSlack

pytestmark = pytest.mark.peers


async def test_c014_a_table_comes_as_a_table_block(slack: LoopbackSlack, tmp_path: Path):
    """Its cells, bold or empty, in its place; the message's own text holds them too."""
    given = {
        "slack": {"enabled": True, "api_url": slack.api_url},
        "access": {"allow": [f"slack:{ALICE}"]},
        "engines": {"default": "rehearsal"},
    }
    rows = "|name|값|\\n|-|-|\\n|**first**|하나|\\n|second||"
    async with Product(tmp_path, given, slack.env()) as product:
        await product.start("slack")
        root = await slack.mention(f'table @@rehearse text="Here:\\n\\n{rows}\\n\\nall of it"@@')

        async def answered():
            meant = [m for m in await slack.answers(root) if "first | 하나" in m.text]
            return meant[0] if meant else None

        answer = await slack.wait(answered, "the answer as a table block", 60)
        assert answer.text.split("first | 하나")[1].split("all of it")[0] == "\nsecond |  \n"
        assert "second |" in answer.raw["text"]
        assert "**" not in answer.raw["text"]
