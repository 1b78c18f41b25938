"""How often another bot may ask: a budget for each bot and thread, and for each bot and hour.

Two bots that answer each other would go on until something is used up. A person's message in the
thread begins its count anew; an hour passes by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from peewee import Expression, fn

from core.records.tables import ExchangeRow, MessageRow, OutboxRow

HOUR_S = 3_600.0
KEPT_S = 7 * 86_400.0

Refusal = Literal["", "thread", "hour"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a bot's question counts: ``refused`` names the budget that is used up.

    ``first``: nobody was told of this refusal yet.
    """

    refused: Refusal = ""
    first: bool = False


def take(
    bot: str, conversation_id: int, *, sent_at: float, now: float, in_thread: int, per_hour: int
) -> Verdict:
    """Count a question of ``bot`` (as the settings name it), if both budgets have room for it.

    ``in_thread`` is how many it may ask in a conversation until a person who may use Moot writes
    there; ``per_hour`` how many within an hour in all of them.
    """
    ExchangeRow.delete().where(ExchangeRow.at < now - KEPT_S).execute()
    since = _last_person(conversation_id)
    here = (ExchangeRow.conversation == conversation_id) & (ExchangeRow.sent_at > since)
    lately = ExchangeRow.at > now - HOUR_S
    refused: Refusal = ""
    if _count(bot, lately & (ExchangeRow.refused == "")) >= per_hour:
        refused = "hour"
    elif _count(bot, here & (ExchangeRow.refused == "")) >= in_thread:
        refused = "thread"
    told = lately if refused == "hour" else here
    first = bool(refused) and not _count(bot, told & (ExchangeRow.refused == refused))
    ExchangeRow.create(
        bot=bot, conversation=conversation_id, sent_at=sent_at, at=now, refused=refused
    )
    return Verdict(refused, first)


def repeats(conversation_id: int, texts: Sequence[str]) -> bool:
    """Whether just this was told a conversation since a person last wrote there.

    Each notice in a thread with another bot may be answered with a question that fails as well.
    """
    since = _last_person(conversation_id)
    return (
        OutboxRow.select()
        .where(
            (OutboxRow.conversation == conversation_id)
            & (OutboxRow.kind == "notice")
            & OutboxRow.text.in_(list(texts[:1]))
            & (OutboxRow.created_at > since)
        )
        .exists()
    )


def _count(bot: str, where: Expression) -> int:
    return int(ExchangeRow.select().where((ExchangeRow.bot == bot) & where).count())


def _last_person(conversation_id: int) -> float:
    """When somebody who may use Moot last wrote there, by the platform's clock (0: never)."""
    found = (
        MessageRow.select(fn.MAX(MessageRow.sent_at))
        .where(
            (MessageRow.conversation == conversation_id)
            & (MessageRow.author_kind == "human")
            & MessageRow.admitted
        )
        .scalar()
    )
    return float(found or 0.0)
