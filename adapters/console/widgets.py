"""The parts of the room's screen. Whatever people or agents wrote is content here, never markup."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime

import regex
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Button as PushButton
from textual.widgets import Markdown, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from adapters.console.chat import Whisper
from adapters.console.ledger import RoomMessage
from adapters.console.look import voice
from adapters.console.render import clean, make_view_parser, one_line, split_label
from adapters.console.room import Room
from core.model import Button, ButtonStyle

MOST_THREADS = 100  # of a channel in the list
NEW_LINE_KEYS = frozenset({"ctrl+j", "shift+enter", "alt+enter"})
_VARIANTS: dict[ButtonStyle, str] = {"plain": "default", "primary": "primary", "danger": "error"}
_MARKS = {"●": "$success", "?": "bold $warning"}
_PIECE = regex.compile(r" \(\d+/\d+\)$")
_MARKUP = regex.compile(r"[*_`>#~]+")
_TYPED = regex.compile(r"!\w+(?:\s+--[\w-]+(?:=|\s+)\S+)*\s+")  # a command and its first options


class ActionButton(PushButton):
    """A button of a message or whisper: what pressing it means, and on what."""

    def __init__(self, button: Button, message_id: str) -> None:
        super().__init__(
            Content(one_line(button.label)),
            variant=_VARIANTS[button.style],  # type: ignore[arg-type]
            compact=True,
            disabled=button.over,
        )
        self.action_value = button.action
        self.message_id = message_id


class MessageView(Vertical):
    """One message of the thread; ``show`` brings it up to date."""

    def __init__(self, message: RoomMessage) -> None:
        super().__init__(id=f"m{message.id}", classes="entry")
        self.message = message
        speaker, self._body = split_label(message.text)
        self.add_class(_voice_of(message, speaker))

    def compose(self) -> ComposeResult:
        """Who and when, the words, the buttons."""
        yield Static(_who(self.message), classes="who")
        if self.message.ours:
            yield agents_words(self._body)
        else:
            yield Static(Content(clean(self.message.text)), classes="said")
        if self.message.buttons:
            yield _button_row(self.message.buttons, self.message.id)

    async def show(self, message: RoomMessage) -> None:
        """Show a newer state; what did not change is left alone."""
        old, self.message = self.message, message
        speaker, body = split_label(message.text)
        self.query_one(".who", Static).update(_who(message))
        self.set_classes(f"entry {_voice_of(message, speaker)}")
        if message.ours and body != self._body:
            self._body = body
            await self.query_one(Markdown).update(_shown(body))
        elif not message.ours:
            self.query_one(".said", Static).update(Content(clean(message.text)))
        if message.buttons != old.buttons:
            await self.query(".buttons").remove()
            if message.buttons:
                await self.mount(_button_row(message.buttons, message.id))


class WhisperView(Vertical):
    """A reply for the person here only; gone when they move on."""

    def __init__(self, whisper: Whisper) -> None:
        super().__init__(classes="entry whisper")
        self._reply = whisper.reply

    def compose(self) -> ComposeResult:
        """The words and the buttons."""
        yield Static(Content.styled("only you see this", "dim"), classes="who")
        yield agents_words(self._reply.text)
        if self._reply.buttons:
            yield _button_row(self._reply.buttons, "")


class Composer(TextArea):
    """Where one writes: Enter sends, Ctrl+J breaks the line."""

    class Sent(Message):
        """Enter was pressed on something."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__(id="composer", highlight_cursor_line=False, compact=True)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            if self.text.strip():
                sent = self.Sent(self.text)
                # At once: what is typed while this is on its way is the next line.
                self.clear()
                self.post_message(sent)
        elif event.key in NEW_LINE_KEYS:
            event.stop()
            event.prevent_default()
            self.insert("\n")

    def give_back(self, text: str) -> None:
        """Put ``text`` that was not taken before what has been typed since."""
        self.load_text("\n".join(filter(None, (text, self.text))))
        self.move_cursor(self.document.end)


