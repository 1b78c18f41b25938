"""Slack's own growing messages, through the adapter against the loopback Slack."""

from __future__ import annotations

import time

import pytest

from adapters.slack.chat import SlackChat, SlackConfig
from adapters.slack.streams import harmless
from core.errors import ChatRefused
from core.model import ConversationKey, Post
from tests.integration.test_slack_posting import at
from tests.peers.slack import ALICE, DEV, TEAM, Fault, LoopbackSlack

pytestmark = pytest.mark.peers


@pytest.fixture
async def slack():
    async with LoopbackSlack() as running_slack:
        yield running_slack


@pytest.fixture
def chat(slack) -> SlackChat:
    return SlackChat(SlackConfig(slack.bot_token, slack.app_token, api_url=slack.api_url))


def begins(name: str = "claude") -> Post:
    return Post("n1", name, stream=ALICE)


async def test_it_grows_until_it_is_finished_and_becomes_an_answer_by_an_edit(slack, chat):
    root = await slack.say("q")
    key = at(root)
    assert chat.streams_in(key)
    posted = await chat.post(key, begins())
    await chat.append(key, posted.message_id, "It *is* ")
    await chat.append(key, posted.message_id, "fine <!channel> @here")
    [call] = slack.calls("chat.startStream")
    assert (call.args["recipient_user_id"], call.args["recipient_team_id"]) == (ALICE, TEAM)
    assert call.args["thread_ts"] == root == posted.root
    [shown] = await slack.answers(root)
    assert shown.text.startswith("claude\n\nIt *is* fine <")
    assert "<!channel>" not in shown.text
    await chat.finish(key, posted.message_id)
    await chat.finish(key, posted.message_id)  # no error
    with pytest.raises(ChatRefused) as refused:
        await chat.append(key, posted.message_id, "more")
    assert refused.value.code == "over"
    await chat.edit(key, posted.message_id, Post("", "the answer"))
    assert [m.text for m in await slack.answers(root)] == ["the answer"]


async def test_one_that_slack_has_ended_says_so_and_can_still_be_edited(slack, chat):
    slack.api.streams.lasts_s = 0.0
    key = at(await slack.say("q"))
    posted = await chat.post(key, begins())
    with pytest.raises(ChatRefused) as refused:
        await chat.append(key, posted.message_id, "late")
    assert refused.value.code == "over"
    await chat.finish(key, posted.message_id)
    await chat.edit(key, posted.message_id, Post("", "the answer"))
    await chat.delete(key, posted.message_id)
    assert await slack.answers(key.root) == []


async def test_one_that_a_reader_stopped_says_so(slack, chat):
    key = at(await slack.say("q"))
    posted = await chat.post(key, begins())
    slack.api.streams.stop_all()
    with pytest.raises(ChatRefused) as refused:
        await chat.append(key, posted.message_id, "more")
    assert refused.value.code == "stopped"


@pytest.mark.parametrize("code", ["unknown_method", "missing_scope", "not_allowed"])
async def test_where_slack_has_none_that_is_remembered_everywhere(slack, chat, code):
    slack.api.streams.refused = code
    key = at(await slack.say("q"))
    with pytest.raises(ChatRefused) as refused:
        await chat.post(key, begins())
    assert not refused.value.closed  # answers can be posted there all the same
    assert not chat.streams_in(key)
    assert not chat.streams_in(at("1.0", DEV))


async def test_a_thread_that_takes_none_is_remembered_alone(slack, chat):
    slack.api.streams.refused = "user_not_found"
    key = at(await slack.say("q"))
    with pytest.raises(ChatRefused):
        await chat.post(key, begins())
    assert not chat.streams_in(key)
    assert chat.streams_in(at("1.0", DEV))


async def test_a_limit_on_beginning_one_holds_nothing_up(slack, chat):
    headers = {"Retry-After": "30"}
    slack.api.faults.append(Fault("chat.startStream", status=429, headers=headers))
    key = at(await slack.say("q"))
    with pytest.raises(ChatRefused):
        await chat.post(key, begins())


async def test_there_are_none_outside_of_threads(slack, chat):
    direct = await slack.dm_channel()
    assert not chat.streams_in(ConversationKey("slack", TEAM, direct, ""))


async def test_one_whose_beginning_was_lost_is_found_again(slack, chat):
    slack.api.faults.append(Fault("chat.startStream", cut=True, takes_effect=True))
    key, before = at(await slack.say("q")), time.time()
    with pytest.raises(Exception, match="No answer"):
        await chat.post(key, begins())
    [there] = await slack.answers(key.root)
    again = Post("n1", "claude", stream=ALICE, tried_at=before)
    assert (await chat.post(key, again)).message_id == there.ts


SPELT = ("<\\!channel>", "&lt;!here&gt;", "&#60;@U1>", "<&#33;channel>", "@\\here", "&#64;channel")


@pytest.mark.parametrize("text", ["<!channel>", "<@U1>", "@everyone", "<#C1|x>", *SPELT])
def test_nothing_in_it_pings(text):
    assert harmless(text) != text
    assert harmless(f"a < b, x@y.example, {text}").replace("\u200b", "").endswith(text)


@pytest.mark.parametrize("text", ["<!channel>", "<@U1>", "@everyone", "@here", "<#C1|x>"])
def test_nothing_pings_that_comes_in_two_parts(text):
    for half in range(1, len(text)):
        together = harmless(f"a {text[:half]}") + harmless(f"{text[half:]} b")
        assert text not in together
        assert together.replace("\u200b", "") == f"a {text} b"
