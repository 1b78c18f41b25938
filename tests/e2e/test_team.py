"""A team's records from chat, through the whole product on both platforms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e import test_discord as discord_product
from tests.e2e import test_slack as slack_product
from tests.e2e.product import Product
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import DEV, GENERAL, LoopbackSlack

pytestmark = pytest.mark.peers


@pytest.fixture
async def on_slack(slack: LoopbackSlack, tmp_path: Path):
    folder = tmp_path / "code"
    folder.mkdir()
    project = {"code": {"path": str(folder), "channels": [f"slack:{GENERAL}", f"slack:{DEV}"]}}
    settings = slack_product.settings(slack, projects=project)
    async with Product(tmp_path, settings, slack.env()) as product:
        await product.start("slack")
        yield product


@pytest.fixture
async def on_discord(world: LoopbackDiscord, tmp_path: Path):
    settings = discord_product.settings(world)
    async with Product(tmp_path, settings, discord_product.env(world)) as product:
        await product.start("discord")
        yield product


async def test_slack_a_plan_is_made_approved_and_known_to_the_agents(slack, on_slack):
    root = await slack.mention("!plan new Move to &lt;SQL&gt;\n- write the schema\n- migrate")
    await slack.wait_for_answer(root, containing="is proposed, with 2 subtasks")
    await slack.say("!plan approve 1", thread=root)
    await slack.wait_for_answer(root, containing="(active)")
    await slack.say("!plan done 1.1", thread=root)
    await slack.wait_for_answer(root, containing="☑ 1.1 write the schema")
    note = await slack.slash("/moot", "plans")
    assert "Move to &lt;SQL&gt; (active, 1 of 2 done)" in note.text
    await slack.say('what is left? @@rehearse show="context"@@', thread=root)
    await on_slack.event("turn.ended", turn=1)
    assert "[done] write the schema" in (await slack_product.whole_answer(slack, root))


async def test_slack_a_finding_by_command_opens_a_thread(slack, on_slack):
    note = await slack.slash("/moot", "finding add [security/high] the token is logged")
    assert "finding *1* (high, security)" in note.text

    async def header():
        found = [m for m in await slack.seen() if "the token is logged" in m.text and not m.root]
        return found[0] if found else None

    opened = await slack.wait(header, "the thread of the finding")
    await slack.say("!finding close 1", thread=opened.ts)
    await slack.wait_for_answer(opened.ts, containing="now closed")
    assert "No open finding" in (await slack.slash("/moot", "findings")).text


async def test_slack_a_branch_opens_a_thread_and_its_outcome_comes_back(slack, on_slack):
    root = await slack.mention("SQL or files?")
    await slack_product.standing(slack, root, 1)
    reply = await slack.say("what about files", thread=root)
    await slack_product.standing(slack, root, 2)
    link = f"<https://loopback.slack.local/archives/{GENERAL}/p{reply.replace('.', '')}>"
    await slack.say(f"!branch {link} files instead", thread=root)
    told = await slack.wait_for_answer(root, containing="branched off from here")
    [address] = re.findall(r"<(http[^|>]+)\|files instead>", told.text)
    made = re.fullmatch(rf".*/archives/{GENERAL}/p(\d{{10}})(\d{{6}})", address)
    branch = f"{made[1]}.{made[2]}"
    [header] = [m for m in await slack.thread(branch) if m.ts == branch]
    assert "files instead" in header.text
    assert f"p{reply.replace('.', '')}?thread_ts={root}" in header.text.replace("&amp;", "&")
    await slack.say('go on @@rehearse show="context"@@', thread=branch)
    await on_slack.event("turn.ended", turn=3)
    told = await slack_product.whole_answer(slack, branch)
    assert "SQL or files?" in told  # what the branch inherits
    await slack.say('@@rehearse text="Files it is."@@', thread=branch)
    await slack.wait_for_answer(branch, containing="Files it is.")
    await slack.say("!branch adopt", thread=branch)
    back = await slack.wait_for_answer(root, containing="adopted the branch")
    assert "Files it is." in back.text


async def test_slack_links_within_what_may_be_seen(slack, on_slack):
    public = await slack.mention("the cache was slow in June", channel=DEV)
    await slack.wait_for_answer(public, DEV)
    root = await slack.mention("why is the cache slow?")
    await slack_product.standing(slack, root, 1)
    address = f"https://loopback.slack.local/archives/{DEV}/p{public.replace('.', '')}"
    await slack.say(f"!link <{address}>", thread=root)
    await slack.wait_for_answer(root, containing="linked this thread with")
    await slack.wait_for_answer(public, DEV, containing="linked this thread with")
    # The channel turns private: the link tells nothing any more.
    notice = {"type": "message", "subtype": "channel_convert_to_private", "channel": DEV}
    slack.api.channel_flags[DEV] = {"is_private": True}
    slack.events.event({**notice, "ts": "9.1", "event_ts": "9.1", "channel_type": "group"})
    await on_slack.event("event.accepted", kind="channel")
    await slack.say("!link", thread=root)
    await slack.wait_for_answer(root, containing="linked with none yet")
    await slack.say(f"!link <{address}>", thread=root)
    await slack.wait_for_answer(root, containing="There is no such thread")


async def test_discord_records_in_a_thread_and_by_command(world, on_discord):
    root = world.alice.ask(world.channel, "!plan new Ship it\n- write\n- test")
    await world.message(root, "is proposed, with 2 subtasks")
    sent = world.alice.slash(root, "moot", words="plan approve 1")
    assert "(active)" in (await sent.answer()).text
    await world.message(root, "(active)")  # everybody in the thread is told
    listed = await world.alice.slash(world.channel, "moot", words="plans").answer()
    assert "**1** Ship it (active" in listed.text
    assert listed.ephemeral
    stranger = await world.bob.slash(root, "moot", words="plan reject 1").answer()
    assert "[access] allow" in stranger.text
    world.alice.say(root, "!artifact add Notes\n```\nkept\n```")
    await world.message(root, "Kept as artifact **1**")
    world.alice.say(root, "!artifact show 1")
    await world.message(root, "kept\n```")


async def test_discord_a_branch_of_our_own_answer(world, on_discord):
    root = world.alice.ask(world.channel, 'SQL or files? @@rehearse text="Tabs."@@')
    answer = await world.message(root, "Tabs.")
    link = f"https://discord.com/channels/{world.guild}/{root}/{answer.id}"
    world.alice.say(root, f"!branch {link} another way")
    told = await world.message(root, "branched off from here")
    [thread] = re.findall(rf"discord\.com/channels/{world.guild}/(\d+)", told.text)
    assert world.thread_name(thread) == "another way"
    header = await world.message(world.channel, "another way")
    assert f"/channels/{world.guild}/{root}" in header.text
    world.alice.say(thread, 'and? @@rehearse show="context"@@')
    assert "Tabs." in await discord_product.whole_answer(world, thread)
    sent = world.alice.slash(thread, "moot", words="branch discard")
    assert "discarded this branch" in (await sent.answer()).text


async def test_discord_a_branch_in_a_forum_is_a_post_of_its_own(world, on_discord):
    forum = world.make_channel("forum", forum=True)
    post = world.alice.forum_post(forum, "SQL or files?")
    world.alice.first_message(post, f"{world.mention} why?")
    await on_discord.event("turn.ended")
    world.alice.say(post, "!branch another way")
    told = await world.message(post, "branched off from here")
    [thread] = re.findall(rf"discord\.com/channels/{world.guild}/(\d+)", told.text)
    assert thread in world.threads(forum)
    assert world.thread_name(thread) == "another way"
    world.alice.say(thread, "and now?")
    await world.message(thread, "and now?")


async def test_the_mode_of_a_thread_is_taken_for_its_questions(slack, on_slack):
    root = await slack.mention("!mode full")
    await slack.wait_for_answer(root, containing="get the mode *full*")
    await slack.say("why?", thread=root)
    await on_slack.event("run.closed")
    await slack.say("!context", thread=root)
    receipt = await slack.wait_for_answer(root, containing="platform-rules")
    assert "Mode full" in receipt.text
