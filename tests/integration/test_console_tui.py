"""The room on the screen, driven by key and mouse over a real room and chat."""

from __future__ import annotations

import asyncio
import html
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Static

from adapters.console.chat import ConsoleChat, Whisper
from adapters.console.ledger import FIRST_CHANNEL, Change
from adapters.console.room import Room
from adapters.console.tui import RoomApp, RoomChanged, Whispered
from adapters.console.widgets import ActionButton, Composer, MessageView, Sidebar, WhisperView
from core.model import Button, ChatEvent, ConversationKey, Form, Post, Reply
from core.receipts import say_receipt

G = FIRST_CHANNEL
STOP = (Button("stop:7", "Stop", "danger"),)


@dataclass
class Seat:
    """A person at the console, and a bridge that does what the test scripts."""

    room: Room
    chat: ConsoleChat
    app: RoomApp
    pilot: Pilot
    events: list[ChatEvent] = field(default_factory=list)
    script: Callable[[ChatEvent], Awaitable[Reply | None]] | None = None
    posts: int = 0

    async def accept(self, event: ChatEvent) -> Reply | None:
        self.events.append(event)
        return await self.script(event) if self.script else None

    async def post(self, key: ConversationKey, text: str, label: str = "", **more) -> str:
        self.posts += 1
        texts = self.chat.render(text, label)
        posted = await self.chat.post(key, Post(f"n{self.posts}", texts[0], **more))
        return posted.message_id

    async def type(self, text: str) -> None:
        keys = {" ": "space", "\n": "ctrl+j", "!": "exclamation_mark", "?": "question_mark"}
        await self.pilot.press(*(keys.get(ch, ch) for ch in text))

    async def send(self, text: str) -> None:
        """Type and press Enter; return once the bridge has it."""
        before = len(self.events)
        await self.type(text)
        await self.pilot.press("enter")
        await self.until(lambda: len(self.events) > before)

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not true():
                await self.pilot.pause(0.02)

    def screen(self) -> str:
        """What is on the screen, as text; rows are lines."""
        width = self.app.size.width
        lines = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text[:width].rstrip() for strip in lines)

    async def sees(self, text: str) -> None:
        try:
            await self.until(lambda: text in self.screen())
        except TimeoutError:
            pytest.fail(f"{text!r} is not on the screen:\n{self.screen()}")


@asynccontextmanager
async def sitting(
    folder: Path, size: tuple[int, int] = (110, 36), banner: tuple[str, ...] = ("hello",)
) -> AsyncIterator[Seat]:
    async with Room(folder) as room:
        chat = ConsoleChat(room, "kim")
        app = RoomApp(room, chat, lambda _channel: banner)
        async with app.run_test(size=size, notifications=True) as pilot:
            seat = Seat(room, chat, app, pilot)
            listening = asyncio.create_task(chat.run(seat.accept, lambda: None))
            try:
                yield seat
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)


async def test_a_question_opens_a_thread_and_its_answer_appears(tmp_path):
    banner = ("**claude** answers here.", "Ask anything, or try `!rt topic`.")
    async with sitting(tmp_path, banner=banner) as seat:
        await seat.sees("claude answers here.")
        await seat.sees("try !rt topic")
        await seat.sees("Ask something")
        await seat.send("why so slow?")
        (event,) = seat.events
        assert (event.text, event.mentions_us, event.in_thread) == ("why so slow?", True, False)
        await seat.sees("# general › why so slow?")
        status = await seat.post(event.key, "⏳ claude is working · 1 s", buttons=STOP)
        await seat.sees("claude is working · 1 s")
        await seat.sees("● why so slow?")
        await seat.chat.edit(
            event.key, status, Post("", "⏳ claude is working · 2 s", buttons=STOP)
        )
        await seat.sees("claude is working · 2 s")
        await seat.post(event.key, "It **waits** for `disk`.\n\n- one\n- two", "architect (claude)")
        await seat.chat.delete(event.key, status)
        await seat.sees("architect (claude)")
        await seat.sees("It waits for disk.")
        await seat.sees("• one")
        await seat.until(lambda: "working" not in seat.screen())
        assert "● why" not in seat.screen()
        await seat.send("and now?")
        assert seat.events[-1].key == event.key
        assert seat.events[-1].in_thread is True
        svg = html.unescape(seat.app.export_screenshot()).replace("\xa0", " ")
        for text in ("architect (claude)", "disk", "and now?", "# general › why so slow?"):
            assert text in svg


