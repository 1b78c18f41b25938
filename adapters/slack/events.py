"""PURE: a payload of Slack's becomes a :class:`ChatEvent`, or ``None`` where nobody speaks to us.

One key for every way of speaking: a channel message's thread is ``thread_ts`` or its own ``ts``; in
a direct message only a real thread has a root. Both event types of one mention give equal events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from adapters.slack.files import attachments
from adapters.slack.text import (
    GROUP,
    Names,
    mentioned_people,
    one_line,
    own_text,
    people_to_name,
    plain,
    raw_text,
)
from core.model import Author, ChatEvent, ConversationKey, Said

Json = Mapping[str, Any]
CHAT = "slack"
SPOKEN = frozenset((None, "file_share", "thread_broadcast", "me_message", "bot_message"))


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we are in this workspace, from ``auth.test``."""

    team_id: str
    user_id: str
    bot_id: str = ""
    name: str = "moot"
    enterprise_id: str = ""
    url: str = ""  # of the workspace, ending in a slash


@dataclass(frozen=True, slots=True)
class Person:
    """What ``users.info`` says of a user, as far as it matters here."""

    id: str
    name: str
    bot: bool = False
    trusted: bool = False
    team: str = ""


@dataclass(frozen=True, slots=True)
class Directory:
    """Look-ups that succeeded; everybody else is untrusted and shown by id."""

    people: Mapping[str, Person] = field(default_factory=dict[str, Person])
    channels: Mapping[str, str] = field(default_factory=dict[str, str])
    public: Mapping[str, bool] = field(default_factory=dict[str, bool])
    shared: Mapping[str, bool] = field(default_factory=dict[str, bool])
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def names(self) -> Names:
        """What to call everybody in a text."""
        return Names({p.id: p.name for p in self.people.values()}, self.channels)


def ours(message: Json, me: Identity) -> bool:
    """Whether a message is one of our own posts."""
    return message.get("user") == me.user_id or bool(
        me.bot_id and message.get("bot_id") == me.bot_id
    )


def speaker(message: Json, me: Identity, known: Directory) -> Author:
    """The author of a message; a bot by its ``bot_id``, a person by what the look-up said."""
    user = str(message.get("user") or "")
    person = known.people.get(user)
    if message.get("bot_id") or message.get("subtype") == "bot_message" or user == "USLACKBOT":
        profile = message.get("bot_profile") or {}
        name = message.get("username") or profile.get("name") or (person.name if person else "")
        bot = str(message.get("bot_id") or "")
        return _bot(user or bot or "bot", one_line(str(name)) or user or "bot", bot)
    return person_author(
        user, known, team=message.get("user_team") or message.get("source_team"), me=me
    )


def _bot(id_: str, name: str, bot: str = "") -> Author:
    """By its ``bot`` id where there is one: its user may be a person for whom an app posts."""
    answers_to = bot or id_
    return Author(
        id_, name, "bot", grants=(f"{CHAT}:{answers_to}",) if answers_to else (), trusted=False
    )


def person_author(user: str, known: Directory, *, team: str | None, me: Identity) -> Author:
    """The author behind a user id; without a look-up a person who is not trusted.

    ``team`` is where the payload says that they belong: another place than the look-up's (or
    ours) means somebody of another company.
    """
    person = known.people.get(user)
    grants = (f"{CHAT}:{user}",) if user else ()
    if person is None:
        return Author(user, user or "somebody", grants=grants, trusted=False)
    if person.bot:
        return _bot(user, person.name)
    at_home = team in (None, "", me.team_id, me.enterprise_id, person.team)
    groups = (group for group, members in sorted(known.groups.items()) if user in members)
    grants += tuple(f"{CHAT}:group:{group}" for group in groups)
    return Author(user, person.name, grants=grants, trusted=person.trusted and at_home)


def to_event(body: Json, me: Identity, known: Directory) -> ChatEvent | None:
    """An ``event_callback`` payload as an event; ``None`` for what is not speech to us.

    That is: our own posts (but not that one was deleted), joins and other notices, unfurls,
    updates of bots.
    """
    event = body.get("event") or {}
    if event.get("type") not in ("message", "app_mention"):
        return None
    subtype = event.get("subtype")
    if subtype == "message_changed":
        return _edit(event, me, known)
    if subtype == "message_deleted":
        before = event.get("previous_message") or {}
        return _deletion(event, before, str(event.get("deleted_ts") or ""), me, known)
    if subtype not in SPOKEN or event.get("hidden") or ours(event, me) or not event.get("ts"):
        return None
    return _message(event, str(event.get("channel") or ""), me, known)


def _message(message: Json, channel: str, me: Identity, known: Directory) -> ChatEvent:
    ts = str(message["ts"])
    raw = raw_text(message)
    mine = own_text(message)  # whom a forwarded text names is not addressed by who forwards it
    mentioned = mentioned_people(mine)
    thread = str(message.get("thread_ts") or "")
    return ChatEvent(
        key=key_of(channel, ts, thread, me),
        event_id=f"{CHAT}:{me.team_id}:{channel}:{ts}",
        message_id=ts,
        author=speaker(message, me, known),
        text=plain(raw, me.user_id, known.names()),
        kind="message",
        sent_at=float(ts),
        mentions_us=me.user_id in mentioned or message.get("type") == "app_mention",
        mentions_others=bool(set(mentioned) - {me.user_id} or GROUP.search(mine)),
        direct=channel.startswith("D"),
        in_thread=bool(thread and thread != ts),
        our_thread=message.get("parent_user_id") == me.user_id,
        attachments=attachments(message),
    )


