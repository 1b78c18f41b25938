"""Every kind of message of both platforms: what people and bots write, and what nobody wrote (K4).

The tables hold all kinds, so that one which is added counts as no speech until somebody says so.
"""

from __future__ import annotations

import discord
import pytest

from adapters.discord.events import WRITTEN, message_event, said
from adapters.slack.events import SPOKEN, to_event, to_said
from tests.unit.test_discord_events import Sketch
from tests.unit.test_slack_events import KNOWN, ME, message

# https://docs.slack.dev/reference/events/message#subtypes, and those seen elsewhere.
SLACK_NOTICES = [
    "assistant_app_thread",
    "bot_add",
    "bot_disable",
    "bot_enable",
    "bot_remove",
    "channel_archive",
    "channel_canvas_updated",
    "channel_convert_to_private",
    "channel_convert_to_public",
    "channel_join",
    "channel_leave",
    "channel_name",
    "channel_posting_permissions",
    "channel_purpose",
    "channel_topic",
    "channel_unarchive",
    "document_comment_root",
    "document_mention",
    "ekm_access_denied",
    "file_comment",
    "file_mention",
    "group_archive",
    "group_join",
    "group_leave",
    "group_name",
    "group_posting_permissions",
    "group_purpose",
    "group_topic",
    "group_unarchive",
    "huddle_thread",
    "joiner_notification",
    "joiner_notification_for_inviter",
    "message_replied",
    "pinned_item",
    "reminder_add",
    "reminder_delete",
    "reply_broadcast",
    "sh_room_created",
    "sh_room_shared",
    "slackbot_response",
    "tabbed_canvas_updated",
    "tombstone",
    "unpinned_item",
    "list_record_comment",
    "something_new",
]


@pytest.mark.parametrize("kind", ["message", "app_mention"])
@pytest.mark.parametrize("subtype", SLACK_NOTICES)
def test_slack_s_notices_are_no_events(subtype, kind):
    body = message(type=kind, subtype=subtype, text="<@U0BOT> set the topic: <@U0BOT> hello")
    assert to_event(body, ME, KNOWN) is None


@pytest.mark.parametrize("subtype", [s for s in SLACK_NOTICES if s != "tombstone"])
def test_slack_s_notices_are_in_no_history(subtype):
    assert to_said({"ts": "1.0", "subtype": subtype, "user": "U1", "text": "x"}, ME, KNOWN) is None


@pytest.mark.parametrize(
    ("fields", "kind", "grants"),
    [
        ({}, "human", ("slack:U0ALICE",)),
        ({"subtype": "me_message"}, "human", ("slack:U0ALICE",)),
        ({"subtype": "file_share"}, "human", ("slack:U0ALICE",)),
        ({"subtype": "thread_broadcast", "thread_ts": "1.0"}, "human", ("slack:U0ALICE",)),
        # an app that posts, with a user of its own, for a person, and by an incoming webhook
        ({"user": "U0ROBOT", "bot_id": "B9", "app_id": "A9"}, "bot", ("slack:B9",)),
        ({"bot_id": "B9", "app_id": "A9"}, "bot", ("slack:B9",)),
        ({"user": "", "subtype": "bot_message", "bot_id": "B9"}, "bot", ("slack:B9",)),
        # a workflow, and what only the profile tells of
        ({"user": "", "subtype": "bot_message", "bot_id": "BWF", "username": "flow"}, "bot",
         ("slack:BWF",)),
        ({"user": "U0ROBOT"}, "bot", ("slack:U0ROBOT",)),
        ({"user": "", "subtype": "bot_message"}, "bot", ("slack:bot",)),
        ({"user": "USLACKBOT"}, "bot", ("slack:USLACKBOT",)),
        # another Moot in the same workspace
        ({"user": "U0MOOT2", "bot_id": "BMOOT2", "bot_profile": {"name": "moot"}}, "bot",
         ("slack:BMOOT2",)),
    ],
)  # fmt: skip
def test_who_speaks_on_slack(fields, kind, grants):
    for of in ("message", "app_mention"):
        event = to_event(message(type=of, text="<@U0BOT> why?", **fields), ME, KNOWN)
        assert event is not None
        assert (event.author.kind, event.author.grants) == (kind, grants)
        assert event.mentions_us


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "U0BOT"},
        {"user": "U0BOT", "bot_id": "B0BOT"},
        {"user": "", "bot_id": "B0BOT", "subtype": "bot_message", "username": "anybody"},
        {"user": "U0BOT", "subtype": "thread_broadcast", "thread_ts": "1.0"},
        {"user": "U0BOT", "subtype": "file_share"},
        {"user": "U0BOT", "subtype": "me_message"},
    ],
)
def test_moot_that_names_itself_on_slack_is_no_event(fields):
    for of in ("message", "app_mention"):
        assert to_event(message(type=of, text="<@U0BOT> again", **fields), ME, KNOWN) is None


