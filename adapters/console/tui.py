"""The room on the screen: threads at the left, the open one at the right, a line to write in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from textual import on
from textual.app import App, ComposeResult, ScreenStackError
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.css.query import NoMatches
from textual.message import Message
from textual.widgets import Button as PushButton
from textual.widgets import Footer, Markdown, OptionList, Static

from adapters.console.chat import CHAT, SPACE, ConsoleChat, Whisper
from adapters.console.ledger import FIRST_CHANNEL, Change, RoomMessage
from adapters.console.look import DAY, NIGHT, STYLE
from adapters.console.render import one_line
from adapters.console.room import Room
from adapters.console.typed import Command, Leave, NewChannel, read_line
from adapters.console.widgets import (
    ActionButton,
    Composer,
    MessageView,
    Sidebar,
    WhisperView,
    agents_words,
    thread_title,
)
from core.errors import BadInput
from core.markup.links import is_web
from core.model import Reply
from core.tongue import language_at, say, speaking, to_say

PAGE = 40  # messages of a thread shown at first, and more each time one asks for earlier ones
_ASK = to_say("Ask something (opens a new thread)")
_REPLY = to_say("Reply in this thread")

KEYS = """\
**In this room**

- `Enter` sends, `Ctrl+J` begins a new line, a paste may have many
- `Ctrl+N` or `Esc` goes to the channel: what you write there opens a new thread
- `Ctrl+S` stops what runs here; `Shift+Tab` goes to the buttons, `Tab` to the next one, `Esc` \
comes back
- Commands may be typed with `/` as with `!`: `/requests`, `/allow 7`, `/plan`
- In the list, `?` marks a thread that waits for your decision, `●` one that works
- `Ctrl+↑` and `Ctrl+↓` go through the threads, `Page up` and `Page down` through this one
- `/channel NAME` makes a channel; `Ctrl+B` shows the list where the window is narrow
- `Ctrl+T` is for light or dark, `Ctrl+Q` leaves"""


class RoomChanged(Message):
    """The room has changed."""

    def __init__(self, change: Change) -> None:
        super().__init__()
        self.change = change


class Whispered(Message):
    """A reply for the person here only."""

    def __init__(self, whisper: Whisper) -> None:
        super().__init__()
        self.whisper = whisper


class RoomApp(App[None]):
    """The screen over an open room and its chat.

    ``banner`` gives the Markdown lines that a channel, by its name, shows first.

    ``await run_async()`` returns when the person leaves; ``return_code`` is not 0 after a fault.
    """

    TITLE = "Moot"
    CSS = STYLE
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-medium"), (100, "-wide")]  # noqa: RUF012
    BINDINGS: list[BindingType] = [  # noqa: RUF012
        Binding("ctrl+n", "ask", "New question", priority=True),
        Binding("ctrl+s", "stop", "Stop", priority=True),
        Binding("f1", "help", "Help", priority=True),
        Binding("ctrl+q", "quit", "Leave", priority=True),
        Binding("escape", "back", "Back", show=False),
        Binding("ctrl+b", "list", "Threads", show=False, priority=True),
        Binding("ctrl+t", "light", "Light or dark", show=False, priority=True),
        Binding("ctrl+up", "step(-1)", "Newer thread", show=False, priority=True),
        Binding("ctrl+down", "step(1)", "Older thread", show=False, priority=True),
        Binding("pageup", "page(-1)", "Scroll", show=False, priority=True),
        Binding("shift+tab", "buttons", "Buttons", show=False, priority=True),
        Binding("pagedown", "page(1)", "Scroll", show=False, priority=True),
    ]

    def __init__(
        self, room: Room, chat: ConsoleChat, banner: Callable[[str], Sequence[str]]
    ) -> None:
        super().__init__()
        self._room = room
        self._chat = chat
        self._banner = banner
        self._channel = FIRST_CHANNEL
        self._root = ""
        self._shown = PAGE
        self._unread: set[str] = set()
        self._drafts: dict[tuple[str, str], str] = {}
        self._opening = False  # a command at channel level is about to open a thread
        self._unwatch: list[Callable[[], None]] = []

    def compose(self) -> ComposeResult:
        """The sidebar, the open place, the line to write in."""
        with Horizontal():
            yield Sidebar(self._room)
            with Vertical(id="place"):
                yield Static(id="title")
                with VerticalScroll(id="messages", can_focus=False):
                    yield Vertical(id="thread")
                yield Composer()
        yield Footer(compact=True)

    async def on_mount(self) -> None:
        """Show the channel and listen."""
        for theme in (NIGHT, DAY):
            self.register_theme(theme)
        self.theme = NIGHT.name
        self._unwatch = [
            self._room.watch(lambda change: self.post_message(RoomChanged(change))),
            self._chat.hear(lambda whisper: self.post_message(Whispered(whisper))),
        ]
        await self._go(FIRST_CHANNEL, "")

    def on_unmount(self) -> None:
        """Listen no longer."""
        for stop in self._unwatch:
            stop()

    # --- what the room tells ---------------------------------------------------------------

    async def on_room_changed(self, event: RoomChanged) -> None:
        """Bring the open thread and the list up to date."""
        with self._while_open():
            await self._bring_up_to_date(event.change)

    @contextmanager
    def _while_open(self) -> Iterator[None]:
        """What still comes while the room is being left finds no screen, and needs none."""
        try:
            yield
        except (NoMatches, ScreenStackError):
            if self.is_running and self.screen_stack and self.query("#thread"):
                raise

    async def _bring_up_to_date(self, change: Change) -> None:
        message = change.message
        if message is not None:
            if message.root == self._root:
                await self._show(message.id, new=change.kind == "posted")
            elif change.kind == "posted" and self._opens_now(message):
                await self._go(message.channel, message.root)
            elif change.kind == "posted" and message.ours:
                self._unread.add(message.root)
        self._list()

    def _opens_now(self, message: RoomMessage) -> bool:
        here = message.channel == self._channel and not self._root
        return here and self._opening and message.ours and message.id == message.root

    async def on_whispered(self, event: Whispered) -> None:
        """Show a reply where the person acted, or as a note if they have moved on."""
        with self._while_open():
            await self._whisper(event.whisper)

    async def _whisper(self, whisper: Whisper) -> None:
        for button in self.query(ActionButton):
            button.disabled = False
        if (whisper.channel, whisper.root) == (self._channel, self._root):
            await self._thread.mount(WhisperView(whisper))
            self._messages.anchor()
            form = whisper.reply.form
            if form is not None and form.command == "answer" and not self._composer.text:
                self._composer.give_back(f"!answer {form.context} ")  # there are no forms here
        else:
            self.notify(one_line(whisper.reply.text, 300), markup=False)

    async def _show(self, message_id: str, *, new: bool) -> None:
        """Bring one message of the open thread to the state the room has it in by now."""
        found = self._thread.query(f"#m{message_id}")
        view = found.first(MessageView) if found else None
        message = self._room.message(message_id)
        if view is not None:
            await (view.remove() if message is None else view.show(message))
        elif new and message is not None:
            self._shown += 1
            await self._thread.mount(MessageView(message))

    # --- what the person does --------------------------------------------------------------

    @on(Composer.Sent)
    async def _sent(self, event: Composer.Sent) -> None:
        try:
            await self._send(event.text)
        except (BadInput, OSError, LookupError) as error:
            self._composer.give_back(event.text)
            self.notify(str(error), severity="error", markup=False)

    async def _send(self, text: str) -> None:
        channel, root = self._channel, self._root
        match read_line(text):
            case Leave():
                self.exit()
                return
            case NewChannel(name):
                kept = await self._room.add_channel(name)
                await self._go(kept, "")
            case Command(name, rest):
                self._opening = not root and name in ("ask", "roundtable")
                await self._chat.command(channel, root, name, rest)
            case words:
                said = await self._room.say(channel, root, self._chat.owner, words.text)
                if not root:
                    typed_since = self._composer.text
                    self._composer.clear()
                    await self._go(channel, said.root)
                    self._composer.give_back(typed_since)
                self._messages.anchor()

    @on(PushButton.Pressed)
    async def _pressed(self, event: PushButton.Pressed) -> None:
        button = event.button
        if isinstance(button, ActionButton):
            button.disabled = True
            self._composer.focus()
            here = (self._channel, self._root)
            await self._chat.press(*here, button.message_id, button.action_value)
            for ancestor in button.ancestors:
                if isinstance(ancestor, WhisperView):  # it has been answered
                    await ancestor.remove()
        elif button.id == "earlier":
            await self._earlier(button)

    @on(OptionList.OptionSelected)
    async def _selected(self, event: OptionList.OptionSelected) -> None:
        channel, _, root = (event.option.id or "").rpartition("/")
        self.screen.remove_class("-listing")
        await self._go(channel, root)

    @on(Markdown.LinkClicked)
    def _link(self, event: Markdown.LinkClicked) -> None:
        if is_web(event.href):
            # Said in full: the words of a link may promise another place.
            self.notify(one_line(event.href, 500), title="Opening", markup=False)
            self.open_url(event.href)

    async def action_ask(self) -> None:
        """Go to the channel, where a question opens a new thread."""
        await self._go(self._channel, "")

    async def action_back(self) -> None:
        """From the list to the thread, from the thread to the channel."""
        if self.screen.has_class("-listing"):
            self.screen.remove_class("-listing")
            self._composer.focus()
        elif self.focused is not self._composer:
            self._composer.focus()
        elif self._root:
            await self._go(self._channel, "")
        else:
            self.notify("Ctrl+Q leaves.", markup=False)

    async def action_stop(self) -> None:
        """Stop what runs in the thread; in the channel, ask which."""
        await self._chat.command(self._channel, self._root, "stop", "")

    async def action_help(self) -> None:
        """Show the keys, and what Moot itself says can be typed."""
        mine = Whisper(self._channel, self._root, Reply(KEYS))
        await self._thread.mount(WhisperView(mine))
        await self._chat.command(self._channel, self._root, "help", "")

    def action_buttons(self) -> None:
        """Go to a message's first button: what is to be decided, then others, the newest first."""
        rows = [row for row in self.query(".buttons") if row.query("ActionButton:enabled")]
        rows.sort(key=lambda row: row.has_class("asks"))
        at = next((n for n, row in enumerate(rows) if row.has_focus_within), len(rows))
        (rows[at - 1].query("ActionButton:enabled").first() if at else self._composer).focus()

    def action_list(self) -> None:
        """Show the list of threads in a narrow window, or go to it in a wide one."""
        self.screen.toggle_class("-listing")
        sidebar = self.query_one(Sidebar)
        (sidebar if self.focused is not sidebar else self._composer).focus()

    def action_light(self) -> None:
        """Change between dark and light."""
        self.theme = DAY.name if self.theme == NIGHT.name else NIGHT.name

    async def action_step(self, by: int) -> None:
        """Go to the next or the previous thread of the channel, in the order of the list."""
        roots = ("", *self._room.threads(self._channel))
        at = roots.index(self._root) if self._root in roots else 0
        await self._go(self._channel, roots[min(max(at + by, 0), len(roots) - 1)])

    def action_page(self, by: int) -> None:
        """Scroll the thread by a page, also while writing."""
        move = self._messages.scroll_page_down if by > 0 else self._messages.scroll_page_up
        move(animate=False)

    # --- what is shown ---------------------------------------------------------------------

    @property
    def _messages(self) -> VerticalScroll:
        return self.query_one("#messages", VerticalScroll)

    @property
    def _thread(self) -> Vertical:
        return self.query_one("#thread", Vertical)

    @property
    def _composer(self) -> Composer:
        return self.query_one(Composer)

    async def _go(self, channel: str, root: str) -> None:
        """Show a thread, or the channel itself (``root`` "")."""
        composer = self._composer
        self._drafts[self._channel, self._root] = composer.text
        self._channel, self._root, self._shown, self._opening = channel, root, PAGE, False
        self._unread.discard(root)
        composer.load_text(self._drafts.pop((channel, root), ""))
        composer.move_cursor(composer.document.end)
        with speaking(language_at(CHAT, SPACE, self._channel)):
            composer.placeholder = say(_REPLY if root else _ASK)
        await self._fill()
        self._list()
        self._messages.anchor()
        composer.focus()

    async def _fill(self) -> None:
        messages = self._room.thread(self._root) if self._root else ()
        place = f"# {one_line(self._channel)}"
        title = f"{place} › {thread_title(messages)}" if messages else place
        self.query_one("#title", Static).update(Content(title))
        shown = [MessageView(message) for message in messages[-self._shown :]]
        with self.batch_update():
            await self._thread.remove_children()
            if not self._root:
                words = agents_words("\n\n".join(self._banner(self._channel)))
                await self._thread.mount(Vertical(words, classes="entry intro"))
            if len(messages) > len(shown):
                await self._thread.mount(PushButton("Earlier", id="earlier", compact=True))
            await self._thread.mount_all(shown)

    async def _earlier(self, button: PushButton) -> None:
        messages = self._room.thread(self._root)
        first = len(messages) - self._shown
        self._shown += PAGE
        views = [MessageView(message) for message in messages[max(first - PAGE, 0) : first]]
        await self._thread.mount_all(views, after=button)
        if first <= PAGE:
            await button.remove()
        self._messages.scroll_home(animate=False)

    def _list(self) -> None:
        here = (self._channel, self._root)
        self.query_one(Sidebar).refresh_rows(here, frozenset(self._unread))
