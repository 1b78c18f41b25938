"""Slash commands and buttons, answered in time."""

from __future__ import annotations

import time

import pytest

from adapters.discord import inbox
from core.errors import ChatUnsure
from core.model import Button, ConversationKey, Reply
from tests.integration.discord.room import asked, post, running


async def test_a_command_at_channel_level_and_the_thread_its_first_post_opens(world, chat, ears):
    ears.reply = Reply("Asked **claude**.")
    sent = world.alice.slash(
        world.channel, "ask", question="why? -- really", engine="claude", persona="critic"
    )
    event = await ears.event(kind="command")
    assert event.command == "ask"
    assert event.text == "why? -- really --engine claude --as critic"
    assert event.key == ConversationKey("discord", world.guild, world.channel, "")
    shown = await sent.answer()
    assert shown.ephemeral
    assert shown.text == "Asked **claude**."
    posted = await chat.post(event.key, post("Alice asks: why?", opens=True, title="why?"))
    assert posted.root == posted.message_id
    assert world.posts(world.channel) == ["Alice asks: why?"]
    key = ConversationKey("discord", world.guild, world.channel, posted.root)
    await chat.post(key, post("because"))
    assert world.posts(posted.root) == ["because"]
    await chat.edit(key, posted.message_id, post("Alice asked: why?"))
    assert world.posts(world.channel) == ["Alice asked: why?"]
    world.bob.say(posted.root, "thanks")
    assert (await ears.event("thanks")).key == key


async def test_opening_is_done_once_whichever_reply_is_lost(world, chat):
    key = ConversationKey("discord", world.guild, world.channel, "")
    for number, path in enumerate(("/channels/*/messages", "/channels/*/messages/*/threads")):
        opening = post(f"topic {number}", opens=True, title="t")
        world.faults.lose_reply(path=path)
        with pytest.raises(ChatUnsure):
            await chat.post(key, opening)
        await chat.post(key, post(f"topic {number}", opens=True, title="t", tried_at=time.time()))
    await world.until(lambda: len(world.threads()) == 2)
    assert world.posts(world.channel) == ["topic 0", "topic 1"]


async def test_an_opening_with_an_equal_text_is_not_taken_for_another(world, chat):
    key = ConversationKey("discord", world.guild, world.channel, "")
    first = await chat.post(key, post("Alice asks", "n1", opens=True))
    long_ago = time.time() - 100
    second = await chat.post(key, post("Alice asks", "n2", opens=True, tried_at=long_ago))
    third = await chat.post(key, post("Alice asks", "n3", opens=True, tried_at=long_ago - 900))
    assert len({first.root, second.root, third.root}) == 3


async def test_roundtable_options_and_a_command_in_a_thread(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post("one"))
    world.alice.slash(
        event.key.root,
        "roundtable",
        topic="SQL or files?",
        participants="architect:claude, critic:codex",
        rounds=2,
    )
    command = await ears.event(kind="command")
    assert command.text == "SQL or files? --with architect:claude,critic:codex --rounds 2"
    assert command.key == event.key
    assert command.in_thread
    world.alice.slash(event.key.root, "stop")
    await world.until(lambda: len(ears.of("command")) == 2)
    assert ears.of("command")[1].key == event.key
    assert ears.of("command")[1].text == ""


async def test_a_command_in_a_direct_message(world, ears):
    world.alice.slash(world.alice.dm, "status")
    event = await ears.event(kind="command")
    assert event.direct
    assert event.author.trusted


async def test_an_interaction_is_answered_in_time_though_the_intake_is_slow(world, ears):
    ears.delay_s, ears.reply = 3.5, Reply("Done.")
    sent = world.alice.slash(world.channel, "status")
    await sent.done(timeout_s=2.9)
    shown = await sent.answer()
    assert (shown.text, shown.ephemeral) == ("Done.", True)


async def test_an_interaction_that_is_never_taken_says_so(world, ears, monkeypatch):
    monkeypatch.setattr(inbox, "INTERACTION_PATIENCE_S", 0.5)
    ears.failures = 1_000
    sent = world.alice.slash(world.channel, "status")
    assert "try again" in (await sent.answer()).text
    ears.failures = 0
    world.alice.ask(world.channel, "better now?")  # the queue goes on
    await ears.event("better now?")
    assert ears.of("command") == []


async def test_a_command_delivered_twice_is_one(world, ears):
    world.gateway.duplicate = 1
    sent = world.alice.slash(world.channel, "status")
    await sent.answer()
    world.alice.say(world.channel, "end")
    await ears.event("end")
    assert len(ears.of("command")) == 1


async def test_a_button_click_survives_a_restart(world):
    async with running(world) as (chat, ears):
        event = await asked(world, ears)
        await chat.post(
            event.key, post("working …", buttons=(Button("stop:12", "Stop", "danger"),))
        )
    async with running(world) as (chat, ears):
        shown = await world.message(event.key.root, "working")
        assert shown.buttons == (("stop:12", "Stop"),)
        ears.reply = Reply("Sure?", (Button("yes:12", "Yes"),))
        click = world.bob.click(shown, label="Stop")
        event2 = await ears.event("stop:12", "button")
        assert event2.key == event.key
        assert event2.message_id == shown.id
        assert event2.author.id == world.bob.id
        answer = await click.answer()
        assert answer.ephemeral
        assert answer.buttons == (("yes:12", "Yes"),)
        ears.reply = None
        click = world.bob.click(answer, "yes:12")
        await ears.event("yes:12", "button")
        await click.done()
        assert click.messages == []
        await chat.edit(event.key, shown.id, post("stopped"))
        assert (await world.message(event.key.root, "stopped")).buttons == ()


async def test_commands_are_registered_once(world):
    def registrations() -> int:
        return sum(m == "PUT" and "commands" in p for m, p in world.requests)

    async with running(world):
        assert registrations() == 1
        await world.gateway.disconnect()
    async with running(world):
        pass
    assert registrations() == 1
    names = {name for name, _ in world.backend.commands[None]}
    assert names == {
        *("ask", "roundtable", "recall", "stop", "status", "context", "usage", "resume"),
        *("continue", "moot", "home", "Ask about this", "Branch from here"),
    }
