"""What people do reaches the intake: once each, in order, and not lost."""

from __future__ import annotations

import asyncio
import time

from core.model import ConversationKey
from core.ports import WithHistory
from tests.integration.discord.room import post, running
from tests.peers.discord import LoopbackDiscord


async def test_a_mention_at_channel_level_is_its_own_root(world, ears):
    ident = world.alice.ask(world.channel, "what broke?")
    event = await ears.event()
    assert event.key == ConversationKey("discord", world.guild, world.channel, ident)
    assert event.event_id == f"discord:{world.channel}:{ident}"
    assert event.text == "what broke?"
    assert event.mentions_us
    assert not event.mentions_others
    assert not event.in_thread
    assert not event.direct
    assert event.author.name == "Alice"
    assert event.author.grants == (f"discord:{world.alice.id}",)
    assert event.author.trusted
    assert event.author.kind == "human"
    assert abs(event.sent_at - time.time()) < 60


async def test_a_reply_in_the_thread_has_the_same_key(world, chat, ears):
    ident = world.alice.ask(world.channel, "what broke?")
    first = await ears.event("what broke?")
    await chat.post(first.key, post("the build", title="what broke?"))
    world.bob.say(ident, "and the tests?")
    reply = await ears.event("and the tests?")
    assert reply.key == first.key
    assert reply.in_thread
    assert not reply.mentions_us


async def test_own_posts_joins_and_thread_notices_are_no_events(world, chat, ears):
    ident = world.alice.ask(world.channel, "first")
    event = await ears.event("first")
    await chat.post(event.key, post("answer"))
    await chat.edit(event.key, world.messages(ident)[-1].id, post("answer, edited"))
    world.backend.set_pinned(int(world.channel), int(ident), pinned=True)
    world.alice.say(ident, "last")
    await ears.event("last")
    assert [e.text for e in ears.events] == ["first", "last"]


async def test_a_direct_message_of_a_member_is_trusted_and_of_a_stranger_is_not(world, chat, ears):
    role = world.role("ops")
    ada = world.person("ada", roles=[role])
    ada.write("help me")
    event = await ears.event("help me")
    assert event.direct
    assert event.key == ConversationKey("discord", "", ada.dm, "")
    assert event.author.trusted
    assert event.author.grants == (f"discord:{ada.id}", f"discord:{world.guild}:role:{role}")
    posted = await chat.post(event.key, post("yes?"))
    assert posted.root == ""
    assert world.posts(ada.dm) == ["yes?"]
    world.person("mallory", member=False).write("let me in")
    stranger = await ears.event("let me in")
    assert not stranger.author.trusted


async def test_a_failed_look_up_of_a_direct_messages_author_leaves_them_untrusted(world, ears):
    world.faults.refuse(403, 50001, "Missing Access", "GET", "/guilds/*/members/*", times=None)
    world.alice.write("hello")
    event = await ears.event("hello")
    assert not event.author.trusted


async def test_roles_are_grants(world, ears):
    role = world.role("deployers")
    world.person("carol", roles=[role]).ask(world.channel, "deploy")
    event = await ears.event("deploy")
    assert f"discord:{world.guild}:role:{role}" in event.author.grants


async def test_a_duplicate_delivery_has_the_same_event_id(world, ears):
    world.gateway.duplicate = 1
    world.alice.ask(world.channel, "once")
    await world.until(lambda: len(ears.events) == 2)
    assert ears.events[0] == ears.events[1]


async def test_an_event_that_could_not_be_taken_is_tried_again_in_order(world, ears):
    ears.failures = 3
    for text in ("one", "two", "three"):
        world.alice.ask(world.channel, text)
    await world.until(lambda: len(ears.events) == 3)
    assert [e.text for e in ears.events] == ["one", "two", "three"]


async def test_a_channel_that_fails_does_not_hold_up_another(world, ears):
    other = world.make_channel("other")
    ears.failures = 1
    world.alice.ask(world.channel, "stuck")
    world.alice.ask(other, "free")
    await world.until(lambda: len(ears.events) == 2)
    assert [e.text for e in ears.events] == ["free", "stuck"]


