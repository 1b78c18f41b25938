"""Conversations, what is said in them, and what is owed to them."""

from __future__ import annotations

from typing import Any, ClassVar

from peewee import (
    SQL,
    AutoField,
    BooleanField,
    FloatField,
    ForeignKeyField,
    IntegerField,
    TextField,
)
from playhouse.sqlite_ext import FTS5Model, SearchField

from core.records.tables.base import Table


class ConversationRow(Table):
    """One thread (or direct-message channel). ``root`` is null until the first post opens it.

    ``twin`` is 0, or its own id for one that learnt too late which thread its post had opened: a
    crash lay between, and somebody's message in the thread had begun another conversation there.
    Both post into the thread; what is said there from then on belongs to the one whose twin is 0.
    """

    id = AutoField()
    chat = TextField()
    space = TextField()
    channel = TextField()
    root = TextField(null=True)
    direct = BooleanField(default=False)
    engaged = BooleanField(default=False)  # Moot opened it or was mentioned in it
    mode = TextField(default="")  # the conversation's own pack mode ("" = as the settings say)
    public = BooleanField(default=False)  # everybody in the space may read the channel
    # A private thread: not everybody in the channel may read it.
    apart = BooleanField(default=False, constraints=[SQL("DEFAULT 0")])
    # People of other spaces read the channel, too (Slack Connect).
    shared = BooleanField(default=False, constraints=[SQL("DEFAULT 0")])
    caught_up = BooleanField(default=True)  # False: its earlier messages are still to be read
    # What of its earlier messages could not be read: words of core.model.Missing, space between.
    missing = TextField(default="", constraints=[SQL("DEFAULT ''")])
    twin = IntegerField(default=0)
    # Nothing can be posted there since then, and why; it is not tried before ``closed_until``.
    closed_at = FloatField(null=True)
    closed_until = FloatField(default=0.0, constraints=[SQL("DEFAULT 0")])
    closed_times = IntegerField(default=0, constraints=[SQL("DEFAULT 0")])
    closed_why = TextField(default="", constraints=[SQL("DEFAULT ''")])
    created_at = FloatField()

    class Meta:
        table_name = "conversation"
        indexes: ClassVar[Any] = ((("chat", "space", "channel", "root", "twin"), True),)


# Mostly none.
ConversationRow.add_index(
    ConversationRow.index(
        ConversationRow.id,
        where=ConversationRow.closed_at.is_null(False),  # noqa: FBT003
        name="conversation_closed",
    )
)


class MessageRow(Table):
    """One thing somebody said. ``event_id`` makes a repeated delivery harmless."""

    id = AutoField()
    conversation_id: int
    conversation = ForeignKeyField(ConversationRow, backref="messages")
    platform_id = TextField(default="")
    event_id = TextField(null=True, unique=True)
    author_key = TextField()
    author_name = TextField()
    author_kind = TextField()
    engine = TextField(default="")
    persona = TextField(default="")
    text = TextField()
    sent_at = FloatField()
    edited_at = FloatField(null=True)
    deleted_at = FloatField(null=True)
    addressed = BooleanField(default=False)  # became a turn (or was refused one)
    admitted = BooleanField(default=True)  # False: its author may not use Moot, as heard
    interrupted = BooleanField(default=False)
    turn = IntegerField(null=True)

    class Meta:
        table_name = "message"


MessageRow.add_index(
    MessageRow.index(
        MessageRow.conversation,
        MessageRow.platform_id,
        unique=True,
        where=(MessageRow.platform_id != ""),
        name="message_platform",
    )
)
# With all that the count of a conversation asks for: a long one is counted without its rows.
MessageRow.add_index(
    MessageRow.index(
        MessageRow.conversation,
        MessageRow.deleted_at,
        MessageRow.sent_at,
        name="message_standing",
    )
)
# What was hidden and is still to be erased (``core.records.eraser``): mostly nothing.
MessageRow.add_index(
    MessageRow.index(
        MessageRow.id,
        where=SQL("deleted_at IS NOT NULL AND text != ''"),
        name="message_hidden",
    )
)

# Who spoke: their names are listed step by step (core.records.people).
MessageRow.add_index(
    MessageRow.index(
        MessageRow.author_name,
        MessageRow.author_key,
        MessageRow.conversation,
        MessageRow.deleted_at,
        name="message_speaker",
    )
)


