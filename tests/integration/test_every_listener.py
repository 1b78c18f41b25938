"""Every listener that is really registered with slack-bolt and discord.py, driven by strangers.

The lists come from the libraries' own registers: a handler that is added shows up here. Whatever a
stranger sends through any of them reaches intake, and no row changes by it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from slack_bolt.request.async_request import AsyncBoltRequest

from adapters.discord.chat import DiscordChat, DiscordConfig
from adapters.discord.client import MootClient
from adapters.slack.api import Api
from adapters.slack.events import Identity
from adapters.slack.forms import to_view
from adapters.slack.inbox import Inbox
from adapters.slack.manifest import COMMANDS, EVENTS, SHORTCUTS
from adapters.slack.names import People
from bridge.access import Door
from bridge.commands import Convene
from bridge.forms import roundtable_form
from bridge.intake import Intake
from core.model import Button, ChatEvent, ConversationKey, Post, Reply
from core.records.thread import Records
from tests.integration.discord.room import world as discord_world
from tests.integration.test_every_door import NOTED, SAID, Watched
from tests.integration.test_intake import POLICY
from tests.peers.discord import LoopbackDiscord

world = discord_world
ME = Identity("T", "UBOT", "BBOT")
MESSAGE = {"channel": "C", "ts": "51.0", "user": "UEve", "text": "<@UBOT> !stop", "thread_ts": "1"}
EVE = {"id": "UEve", "team_id": "T", "name": "eve"}
CLICK = {
    "type": "block_actions",
    "user": EVE,
    "trigger_id": "t1",
    "channel": {"id": "C"},
    "container": {"channel_id": "C", "message_ts": "2", "thread_ts": "1"},
    "message": {"ts": "2", "thread_ts": "1"},
    "actions": [{"action_id": "a", "block_id": "b", "value": "stop:1", "action_ts": "52.0"}],
}


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Watched]:
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    made = Watched(records)
    await made.say("the plan?", mention=True)
    made.woken_all.clear()
    yield made
    await records.close()


def of_events(kind: str) -> list[dict[str, Any]]:
    """Payloads of one of the manifest's events, as a stranger causes them."""
    said = {"type": "message", **MESSAGE, "channel_type": kind.partition(".")[2].rstrip("s")}
    match kind:
        case "app_mention":
            return [{**MESSAGE, "type": "app_mention", "ts": "53.0"}]
        case "app_home_opened":
            return [
                {"type": kind, "tab": "home", "user": "UEve", "channel": "D9", "event_ts": "54"}
            ]
        case "user_change":
            return [{"type": kind, "user": {"id": "UEve"}}]
        case "subteam_members_changed" | "subteam_updated":
            return [{"type": kind, "subteam_id": "S1", "subteam": {"id": "S1"}}]
        case "channel_shared" | "channel_unshared":
            return [{"type": kind, "channel": "C"}]
        case "message.channels":
            edited = {**said, "text": "<@UBOT> other", "edited": {"user": "UEve", "ts": "55"}}
            changed = {"type": "message", "subtype": "message_changed", "channel": "C"}
            gone = {"type": "message", "subtype": "message_deleted", "channel": "C"}
            return [
                said,
                {**changed, "message": edited, "previous_message": said, "event_ts": "55"},
                {**gone, "deleted_ts": "51.0", "previous_message": said, "event_ts": "56"},
                {
                    "type": "message",
                    "subtype": "channel_convert_to_private",
                    "channel": "C",
                    "ts": "57.0",
                },
            ]
        case "message.groups" | "message.im" | "message.mpim":
            return [{**said, "ts": f"58.{len(kind)}"}]
    raise AssertionError(f"what does a stranger send as {kind}? Add it here")


def by_listener() -> dict[str, list[dict[str, Any]]]:
    """For each of Bolt's listeners what a stranger may send through it."""
    key = ConversationKey("slack", "T", "C", "1")
    form = roundtable_form(Convene("x"), POLICY.tables, POLICY.names)
    view = {**to_view(form, key), "id": "V1", "state": {"values": {}}}
    shortcut = {
        "type": "message_action",
        "user": EVE,
        "trigger_id": "t2",
        "channel": {"id": "C"},
        "message_ts": "1",
        "message": {"type": "message", "ts": "1", "user": "U1", "text": "the plan?"},
        "team": {"id": "T"},
    }
    home = {**CLICK, "trigger_id": "t3", "view": {"type": "home", "private_metadata": "D9"}}
    return {
        "_on_event": [
            {"type": "event_callback", "team_id": "T", "event": one}
            for kind in EVENTS
            for one in of_events(kind)
        ],
        "_on_command": [
            {
                "command": name,
                "text": "stop",
                "user_id": "UEve",
                "channel_id": "C",
                "team_id": "T",
                "trigger_id": f"c{name}",
            }
            for name in COMMANDS
        ],
        "_on_action": [CLICK, home],
        "_on_form": [{"type": "view_submission", "user": EVE, "view": view, "team": {"id": "T"}}],
        "_on_shortcut": [{**shortcut, "callback_id": name} for name in SHORTCUTS],
    }


