"""What of an event counts before anything is done with it."""

from __future__ import annotations

from dataclasses import replace

from bridge.access import Door
from bridge.duties import Role
from core.markup.measure import well_formed
from core.model import ChatEvent
from core.records import closed, messages, places

LATE_S = 60.0


def words_matter(event: ChatEvent, door: Door) -> bool:
    """Whether they may be kept or told: what is neither costs no looking for secrets."""
    if event.kind == "message" and not (event.mentions_us or event.direct):
        return messages.find_conversation(event.key) is not None
    return event.kind not in ("command", "form") or door.allows(
        event.author, event.key, Role.VIEWER
    )


def in_unicode(event: ChatEvent) -> ChatEvent:
    """The event without halves of characters, as JSON can hold them: no row can."""
    files = tuple(replace(one, name=well_formed(one.name)) for one in event.attachments)
    values = {name: tuple(map(well_formed, given)) for name, given in event.values.items()}
    author = replace(event.author, name=well_formed(event.author.name))
    text = well_formed(event.text)
    return replace(event, text=text, author=author, values=values, attachments=files)


def note_place(event: ChatEvent, now: float) -> bool:
    """Who may read the channel: told late, it may be out of date and opens nothing.

    Returns whether something is to be posted that waited for the channel to take posts again.
    """
    late = now - event.sent_at > LATE_S
    if event.public is not None and not (event.public and late):
        places.set_public(event.key, public=event.public)
    if event.shared is not None and (event.shared or not late):
        places.set_shared(event.key, shared=event.shared)
    if event.apart:
        places.set_apart(event.key)
    if event.kind == "delete":
        return False  # it is told of channels that take no posts, too
    return closed.reopen(event.key, now, surely=event.kind == "channel")


def bare_word(event: ChatEvent) -> tuple[str, str] | None:
    """A mention with just ``stop``, ``status``, ``context`` or ``help`` means the command."""
    word = event.text.strip().lower()
    return (word, "") if word in ("stop", "status", "context", "help") else None