class AttachmentRow(Table):
    """A file that somebody attached to a message: what the platform says of it, not its bytes."""

    id = AutoField()
    message_id: int
    message = ForeignKeyField(MessageRow, backref="attachments")
    platform_id = TextField()
    name = TextField()  # as it was given: data, never a path
    mime = TextField(default="")
    size = IntegerField(default=0)  # bytes, as the platform says
    url = TextField(default="")  # where the platform keeps it
    # Of its message.
    conversation = IntegerField(default=0, index=True, constraints=[SQL("DEFAULT 0")])
    told = BooleanField(default=False, constraints=[SQL("DEFAULT 0")])  # that it cannot be fetched
    voice = BooleanField(default=False, constraints=[SQL("DEFAULT 0")])  # spoken into the chat
    # What is said in it: "" not asked yet, "-" nobody could tell.
    heard = TextField(default="", constraints=[SQL("DEFAULT ''")])

    class Meta:
        table_name = "attachment"


class MessageIndex(FTS5Model):
    """Keyword index: ``rowid`` is the message's id; tokens of core.keywords.

    ``body``: the text; ``speaker``: who said it; ``context``: the date, and the message before it
    in its conversation (so words that are erased or changed there go here, too).
    """

    body = SearchField()
    speaker = SearchField()
    context = SearchField()

    class Meta:  # pyright: ignore[reportIncompatibleVariableOverride]
        table_name = "message_fts"
        options: ClassVar[Any] = {"tokenize": "porter ascii"}


class EventRow(Table):
    """Commands and buttons already taken in (messages carry their event id themselves)."""

    event_id = TextField(primary_key=True)
    at = FloatField()

    class Meta:
        table_name = "event"


class OutboxRow(Table):
    """A post, edit or deletion owed to a platform; paid by ``bridge.delivery`` in order of id."""

    id = AutoField()
    conversation_id: int
    conversation = ForeignKeyField(ConversationRow, backref="outbox")
    turn = IntegerField(null=True)
    run = TextField(null=True)
    # The message whose words it tells (0: none): they go with it. ``fleeting``: what answers a
    # command may tell words of any message, so its text is kept only until it is posted.
    message = IntegerField(default=0, constraints=[SQL("DEFAULT 0")])
    fleeting = BooleanField(default=False, constraints=[SQL("DEFAULT 0")])
    op = TextField(default="post")  # post | edit | delete
    kind = TextField()  # answer | notice | header | pull | status | live | request
    target = IntegerField(null=True)  # the row whose message is edited, deleted, or taken over
    nonce = TextField(unique=True)
    text = TextField(default="")
    buttons = TextField(default="[]")  # JSON: [[action, label, style], ...]
    title = TextField(default="")
    state = TextField(default="due")  # due | sent | dead | dropped | kept (until its seat's turn)
    attempts = IntegerField(default=0)
    due_at = FloatField(default=0.0)
    tried_at = FloatField(null=True)  # set while an attempt may have taken effect unseen
    message_id = TextField(default="")
    error = TextField(default="")
    created_at = FloatField()
    sent_at = FloatField(null=True)
    # Who reads along: it begins a message that grows, and may be in the platform's own way.
    stream = TextField(default="", constraints=[SQL("DEFAULT ''")])
    # What goes with it, and what of it could not: JSON (core.records.out_files). Emptied when sent.
    files = TextField(default="[]", constraints=[SQL("DEFAULT '[]'")])

    class Meta:
        table_name = "outbox"


OutboxRow.add_index(
    OutboxRow.index(OutboxRow.state, OutboxRow.conversation, OutboxRow.id, name="outbox_due")
)
# Where a run's answer stands.
OutboxRow.add_index(
    OutboxRow.index(OutboxRow.run, where=OutboxRow.run.is_null(False), name="outbox_run")  # noqa: FBT003
)
# Which post was deleted in chat.
OutboxRow.add_index(
    OutboxRow.index(OutboxRow.message_id, where=(OutboxRow.message_id != ""), name="outbox_message")
)
OutboxRow.add_index(
    OutboxRow.index(OutboxRow.message, where=(OutboxRow.message != 0), name="outbox_made_from")
)
# Whose files lie in the store: mostly nobody's.
OutboxRow.add_index(OutboxRow.index(OutboxRow.id, where=SQL("files != '[]'"), name="outbox_files"))
