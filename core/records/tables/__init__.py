"""The tables. Times are UTC seconds since the epoch, JSON columns hold our own shapes only."""

from __future__ import annotations

from peewee import Model

from core.records.tables.asked import GrantRow, RequestRow
from core.records.tables.base import MetaRow, Table
from core.records.tables.chat import (
    AttachmentRow,
    ConversationRow,
    EventRow,
    MessageIndex,
    MessageRow,
    OutboxRow,
)
from core.records.tables.deeds import DeedRow
from core.records.tables.exchanges import ExchangeRow
from core.records.tables.heard import GapRow, HeardRow
from core.records.tables.links import BranchRow, LinkRow
from core.records.tables.memory import (
    ContextLineRow,
    EmbedderRow,
    IndexJobRow,
    MarkRow,
    ScopeRow,
    StatementRow,
    SummarisedRow,
    SummaryRow,
    TopicRow,
    VectorRow,
)
from core.records.tables.parked import ParkedRow
from core.records.tables.plans import (
    ArtifactRow,
    AuditRow,
    DecisionRow,
    FindingRow,
    PlanRow,
    SubtaskRow,
)
from core.records.tables.reactions import ReactionRow
from core.records.tables.spoken import SpokenRow
from core.records.tables.usage import BudgetToldRow, UsageRow
from core.records.tables.work import EngineSessionRow, PullRow, RunRow, TurnRow

SCHEMA_VERSION = 2

ALL_TABLES: tuple[type[Model], ...] = (
    MetaRow,
    ConversationRow,
    TurnRow,
    MessageRow,
    MessageIndex,
    AttachmentRow,
    EventRow,
    RunRow,
    PullRow,
    EngineSessionRow,
    OutboxRow,
    PlanRow,
    SubtaskRow,
    FindingRow,
    ArtifactRow,
    DecisionRow,
    AuditRow,
    LinkRow,
    BranchRow,
    SummaryRow,
    SummarisedRow,
    TopicRow,
    StatementRow,
    ContextLineRow,
    ScopeRow,
    EmbedderRow,
    VectorRow,
    IndexJobRow,
    MarkRow,
    RequestRow,
    GrantRow,
    ParkedRow,
    ReactionRow,
    UsageRow,
    BudgetToldRow,
    DeedRow,
    SpokenRow,
    HeardRow,
    GapRow,
    ExchangeRow,
)

__all__ = [
    "ALL_TABLES",
    "SCHEMA_VERSION",
    "ArtifactRow",
    "AttachmentRow",
    "AuditRow",
    "BranchRow",
    "BudgetToldRow",
    "ContextLineRow",
    "ConversationRow",
    "DecisionRow",
    "DeedRow",
    "EmbedderRow",
    "EngineSessionRow",
    "EventRow",
    "ExchangeRow",
    "FindingRow",
    "GapRow",
    "GrantRow",
    "HeardRow",
    "IndexJobRow",
    "LinkRow",
    "MarkRow",
    "MessageIndex",
    "MessageRow",
    "MetaRow",
    "OutboxRow",
    "ParkedRow",
    "PlanRow",
    "PullRow",
    "ReactionRow",
    "RequestRow",
    "RunRow",
    "ScopeRow",
    "SpokenRow",
    "StatementRow",
    "SubtaskRow",
    "SummarisedRow",
    "SummaryRow",
    "Table",
    "TopicRow",
    "TurnRow",
    "UsageRow",
    "VectorRow",
]