async def test_every_listener_of_slack_leads_through_the_door(house: Watched) -> None:
    before = await house.rows(*NOTED)
    taken: list[ChatEvent] = []

    async def accept(event: ChatEvent) -> Reply | None:
        taken.append(event)
        return await house.intake.accept(event)

    # Nobody can be looked up: whoever acts is a stranger.
    api = Api("xoxb-x", "http://127.0.0.1:9/api/")
    inbox = Inbox(api, People(api, deadline_s=0.2), ME, accept)
    app = inbox.bolt("http://127.0.0.1:9/api/", "")
    listeners = {one.ack_function.__name__ for one in app._async_listeners}
    sent = by_listener()
    assert listeners == set(sent), "a new listener: add what a stranger may send through it"
    for payloads in sent.values():
        for body in payloads:
            answer = await app.async_dispatch(AsyncBoltRequest(body=body, mode="socket_mode"))
            assert answer.status == 200, body
    await inbox.settle()
    kinds = {event.kind for event in taken}
    assert kinds == {
        "message",
        "edit",
        "delete",
        "channel",
        "command",
        "button",
        "form",
        "shortcut",
        "home",
    }
    assert all(not event.author.trusted for event in taken)
    now = await house.rows(*NOTED, *SAID, "conversation")
    assert now == {name: before[name] for name in now}
    assert house.woken_all == []
    assert await house.turns() == [("the plan?", "queued")]


# What discord.py calls in our client, and what that leads to.
ACTS = {"on_message", "on_raw_message_edit", "on_interaction"}
TELLS = {
    *("on_connect", "on_disconnect", "on_ready", "on_resumed", "on_error"),
    *("on_guild_available", "on_guild_join", "on_guild_channel_update", "on_guild_role_update"),
    *("on_raw_message_delete", "on_raw_bulk_message_delete"),
    *("on_raw_thread_delete", "on_raw_thread_update"),
}


async def test_every_way_in_of_discord_leads_through_the_door(
    house: Watched, world: LoopbackDiscord
) -> None:
    assert {name for name in vars(MootClient) if name.startswith("on_")} == ACTS | TELLS
    before = await house.rows(*NOTED)
    taken: list[ChatEvent] = []
    doors = [house.intake]
    ready = asyncio.Event()

    async def accept(event: ChatEvent) -> Reply | None:
        taken.append(event)
        reply = await doors[-1].accept(event)
        world.ring()
        return reply

    chat = DiscordChat(DiscordConfig(world.token, world.api_url))
    task = asyncio.create_task(chat.run(accept, ready.set))
    try:
        async with asyncio.timeout(20):
            await ready.wait()
        alice, channel = world.alice, world.channel
        posted = await chat.post(
            ConversationKey("discord", world.guild, channel, ""),
            Post("n1", "a question", (Button("stop:1", "Stop"),)),
        )
        ours = await world.message(channel, "a question")
        await alice.click(ours, "stop:1").answer()
        registered = [c for per in world.backend.commands.values() for c in per.values()]
        for command in registered:
            if command["type"] == 1:
                needed = {o["name"]: "x" for o in command["options"] if o.get("required")}
                text = (await alice.slash(channel, command["name"], **needed).answer()).text
                assert "may not use Moot" in text or "works here for the people" in text
                for option in command["options"]:
                    if option.get("autocomplete"):
                        assert await alice.offered(channel, command["name"], option["name"]) == []
            else:
                told = alice.shortcut(command["name"], channel, posted.message_id)
                assert "may not use Moot" in (await told.answer()).text
        asked = alice.ask(channel, "!stop")
        await world.until(lambda: any(e.message_id == asked for e in taken))
        kinds = {event.kind for event in taken}
        assert kinds >= {"message", "command", "button", "shortcut", "complete"}
        # A form that was opened by somebody who lost the right meanwhile.
        doors.append(_door(house, f"discord:{alice.id}"))
        opened = alice.slash(channel, "roundtable")
        await world.until(lambda: opened.record.modal is not None)
        doors.append(_door(house))
        sent = alice.submit(opened, topic="which?")
        assert "may not use Moot" in (await sent.answer()).text
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    now = await house.rows(*NOTED, *SAID, "conversation")
    assert now == {name: before[name] for name in now}
    assert await house.turns() == [("the plan?", "queued")]


def _door(house: Watched, *allow: str) -> Intake:
    return Intake(
        house.records,
        Door(allow),
        POLICY,
        lambda _chat, text: (text,),
        on_turn=lambda: None,
        on_post=lambda: None,
        on_stop=lambda _: None,
        on_skip=lambda *_: None,
    )
