"""The connection, the history of a thread, and the checks of the doctor."""

from __future__ import annotations

import time

import discord
import pytest

from adapters.discord.chat import DiscordChat, DiscordConfig
from core.errors import BadSettings
from core.model import ConversationKey
from tests.integration.discord.room import Ears, asked, post, running


@pytest.mark.parametrize("how", ["cut", "op 7"])
async def test_what_came_during_a_disconnect_is_replayed(world, ears, how):
    world.alice.ask(world.channel, "before")
    await ears.event("before")
    if how == "cut":
        await world.gateway.disconnect()
    else:
        await world.gateway.ask_to_reconnect()
        await world.until(lambda: not world.gateway.connected)
    world.alice.ask(world.channel, "during")
    await ears.event("during")
    assert world.gateway.resumes == 1
    await world.until(lambda: ears.readies == 2)
    world.alice.ask(world.channel, "after")
    await ears.event("after")
    assert [e.text for e in ears.events] == ["before", "during", "after"]


async def test_a_lost_session_begins_a_new_one(world, ears):
    world.gateway.forget_sessions()
    await world.gateway.disconnect()
    await world.until(lambda: world.gateway.identifies == 2)
    await world.until(lambda: ears.readies == 2)
    world.alice.ask(world.channel, "after")
    await ears.event("after")


async def test_a_refused_token_and_a_missing_intent_say_the_fix(world):
    chat = DiscordChat(DiscordConfig("wrong", world.api_url))
    with pytest.raises(BadSettings, match="MOOT__DISCORD__TOKEN"):
        await chat.run(Ears(world).accept, lambda: None)
    world.approve_message_content(False)
    chat = DiscordChat(DiscordConfig(world.token, world.api_url))
    with pytest.raises(BadSettings, match="Message Content Intent"):
        await chat.run(Ears(world).accept, lambda: None)


async def test_a_login_that_fails_for_a_while_is_tried_again(world):
    world.faults.server_error(503, "GET", "/users/@me")
    async with running(world) as (_, ears):
        world.alice.ask(world.channel, "hello")
        await ears.event("hello")


async def test_a_gateway_that_is_away_at_first_is_tried_again(world, monkeypatch):
    # discord.py gives up on a first connection that fails, after a pause of its own.
    monkeypatch.setattr(discord.backoff.ExponentialBackoff, "delay", lambda _: 0.0)
    world.gateway.refuse = 1
    async with running(world) as (_, ears):
        world.alice.ask(world.channel, "hello")
        await ears.event("hello")


async def test_a_gateway_that_never_answers_the_close_does_not_hold_up_the_end(world):
    world.gateway.deaf = True
    async with running(world) as (_, ears):
        world.alice.ask(world.channel, "hello")
        await ears.event("hello")
        began = time.monotonic()
    assert time.monotonic() - began < 10


async def test_events_that_wait_are_taken_before_the_end(world):
    async with running(world) as (_, ears):
        ears.failures = 1  # the first attempt fails, the second comes while it shuts down
        world.alice.ask(world.channel, "just in time")
        await world.until(lambda: ears.failures == 0)
    assert [e.text for e in ears.events] == ["just in time"]


async def test_a_member_of_a_server_not_known_yet_is_looked_up(world, chat, ears):
    role = world.role("ops")
    world.backend.add_member_role(int(world.guild), int(world.alice.id), int(role))
    chat._client._connection._guilds.clear()  # as before its GUILD_CREATE has come
    ident = world.alice.ask(world.channel, "early bird")
    event = await ears.event("early bird")
    assert event.key == ConversationKey("discord", world.guild, world.channel, ident)
    assert event.author.trusted
    assert f"discord:{world.guild}:role:{role}" in event.author.grants


async def test_the_token_never_resumes_elsewhere(world, ears):
    world.gateway.resume_url = "ws://gateway.invalid/"
    world.gateway.forget_sessions()
    await world.gateway.disconnect()  # the new session's READY names another host
    await world.until(lambda: ears.readies == 2)
    await world.gateway.disconnect()
    await world.until(lambda: world.gateway.resumes == 2)


