"""The real discord.py client against a loopback Discord, over real sockets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest
import pytest_asyncio
from discord.gateway import DiscordWebSocket
from discord.http import Route

from adapters.discord.chat import DiscordChat, DiscordConfig
from core.errors import BadSettings, ChatBusy, ChatRefused, ChatUnsure
from core.model import Button, ChatEvent, ConversationKey, Post, Reply
from tests.peers.discord import LoopbackDiscord


class Ears:
    """The intake's place: takes events, and can be told to fail or to answer."""

    def __init__(self, world: LoopbackDiscord) -> None:
        self.world = world
        self.events: list[ChatEvent] = []
        self.failures = 0
        self.delay_s = 0.0
        self.reply: Reply | None = None
        self.readies = 0

    async def accept(self, event: ChatEvent) -> Reply | None:
        if self.failures:
            self.failures -= 1
            raise OSError("disk full")
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        self.events.append(event)
        self.world.ring()
        return self.reply

    def ready(self) -> None:
        self.readies += 1
        self.world.ring()

    def of(self, kind: str) -> list[ChatEvent]:
        return [event for event in self.events if event.kind == kind]

    async def event(
        self, text: str = "", kind: str = "message", *, timeout_s: float = 10
    ) -> ChatEvent:
        def found() -> list[ChatEvent]:
            return [e for e in self.of(kind) if text in e.text]

        await self.world.until(found, timeout_s, f"{kind} {text!r} among {self.events}")
        return found()[0]

    async def quiet(self, sign: Callable[[], object]) -> None:
        """Wait for a sign that comes after anything that should not have come."""
        await self.world.until(sign)


@pytest_asyncio.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LoopbackDiscord]:
    # DiscordChat sets discord.py's module globals; they are put back afterwards.
    monkeypatch.setattr(Route, "BASE", Route.BASE)
    monkeypatch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", DiscordWebSocket.DEFAULT_GATEWAY)
    async with LoopbackDiscord() as peer:
        yield peer


@asynccontextmanager
async def running(world: LoopbackDiscord) -> AsyncIterator[tuple[DiscordChat, Ears]]:
    chat = DiscordChat(DiscordConfig(world.token, world.api_url))
    ears = Ears(world)
    task = asyncio.create_task(chat.run(ears.accept, ears.ready))
    try:
        await world.until(lambda: ears.readies or task.done())
        if task.done():
            await task
        yield chat, ears
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest_asyncio.fixture
async def both(world: LoopbackDiscord) -> AsyncIterator[tuple[DiscordChat, Ears]]:
    async with running(world) as pair:
        yield pair


@pytest.fixture
def chat(both: tuple[DiscordChat, Ears]) -> DiscordChat:
    return both[0]


@pytest.fixture
def ears(both: tuple[DiscordChat, Ears]) -> Ears:
    return both[1]


def post(text: str, nonce: str = "", **more: object) -> Post:
    return Post(nonce=nonce or f"n{abs(hash(text)) % 10**12}", text=text, **more)  # type: ignore[arg-type]


# --- receiving ---------------------------------------------------------------------------


async def test_a_mention_at_channel_level_is_its_own_root(world, ears):
    ident = world.alice.ask(world.channel, "what broke?")
    event = await ears.event()
    assert event.key == ConversationKey("discord", world.guild, world.channel, ident)
    assert event.event_id == f"discord:{world.channel}:{ident}"
    assert event.text == "what broke?"
    assert event.mentions_us
    assert not event.mentions_others
    assert not event.in_thread
    assert not event.direct
    assert event.author.name == "Alice"
    assert event.author.grants == (f"discord:{world.alice.id}",)
    assert event.author.trusted
    assert event.author.kind == "human"
    assert abs(event.sent_at - time.time()) < 60


async def test_a_reply_in_the_thread_has_the_same_key(world, chat, ears):
    ident = world.alice.ask(world.channel, "what broke?")
    first = await ears.event("what broke?")
    await chat.post(first.key, post("the build", title="what broke?"))
    world.bob.say(ident, "and the tests?")
    reply = await ears.event("and the tests?")
    assert reply.key == first.key
    assert reply.in_thread
    assert not reply.mentions_us


