"""Pull ``messages``: what was said in this conversation, or one message by its number."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from operator import add

from core.context.frame import boundary, one_line, quote, theirs
from core.context.speakers import message_label
from core.keywords import tokens
from core.model import Conversation, Mark, Message, Pull, PulledResult, Scene
from core.records import marks, messages, pointed, scope
from core.sources.port import Source
from core.words import ago

MAX_HITS = 8
MAX_RECENT = 30
MAX_HIT_CHARS = 2_000
MAX_PIECE_CHARS = 3_500  # of a message asked for by its number: a hit, as it is shown whole
MAX_PIECES = 3  # the rest with "#12 from 10000"
MAX_PLACES = 50
_MAX_ID = 2**63 - 1  # what SQLite can hold
_TO_MEMORY = re.compile(r"!(?:recall|mark|unmark|forget)\b", re.IGNORECASE)
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
    marked = marks.marks_of(m.id for m in said)
    return PulledResult(pull, evidence([(m, here, excerpt(m, ())) for m in said], scene, marked))


def belonging(said: Sequence[Message], scene: Scene) -> tuple[Message, ...]:
    """Without questions that wait for a turn of their own behind this one."""
    return tuple(m for m in said if m.author_kind == "agent" or (m.turn_id or 0) <= scene.turn_id)


def is_about_memory(text: str) -> bool:
    """Whether a message only asked memory, or told it something: no answer to anybody else."""
    return bool(_TO_MEMORY.match(text))


def told(message: Message, conversation: Conversation, scene: Scene, text: str) -> str:
    """A message as it is told: number, speaker, time, place, and ``text`` of it, quoted.

    Within the hit as in the conversation: no text can pose as what somebody else said.
    """
    when = datetime.fromtimestamp(message.sent_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    where = place(conversation, scene)
    return f"#{message.id} {message_label(message)}, {when}{where}:\n{quote(text)}"


def evidence(
    said: Sequence[tuple[Message, Conversation, str]],
    scene: Scene,
    marked: Mapping[int, Sequence[Mark]],
    *,
    now: float | None = None,
) -> tuple[str, ...]:
    """Messages, each with a text of it, as ``told``, with age, link and what people said of them.

    A mark stands in a line of ours after the text, its note quoted like the text itself.
    """
    now = time.time() if now is None else now
    posts = pointed.posts_of([message for message, _, _ in said])
    return tuple(
        "\n".join(
            (
                _head(message, conversation, scene, now, posts.get(message.id, "")),
                quote(text),
                *map(_marked, marked.get(message.id, ())),
            )
        )
        for message, conversation, text in said
    )


def _head(message: Message, there: Conversation, scene: Scene, now: float, post: str) -> str:
    when = datetime.fromtimestamp(message.sent_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    age = ago(message.sent_at, now, minutes=False)
    link = scene.address(there.key, post)
    where = f"{when} ({age}){place(there, scene)}{f', {link}' if link else ''}"
    return f"#{message.id} {message_label(message)}, {where}:"


def _marked(mark: Mark) -> str:
    day = datetime.fromtimestamp(mark.at, UTC).strftime("%Y-%m-%d")
    kind = "wrong" if mark.kind == "wrong" else "outdated"
    said = f"marked {kind} by {one_line(mark.by)} on {day}"
    return f"[{said}, with this note:]\n{quote(mark.note)}" if mark.note else f"[{said}]"


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
    """The text, or ``room`` characters of it around the ``terms``, and what is left out.

    Cut between words; a mark says how much is missing and how to get it.
    """
    text = message.text
    if len(text) <= room:
        return text
    begin, end = around(text, terms, room)
    left = f"[{len(text) - (end - begin):,} characters left out; pull messages: #{message.id}]"
    return f"{'… ' if begin else ''}{text[begin:end].strip()} {left}"


def around(text: str, terms: Sequence[str], room: int) -> tuple[int, int]:
    """Where the ``room`` characters of a text begin and end that hold the most of ``terms``."""
    if len(text) <= room:
        return 0, len(text)
    at = _densest(text, terms, room - room // 4)
    begin = boundary(text, max(0, min(at - room // 4, len(text) - room)))
    return begin, boundary(text, begin + room)


def _whole(
    message: Message, conversation: Conversation, scene: Scene, pull: Pull
) -> tuple[str, ...]:
    """The text from where the query says, in pieces; each says how to ask for what follows it."""
    asked = _ONE.fullmatch(pull.query.strip().lower()[:200])
    at = min(int(asked[2]), len(message.text)) if asked and asked[2] else 0
    pieces: list[str] = []
    rest: list[str] = []
    while not pieces or (at < len(message.text) and len(pieces) < MAX_PIECES):
        begin, at = at, _end_of_piece(message.text, at)
        left = len(message.text) - at
        mark = f"\n[{left:,} characters follow; pull messages: #{message.id} from {at}]"
        pieces.append(message.text[begin:at])
        rest.append(mark if left else "")
    said = [(message, conversation, piece) for piece in pieces]
    marked = marks.marks_of([message.id])
    return tuple(map(add, evidence(said, scene, marked), rest))


def _end_of_piece(text: str, begin: int) -> int:
    """Where a piece ends that takes about ``MAX_PIECE_CHARS`` as it is shown."""
    size = MAX_PIECE_CHARS
    while (framed := len(theirs(quote(text[begin : begin + size])))) > MAX_PIECE_CHARS:
        size = min(size, len(text) - begin) * MAX_PIECE_CHARS // framed
    return max(boundary(text, begin + size), min(len(text), begin + 1))


def _densest(text: str, terms: Sequence[str], reach: int) -> int:
    """Where ``reach`` characters begin that hold the most different terms, the first such place.

    As near as can be told (lower case may be longer); 0 if no term is there.
    """
    low = text.lower()
    words = dict.fromkeys(word for term in terms for word in tokens(term))
    places = sorted((at, word) for word in words for at in _places(low, word))
    within: Counter[str] = Counter()
    best, most, end = 0, 0, 0
    for at, word in places:
        while end < len(places) and places[end][0] < at + reach:
            within[places[end][1]] += 1
            end += 1
        if len(within) > most:
            best, most = at, len(within)
        within[word] -= 1
        if not within[word]:
            del within[word]
    return best


def _places(low: str, word: str) -> list[int]:
    """Where a word stands in a text, the first ``MAX_PLACES`` times."""
    found: list[int] = []
    at = low.find(word)
    while at >= 0 and len(found) < MAX_PLACES:
        found.append(at)
        at = low.find(word, at + 1)
    return found


SOURCE = Source("recall", "records", kinds=("messages",), answer=answer)
