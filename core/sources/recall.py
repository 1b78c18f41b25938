"""Pull ``messages`` and ``memory``: what was said in this conversation, by number or by words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from core.keywords import index_text
from core.model import Message, Pull, PulledResult, Scene
from core.records import messages
from core.sources.port import Source

MAX_HITS = 8
MAX_RECENT = 30
MAX_HIT_CHARS = 2_000
OWN_MESSAGES = 8  # at most so many hits are the question itself and earlier hops of its answer
_MAX_ID = 2**63 - 1  # what SQLite can hold
_ONE = re.compile(r"(?:#|id\s)[#\s]*(\d+)")


def wants(pull: Pull) -> tuple[str, int]:
    """What a ``messages`` pull means: ``("id", 12)`` for "#12", ``("recent", n)`` otherwise.

    "12" alone and "last 12" ask for that many recent messages; anything else for the default.
    """
    query = pull.query.strip().lower()[:200]
    if one := _ONE.fullmatch(query):
        return "id", min(int(one[1]), _MAX_ID)
    digits = "".join(char if char.isdecimal() else " " for char in query).split()
    return "recent", min(int(digits[0]), MAX_RECENT) if digits else MAX_HITS


def answer(pull: Pull, scene: Scene) -> PulledResult:
    """The messages that ``pull`` asks for, within the scene's own conversation."""
    here = scene.conversation.id
    if pull.kind == "memory":
        hits: Sequence[Message] = ()
        if searchable(pull.query):
            hits = messages.search(here, pull.query, MAX_HITS + OWN_MESSAGES)
        found = [m for m in belonging(hits, scene) if not _is_of_this_answer(m, scene)][:MAX_HITS]
    else:
        what, number = wants(pull)
        if what == "id":
            one = messages.get_message(number, here)
            found = [one] if one else []
        else:
            found = list(belonging(messages.recent(here, number), scene))
    if not found:
        return PulledResult(pull, (), "nothing found in this conversation")
    return PulledResult(pull, tuple(hit(message) for message in found), "")


def belonging(said: Sequence[Message], scene: Scene) -> tuple[Message, ...]:
    """Without questions that wait for a turn of their own behind this one."""
    return tuple(m for m in said if m.author_kind == "agent" or (m.turn_id or 0) <= scene.turn_id)


def _is_of_this_answer(message: Message, scene: Scene) -> bool:
    """The question itself, and what was said before the pull: nobody's memory, but the task."""
    own = not scene.rounds and message.turn_id == scene.turn_id
    return own or message.id == scene.prompt_message_id


def searchable(query: str) -> bool:
    """Whether a memory query holds any word at all."""
    return bool(index_text(query))


def hit(message: Message) -> str:
    """A message as a Pull brings it: number, speaker, time and text, cut at ``MAX_HIT_CHARS``."""
    when = datetime.fromtimestamp(message.sent_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    text = message.text
    if len(text) > MAX_HIT_CHARS:
        left = len(text) - MAX_HIT_CHARS
        text = f"{text[:MAX_HIT_CHARS]} [{left} characters left out; pull messages: #{message.id}]"
    return f"#{message.id} {' '.join(message.author_name.split())}, {when}: {text}"


SOURCE = Source("recall", "records", kinds=("messages", "memory"), answer=answer)
