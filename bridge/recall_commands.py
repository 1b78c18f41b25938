"""The grammar of ``!recall``, ``!mark`` and ``!unmark``. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.errors import BadInput
from core.model import MarkKind
from core.tongue import say, to_say
from core.words import literal

WORDS = {"recall": "recall", "mark": "mark", "unmark": "unmark"}
CLOSE = ("mark", "unmark")
"""Words that many another is like ("!market", "!remark"): those are no misspelt commands."""
KINDS: dict[str, MarkKind] = {
    **dict.fromkeys(("wrong", "false", "incorrect"), "wrong"),
    **dict.fromkeys(("stale", "outdated", "old", "obsolete"), "stale"),
}
USAGE = to_say(
    "What should be found? Write a question or some words after it: "
    "`!recall why did we choose JWT`, `/recall what did Kim say on Tuesday about the budget`."
)
_MARK = re.compile(r"#?([0-9]{1,18})(?:[\s,:]+(\w+)(?:[\s,:.;–—-]+|$)(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Recall:
    """Find what was said, with evidence."""

    question: str


@dataclass(frozen=True, slots=True)
class MarkIt:
    """Mark message ``number`` for the one who types it; ``kind`` ``None`` takes the mark away."""

    number: int
    kind: MarkKind | None = None
    note: str = ""


RecallIntention = Recall | MarkIt


def parse_recall(word: str, text: str) -> RecallIntention:
    """What is meant by the text after one of ``WORDS``.

    Raises:
        BadInput: something is missing or unknown; says what would work.
    """
    if word == "recall":
        if not any(char.isalnum() for char in text):
            raise BadInput(say(USAGE))
        return Recall(text.strip())
    match = _MARK.fullmatch(text.strip())
    if word == "unmark":
        if match is None or match[2]:
            raise BadInput(say("`!unmark 12` takes back what you said of message #12."))
        return MarkIt(int(match[1]))
    if match is None or not match[2]:
        raise BadInput(
            say(
                "Which message, and what is the matter with it? `!mark 12 wrong` or "
                "`!mark 12 outdated we use sessions now`; `!recall` shows the numbers."
            )
        )
    kind = KINDS.get(match[2].lower())
    if kind is None:
        raise BadInput(
            say(
                "A message is marked `wrong` or `outdated`, not “{match}”: `!mark {match2} "
                "outdated why`.",
                match=literal(match[2], 40),
                match2=match[1],
            )
        )
    return MarkIt(int(match[1]), kind, match[3].strip())
