"""Threads that we open in a forum."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from core.errors import ChatUnsure
from core.model import Button, ConversationKey
from tests.integration.discord.room import post, running


async def test_a_thread_is_opened_once_even_if_the_reply_is_lost(world):
    forum = world.make_channel("forum", forum=True)
    async with running(world) as (chat, _):
        key = ConversationKey("discord", world.guild, forum, "")
        opening = post("Alice branched off", "n1", opens=True, title="another way")
        world.faults.lose_reply(path="/channels/*/threads")
        with pytest.raises(ChatUnsure):
            await chat.post(key, opening)
        again = replace(opening, tried_at=time.time())
        posted = await chat.post(key, again)
        assert world.threads(forum) == [posted.root] == [posted.message_id]
        assert world.thread_name(posted.root) == "another way"
        inside = ConversationKey("discord", world.guild, forum, posted.root)
        await chat.post(inside, post("go on", "n2", buttons=(Button("stop:1", "Stop"),)))
        assert world.posts(posted.root) == ["Alice branched off", "go on"]
        await chat.edit(inside, posted.message_id, post("Alice branched off."))
        assert world.posts(posted.root)[0] == "Alice branched off."


async def test_an_equal_text_is_another_post(world):
    forum = world.make_channel("forum", forum=True)
    async with running(world) as (chat, _):
        key = ConversationKey("discord", world.guild, forum, "")
        first = await chat.post(key, post("same", "n1", opens=True, title="t"))
        known = frozenset((first.message_id,))
        again = post("same", "n2", opens=True, title="t", tried_at=time.time(), known_ids=known)
        second = await chat.post(key, again)
        assert world.threads(forum) == [first.root, second.root]
