"""The grammar of ``!forget``. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from core.errors import BadInput
from core.tongue import say, to_say
from core.words import literal

WORDS = {"forget": "forget"}
USAGE = to_say(
    "`!forget #12` or `!forget LINK-TO-A-MESSAGE` forgets a message, `!forget thread` this thread, "
    "`!forget me` all you said to me anywhere, `!forget @somebody` all they said"
)
Of = Literal["message", "link", "reply", "thread", "me", "person"]

_NUMBER = re.compile(r"#?([0-9]{1,18})")
_LINK = re.compile(r"<?(https?://[^\s<>|]+)(?:\|[^>]*)?>?")
# As adapters write a mention (``@Kim (U1)``), and as settings name a person (``slack:U1``).
_PERSON = re.compile(r"@.{1,200}\(([^()\s:]{1,80})\)|[a-z][\w-]{0,40}:([^\s:]{1,80})", re.DOTALL)
_THREAD = frozenset(("thread", "this thread", "here", "conversation", "this conversation"))
_ME = frozenset(("me", "my messages", "myself", "all my messages"))
_REPLY = frozenset(("", "this", "it", "that", "this message", "that message"))


@dataclass(frozen=True, slots=True)
class Forget:
    """What is to be forgotten: a message, a thread, the one who types it, or another ``person``.

    A message by ``number`` or ``link``, or the one that is replied to; a person by their id.
    """

    of: Of
    number: int = 0
    link: str = ""
    person: str = ""


def parse_forget(text: str) -> Forget:
    """What is meant by the text after ``!forget``.

    Raises:
        BadInput: none of these; says what would work.
    """
    said = " ".join(text.split())
    low = said.lower().strip(".! ")
    if low in _REPLY:
        return Forget("reply")
    if low in _THREAD:
        return Forget("thread")
    if low in _ME:
        return Forget("me")
    if number := _NUMBER.fullmatch(said):
        return Forget("message", number=int(number[1]))
    if link := _LINK.fullmatch(said):
        return Forget("link", link=link[1])
    if person := _PERSON.fullmatch(said):
        return Forget("person", person=person[1] or person[2])
    if said.startswith("@"):
        raise BadInput(
            say(
                "Who is {said}? Pick the person from the list that the chat offers after `@`, or "
                "write their id as the settings do: `!forget slack:U123`.",
                said=literal(said, 60),
            )
        )
    raise BadInput(say("What should be forgotten? {usage}.", usage=say(USAGE)))
