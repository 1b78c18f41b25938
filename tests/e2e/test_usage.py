"""What is used and may be used, and who waits, through a loopback Slack and Discord."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.e2e import test_discord
from tests.e2e.product import Product
from tests.e2e.test_slack import settings, standing
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import ALICE, BOB, LoopbackSlack

pytestmark = pytest.mark.peers

SECOND = {"use": "core.engines.rehearsal:ENGINE", "at_once": 1}


async def test_a_question_that_waits_says_how_many_come_before_it_and_is_served(
    slack: LoopbackSlack, tmp_path: Path
):
    both = {"access": {"allow": [f"slack:{ALICE}", f"slack:{BOB}"]}, "runs": {"at_once": 1}}
    async with Product(tmp_path, settings(slack, **both), slack.env()) as moot:
        await moot.start("slack")
        first = await slack.mention("long @@rehearse hang@@")
        await moot.event("run.spawned")
        second = await slack.mention("also long @@rehearse hang@@")
        await slack.wait_for_answer(second, containing="it is the next one")
        third = await slack.mention("short")
        await slack.wait_for_answer(third, containing="1 before it")
        other = await slack.mention("from somebody else", user=BOB)
        # Bob was never served: he comes before what Alice asked earlier.
        await slack.wait_for_answer(other, containing="it is the next one")
        await slack.wait_for_answer(third, containing="2 before it")
        await slack.say("!status", thread=third)
        status = await slack.wait_for_answer(third, containing="in order")
        assert "1. another thread" in status.text
        assert "3. here: short" in status.text
        assert "also long" not in status.text
        await slack.say("!stop", thread=first)
        [answer] = await standing(slack, other, 1)
        assert "from somebody else" in answer
        await moot.event("run.spawned", turn=2)
        await slack.say("!stop", thread=second)
        texts = await standing(slack, third, 2)
        assert "short" in texts[-1]


async def test_a_full_engine_holds_back_nobody_who_asks_another_one(
    slack: LoopbackSlack, tmp_path: Path
):
    engines = {"engines": {"default": "rehearsal", "second": SECOND}, "runs": {"at_once": 3}}
    async with Product(tmp_path, settings(slack, **engines), slack.env()) as moot:
        await moot.start("slack")
        first = await slack.mention("long @@rehearse hang@@ --engine second")
        await moot.event("run.spawned")
        waits = await slack.mention("waits --engine second")
        await slack.wait_for_answer(waits, containing="1 of 1 runs of second")
        root = await slack.mention("at once")
        await standing(slack, root, 1)
        await slack.say("!stop", thread=first)
        [answer] = await standing(slack, waits, 1)
        assert "waits" in answer


async def test_a_budget_stops_at_its_end_and_nothing_is_lost(slack: LoopbackSlack, tmp_path: Path):
    budget = {"of": "person", "per": "month", "tokens": 10}
    own = settings(slack, budgets=[budget])
    async with Product(tmp_path, own, slack.env()) as moot:
        await moot.start("slack")
        root = await slack.mention("the first")
        told = await slack.wait_for_answer(root, containing="is used up")
        assert "10 tokens" in told.text
        await standing(slack, root, 2)
        refused = await slack.mention("the second")
        notice = await slack.wait_for_answer(refused, containing="Not asked")
        assert "begins anew" in notice.text
        await slack.say("!rt and a table?", thread=root)
        await slack.wait_for_answer(root, containing="Not asked")
        await slack.say("!usage budgets", thread=root)
        await slack.wait_for_answer(root, containing="monthly budget of alice")
        note = await slack.slash("/moot", "usage today")
        assert "rehearsal" in note.text
        assert "not told" in note.text
        note = await slack.slash("/ask", "once more")
        assert "budget is used up" in note.text
        beside = json.loads(await moot.command("usage", "budgets", "--json"))
        assert beside["budgets"][0]["percent"] > 100
        [engine] = json.loads(await moot.command("usage", "today", "--json"))["parts"]
        assert (engine["name"], engine["runs"], engine["untold"]) == ("rehearsal", 1, 1)
        await moot.stop()
        moot.config.write_text(moot.config.read_text().replace("tokens = 10", "tokens = 900000"))
        await moot.start("slack")
        await slack.click(notice, "Retry")
        await slack.wait_for_answer(refused, containing="You asked")
        assert len(moot.logged("run.closed")) == 1


async def test_killed_runs_give_their_slots_back(slack: LoopbackSlack, tmp_path: Path):
    one = {"runs": {"at_once": 1}}
    async with Product(tmp_path, settings(slack, **one), slack.env()) as moot:
        await moot.start("slack")
        killed = await slack.mention("dies @@rehearse hang@@")
        pid = (await moot.event("run.spawned", turn=1))["pid"]
        os.kill(pid, signal.SIGKILL)
        await slack.wait_for_answer(killed, containing="⚠️")
        crashed = await slack.mention("crashes @@rehearse fail=crash@@")
        await slack.wait_for_answer(crashed, containing="⚠️")
        root = await slack.mention("and now?")
        await standing(slack, root, 1)
        [engine] = json.loads(await moot.command("usage", "--json"))["parts"]
        assert engine["runs"] == 3


async def test_what_was_used_is_a_table_on_discord(world: LoopbackDiscord, tmp_path: Path):
    own = test_discord.settings(world)
    async with Product(tmp_path, own, test_discord.env(world)) as moot:
        await moot.start("discord")
        root = world.alice.ask(world.channel, "one")
        await test_discord.standing(world, root, 1)
        world.alice.say(root, "!usage month by day")
        texts = await test_discord.standing(world, root, 2)
        assert "tokens in" in texts[-1]
        assert "```" in texts[-1]
        world.alice.say(root, "!usage by persn")
        texts = await test_discord.standing(world, root, 3)
        assert "is one of" in texts[-1]
