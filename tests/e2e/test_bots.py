"""Other bots at the whole product: one that is let in asks within its budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.e2e.product import Product
from tests.e2e.test_discord import env as discord_env
from tests.e2e.test_discord import settings as discord_settings
from tests.e2e.test_slack import settings as slack_settings
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import GENERAL, LoopbackSlack

pytestmark = pytest.mark.peers

Posts = Callable[[], Awaitable[list[str]]]


async def one_with(posts: Posts, text: str) -> str:
    """The one post that holds ``text``, once it is there."""
    found: list[str] = []

    async def there() -> bool:
        found[:] = [post for post in await posts() if text in post and "is working" not in post]
        return bool(found)

    await until(there, f"a post with {text!r}")
    assert len(found) == 1
    return found[0]


async def until(true: Callable[[], Awaitable[bool]], what: str) -> None:
    async with asyncio.timeout(60):
        while not await true():
            await asyncio.sleep(0.05)


async def test_c064_c065_a_bot_on_discord_asks_within_its_budget(world: LoopbackDiscord, tmp_path):
    bot, other = world.person("deploy", bot=True), world.person("ci", bot=True)
    named = {"bots": {f"discord:{bot.id}": {"exchanges": 2}}}
    async with Product(tmp_path, discord_settings(world, **named), discord_env(world)) as product:
        await product.start("discord")
        other.ask(world.channel, "unnamed: why?")
        text = f"first @@rehearse text='ok <@{bot.id}> <@!{other.id}> @everyone, one'@@"
        thread = bot.ask(world.channel, text)

        async def posts() -> list[str]:
            return world.posts(thread) if world.has_thread(thread) else []

        answer = await one_with(posts, "one")
        assert "asked by a bot" in answer
        assert f"<@{bot.id}>" not in answer  # nothing of ours starts it
        assert f"<@!{other.id}>" not in answer
        for word in ("two", "three", "four"):  # it answers whatever we say
            bot.say(thread, f"{world.mention} again @@rehearse text='{word}'@@")
        await one_with(posts, "two")
        await one_with(posts, "2 times here")
        world.alice.say(thread, "go on @@rehearse text='for a person'@@")
        await one_with(posts, "for a person")
        bot.say(thread, f"{world.mention} again @@rehearse text='five'@@")
        await one_with(posts, "five")
        said = "\n".join(await posts())
        assert "three" not in said
        assert "four" not in said
        assert len(product.logged("turn.queued")) == 4
        assert len(product.logged("bot.refused")) == 2
        assert len(product.logged("bot.not_named")) == 1


async def test_a_bot_on_slack_asks_within_its_budget(slack: LoopbackSlack, tmp_path: Path):
    await slack.other_bot("hello")
    stored = await slack.api.stored(GENERAL)
    bot = next(m["bot_id"] for m in stored if m.get("bot_id"))
    named = {"bots": {f"slack:{bot}": {"exchanges": 1}}}
    async with Product(tmp_path, slack_settings(slack, **named), slack.env()) as product:
        await product.start("slack")
        root = await slack.other_bot("<@U0BOT> hi @@rehearse text='ok &lt;@U0CI&gt; one'@@")

        async def posts() -> list[str]:
            return [seen.text for seen in await slack.answers(root)]

        answer = await one_with(posts, "one")
        assert "asked by a bot" in answer
        assert "<@" not in answer
        for word in ("two", "three"):
            await slack.other_bot(f"<@U0BOT> @@rehearse text='{word}'@@", thread=root)
        await one_with(posts, "once here without")
        await slack.say("for a person", thread=root)
        await one_with(posts, "for a person")
        assert len(product.logged("turn.queued")) == 2