async def test_own_posts_joins_and_thread_notices_are_no_events(world, chat, ears):
    ident = world.alice.ask(world.channel, "first")
    event = await ears.event("first")
    await chat.post(event.key, post("answer"))
    await chat.edit(event.key, world.messages(ident)[-1].id, post("answer, edited"))
    world.backend.set_pinned(int(world.channel), int(ident), pinned=True)
    world.alice.say(ident, "last")
    await ears.event("last")
    assert [e.text for e in ears.events] == ["first", "last"]


async def test_a_direct_message_of_a_member_is_trusted_and_of_a_stranger_is_not(world, chat, ears):
    role = world.role("ops")
    ada = world.person("ada", roles=[role])
    ada.write("help me")
    event = await ears.event("help me")
    assert event.direct
    assert event.key == ConversationKey("discord", "", ada.dm, "")
    assert event.author.trusted
    assert event.author.grants == (f"discord:{ada.id}", f"discord:{world.guild}:role:{role}")
    posted = await chat.post(event.key, post("yes?"))
    assert posted.root == ""
    assert world.posts(ada.dm) == ["yes?"]
    world.person("mallory", member=False).write("let me in")
    stranger = await ears.event("let me in")
    assert not stranger.author.trusted


async def test_a_failed_look_up_of_a_direct_messages_author_leaves_them_untrusted(world, ears):
    world.faults.refuse(403, 50001, "Missing Access", "GET", "/guilds/*/members/*", times=None)
    world.alice.write("hello")
    event = await ears.event("hello")
    assert not event.author.trusted


async def test_roles_are_grants(world, ears):
    role = world.role("deployers")
    world.person("carol", roles=[role]).ask(world.channel, "deploy")
    event = await ears.event("deploy")
    assert f"discord:{world.guild}:role:{role}" in event.author.grants


async def test_a_duplicate_delivery_has_the_same_event_id(world, ears):
    world.gateway.duplicate = 1
    world.alice.ask(world.channel, "once")
    await world.until(lambda: len(ears.events) == 2)
    assert ears.events[0] == ears.events[1]


async def test_an_event_that_could_not_be_taken_is_tried_again_in_order(world, ears):
    ears.failures = 3
    for text in ("one", "two", "three"):
        world.alice.ask(world.channel, text)
    await world.until(lambda: len(ears.events) == 3)
    assert [e.text for e in ears.events] == ["one", "two", "three"]


async def test_a_channel_that_fails_does_not_hold_up_another(world, ears):
    other = world.make_channel("other")
    ears.failures = 1
    world.alice.ask(world.channel, "stuck")
    world.alice.ask(other, "free")
    await world.until(lambda: len(ears.events) == 2)
    assert [e.text for e in ears.events] == ["free", "stuck"]


async def test_edits_are_events_and_unfurls_are_not(world, ears):
    ident = world.alice.ask(world.channel, "see https://ex.test")
    await ears.event("see")
    message = world.backend.get_message(int(world.channel), int(ident))
    payload = {**world_payload(world, message), "embeds": [{"type": "link", "title": "Example"}]}
    world.backend.emit("MESSAGE_UPDATE", payload)
    world.alice.edit(world.channel, ident, f"{world.mention} see https://ex.test/2")
    edit = await ears.event(kind="edit")
    assert edit.text == "see https://ex.test/2"
    assert edit.message_id == ident
    assert edit.key.root == ident
    assert edit.event_id.startswith(f"discord:{world.channel}:{ident}:edit:")
    # The preview of the new link repeats the edit's time, so it is that edit again, or nothing.
    world.backend.emit("MESSAGE_UPDATE", world_payload(world, message))
    world.alice.say(world.channel, "end")
    await ears.event("end")
    assert {e.event_id for e in ears.of("edit")} == {edit.event_id}


def world_payload(world: LoopbackDiscord, message: object) -> dict:
    from simcord.backend import serializers

    return dict(serializers.message_payload(world.backend, message))


async def test_deletes_are_events_also_of_messages_from_before_the_start(world):
    old = world.alice.ask(world.channel, "old")
    async with running(world) as (_, ears):
        new = world.alice.ask(world.channel, "new")
        await ears.event("new")
        world.alice.delete(world.channel, old)
        world.alice.delete(world.channel, new)
        await world.until(lambda: len(ears.of("delete")) == 2)
        first, second = ears.of("delete")
        assert (first.message_id, first.author.id) == (old, "")
        assert (second.message_id, second.author.id) == (new, world.alice.id)
        assert second.event_id == f"discord:{world.channel}:{new}:delete"


