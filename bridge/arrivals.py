"""What of an event counts before anything is done with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.access import Door
from bridge.doorkeeping import admits
from bridge.duties import Role
from bridge.languages import COMMANDS_IN
from core.markup.measure import well_formed
from core.model import ChatEvent, Conversation, ConversationKey, Reply, Said
from core.records import closed, heard, history, messages, places
from core.redact import redact
from core.tongue import say

if TYPE_CHECKING:
    from bridge.acts import Acts

LATE_S = 60.0
ANSWERED_WITHIN_S = 3_600.0  # an answer to an older question surprises more than it helps


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
    return replace(
        event,
        text=text,
        author=author,
        values=values,
        attachments=files,
        target=event.target and said_in_unicode(event.target),
        quoted=event.quoted and said_in_unicode(event.quoted),
    )


def said_in_unicode(said: Said) -> Said:
    """The same for a message that an event brings along."""
    return replace(
        said,
        text=well_formed(said.text),
        author=replace(said.author, name=well_formed(said.author.name)),
        attachments=tuple(replace(one, name=well_formed(one.name)) for one in said.attachments),
    )


def take_quoted(event: ChatEvent, conversation: Conversation, door: Door) -> None:
    """What a question replies to stands before it, with its files if its author may use Moot.

    "What is in this picture?" is no question without the picture.
    """
    if event.quoted is None:
        return
    one = event.quoted
    clean = replace(
        one,
        text=redact(one.text),
        attachments=tuple(replace(file, name=redact(file.name)) for file in one.attachments),
        admitted=admits(door, one.author, event.key),
    )
    history.add_history(conversation.id, event.key.chat, (clean,))


def open_place(event: ChatEvent, key: ConversationKey, now: float, *, late: bool) -> Conversation:
    """The conversation of ``key``, where ``event`` is; ``late``: more was said there before.

    That a thread is private counts from its first word on: what is done there goes by it.
    """
    found = messages.open_conversation(key, direct=event.direct, in_thread=late, now=now)
    if not event.apart or found.apart:
        return found
    places.set_apart(key)
    return messages.get_conversation(found.id)


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


def is_too_late(acts: Acts, conversation: Conversation) -> bool:
    """Whether this was asked so long before it was read that nobody is put to it; says so."""
    event = acts.event
    if not event.missed or acts.now - event.sent_at <= ANSWERED_WITHIN_S:
        return False
    if event.author.kind != "human":
        return True  # a word to a bot may bring another
    text = say(
        "⚠️ This was written while I could not hear you, more than an hour ago, so nobody works "
        "on it. If it still matters, ask again here."
    )
    shown = acts.render(event.key.chat, text)
    if not heard.said_lately(conversation.id, shown[0], acts.now - ANSWERED_WITHIN_S):
        acts.notice(conversation, Reply(text), fleeting=False)
    return True


def bare_word(event: ChatEvent) -> tuple[str, str] | None:
    """A mention with just ``stop``, ``status``, ``context`` or ``help`` means the command."""
    word = event.text.strip().lower()
    word = COMMANDS_IN.get(word, word)
    return (word, "") if word in ("stop", "status", "context", "help") else None
