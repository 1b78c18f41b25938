"""One address, one conversation: every way of speaking about a thread has the same key (K3).

Each row is something that happens in one thread; all rows of a table must come to one key, which
also names where the answer goes.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import discord
import pytest

from adapters.discord.events import (
    Place,
    author_of,
    button_event,
    command_event,
    delete_event,
    edit_event,
    message_event,
    place_of,
)
from adapters.discord.forms import form_event
from adapters.slack.beside import to_shortcut
from adapters.slack.events import to_button, to_event
from adapters.slack.forms import to_form, to_view
from adapters.slack.manifest import SHORTCUTS
from core.model import ChatEvent, ConversationKey, Form
from tests.unit.test_discord_events import Sketch
from tests.unit.test_slack_events import KNOWN, ME

# --- Slack -----------------------------------------------------------------------------------

ROOT, REPLY = "10.000001", "10.000005"


def slack_event(**fields: Any) -> ChatEvent | None:
    base = {"type": "message", "user": "U0ALICE", "text": "<@U0BOT> hi"}
    return to_event({"team_id": "T1", "event": base | fields}, ME, KNOWN)


def slack_click(channel: str, thread: str) -> ChatEvent | None:
    message = {"ts": "11.0"} | ({"thread_ts": thread} if thread else {})
    return to_button(
        {
            "trigger_id": "t",
            "user": {"id": "U0ALICE"},
            "container": {"message_ts": "11.0", "channel_id": channel},
            "actions": [{"value": "stop:1", "action_ts": "12.0"}],
            "message": message,
        },
        ME,
        KNOWN,
    )


def slack_form(channel: str, root: str) -> ChatEvent | None:
    key = ConversationKey("slack", "T1", channel, root)
    opened = to_view(Form("about", "t", "s", ()), key)
    view = {"id": "V1", "state": {"values": {}}, **opened}
    return to_form({"view": view, "user": {"id": "U0ALICE"}}, ME, KNOWN, 1.0)


def slack_shortcut(channel: str, ts: str, thread: str) -> ChatEvent | None:
    message = {"ts": ts, "user": "U0ALICE", "text": "x"} | ({"thread_ts": thread} if thread else {})
    body = {
        "callback_id": next(iter(SHORTCUTS)),
        "channel": {"id": channel},
        "message": message,
        "user": {"id": "U0ALICE"},
        "trigger_id": "t",
    }
    return to_shortcut(body, ME, KNOWN, inside=True)


def changed(channel: str, thread: str, **more: Any) -> dict[str, Any]:
    message = {"ts": REPLY, "user": "U0ALICE", "text": "new", "edited": {"ts": "13.0"}, **more}
    if thread:
        message["thread_ts"] = thread
    return {"channel": channel, "subtype": "message_changed", "message": message, "ts": "13.0"}


def in_slack_thread(channel: str) -> dict[str, ChatEvent | None]:
    """All that can happen in the thread of ROOT."""
    inside = {"channel": channel, "ts": REPLY, "thread_ts": ROOT}
    return {
        "reply": slack_event(**inside),
        "reply by mention": slack_event(**inside, type="app_mention"),
        "reply with a file": slack_event(**inside, subtype="file_share", files=[{"id": "F1"}]),
        "edit": slack_event(**changed(channel, ROOT)),
        "deletion": slack_event(
            channel=channel,
            subtype="message_deleted",
            deleted_ts=REPLY,
            previous_message={"ts": REPLY, "thread_ts": ROOT, "user": "U0ALICE"},
        ),
        "button": slack_click(channel, ROOT),
        "form": slack_form(channel, ROOT),
        "shortcut": slack_shortcut(channel, REPLY, ROOT),
    }


@pytest.mark.parametrize("channel", ["C1", "G1", "D1"], ids=["channel", "group", "direct"])
def test_a_slack_thread_is_one_conversation(channel):
    happened = in_slack_thread(channel)
    if channel != "D1":
        root = {"channel": channel, "ts": ROOT}
        happened |= {
            "root": slack_event(**root),
            "root by mention": slack_event(**root, type="app_mention"),
            "root once it has replies": slack_event(**root, thread_ts=ROOT),
            "its edit": slack_event(**changed(channel, "", ts=ROOT)),
            "shortcut on the root": slack_shortcut(channel, ROOT, ""),
            "shortcut on a root with replies": slack_shortcut(channel, ROOT, ROOT),
            # "also send to channel" comes as a message of its own (C041)
            "broadcast": slack_event(
                channel=channel, ts=REPLY, thread_ts=ROOT, subtype="thread_broadcast"
            ),
        }
    keys = {name: event.key if event else None for name, event in happened.items()}
    assert keys == dict.fromkeys(keys, ConversationKey("slack", "T1", channel, ROOT))


def test_c041_a_broadcast_is_one_reply_of_its_thread():
    told = slack_event(channel="C1", ts="5.0", thread_ts="1.0", subtype="thread_broadcast")
    plain = slack_event(channel="C1", ts="5.0", thread_ts="1.0", type="app_mention")
    assert told == plain
    assert told is not None
    assert (told.key.root, told.in_thread, told.mentions_us) == ("1.0", True, True)


def test_a_direct_message_of_slack_is_the_conversation_of_its_channel():
    happened = {
        "message": slack_event(channel="D1", ts=ROOT),
        "one that has replies": slack_event(channel="D1", ts=ROOT, thread_ts=ROOT),
        "edit": slack_event(**changed("D1", "")),
        "button": slack_click("D1", ""),
        "form": slack_form("D1", ""),
        "shortcut": slack_shortcut("D1", ROOT, ""),
    }
    keys = {name: event.key if event else None for name, event in happened.items()}
    assert keys == dict.fromkeys(keys, ConversationKey("slack", "T1", "D1", ""))


# --- Discord ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sketch() -> Sketch:
    return Sketch()


def interaction(sketch: Sketch, **more: Any) -> Any:
    now = discord.utils.utcnow()
    return SimpleNamespace(id=7, created_at=now, **more)


def at_discord_thread(sketch: Sketch, place: Place) -> dict[str, ChatEvent | None]:
    """All that can happen in a thread (or a direct channel)."""
    written = sketch.message("hi")
    author = author_of(written.author)
    ours = SimpleNamespace(id=99, flags=SimpleNamespace(ephemeral=False))
    modal = {"custom_id": "form:about:1:x", "components": []}
    edited = sketch.parse(
        sketch.backend.create_message(sketch.channel.id, sketch.alice.id, "new"),
        edited_timestamp="2026-11-30T12:00:00+00:00",
    )
    return {
        "message": message_event(written, place, sketch.me),
        "edit": edit_event(edited, None, place, sketch.me),
        "deletion": delete_event(int(place.thread or place.channel), 5, place, 1.0),
        "command": command_event(interaction(sketch), place, "ask", "hi", author),
        "button": button_event(
            interaction(sketch, message=ours, data={"custom_id": "stop:1"}), place, author
        ),
        "form": form_event(interaction(sketch, data=modal), place, author),
    }


def test_a_discord_thread_is_one_conversation(sketch):
    guild, channel = str(sketch.guild.id), str(sketch.channel.id)
    root = sketch.backend.create_message(sketch.channel.id, sketch.alice.id, "root")
    at_root = message_event(sketch.parse(root), sketch.place, sketch.me)
    # The thread of a message has its id, whoever makes it, and whenever.
    thread = Place(guild, channel, str(root.id))
    happened = {"root": at_root, **at_discord_thread(sketch, thread)}
    keys = {name: event.key if event else None for name, event in happened.items()}
    assert keys == dict.fromkeys(keys, ConversationKey("discord", guild, channel, str(root.id)))


def test_a_direct_channel_of_discord_is_one_conversation(sketch):
    happened = at_discord_thread(sketch, Place("", "77"))
    keys = {name: event.key if event else None for name, event in happened.items()}
    assert keys == dict.fromkeys(keys, ConversationKey("discord", "", "77", ""))


@pytest.mark.parametrize("kind", [10, 11, 12], ids=["news", "public", "private"])
def test_the_place_of_a_thread_does_not_depend_on_its_name_or_kind(sketch, kind):
    def thread(name: str, parent: int) -> discord.Thread:
        data: Any = {
            "id": "55",
            "guild_id": str(sketch.guild.id),
            "parent_id": str(parent),
            "owner_id": str(sketch.bot.id),
            "name": name,
            "type": kind,
            "message_count": 0,
            "member_count": 1,
            "rate_limit_per_user": 0,
            "thread_metadata": {
                "archived": False,
                "auto_archive_duration": 1440,
                "archive_timestamp": "2026-11-30T12:00:00+00:00",
                "locked": False,
            },
        }
        return discord.Thread(guild=sketch.known, state=sketch.state, data=data)

    first, renamed = (place_of(thread(n, sketch.channel.id), sketch.guild.id) for n in "ab")
    assert first is not None
    assert renamed is not None
    assert first.key("1") == renamed.key("2")
    assert first.key().root == "55"
    assert first.apart == (kind == 12)
    # Whose it is tells that it is ours where what Moot knew of it is lost (C040).
    event = message_event(sketch.message("and now?"), first, sketch.me)
    assert event is not None
    assert event.our_thread