async def test_several_lines_wide_characters_and_a_paste(tmp_path):
    async with sitting(tmp_path) as seat:
        await seat.type("왜 느린가요?\nline two")
        composer = seat.app.query_one(Composer)
        assert composer.text == "왜 느린가요?\nline two"
        seat.app.post_message(_paste("\n- 붙여넣기 👩‍👩‍👧\n- 표"))
        await seat.until(lambda: "붙여넣기" in composer.text)
        await seat.sees("왜 느린가요?")
        await seat.pilot.press("enter")
        await seat.until(lambda: seat.events)
        assert seat.events[0].text == "왜 느린가요?\nline two\n- 붙여넣기 👩‍👩‍👧\n- 표"
        assert composer.text == ""
        await seat.post(
            seat.events[0].key, "**한글은** 좋다.\n\n| 가 | 나 |\n|---|---|\n| 1 | 둘 |", "claude"
        )
        await seat.sees("한글은 좋다.")
        await seat.until(lambda: "가 나" in " ".join(seat.screen().split()))
        await seat.until(lambda: seat.screen().count("왜 느린가요?") >= 2)


async def test_nothing_that_is_written_is_obeyed(tmp_path):
    evil = "\x1b[31mred\x1b[0m \x1b]0;owned\x07[bold]b[/bold] [@click=app.quit]x[/] [/nope] $TEXT"
    async with sitting(tmp_path) as seat:
        await seat.room.add_channel("other")
        said = await seat.room.say(G, "", "[red]eve[/]\x1b[2J", evil)
        key = ConversationKey("console", "local", G, said.root)
        await seat.post(key, f"{evil}\n\n# {evil}\n\n`{evil}`\n\n```\n{evil}\n```", f"bot {evil}")
        danger = (Button("stop:1", f"go {evil}"),)
        await seat.post(key, evil, buttons=danger)
        await seat.pilot.press("ctrl+down")
        await seat.sees("[@click=app.quit]x[/] [/nope] $TEXT")
        await seat.sees("[red]eve[/]")
        await seat.sees("go red [bold]b[/bold]")
        seat.script = _answer(Reply(evil, danger))
        await seat.pilot.press("ctrl+s")
        await seat.until(lambda: seat.app.query(WhisperView))
        await seat.pilot.press("ctrl+n", "ctrl+s")
        await seat.until(lambda: len(seat.events) == 3)
        await seat.pilot.pause()
        assert "\x1b" not in seat.screen()
        assert "\x1b" not in seat.app.export_screenshot()
        assert "owned" not in seat.screen()


async def test_buttons_by_mouse_and_by_keyboard(tmp_path):
    async with sitting(tmp_path) as seat:
        await seat.send("go")
        key = seat.events[0].key
        message_id = await seat.post(key, "working", buttons=STOP)
        await seat.until(lambda: seat.app.query(ActionButton))
        await seat.pilot.pause()
        await seat.pilot.click(ActionButton)
        await seat.until(lambda: len(seat.events) == 2)
        event = seat.events[1]
        assert (event.kind, event.text, event.message_id) == ("button", "stop:7", message_id)
        assert event.key == key
        await seat.chat.edit(key, message_id, Post("", "done"))
        await seat.until(lambda: not seat.app.query(ActionButton))
        await seat.post(key, "cut off", buttons=(Button("retry:7", "Try again"),))
        await seat.until(lambda: seat.app.query(ActionButton))
        await seat.until(lambda: isinstance(seat.app.focused, Composer))
        await seat.pilot.press("shift+tab")
        assert isinstance(seat.app.focused, ActionButton)
        await seat.pilot.press("enter")
        await seat.until(lambda: len(seat.events) == 3)
        assert seat.events[2].text == "retry:7"


