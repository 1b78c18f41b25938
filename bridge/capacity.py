"""What may run at once on this host, where the settings leave it open; and what may be used."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import psutil

from config.settings import Settings
from core.model import ConversationKey, EngineTraits
from core.ports import Engine
from core.records.usage import Purse
from core.spending import Budget, zone_named

PER_CORE = 2  # runs mostly wait for their model
LEFT_FOR_OTHERS_MB = 500


def capacity(
    settings: Settings, engines: Mapping[str, Engine], default: str
) -> tuple[int, dict[str, int]]:
    """Runs at once: on this host, and of each engine that has a limit below that."""
    memory_mb = psutil.virtual_memory().available // 2**20
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    host = settings.runs.at_once or host_limit(engines[default].traits, cores or 1, memory_mb)
    limits = {
        name: settings.engines.entry(name).at_once
        or engine_limit(engine.traits, cores or 1, memory_mb)
        for name, engine in engines.items()
    }
    return host, {name: limit for name, limit in limits.items() if limit and limit < host}


def host_limit(usual: EngineTraits, cores: int, memory_mb: int) -> int:
    """Two a core, as far as the memory that is free holds runs of the ``usual`` engine."""
    return max(1, min(PER_CORE * cores, _held(usual, memory_mb) or PER_CORE * cores))


def engine_limit(traits: EngineTraits, cores: int, memory_mb: int) -> int:
    """What memory and cores allow of one engine; 0: it needs neither here."""
    limits = [_held(traits, memory_mb)] if traits.memory_mb else []
    limits += [max(1, int(cores / traits.cores))] if traits.cores else []
    return min(limits, default=0)


def _held(traits: EngineTraits, memory_mb: int) -> int:
    """How many runs fit into memory, one at least; 0: they take none."""
    if not traits.memory_mb:
        return 0
    return max(1, (memory_mb - LEFT_FOR_OTHERS_MB) // traits.memory_mb)


def purse_of(settings: Settings, project_of: Callable[[ConversationKey], str]) -> Purse:
    """The budgets that are set, as core knows them; ``project_of`` names a channel's project."""
    budgets = (Budget(b.of, b.per, b.tokens, b.cost_usd, b.name) for b in settings.budgets)
    return Purse(tuple(budgets), zone_named(settings.usage.timezone), project_of)
