"""The real slack-bolt adapter against the loopback Slack: modals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.slack.chat import SlackChat
from core.model import Button, ConversationKey, Field, Form, Post, Reply
from tests.integration.test_slack_chat import Desk, config, running
from tests.peers.slack import ALICE, BOB, GENERAL, GUEST, TEAM, LoopbackSlack

pytestmark = pytest.mark.peers

FORM = Form(
    "roundtable",
    "Roundtable",
    "Start",
    (
        Field("topic", "Topic", "paragraph", "half a topic"),
        Field(
            "who",
            "Participants",
            "choices",
            "a:x\nb:y",
            (("a:x", "a (x)"), ("b:y", "b (y)"), ("c:z", "c (z)")),
            at_least=2,
            at_most=2,
        ),
        Field("mode", "Mode", "choice", "blind", (("parallel", "at once"), ("blind", "alone"))),
        Field("budget", "Budget", optional=True, hint="characters"),
    ),
    context="--preset review",
)
OPENS = Reply("type it instead", form=FORM)


@pytest.fixture
async def slack() -> AsyncIterator[LoopbackSlack]:
    async with LoopbackSlack(ack_timeout_s=1.0) as running_slack:
        yield running_slack


@pytest.fixture
async def desk(slack: LoopbackSlack) -> AsyncIterator[Desk]:
    desk = Desk()
    async with running(SlackChat(config(slack)), desk):
        await slack.until_connected()
        desk.reply = OPENS
        yield desk


async def test_a_command_opens_a_modal_and_it_comes_back_as_one_event(slack, desk) -> None:
    assert await slack.slash("/roundtable") is None
    modal = await slack.modal()
    assert modal.title == "Roundtable"
    assert modal.offered == {"who": ["a:x", "b:y", "c:z"], "mode": ["parallel", "blind"]}
    assert modal.filled == {
        "topic": "half a topic",
        "who": ["a:x", "b:y"],
        "mode": "blind",
        "budget": "",
    }
    desk.reply = Reply("On it.")
    await slack.submit(modal, topic="if a < b && c > d?", who=["a:x", "c:z"])
    assert not modal.open
    event = desk.taken[-1]
    assert event.key == ConversationKey("slack", TEAM, GENERAL, "")
    assert (event.kind, event.command, event.text) == ("form", "roundtable", "--preset review")
    assert event.values == {
        "topic": ("if a < b && c > d?",),
        "who": ("a:x", "c:z"),
        "mode": ("blind",),
        "budget": (),
    }
    assert (event.author.id, event.author.trusted, event.in_thread) == (ALICE, True, False)
    assert event.event_id == f"slack:{TEAM}:form:{modal.view['id']}"


async def test_errors_stay_in_the_modal_with_all_that_was_typed(slack, desk) -> None:
    await slack.slash("/roundtable")
    modal = await slack.modal()
    desk.reply = Reply("…", errors={"budget": "no number", "elsewhere": "also this"})
    await slack.submit(modal, budget="lots")
    assert modal.open
    assert modal.errors == {"budget": "no number", "topic": "also this"}
    desk.reply = None
    await slack.submit(modal, budget="90k")
    assert not modal.open
    first, second = desk.taken[-2:]
    assert first.event_id == second.event_id  # what did not count may come again


async def test_a_modal_sent_twice_at_once_is_one_event(slack, desk) -> None:
    await slack.slash("/roundtable")
    modal = await slack.modal()
    desk.reply = None
    await slack.submit(modal, times=2)
    assert len({event.event_id for event in desk.taken[-2:]}) == 1


async def test_a_failure_to_take_it_in_leaves_the_modal_open(slack, desk) -> None:
    await slack.slash("/roundtable")
    modal = await slack.modal()
    desk.fail_times = 1
    await slack.submit(modal, topic="kept")
    assert modal.open
    desk.reply = None
    await slack.submit(modal, topic="kept")
    assert not modal.open


async def test_a_button_in_a_thread_opens_a_modal_for_that_thread(slack, desk) -> None:
    root = await slack.mention("hello")
    chat = SlackChat(config(slack))
    key = ConversationKey("slack", TEAM, GENERAL, root)
    await chat.post(key, Post("n1", "a form?", (Button("form:", "Fill in a form"),)))
    shown = await slack.wait_for_answer(root, containing="a form?")
    await slack.click(shown, "Fill in a form", user=BOB)
    modal = await slack.modal()
    desk.reply = None
    await slack.submit(modal)
    event = desk.taken[-1]
    assert (event.key.root, event.in_thread, event.author.id) == (root, True, BOB)


async def test_too_late_for_a_modal_says_how_to_type_it(slack, desk) -> None:
    slack.api.views.trigger_life_s = 0.0
    await slack.slash("/roundtable")

    async def note():
        return next((m for m in await slack.seen() if m.only_for == ALICE), None)

    assert (await slack.wait(note, "a private note")).text == "type it instead"
    assert slack.api.views.modals == []


async def test_a_guest_is_not_trusted_in_a_modal_either(slack, desk) -> None:
    await slack.slash("/roundtable", user=GUEST)
    await slack.submit(await slack.modal())
    assert not desk.taken[-1].author.trusted


async def test_modals_over_signed_http(unused_tcp_port) -> None:
    target = f"http://127.0.0.1:{unused_tcp_port}/slack/events"
    async with LoopbackSlack(http_target=target, ack_timeout_s=1.0) as slack:
        desk = Desk()
        chat = SlackChat(
            config(slack, mode="http", port=unused_tcp_port, signing_secret=slack.signing_secret)
        )
        desk.reply = OPENS
        async with running(chat, desk):
            await slack.slash("/roundtable")
            modal = await slack.modal()
            desk.reply = Reply("…", errors={"topic": "no"})
            await slack.submit(modal)
            assert modal.errors == {"topic": "no"}
            desk.reply = Reply("On it.")
            await asyncio.gather(slack.submit(modal))
            assert not modal.open
