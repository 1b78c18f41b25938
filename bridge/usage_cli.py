"""``moot usage``: what was used and how budgets stand, read beside a running Moot."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from bridge.app import DATABASE
from bridge.capacity import purse_of
from bridge.projects import project_of
from bridge.usage_commands import BudgetsShown, parse_usage
from bridge.usage_words import say_budgets, say_usage
from config.settings import Settings
from core.records import usage
from core.records.thread import Records
from core.spending import span_typed
from core.words import without_moments

HOST_FORM = "moot usage [today|week|month|7d|2026-11] [by engine], moot usage budgets"


async def read_usage(settings: Settings, words: str) -> tuple[str, dict[str, Any]]:
    """The same words as in chat (``week by person``, ``budgets``); everybody's use.

    Returns it as Markdown, and as one JSON-able object.

    Raises:
        BadInput: a word means nothing here.
        BadSettings: there is no database yet.
    """
    wanted = parse_usage(words, HOST_FORM)
    purse = purse_of(settings, lambda key: project_of(settings, key).name)
    records = Records(settings.storage.dir / DATABASE, read_only=True)
    await records.open()
    now = time.time()
    try:
        if isinstance(wanted, BudgetsShown):
            found = await records.do(usage.all_standings, purse, now)
            budgets = [
                {
                    **asdict(one.budget),
                    "who": one.who,
                    "called": one.called,
                    "used_tokens": one.used.tokens,
                    "used_usd": one.used.cost_usd,
                    "percent": round(100 * one.share, 1),
                    "until": one.span.end,
                }
                for one in found
            ]
            return without_moments(say_budgets(found, purse.zone)), {"budgets": budgets}
        span = span_typed(wanted.span, now, purse.zone)
        parts = await records.do(usage.sums, span, wanted.by, purse.zone)
        said = say_usage(parts, span, wanted.by, purse.zone, whose_use="everybody")
        return without_moments(said), {
            "span": asdict(span),
            "by": wanted.by,
            "parts": [
                {"name": one.name, "called": one.called, **asdict(one.amount)} for one in parts
            ],
        }
    finally:
        await records.close()
