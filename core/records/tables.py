"""The tables. Times are UTC seconds since the epoch, JSON columns hold our own shapes only."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from peewee import (
    AutoField,
    BooleanField,
    FloatField,
    ForeignKeyField,
    IntegerField,
    Model,
    TextField,
)
from playhouse.sqlite_ext import FTS5Model, SearchField

from core.records.prepared import fetch, insert_sql, meta_of, select_sql, update_sql

SCHEMA_VERSION = 1


class Table(Model):
    """Root of all tables; ``Records`` binds them to its database: one a process.

    ``create`` and ``get_by_id`` do what peewee's do, with SQL that is built once.
    """

    @classmethod
    def create(cls, **values: Any) -> Self:
        """Insert a row; returns it with its key."""
        row = cls(**values)
        data, meta = row.__data__, meta_of(cls)
        names = tuple(data)
        params = [meta.fields[name].db_value(data[name]) for name in names]
        cursor = meta.database.execute_sql(insert_sql(cls, names), params)
        if meta.auto_increment and row.get_id() is None:
            setattr(row, meta.primary_key.name, cursor.lastrowid)
        return row

    @classmethod
    def get_by_id(cls, pk: Any) -> Self:
        """The row with this key.

        Raises:
            DoesNotExist: there is none.
        """
        found = fetch(cls, select_sql(cls), (pk,))
        if not found:
            missing: Any = cls
            raise missing.DoesNotExist(f"there is no {cls.__name__} {pk!r}")
        return found[0]

    @classmethod
    def change(cls, pk: Any, **values: Any) -> int:
        """Update the row with this key; how many rows that were (0 or 1)."""
        meta = meta_of(cls)
        params = [meta.fields[name].db_value(value) for name, value in values.items()]
        sql = update_sql(cls, tuple(values))
        return meta.database.execute_sql(sql, [*params, pk]).rowcount


class MetaRow(Table):
    """Facts about the database itself, such as its schema version."""

    name = TextField(primary_key=True)
    value = TextField()

    class Meta:
        table_name = "meta"


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
    caught_up = BooleanField(default=True)  # False: its earlier messages are still to be read
    twin = IntegerField(default=0)
    created_at = FloatField()

    class Meta:
        table_name = "conversation"
        indexes: ClassVar[Any] = ((("chat", "space", "channel", "root", "twin"), True),)


class TurnRow(Table):
    """One question put to a table. At most one per conversation runs: the database sees to it."""

    id = AutoField()
    conversation_id: int
    conversation = ForeignKeyField(ConversationRow, backref="turns")
    kind = TextField()
    prompt = TextField()
    prompt_message = IntegerField()
    asker = TextField()
    asker_key = TextField()
    seats = TextField()  # JSON: [[engine, persona, model], ...]
    rounds = IntegerField()
    mode = TextField(default="")
    state = TextField(default="queued")
    error = TextField(default="")
    header = IntegerField(null=True)  # outbox id of a roundtable's header message
    queued_at = FloatField()
    started_at = FloatField(null=True)
    ended_at = FloatField(null=True)

    class Meta:
        table_name = "turn"


TurnRow.add_index(
    TurnRow.index(
        TurnRow.conversation, unique=True, where=(TurnRow.state == "running"), name="turn_running"
    )
)
TurnRow.add_index(TurnRow.index(TurnRow.state, TurnRow.id, name="turn_by_state"))


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
MessageRow.add_index(
    MessageRow.index(MessageRow.conversation, MessageRow.sent_at, name="message_sent")
)


class MessageIndex(FTS5Model):
    """Keyword index: ``rowid`` is the message's id, ``body`` its tokens (core.keywords)."""

    body = SearchField()

    class Meta:  # pyright: ignore[reportIncompatibleVariableOverride]
        table_name = "message_fts"
        options: ClassVar[Any] = {"tokenize": "porter unicode61 remove_diacritics 2"}


class EventRow(Table):
    """Commands and buttons already taken in (messages carry their event id themselves)."""

    event_id = TextField(primary_key=True)
    at = FloatField()

    class Meta:
        table_name = "event"


class RunRow(Table):
    """One process for one step. The row exists before the process does."""

    id = TextField(primary_key=True)
    turn_id: int
    turn = ForeignKeyField(TurnRow, backref="runs")
    round = IntegerField()
    seat = IntegerField()
    hop = IntegerField()
    attempt = IntegerField(default=1)
    state = TextField(default="open")
    can_write = BooleanField(default=False)
    engine = TextField()
    persona = TextField(default="")
    session = TextField(default="")
    pid = IntegerField(null=True)
    pid_started = FloatField(null=True)
    answer = TextField(default="")
    error = TextField(default="")
    outcome = TextField(default="")
    usage = TextField(default="{}")
    receipt = TextField(default="{}")
    status = IntegerField(null=True)  # outbox id of the status message
    opened_at = FloatField()
    ended_at = FloatField(null=True)

    class Meta:
        table_name = "run"
        indexes: ClassVar[Any] = ((("turn", "round", "seat", "hop", "attempt"), True),)


class PullRow(Table):
    """What an agent asked for, and how much was found (filled in when it is answered)."""

    id = AutoField()
    run = ForeignKeyField(RunRow, backref="pulls")
    kind = TextField()
    query = TextField()
    hits = IntegerField(null=True)

    class Meta:
        table_name = "pull"


class OutboxRow(Table):
    """A post, edit or deletion owed to a platform; paid by ``bridge.delivery`` in order of id."""

    id = AutoField()
    conversation_id: int
    conversation = ForeignKeyField(ConversationRow, backref="outbox")
    turn = IntegerField(null=True)
    run = TextField(null=True)
    op = TextField(default="post")  # post | edit | delete
    kind = TextField()  # answer | notice | header | pull | status
    target = IntegerField(null=True)  # edit, delete: the outbox row whose message is meant
    nonce = TextField(unique=True)
    text = TextField(default="")
    buttons = TextField(default="[]")  # JSON: [[action, label, style], ...]
    title = TextField(default="")
    state = TextField(default="due")  # due | sent | dead | dropped
    attempts = IntegerField(default=0)
    due_at = FloatField(default=0.0)
    tried_at = FloatField(null=True)  # set while an attempt may have taken effect unseen
    message_id = TextField(default="")
    error = TextField(default="")
    created_at = FloatField()
    sent_at = FloatField(null=True)

    class Meta:
        table_name = "outbox"


OutboxRow.add_index(
    OutboxRow.index(OutboxRow.state, OutboxRow.conversation, OutboxRow.id, name="outbox_due")
)

ALL_TABLES: tuple[type[Model], ...] = (
    MetaRow,
    ConversationRow,
    TurnRow,
    MessageRow,
    MessageIndex,
    EventRow,
    RunRow,
    PullRow,
    OutboxRow,
)
