"""What Slack's histories tell of the time when nobody listened."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest

from adapters.slack.chat import SlackChat, SlackConfig
from core.model import ConversationKey, Post
from core.ports import WithHistory
from tests.peers.slack import BOB, DEV, GENERAL, TEAM, LoopbackSlack

pytestmark = pytest.mark.peers


@pytest.fixture
async def slack() -> AsyncIterator[LoopbackSlack]:
    async with LoopbackSlack() as running_slack:
        yield running_slack


@pytest.fixture
def chat(slack) -> SlackChat:
    return SlackChat(
        SlackConfig(bot_token=slack.bot_token, app_token=slack.app_token, api_url=slack.api_url)
    )


def at(channel: str, root: str = "") -> ConversationKey:
    return ConversationKey("slack", TEAM, channel, root)


async def test_a_channels_level_its_edits_and_the_threads_with_news(slack, chat) -> None:
    assert isinstance(chat, WithHistory)
    old = await slack.say("old")
    quiet = await slack.say("quiet")
    since = float(quiet)
    asked = await slack.mention("why?")
    changed = await slack.mention("how?")
    await slack.edit(changed, "<@U0BOT> how then?")
    await slack.say("below the old one", thread=old, user=BOB)
    await chat.post(at(GENERAL, asked), Post("n1", "an answer"))
    slack.api.page_max = 2  # pages of Slack's own choice
    found = await chat.missed(at(GENERAL), since, 100)
    channel, *spoken = found.events
    assert (channel.kind, channel.public, channel.shared) == ("channel", True, False)
    kinds = [(e.kind, e.message_id, e.text, e.mentions_us) for e in spoken]
    assert kinds == [
        ("message", asked, "why?", True),
        ("message", changed, "how then?", True),
        ("edit", changed, "how then?", True),
    ]
    assert [e.event_id for e in spoken[:2]] == [
        f"slack:{TEAM}:{GENERAL}:{asked}",
        f"slack:{TEAM}:{GENERAL}:{changed}",
    ]
    assert spoken[0].author.trusted
    slack.api.channel_flags[GENERAL] = {"is_private": True}
    assert not (await chat.missed(at(GENERAL), since, 100)).events[0].public
    assert found.covers == since
    assert {asked, changed} <= found.standing
    assert set(found.threads) == {at(GENERAL, old), at(GENERAL, asked)}


async def test_a_thread_with_what_is_gone_from_it(slack, chat) -> None:
    root = await slack.mention("first")
    gone = await slack.say("gone", thread=root)
    kept = await slack.say("kept", thread=root)
    await slack.delete(gone)
    found = await chat.missed(at(GENERAL, root), float(root) - 1.0, 100)
    assert [e.message_id for e in found.events] == [root, kept]
    assert found.standing == {root, kept}
    assert found.events[1].in_thread
    await slack.delete(root)  # others had replied: Slack leaves a mark
    found = await chat.missed(at(GENERAL, root), float(root) - 1.0, 100)
    assert [(e.kind, e.message_id) for e in found.events] == [("delete", root), ("message", kept)]


async def test_a_question_that_was_deleted_before_anybody_replied(slack, chat) -> None:
    root = await slack.mention("never mind")
    await slack.delete(root)
    found = await chat.missed(at(GENERAL, root), time.time() - 60.0, 100)
    assert (found.events, found.standing) == ((), frozenset())
    assert found.covers is not None


async def test_what_is_too_much_proves_nothing_gone(slack, chat) -> None:
    root = await slack.mention("first")
    for n in range(4):
        await slack.say(f"reply {n}", thread=root)
    slack.api.page_max = 2
    assert (await chat.missed(at(GENERAL, root), 0.0, 2)).covers is None


async def test_the_places_that_we_are_in(slack, chat) -> None:
    direct = await slack.dm_channel()
    known = at(DEV, "1.5")
    found = await chat.places(TEAM, 0.0, (known,))
    assert found[0] == known
    assert set(found[1:]) == {at(GENERAL), at(DEV), at(direct)}
    assert chat.hears() == frozenset()  # not before it receives
