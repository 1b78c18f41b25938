"""The grammar of requests: what people type to decide what an engine asked for. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from core.errors import BadInput

WORDS = {
    "allow": "allow",
    "deny": "deny",
    "answer": "answer",
    "request": "requests",
    "requests": "requests",
    "revoke": "revoke",
}
USAGE = {
    "allow": "`!allow 7` allows it once, `!allow 7 session` for this session",
    "deny": "`!deny 7`, or with a word to the agent: `!deny 7 not on this branch`",
    "answer": "`!answer 7 2` picks the second option, `!answer 7 in your own words` says more",
    "requests": "`!requests` lists what waits and what is allowed, `!requests 7` shows one whole",
    "revoke": "`!revoke 3` ends what was allowed for a session",
}
_NUMBER = re.compile(r"#?([0-9]{1,9})(?:[\s,:.]+|$)")
_SESSION = ("session", "always", "for this session", "this session")


@dataclass(frozen=True, slots=True)
class Decide:
    """Decide request ``number``; ``text`` is a reason or an answer as it was typed."""

    number: int
    choice: Literal["once", "session", "deny", "answer"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Requests:
    """What waits here and what is allowed; ``number`` names one to be shown whole (0: the list)."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class Revoke:
    """End what was allowed for a session."""

    number: int


AskedIntention = Decide | Requests | Revoke


def parse_asked(word: str, text: str) -> AskedIntention:
    """What is meant by the text after one of ``WORDS``.

    Raises:
        BadInput: a number is missing, or something is left over; says what would work.
    """
    match = _NUMBER.match(text.strip())
    if match is None:
        if word == "requests" and not text.strip():
            return Requests()
        raise BadInput(f"Which one? {USAGE[word]}; `!requests` lists them.")
    number, rest = int(match[1]), text.strip()[match.end() :].strip()
    match word:
        case "allow":
            if rest.lower() not in ("", "once", *_SESSION):
                raise BadInput(f"{USAGE['allow']}; not “{rest[:40]}”.")
            return Decide(number, "session" if rest.lower() in _SESSION else "once")
        case "deny":
            return Decide(number, "deny", rest)
        case "answer":
            if not rest:
                raise BadInput(f"What is the answer? {USAGE['answer']}.")
            return Decide(number, "answer", rest)
        case "requests":
            return Requests(number)
        case _:
            return Revoke(number)
