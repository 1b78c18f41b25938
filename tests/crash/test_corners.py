"""The hard corners of a crash, each on purpose."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.crash.lane import Asked, Lane
from tests.crash.questions import People
from tests.crash.sides import DiscordSide, SlackSide, unchanged_for
from tests.crash.stages import at, post
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import LoopbackSlack

pytestmark = [pytest.mark.crash, pytest.mark.peers]
on_one = pytest.mark.parametrize("people", ["slack"], indirect=True)  # no platform differs there


@pytest.fixture(params=["slack", "discord"])
async def people(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[People]:
    """People in front of a Moot that runs."""
    async with LoopbackSlack() if request.param == "slack" else LoopbackDiscord() as peer:
        side = SlackSide(peer) if isinstance(peer, LoopbackSlack) else DiscordSide(peer)
        lane = Lane(side, tmp_path / "moot")
        async with lane.product:
            await lane.start()
            yield People(lane, random.Random(0))


def hours_pass(people: People, seconds: float) -> None:
    """The platform knows no nonce any more, and the attempt was that long ago."""
    side = people.lane.side
    if isinstance(side, SlackSide):
        side.slack.api.keeps_metadata = False
        side.slack.api._metadata.clear()
    elif isinstance(side, DiscordSide):
        side.discord.rest.forget_nonces()
    people.lane.rows(f"UPDATE outbox SET tried_at = tried_at - {seconds} WHERE tried_at > 0")


async def test_an_answer_posted_before_a_long_outage_is_known_by_its_text(people):
    lane = people.lane
    lane.kill_on_wire("post", "You asked")
    one = await people.plain()
    behind = await people.plain(1.0)
    await lane.until_accepted(one, behind)
    await lane.died()
    hours_pass(people, 20)
    await lane.start()
    await lane.settled(one, behind)
    await lane.check()


async def test_the_same_words_asked_twice_are_two_threads_after_an_outage(people):
    lane, side = people.lane, people.lane.side
    await side.command("ask", "the same words?")
    await lane.product.event("turn.ended")
    first, *_ = await side.roots("the same words")
    lane.arm([post("sending", "header")])
    behind = await people.plain(1.0)
    await lane.until_accepted(behind)
    await side.command("ask", "the same words?")
    await lane.died()
    hours_pass(people, 600)
    await lane.start()
    await lane.settled(behind)
    await lane.product.event("turn.ended", turn=3)
    roots = await side.roots("the same words")
    assert len(roots) == 2
    for root in roots:
        texts = [shown.text for shown in await side.shown(root)]
        assert sum("You asked" in text for text in texts) == 1, texts
    assert roots[0] == first


@on_one
async def test_a_run_that_may_write_is_not_begun_again_until_somebody_says_so(people):
    lane = people.lane
    lane.arm([at("run.spawned")])
    one = await people.may_write(1.5)
    await lane.died()
    await lane.start()
    await lane.settled(one)
    [told] = await lane.side.shown(one.root)
    assert "it may have changed files" in told.text
    assert any(button.startswith("retry:") for button in told.buttons)
    written = lane.folder / "project" / f"{one.mark}.txt"
    written.unlink(missing_ok=True)  # what the run that was cut off may have done
    lane.side.replay(fully=True)
    await unchanged_for(lane.side, 0.6)
    assert not written.exists()
    await lane.side.press(one.root, "Retry")
    await lane.product.event("turn.ended", state="done")
    assert written.exists()


@on_one
async def test_a_run_cut_off_twice_is_told_and_can_be_tried_again(people):
    lane = people.lane
    lane.arm([at("run.spawned")])
    one = await people.plain(0.5)
    await lane.died()
    await lane.start_to_die([at("run.spawned")])
    await lane.start()
    await lane.settled(one)
    [told] = await lane.side.shown(one.root)
    assert "it was cut off twice" in told.text
    await lane.check()
    await lane.side.press(one.root, "Retry")
    await lane.product.event("turn.ended", state="done")


@on_one
async def test_a_recovery_cut_off_again_and_again_counts_as_one_cut(people):
    lane = people.lane
    lane.arm([at("run.spawned")])
    one = await people.plain(0.5)
    await lane.died()
    for line in ("leftover.ending", "leftover.ended", "run.cut"):
        await lane.start_to_die([at(line)])
    await lane.start()
    await lane.settled(one)
    [answer] = await lane.side.shown(one.root)
    assert "You asked" in answer.text
    await lane.check()


@on_one
async def test_a_roundtable_that_asks_first_waits_through_a_crash(people):
    lane = people.lane
    one = await people.over_budget([at("turn.held")])
    await lane.died()
    await lane.start()
    await lane.until_shown(one.root, "may send more than its budget")
    await unchanged_for(lane.side, 0.6)
    asks = [p for p in await lane.side.shown(one.root) if "may send more" in p.text]
    assert len(asks) == 1
    assert lane.rows("SELECT id FROM run") == []
    await lane.side.press(one.root, "Go on")
    await lane.settled(one)
    await lane.check()


@on_one
async def test_a_skipped_speakers_process_is_ended_after_a_crash(people):
    lane = people.lane
    lane.arm([at("event.accepted", kind="button")])
    one = await people.skipped()
    await lane.died()
    await lane.start()
    await lane.settled(one)
    [(state, pid)] = lane.rows("SELECT state, pid FROM run WHERE seat = 0")
    assert (state, pid) == ("skipped", None)
    await lane.check()


@pytest.mark.parametrize("trouble", [0, 1])
async def test_a_reply_comes_before_moot_knows_that_its_post_opened_the_thread(people, trouble):
    lane, side = people.lane, people.lane.side
    behind = await people.plain(1.0)
    await lane.until_accepted(behind)
    await lane.product.event("post.marked", kind="status")  # its thread is open
    lane.kill_on_wire("post" if side.name == "slack" else "thread", "asks:|^$")
    one = await people.command()
    await lane.died()
    assert one.root
    reply = Asked("reply", one.root, "", (r"You asked:[\s\S]*reply to that",))
    lane.asked.append(reply)
    # The look-up of the post in doubt fails once, so that it surely stays in doubt for a while.
    if side.name == "slack":
        side.slack.break_down("conversations.history", times=trouble)
        reply.event_id = await side.reply(one.root, "<@U0BOT> reply to that?")
        await lane.start()
    else:
        if trouble:
            side.discord.faults.server_error(times=trouble)
        await lane.start()
        reply.event_id = await side.reply(one.root, f"{side.discord.mention} reply to that?")
    await lane.until_accepted(one, reply)
    await lane.settled(one, reply, behind)
    # Two conversations in one thread then, which need not wait for each other: no order.
    texts = [shown.text for shown in await side.shown(one.root)]
    for words in (f"{one.mark} by command", "reply to that"):
        assert sum("You asked" in t and words in t for t in texts) == 1, texts
    later = await side.reply(one.root, f"later @@rehearse text='the {side.name} end'@@")
    await lane.product.event("event.accepted", event_id=later)
    await lane.until_shown(one.root, f"the {side.name} end")
    assert len(await side.roots(f"{one.mark} by")) == 1


async def test_a_direct_message_is_answered_after_a_crash(people):
    lane, side = people.lane, people.lane.side
    lane.arm([post("sent", "answer")])
    behind = await people.plain(1.5)
    await lane.until_accepted(behind)
    if isinstance(side, SlackSide):
        channel = await side.slack.dm_channel()
        await side.slack.dm("direct one?")
        await side.slack.dm("direct two?")
    else:
        channel = side.discord.alice.dm
        side.discord.alice.write("direct one?")
        side.discord.alice.write("direct two?")
    await lane.product.event("turn.queued", turn=3)
    await lane.died()
    await lane.start()
    await lane.settled(behind)
    await lane.product.event("turn.ended", turn=3)
    if isinstance(side, SlackSide):
        texts = [m.text for m in await side.slack.seen(channel) if m.user == "U0BOT"]
    else:
        texts = side.discord.posts(channel)
    asked = [t.split("You asked:")[1].split("\n")[2] for t in texts if "You asked:" in t]
    assert ["one" in asked[0], "two" in asked[1], len(asked)] == [True, True, 2]
