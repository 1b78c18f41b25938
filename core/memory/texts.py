"""What an embedder is given of a message and of a question.

To an embedder a name means messages that *address* its bearer ("Hey Caroline!"), which somebody
else said; measured (docs/decisions/0071), questions are better asked without names. Who is meant
counts as a bonus for what that person said (``core.memory.names``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.memory.names import without

RECIPE = 1
"""Of the texts below: vectors made by another recipe are another set (``EmbedderRow.name``)."""

MAX_CHARS = 1_200  # of a message: what follows says little more of what it is about

# "@Min Ji (U0ABC)" as events bring it, "<@U0ABC>" as platforms write it, and "@minji"; but nothing
# of an address, a decorator with arguments or a package.
_MENTION = re.compile(
    r"(?<![\w@/.])@[^@\n()]{1,40} \([A-Z0-9]{5,}\)|<[@#!][^>\s]{1,80}>"
    r"|(?<![\w@/.])@\w[\w\-]*(?![\w/(.@])"
)
_CODE = re.compile(r"```.*?(?:```|$)", re.DOTALL)
_MAX_CODE_CHARS = 400  # of a block of code or a log: its beginning is what it is


def passage_of(text: str) -> str:
    """What is embedded of a message: its words without mentions, long code cut, capped.

    "" when nothing is left that says anything: it then has no vector.
    """
    said = _MENTION.sub(" ", text)
    said = _CODE.sub(lambda block: block[0][:_MAX_CODE_CHARS], said)
    said = " ".join(said.split())[:MAX_CHARS]
    return said if any(char.isalnum() for char in said) else ""


def question_of(text: str, people: Iterable[str] = ()) -> str:
    """What is embedded of a question: ``passage_of`` it, without the names of ``people``.

    ``people`` are display names (``core.memory.find.people``). A question of nothing but names
    stays as it is.
    """
    said = passage_of(text)
    return passage_of(without(said, people)) or said
