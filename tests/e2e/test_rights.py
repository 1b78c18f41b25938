"""Roles, limits and the audit log by the product: what people see in chat and on the host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.product import Product
from tests.e2e.test_slack import settings
from tests.peers.slack import ALICE, BOB, DEV, GUEST, LoopbackSlack

pytestmark = pytest.mark.peers
DEVS = "S0DEVS"


async def test_roles_limits_and_what_is_written_of_them(slack: LoopbackSlack, tmp_path: Path):
    slack.api.groups[DEVS] = [BOB]
    house = settings(slack)
    house["access"] = {
        "viewers": [f"slack:group:{DEVS}"],
        "approvers": [],
        "admins": [f"slack:{ALICE}"],
    }
    house["channels"] = {f"slack:{DEV}": {"access": {"allow": [f"slack:group:{DEVS}"]}}}
    often = {"MOOT__ACCESS__PER_HOUR": "2"}
    async with Product(tmp_path, house, {**slack.env(), **often}) as moot:
        await moot.start("slack")

        async def told(words: str, user: str, **where: str) -> str:
            note = await slack.slash("/moot", words, user=user, **where)
            assert note is not None
            return note.text

        # Bob is in the group: he may look everywhere, and ask in one channel.
        assert "Nothing runs" in await told("status", BOB)
        assert "needs the role runner" in await told("ask what now?", BOB)
        assert "is viewer here" in await told("permission", BOB)
        assert "is runner here" in await told("permission", BOB, channel=DEV)
        assert "may not use Moot" in await told("status", GUEST)
        assert "needs the role admin" in await told("audit", BOB)
        for _ in range(2):
            assert "in the thread" in await told("ask what now?", BOB, channel=DEV)
        assert "2 times an hour" in await told("ask and then?", BOB, channel=DEV)
        # Everything of it is in the log: for the admin in chat, and on the host.
        lines = await told("audit", ALICE)
        assert "ask → turn 1" in lines
        assert "ask → turn 2" in lines
        assert "what now" not in lines
        written = json.loads(await moot.command("audit", "--json", "--person", f"slack:{BOB}"))
    found = [(d["verb"], d["outcome"], d["channel"]) for d in reversed(written)]
    assert found.count(("ask", "done", DEV)) == 2
    assert ("ask", "limited", DEV) in found
    assert {d["role"] for d in written} == {"viewer", "runner"}