async def test_what_waits_for_a_decision_is_marked_and_allow_comes_first(tmp_path):
    ask = [Button(f"req:4:{verb}", label) for verb, label in (("once", "Allow"), ("deny", "Deny"))]
    async with sitting(tmp_path) as seat:
        await seat.send("go on")
        key = seat.events[0].key
        message_id = await seat.post(key, "may I?", buttons=tuple(ask))
        await seat.post(key, "working", buttons=STOP)
        await seat.sees(" ? go on")
        await seat.until(lambda: len(seat.app.query(ActionButton)) == 3)
        for keys, action in (
            (["shift+tab"], "req:4:once"),
            (["tab"], "req:4:deny"),
            (["shift+tab"], "stop:7"),
        ):
            await seat.pilot.press(*keys)
            assert seat.app.focused.action_value == action
        await seat.pilot.press("shift+tab")
        assert isinstance(seat.app.focused, Composer)
        await seat.chat.edit(key, message_id, Post("", "Allowed."))
        await seat.sees(" ● go on")


async def test_a_form_for_an_answer_becomes_a_line_to_finish(tmp_path):
    async with sitting(tmp_path) as seat:
        await seat.send("go on")
        key = seat.events[0].key
        button = (Button("req:4:form", "Answer…"),)
        await seat.post(key, "Which?", buttons=button)
        await seat.until(lambda: seat.app.query(ActionButton))
        seat.script = _answer(Reply("To answer, type …", form=Form("answer", "A", "Send", (), "4")))
        await seat.pilot.pause()
        await seat.pilot.click(ActionButton)
        await seat.sees("To answer")
        await seat.until(lambda: seat.app.query_one(Composer).text == "!answer 4 ")
        await seat.type("two")
        seat.script = None
        await seat.pilot.press("enter")
        await seat.until(lambda: seat.events[-1].text == "!answer 4 two")


async def test_commands_whispers_and_their_buttons(tmp_path):
    async with sitting(tmp_path) as seat:
        seat.script = _answer(Reply("Which one should **stop**?", (Button("stop:3", "Stop: a"),)))
        await seat.pilot.press("ctrl+s")
        await seat.sees("Which one should stop?")
        await seat.sees("only you see this")
        command = seat.events[0]
        assert (command.kind, command.command, command.key.root) == ("command", "stop", "")
        seat.script = _answer(Reply("Stopped."))
        await seat.pilot.pause()
        await seat.pilot.click(ActionButton)
        await seat.sees("Stopped.")
        assert (seat.events[1].kind, seat.events[1].text) == ("button", "stop:3")
        seat.script = None
        await seat.send("hi there")
        await seat.sees("› hi there")
        assert not seat.app.query(WhisperView)
        await seat.send("/context 12")
        last = seat.events[-1]
        assert (last.command, last.text, last.key.root) == (
            "context",
            "12",
            seat.events[2].key.root,
        )
        await seat.pilot.press("f1")
        await seat.sees("In this room")
        await seat.until(lambda: seat.events[-1].command == "help")


async def test_a_command_at_channel_level_goes_to_the_thread_it_opens(tmp_path):
    async with sitting(tmp_path) as seat:

        async def opens(event: ChatEvent) -> Reply:
            await seat.post(event.key, f"**kim asks:** {event.text}", opens=True, title=event.text)
            return Reply("On it.")

        seat.script = opens
        await seat.send("/ask why")
        await seat.sees("# general › why")
        await seat.sees("kim asks: why")


