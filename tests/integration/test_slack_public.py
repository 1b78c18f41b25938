"""What Slack tells of who may read a channel, through the real adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.slack.chat import SlackChat
from adapters.slack.places import is_public
from core.model import Button, ConversationKey, Post
from tests.integration.test_slack_chat import Desk, config, running
from tests.peers.slack import DEV, GENERAL, TEAM, LoopbackSlack

pytestmark = pytest.mark.peers


@pytest.fixture
async def slack() -> AsyncIterator[LoopbackSlack]:
    async with LoopbackSlack(ack_timeout_s=1.0) as running_slack:
        yield running_slack


@pytest.fixture
async def desk(slack: LoopbackSlack) -> AsyncIterator[Desk]:
    desk = Desk()
    async with running(SlackChat(config(slack)), desk):
        await slack.until_connected()
        yield desk


async def told(slack: LoopbackSlack, desk: Desk, ts: str) -> list[bool | None]:
    """What the events of one message said, once all of them are taken."""
    await slack.until(
        lambda: all(delivery.acked.is_set() for delivery in slack.events.deliveries), "acks"
    )
    return [event.public for event in desk.taken if event.message_id == ts]


async def test_a_public_channel_whichever_event_comes(slack, desk) -> None:
    assert await told(slack, desk, await slack.mention("both")) == [True, True]
    slack.events.order = "mention-only"
    assert await told(slack, desk, await slack.mention("one")) == [True]
    slack.events.order = "message-only"
    assert await told(slack, desk, await slack.mention("other")) == [True]
    assert len(slack.calls("conversations.info")) == 1


@pytest.mark.parametrize(
    "flags", [{"is_private": True}, {"is_ext_shared": True}, {"is_org_shared": True}]
)
async def test_a_closed_or_shared_channel_in_commands_and_clicks(slack, desk, flags) -> None:
    slack.api.channel_flags[DEV] = flags
    await slack.slash("/ask", "x", channel=DEV)
    await slack.slash("/ask", "x", channel=GENERAL)
    assert [event.public for event in desk.taken] == [False, True]
    key = ConversationKey("slack", TEAM, DEV, "")
    posted = await SlackChat(config(slack)).post(key, Post("n1", "b", (Button("stop:1", "Stop"),)))
    [shown] = [m for m in await slack.seen(DEV) if m.ts == posted.message_id]
    await slack.click(shown, "Stop")
    assert desk.taken[-1].public is False


@pytest.mark.parametrize("flags", [{"is_ext_shared": True}, {"is_org_shared": True}])
async def test_whether_another_workspace_is_in_the_channel(slack, desk, flags) -> None:
    slack.api.channel_flags[DEV] = flags
    await slack.slash("/ask", "x", channel=DEV)
    await slack.slash("/ask", "x", channel=GENERAL)
    assert [event.shared for event in desk.taken] == [True, False]
    slack.events.ext_shared.add(GENERAL)
    await told(slack, desk, await slack.mention("hi", channel=GENERAL))
    assert desk.taken[-1].shared is True


async def test_private_by_the_event_itself(slack, desk) -> None:
    slack.events.channel_types[DEV] = "group"
    slack.events.order = "message-only"
    assert await told(slack, desk, await slack.mention("hush", channel=DEV)) == [False]
    slack.events.channel_types[DEV] = "channel"
    slack.events.ext_shared.add(DEV)
    assert await told(slack, desk, await slack.mention("hi", channel=DEV)) == [False]
    assert slack.calls("conversations.info") == []


async def test_a_look_up_that_fails_or_hangs_leaves_it_unknown(slack, desk) -> None:
    slack.events.order = "mention-only"
    slack.refuse("conversations.info", "missing_scope")
    assert await told(slack, desk, await slack.mention("x")) == [None]
    slack.events.ack_timeout_s = 3.0  # as the real one
    slack.api.hang.add("conversations.info")
    assert await slack.slash("/ask", "in time all the same", channel=DEV) is None
    assert slack.events.deliveries[-1].acked.is_set()
    assert desk.taken[-1].public is None
    assert desk.taken[-1].shared is None


async def test_direct_messages_are_never_public(slack, desk) -> None:
    assert await told(slack, desk, await slack.dm("psst")) == [False]


async def test_a_conversion_tells_at_once(slack, desk) -> None:
    ts = await slack.mention("open")
    assert await told(slack, desk, ts) == [True, True]
    slack.api.channel_flags[GENERAL] = {"is_private": True}
    notice = {"type": "message", "subtype": "channel_convert_to_private", "channel": GENERAL}
    slack.events.event({**notice, "ts": "99.1", "event_ts": "99.1", "channel_type": "group"})
    await slack.until(lambda: desk.taken[-1].kind == "channel", "the conversion")
    assert desk.taken[-1].public is False
    await slack.slash("/ask", "looked up anew")
    assert desk.taken[-1].public is False


def test_what_counts_as_public() -> None:
    assert is_public({"id": "C1", "is_channel": True})
    for flag in ("is_private", "is_shared", "is_pending_ext_shared", "is_mpim"):
        assert not is_public({"id": "C1", "is_channel": True, flag: True})
