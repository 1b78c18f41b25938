"""The grammar of ``!audit``. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

WORDS = {"audit": "audit"}
OUTCOMES = ("done", "refused", "limited")
_DAYS = re.compile(r"([0-9]{1,3})d")
_SPANS = {"today": 1, "week": 7, "month": 30}
_PERSON = re.compile(r"@.{1,200}\(([^()\s:]{1,80})\)|([a-z][\w-]{0,40}:[^\s:]{1,80})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Audit:
    """Which lines are wanted: of a person (``slack:U1``, or an id), an act, an outcome, since when.

    ``days`` counts back from now (0: from the beginning); ``here``: of this channel alone.
    """

    person: str = ""
    verb: str = ""
    outcome: str = ""
    days: int = 0
    here: bool = False
    words: str = field(default="", compare=False)  # as it was typed


def parse_audit(text: str) -> Audit:
    """``@Kim (U1) refused 7d here stop``: each part optional, in any order.

    What is left over is taken for the name of an act; whether there is such a one is asked by
    whoever looks.
    """
    words = " ".join(text.split())
    person, verb, outcome, days, here = "", list[str](), "", 0, False
    if found := _PERSON.search(words):
        person, words = found[1] or found[2], words[: found.start()] + words[found.end() :]
    for word in words.lower().split():
        if word in OUTCOMES:
            outcome = word
        elif word == "here":
            here = True
        elif word in _SPANS:
            days = _SPANS[word]
        elif match := _DAYS.fullmatch(word):
            days = int(match[1])
        else:
            verb.append(word)
    return Audit(person, " ".join(verb), outcome, days, here, " ".join(text.split()))
