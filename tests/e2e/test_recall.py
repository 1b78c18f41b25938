"""Recall through the whole product: real adapters, real vectors, loopback platforms."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e import test_discord as on_discord
from tests.e2e import test_slack as on_slack
from tests.e2e.product import Product
from tests.e2e.test_terminals import private
from tests.e2e.test_try import trying
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import BOB, DEV, GENERAL, LoopbackSlack, Seen

pytestmark = pytest.mark.peers

SAID = "the zebra release slipped: the login page takes ages to load"
MEANT = "sign-in screen is slow"  # no word of it


def settings(tmp_path: Path) -> dict[str, dict]:
    return {
        "projects": {"acme": {"path": str(tmp_path), "channels": ["*"]}},
        "context": {"delivery": "push", "mode": "full"},
    }


async def said_in_dev(slack: LoopbackSlack) -> str:
    """What Bob, who may not ask, says in a thread of another channel."""
    thread = await slack.mention("what is new?", channel=DEV)
    await slack.wait_for_answer(thread, DEV, containing="what is new?")
    return await slack.say(SAID, channel=DEV, user=BOB, thread=thread)


async def recalled(slack: LoopbackSlack, question: str, containing: str) -> Seen:
    """The private answer to /recall, once it holds ``containing``: vectors come a little later."""

    async def found() -> Seen | None:
        note = await slack.slash("/recall", question)
        return note if note is not None and containing in note.text else None

    return await slack.wait(found, f"{containing!r} for {question!r}", 30)


async def test_on_slack_by_words_and_by_meaning_marked_and_gone(slack, tmp_path: Path):
    made = on_slack.settings(slack, **settings(tmp_path))
    async with Product(tmp_path, made, slack.env(), by_meaning=True) as moot:
        await moot.start("slack")
        there = await said_in_dev(slack)
        root = await slack.mention("what is for lunch?")
        await on_slack.standing(slack, root, 1)

        by_words = await recalled(slack, "zebra?", SAID)
        [number] = re.findall(r"\*#(\d+)\* bob", by_words.text)
        assert "(just now)" in by_words.text
        link = f"loopback.slack.local/archives/{DEV}/p{there.replace('.', '')}?thread_ts="
        assert link in by_words.text
        by_meaning = await recalled(slack, MEANT, SAID)
        assert by_meaning.only_for

        # What an agent said is opened at its own post.
        agents = await recalled(slack, "there is no model behind it", "rehearsal")
        posts = [m for m in await slack.seen(DEV) if m.user == slack.bot_user]
        assert any(f"/archives/{DEV}/p{m.ts.replace('.', '')}" in agents.text for m in posts)

        # Marked by a button: the next agent is told.
        await slack.click(by_words, f"#{number} is outdated")
        await private(slack, f"*#{number}* is marked as outdated by alice")
        await slack.say("@@rehearse show=context@@ is the zebra late?", thread=root)
        told = await slack.wait_for_answer(root, containing="marked outdated by alice on 20")
        assert f"/archives/{DEV}/p" in told.text

        # Typed in a thread: a button, and what it brings is for its presser alone.
        await slack.say("!recall zebra release", thread=root)
        offer = await slack.wait_for_answer(root, containing="shown to you alone")
        await slack.click(offer, "Show me")
        note = await private(slack, "for “zebra release”")
        assert "⚠️ outdated, says alice" in note.text
        await slack.click(offer, "Show me", user=BOB)
        assert "slipped" not in (await private(slack, "may not use Moot", BOB)).text

        # A button counts in its own channel only, and while its message stands.
        posted = next(m for m in await slack.seen(DEV) if m.user == slack.bot_user)
        forged = replace(posted, buttons={"x": ("moot_0_0", "b", f"mark:2:{number}:wrong")})
        await slack.click(forged, "x")

        async def refused() -> bool:
            return any("another channel" in m.text for m in await slack.seen(DEV) if m.only_for)

        await slack.wait(refused, "a refusal")
        await slack.delete(there, channel=DEV, user=BOB)
        await moot.event("event.accepted", kind="delete")
        await slack.click(note, f"#{number} is wrong")
        await private(slack, "it was deleted, or is not for this place")
        gone = await slack.slash("/recall", "zebra release")
        assert f"*#{number}*" not in gone.text  # an answer that quotes it is a message of its own


async def test_what_a_private_channel_holds_is_not_recalled_elsewhere(slack, tmp_path: Path):
    made = on_slack.settings(slack, **settings(tmp_path))
    slack.api.channel_flags[DEV] = {"is_private": True}
    async with Product(tmp_path, made, slack.env(), by_meaning=True) as moot:
        await moot.start("slack")
        await said_in_dev(slack)

        async def inside() -> bool:
            note = await slack.slash("/recall", MEANT, channel=DEV)
            return "by words alone" not in note.text and SAID in note.text

        await slack.wait(inside, "it is found in its own channel by meaning", 30)
        for question in ("zebra release", MEANT):
            outside = await slack.slash("/recall", question, channel=GENERAL)
            assert "Nothing found" in outside.text
            assert SAID not in outside.text


async def test_on_discord_in_a_private_answer(world: LoopbackDiscord, tmp_path: Path):
    made = on_discord.settings(world, **settings(tmp_path))
    async with Product(tmp_path, made, on_discord.env(world), by_meaning=True) as moot:
        await moot.start("discord")
        root = world.alice.ask(world.channel, SAID)
        await on_discord.standing(world, root, 1)
        note = await world.alice.slash(world.channel, "recall", question="zebra release").answer()
        assert note.ephemeral
        assert SAID in note.text.replace("\\", "")
        assert f"/channels/{world.guild}/{root}/{root}" in note.text
        pressed = await world.alice.click(note, label="#1 is wrong").answer()
        assert pressed.ephemeral
        assert "is marked as wrong by" in pressed.text
        back = await world.alice.click(pressed, label="Back to the list").answer()
        assert "⚠️ wrong, says" in back.text
        typed = await world.alice.slash(root, "moot", words="unmark 1").answer()
        assert "taken back" in typed.text
        world.alice.say(root, "!recall zebra")
        offer = await world.message(root, "shown to you alone")
        shown = await world.alice.click(offer, label="Show me").answer()
        assert shown.ephemeral
        assert SAID in shown.text.replace("\\", "")
        assert SAID not in "\n".join(world.posts(root)[1:])


async def test_in_the_rooms_terminal(tmp_path: Path):
    async with trying(tmp_path) as terminal:
        await terminal.sees("Ask something")
        terminal.type("the zebra is late\r")
        await terminal.sees("rehearsal")
        at = len(terminal.seen)
        terminal.type("/recall zebra\r")
        await terminal.sees("just now", at)
        await terminal.sees("#1", at)
        terminal.type("/mark 1 wrong it was on time\r")
        await terminal.sees("marked as wrong", at)
        terminal.process.terminate()
        async with asyncio.timeout(20):
            await terminal.ended()
