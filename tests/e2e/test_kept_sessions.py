"""A session survives its Moot, and is never written to by two at once."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.product import Product
from tests.e2e.test_slack import settings, standing
from tests.integration.test_session_writers import Other

pytestmark = pytest.mark.peers

FIRST = (
    'FIRST @@rehearse sleep=600@@ @@rehearse when="What is new" sleep=0 show=session text=Back.@@'
)


def rows(moot: Product, what: str) -> list[tuple]:
    path = f"file:{moot.folder}/data/moot.sqlite?mode=ro"
    with closing(sqlite3.connect(path, uri=True)) as database:
        return database.execute(what).fetchall()


async def kept_ids(moot: Product) -> list[str]:
    """The ids of sessions in the rows, once there are any."""
    async with asyncio.timeout(20):
        while not (found := rows(moot, "SELECT session FROM engine_session WHERE session != ''")):
            await asyncio.sleep(0.05)
    return [session for (session,) in found]


async def test_c114_kill_9_in_the_first_turn_goes_on_in_the_same_session(slack, tmp_path: Path):
    kept = tmp_path / "kept"
    kept.mkdir()
    env = {**slack.env(), "REHEARSAL_SESSIONS": str(kept)}
    async with Product(tmp_path, settings(slack), env) as moot:
        await moot.start("slack")
        root = await slack.mention(FIRST)
        [session] = await kept_ids(moot)
        await moot.kill()
        await moot.start("slack")
        [answer] = await standing(slack, root, 1)
        assert "Back." in answer
        assert "FIRST" in answer.split("Back.")[1]  # it stood in the session already
        assert [path.stem for path in kept.glob("*.json")] == [session]
        assert await kept_ids(moot) == [session]


async def test_a_session_that_another_moot_writes_to_is_waited_for_in_sight(slack, tmp_path: Path):
    async with Product(tmp_path, settings(slack), slack.env()) as moot:
        await moot.start("slack")
        root = await slack.mention("one @@rehearse text=One.@@")
        await standing(slack, root, 1)
        [session] = await kept_ids(moot)
        other = Other(moot.home / ".moot" / "locks", "rehearsal", session)
        assert await asyncio.to_thread(other.held)
        await slack.say("two @@rehearse text=Two.@@", thread=root)
        await slack.wait_for_answer(root, containing="another run that uses its session")
        await asyncio.to_thread(other.end)
        _, two = await standing(slack, root, 2)
        assert "Two." in two
        [(receipt,)] = rows(moot, "SELECT receipt FROM run ORDER BY opened_at DESC LIMIT 1")
        assert json.loads(receipt)["resumed"] is True
        assert await kept_ids(moot) == [session]