async def test_an_edit_of_a_message_from_before_the_start_in_an_archived_thread(world):
    root = world.alice.say(world.channel, "root")
    thread = world.alice.open_thread(world.channel, "a thread", root)
    old = world.alice.say(thread, "old")
    world.archive(thread)
    async with running(world) as (_, ears):
        world.alice.edit(thread, old, "newer")
        edit = await ears.event("newer", "edit")
        assert edit.key == ConversationKey("discord", world.guild, world.channel, root)
        assert edit.in_thread


async def test_a_forum_post_waits_for_its_first_message(world, chat, ears):
    forum = world.make_channel("help", forum=True)
    thread = world.alice.forum_post(forum, "how do I?")
    world.alice.say(world.channel, "meanwhile")
    await ears.event("meanwhile")
    assert len(ears.events) == 1
    world.alice.first_message(thread, f"{world.mention} how do I?")
    event = await ears.event("how do I?")
    assert event.key == ConversationKey("discord", world.guild, forum, thread)
    assert event.mentions_us
    await chat.post(event.key, post("like so"))
    assert world.posts(thread) == ["like so"]


async def test_other_bots_are_marked(world, ears):
    world.person("ci", bot=True).say(world.channel, "build 41 failed")
    event = await ears.event("build 41")
    assert event.author.kind == "bot"


# --- posting -----------------------------------------------------------------------------


async def asked(world: LoopbackDiscord, ears: Ears, text: str = "question") -> ChatEvent:
    world.alice.ask(world.channel, text)
    return await ears.event(text)


async def test_the_first_post_opens_the_thread(world, chat, ears):
    event = await asked(world, ears)
    posted = await chat.post(event.key, post("answer", title="What\nbroke?  "))
    await chat.post(event.key, post("more"))
    assert world.posts(event.key.root) == ["answer", "more"]
    assert posted.root == event.key.root
    assert world.thread_name(event.key.root) == "What broke?"
    assert world.posts(world.channel) == []


async def test_a_post_pings_nobody(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post(f"@everyone {world.alice.mention} look"))
    message = world.backend.get_message(
        int(event.key.root), int(world.messages(event.key.root)[-1].id)
    )
    assert not message.mention_everyone
    assert message.ping_user_ids == []


async def test_a_long_title_is_cut(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post("answer", title="😀" * 80))
    assert 10 < len(world.thread_name(event.key.root).encode("utf-16-le")) // 2 <= 100


async def test_a_post_whose_reply_was_lost_is_seen_once(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post("first"))
    world.faults.lose_reply()
    tried_at = time.time()
    with pytest.raises(ChatUnsure):
        await chat.post(event.key, post("second", "n2"))
    posted = await chat.post(event.key, post("second", "n2", tried_at=tried_at))
    assert world.posts(event.key.root) == ["first", "second"]
    assert posted.message_id == world.messages(event.key.root)[-1].id


@pytest.mark.parametrize("restarted", [False, True])
async def test_after_the_nonce_is_forgotten_the_post_is_looked_for(world, restarted):
    async with running(world) as (chat, ears):
        event = await asked(world, ears)
        tried_at = time.time()
        first = await chat.post(event.key, post("working …", "n1"))
        world.faults.lose_reply()
        with pytest.raises(ChatUnsure):
            await chat.post(event.key, post("  the answer\n", "n2"))
        # An equal text that is another post of ours must not be taken for it.
        again = post("working …", "n3", tried_at=tried_at, known_ids=frozenset({first.message_id}))
        world.rest.forget_nonces()
        lost = post("  the answer\n", "n2", tried_at=tried_at)
        if not restarted:
            await chat.post(event.key, lost)
            await chat.post(event.key, again)
    if restarted:
        async with running(world) as (chat, ears):
            await chat.post(event.key, lost)
            await chat.post(event.key, again)
    assert world.posts(event.key.root) == ["working …", "the answer", "working …"]


