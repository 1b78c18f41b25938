"""The status message of a run, and in it the answer while it is written; never in the way.

Edits are best effort and at the platform's pace: when its turn comes, what is shown is the newest
state. The end is not theirs: the outbox owes the answer, which may take the message over, or the
deletion of the message (``core.turns.settle``).
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

import structlog

from bridge.pace import Pace
from bridge.streaming import Growing, Owing
from core.errors import ChatBusy, ChatRefused, MootError
from core.live import LiveText, Pane, presentable
from core.minutes import run_buttons
from core.model import Conversation, EngineEvent, Outgoing, Participant, Post, Step, Turn
from core.ports import Chat, Streams
from core.tongue import say
from core.words import label_of, seat_name, status_text

log = structlog.get_logger()

EDIT_DEADLINE_S = 10.0
QUIET_S = 3.0  # what an answer waits for an edit that is on its way
ADD_INTERVAL_S, ADD_GAP_S = 1.0, 0.7  # a growing message: some 100 times a minute in all
MAX_DOING_CHARS = 80
# With nothing new to say, the clock alone is shown this often: so many times a platform's pace.
IDLE_PACES, IDLE_EDIT_S = 4, 10.0

Render = Callable[[str, str, str], tuple[str, ...]]
"""``(chat, markdown, label)`` -> texts, without secrets."""


@dataclass(slots=True)
class _Shown:
    conversation: Conversation
    turn: Turn
    step: Step
    seat: Participant
    began: float
    spoken: contextvars.Context  # the language of the place, among others
    pane: Pane
    growing: Growing | None = None
    live: LiveText = field(default_factory=LiveText)
    doing: str = ""
    waits: str = ""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    words: asyncio.Event = field(default_factory=asyncio.Event)  # news for the growing message
    message_id: str = ""
    row: int = 0  # of the message in the outbox
    tasks: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])
    sending: set[asyncio.Task[None] | None] = field(
        default_factory=set[asyncio.Task[None] | None]
    )  # those that wait for the platform's answer
    over: bool = False
    unsure: bool = False  # an edit was never answered: it may come late
    has_text: bool = False  # readers see the answer in the status message

    @property
    def place(self) -> str:
        key = self.conversation.key
        return f"{key.channel} {key.root}"


class StatusMessages:
    """Implements ``core.turns.house.Progress``; a newer state replaces one not shown yet.

    ``render`` is what every post goes through. With ``stream`` answers are shown while they are
    written: in messages that grow, where the platform has such (``owing`` is where they are owed),
    else by edits of the status message.
    """

    def __init__(
        self,
        chats: Mapping[str, Chat],
        render: Render,
        owing: Owing | None = None,
        *,
        stream: bool = True,
    ) -> None:
        self._chats = chats
        self._render = render
        self._owing = owing
        self._stream = stream
        self._shown: dict[str, _Shown] = {}
        self._ending: dict[str, _Shown] = {}  # over, with something on its way
        self._paces: dict[str, Pace] = {}
        self._adding: dict[str, Pace] = {}

    def started(
        self, run_id: str, conversation: Conversation, turn: Turn, step: Step, seat: Participant
    ) -> None:
        """A run has begun; its status message is on its way through the outbox."""
        chat = self._chats.get(conversation.key.chat)
        if chat is None:
            return
        spoken, pane = contextvars.copy_context(), Pane(chat.limits.post_units)
        shown = _Shown(conversation, turn, step, seat, time.monotonic(), spoken, pane)
        self._shown[run_id] = shown
        if self._stream and self._owing and isinstance(chat, Streams):
            name = label_of(turn, seat, step.round)
            shown.growing = Growing(self._owing, chat, run_id, turn, conversation.key, name)

    def posted(self, item: Outgoing, message_id: str) -> None:
        """The outbox has posted something; edits begin once it is the run's status message."""
        shown = self._shown.get(item.run_id)
        if shown is None or item.op != "post":
            return
        if item.kind == "live" and shown.growing:
            shown.growing.posted(item.id, message_id)
            shown.words.set()
        elif item.kind == "status" and not shown.tasks:
            shown.message_id, shown.row = message_id, item.id
            chat = self._chats[shown.conversation.key.chat]
            self._pace(chat).rest(shown.place, chat.limits.edit_interval_s)
            works = [self._edit_on(chat, shown)]
            if shown.growing:
                works.append(self._grow_on(chat, shown, shown.growing))
            shown.tasks = [asyncio.create_task(work, context=shown.spoken) for work in works]

    def event(self, run_id: str, event: EngineEvent) -> None:
        """Something happened in the run; shown when the platform's pace allows."""
        shown = self._shown.get(run_id)
        if shown is None:
            return
        if self._stream and shown.live.take(event):
            shown.words.set()
            if shown.growing is None or not shown.growing.shows:
                shown.news.set()
        doing = shown.spoken.run(_doing, event)
        if doing is not None and doing != shown.doing:
            shown.doing = doing
            shown.news.set()

    def waits(self, run_id: str, told: str) -> None:
        """See ``core.turns.house.Progress``."""
        shown = self._shown.get(run_id)
        if shown is not None and told != shown.waits:
            shown.waits = told
            shown.news.set()

    def ended(self, run_id: str) -> int:
        """No more edits: the outbox takes the message over, or away. See ``Progress``."""
        shown = self._shown.pop(run_id, None)
        if shown is None:
            return 0
        shown.over = True
        alone = shown.growing.alone if shown.growing else 0
        for task in shown.tasks:
            if task not in shown.sending:  # what was sent is waited for: it must not come late
                task.cancel()
        if shown.tasks:
            self._ending[run_id] = shown
            gone = asyncio.gather(*shown.tasks, return_exceptions=True)
            gone.add_done_callback(lambda _: self._ending.pop(run_id, None))
        return alone or (shown.row if shown.has_text else 0)

    async def quiet(self, run_id: str) -> bool:
        """Wait until no edit of the run's message can come any more; False if one may come late.

        Then the message must not become the answer: an older state could be shown in its place.
        """
        shown = self._ending.get(run_id)
        if shown is None:
            return True
        _, late = await asyncio.wait(shown.tasks, timeout=QUIET_S)
        for task in late:
            task.cancel()
        return not late and not shown.unsure

    async def close(self) -> None:
        """Settle all edits under way."""
        for run_id in list(self._shown):
            self.ended(run_id)
        tasks = [task for shown in self._ending.values() for task in shown.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- edits ----------------------------------------------------------------------------

    def _pace(self, chat: Chat) -> Pace:
        return self._paces.setdefault(chat.name, Pace(chat.limits))

    async def _edit_on(self, chat: Chat, shown: _Shown) -> None:
        """Edit the status message, now and then."""
        pace = self._pace(chat)
        idle_s = min(IDLE_EDIT_S, IDLE_PACES * chat.limits.edit_interval_s)
        await pace.turn(shown.place)
        while not shown.over:
            try:
                # While people are asked nothing changes, and the clock is nobody's business.
                async with asyncio.timeout(None if shown.waits else idle_s):
                    await shown.news.wait()
            except TimeoutError:
                pass  # nothing new: the clock is shown
            await pace.turn(shown.place)
            shown.news.clear()
            wait_s = await self._sent(shown, self._edit(chat, shown))
            if wait_s:
                pace.rest(shown.place, wait_s)
                shown.news.set()  # what was to be shown still is

    async def _grow_on(self, chat: Chat, shown: _Shown, growing: Growing) -> None:
        """Let the growing message grow."""
        slow = replace(chat.limits, edit_interval_s=ADD_INTERVAL_S, edit_gap_s=ADD_GAP_S)
        pace = self._adding.setdefault(chat.name, Pace(slow))
        pace.rest(shown.place, chat.limits.edit_interval_s)  # a quick answer needs none
        try:
            while not shown.over and not growing.off and not growing.hushed:
                await shown.words.wait()
                await pace.turn(shown.place)
                shown.words.clear()
                if shown.live.text.strip():
                    wait_s = await self._sent(shown, growing.show(shown.live))
                    pace.rest(shown.place, wait_s)
                    if wait_s or growing.waits:
                        shown.words.set()
            shown.news.set()  # the status message shows the text from now on
        finally:
            shown.unsure = not await growing.finish() or shown.unsure

    async def _sent(self, shown: _Shown, act: Awaitable[object]) -> float:
        """Send something, best effort; for how long the platform asks to wait."""
        task = asyncio.current_task()
        shown.sending.add(task)
        try:
            async with asyncio.timeout(EDIT_DEADLINE_S):
                await act
            shown.unsure = False
        except ChatBusy as busy:
            return busy.retry_after_s
        except (MootError, TimeoutError) as error:
            shown.unsure = not isinstance(error, ChatRefused)
            log.debug("progress.skipped", why=type(error).__name__)
        finally:
            shown.sending.discard(task)
        return 0.0

    async def _edit(self, chat: Chat, shown: _Shown) -> None:
        """Show the newest state."""
        buttons = run_buttons(shown.turn, shown.step)
        clock = time.monotonic() - shown.began
        below = status_text(seat_name(shown.seat), shown.doing, clock, waits=shown.waits)
        written, whole = shown.live.text, shown.live.whole
        text = ""
        if written and not (shown.growing and shown.growing.shows):
            # What grows with the text is worked out beside the loop.
            text = await asyncio.to_thread(self._picture, shown, written, below, whole=whole)
        post = Post(nonce="", text=text or chat.render(below)[0], buttons=buttons)
        await chat.edit(shown.conversation.key, shown.message_id, post)
        shown.has_text = bool(text)

    def _picture(self, shown: _Shown, written: str, below: str, *, whole: bool) -> str:
        """The text of the message; "" while there is nothing of the answer to see."""
        markdown = presentable(written, whole=whole)
        if not markdown:
            return ""
        chat = shown.conversation.key.chat
        label = label_of(shown.turn, shown.seat, shown.step.round)
        return shown.pane.show(markdown, below, lambda text: self._render(chat, text, label))


_PULLS = ("mcp__moot__pull", "moot_pull")  # what engines call our tool


def _doing(event: EngineEvent) -> str | None:
    """What an event says the run is doing, as Markdown; None if it says nothing about that."""
    match event.kind:
        case "tool_start":
            what = " ".join(event.text.replace("`", "'").split())
            what = what if len(what) <= MAX_DOING_CHARS else what[: MAX_DOING_CHARS - 1] + "…"
            name = event.name.replace("`", "'")
            if name in _PULLS:
                return (
                    say("looking up `{what}`", what=what) if what else say("looking something up")
                )
            if what == "moot pull":  # as Codex names it, without the question
                return say("looking something up")
            return f"`{name}` `{what}`" if what else f"`{name}`"
        case "tool_end" | "thinking":
            return say("thinking")
        case "delta" | "message":
            return say("writing")
        case "retry" if event.name == "session":
            return say("waiting for another run that uses its session")
        case "retry" if event.name == "again":
            return event.text
        case "retry":
            return say("waiting for the model")
        case _:
            return None
