"""What ``!recall`` shows: each hit with author, time, age, place, link, excerpt and marks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from core.keywords import query_terms
from core.model import Button, Conversation, Mark, MarkKind, Message
from core.redact import redact
from core.sources.recall import around
from core.tongue import ENGLISH, say, say_many, spoken, to_say
from core.words import ago, literal, moment

EXCERPT_CHARS = 280
MARKED = {"wrong": to_say("wrong"), "stale": to_say("outdated")}
"""What people call the kinds of marks."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A hit as it is shown; ``address``: where it is opened ("" = the platform has none)."""

    message: Message
    conversation: Conversation
    marks: tuple[Mark, ...]
    address: str


@dataclass(frozen=True, slots=True)
class Page:
    """A part of what was found.

    ``searched`` messages of ``where`` were looked through (``more``: at least so many);
    ``by_meaning``: not by their words alone. Whoever reads it ``may_mark``. ``first`` counts from
    0.
    """

    question: str
    hits: Sequence[Shown]
    searched: int
    more: bool
    where: str
    by_meaning: bool
    may_mark: bool = True
    first: int = 0


def say_page(page: Page, here: Conversation, now: float, zone: tzinfo | None) -> str:
    """The hits, the best first; nothing in them can ping, format or pose as another."""
    if not page.hits:
        return _nothing(page)
    head = say(
        "{which} for “{question}”, of {searched}{how}:",
        which=_which(page.first, len(page.hits)),
        question=literal(page.question, 120),
        searched=_searched(page),
        how=_how(page),
    )
    terms = query_terms(page.question)
    how = f"{say(ALONE)} {say(HOW)}" if page.may_mark else say(ALONE)
    return "\n\n".join((head, *(_hit(one, here, terms, now, zone) for one in page.hits), how))


def _which(first: int, count: int) -> str:
    if not first:
        return say_many("The best one", "The best {count}", count)
    place = _ordinal(first + 1)
    return say_many(
        "From the {place} on: the next one",
        "From the {place} on: the next {count}",
        count,
        place=place,
    )


ALONE = to_say("Only you see this.")
HOW = to_say(
    "`!mark 12 wrong why` or `!mark 12 outdated why` says so of a message, to "
    "people and agents; `!unmark 12` takes it back."
)


def _hit(
    one: Shown, here: Conversation, terms: Sequence[str], now: float, zone: tzinfo | None
) -> str:
    said = one.message
    place = _place(one.conversation, here)
    parts = [
        f"**#{said.id}** {literal(said.author_name)}",
        f"{moment(said.sent_at, zone)} ({ago(said.sent_at, now)})",
        f"[{place}]({one.address})" if one.address else place,
    ]
    lines = [" · ".join(parts), *(f"⚠️ {say_mark(mark, now)}" for mark in one.marks)]
    return "\n".join(lines) + f"\n\n> {_excerpt(said.text, terms)}"


def say_mark(mark: Mark, now: float) -> str:
    """``outdated, says Kim (3 days ago): “why”``."""
    told = say(
        "{marked}, says {by} ({ago})",
        marked=say(MARKED[mark.kind]),
        by=literal(mark.by),
        ago=ago(mark.at, now),
    )
    return f"{told}: “{literal(mark.note, 300)}”" if mark.note else told


def mark_buttons(conversation_id: int, hits: Sequence[Shown], back: str) -> tuple[Button, ...]:
    """To mark each hit, as seen from the conversation (0: from its channel), and come ``back``."""
    kinds: tuple[tuple[MarkKind, str], ...] = (("wrong", say("wrong")), ("stale", say("outdated")))
    return tuple(
        Button(
            f"mark:{conversation_id}:{one.message.id}:{kind}:{back}",
            say("#{id} is {word}", id=one.message.id, word=word),
        )
        for one in hits
        for kind, word in kinds
    )


def _excerpt(text: str, terms: Sequence[str]) -> str:
    """One line around the words; secrets go first, for a cut one is not recognised."""
    whole = " ".join(redact(text).split())
    begin, end = around(whole, terms, EXCERPT_CHARS)
    before, after = "… " if begin else "", " …" if end < len(whole) else ""
    return f"{before}{literal(whole[begin:end], EXCERPT_CHARS + 1)}{after}" or say("(no words)")


def _place(conversation: Conversation, here: Conversation) -> str:
    if conversation.id == here.id:
        return say("in this thread") if here.key.root else say("here")
    if conversation.key.channel == here.key.channel:
        return say("in another thread here") if here.key.root else say("in a thread here")
    return say("in another channel")


def _nothing(page: Page) -> str:
    if page.first:
        return say("That was all.")
    looked = say(
        "Nothing found for “{question}” in {searched}{how}.",
        question=literal(page.question, 120),
        searched=_searched(page),
        how=_how(page),
    )
    return looked + say(" Other words for the same may find it.")


def _searched(page: Page) -> str:
    if page.more:
        count = say("more than {count:,} messages", count=page.searched)
    else:
        count = say_many("{count} message", "{count:,} messages", page.searched)
    return say("{count} of {where}", count=count, where=page.where)


def _how(page: Page) -> str:
    if page.by_meaning:
        return ""
    return say(" (by words alone: search by meaning is off, or not ready)")


def _ordinal(number: int) -> str:
    if spoken() != ENGLISH:
        return str(number)  # the words around it say that it is a place
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 // 10 != 1 else 0, "th")
    return f"{number}{ending}"
