"""A roundtable set up in a form: opened, sent, and held by these rules, on both platforms."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.e2e import test_discord as discord_product
from tests.e2e import test_slack as slack_product
from tests.e2e.product import Product
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import ALICE, BOB, GUEST, LoopbackSlack

pytestmark = pytest.mark.peers

TABLES = {
    "engines": {"default": "rehearsal"},
    "roundtable": {
        "participants": ["architect", "critic"],
        "rounds": 1,
        "synthesis": "none",
        "presets": {"duel": {"participants": ["developer", "critic"], "mode": "blind"}},
    },
}


@pytest.fixture
async def on_slack(slack: LoopbackSlack, tmp_path: Path):
    settings = slack_product.settings(slack, **TABLES)
    settings["access"] = {"allow": ["*"]}
    async with Product(tmp_path, settings, slack.env()) as product:
        await product.start("slack")
        yield product


@pytest.fixture
async def on_discord(world: LoopbackDiscord, tmp_path: Path):
    settings = discord_product.settings(world, **TABLES)
    settings["access"] = {"allow": [f"discord:{world.alice.id}"]}
    async with Product(tmp_path, settings, discord_product.env(world)) as product:
        await product.start("discord")
        yield product


def turns(moot: Product) -> list[dict]:
    """What was queued, as it is stored."""
    with sqlite3.connect(f"file:{moot.folder / 'data/moot.sqlite'}?mode=ro", uri=True) as db:
        db.row_factory = sqlite3.Row
        rows = [dict(row) for row in db.execute("SELECT * FROM turn ORDER BY id")]
    db.close()
    for row in rows:
        row["rules"] = json.loads(row["rules"])
        row["names"] = [f"{persona}:{engine}" for engine, persona, _ in json.loads(row["seats"])]
    return rows


async def test_slack_from_the_command_to_the_end_of_the_table(slack, on_slack):
    assert await slack.slash("/roundtable") is None
    modal = await slack.modal()
    assert modal.filled == {
        "topic": "",
        "participants": ["architect:rehearsal", "critic:rehearsal"],
        "mode": "sequential",
        "rounds": "1",
        "budget": "",
    }
    assert "developer:rehearsal" in modal.offered["participants"]
    await slack.submit(
        modal,
        times=2,  # pressed twice
        topic="SQL & files?",
        participants=["critic:rehearsal", "developer:rehearsal"],
        rounds="2",
        budget="90k",
    )
    assert not modal.open
    header = await slack.wait(lambda: _header(slack, "SQL"), "the header")
    root = header.ts
    texts = await slack_product.standing(slack, root, 5)
    assert [text.split(" (")[0].strip("*") for text in texts[1:]] == ["critic", "developer"] * 2
    [turn] = turns(on_slack)
    assert turn["names"] == ["critic:rehearsal", "developer:rehearsal"]
    assert (turn["prompt"], turn["rounds"], turn["asker_trusted"]) == ("SQL & files?", 2, 1)
    assert turn["rules"]["order"] == "sequential"
    assert turn["rules"]["cap_chars"] == 90_000


async def _header(slack: LoopbackSlack, text: str):
    return next((m for m in await slack.seen() if text in m.text and not m.root), None)


async def test_slack_wrong_input_stays_in_the_form(slack, on_slack):
    await slack.slash("/roundtable", "--preset duel")
    modal = await slack.modal()
    assert modal.filled["participants"] == ["developer:rehearsal", "critic:rehearsal"]
    assert modal.filled["mode"] == "blind"
    await slack.submit(modal, topic="x", participants=["critic:rehearsal"], budget="lots")
    assert modal.open
    assert "2 to 8 participants" in modal.errors["participants"]
    assert "number of characters" in modal.errors["budget"]
    await slack.submit(modal, topic="x", budget="")
    assert not modal.open
    await on_slack.event("turn.queued")
    [turn] = turns(on_slack)
    assert turn["rules"]["order"] == "blind"


async def test_slack_a_guest_gets_no_form(slack, on_slack):
    note = await slack.slash("/roundtable", user=GUEST)
    assert "guest" in note.text
    assert slack.api.views.modals == []


async def test_slack_a_typed_command_without_topic_offers_the_form_in_its_thread(slack, on_slack):
    root = await slack.mention("!rt --preset duel --rounds 3", user=BOB)
    offer = await slack.wait_for_answer(root, containing="What is the roundtable about?")
    await slack.click(offer, "Fill in a form", user=BOB)
    modal = await slack.modal()
    assert modal.filled["rounds"] == "3"
    await slack.submit(modal, topic="in the thread", rounds="1")
    await slack.wait_for_answer(root, containing="developer (rehearsal)")
    assert turns(on_slack)[0]["rules"]["order"] == "blind"


async def test_slack_what_no_button_can_carry_is_in_the_form_all_the_same(slack, on_slack):
    seats = "critic:rehearsal,developer:rehearsal,architect:rehearsal"
    root = await slack.mention(f"!rt --with {seats} --rounds 3 --budget 90000", user=BOB)
    offer = await slack.wait_for_answer(root, containing="What is the roundtable about?")
    await slack.click(offer, "Fill in a form", user=BOB)
    modal = await slack.modal()
    assert modal.filled["participants"] == seats.split(",")
    assert (modal.filled["rounds"], modal.filled["budget"]) == ("3", "90000")


async def test_slack_text_starts_at_once_and_the_door_is_asked_when_a_form_comes_back(
    slack, tmp_path
):
    settings = slack_product.settings(slack, **TABLES)
    settings["access"] = {"allow": [f"slack:{ALICE}", f"slack:{BOB}"]}
    async with Product(tmp_path, settings, slack.env()) as product:
        await product.start("slack")
        await slack.slash("/roundtable", "at once --mode parallel --rounds 1")
        await product.event("turn.queued", turn=1)
        await slack.slash("/roundtable", user=BOB)
        modal = await slack.modal()
        await product.stop()
        text = product.config.read_text()
        product.config.write_text(text.replace(f', "slack:{BOB}"', ""))
        await product.start("slack")
        await slack.submit(modal, topic="am I still in?")
        assert "[access] allow" in modal.errors["topic"]
        assert modal.open
        assert len(turns(product)) == 1
    assert turns(product)[0]["rules"]["order"] == "parallel"


async def test_slack_a_form_that_was_taken_survives_a_kill_and_counts_once(slack, on_slack):
    await slack.slash("/roundtable")
    modal = await slack.modal()
    topic = "through a crash? @@rehearse sleep=2@@"
    await slack.submit(modal, topic=topic)
    await on_slack.event("run.spawned")
    await on_slack.kill()
    await on_slack.start("slack")
    modal.open = True  # as for somebody whose acknowledgement was lost
    await slack.submit(modal, topic=topic)
    assert not modal.open
    await on_slack.event("turn.ended", state="done", timeout_s=60)
    assert len(turns(on_slack)) == 1
    header = await slack.wait(lambda: _header(slack, "through a crash"), "the header")
    texts = await slack_product.standing(slack, header.ts, 3)
    assert [text.split(" (")[0].strip("*") for text in texts[1:]] == ["architect", "critic"]


async def test_slack_a_form_in_a_direct_message(slack, on_slack):
    channel = await slack.dm_channel()
    await slack.slash("/roundtable", channel=channel)
    await slack.submit(await slack.modal(), topic="between us")

    async def answered():
        texts = [m.text for m in await slack.seen(channel) if m.user == "U0BOT"]
        return texts if any("critic (rehearsal)" in text for text in texts) else None

    texts = await slack.wait(answered, "the roundtable in the direct message", 40)
    assert "between us" in texts[0]


async def test_discord_from_the_command_to_the_end_of_the_table(world, on_discord):
    sent = world.alice.slash(world.channel, "roundtable", preset="duel")
    await sent.modal()
    assert sent.filled["participants"] == ["developer:rehearsal", "critic:rehearsal"]
    answer = world.alice.submit(
        sent, times=2, topic="탭 or spaces?", rounds=["2"], budget="120,000", mode=["parallel"]
    )
    await answer.answer()
    await world.until(world.threads, 20, "the thread")
    [root] = world.threads()
    await on_discord.event("turn.ended", state="done")
    await world.until(lambda: len(world.posts(root)) == 4, 20, "four answers")
    [turn] = turns(on_discord)
    assert (turn["prompt"], turn["rounds"]) == ("탭 or spaces?", 2)
    assert turn["rules"]["order"] == "parallel"
    assert turn["rules"]["cap_chars"] == 120_000


async def test_discord_wrong_input_is_given_back_ready_to_be_typed(world, on_discord):
    sent = world.alice.slash(world.channel, "roundtable")
    await sent.modal()
    shown = await world.alice.submit(sent, topic="`a`\nb?", budget="lots of it").answer()
    assert shown.ephemeral
    assert "number of characters" in shown.text
    assert "!rt `a`\nb? --with architect:rehearsal,critic:rehearsal" in shown.text
    assert '--mode sequential --rounds 1 --budget "lots of it"' in shown.text
    world.alice.ask(
        world.channel, "!rt b? --with architect:rehearsal,critic:rehearsal --rounds 1 --budget 9k"
    )
    await on_discord.event("turn.queued", turn=1)


async def test_discord_a_stranger_gets_no_form(world, on_discord):
    sent = world.bob.slash(world.channel, "roundtable")
    assert "[access] allow" in (await sent.answer()).text
    assert sent.record.modal is None