async def test_an_attempt_that_had_no_effect_is_made_up_for(world, chat, ears):
    event = await asked(world, ears)
    world.faults.cut()
    with pytest.raises(ChatUnsure):
        await chat.post(event.key, post("answer", "n1"))
    await chat.post(event.key, post("answer", "n1", tried_at=time.time() - 3600))
    assert world.posts(event.key.root) == ["answer"]


async def test_a_rate_limit_is_waited_out_or_told(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post("zero"))
    world.faults.rate_limit(0.2)
    await chat.post(event.key, post("one"))
    world.faults.rate_limit(40)
    with pytest.raises(ChatBusy) as busy:
        await chat.post(event.key, post("two"))
    assert busy.value.retry_after_s == pytest.approx(40)
    world.faults.rate_limit(7, via=False)
    with pytest.raises(ChatBusy):
        await chat.post(event.key, post("two"))
    await chat.post(event.key, post("two"))
    assert world.posts(event.key.root) == ["zero", "one", "two"]


async def test_a_failure_that_took_effect_is_not_posted_twice(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post("zero"))
    world.faults.server_error(502, effect=True)  # discord.py tries again by itself
    await chat.post(event.key, post("one"))
    world.faults.server_error(503, effect=True)  # and here it does not
    with pytest.raises(ChatUnsure):
        await chat.post(event.key, post("two"))
    await chat.post(event.key, post("two", tried_at=time.time()))
    assert world.posts(event.key.root) == ["zero", "one", "two"]


async def test_the_reply_of_opening_the_thread_is_lost(world, chat, ears):
    event = await asked(world, ears)
    world.faults.lose_reply(path="/channels/*/messages/*/threads")
    with pytest.raises(ChatUnsure):
        await chat.post(event.key, post("answer"))
    await chat.post(event.key, post("answer", tried_at=time.time()))
    assert world.posts(event.key.root) == ["answer"]


async def test_somebody_else_opened_the_thread_already(world, chat, ears):
    event = await asked(world, ears)
    world.bob.open_thread(world.channel, "mine", event.key.root)
    await chat.post(event.key, post("answer"))
    assert world.posts(event.key.root) == ["answer"]


async def test_a_deleted_question_is_answered_in_the_channel(world, chat, ears):
    event = await asked(world, ears)
    world.alice.delete(world.channel, event.message_id)
    for text in ("one", "two", "three"):
        await chat.post(event.key, post(text))
    assert world.posts(world.channel) == ["one", "two", "three"]
    assert all(m.reply_to == "" for m in world.messages(world.channel))
    # Such a post can be edited and deleted by the key of its conversation.
    first, second, _ = [m.id for m in world.messages(world.channel)]
    await chat.edit(event.key, first, post("one, edited"))
    await chat.delete(event.key, second)
    assert world.posts(world.channel) == ["one, edited", "three"]


async def test_a_thread_deleted_meanwhile_is_opened_again(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post("one"))
    world.backend.delete_channel(int(event.key.root))
    await chat.post(event.key, post("two"))
    assert world.posts(event.key.root) == ["two"]


async def test_a_missing_permission_surfaces(world, chat, ears):
    event = await asked(world, ears)
    world.deny(world.channel, "create_public_threads")
    with pytest.raises(ChatRefused, match="Create Public Threads") as refused:
        await chat.post(event.key, post("answer"))
    assert refused.value.code == "50013"
    assert world.posts(world.channel) == []


async def test_an_archived_thread_is_woken_by_a_post_and_refuses_an_edit(world):
    async with running(world) as (chat, ears):
        event = await asked(world, ears)
        posted = await chat.post(event.key, post("working …"))
    world.archive(event.key.root)
    async with running(world) as (chat, _):  # the new client has never seen this thread
        with pytest.raises(ChatRefused) as refused:
            await chat.edit(event.key, posted.message_id, post("done"))
        assert refused.value.code == "50083"
        await chat.post(event.key, post("answer"))
        await chat.edit(event.key, posted.message_id, post("done"))
    assert world.posts(event.key.root) == ["done", "answer"]


async def test_a_locked_thread_refuses(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post("one"))
    world.archive(event.key.root, locked=True)
    with pytest.raises(ChatRefused, match="locked") as refused:
        await chat.post(event.key, post("two"))
    assert refused.value.code == "locked"