async def test_channels_threads_and_drafts(tmp_path):
    async with sitting(tmp_path) as seat:
        await seat.send("first")
        await seat.sees("› first")
        await seat.type("half a")
        await seat.pilot.press("ctrl+n")
        await seat.sees("Ask something")
        assert seat.app.query_one(Composer).text == ""
        await seat.send("second")
        await seat.sees("› second")
        await seat.pilot.press("ctrl+down")
        await seat.sees("› first")
        assert seat.app.query_one(Composer).text == "half a"
        await seat.post(seat.events[1].key, "unseen answer", "claude")
        await seat.sees(" • second")
        await seat.pilot.press("ctrl+up")
        await seat.sees("unseen answer")
        assert " • second" not in seat.screen()
        await seat.type("/channel Design Talk")
        await seat.pilot.press("enter")
        await seat.until(lambda: "design-talk" in seat.room.channels)
        await seat.send("hello")
        assert seat.events[-1].key.channel == "design-talk"
        sidebar = seat.app.query_one(Sidebar)
        ids = [option.id for option in sidebar.options]
        first, second = (seat.events[n].key.root for n in (0, 1))
        hello = seat.events[-1].key.root
        assert ids == [
            f"{G}/",
            f"{G}/{second}",
            f"{G}/{first}",
            "design-talk/",
            f"design-talk/{hello}",
        ]
        sidebar.focus()
        sidebar.highlighted = ids.index(f"{G}/{first}")
        await seat.pilot.press("enter")
        await seat.sees("› first")
        await seat.pilot.press("escape")
        await seat.sees("hello")


async def test_a_refused_line_stays_in_the_composer_and_says_why(tmp_path, monkeypatch):
    async with sitting(tmp_path) as seat:
        await seat.type("/channel ../x")
        await seat.pilot.press("enter")
        await seat.sees("name is 1 to 40 letters")
        assert seat.app.query_one(Composer).text == "/channel ../x"
        [note] = seat.app.screen.query("Toast")
        assert not note.region.overlaps(seat.app.query_one(Composer).region)
        seat.app.query_one(Composer).clear()

        def full(_fd, _data):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.write", full)
        await seat.type("hi")
        await seat.pilot.press("enter")
        await seat.sees("No space left")
        monkeypatch.undo()
        assert seat.app.query_one(Composer).text == "hi"
        assert seat.room.threads(G) == ()


async def test_typing_faster_than_the_room_writes(tmp_path):
    async with sitting(tmp_path) as seat:
        await seat.send("first")
        for key in (*"one", "enter", *"two", "enter", *"thr"):
            seat.app.post_message(Key(key, key if len(key) == 1 else None))
        await seat.until(lambda: len(seat.events) == 3)
        assert [event.text for event in seat.events] == ["first", "one", "two"]
        await seat.until(lambda: seat.app.query_one(Composer).text == "thr")


async def test_what_is_typed_while_a_thread_opens_goes_on_in_it(tmp_path):
    async with sitting(tmp_path) as seat:
        for key in (*"one", "enter", *"two"):
            seat.app.post_message(Key(key, key if len(key) == 1 else None))
        await seat.sees("› one")
        await seat.type("!")
        assert seat.app.query_one(Composer).text == "two!"


async def test_a_long_thread_shows_its_end_and_the_rest_when_asked(tmp_path):
    async with Room(tmp_path) as room:
        said = await room.say(G, "", "kim", "long one")
        for n in range(60):
            await room.post(G, said.root, "Moot", f"answer {n}", nonce=f"o{n}")
    async with sitting(tmp_path) as seat:
        await seat.pilot.press("ctrl+down")
        await seat.sees("answer 59")
        assert len(seat.app.query(MessageView)) == 40
        await seat.post(ConversationKey("console", "local", G, said.root), "the newest\n\nend")
        await seat.sees("the newest")
        await seat.pilot.press("pageup")
        await seat.until(lambda: "the newest" not in seat.screen())
        await seat.post(ConversationKey("console", "local", G, said.root), "not pushed into view")
        await seat.pilot.pause()
        assert "not pushed" not in seat.screen()
        seat.app.query_one("#messages").scroll_home(animate=False)
        await seat.sees("Earlier")
        await seat.pilot.click("#earlier")
        await seat.until(lambda: len(seat.app.query(MessageView)) == 63)
        await seat.until(
            lambda: (
                [view.message for view in seat.app.query(MessageView)]
                == list(seat.room.thread(said.root))
            )
        )
        await seat.until(lambda: not seat.app.query("#earlier"))