class Sidebar(OptionList):
    """Channels with their threads, the newest first. Option ids: ``channel/root``."""

    def __init__(self, room: Room) -> None:
        super().__init__(id="sidebar", compact=True)
        self._room = room
        self._rows: list[tuple[str, str]] = []

    def refresh_rows(self, here: tuple[str, str], unread: frozenset[str]) -> None:
        """Show what the room holds now, with the open place highlighted."""
        rows: list[tuple[str, str]] = []
        contents: list[Content] = []
        for channel in self._room.channels:
            rows.append((f"{channel}/", "#"))
            contents.append(Content.styled(f"# {one_line(channel, 24)}", "bold"))
            for root in self._room.threads(channel)[:MOST_THREADS]:
                messages = self._room.thread(root)
                mark = "●" if is_working(messages) else "•" if root in unread else " "
                mark = "?" if is_asked(messages) else mark
                title = thread_title(messages)
                rows.append((f"{channel}/{root}", mark + title))
                style = "bold" if root in unread else ""
                contents.append(
                    Content.assemble((f" {mark} ", _MARKS.get(mark, "$accent")), (title, style))
                )
        if rows != self._rows:
            self._rows = rows
            self.clear_options()
            self.add_options(
                Option(content, id=row[0]) for content, row in zip(contents, rows, strict=True)
            )
        at = f"{here[0]}/{here[1]}"
        ids = [row[0] for row in rows]
        if at in ids:
            self.highlighted = ids.index(at)


def agents_words(text: str) -> Markdown:
    """Markdown as this house reads it; a click on a link is the app's to judge."""
    return Markdown(
        _shown(text),
        parser_factory=make_view_parser,
        open_links=False,
        classes="said",
    )


def _shown(text: str) -> str:
    return clean(text).replace("\t", "    ")


def is_working(messages: tuple[RoomMessage, ...]) -> bool:
    """Whether something runs or waits in the thread: it can be stopped."""
    return any(b.action.startswith("stop:") for m in messages if m.ours for b in m.buttons)


def is_asked(messages: tuple[RoomMessage, ...]) -> bool:
    """Whether an agent waits for a person's decision in the thread."""
    return any(asks(b) for m in messages if m.ours for b in m.buttons)


def asks(button: Button) -> bool:
    """Whether a button decides what an agent asks for."""
    return button.action.startswith("req:")


def thread_title(messages: tuple[RoomMessage, ...]) -> str:
    """A short name for a thread, from the words that opened it."""
    if not messages:
        return ""
    first = messages[0]
    words = first.title or split_label(first.text)[1]
    words = _MARKUP.sub("", words) if first.ours else _TYPED.sub("", words, count=1)
    return one_line(words, 60) or "…"


def _voice_of(message: RoomMessage, speaker: str) -> str:
    if not message.ours:
        return "person"
    return voice(_PIECE.sub("", speaker).split(" · ")[0]) if speaker else "moot"


def _who(message: RoomMessage) -> Content:
    speaker = split_label(message.text)[0] if message.ours else ""
    name, _, rest = (one_line(speaker) or one_line(message.author)).partition(" · ")
    edited = " (edited)" if message.edited_at and not message.ours else ""
    return Content.assemble(
        (name, "bold"),
        (f" · {rest}" if rest else "", "dim"),
        (f"  {_clock(message)}{edited}", "dim"),
    )


def _clock(message: RoomMessage) -> str:
    at = datetime.fromtimestamp(message.sent_at).astimezone()
    today = datetime.fromtimestamp(time.time()).astimezone().date()
    return at.strftime("%H:%M" if at.date() == today else "%Y-%m-%d %H:%M")


def _button_row(buttons: tuple[Button, ...], message_id: str) -> Horizontal:
    shown = [one for button in buttons for one in spread(button)]
    row = Horizontal(*(ActionButton(button, message_id) for button in shown), classes="buttons")
    return row.add_class("asks") if any(map(asks, buttons)) else row


def spread(button: Button) -> tuple[Button, ...]:
    """A menu as a button for each of its choices: a terminal has room for them."""
    if not button.options:
        return (button,)
    return tuple(
        replace(
            button, action=f"{button.action}:{value}", label=f"{button.label}: {shown}", options=()
        )
        for value, shown in button.options
    )
