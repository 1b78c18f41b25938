"""The tables. Times are UTC seconds since the epoch, JSON columns hold our own shapes only."""

from __future__ import annotations

from peewee import Model

from core.records.tables.base import MetaRow, Table
from core.records.tables.chat import ConversationRow, EventRow, MessageIndex, MessageRow, OutboxRow
from core.records.tables.work import PullRow, RunRow, TurnRow

SCHEMA_VERSION = 2

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

__all__ = [
    "ALL_TABLES",
    "SCHEMA_VERSION",
    "ConversationRow",
    "EventRow",
    "MessageIndex",
    "MessageRow",
    "MetaRow",
    "OutboxRow",
    "PullRow",
    "RunRow",
    "Table",
    "TurnRow",
]