async def test_c038_a_thread_is_told_with_its_starter_and_with_our_posts_as_an_agents(world, chat):
    bot = world.person("ci", bot=True)
    root = bot.say(world.channel, "build 41 failed: log …")
    thread = world.alice.open_thread(world.channel, "build", root)
    world.alice.say(thread, "who?")
    key = ConversationKey("discord", world.guild, world.channel, root)
    await chat.post(key, post("an answer"))
    world.bob.say(thread, f"{world.mention} why, {world.alice.mention}?")
    said = await chat.thread(key, 10)
    assert [(s.author.name, s.author.kind, s.text) for s in said] == [
        ("Ci", "bot", "build 41 failed: log …"),
        ("Alice", "human", "who?"),
        (said[2].author.name, "agent", "an answer"),
        ("Bob", "human", f"why, @Alice ({world.alice.id})?"),
    ]
    assert all(s.author.trusted for s in (said[1], said[3]))  # looked up: a history tells no roles
    assert not any(s.gap or s.gone for s in said)
    short = await chat.thread(key, 2)
    assert [s.gap for s in short] == [False, True]
    assert [s.text for s in short] == [
        "build 41 failed: log …",
        f"why, @Alice ({world.alice.id})?",
    ]
    world.bob.delete(world.channel, root)
    said = await chat.thread(key, 10)
    assert [s.gone for s in said] == [True, False, False, False]


async def test_the_history_of_a_message_without_a_thread_and_of_a_direct_channel(world, chat, ears):
    event = await asked(world, ears)
    assert [s.text for s in await chat.thread(event.key, 10)] == ["question"]
    world.alice.write("one")
    world.alice.write("two")
    key = ConversationKey("discord", "", world.alice.dm, "")
    assert [s.text for s in await chat.thread(key, 10)] == ["one", "two"]
    assert [s.text for s in await chat.thread(key, 1)] == ["two"]


async def test_checks_are_green_when_all_is_well(world):
    checks = await DiscordChat(DiscordConfig(world.token, world.api_url)).checks()
    assert all(check.ok for check in checks), checks
    assert len(checks) == 3


async def test_channels_that_projects_name_are_looked_at(world):
    chat = DiscordChat(DiscordConfig(world.token, world.api_url))
    checks = await chat.checks((world.channel, "123456789012345678", "general"))
    lines = {check.name: check for check in checks if check.name.startswith("discord channel ")}
    assert lines[f"discord channel {world.channel}"].ok
    for wrong in ("123456789012345678", "general"):
        assert "correct the id" in lines[f"discord channel {wrong}"].fix


async def test_checks_say_when_discord_cannot_be_reached(world):
    world.faults.server_error(503, "GET", "/users/@me")
    (check,) = await DiscordChat(DiscordConfig(world.token, world.api_url)).checks()
    assert not check.ok
    assert "503" in check.detail
    assert check.fix


async def test_checks_name_the_fix(world):
    world.approve_message_content(False)
    for role in world.backend.guilds[int(world.guild)].roles.values():
        role.permissions = 1 << 10  # View Channel only
    checks = await DiscordChat(DiscordConfig(world.token, world.api_url)).checks()
    failing = {check.name: check for check in checks if not check.ok}
    assert set(failing) == {"discord message content intent", "discord servers"}
    assert all(check.fix for check in failing.values())
    assert "create public threads" in failing["discord servers"].detail
    link = failing["discord servers"].fix
    assert f"client_id={world.backend.application_id}" in link
    assert "scope=bot+applications.commands" in link
    for token, detail in (
        ("", "none"),
        ("0123456789abcdef" * 4, "public key"),
        ("justonepart", "three parts"),
        ("a.b.c", "refuses"),
    ):
        (check,) = await DiscordChat(DiscordConfig(token, world.api_url)).checks()
        assert not check.ok
        assert detail in check.detail
        assert check.fix


async def test_the_doctor_names_people_and_roles_that_do_not_exist(world):
    role = world.role("devs")
    chat = DiscordChat(DiscordConfig(world.token, world.api_url))
    known = (f"discord:{world.alice.id}", f"discord:{world.guild}:role:{role}")
    checks = await chat.checks((), (*known, "slack:U1"))
    assert {c.name: c.detail for c in checks}["discord people"] == "2 named, all known"
    wrong = ("discord:99", f"discord:{world.guild}:role:98", "discord:97:role:1")
    [line] = [c for c in await chat.checks((), (*known, *wrong)) if c.name == "discord people"]
    assert not line.ok
    for what in ("no person 99", "no role 98", "in no server 97"):
        assert what in line.detail