def key_of(channel: str, ts: str, thread: str, me: Identity) -> ConversationKey:
    """The one rule for which conversation something belongs to."""
    root = thread if channel.startswith("D") else thread or ts
    if channel.startswith("D") and thread == ts:  # a direct message that others replied to
        root = ""
    return ConversationKey(CHAT, me.team_id, channel, root)


def _edit(event: Json, me: Identity, known: Directory) -> ChatEvent | None:
    message, before = event.get("message") or {}, event.get("previous_message") or {}
    if message.get("subtype") == "tombstone":  # a root with replies is deleted by being emptied
        return _deletion(event, before or message, str(message.get("ts") or ""), me, known)
    edited = message.get("edited") or {}
    if ours(message, me) or message.get("bot_id") or not edited or not message.get("ts"):
        return None  # unfurls and updates by bots; a person's edit carries "edited"
    if before and raw_text(before) == raw_text(message):
        return None
    made = _message(message, str(event.get("channel") or ""), me, known)
    stamp = edited.get("ts") or event.get("event_ts") or event.get("ts")
    return replace(made, kind="edit", event_id=f"{made.event_id}:edit:{stamp}")


def _deletion(
    event: Json, before: Json, ts: str, me: Identity, known: Directory
) -> ChatEvent | None:
    if not ts or before.get("subtype") == "ephemeral":
        return None  # one of our own posts is reported too: an answer may be taken back by people
    gone = {**before, "ts": ts, "text": "", "blocks": (), "attachments": (), "files": ()}
    made = _message(gone, str(event.get("channel") or ""), me, known)
    return replace(made, kind="delete", event_id=f"{made.event_id}:delete")


def to_command(body: Json, me: Identity, known: Directory, now: float) -> ChatEvent:
    """A slash command. It is never inside a thread, so there is no root yet, and has no time."""
    name = str(body.get("command") or "").lstrip("/").lower()
    raw = str(body.get("text") or "").strip()
    channel, user = str(body.get("channel_id") or ""), str(body.get("user_id") or "")
    mentioned = mentioned_people(raw)
    return ChatEvent(
        key=ConversationKey(CHAT, me.team_id, channel, ""),
        event_id=f"{CHAT}:{me.team_id}:command:{body.get('trigger_id')}",
        message_id="",
        author=person_author(user, known, team=body.get("team_id"), me=me),
        text=plain(raw, me.user_id, known.names()),
        kind="command",
        sent_at=now,
        command=name,
        mentions_us=True,
        mentions_others=bool(set(mentioned) - {me.user_id}),
        direct=channel.startswith("D"),
    )


def to_button(body: Json, me: Identity, known: Directory) -> ChatEvent | None:
    """A click on one of our buttons; ``None`` for an element that carries no action."""
    action, pressed = pressed_in(body)
    if not pressed:
        return None
    container, message = body.get("container") or {}, body.get("message") or {}
    channel = str(container.get("channel_id") or (body.get("channel") or {}).get("id") or "")
    ts = str(container.get("message_ts") or message.get("ts") or "")
    thread = str(message.get("thread_ts") or container.get("thread_ts") or "")
    private = bool(container.get("is_ephemeral"))  # a note hangs in no thread of its own
    key = key_of(channel, "" if private else ts, thread, me)
    user = body.get("user") or {}
    return ChatEvent(
        key=key,
        event_id=f"{CHAT}:{me.team_id}:button:{body.get('trigger_id') or action.get('action_ts')}",
        message_id=ts,
        author=person_author(str(user.get("id") or ""), known, team=user.get("team_id"), me=me),
        text=pressed,
        kind="button",
        sent_at=float(action.get("action_ts") or 0.0),
        mentions_us=True,
        direct=channel.startswith("D"),
        in_thread=bool(thread and thread != ts),
    )


def pressed_in(body: Json) -> tuple[Json, str]:
    """The element that was used, and what it stands for: a button's value, or the chosen one's."""
    for action in body.get("actions") or ():
        value = action.get("value") or (action.get("selected_option") or {}).get("value")
        if value:
            return action, str(value)
    return {}, ""


def to_said(message: Json, me: Identity, known: Directory) -> Said | None:
    """A message of a thread's history; ``None`` for notices. Our own posts are an agent's."""
    ts = str(message.get("ts") or "")
    if not ts:
        return None
    if message.get("subtype") == "tombstone":  # only a first message with replies leaves one
        return Said(ts, _bot("", "somebody"), "", float(ts), gone=True)
    if message.get("subtype") not in SPOKEN:
        return None
    text = plain(raw_text(message), me.user_id, known.names())
    if ours(message, me):
        return Said(ts, Author(me.user_id, me.name, "agent"), text, float(ts))
    return Said(ts, speaker(message, me, known), text, float(ts), attachments(message))


def ids_in(message: Json) -> tuple[str, ...]:
    """User ids to look up for a message: its author and whom it mentions."""
    author = () if message.get("bot_id") else (str(message.get("user") or ""),)
    ids = dict.fromkeys((*author, *people_to_name(raw_text(message))))
    return tuple(i for i in ids if i and i != "USLACKBOT")