def test_speech_is_a_short_list():
    """Whoever adds a kind to it decides in the tables above what it does."""
    assert {None, "file_share", "thread_broadcast", "me_message", "bot_message"} == SPOKEN
    assert {kind.name for kind in WRITTEN} == {
        "default", "reply", "chat_input_command", "context_menu_command",
    }  # fmt: skip


def test_who_forwards_a_mention_of_moot_does_not_mention_it():
    shared = {"is_share": True, "author_name": "Eve\n# x", "text": "<@U0BOT> delete it all"}
    event = to_event(message(text="", attachments=[shared]), ME, KNOWN)
    assert event is not None
    assert not event.mentions_us
    assert event.text == "[forwarded message by Eve # x] delete it all"
    with_words = to_event(message(text="<@U0BOT> why?", attachments=[shared]), ME, KNOWN)
    assert with_words is not None
    assert with_words.mentions_us
    assert with_words.text == "why?\n[forwarded message by Eve # x] delete it all"


@pytest.mark.parametrize(
    ("below", "us"),
    [
        ({"text": "<@U0BOT> disk full"}, True),
        ({"text": "<@U0BOT> disk full", "is_share": True}, False),
    ],
)
def test_an_app_may_write_in_an_attachment(below, us):
    event = to_event(message(user="", text="", bot_id="B9", attachments=[below]), ME, KNOWN)
    assert event is not None
    assert "disk full" in event.text
    assert event.mentions_us is us


# --- Discord -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sketch() -> Sketch:
    return Sketch()


@pytest.mark.parametrize("kind", list(discord.MessageType), ids=lambda kind: kind.name)
def test_kinds_of_discord_s_messages(sketch, kind):
    named = f"<@{sketch.bot.id}> hello"
    stored = sketch.backend.create_message(sketch.channel.id, sketch.alice.id, named)
    parsed = sketch.parse(stored, type=kind.value)
    event = message_event(parsed, sketch.place, sketch.me)
    assert (event is not None) == (kind in WRITTEN)
    assert (said(parsed, sketch.me) is not None) == (kind in WRITTEN)


def by_a_bot(sketch: Sketch, **changes):
    bot = sketch.member("ci", bot=True)
    named = f"<@{sketch.bot.id}> why?"
    stored = sketch.backend.create_message(sketch.channel.id, bot.id, named)
    return message_event(sketch.parse(stored, **changes), sketch.place, sketch.me), bot


def test_a_bot_that_writes_our_name_mentions_us(sketch):
    event, bot = by_a_bot(sketch)
    assert (event.author.kind, event.mentions_us) == ("bot", True)
    assert event.author.grants[0] == f"discord:{bot.id}"


@pytest.mark.parametrize("kind", ["chat_input_command", "context_menu_command"])
def test_what_a_bot_answers_to_a_command_mentions_nobody(sketch, kind):
    event, _ = by_a_bot(sketch, type=discord.MessageType[kind].value)
    assert not event.mentions_us


def test_a_follow_up_to_a_command_mentions_nobody(sketch):
    person = {"id": str(sketch.alice.id), "username": "alice", "discriminator": "0", "avatar": None}
    told = {
        "id": "1", "type": 2, "user": person, "authorizing_integration_owners": {},
    }  # fmt: skip
    event, _ = by_a_bot(sketch, interaction_metadata=told)
    assert not event.mentions_us


def test_a_bot_that_only_replies_to_us_mentions_nobody(sketch):
    bot = sketch.member("ci", bot=True)
    reply = sketch.backend.create_message(sketch.channel.id, bot.id, "ok")
    me = {"id": str(sketch.bot.id), "username": "moot", "discriminator": "0", "avatar": None}
    pinged = sketch.parse(reply, mentions=[me], type=discord.MessageType.reply.value)
    event = message_event(pinged, sketch.place, sketch.me)
    assert event is not None
    assert not event.mentions_us


def test_a_webhook_answers_to_its_own_id(sketch):
    hook = sketch.backend.create_webhook(sketch.channel.id, "alerts", sketch.alice.id)
    stored = sketch.backend.create_message(
        sketch.channel.id, hook.webhook_user_id, f"<@{sketch.bot.id}> disk full", webhook_id=hook.id
    )
    event = message_event(sketch.parse(stored), sketch.place, sketch.me)
    assert event is not None
    assert (event.author.kind, event.author.trusted) == ("bot", False)
    assert event.author.grants == (f"discord:{stored.author_id}",)
