"""The grammar of requests: what people type to decide what an engine asked for. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from core.errors import BadInput
from core.tongue import say
from core.words import literal

WORDS = {
    **dict.fromkeys(("allow", "approve", "yes", "ok"), "allow"),
    **dict.fromkeys(("deny", "reject", "no"), "deny"),
    "answer": "answer",
    "request": "requests",
    "requests": "requests",
    "revoke": "revoke",
}
SHORT = ("yes", "ok", "no")
"""Words so short that many a word looks like a misspelt one."""
_NUMBER = re.compile(r"#?([0-9]{1,9})(?:[\s,:.]+|$)")
_SESSION = ("session", "always", "for this session", "this session")


@dataclass(frozen=True, slots=True)
class Decide:
    """Decide request ``number`` (0: the only one that waits); ``text`` is a reason or an answer."""

    number: int
    choice: Literal["once", "session", "deny", "answer"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Requests:
    """What waits here and what is allowed; ``number`` names one to be shown whole (0: the list)."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class Revoke:
    """End what was allowed for a session (0: the only thing that is)."""

    number: int = 0


AskedIntention = Decide | Requests | Revoke


def parse_asked(word: str, text: str) -> AskedIntention:
    """What is meant by the text after one of ``WORDS``.

    Raises:
        BadInput: something is left over; says what would work.
    """
    text = text.strip()
    match = _NUMBER.match(text)
    number, rest = (int(match[1]), text[match.end() :].strip()) if match else (0, text)
    shown = str(number or "N")
    match word:
        case "allow":
            if rest.lower() not in ("", "it", "once", *_SESSION):
                raise BadInput(
                    say(
                        "`!allow {shown}` allows it once, `!allow {shown} session` for this "
                        "session; not “{rest}”.",
                        shown=shown,
                        rest=literal(rest, 40),
                    )
                )
            return Decide(number, "session" if rest.lower() in _SESSION else "once")
        case "deny":
            return Decide(number, "deny", rest)
        case "answer":
            return Decide(number, "answer", rest)
        case "requests":
            if rest:
                raise BadInput(
                    say(
                        "`!requests` lists what waits and what is allowed, `!requests N` shows one "
                        "whole; not “{rest}”.",
                        rest=literal(rest, 40),
                    )
                )
            return Requests(number)
        case _:
            if rest:
                raise BadInput(
                    say(
                        "`!revoke N` ends what was allowed for a session (`!requests` lists it); "
                        "not “{rest}”.",
                        rest=literal(rest, 40),
                    )
                )
            return Revoke(number)
