"""The whole product where the platforms are at their worst: nothing lost, nothing twice."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from tests.e2e import test_discord as on_discord
from tests.e2e import test_slack as on_slack
from tests.e2e.product import Product
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import ALICE, BOT, DEV, GENERAL, Fault, LoopbackSlack

pytestmark = pytest.mark.peers
LINES = 6_300  # some 60,000 characters


@pytest.fixture
async def slack_moot(slack: LoopbackSlack, tmp_path: Path):
    async with Product(tmp_path, on_slack.settings(slack), slack.env()) as product:
        await product.start("slack")
        yield product


@pytest.fixture
async def discord_moot(world: LoopbackDiscord, tmp_path: Path):
    async with Product(tmp_path, on_discord.settings(world), on_discord.env(world)) as product:
        await product.start("discord")
        yield product


def in_order(texts: list[str], last: int) -> bool:
    """Whether all numbered lines are there, once each, in their order."""
    numbers = re.findall(r"^line (\d+)$", "\n".join(texts), re.MULTILINE)
    return numbers == [str(number) for number in range(1, last + 1)]


def set_back(moot: Product, seconds: float) -> None:
    """As if Moot had not listened for so long."""
    with sqlite3.connect(moot.folder / "data" / "moot.sqlite") as database:
        database.execute("UPDATE heard SET until = until - ?", (seconds,))
    database.close()


# --- storms ----------------------------------------------------------------------------------


async def test_c068_a_storm_on_slack_loses_nothing_and_shows_nothing_twice(slack, slack_moot):
    """Both events of each mention, swapped and doubled; limits in one channel; lost replies; a
    link that is cut in the middle; an answer of 60,000 characters."""
    slack.events.duplicate = True
    slack.events.order = "mention-first"
    limited = {"match": lambda args: args.get("channel") == GENERAL}
    body = {"ok": False, "error": "ratelimited"}
    slack.api.faults += [
        Fault("chat.postMessage", 1, 429, body, {"Retry-After": "3"}, **limited),
        Fault("chat.postMessage", 1, 200, body, {"Retry-After": "1"}, **limited),
        Fault("chat.postMessage", 3, takes_effect=True, cut=True),
        Fault("chat.update", 2, 429, body, {"Retry-After": "2"}),
    ]
    long = await slack.mention(f"long @@rehearse lines={LINES}@@")
    roots = [await slack.mention(f"question-{n}") for n in range(3)]
    others = [await slack.mention(f"elsewhere-{n}", channel=DEV) for n in range(3)]
    await slack_moot.event("post.busy")
    slack.cut_sockets()
    roots.append(await slack.mention("question-3"))
    for channel, asked in ((GENERAL, roots), (DEV, others)):
        for number, root in enumerate(asked):
            answer = await answered(slack, root, channel)
            word = "question" if channel == GENERAL else "elsewhere"
            assert f"{word}-{number}" in answer

    async def whole():
        texts = [seen.text for seen in await slack.answers(long)]
        return in_order(texts, LINES) or None

    await slack.wait(whole, "the whole long answer", 90)
    assert len(slack_moot.logged("turn.queued")) == 8


async def answered(slack: LoopbackSlack, root: str, channel: str) -> str:
    """The one post of ours in a thread, once there is no status message any more."""

    async def found():
        texts = [seen.text for seen in await slack.answers(root, channel)]
        return texts if texts and not any("⏳" in text for text in texts) else None

    [answer] = await slack.wait(found, f"the answer in {root}", 90)
    return answer


async def test_a_storm_on_discord_loses_nothing_and_shows_nothing_twice(world, discord_moot):
    """Doubled events, limits, lost replies, a session that is not taken back, 60,000 characters."""
    world.gateway.duplicate = 6
    world.faults.rate_limit(0.7, times=2)
    world.faults.rate_limit(0.4, "PATCH", "/channels/*/messages/*", times=2)
    world.faults.lose_reply(times=3)
    world.faults.server_error(path="/channels/*/messages", effect=True)
    long = world.alice.ask(world.channel, f"long @@rehearse lines={LINES}@@")
    roots = [world.alice.ask(world.channel, f"question-{n}") for n in range(3)]
    await discord_moot.event("turn.queued", turn=4)
    world.gateway.forget_sessions()
    await world.gateway.disconnect()
    roots.append(world.alice.ask(world.channel, "question-3"))
    for number, root in enumerate(roots):
        await world.until(lambda root=root: world.has_thread(root), 60, "the thread")
        [answer] = await on_discord.standing(world, root, 1)
        assert f"question-{number}" in answer
    await world.until(lambda: in_order(world.posts(long), LINES), 90, "the whole long answer")
    assert len(discord_moot.logged("turn.queued")) == 5


# --- closed places ---------------------------------------------------------------------------


async def test_c173_an_archived_channel_keeps_the_answer_until_it_opens(slack, slack_moot):
    root = await slack.mention("first @@rehearse sleep=1@@", channel=DEV)
    await slack_moot.event("post.marked", kind="status")
    slack.archive(DEV)
    refused = await slack_moot.event("post.refused", kind="answer")
    assert refused["code"] == "is_archived"
    other = await slack.mention("second")  # other channels go on
    await slack.wait_for_answer(other, containing="second")
    direct = await slack.dm_channel()

    async def note():
        return next((m for m in await slack.seen(direct) if "Send it here" in m.buttons), None)

    told = await slack.wait(note, "a word to whoever asked", 30)
    assert "first" in told.text
    assert "archived" in told.text
    await slack.click(told, "Send it here")

    async def brought():
        posts = [m for m in await slack.seen(direct) if m.user == BOT and m.ts != told.ts]
        return next((m for m in posts if "You asked" in m.text or "rehearsal" in m.text), None)

    assert "first" in (await slack.wait(brought, "the answer, directly", 30)).text
    tried = [call for call in slack.calls("chat.postMessage") if call.args["channel"] == DEV]
    assert len(tried) == 2  # the status, and the answer once
    slack.unarchive(DEV)

    async def settled():
        texts = [m.text for m in await slack.answers(root, DEV)]
        return texts if texts and not any("⏳" in text for text in texts) else None

    [answer] = await slack.wait(settled, "the answer in its thread", 30)
    assert "first" in answer


async def test_c039_a_run_longer_than_an_interaction_ends_in_a_locked_thread(world, discord_moot):
    """Asked by a command whose token dies after 15 minutes; the thread is archived, and locked."""
    asked = world.alice.slash(world.channel, "ask", question="slow @@rehearse sleep=2@@")
    await asked.answer()
    thread = await on_discord.opened_thread(world)
    await world.message(thread, "is working")
    world.backend.clock.advance(70 * 60.0)
    world.archive(thread, locked=True)
    note = await world.message(world.alice.dm, "nothing can be posted there")
    assert "slow" in note.text
    assert "locked" in note.text
    world.alice.click(note, label="Send it here")
    await world.message(world.alice.dm, lambda m: "rehearsal" in m.text and m.id != note.id)
    await discord_moot.event("turn.ended", state="done")
    locked = {"archived": False, "locked": False}
    world.backend.edit_channel(int(thread), {}, thread_metadata=locked)
    [answer] = await on_discord.standing(world, thread, 1)  # and no status that works for ever
    assert "slow" in answer


async def test_c050_a_question_deleted_while_it_is_answered_loses_no_piece(slack, slack_moot):
    """Slack refuses a reply to a message that is gone: the answer goes on in the channel."""
    root = await slack.mention("gone soon @@rehearse sleep=1 lines=700@@")
    await slack_moot.event("run.spawned")
    await slack.delete(root)
    await slack_moot.event("turn.ended")

    async def whole():
        return in_order([m.text for m in await slack.seen() if m.user == BOT], 700) or None

    await slack.wait(whole, "all pieces", 60)


# --- gaps ------------------------------------------------------------------------------------


async def test_what_was_asked_while_moot_was_away_is_answered_on_slack(slack, slack_moot):
    """Slack's own retries are over: a thread, a channel without a thread, a direct message."""
    before = await slack.mention("before?")
    await on_slack.standing(slack, before, 1)
    await slack_moot.stop()
    set_back(slack_moot, 1_800.0)
    slack.events.losing = True
    await slack.say("and a follow-up?", thread=before)
    during = await slack.mention("during?", channel=DEV)
    await slack.edit(during, f"<@{BOT}> during, as edited?", channel=DEV, user=ALICE)
    withdrawn = await slack.mention("never mind", channel=DEV)
    await slack.delete(withdrawn, channel=DEV)
    await slack.dm("directly?")
    slack.events.losing = False
    await slack_moot.start("slack")
    assert "and a follow-up?" in (await on_slack.standing(slack, before, 2))[1]
    assert "during, as edited?" in await answered(slack, during, DEV)
    direct = await slack.dm_channel()

    async def found():
        texts = [m.text for m in await slack.seen(direct) if m.user == BOT]
        return texts if texts and not any("⏳" in text for text in texts) else None

    [answer] = await slack.wait(found, "an answer in the DM", 90)
    assert "directly?" in answer
    assert len(slack_moot.logged("turn.queued")) == 3
