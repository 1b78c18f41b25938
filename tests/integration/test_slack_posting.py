"""The Slack adapter against the loopback Slack: sending, threads, the doctor's questions."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest
import structlog

from adapters.slack.chat import SlackChat, SlackConfig
from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.model import Button, ConversationKey, Post, Posted
from tests.peers.slack import ALICE, BOB, DEV, ELSEWHERE, GENERAL, TEAM, Fault, LoopbackSlack

pytestmark = pytest.mark.peers
STOP = (Button("stop:1", "Stop", "danger"),)


@pytest.fixture
async def slack() -> AsyncIterator[LoopbackSlack]:
    async with LoopbackSlack() as running_slack:
        yield running_slack


@pytest.fixture
def chat(slack) -> SlackChat:
    return SlackChat(
        SlackConfig(
            bot_token=slack.bot_token, app_token=slack.app_token, api_url=slack.api_url.rstrip("/")
        )
    )


def at(root: str = "", channel: str = GENERAL) -> ConversationKey:
    return ConversationKey("slack", TEAM, channel, root)


async def texts(slack: LoopbackSlack, root: str) -> list[str]:
    return [m.text for m in await slack.answers(root)]


async def test_a_post_lands_in_its_thread_with_nonce_and_without_unfurls(slack, chat) -> None:
    root = await slack.say("q")
    posted = await chat.post(at(root), Post("n1", "*answer* &lt;!channel&gt;"))
    (answer,) = await slack.answers(root)
    assert posted == Posted(answer.ts, root)
    assert (answer.text, answer.root, answer.buttons) == ("*answer* &lt;!channel&gt;", root, {})
    (call,) = slack.calls("chat.postMessage")
    assert call.args["metadata"] == {
        "event_type": "moot_post",
        "event_payload": {"nonce": "n1"},
    }
    assert (call.args["unfurl_links"], call.args["unfurl_media"]) == ("false", "false")


async def test_a_post_that_opens_a_thread_names_its_root(slack, chat) -> None:
    posted = await chat.post(at(), Post("n1", "*topic*", opens=True, title="topic"))
    assert posted.root == posted.message_id
    assert (await slack.seen())[-1].root == ""
    follow = await chat.post(at(posted.root), Post("n2", "first"))
    assert follow.root == posted.root


async def test_a_direct_message_is_answered_without_a_thread(slack, chat) -> None:
    ts = await slack.dm("hi")
    channel = await slack.dm_channel()
    assert (await chat.post(at("", channel), Post("n1", "hello"))).root == ""
    assert (await chat.post(at(ts, channel), Post("n2", "in thread"))).root == ts
    assert [m.root for m in await slack.seen(channel)] == ["", "", ts]


@pytest.mark.parametrize("size", [20, 3_000, 3_900])
async def test_buttons_cost_no_text(slack, chat, size) -> None:
    root = await slack.say("q")
    await chat.post(at(root), Post("n1", "x" * size, STOP))
    (shown,) = await slack.answers(root)
    assert len(shown.text) == size
    assert shown.buttons["Stop"][2] == "stop:1"


async def test_edit_replaces_text_and_buttons(slack, chat) -> None:
    root = await slack.say("q")
    for size in (10, 3_500):
        posted = await chat.post(at(root), Post(f"n{size}", "w" * size, STOP))
        await chat.edit(at(root), posted.message_id, Post("e1", "still working", STOP))
        assert (await slack.answers(root))[-1].text == "still working"
        assert "Stop" in (await slack.answers(root))[-1].buttons
        await chat.edit(at(root), posted.message_id, Post("e2", "done"))
        assert (await slack.answers(root))[-1].text == "done"
        assert (await slack.answers(root))[-1].buttons == {}
    # A post is read as it is, and so is what takes its place: nothing in it becomes a mention.
    assert {call.args["parse"] for call in slack.calls("chat.update")} == {"none"}


async def test_an_edit_is_never_cut(slack, chat) -> None:
    root = await slack.say("q")
    posted = await chat.post(at(root), Post("n1", "short"))
    with pytest.raises(ChatRefused, match="post it as a new message") as refused:
        await chat.edit(at(root), posted.message_id, Post("e1", "가" * 1_400))
    assert refused.value.code == "msg_too_long"
    assert slack.calls("chat.update") == []
    await chat.edit(at(root), posted.message_id, Post("e1", "가" * 1_333))
    assert await texts(slack, root) == ["가" * 1_333]


async def test_delete_and_what_is_gone_already(slack, chat) -> None:
    root = await slack.say("q")
    posted = await chat.post(at(root), Post("n1", "soon gone"))
    await chat.delete(at(root), posted.message_id)
    await chat.delete(at(root), posted.message_id)
    assert await texts(slack, root) == []


# --- once, and only once -------------------------------------------------------------------


@pytest.mark.parametrize("where", ["thread", "opens", "dm", "thread without metadata"])
async def test_a_lost_reply_does_not_double_a_post(slack, chat, where) -> None:
    slack.api.keeps_metadata = where != "thread without metadata"
    channel = await slack.dm_channel() if where == "dm" else GENERAL
    root = await slack.say("q") if where.startswith("thread") else ""
    earlier = await chat.post(at(root, channel), Post("n0", "same words"))
    tried_at = time.time()
    slack.lose_reply("chat.postMessage")
    post = Post("n1", "same words, https://ex.test/?a=1&amp;b=2", opens=where == "opens")
    with pytest.raises(ChatUnsure):
        await chat.post(at(root, channel), post)
    again = Post("n1", post.text, tried_at=tried_at, known_ids=frozenset((earlier.message_id,)))
    found = await chat.post(at(root, channel), again)
    own = [m for m in await slack.seen(channel) if m.user == slack.bot_user]
    assert [m.ts for m in own] == [earlier.message_id, found.message_id]
    assert found.root == {"thread": root, "opens": found.message_id}.get(where, root)
    assert len(slack.calls("chat.postMessage")) == 2


async def test_a_look_up_takes_no_other_post_for_this_one(slack, chat) -> None:
    """The same words were posted before under another nonce, and by somebody else."""
    root = await slack.say("q")
    other = await chat.post(at(root), Post("n0", "Stopped."))
    await slack.say("Stopped.", thread=root)
    posted = await chat.post(at(root), Post("n1", "Stopped.", tried_at=time.time()))
    assert posted.message_id != other.message_id
    assert await texts(slack, root) == ["Stopped.", "Stopped."]


async def test_without_metadata_a_known_post_is_not_taken_for_this_one(slack, chat) -> None:
    slack.api.keeps_metadata = False
    root = await slack.say("q")
    other = await chat.post(at(root), Post("n0", "Stopped."))
    known = frozenset((other.message_id,))
    again = Post("n1", "Stopped.", tried_at=time.time(), known_ids=known)
    assert (await chat.post(at(root), again)).message_id != other.message_id


async def test_the_look_up_reads_every_page(slack, chat) -> None:
    slack.api.page_max = 3
    root = await slack.say("q")
    for n in range(7):
        await slack.say(f"chatter {n}", thread=root)
    slack.lose_reply("chat.postMessage")
    with pytest.raises(ChatUnsure):
        await chat.post(at(root), Post("n1", "answer"))
    found = await chat.post(at(root), Post("n1", "answer", tried_at=time.time()))
    assert [m.ts for m in await slack.answers(root)] == [found.message_id]
    assert len(slack.calls("conversations.replies")) == 3


async def test_a_look_up_that_fails_sends_nothing(slack, chat) -> None:
    root = await slack.say("q")
    slack.rate_limit("conversations.replies")
    with pytest.raises(ChatBusy):
        await chat.post(at(root), Post("n1", "answer", tried_at=time.time()))
    assert slack.calls("chat.postMessage") == []


# --- trouble -------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["nan", "inf", "Wed, 21 Oct 2026 07:28:00 GMT", ""])
async def test_a_wait_that_is_no_number_is_some_seconds(slack, chat, header) -> None:
    body = {"ok": False, "error": "ratelimited"}
    slack.api.faults.append(
        Fault("chat.postMessage", status=429, body=body, headers={"Retry-After": header})
    )
    with pytest.raises(ChatBusy) as busy:
        await chat.post(at(), Post("n1", "x"))
    assert busy.value.retry_after_s == 5


async def test_c068_a_limit_is_heeded_per_method_and_channel(slack, chat) -> None:
    """Also one that comes with HTTP 200; nothing that was not shown counts as shown."""
    root, other = await slack.say("q"), await slack.say("q", channel=DEV)
    slack.rate_limit("chat.postMessage", retry_after_s=90)
    with pytest.raises(ChatBusy) as busy:
        await chat.post(at(root), Post("n1", "a"))
    assert busy.value.retry_after_s == 90
    with pytest.raises(ChatBusy) as busy:  # known: Slack is not asked again before it is over
        await chat.post(at(root), Post("n1", "a"))
    assert 0 < busy.value.retry_after_s < 90
    assert len(slack.calls("chat.postMessage")) == 1
    posted = await chat.post(at(other, DEV), Post("n2", "b"))  # another channel is not held up
    slack.refuse("chat.update", "ratelimited", headers={"Retry-After": "5"})
    with pytest.raises(ChatBusy) as busy:  # HTTP 200, and nothing was shown
        await chat.edit(at(other, DEV), posted.message_id, Post("e1", "c"))
    assert busy.value.retry_after_s == 5
    await chat.post(at(other, DEV), Post("n3", "d"))  # nor is another method
    chat._api._busy = dict.fromkeys(chat._api._busy, 0.0)  # what Slack asked for is over
    await chat.post(at(root), Post("n1", "a"))
    assert await texts(slack, root) == ["a"]
    assert [m.text for m in await slack.answers(other, DEV)] == ["b", "d"]


@pytest.mark.parametrize("status", [500, 503])
async def test_a_breakdown_leaves_it_open(slack, chat, status) -> None:
    root = await slack.say("q")
    slack.break_down("chat.postMessage", status=status)
    with pytest.raises(ChatUnsure):
        await chat.post(at(root), Post("n1", "a"))
    assert len(slack.calls("chat.postMessage")) == 1


@pytest.mark.parametrize("status", [200, 502])
@pytest.mark.parametrize(
    "text", [("text/html", "<p>busy</p>"), ("text/plain", "busy"), ("application/json", "{bro")]
)
async def test_an_answer_that_is_not_slack_s_leaves_it_open(slack, chat, status, text) -> None:
    root = await slack.say("q")
    slack.api.faults.append(Fault("chat.postMessage", status=status, text=text))
    with pytest.raises(ChatUnsure):
        await chat.post(at(root), Post("n1", "a"))


async def test_nobody_there_is_unsure_too(chat, slack) -> None:
    dead = SlackChat(SlackConfig(bot_token="xoxb-1", api_url="http://127.0.0.1:1/api"))
    with pytest.raises(ChatUnsure):
        await dead.post(at("1.1"), Post("n1", "a"))


@pytest.mark.parametrize("code", ["is_archived", "not_in_channel", "restricted_action", "odd_one"])
async def test_refusals_are_final_and_say_what_to_do(slack, chat, code) -> None:
    slack.refuse("chat.postMessage", code)
    with pytest.raises(ChatRefused) as refused:
        await chat.post(at(await slack.say("q")), Post("n1", "a"))
    assert refused.value.code == code
    assert len(str(refused.value)) > len(code) + 10


async def test_a_channel_without_us(slack, chat) -> None:
    with pytest.raises(ChatRefused, match="invite me") as refused:
        await chat.post(at("", ELSEWHERE), Post("n1", "a", opens=True))
    assert refused.value.code == "not_in_channel"


@pytest.mark.parametrize("code", ["invalid_blocks", "msg_blocks_too_long", "msg_too_long"])
async def test_c015_a_refused_layout_is_sent_again_as_plain_text(slack, chat, code) -> None:
    root = await slack.say("q")
    slack.refuse("chat.postMessage", code)
    with structlog.testing.capture_logs() as logs:
        await chat.post(at(root), Post("n1", "all of it", STOP))
    assert await texts(slack, root) == ["all of it"]
    assert ("slack.layout_refused", code) in [(e["event"], e.get("code")) for e in logs]


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
async def test_c015_a_refused_table_is_posted_as_text_once(slack, chat, method) -> None:
    """An empty cell and 105 rows: every row arrives, in the thread, whatever Slack refuses."""
    rows = "".join(
        f"|row {n} of many, in some more words|{'' if n % 7 else 'x'}|\n" for n in range(105)
    )
    root = await slack.say("q")
    pieces = chat.render(f"Here:\n\n|name|maybe|\n|-|-|\n{rows}\nEnd")
    slack.refuse(method, "invalid_blocks")
    with structlog.testing.capture_logs() as logs:
        for number, piece in enumerate(pieces):
            if method == "chat.update":
                posted = await chat.post(at(root), Post(f"n{number}", "…"))
                await chat.edit(at(root), posted.message_id, Post(f"n{number}", piece))
            else:
                await chat.post(at(root), Post(f"n{number}", piece))
    shown = "\n".join(await texts(slack, root))
    assert [shown.count(f"row {n} ") for n in range(105)] == [1] * 105
    assert [e["code"] for e in logs if e["event"] == "slack.layout_refused"] == ["invalid_blocks"]
    first, *others = [m for m in await slack.seen() if m.root == root and m.ts != root]
    assert first.text.startswith("Here:\n```\nname")
    assert not first.raw.get("blocks")
    assert all(m.raw["blocks"][0]["type"] == "table" for m in others)
    assert others


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
async def test_a_refused_table_takes_no_buttons_along(slack, chat, method) -> None:
    root = await slack.say("q")
    (text,) = chat.render("|a|b|\n|-|-|\n|1|2|")
    posted = await chat.post(at(root), Post("n0", "…"))
    slack.refuse(method, "msg_blocks_too_long")
    if method == "chat.update":
        await chat.edit(at(root), posted.message_id, Post("n1", text, STOP))
    else:
        await chat.post(at(root), Post("n1", text, STOP))
    shown = [m for m in await slack.seen() if m.root == root and m.ts != root][-1]
    assert shown.text == "```\na | b\n--+--\n1 | 2\n```"
    assert not shown.raw.get("blocks")
    (attachment,) = shown.raw["attachments"]
    assert [block["type"] for block in attachment["blocks"]] == ["actions"]


async def test_a_table_is_found_again_by_its_text(slack, chat) -> None:
    root = await slack.say("q")
    (piece,) = chat.render("|a|b|\n|-|-|\n|1|**2**|")
    slack.api.keeps_metadata = False
    posted = await chat.post(at(root), Post("n1", piece))
    again = await chat.post(at(root), Post("n1", piece, tried_at=time.time()))
    assert again == posted


async def test_an_answer_outlives_its_question(slack, chat) -> None:
    """The asker deletes the first message: all pieces appear, together, at channel level."""
    root = await slack.say("q")
    await slack.delete(root)
    first = await chat.post(at(root), Post("n1", "one"))
    second = await chat.post(at(root), Post("n2", "two"))
    assert first == Posted(first.message_id, first.message_id)
    assert second.root == first.message_id
    assert await chat.post(at(root), Post("n2", "two", tried_at=time.time())) == second
    # After a restart the place is not known any more; an earlier attempt is found all the same.
    reborn = SlackChat(SlackConfig(bot_token=slack.bot_token, api_url=slack.api_url))
    found = await reborn.post(at(root), Post("n1", "one", tried_at=time.time()))
    assert found == first
    assert [m.text for m in await slack.seen()] == ["one", "two"]


async def test_a_deleted_root_with_replies_keeps_its_thread(slack, chat) -> None:
    root = await slack.say("q")
    await chat.post(at(root), Post("n1", "one"))
    await slack.delete(root)
    assert (await chat.post(at(root), Post("n2", "two"))).root == root
    assert await texts(slack, root) == ["one", "two"]


# --- history -------------------------------------------------------------------------------


async def test_a_thread_s_history_is_attributed_and_our_own_posts_are_an_agent_s(
    slack, chat
) -> None:
    root = await slack.other_bot("build 41 failed: &lt;log&gt;")
    await slack.say("why?", thread=root, user=BOB)
    await chat.post(at(root), Post("n1", "let me see"))
    await slack.say("thanks", thread=root)
    said = await chat.thread(at(root), 10)
    assert [(s.text, s.author.id, s.author.kind) for s in said] == [
        ("build 41 failed: <log>", "U0CIBOT", "bot"),
        ("why?", BOB, "human"),
        ("let me see", "U0BOT", "agent"),
        ("thanks", ALICE, "human"),
    ]
    assert said[0].message_id == root
    assert [s.author.name for s in said if s.author.kind == "human"] == ["bob", "alice"]
    assert not any(s.gap or s.gone for s in said)


async def test_the_newest_of_a_long_thread_and_its_root(slack, chat) -> None:
    slack.api.page_max = 4
    root = await slack.say("root")
    for n in range(9):
        await slack.say(f"r{n}", thread=root)
    said = await chat.thread(at(root), 4)
    assert [(s.text, s.gap) for s in said] == [
        ("root", False), ("r6", True), ("r7", False), ("r8", False),
    ]  # fmt: skip
    assert [s.text for s in await chat.thread(at(root), 1)] == ["root"]
    slack.rate_limit("conversations.replies", retry_after_s=1)  # a page is waited for by itself
    said = await chat.thread(at(root), 50)
    assert len(said) == 10
    assert not any(s.gap for s in said)


async def test_a_direct_message_s_history(slack, chat) -> None:
    for n in range(5):
        await slack.dm(f"m{n}")
    channel = await slack.dm_channel()
    await chat.post(at("", channel), Post("n1", "hello"))
    assert [s.text for s in await chat.thread(at("", channel), 3)] == ["m3", "m4", "hello"]


async def test_c038_a_deleted_root_is_said_to_be_gone(slack, chat) -> None:
    root = await slack.say("q")
    await slack.say("reply", thread=root)
    await slack.delete(root)
    said = await chat.thread(at(root), 5)
    assert [(s.text, s.gone) for s in said] == [("", True), ("reply", False)]
    (nothing,) = await chat.thread(at("1.000001"), 5)  # without replies nothing of it is left
    assert nothing.gone


# --- doctor --------------------------------------------------------------------------------


def failing(found) -> dict[str, str]:
    assert all(check.fix for check in found if not check.ok)
    return {check.name: f"{check.detail} | {check.fix}" for check in found if not check.ok}


async def test_all_is_well(slack, chat) -> None:
    found = await chat.checks()
    assert failing(found) == {}
    assert [c.name for c in found] == [
        "slack bot token",
        "slack app token",
        "slack sign-in",
        "slack scopes",
        "slack channels",
        "slack socket mode",
    ]


async def test_a_missing_scope_is_named_with_the_way_to_add_it(slack, chat) -> None:
    slack.api.scopes = slack.api.scopes.replace("groups:history,", "")
    (line,) = failing(await chat.checks()).values()
    assert line.startswith("missing: groups:history (read threads in private channels) | ")
    assert "Reinstall" in line


@pytest.mark.parametrize(
    ("tokens", "lines"),
    [
        ({"bot_token": ""}, {"slack bot token": "missing"}),
        ({"app_token": ""}, {"slack app token": "missing"}),
        ({"bot_token": "xoxp-1"}, {"slack bot token": "begins with 'xoxp-'"}),
        ({"bot_token": "xoxb-wrong"}, {"slack sign-in": "invalid_auth"}),
        ({"app_token": "xapp-wrong"}, {"slack socket mode": "invalid_auth"}),
        (
            {"bot_token": "xapp-1", "app_token": "xoxb-1"},
            {"slack bot token": "swapped", "slack app token": "swapped"},
        ),
        ({"mode": "http"}, {"slack signing secret": "missing"}),
        (
            {"api_url": "http://127.0.0.1:1/api"},
            {"slack sign-in": "No answer", "slack socket mode": "No answer"},
        ),
    ],
)
async def test_what_is_wrong_is_named(slack, tokens, lines) -> None:
    good = {"bot_token": slack.bot_token, "app_token": slack.app_token, "api_url": slack.api_url}
    found = failing(await SlackChat(SlackConfig(**{**good, **tokens})).checks())
    assert found.keys() == lines.keys()
    for name, part in lines.items():
        assert part in found[name]


async def test_tokens_of_two_apps_are_noticed(slack, chat) -> None:
    other = {"ok": True, "bot": {"id": "B0BOT", "app_id": "A0OTHER"}}
    slack.api.faults.append(Fault("bots.info", body=other))
    assert "A01MOOT, the bot token of A0OTHER" in failing(await chat.checks())["slack tokens"]
    slack.refuse("bots.info", "missing_scope")
    assert not failing(await chat.checks())


async def test_a_member_of_no_channel_is_told_so(slack, chat) -> None:
    slack.api.faults.append(Fault("users.conversations", body={"ok": True, "channels": []}))
    assert "invite" in failing(await chat.checks())["slack channels"]


async def test_channels_that_projects_name_are_looked_at(slack, chat) -> None:
    found = await chat.checks((GENERAL, ELSEWHERE, "C0TYPO"))
    lines = {check.name: check for check in found if check.name.startswith("slack channel ")}
    assert lines[f"slack channel {GENERAL}"].ok
    assert "/invite @moot" in lines[f"slack channel {ELSEWHERE}"].fix
    assert "correct the id" in lines["slack channel C0TYPO"].fix
