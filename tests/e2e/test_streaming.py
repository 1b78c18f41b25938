"""Answers that are seen while they are written, through the whole product, on both platforms."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.e2e.stages import Stage
from tests.e2e.test_requests import both, playing

pytestmark = pytest.mark.peers

WORDS = " ".join(f"word{n}" for n in range(48))
GROWS = f'@@rehearse until=go text="{WORDS} and **the end**"@@'
WORKS = ("is working", "⏳")


async def stands(stage: Stage, place: str, text: str) -> str:
    """The one post of ours in the thread, once it is that with ``text`` and nothing works there."""
    async with asyncio.timeout(60):
        while True:
            posts = [post.replace("*", "") for post in await stage.posts(place)]
            if len(posts) == 1 and text in posts[0] and not any(sign in posts[0] for sign in WORKS):
                return posts[0]
            await asyncio.sleep(0.05)


async def stop_button(stage: Stage, place: str) -> Any:
    return await stage.post(place, "is working")


@both
async def test_an_answer_is_seen_growing_and_its_message_becomes_it(platform, tmp_path):
    """And one that is stopped while it grows goes."""
    async with playing(platform, tmp_path) as stage:
        place, other = await stage.ask(GROWS), await stage.ask("@@rehearse hang@@", "bob")
        growing = await stage.post(place, "word0")
        assert "the end" not in growing.text
        await stage.post(other, "I was about to")
        await stage.press(await stop_button(stage, other), "Stop", "bob")
        (tmp_path / "project/go").touch()
        answer = await stands(stage, place, "word47 and the end")
        assert answer.count("word0 ") == 1
        assert "I was about to" not in await stands(stage, other, "topped by")


@both
async def test_a_message_that_grew_when_moot_was_killed_goes(platform, tmp_path):
    async with playing(platform, tmp_path) as stage:
        place = await stage.ask(GROWS)
        await stage.post(place, "word0")
        await stage.moot.kill()
        (tmp_path / "project/go").touch()
        await stage.moot.start(platform)
        answer = await stands(stage, place, "word47 and the end")
        assert answer.count("word0 ") == 1
