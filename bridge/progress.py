"""The status message of a run: edited at the platform's pace, best effort, never in the way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

from core.errors import MootError
from core.minutes import run_buttons
from core.model import Conversation, EngineEvent, Outgoing, Participant, Post, Step, Turn
from core.ports import Chat
from core.words import seat_name, status_text

log = structlog.get_logger()

EDIT_DEADLINE_S = 10.0
MAX_DOING_CHARS = 80
# With nothing new to say, the clock alone is shown this often: so many times a platform's pace.
IDLE_PACES, IDLE_EDIT_S = 4, 10.0


@dataclass(slots=True)
class _Shown:
    conversation: Conversation
    turn: Turn
    step: Step
    name: str
    began: float
    doing: str = ""
    waits: str = ""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    message_id: str = ""
    task: asyncio.Task[None] | None = None


class StatusMessages:
    """Implements ``core.turns.house.Progress``; a newer state replaces one not shown yet."""

    def __init__(self, chats: Mapping[str, Chat]) -> None:
        self._chats = chats
        self._shown: dict[str, _Shown] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def started(
        self, run_id: str, conversation: Conversation, turn: Turn, step: Step, seat: Participant
    ) -> None:
        """A run has begun; its status message is on its way through the outbox."""
        self._shown[run_id] = _Shown(conversation, turn, step, seat_name(seat), time.monotonic())

    def posted(self, item: Outgoing, message_id: str) -> None:
        """The outbox has posted something; edits begin once it is the run's status message."""
        shown = self._shown.get(item.run_id)
        if shown is not None and item.kind == "status" and item.op == "post":
            shown.message_id = message_id
            shown.task = asyncio.create_task(self._edit_on(shown))

    def event(self, run_id: str, event: EngineEvent) -> None:
        """Something happened in the run; shown when the platform's pace allows."""
        shown = self._shown.get(run_id)
        if shown is None:
            return
        doing = _doing(event)
        if doing is not None and doing != shown.doing:
            shown.doing = doing
            shown.news.set()

    def waits(self, run_id: str, told: str) -> None:
        """See ``core.turns.house.Progress``."""
        shown = self._shown.get(run_id)
        if shown is not None and told != shown.waits:
            shown.waits = told
            shown.news.set()

    def ended(self, run_id: str) -> None:
        """No more edits: the outbox takes the status message away."""
        shown = self._shown.pop(run_id, None)
        if shown and shown.task:
            shown.task.cancel()
            self._closing.add(shown.task)
            shown.task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Settle all edits under way."""
        for run_id in list(self._shown):
            self.ended(run_id)
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _edit_on(self, shown: _Shown) -> None:
        chat = self._chats[shown.conversation.key.chat]
        buttons = run_buttons(shown.turn, shown.step)
        idle_s = min(IDLE_EDIT_S, IDLE_PACES * chat.limits.edit_interval_s)
        while True:
            await asyncio.sleep(chat.limits.edit_interval_s)
            try:
                # While people are asked nothing changes, and the clock is nobody's business.
                async with asyncio.timeout(None if shown.waits else idle_s):
                    await shown.news.wait()
            except TimeoutError:
                pass  # nothing new: the clock is shown
            shown.news.clear()
            clock = time.monotonic() - shown.began
            text = status_text(shown.name, shown.doing, clock, waits=shown.waits)
            post = Post(nonce="", text=chat.render(text)[0], buttons=buttons)
            try:
                async with asyncio.timeout(EDIT_DEADLINE_S):
                    await chat.edit(shown.conversation.key, shown.message_id, post)
            except (MootError, TimeoutError) as error:
                log.debug("progress.skipped", why=type(error).__name__)
                await asyncio.sleep(getattr(error, "retry_after_s", 0.0))


_PULLS = ("mcp__moot__pull", "moot_pull")  # what engines call our tool


def _doing(event: EngineEvent) -> str | None:
    """What an event says the run is doing, as Markdown; None if it says nothing about that."""
    match event.kind:
        case "tool_start":
            what = " ".join(event.text.replace("`", "'").split())
            what = what if len(what) <= MAX_DOING_CHARS else what[: MAX_DOING_CHARS - 1] + "…"
            name = event.name.replace("`", "'")
            if name in _PULLS:
                return f"looking up `{what}`" if what else "looking something up"
            if what == "moot pull":  # as Codex names it, without the question
                return "looking something up"
            return f"`{name}` `{what}`" if what else f"`{name}`"
        case "tool_end" | "thinking":
            return "thinking"
        case "delta" | "message":
            return "writing"
        case "retry" if event.name == "session":
            return "waiting for another run that uses its session"
        case "retry" if event.name == "again":
            return event.text
        case "retry":
            return "waiting for the model"
        case _:
            return None
