"""Places, people and what happens there: what a chat platform tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """Where a conversation lives. ``root`` is the id of the thread's first message.

    ``root`` is empty for a direct-message channel without a thread, and for a slash command
    typed at channel level until the first post has opened the thread.
    """

    chat: str
    space: str
    channel: str
    root: str


AuthorKind = Literal["human", "agent", "bot"]


@dataclass(frozen=True, slots=True)
class Author:
    """Who acts or speaks.

    ``grants`` are the names this person answers to in ``[access] allow``, most specific first:
    ``slack:U123``, ``discord:42``, ``discord:GUILD:role:ROLE``. ``trusted`` is False for guests,
    people of other workspaces and anybody whose standing could not be looked up: those pass only
    when a grant names them, never by ``"*"``.
    """

    id: str
    name: str
    kind: AuthorKind = "human"
    grants: tuple[str, ...] = ()
    trusted: bool = True


EventKind = Literal[
    "message",
    "command",
    "button",
    "form",
    "edit",
    "delete",
    "channel",
    "shortcut",
    "home",
    "complete",
]


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file attached to a message, as the platform tells of it.

    ``name`` and ``mime`` are words of whoever sent it (data, never a path); ``size`` is in bytes;
    ``url`` is where the platform keeps it and is only ever asked by its own adapter. ``voice``: it
    was spoken into the chat; ``transcript`` is what the platform itself has heard in it ("": it
    does not tell).
    """

    id: str
    name: str
    mime: str = ""
    size: int = 0
    url: str = ""
    voice: bool = False
    transcript: str = ""


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """One thing that happened on a platform, translated and nothing more.

    Attributes:
        key: the conversation. A message at channel level has its own id as ``root``.
        event_id: unique per happening; the same for every delivery of it. For a message this is
            derived from (space, channel, message id), so that two event types for one message meet.
        message_id: the platform's id of the message (of the clicked message for a button).
        text: what was written, entities decoded once, our own mention taken out, other mentions
            as ``@name (id)``. For a command the text after the command's name; for a button its
            ``action`` value, such as ``stop:12``.
        command: the name of a platform command (``ask``, ``roundtable``, ``stop``, …), otherwise
            empty; ``moot`` is the one for everything else: its text begins with the command's word.
            Options the platform has of its own are put into ``text`` in the typed form
            (``--rounds 2``).
        mentions_us / mentions_others: who is addressed by name.
        direct: a direct message, where everything is addressed to us.
        in_thread: the message was written inside a thread (not at channel level).
        reply_to: the message that this one replies to, where the platform has such replies.
        public: whether everybody in the space may read the channel; ``None`` if it does not tell.
            An event of kind ``channel`` tells nothing else.
        shared: whether people of other spaces are in the channel; ``None`` if it does not tell.
        our_thread: Moot opened the thread that it was written in.
        apart: it happened in a private thread, which not everybody in its channel can read.
        attachments: the files of a message.
        values: what was filled in, by field name (``form`` events; ``command`` names the form's).
            While a ``command`` is typed (``complete`` events), ``values["option"]`` is the one that
            ``text`` was typed for: the reply's ``options`` are offered.
        missed: it comes out of the place's history: nobody heard it when it happened.
        quoted: the message that this one replies to, where the platform brings it along.
        target: the message that a ``shortcut`` was used on; ``command`` names the shortcut
            (``ask`` or ``branch``). A ``home`` event asks for what a person's home page shows: the
            reply to it; ``text`` is the action of a button that was pressed there.
        outside: Moot is not where the shortcut was used: it can read and write nothing there.
    """

    key: ConversationKey
    event_id: str
    message_id: str
    author: Author
    text: str
    kind: EventKind
    sent_at: float
    command: str = ""
    mentions_us: bool = False
    mentions_others: bool = False
    direct: bool = False
    in_thread: bool = False
    reply_to: str = ""
    public: bool | None = None
    shared: bool | None = None
    our_thread: bool = False
    apart: bool = False
    attachments: tuple[Attachment, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    missed: bool = False
    target: Said | None = None
    quoted: Said | None = None
    outside: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a thread as the platform's history tells it (a thread Moot has not seen).

    Our own posts are those of an author of kind ``agent``. ``gone``: it is known that there was
    one and nothing else; ``gap``: messages before it were not read. ``admitted``: its author may
    use Moot (the bridge says so, no adapter).
    """

    message_id: str
    author: Author
    text: str
    sent_at: float
    attachments: tuple[Attachment, ...] = ()
    gone: bool = False
    gap: bool = False
    admitted: bool = True


@dataclass(frozen=True, slots=True)
class Missed:
    """What the history of a place holds since some moment.

    Attributes:
        events: messages, oldest first, each with the event id of its delivery; behind one that was
            edited the edit of it; and deletions, as far as the history tells them.
        standing: the ids of all messages that stand there, ours and notices among them.
        covers: ``standing`` holds every message that was written after this moment and before the
            look; ``None``: that is not certain, so nothing that lacks in it is gone.
        threads: further places that began since then or where something was written.
    """

    events: tuple[ChatEvent, ...] = ()
    standing: frozenset[str] = frozenset()
    covers: float | None = None
    threads: tuple[ConversationKey, ...] = ()
