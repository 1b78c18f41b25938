"""Posts land in the right thread, and never twice, whatever goes wrong."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from adapters.discord.chat import DiscordChat, DiscordConfig
from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.model import ConversationKey
from tests.integration.discord.room import asked, post, running


async def test_the_first_post_opens_the_thread(world, chat, ears):
    event = await asked(world, ears)
    posted = await chat.post(event.key, post("answer", title="What\nbroke?  "))
    await chat.post(event.key, post("more"))
    assert world.posts(event.key.root) == ["answer", "more"]
    assert posted.root == event.key.root
    assert world.thread_name(event.key.root) == "What broke?"
    assert world.posts(world.channel) == []


async def test_a_thread_without_a_title_is_named_after_its_question(world, chat, ears):
    event = await asked(world, ears, "what broke the build?")
    await chat.post(event.key, post("answer"))
    assert world.thread_name(event.key.root) == "what broke the build?"


async def test_a_post_pings_nobody(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post(f"@everyone {world.alice.mention} look"))
    message = world.backend.get_message(
        int(event.key.root), int(world.messages(event.key.root)[-1].id)
    )
    assert not message.mention_everyone
    assert message.ping_user_ids == []


async def test_a_long_title_is_cut(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post("answer", title="😀" * 80))
    assert 10 < len(world.thread_name(event.key.root).encode("utf-16-le")) // 2 <= 100


async def test_a_post_whose_reply_was_lost_is_seen_once(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post("first"))
    world.faults.lose_reply()
    tried_at = time.time()
    with pytest.raises(ChatUnsure):
        await chat.post(event.key, post("second", "n2"))
    posted = await chat.post(event.key, post("second", "n2", tried_at=tried_at))
    assert world.posts(event.key.root) == ["first", "second"]
    assert posted.message_id == world.messages(event.key.root)[-1].id


@pytest.mark.parametrize("restarted", [False, True])
async def test_after_the_nonce_is_forgotten_the_post_is_looked_for(world, restarted):
    async with running(world) as (chat, ears):
        event = await asked(world, ears)
        tried_at = time.time()
        first = await chat.post(event.key, post("working …", "n1"))
        world.faults.lose_reply()
        with pytest.raises(ChatUnsure):
            await chat.post(event.key, post("  the answer\n", "n2"))
        # An equal text that is another post of ours must not be taken for it.
        again = post("working …", "n3", tried_at=tried_at, known_ids=frozenset({first.message_id}))
        world.rest.forget_nonces()
        lost = post("  the answer\n", "n2", tried_at=tried_at)
        if not restarted:
            await chat.post(event.key, lost)
            await chat.post(event.key, again)
    if restarted:
        async with running(world) as (chat, ears):
            await chat.post(event.key, lost)
            await chat.post(event.key, again)
    assert world.posts(event.key.root) == ["working …", "the answer", "working …"]


async def test_an_attempt_that_had_no_effect_is_made_up_for(world, chat, ears):
    event = await asked(world, ears)
    world.faults.cut()
    with pytest.raises(ChatUnsure):
        await chat.post(event.key, post("answer", "n1"))
    await chat.post(event.key, post("answer", "n1", tried_at=time.time() - 3600))
    assert world.posts(event.key.root) == ["answer"]


async def test_a_rate_limit_is_waited_out_or_told(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post("zero"))
    world.faults.rate_limit(0.2)
    await chat.post(event.key, post("one"))
    world.faults.rate_limit(40)
    with pytest.raises(ChatBusy) as busy:
        await chat.post(event.key, post("two"))
    assert busy.value.retry_after_s == pytest.approx(40)
    world.faults.rate_limit(7, via=False)
    with pytest.raises(ChatBusy):
        await chat.post(event.key, post("two"))
    await chat.post(event.key, post("two"))
    assert world.posts(event.key.root) == ["zero", "one", "two"]


async def test_a_failure_that_took_effect_is_not_posted_twice(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post("zero"))
    world.faults.server_error(502, effect=True)  # discord.py tries again by itself
    await chat.post(event.key, post("one"))
    world.faults.server_error(503, effect=True)  # and here it does not
    with pytest.raises(ChatUnsure):
        await chat.post(event.key, post("two"))
    await chat.post(event.key, post("two", tried_at=time.time()))
    assert world.posts(event.key.root) == ["zero", "one", "two"]


async def test_the_reply_of_opening_the_thread_is_lost(world, chat, ears):
    event = await asked(world, ears)
    world.faults.lose_reply(path="/channels/*/messages/*/threads")
    with pytest.raises(ChatUnsure):
        await chat.post(event.key, post("answer"))
    await chat.post(event.key, post("answer", tried_at=time.time()))
    assert world.posts(event.key.root) == ["answer"]


async def test_somebody_else_opened_the_thread_already(world, chat, ears):
    event = await asked(world, ears)
    world.bob.open_thread(world.channel, "mine", event.key.root)
    await chat.post(event.key, post("answer"))
    assert world.posts(event.key.root) == ["answer"]


async def test_a_deleted_question_is_answered_in_the_channel(world, chat, ears):
    event = await asked(world, ears)
    world.alice.delete(world.channel, event.message_id)
    for text in ("one", "two", "three"):
        await chat.post(event.key, post(text))
    assert world.posts(world.channel) == ["one", "two", "three"]
    assert all(m.reply_to == "" for m in world.messages(world.channel))
    # Such a post can be edited and deleted by the key of its conversation.
    first, second, _ = [m.id for m in world.messages(world.channel)]
    await chat.edit(event.key, first, post("one, edited"))
    await chat.delete(event.key, second)
    assert world.posts(world.channel) == ["one, edited", "three"]


async def test_a_thread_deleted_meanwhile_is_opened_again(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post("one"))
    world.backend.delete_channel(int(event.key.root))
    await chat.post(event.key, post("two"))
    assert world.posts(event.key.root) == ["two"]


async def test_a_missing_permission_surfaces(world, chat, ears):
    event = await asked(world, ears)
    world.deny(world.channel, "create_public_threads")
    with pytest.raises(ChatRefused, match="Create Public Threads") as refused:
        await chat.post(event.key, post("answer"))
    assert refused.value.code == "50013"
    assert world.posts(world.channel) == []


async def test_an_archived_thread_is_woken_by_a_post_and_refuses_an_edit(world):
    async with running(world) as (chat, ears):
        event = await asked(world, ears)
        posted = await chat.post(event.key, post("working …"))
    world.archive(event.key.root)
    async with running(world) as (chat, _):  # the new client has never seen this thread
        with pytest.raises(ChatRefused) as refused:
            await chat.edit(event.key, posted.message_id, post("done"))
        assert refused.value.code == "50083"
        await chat.post(event.key, post("answer"))
        await chat.edit(event.key, posted.message_id, post("done"))
    assert world.posts(event.key.root) == ["done", "answer"]


async def test_a_locked_thread_refuses(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post("one"))
    world.archive(event.key.root, locked=True)
    with pytest.raises(ChatRefused, match="locked") as refused:
        await chat.post(event.key, post("two"))
    assert refused.value.code == "locked"


async def test_where_there_are_no_threads_it_goes_on_in_the_channel(world, chat, ears):
    event = await asked(world, ears)
    for _ in range(2):
        world.faults.refuse(
            400, 50024, "Cannot execute action on this channel type", "POST", "*/threads"
        )
    await chat.post(event.key, post("answer"))
    opened = await chat.post(replace(event.key, root=""), post("Alice asks", opens=True))
    assert opened.root == opened.message_id
    assert world.posts(world.channel) == ["answer", "Alice asks"]


async def test_two_first_posts_at_once_share_the_thread(world, chat, ears):
    event = await asked(world, ears)
    await asyncio.gather(*(chat.post(event.key, post(text)) for text in ("one", "two")))
    assert sorted(world.posts(event.key.root)) == ["one", "two"]


async def test_edit_limits_and_gone_messages(world, chat, ears):
    event = await asked(world, ears)
    posted = await chat.post(event.key, post("one"))
    for status in (400, 429):
        world.faults.refuse(status, 30046, "Maximum number of edits", "PATCH", "*/messages/*")
        with pytest.raises(ChatRefused) as refused:
            await chat.edit(event.key, posted.message_id, post("two"))
        assert refused.value.code == "30046"
    await chat.delete(event.key, posted.message_id)
    await chat.delete(event.key, posted.message_id)
    with pytest.raises(ChatRefused) as refused:
        await chat.edit(event.key, posted.message_id, post("two"))
    assert refused.value.code == "10008"


async def test_that_one_of_our_posts_was_deleted_is_told(world, chat, ears):
    event = await asked(world, ears)
    mine = await chat.post(event.key, post("taken back by Moot"))
    theirs = await chat.post(event.key, post("taken back by an admin"))
    await chat.delete(event.key, mine.message_id)
    world.alice.delete(event.key.root, theirs.message_id)
    await world.until(lambda: len(ears.of("delete")) == 2)
    told = ears.of("delete")
    assert [gone.message_id for gone in told] == [mine.message_id, theirs.message_id]
    assert {gone.key for gone in told} == {event.key}


async def test_posting_before_and_after_the_connection_is_busy(world):
    chat = DiscordChat(DiscordConfig(world.token, world.api_url))
    key = ConversationKey("discord", world.guild, world.channel, "")
    with pytest.raises(ChatBusy):
        await chat.post(key, post("too early"))


@pytest.mark.parametrize("where", ["opening", "direct", "orphaned"])
async def test_a_lost_post_is_looked_for_in_the_channel_too(world, chat, ears, where):
    event = await asked(world, ears)
    key, opens, shown = replace(event.key, root=""), True, world.channel
    if where == "direct":
        key, opens, shown = (
            ConversationKey("discord", "", world.alice.dm, ""),
            False,
            world.alice.dm,
        )
    if where == "orphaned":
        world.alice.delete(world.channel, event.message_id)
        key, opens = event.key, False
    world.faults.lose_reply(path=f"/channels/{shown}/messages")
    with pytest.raises(ChatUnsure):
        await chat.post(key, post("answer", opens=opens))
    world.rest.forget_nonces()
    posted = await chat.post(key, post("answer", opens=opens, tried_at=time.time() - 300))
    assert world.posts(shown) == ["answer"]
    assert world.has_thread(posted.message_id) is opens
