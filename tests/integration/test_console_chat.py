"""The console as a ``Chat``: what people do becomes events, what Moot says becomes messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from adapters.console.chat import ConsoleChat, Whisper
from adapters.console.ledger import FIRST_CHANNEL
from adapters.console.once import ask
from adapters.console.room import Room
from core.errors import ChatBusy, ChatRefused
from core.model import Button, ChatEvent, ConversationKey, Post, Posted, Reply

G = FIRST_CHANNEL


class Taker:
    """Stands where the bridge does: keeps what it is given, fails as often as told."""

    def __init__(self, failures: int = 0, reply: Reply | None = None) -> None:
        self.events: list[ChatEvent] = []
        self.failures = failures
        self.reply = reply

    async def accept(self, event: ChatEvent) -> Reply | None:
        self.events.append(event)
        if self.failures:
            self.failures -= 1
            raise RuntimeError("the disk is full")
        return self.reply


@asynccontextmanager
async def listening(chat: ConsoleChat, taker: Taker) -> AsyncIterator[None]:
    ready = asyncio.Event()
    task = asyncio.create_task(chat.run(taker.accept, ready.set))
    async with asyncio.timeout(10):
        await ready.wait()
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def key(root: str, channel: str = G) -> ConversationKey:
    return ConversationKey("console", "local", channel, root)


async def test_a_message_at_channel_level_is_for_us_and_opens_a_thread(tmp_path):
    taker = Taker()
    async with Room(tmp_path) as room:
        chat = ConsoleChat(room, "kim")
        async with listening(chat, taker):
            said = await room.say(G, "", "kim", "왜 느린가요?")
            await room.say(G, said.root, "kim", "and why @property?")
            await chat.idle()
    first, second = taker.events
    assert first.key == key(said.id)
    assert (first.kind, first.text, first.message_id) == ("message", "왜 느린가요?", said.id)
    assert (first.mentions_us, first.in_thread, first.direct) == (True, False, False)
    assert (first.author.id, first.author.grants, first.author.trusted) == (
        "kim",
        ("console:owner",),
        True,
    )
    assert second.key == first.key
    assert (second.mentions_us, second.mentions_others, second.in_thread) == (False, False, True)
    assert second.event_id != first.event_id


async def test_our_name_is_an_address_and_other_people_are_others(tmp_path):
    taker = Taker()
    async with Room(tmp_path) as room:
        chat = ConsoleChat(room, "kim")
        async with listening(chat, taker):
            said = await room.say(G, "", "lee", "hello")
            for text in ("@Moot, and now?", "@lee what do you say?", "mail kim@moot.test", "@moot"):
                await room.say(G, said.root, "kim", text)
            await chat.idle()
    told = [(e.text, e.mentions_us, e.mentions_others) for e in taker.events[1:]]
    assert told == [
        ("and now?", True, False),
        ("@lee what do you say?", False, True),
        ("mail kim@moot.test", False, False),
        ("", True, False),
    ]
    assert taker.events[0].author.trusted is False
    assert "console:owner" not in taker.events[0].author.grants


async def test_what_was_said_before_a_crash_is_delivered_after_it_and_nothing_twice(tmp_path):
    async with Room(tmp_path) as room:
        early = await room.say(G, "", "kim", "nobody listens yet")
    taker = Taker()
    async with Room(tmp_path) as room:
        chat = ConsoleChat(room, "kim")
        async with listening(chat, taker):
            await room.say(G, early.root, "kim", "now")
            await chat.idle()
    assert [e.text for e in taker.events] == ["nobody listens yet", "now"]
    late = Taker()
    async with Room(tmp_path) as room:
        chat = ConsoleChat(room, "kim")
        async with listening(chat, late):
            await chat.idle()
    assert late.events == []


async def test_a_message_that_was_not_taken_comes_again_with_the_same_id(tmp_path, monkeypatch):
    monkeypatch.setattr("adapters.console.chat.FIRST_PAUSE_S", 0.01)
    taker, whispers = Taker(failures=2), []
    async with Room(tmp_path) as room:
        chat = ConsoleChat(room, "kim")
        chat.hear(whispers.append)
        async with listening(chat, taker):
            await room.say(G, "", "kim", "hi")
            await room.say(G, "", "kim", "second")
            await chat.idle()
    assert [e.text for e in taker.events] == ["hi", "hi", "hi", "second"]
    assert len({e.event_id for e in taker.events}) == 2
    assert len(whispers) == 1


async def test_commands_and_buttons_are_events_and_their_replies_are_whispered(tmp_path):
    which = Reply("Which?", (Button("stop:1", "Stop"),))
    taker, whispers = Taker(reply=which), list[Whisper]()
    async with Room(tmp_path) as room:
        chat = ConsoleChat(room, "kim")
        unhear = chat.hear(whispers.append)
        async with listening(chat, taker):
            await chat.command(G, "", "stop", "")
            await chat.command(G, "", "stop", "")
            await chat.press(G, "17", "18", "stop:1")
            await chat.idle()
            unhear()
            taker.failures = 1
            await chat.command(G, "", "status", "")
            await chat.idle()
        assert room.threads(G) == ()
    kinds = [(e.kind, e.command, e.text, e.key.root, e.message_id) for e in taker.events]
    assert kinds == [
        ("command", "stop", "", "", ""),
        ("command", "stop", "", "", ""),
        ("button", "", "stop:1", "17", "18"),
        ("command", "status", "", "", ""),
    ]
    assert len({e.event_id for e in taker.events}) == 4
    assert whispers == [Whisper(G, "", which)] * 2 + [Whisper(G, "17", which)]


async def test_posts_edits_and_deletions(tmp_path):
    async with Room(tmp_path) as room:
        chat = ConsoleChat(room, "kim")
        opened = await chat.post(
            key(""), Post("n1", "**kim asks:** why?", opens=True, title="why?")
        )
        assert opened.root == opened.message_id
        here = key(opened.root)
        stop = (Button("stop:1", "Stop", "danger"),)
        status = await chat.post(here, Post("n2", "working", buttons=stop))
        again = await chat.post(here, Post("n2", "working", buttons=stop, tried_at=1.0))
        assert again == status == Posted(status.message_id, opened.root)
        await chat.edit(here, status.message_id, Post("", "still working", buttons=stop))
        found = room.message(status.message_id)
        assert found is not None
        assert (found.text, found.buttons, found.ours) == ("still working", stop, True)
        await chat.delete(here, status.message_id)
        await chat.delete(here, status.message_id)
        assert [m.text for m in room.thread(opened.root)] == ["**kim asks:** why?"]
        with pytest.raises(ChatRefused):
            await chat.edit(here, status.message_id, Post("", "x"))
        with pytest.raises(ChatRefused):
            await chat.post(key("42"), Post("n3", "x"))
        with pytest.raises(ChatRefused):
            await chat.post(key("", "nowhere"), Post("n4", "x"))


async def test_a_full_disk_is_told_as_busy(tmp_path, monkeypatch):
    async with Room(tmp_path) as room:
        chat = ConsoleChat(room, "kim")

        def full(_fd, _data):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.write", full)
        with pytest.raises(ChatBusy, match="No space"):
            await chat.post(key(""), Post("n1", "x", opens=True))
        monkeypatch.undo()
        assert (await chat.post(key(""), Post("n1", "x", opens=True))).message_id


async def test_a_threads_history_tells_our_own_posts_as_an_agents(tmp_path):
    async with Room(tmp_path) as room:
        chat = ConsoleChat(room, "kim")
        said = await room.say(G, "", "kim", "@moot one")
        await chat.post(key(said.root), Post("n1", "answer"))
        await room.say(G, said.root, "lee", "two")
        history = await chat.thread(key(said.root), 10)
        assert [(s.author.name, s.author.kind, s.text) for s in history] == [
            ("kim", "human", "one"),
            ("Moot", "agent", "answer"),
            ("lee", "human", "two"),
        ]
        assert [s.text for s in await chat.thread(key(said.root), 1)] == ["two"]
        with pytest.raises(ChatRefused):
            await chat.thread(key("42"), 10)


async def test_checks(tmp_path):
    async with Room(tmp_path / "room") as room:
        assert [(c.name, c.ok) for c in await ConsoleChat(room).checks()] == [("console", True)]
    blocked = tmp_path / "file"
    blocked.write_text("")
    (check,) = await ConsoleChat(Room(blocked / "room"), "kim").checks()
    assert check.ok is False
    assert check.fix


async def test_asking_once_gives_the_thread_as_text(tmp_path):
    taker = Taker()
    async with Room(tmp_path) as room:
        chat = ConsoleChat(room, "kim")

        async def answered(_root) -> None:
            """What the bridge does between the event and the end of the turn."""
            here = taker.events[-1].key
            status = await chat.post(here, Post("s", "⏳ claude is working"))
            (text,) = chat.render("**한글** answer\n\n- a \x1b[31mred\x1b[0m", "claude")
            await chat.post(here, Post("a", text))
            await chat.post(here, Post("p", *chat.render("🔎 memory: “x” · 1 found")))
            await chat.delete(here, status.message_id)

        async with listening(chat, taker):
            lines = await ask(chat, "왜?\nreally", answered)
            assert lines == [
                "kim: 왜?\nreally",
                "claude: **한글** answer\n\n- a red",
                "Moot: 🔎 memory: “x” · 1 found",
            ]
            taker.events.clear()
            await ask(chat, "/rt SQL or files", answered)
        assert taker.events[0].text == "!roundtable SQL or files"