async def test_edits_are_events_and_unfurls_are_not(world, ears):
    ident = world.alice.ask(world.channel, "see https://ex.test")
    await ears.event("see")
    message = world.backend.get_message(int(world.channel), int(ident))
    payload = {**world_payload(world, message), "embeds": [{"type": "link", "title": "Example"}]}
    world.backend.emit("MESSAGE_UPDATE", payload)
    world.alice.edit(world.channel, ident, f"{world.mention} see https://ex.test/2")
    edit = await ears.event(kind="edit")
    assert edit.text == "see https://ex.test/2"
    assert edit.message_id == ident
    assert edit.key.root == ident
    assert edit.event_id.startswith(f"discord:{world.channel}:{ident}:edit:")
    # The preview of the new link repeats the edit's time, so it is that edit again, or nothing.
    world.backend.emit("MESSAGE_UPDATE", world_payload(world, message))
    world.alice.say(world.channel, "end")
    await ears.event("end")
    assert {e.event_id for e in ears.of("edit")} == {edit.event_id}


def world_payload(world: LoopbackDiscord, message: object) -> dict:
    from simcord.backend import serializers

    return dict(serializers.message_payload(world.backend, message))


async def test_deletes_are_events_also_of_messages_from_before_the_start(world):
    old = world.alice.ask(world.channel, "old")
    async with running(world) as (_, ears):
        new = world.alice.ask(world.channel, "new")
        await ears.event("new")
        world.alice.delete(world.channel, old)
        world.alice.delete(world.channel, new)
        await world.until(lambda: len(ears.of("delete")) == 2)
        first, second = ears.of("delete")
        assert (first.message_id, first.author.id) == (old, "")
        assert (second.message_id, second.author.id) == (new, world.alice.id)
        assert second.event_id == f"discord:{world.channel}:{new}:delete"


async def test_an_edit_of_a_message_from_before_the_start_in_an_archived_thread(world):
    root = world.alice.say(world.channel, "root")
    thread = world.alice.open_thread(world.channel, "a thread", root)
    old = world.alice.say(thread, "old")
    world.archive(thread)
    async with running(world) as (_, ears):
        world.alice.edit(thread, old, "newer")
        edit = await ears.event("newer", "edit")
        assert edit.key == ConversationKey("discord", world.guild, world.channel, root)
        assert edit.in_thread


async def test_c037_a_forum_post_waits_for_its_first_message_and_its_image(world, chat, ears):
    forum = world.make_channel("help", forum=True)
    thread = world.alice.forum_post(forum, "how do I?")
    world.alice.say(world.channel, "meanwhile")
    await ears.event("meanwhile")
    assert len(ears.events) == 1
    image = world.alice.file(thread, "screen.png", b"\x89PNG")
    world.alice.first_message(thread, f"{world.mention} how do I?", image)
    event = await ears.event("how do I?")
    assert [one.name for one in event.attachments] == ["screen.png"]
    assert event.key == ConversationKey("discord", world.guild, forum, thread)
    assert event.mentions_us
    await chat.post(event.key, post("like so"))
    assert world.posts(thread) == ["like so"]


async def test_other_bots_are_marked(world, ears):
    world.person("ci", bot=True).say(world.channel, "build 41 failed")
    event = await ears.event("build 41")
    assert event.author.kind == "bot"


def at(world: LoopbackDiscord, channel: str, root: str = "") -> ConversationKey:
    return ConversationKey("discord", world.guild, channel, root)