async def test_changes_that_come_faster_than_they_are_shown(tmp_path):
    async with sitting(tmp_path) as seat:
        await seat.send("fast")
        key = seat.events[0].key
        for n in range(10):
            gone = await seat.post(key, f"status {n}", buttons=STOP)
            kept = await seat.post(key, f"draft {n}")
            await seat.post(key, f"between {n}")
            await seat.chat.edit(key, kept, Post("", f"answer {n}"))
            await seat.chat.delete(key, gone)
        await seat.until(
            lambda: (
                [view.message for view in seat.app.query(MessageView)]
                == list(seat.room.thread(key.root))
            )
        )
        await seat.sees("between 9")
        await seat.sees("answer 9")
        await seat.until(lambda: "draft" not in seat.screen())
        await seat.until(lambda: "status" not in seat.screen())


async def test_a_narrow_window(tmp_path):
    async with sitting(tmp_path, size=(50, 20)) as seat:
        await seat.send("narrow")
        await seat.sees("› narrow")
        assert seat.app.query_one(Sidebar).region.width == 0
        await seat.pilot.press("ctrl+n", "ctrl+b")
        await seat.until(lambda: seat.app.query_one(Sidebar).region.width > 0)
        await seat.pilot.press("down", "enter")
        await seat.sees("› narrow")
        assert seat.app.query_one(Sidebar).region.width == 0


async def test_a_receipt_is_whole_in_a_window_of_80_columns(tmp_path):
    sections = [
        {"name": name, "used": used, "granted": granted, "hash": "12e2fef0"}
        for name, used, granted in (("platform-rules", 1_859, 1_859), ("recent", 1_404, 56_545))
    ]
    receipt = {
        "run": "abcdef0123",
        "engine": "codex",
        "persona": "",
        "state": "answered",
        "mode": "lite",
        "reason": "default",
        "chars": 3_300,
        "budget": 60_000,
        "estimated_tokens": 825,
        "sections": sections,
        "dropped": [],
    }
    async with sitting(tmp_path, size=(80, 36)) as seat:
        await seat.send("!rt --rounds 1 --mode blind why?")
        await seat.sees("# general › why?")  # the topic, without the options before it
        await seat.post(seat.events[-1].key, say_receipt(receipt))
        for row in ("platform-rules ██████ 1,859 1,859 12e2fef0", "recent █░░░░░ 1,404 56,545"):
            await seat.until(lambda row=row: row in " ".join(seat.screen().split()))


async def test_what_arrives_while_one_leaves_is_no_fault(tmp_path):
    async with sitting(tmp_path) as seat:
        await seat.send("first")
        changes: list[Change] = []
        seat.room.watch(changes.append)
        await seat.post(seat.events[0].key, "answer")
        await seat.sees("answer")
        key = seat.events[0].key
        # As in the middle of leaving: the widgets are gone, and the messages still come.
        await seat.app.query_one("#thread").remove()
        seat.app.post_message(RoomChanged(changes[0]))
        seat.app.post_message(Whispered(Whisper(key.channel, key.root, Reply("here"))))
        await seat.pilot.pause()


async def test_leaving(tmp_path):
    async with sitting(tmp_path) as seat:
        await seat.type("/quit")
        await seat.pilot.press("enter")
        await seat.until(lambda: not seat.app.is_running)
    async with sitting(tmp_path) as seat:
        await seat.pilot.press("ctrl+q")
        await seat.until(lambda: not seat.app.is_running)
        assert seat.app.return_code == 0


def _answer(reply: Reply) -> Callable[[ChatEvent], Awaitable[Reply | None]]:
    async def script(_event: ChatEvent) -> Reply | None:
        return reply

    return script


def _paste(text: str):
    from textual.events import Paste

    return Paste(text)


def test_static_is_never_given_markup_by_accident():
    """The screen library reads brackets in plain strings; ours only ever hands it content."""
    import ast

    for name in ("tui", "widgets"):
        tree = ast.parse(Path(f"adapters/console/{name}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == Static.__name__:
                assert not any(isinstance(arg, ast.Constant | ast.JoinedStr) for arg in node.args)