async def test_edit_limits_and_gone_messages(world, chat, ears):
    event = await asked(world, ears)
    posted = await chat.post(event.key, post("one"))
    world.faults.refuse(
        429, 30046, "Maximum number of edits", "PATCH", "/channels/*/messages/*", times=1
    )
    with pytest.raises((ChatRefused, ChatBusy)):
        await chat.edit(event.key, posted.message_id, post("two"))
    world.faults.refuse(
        400, 30046, "Maximum number of edits", "PATCH", "/channels/*/messages/*", times=1
    )
    with pytest.raises(ChatRefused) as refused:
        await chat.edit(event.key, posted.message_id, post("two"))
    assert refused.value.code == "30046"
    await chat.delete(event.key, posted.message_id)
    await chat.delete(event.key, posted.message_id)
    with pytest.raises(ChatRefused) as refused:
        await chat.edit(event.key, posted.message_id, post("two"))
    assert refused.value.code == "10008"


async def test_posting_before_and_after_the_connection_is_busy(world):
    chat = DiscordChat(DiscordConfig(world.token, world.api_url))
    key = ConversationKey("discord", world.guild, world.channel, "")
    with pytest.raises(ChatBusy):
        await chat.post(key, post("too early"))


# --- commands and buttons ----------------------------------------------------------------


async def test_a_command_at_channel_level_and_the_thread_its_first_post_opens(world, chat, ears):
    ears.reply = Reply("Asked **claude**.")
    sent = world.alice.slash(
        world.channel, "ask", question="why? -- really", engine="claude", persona="critic"
    )
    event = await ears.event(kind="command")
    assert event.command == "ask"
    assert event.text == "why? -- really --engine claude --as critic"
    assert event.key == ConversationKey("discord", world.guild, world.channel, "")
    shown = await sent.answer()
    assert shown.ephemeral
    assert shown.text == "Asked **claude**."
    posted = await chat.post(event.key, post("Alice asks: why?", opens=True, title="why?"))
    assert posted.root == posted.message_id
    assert world.posts(world.channel) == ["Alice asks: why?"]
    key = ConversationKey("discord", world.guild, world.channel, posted.root)
    await chat.post(key, post("because"))
    assert world.posts(posted.root) == ["because"]
    await chat.edit(key, posted.message_id, post("Alice asked: why?"))
    assert world.posts(world.channel) == ["Alice asked: why?"]
    world.bob.say(posted.root, "thanks")
    assert (await ears.event("thanks")).key == key


async def test_opening_is_done_once_whichever_reply_is_lost(world, chat):
    key = ConversationKey("discord", world.guild, world.channel, "")
    for number, path in enumerate(("/channels/*/messages", "/channels/*/messages/*/threads")):
        opening = post(f"topic {number}", opens=True, title="t")
        world.faults.lose_reply(path=path)
        with pytest.raises(ChatUnsure):
            await chat.post(key, opening)
        await chat.post(key, post(f"topic {number}", opens=True, title="t", tried_at=time.time()))
    await world.until(lambda: len(world.threads()) == 2)
    assert world.posts(world.channel) == ["topic 0", "topic 1"]


async def test_an_opening_with_an_equal_text_is_not_taken_for_another(world, chat):
    key = ConversationKey("discord", world.guild, world.channel, "")
    first = await chat.post(key, post("Alice asks", "n1", opens=True))
    long_ago = time.time() - 100
    second = await chat.post(key, post("Alice asks", "n2", opens=True, tried_at=long_ago))
    third = await chat.post(key, post("Alice asks", "n3", opens=True, tried_at=long_ago - 900))
    assert len({first.root, second.root, third.root}) == 3


async def test_roundtable_options_and_a_command_in_a_thread(world, chat, ears):
    event = await asked(world, ears)
    await chat.post(event.key, post("one"))
    world.alice.slash(
        event.key.root,
        "roundtable",
        topic="SQL or files?",
        participants="architect:claude, critic:codex",
        rounds=2,
    )
    command = await ears.event(kind="command")
    assert command.text == "SQL or files? --with architect:claude,critic:codex --rounds 2"
    assert command.key == event.key
    assert command.in_thread
    world.alice.slash(event.key.root, "stop")
    await world.until(lambda: len(ears.of("command")) == 2)
    assert ears.of("command")[1].key == event.key
    assert ears.of("command")[1].text == ""


