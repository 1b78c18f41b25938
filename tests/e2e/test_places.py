"""Threads at the whole product: each answer in its own, and one that Moot knows nothing of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.product import Product
from tests.e2e.test_discord import env, settings
from tests.e2e.test_slack import settings as slack_settings
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import LoopbackSlack

pytestmark = pytest.mark.peers


async def test_c031_c035_each_of_six_answers_stands_in_its_own_thread(
    slack: LoopbackSlack, tmp_path: Path
):
    more = {"runs": {"at_once": 6}}
    async with Product(tmp_path, slack_settings(slack, **more), slack.env()) as product:
        await product.start("slack")
        slack.events.duplicate = True  # each mention comes as two events, and each of them twice
        asked = {
            number: await slack.mention(
                f"no {number} @@rehearse sleep={(6 - number) / 5} text='answer {number}'@@"
            )
            for number in range(6)
        }
        for number, root in asked.items():
            await slack.wait_for_answer(root, containing=f"answer {number}")
        for number, root in asked.items():
            texts = [seen.text for seen in await slack.answers(root)]
            found = [n for text in texts for n in re.findall(r"answer (\d)", text)]
            assert set(found) == {str(number)}
        assert len(product.logged("turn.queued")) == 6


async def test_c040_a_thread_of_moot_is_its_own_though_its_rows_are_lost(
    world: LoopbackDiscord, tmp_path: Path
):
    async with Product(tmp_path, settings(world), env(world)) as product:
        await product.start("discord")
        thread = world.alice.ask(world.channel, "one @@rehearse text='the cache is full'@@")
        await has(world, thread, "the cache is full")
        world.alice.say(thread, "no mention @@rehearse text='a second answer'@@")
        await has(world, thread, "a second answer")
        await product.stop()

        for path in (tmp_path / "data").glob("moot.sqlite*"):
            path.unlink()
        await product.start("discord")
        world.alice.say(thread, 'and now? @@rehearse text="it goes on" show="context"@@')
        await has(world, thread, "it goes on")
        await product.event("turn.ended", state="done")
        told = "\n".join(world.posts(thread))
        assert "(human)" in told.partition("it goes on")[2]
        assert "the cache is full" in told.partition("it goes on")[2]  # its own word of before
        assert len(product.logged("turn.queued")) == 1


async def has(world: LoopbackDiscord, thread: str, text: str) -> None:
    """Wait until an answer holds this, and no run is under way any more."""

    def there() -> bool:
        posts = world.posts(thread) if world.has_thread(thread) else []
        return any(text in post for post in posts) and not any("⏳" in post for post in posts)

    await world.until(there, 30, f"{text!r} in {thread}")
