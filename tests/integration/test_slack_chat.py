"""The real slack-bolt adapter against the loopback Slack: receiving."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
import structlog

from adapters.slack.chat import SlackChat, SlackConfig
from core.errors import BadSettings
from core.model import Button, ChatEvent, ConversationKey, Post, Reply
from tests.peers.slack import ALICE, BOB, BOT, DEV, GENERAL, GUEST, TEAM, LoopbackSlack, sign

pytestmark = pytest.mark.peers


class Desk:
    """Takes events in as the product would, and fails or answers when told to."""

    def __init__(self) -> None:
        self.taken: list[ChatEvent] = []
        self.tries: list[str] = []
        self.fail_times = 0
        self.slow_s: dict[str, float] = {}
        self.reply: Reply | None = None
        self.gate: asyncio.Event | None = None

    async def accept(self, event: ChatEvent) -> Reply | None:
        self.tries.append(event.event_id)
        if self.gate is not None:
            await self.gate.wait()
        if self.fail_times:
            self.fail_times -= 1
            raise OSError("the disk is full")
        self.taken.append(event)
        return self.reply

    @property
    def ids(self) -> set[str]:
        return {event.event_id for event in self.taken}


def config(slack: LoopbackSlack, **more) -> SlackConfig:
    return SlackConfig(
        bot_token=slack.bot_token,
        app_token=slack.app_token,
        api_url=slack.api_url,
        ping_interval_s=0.3,
        **more,
    )


@asynccontextmanager
async def running(chat: SlackChat, desk: Desk) -> AsyncIterator[list[None]]:
    """The adapter, receiving; yields one entry for each time it said that it is ready."""
    ready: list[None] = []
    task = asyncio.create_task(chat.run(desk.accept, lambda: ready.append(None)))
    try:
        async with asyncio.timeout(15):
            while not ready and not task.done():
                await asyncio.sleep(0.01)
        if task.done():
            await task
        yield ready
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def slack() -> AsyncIterator[LoopbackSlack]:
    async with LoopbackSlack(ack_timeout_s=1.0) as running_slack:
        yield running_slack


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def took(slack: LoopbackSlack, desk: Desk, count: int) -> list[ChatEvent]:
    await slack.until(lambda: len(desk.taken) >= count, f"{count} events")
    return desk.taken


async def settled(slack: LoopbackSlack) -> None:
    """All deliveries are acknowledged or given up."""
    await slack.until(
        lambda: all(d.acked.is_set() or d in slack.events.lost for d in slack.events.deliveries),
        "deliveries to settle",
    )


# --- mentions ------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["message-first", "mention-first"])
async def test_c052_both_event_types_of_a_mention_are_one_event(slack, desk, order) -> None:
    slack.events.order = order
    async with running(SlackChat(config(slack)), desk):
        ts = await slack.mention("why is the <#C02DEV|dev> build red?")
        first, second = await took(slack, desk, 2)
        await settled(slack)
    assert first == second
    assert first.key == ConversationKey("slack", TEAM, GENERAL, ts)
    assert first.event_id == f"slack:{TEAM}:{GENERAL}:{ts}"
    assert (first.text, first.mentions_us, first.in_thread) == (
        "why is the #dev build red?",
        True,
        False,
    )
    assert (first.author.id, first.author.name, first.author.trusted) == (ALICE, "alice", True)
    assert first.author.grants == (f"slack:{ALICE}",)


@pytest.mark.parametrize("order", ["message-only", "mention-only"])
async def test_one_event_type_alone_is_enough(slack, desk, order) -> None:
    slack.events.order = order
    async with running(SlackChat(config(slack)), desk):
        ts = await slack.mention("hello?")
        await took(slack, desk, 1)
        await settled(slack)
    assert [(e.message_id, e.mentions_us, e.text) for e in desk.taken] == [(ts, True, "hello?")]


async def test_people_are_named_and_a_failing_look_up_holds_nothing_up(slack, desk) -> None:
    slack.refuse("users.info", "user_not_found", match=lambda args: args["user"] == BOB)
    async with running(SlackChat(config(slack)), desk):
        await slack.mention(f"assign to <@{ALICE}> or <@{BOB}>", user=GUEST)
        event = (await took(slack, desk, 1))[0]
        await settled(slack)
    assert event.text == f"assign to @alice ({ALICE}) or @{BOB}"
    assert event.mentions_others
    assert not event.author.trusted  # a guest
    assert event.author.grants == (f"slack:{GUEST}",)


async def test_a_look_up_without_answer_costs_the_deadline_only(slack, desk) -> None:
    chat = SlackChat(config(slack))
    chat._people._deadline_s = 0.2
    slack.api.hang.add("users.info")
    async with running(chat, desk):
        await slack.mention("quick?")
        event = (await took(slack, desk, 1))[0]
        await settled(slack)
    assert (event.author.name, event.author.trusted) == (ALICE, False)


async def test_a_failing_look_up_is_not_asked_again_at_once(slack, desk) -> None:
    slack.refuse("users.info", "internal_error", times=9)
    async with running(SlackChat(config(slack)), desk):
        for n in range(3):
            await slack.say(f"message {n}", user=BOB)
        await took(slack, desk, 3)
        await settled(slack)
    assert len(slack.calls("users.info")) == 1
    assert [e.text for e in desk.taken] == ["message 0", "message 1", "message 2"]


async def test_thread_replies_dms_files_and_broadcasts(slack, desk) -> None:
    async with running(SlackChat(config(slack)), desk):
        root = await slack.say("morning")
        reply = await slack.say("and the tests?", thread=root, user=BOB)
        shared = await slack.say(
            "see", thread=root, amend={"subtype": "file_share", "files": [{"name": "a.log"}]}
        )
        loud = await slack.say(
            "for all", thread=root, amend={"subtype": "thread_broadcast", "root": {"ts": root}}
        )
        direct = await slack.dm("psst")
        threaded = await slack.dm("more", thread=direct)
        await took(slack, desk, 6)
        await settled(slack)
    by_id = {event.message_id: event for event in desk.taken}
    assert len(by_id) == 6
    in_thread = ConversationKey("slack", TEAM, GENERAL, root)
    assert {by_id[ts].key for ts in (root, reply, shared, loud)} == {in_thread}
    assert not by_id[root].in_thread
    assert by_id[reply].in_thread
    assert not by_id[reply].mentions_us
    assert by_id[shared].text == "see\n[attached file: a.log]"
    assert by_id[direct].direct
    assert by_id[direct].key.root == ""
    assert by_id[threaded].key.root == direct


async def test_own_posts_updates_joins_and_unfurls_are_not_speech(slack, desk) -> None:
    chat = SlackChat(config(slack))
    async with running(chat, desk):
        ts = await slack.say("hello")
        key = ConversationKey("slack", TEAM, GENERAL, ts)
        posted = await chat.post(key, Post("n1", "working", (Button("stop:1", "Stop"),)))
        await chat.edit(key, posted.message_id, Post("n2", "done"))
        await chat.delete(key, posted.message_id)
        slack.events.event(
            {"type": "message", "subtype": "channel_join", "channel": GENERAL, "ts": "5.1"}
        )
        message = {"type": "message", "user": ALICE, "text": "hello", "ts": ts}
        unfurl = {"type": "message", "subtype": "message_changed", "channel": GENERAL, "ts": "6.1"}
        slack.events.event({**unfurl, "message": message, "previous_message": message})
        await slack.other_bot("build 41 failed", thread=ts)
        await settled(slack)
    assert [(e.text, e.author.kind) for e in desk.taken if e.kind != "delete"] == [
        ("hello", "human"),
        ("build 41 failed", "bot"),
    ]


async def test_edits_and_deletions_by_people(slack, desk) -> None:
    async with running(SlackChat(config(slack)), desk):
        ts = await slack.say("ship it")
        await slack.edit(ts, "do <!here> not ship it")
        await slack.edit(
            ts, "do <!here> not ship it"
        )  # nothing changes, an event comes all the same
        await slack.delete(ts)
        await took(slack, desk, 3)
        await settled(slack)
    kinds = [(e.kind, e.message_id, e.text, e.author.id) for e in desk.taken]
    assert kinds == [
        ("message", ts, "ship it", ALICE),
        ("edit", ts, "do @here not ship it", ALICE),
        ("delete", ts, "", ALICE),
    ]
    assert len(desk.ids) == 3
    assert len({e.key for e in desk.taken}) == 1


async def test_that_one_of_our_posts_was_deleted_is_told(slack, desk) -> None:
    chat = SlackChat(config(slack))
    async with running(chat, desk):
        ts = await slack.say("hello")
        key = ConversationKey("slack", TEAM, GENERAL, ts)
        posted = await chat.post(key, Post("n1", "an answer"))
        looked_up = len(slack.api.calls)
        await slack.take_back(posted.message_id)
        await took(slack, desk, 2)
        await settled(slack)
    gone = desk.taken[-1]
    assert (gone.kind, gone.message_id, gone.text) == ("delete", posted.message_id, "")
    assert gone.key == key
    assert not [call for call in slack.api.calls[looked_up:] if "info" in str(call)]


# --- acknowledgement -----------------------------------------------------------------------


async def test_the_acknowledgement_waits_for_accept(slack, desk) -> None:
    desk.gate = asyncio.Event()
    slack.events.ack_timeout_s = 20.0
    async with running(SlackChat(config(slack)), desk):
        await slack.say("hold on")
        await slack.until(lambda: bool(desk.tries), "accept to be called")
        (delivery,) = slack.events.deliveries
        assert not delivery.acked.is_set()
        desk.gate.set()
        await settled(slack)
    assert delivery.attempts == 1


async def test_what_could_not_be_taken_comes_again(slack, desk) -> None:
    desk.fail_times = 2
    slack.events.ack_timeout_s = 0.3
    async with running(SlackChat(config(slack)), desk):
        await slack.say("keep this")
        await took(slack, desk, 1)
        await settled(slack)
    assert len(desk.tries) == 3
    assert len(set(desk.tries)) == 1
    assert slack.events.deliveries[0].attempts == 3


async def test_events_of_a_channel_are_taken_in_order(slack, desk) -> None:
    """A slow look-up for the first must not let the second overtake."""
    chat = SlackChat(config(slack))
    slack.api.slow["users.info"] = 0.3
    async with running(chat, desk):
        sent = [await slack.say("one", user=ALICE)]
        await slack.until(lambda: bool(slack.calls("users.info")), "the look-up to begin")
        slack.api.slow.clear()
        sent += [await slack.say("two", user=BOB), await slack.say("three", user=BOB)]
        await took(slack, desk, 3)
        await settled(slack)
    assert [e.message_id for e in desk.taken] == sent


async def test_duplicates_carry_one_event_id(slack, desk) -> None:
    slack.events.duplicate = True
    async with running(SlackChat(config(slack)), desk):
        await slack.mention("twice")
        await took(slack, desk, 4)
        await settled(slack)
    assert len(desk.ids) == 1


# --- commands and buttons ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("/ask", "what is new?"),
        ("/roundtable", "--rounds 2 tabs or spaces"),
        ("/moot", "STOP"),
        ("/moot", ""),
    ],
)
async def test_slash_commands(slack, desk, command, text) -> None:
    desk.reply = Reply("**Noted**: 1 < 2", (Button("stop:7", "Stop", "danger"),))
    async with running(SlackChat(config(slack)), desk):
        note = await slack.slash(command, text, channel=DEV)
    (event,) = desk.taken
    assert (event.kind, event.command, event.text) == ("command", command[1:], text)
    assert event.key == ConversationKey("slack", TEAM, DEV, "")
    assert event.author.id == ALICE
    assert note is not None
    assert note.only_for == ALICE
    assert note.text == "*Noted*: 1 &lt; 2"
    assert list(note.buttons) == ["Stop"]


async def test_a_command_without_answer_is_acknowledged_silently(slack, desk) -> None:
    async with running(SlackChat(config(slack)), desk):
        assert await slack.slash("/ask", "anything") is None
    assert slack.events.deliveries[0].acked.is_set()


async def test_a_button_is_acknowledged_and_answered_in_private(slack, desk) -> None:
    chat = SlackChat(config(slack))
    async with running(chat, desk):
        root = await slack.say("go")
        key = ConversationKey("slack", TEAM, GENERAL, root)
        posted = await chat.post(key, Post("n1", "working", (Button("stop:12", "Stop"),)))
        desk.reply = Reply("Stop run 12?", (Button("confirm:12", "Yes"),))
        (status,) = await slack.answers(root)
        await slack.click(status, "Stop", user=BOB)

        async def private():
            return next((m for m in await slack.seen(by=BOB) if m.only_for == BOB), None)

        note = await slack.wait(private, "a private note")
        assert await slack.thread(root) == await slack.thread(root, by=ALICE)
        desk.reply = Reply("Stopped.")
        await slack.click(note, "Yes", user=BOB)

        async def replaced():
            found = await private()
            return found if found and found.text == "Stopped." else None

        assert (await slack.wait(replaced, "the note to be replaced")).buttons == {}
    click, confirm = [e for e in desk.taken if e.kind == "button"]
    assert (click.text, click.key, click.message_id) == ("stop:12", key, posted.message_id)
    assert (click.author.id, confirm.text) == (BOB, "confirm:12")
    assert note.root == root


async def test_where_we_are_no_member_the_note_goes_by_the_click_own_address(slack, desk) -> None:
    chat = SlackChat(config(slack))
    slack.refuse("chat.postEphemeral", "not_in_channel")
    async with running(chat, desk):
        root = await slack.say("go")
        key = ConversationKey("slack", TEAM, GENERAL, root)
        await chat.post(key, Post("n1", "working", (Button("stop:12", "Stop"),)))
        desk.reply = Reply("Stopping.")
        await slack.click((await slack.answers(root))[0], "Stop")

        async def private():
            return next((m for m in await slack.seen() if m.only_for == ALICE), None)

        assert (await slack.wait(private, "a private note")).text == "Stopping."


# --- links ---------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["cut", "close", "announce", "freeze"])
async def test_c056_c057_a_lost_link_is_replaced_and_nothing_is_lost(slack, desk, how) -> None:
    """Frozen: the link stays open and says nothing any more, not even to pings."""
    async with running(SlackChat(config(slack)), desk) as ready:
        await slack.say("before")
        await took(slack, desk, 1)
        before = list(slack.events.sockets)
        if how == "cut":
            slack.cut_sockets()
        elif how == "close":
            await before[0].ws.close()
        elif how == "announce":
            await slack.announce_disconnect()
        else:
            slack.freeze_sockets()
        await slack.say("after")
        await took(slack, desk, 2)
        await settled(slack)
        await slack.until(lambda: len(ready) == 2, "the link to be replaced")
        await slack.until(lambda: before[0] not in slack.events.sockets, "the old link to end")
        assert len(slack.events.sockets) == 1
        for number in range(10):
            await slack.say(f"{number}")
        await took(slack, desk, 12)
        await settled(slack)
    texts = {event.event_id: event.text for event in desk.taken}
    assert sorted(texts.values()) == sorted(["before", "after", *map(str, range(10))])


async def test_an_event_sent_while_no_link_was_open_arrives_later(slack, desk) -> None:
    await slack.say("anybody there?")
    async with running(SlackChat(config(slack)), desk):
        await took(slack, desk, 1)


async def test_a_failed_attempt_to_connect_asks_for_a_new_address(slack, desk) -> None:
    async with running(SlackChat(config(slack)), desk) as ready:
        slack.events.refuse_links = 2
        slack.cut_sockets()
        await slack.until(lambda: len(ready) == 2, "the link to come back")
    addresses = [c for c in slack.api.calls if c.method == "apps.connections.open"]
    assert len(addresses) >= 3


async def test_c056_a_shared_link_gives_one_clear_warning(slack, desk) -> None:
    with structlog.testing.capture_logs() as logs:
        async with running(SlackChat(config(slack)), desk), running(SlackChat(config(slack)), desk):
            await slack.until_connected(2)
            sent = [await slack.say(f"{n}") for n in range(10)]
            await took(slack, desk, 10)
            await settled(slack)
    assert sorted(e.message_id for e in desk.taken) == sorted(sent)
    assert len([entry for entry in logs if entry["event"] == "slack.shared_link"]) == 1


async def test_a_missing_scope_is_said_at_the_start(slack, desk) -> None:
    slack.api.scopes = slack.api.scopes.replace("users:read", "")
    with structlog.testing.capture_logs() as logs:
        async with running(SlackChat(config(slack)), desk):
            pass
    (line,) = [entry for entry in logs if entry["event"] == "slack.scopes"]
    assert "users:read" in line["detail"]


async def test_a_long_outage_is_told_and_not_over_and_over(slack, desk) -> None:
    with structlog.testing.capture_logs() as logs:
        async with running(SlackChat(config(slack)), desk) as ready:
            slack.events.refuse_links = 3
            slack.cut_sockets()
            await slack.until(lambda: len(ready) == 2, "the link to come back")
    told = [entry["event"] for entry in logs]
    assert told.count("slack.link_lost") == 1
    assert told.count("slack.sdk") <= 2
    assert told.count("slack.connected") == 2


async def test_unreachable_at_start_is_waited_for(slack, desk) -> None:
    slack.break_down("auth.test", times=1)
    slack.rate_limit("apps.connections.open", times=1)
    async with running(SlackChat(config(slack)), desk):
        await slack.say("here")
        await took(slack, desk, 1)


@pytest.mark.parametrize(
    ("tokens", "names"),
    [
        ({"bot_token": ""}, "MOOT__SLACK__BOT_TOKEN"),
        ({"bot_token": "xapp-1", "app_token": "xoxb-1"}, "swapped"),
        ({"app_token": ""}, "MOOT__SLACK__APP_TOKEN"),
        ({"bot_token": "xoxb-wrong"}, "bot token"),
        ({"mode": "http"}, "MOOT__SLACK__SIGNING_SECRET"),
    ],
)
async def test_bad_settings_end_the_run_and_say_what_to_do(slack, desk, tokens, names) -> None:
    good = {"bot_token": slack.bot_token, "app_token": slack.app_token}
    chat = SlackChat(SlackConfig(**{**good, "api_url": slack.api_url, **tokens}))
    with pytest.raises(BadSettings, match=names):
        await asyncio.wait_for(chat.run(desk.accept, lambda: None), 10)


async def test_a_cancelled_run_finishes_what_it_had_begun(slack, desk) -> None:
    desk.gate = asyncio.Event()
    slack.events.ack_timeout_s = 20.0
    task = asyncio.create_task(SlackChat(config(slack)).run(desk.accept, lambda: None))
    await slack.say("last words")
    await slack.until(lambda: bool(desk.tries), "accept to be called")
    task.cancel()
    assert not (await asyncio.wait({task}, timeout=0.3))[0]  # it waits for what is under way
    desk.gate.set()
    await asyncio.gather(task, return_exceptions=True)
    assert [e.text for e in desk.taken] == ["last words"]
    await slack.until(lambda: not slack.events.sockets, "the link to be closed")
    assert [(d.acked.is_set(), d.attempts) for d in slack.events.deliveries] == [(True, 1)]


# --- HTTP mode -----------------------------------------------------------------------------


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@asynccontextmanager
async def over_http(desk: Desk, free_port: int) -> AsyncIterator[tuple[LoopbackSlack, str]]:
    target = f"http://127.0.0.1:{free_port}/slack/events"
    async with LoopbackSlack(http_target=target, ack_timeout_s=0.2) as slack:
        secret = slack.signing_secret
        settings = config(slack, mode="http", signing_secret=secret, port=free_port)
        async with running(SlackChat(settings), desk):
            yield slack, target


async def test_http_mode(desk, free_port) -> None:
    desk.fail_times = 1
    async with over_http(desk, free_port) as (slack, _target):
        ts = await slack.mention("over http")
        await took(slack, desk, 2)
        desk.reply = Reply("noted")
        note = await slack.slash("/ask", "by command")
        assert note is not None
        assert note.text == "noted"
        await settled(slack)
    assert [e.kind for e in desk.taken] == ["message", "message", "command"]
    assert desk.taken[0] == desk.taken[1]
    assert desk.taken[0].key.root == ts
    assert len(desk.tries) == 4


async def test_http_mode_buttons(desk, free_port) -> None:
    async with over_http(desk, free_port) as (slack, _target):
        chat = SlackChat(config(slack))
        root = await slack.say("go")
        key = ConversationKey("slack", TEAM, GENERAL, root)
        await chat.post(key, Post("n1", "working", (Button("stop:12", "Stop"),)))
        desk.reply = Reply("Stopping.")
        await slack.click((await slack.answers(root))[0], "Stop")
        await slack.until(lambda: bool(slack.calls("chat.postEphemeral")), "a private note")
        await settled(slack)
    assert desk.taken[-1].text == "stop:12"


async def post_signed(url: str, secret: str, body: str) -> tuple[int, str]:
    headers = {**sign(secret, body), "Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=body, headers=headers) as answer,
    ):
        return answer.status, await answer.text()


async def test_http_mode_answers_slack_s_challenge_and_no_garbage(desk, free_port) -> None:
    async with over_http(desk, free_port) as (slack, target):
        challenge = json.dumps({"type": "url_verification", "challenge": "c123"})
        status, text = await post_signed(target, slack.signing_secret, challenge)
        assert (status, json.loads(text)) == (200, {"challenge": "c123"})
        assert (await post_signed(target, slack.signing_secret, "{broken"))[0] == 400
    assert desk.tries == []


async def test_http_mode_on_a_taken_port_says_so(desk, free_port) -> None:
    async with over_http(desk, free_port) as (slack, _target):
        settings = config(slack, mode="http", signing_secret="s", port=free_port)
        with pytest.raises(BadSettings, match=str(free_port)):
            await asyncio.wait_for(SlackChat(settings).run(desk.accept, lambda: None), 10)


def test_secrets_are_not_in_the_settings_repr() -> None:
    shown = repr(SlackConfig("xoxb-secret", "xapp-secret", "signing-secret"))
    assert "secret" not in shown.replace("signing_secret", "")


@pytest.mark.parametrize("forged", ["secret", "stale", "none"])
async def test_http_mode_refuses_what_slack_did_not_sign(desk, free_port, forged) -> None:
    async with over_http(desk, free_port) as (slack, target):
        event = {"type": "message", "channel": GENERAL, "user": ALICE, "text": "x", "ts": "1.1"}
        body = json.dumps(slack.events.wrap(event))
        headers = {
            "secret": sign("another secret", body),
            "stale": sign(slack.signing_secret, body, at=1_600_000_000),
            "none": {},
        }[forged]
        headers["Content-Type"] = "application/json"
        async with (
            aiohttp.ClientSession() as session,
            session.post(target, data=body, headers=headers) as answer,
        ):
            assert answer.status == 401
    assert desk.tries == []
    assert BOT not in desk.ids
