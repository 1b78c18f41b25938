"""Pull ``messages``: what was said in this conversation, or one message by its number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from core.context.frame import boundary, one_line, quote, theirs
from core.context.speakers import message_label
from core.keywords import tokens
from core.model import Conversation, Message, Pull, PulledResult, Scene
from core.records import messages, scope
from core.sources.port import Source

MAX_HITS = 8
MAX_RECENT = 30
MAX_HIT_CHARS = 2_000
MAX_PIECE_CHARS = 3_500  # of a message asked for by its number: a hit, as it is shown whole
MAX_PIECES = 3  # the rest with "#12 from 10000"
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
            return PulledResult(pull, _whole(*found, scene, pull))
        return PulledResult(pull, (), "there is no such message that may be seen from here")
    said = belonging(messages.recent(here.id, number), scene)
    if not said:
        return PulledResult(pull, (), "nothing found in this conversation")
    return PulledResult(pull, tuple(told(m, here, scene, excerpt(m, ())) for m in said))


def belonging(said: Sequence[Message], scene: Scene) -> tuple[Message, ...]:
    """Without questions that wait for a turn of their own behind this one."""
    return tuple(m for m in said if m.author_kind == "agent" or (m.turn_id or 0) <= scene.turn_id)


def told(
    message: Message, conversation: Conversation, scene: Scene, text: str, mark: str = ""
) -> str:
    """A message as it is told: number, speaker, time, place, and ``text`` of it, quoted.

    Within the hit as in the conversation: no text can pose as what somebody else said. ``mark`` is
    a line of ours after it.
    """
    when = datetime.fromtimestamp(message.sent_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    where = place(conversation, scene)
    ours = f"\n[{mark}]" if mark else ""
    return f"#{message.id} {message_label(message)}, {when}{where}:\n{quote(text)}{ours}"


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


def _whole(
    message: Message, conversation: Conversation, scene: Scene, pull: Pull
) -> tuple[str, ...]:
    """The text from where the query says, in pieces; each says how to ask for what follows it."""
    asked = _ONE.fullmatch(pull.query.strip().lower()[:200])
    at = min(int(asked[2]), len(message.text)) if asked and asked[2] else 0
    pieces: list[str] = []
    while not pieces or (at < len(message.text) and len(pieces) < MAX_PIECES):
        begin, at = at, _end_of_piece(message.text, at)
        left = len(message.text) - at
        mark = f"{left:,} characters follow; pull messages: #{message.id} from {at}" if left else ""
        pieces.append(told(message, conversation, scene, message.text[begin:at], mark))
    return tuple(pieces)


def _end_of_piece(text: str, begin: int) -> int:
    """Where a piece ends that takes about ``MAX_PIECE_CHARS`` as it is shown."""
    size = MAX_PIECE_CHARS
    while (framed := len(theirs(quote(text[begin : begin + size])))) > MAX_PIECE_CHARS:
        size = min(size, len(text) - begin) * MAX_PIECE_CHARS // framed
    return max(boundary(text, begin + size), min(len(text), begin + 1))


def _first(text: str, terms: Sequence[str]) -> int:
    """Where a term first stands in ``text``, as near as can be told; 0 if none does."""
    low = text.lower()
    places = [low.find(term) for term in dict.fromkeys(t for term in terms for t in tokens(term))]
    return min((at for at in places if at >= 0), default=0)


SOURCE = Source("recall", "records", kinds=("messages",), answer=answer)
