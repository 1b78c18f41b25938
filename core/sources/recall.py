"""What a Pull brings back, within the scope of the conversation it was asked in."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from core.keywords import index_text
from core.model import Message, Pull, PulledResult
from core.pull import problem

KINDS = ("messages", "memory")
MAX_HITS = 8
MAX_RECENT = 30
MAX_HIT_CHARS = 2_000
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


def answer(pull: Pull, found: tuple[Message, ...]) -> PulledResult:
    """The hits of ``pull`` as text, or what was wrong with it."""
    wrong = problem(pull, KINDS)
    if wrong:
        return PulledResult(pull, (), wrong)
    if not found:
        return PulledResult(pull, (), "nothing found in this conversation")
    return PulledResult(pull, tuple(_hit(message) for message in found), "")


def searchable(query: str) -> bool:
    """Whether a memory query holds any word at all."""
    return bool(index_text(query))


def _hit(message: Message) -> str:
    when = datetime.fromtimestamp(message.sent_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    text = message.text
    if len(text) > MAX_HIT_CHARS:
        left = len(text) - MAX_HIT_CHARS
        text = f"{text[:MAX_HIT_CHARS]} [{left} characters left out; pull messages: #{message.id}]"
    return f"#{message.id} {' '.join(message.author_name.split())}, {when}: {text}"
