"""Pull ``messages``: what was said in this conversation, or one message by its number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from core.context.frame import boundary, one_line
from core.keywords import tokens
from core.model import Conversation, Message, Pull, PulledResult, Scene
from core.records import messages, scope
from core.sources.port import Source

MAX_HITS = 8
MAX_RECENT = 30
MAX_HIT_CHARS = 2_000
MAX_ONE_CHARS = 10_000  # of a message asked for by its number; the rest with "#12 from 10000"
_MAX_ID = 2**63 - 1  # what SQLite can hold
_ONE = re.compile(r"(?:#|id\s)[#\s]*(\d+)(?:\s+from\s+(\d{1,9}))?")


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
    """The newest messages of this conversation, or one of any that may be seen from here."""
    here = scene.conversation
    what, number = wants(pull)
    if what == "id":
        found = messages.find_message(number)
        if found and scope.may_see(scene, found[1].id):
            return PulledResult(pull, (told(*found, scene, _whole(found[0], pull)),))
        return PulledResult(pull, (), "there is no such message that may be seen from here")
    said = belonging(messages.recent(here.id, number), scene)
    if not said:
        return PulledResult(pull, (), "nothing found in this conversation")
    return PulledResult(pull, tuple(told(m, here, scene, excerpt(m, ())) for m in said))


def belonging(said: Sequence[Message], scene: Scene) -> tuple[Message, ...]:
    """Without questions that wait for a turn of their own behind this one."""
    return tuple(m for m in said if m.author_kind == "agent" or (m.turn_id or 0) <= scene.turn_id)


def told(message: Message, conversation: Conversation, scene: Scene, text: str) -> str:
    """A message as it is told: number, speaker, time, place, and ``text`` of it."""
    when = datetime.fromtimestamp(message.sent_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    where = place(conversation, scene)
    who = " ".join(message.author_name.split())
    return f"#{message.id} {who}, {when}{where}: {text}"


def place(conversation: Conversation, scene: Scene) -> str:
    """Where something was said, as seen from the scene's conversation; "" for there."""
    here = scene.conversation
    if conversation.id == here.id:
        return ""
    thread = one_line(conversation.key.root) or "not opened"
    if conversation.key.channel == here.key.channel:
        return f", in another thread of this channel ({thread})"
    return f", in channel {one_line(conversation.key.channel)} (thread {thread})"


def excerpt(message: Message, terms: Sequence[str], room: int = MAX_HIT_CHARS) -> str:
    """The text, or ``room`` characters of it around the first of ``terms``, and what is left out.

    Cut between words; a mark says how much is missing and how to get it.
    """
    text = message.text
    if len(text) <= room:
        return text
    at = _first(text, terms)
    begin = boundary(text, max(0, min(at - room // 4, len(text) - room)))
    end = boundary(text, begin + room)
    left = f"[{len(text) - (end - begin):,} characters left out; pull messages: #{message.id}]"
    return f"{'… ' if begin else ''}{text[begin:end].strip()} {left}"


def _whole(message: Message, pull: Pull) -> str:
    """The text, as much of it as one Pull brings, from where the query says."""
    asked = _ONE.fullmatch(pull.query.strip().lower())
    begin = min(int(asked[2]), len(message.text)) if asked and asked[2] else 0
    end = boundary(message.text, begin + MAX_ONE_CHARS)
    left = len(message.text) - end
    more = f" [{left:,} characters follow; pull messages: #{message.id} from {end}]" if left else ""
    return f"{message.text[begin:end]}{more}"


def _first(text: str, terms: Sequence[str]) -> int:
    """Where a term first stands in ``text``, as near as can be told; 0 if none does."""
    low = text.lower()
    places = [low.find(term) for term in dict.fromkeys(t for term in terms for t in tokens(term))]
    return min((at for at in places if at >= 0), default=0)


SOURCE = Source("recall", "records", kinds=("messages",), answer=answer)
