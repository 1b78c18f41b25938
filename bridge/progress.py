"""The status message of a run, and in it the answer while it is written; never in the way.

Edits are best effort and at the platform's pace: when its turn comes, what is shown is the newest
state. The end is not theirs: the outbox owes the answer, which may take the message over, or the
deletion of the message (``core.turns.settle``).
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from bridge.pace import Pace
from core.errors import ChatBusy, ChatRefused, MootError
from core.live import LiveText, Pane, presentable
from core.minutes import run_buttons
from core.model import Conversation, EngineEvent, Outgoing, Participant, Post, Step, Turn
from core.ports import Chat
from core.tongue import say
from core.words import label_of, seat_name, status_text

log = structlog.get_logger()

EDIT_DEADLINE_S = 10.0
QUIET_S = 1.5  # what an answer waits for an edit that is on its way
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
    live: LiveText = field(default_factory=LiveText)
    doing: str = ""
    waits: str = ""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    message_id: str = ""
    task: asyncio.Task[None] | None = None
    over: bool = False
    on_its_way: bool = False  # an edit was sent and not answered yet
    unsure: bool = False  # ... and never was: it may come late
    has_text: bool = False  # readers see the answer in it

    @property
    def place(self) -> str:
        key = self.conversation.key
        return f"{key.channel} {key.root}"


class StatusMessages:
    """Implements ``core.turns.house.Progress``; a newer state replaces one not shown yet.

    ``render`` is what every post goes through. With ``stream`` answers are shown while they are
    written.
    """

    def __init__(self, chats: Mapping[str, Chat], render: Render, *, stream: bool = True) -> None:
        self._chats = chats
        self._render = render
        self._stream = stream
        self._shown: dict[str, _Shown] = {}
        self._ending: dict[str, _Shown] = {}  # over, with an edit on its way
        self._pace: dict[str, Pace] = {}

    def started(
        self, run_id: str, conversation: Conversation, turn: Turn, step: Step, seat: Participant
    ) -> None:
        """A run has begun; its status message is on its way through the outbox."""
        chat = self._chats.get(conversation.key.chat)
        if chat is None:
            return
        self._shown[run_id] = _Shown(
            conversation,
            turn,
            step,
            seat,
            time.monotonic(),
            contextvars.copy_context(),
            Pane(chat.limits.post_units),
        )

    def posted(self, item: Outgoing, message_id: str) -> None:
        """The outbox has posted something; edits begin once it is the run's status message."""
        shown = self._shown.get(item.run_id)
        if shown is not None and item.kind == "status" and item.op == "post":
            shown.message_id = message_id
            shown.task = asyncio.create_task(self._edit_on(shown), context=shown.spoken)

    def event(self, run_id: str, event: EngineEvent) -> None:
        """Something happened in the run; shown when the platform's pace allows."""
        shown = self._shown.get(run_id)
        if shown is None:
            return
        if self._stream and shown.live.take(event):
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

    def ended(self, run_id: str) -> bool:
        """No more edits: the outbox takes the message over, or away. See ``Progress``."""
        shown = self._shown.pop(run_id, None)
        if shown is None:
            return False
        shown.over = True
        if shown.task is not None and not shown.task.done():
            self._ending[run_id] = shown
            shown.task.add_done_callback(lambda _: self._ending.pop(run_id, None))
            if not shown.on_its_way:  # what was sent is waited for: it must not come late
                shown.task.cancel()
        return shown.has_text

    async def quiet(self, run_id: str) -> bool:
        """Wait until no edit of the run's message can come any more; False if one may come late.

        Then the message must not become the answer: an older state could be shown in its place.
        """
        shown = self._ending.get(run_id)
        if shown is None or shown.task is None:
            return True
        await asyncio.wait((shown.task,), timeout=QUIET_S)
        if not shown.task.done():
            shown.task.cancel()
            return False
        return not shown.unsure

    async def close(self) -> None:
        """Settle all edits under way."""
        for run_id in list(self._shown):
            self.ended(run_id)
        tasks = [shown.task for shown in self._ending.values() if shown.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- edits ----------------------------------------------------------------------------

    async def _edit_on(self, shown: _Shown) -> None:
        chat = self._chats[shown.conversation.key.chat]
        pace = self._pace.setdefault(chat.name, Pace(chat.limits))
        pace.rest(shown.place, chat.limits.edit_interval_s)  # it was posted just now
        idle_s = min(IDLE_EDIT_S, IDLE_PACES * chat.limits.edit_interval_s)
        while not shown.over:
            try:
                # While people are asked nothing changes, and the clock is nobody's business.
                async with asyncio.timeout(None if shown.waits else idle_s):
                    await shown.news.wait()
            except TimeoutError:
                pass  # nothing new: the clock is shown
            await pace.turn(shown.place)
            shown.news.clear()
            try:
                await self._edit(chat, shown)
            except ChatBusy as busy:
                pace.rest(shown.place, busy.retry_after_s)
                shown.news.set()  # what was to be shown still is
            except (MootError, TimeoutError) as error:
                shown.unsure = not isinstance(error, ChatRefused)
                log.debug("progress.skipped", why=type(error).__name__)

    async def _edit(self, chat: Chat, shown: _Shown) -> None:
        """Show the newest state."""
        buttons = run_buttons(shown.turn, shown.step)
        clock = time.monotonic() - shown.began
        below = status_text(seat_name(shown.seat), shown.doing, clock, waits=shown.waits)
        written, whole = shown.live.text, shown.live.whole
        text = ""
        if written:
            # What grows with the text is worked out beside the loop.
            text = await asyncio.to_thread(self._picture, shown, written, below, whole=whole)
        post = Post(nonce="", text=text or chat.render(below)[0], buttons=buttons)
        shown.on_its_way = True
        try:
            async with asyncio.timeout(EDIT_DEADLINE_S):
                await chat.edit(shown.conversation.key, shown.message_id, post)
        finally:
            shown.on_its_way = False
        shown.unsure, shown.has_text = False, bool(text)

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
            return "thinking"
        case "delta" | "message":
            return "writing"
        case "retry" if event.name == "session":
            return say("waiting for another run that uses its session")
        case "retry" if event.name == "again":
            return event.text
        case "retry":
            return say("waiting for the model")
        case _:
            return None