async def test_a_command_in_a_direct_message(world, ears):
    world.alice.slash(world.alice.dm, "status")
    event = await ears.event(kind="command")
    assert event.direct
    assert event.author.trusted


async def test_an_interaction_is_answered_in_time_though_the_intake_is_slow(world, ears):
    ears.delay_s, ears.reply = 3.5, Reply("Done.")
    sent = world.alice.slash(world.channel, "status")
    await sent.done(timeout_s=2.9)
    shown = await sent.answer()
    assert (shown.text, shown.ephemeral) == ("Done.", True)


async def test_a_command_delivered_twice_is_one(world, ears):
    world.gateway.duplicate = 1
    sent = world.alice.slash(world.channel, "status")
    await sent.answer()
    world.alice.say(world.channel, "end")
    await ears.event("end")
    assert len(ears.of("command")) == 1


async def test_a_button_click_survives_a_restart(world):
    async with running(world) as (chat, ears):
        event = await asked(world, ears)
        await chat.post(
            event.key, post("working …", buttons=(Button("stop:12", "Stop", "danger"),))
        )
    async with running(world) as (chat, ears):
        shown = await world.message(event.key.root, "working")
        assert shown.buttons == (("stop:12", "Stop"),)
        ears.reply = Reply("Sure?", (Button("yes:12", "Yes"),))
        click = world.bob.click(shown, label="Stop")
        event2 = await ears.event("stop:12", "button")
        assert event2.key == event.key
        assert event2.message_id == shown.id
        assert event2.author.id == world.bob.id
        answer = await click.answer()
        assert answer.ephemeral
        assert answer.buttons == (("yes:12", "Yes"),)
        ears.reply = None
        click = world.bob.click(answer, "yes:12")
        await ears.event("yes:12", "button")
        await click.done()
        assert click.messages == []
        await chat.edit(event.key, shown.id, post("stopped"))
        assert (await world.message(event.key.root, "stopped")).buttons == ()


async def test_commands_are_registered_once(world):
    def registrations() -> int:
        return sum(m == "PUT" and "commands" in p for m, p in world.requests)

    async with running(world):
        assert registrations() == 1
        await world.gateway.disconnect()
    async with running(world):
        pass
    assert registrations() == 1
    names = {name for name, _ in world.backend.commands[None]}
    assert names == {"ask", "roundtable", "stop", "status", "context"}


# --- the connection ----------------------------------------------------------------------


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


async def test_the_token_never_resumes_elsewhere(world, ears):
    assert world.api_url.removesuffix("/api/v10") == Route.BASE.removesuffix("/api/v10")
    world.gateway.resume_url = "ws://gateway.invalid/"
    world.gateway.forget_sessions()
    await world.gateway.disconnect()  # the new session's READY names another host
    await world.until(lambda: ears.readies == 2)
    await world.gateway.disconnect()
    await world.until(lambda: world.gateway.resumes == 2)


# --- history and checks ------------------------------------------------------------------


async def test_a_thread_is_told_with_its_starter_and_without_our_posts(world, chat):
    bot = world.person("ci", bot=True)
    root = bot.say(world.channel, "build 41 failed: log …")
    thread = world.alice.open_thread(world.channel, "build", root)
    world.alice.say(thread, "who?")
    key = ConversationKey("discord", world.guild, world.channel, root)
    await chat.post(key, post("not me"))
    world.bob.say(thread, f"{world.mention} why, {world.alice.mention}?")
    said = await chat.thread(key, 10)
    assert [(s.author.name, s.author.kind, s.text) for s in said] == [
        ("Ci", "bot", "build 41 failed: log …"),
        ("Alice", "human", "who?"),
        ("Bob", "human", f"why, @Alice ({world.alice.id})?"),
    ]
    assert [s.text for s in await chat.thread(key, 2)] == [
        "build 41 failed: log …",
        f"why, @Alice ({world.alice.id})?",
    ]
    world.bob.delete(world.channel, root)
    said = await chat.thread(key, 10)
    assert "deleted" in said[0].text
    assert said[0].author.name == "unknown"
    assert len(said) == 3


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