async def test_what_was_written_while_nobody_listened_is_told_by_the_histories(world):
    """A restart loses nothing: Discord delivers nothing that came while there was no session."""
    quiet = world.make_channel("quiet")
    closed = world.make_channel("closed")
    first = world.alice.ask(world.channel, "first")
    thread = world.alice.open_thread(world.channel, "t", first)
    second = world.bob.say(thread, "second")
    third = world.alice.ask(world.channel, "third")
    world.alice.edit(world.channel, third, f"{world.mention} third, edited")
    world.alice.ask(closed, "not for us")
    world.deny(closed, "view_channel")
    since = time.time() - 60.0
    async with running(world) as (chat, ears):
        assert isinstance(chat, WithHistory)
        assert chat.hears() == {"", world.guild}
        known = at(world, quiet, "1")
        found = await chat.places(world.guild, since, (known,))
        assert set(found) == {at(world, world.channel), at(world, world.channel, first), known}
        level = await chat.missed(at(world, world.channel), since, 100)
        assert [(e.kind, e.text) for e in level.events] == [
            ("message", "first"),
            ("message", "third, edited"),
            ("edit", "third, edited"),
        ]
        assert level.events[0].event_id == f"discord:{world.channel}:{first}"
        assert level.events[0].mentions_us
        assert level.events[0].author.trusted
        assert {first, third} <= level.standing  # and a notice of Discord's own
        assert level.covers == since
        inside = await chat.missed(at(world, world.channel, first), since, 100)
        # The thread's starter stands in the channel.
        assert [e.message_id for e in inside.events] == [first, second]
        assert inside.events[1].key.root == thread
        assert (await chat.missed(at(world, world.channel), time.time() + 60.0, 9)).events == ()
        assert (await chat.missed(at(world, world.channel), since, 1)).covers is None
        assert ears.events == []  # nobody is handed what nobody asked for
        world.deny(world.channel, "read_message_history")  # Discord gives an empty history then
        unsure = lambda: chat.missed(at(world, world.channel), since, 100)  # noqa: E731
        async with asyncio.timeout(10):
            while (await unsure()).covers is not None:
                await asyncio.sleep(0.01)


async def test_what_is_gone_or_written_directly_is_told_by_the_histories(world, chat, ears):
    asked = await ears_of(world, ears)
    world.alice.delete(world.channel, asked)
    since = time.time() - 60.0
    gone = await chat.missed(at(world, world.channel, asked), since, 100)
    assert (gone.events, gone.standing, gone.covers) == ((), frozenset(), since)
    told = world.alice.write("psst")
    direct = await chat.missed(ConversationKey("discord", "", world.alice.dm, ""), since, 100)
    assert [(e.message_id, e.direct, e.author.trusted) for e in direct.events] == [
        (told, True, True)
    ]


async def ears_of(world, ears) -> str:
    ident = world.alice.ask(world.channel, "never mind")
    await ears.event("never mind")
    return ident


async def test_a_session_that_goes_on_leaves_nothing_to_be_read(world, chat, ears):
    known = at(world, world.channel, "1")
    world.alice.ask(world.channel, "before")
    await ears.event("before")
    await world.gateway.disconnect()
    await world.until(lambda: ears.readies == 2, 20)
    assert await chat.places(world.guild, time.time(), (known,)) == ()
    world.gateway.forget_sessions()
    await world.gateway.disconnect()
    await world.until(lambda: ears.readies == 3, 20)
    assert known in await chat.places(world.guild, time.time() - 60.0, (known,))


async def test_many_deletions_at_once_and_of_a_whole_thread(world, chat, ears):
    ids = [world.alice.say(world.channel, f"n{n}") for n in range(3)]
    await ears.event("n2")
    world.backend.bulk_delete_messages(int(world.channel), [int(i) for i in ids[:2]])
    await world.until(lambda: len(ears.of("delete")) == 2)
    assert {e.message_id for e in ears.of("delete")} == set(ids[:2])
    thread = world.alice.open_thread(world.channel, "t", ids[2])
    world.backend.delete_channel(int(thread))
    await world.until(lambda: len(ears.of("delete")) == 3)
    gone = ears.of("delete")[2]
    assert (gone.key, gone.message_id) == (at(world, world.channel, thread), "")
    forum = world.make_channel("help", forum=True)
    post = world.alice.forum_post(forum, "how?")
    world.alice.first_message(post, "how do I?")
    await ears.event("how do I?")
    world.backend.delete_channel(int(post))
    await world.until(lambda: len(ears.of("delete")) == 5)
    assert [e.message_id for e in ears.of("delete")[3:]] == ["", post]


async def test_a_thread_that_is_unlocked_is_told(world, chat, ears):
    ident = world.alice.say(world.channel, "root")
    thread = world.alice.open_thread(world.channel, "t", ident)
    world.archive(thread, locked=True)
    world.backend.edit_channel(
        int(thread), {}, thread_metadata={"archived": False, "locked": False}
    )
    await world.until(lambda: ears.of("channel"))
    assert ears.of("channel")[0].key == at(world, world.channel, thread)
