"""What can be chosen while a command is typed. From memory; strangers are offered nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import structlog

from bridge.access import Door
from bridge.duties import Role
from bridge.intake_policy import IntakePolicy
from core.model import ChatEvent, Reply
from core.records import messages, runs
from core.records.thread import Records

log = structlog.get_logger()

MAX_OFFERED = 25
PATIENCE_S = 1.0  # a platform waits three seconds for all of it
_USAGE = ("today", "week", "month", "by model", "by channel", "here", "budgets")
_WORDS = ("help", "requests", "permission", "language", "plan", "finding", "decisions", "home")


async def complete(
    event: ChatEvent, door: Door, policy: IntakePolicy, records: Records
) -> Reply | None:
    """The choices for ``event.command``'s option (``values["option"]``), ``event.text`` typed."""
    if not door.allows(event.author, event.key, Role.VIEWER):
        return None
    option = next(iter(event.values.get("option", ())), "")
    offered = _known(option, event.text, policy)
    if option == "run":
        offered = await _runs(event, records)
    typed = event.text.strip().lower()
    fitting = [one for one in offered if typed in one[0].lower() or typed in one[1].lower()]
    fitting.sort(key=lambda one: not one[0].lower().startswith(typed))
    return Reply("", options=tuple(fitting[:MAX_OFFERED]))


def _known(option: str, typed: str, policy: IntakePolicy) -> list[tuple[str, str]]:
    names = policy.names
    match option:
        case "engine":
            return _same(engines(policy))
        case "persona":
            return _same(sorted(names.personas))
        case "preset":
            return _same(sorted(names.presets))
        case "participants":
            return _seats(typed, policy)
        case "synthesizer":
            return _same(("none", *_pairs(policy)))
        case "which":
            return _same(engines(policy))
        case "words":
            return _same((*_USAGE, *_WORDS))
        case _:
            return []


def engines(policy: IntakePolicy) -> tuple[str, ...]:
    """All that can be named, the usual one first."""
    usual = policy.default_seat.engine
    return (usual, *sorted(policy.names.engines - {usual}))


def _pairs(policy: IntakePolicy) -> list[str]:
    offered = (policy.default_seat.engine, *policy.tables.engines)
    return [f"{p}:{e}" for e in dict.fromkeys(offered) for p in sorted(policy.names.personas)]


def _seats(typed: str, policy: IntakePolicy) -> list[tuple[str, str]]:
    """The list as it was typed so far, with each participant that could come next."""
    before, comma, _ = typed.rpartition(",")
    return _same(f"{before}{comma}{pair}" for pair in _pairs(policy))


def _same(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(name, name) for name in names if len(name) <= 100]


async def _runs(event: ChatEvent, records: Records) -> Sequence[tuple[str, str]]:
    """The newest runs of this very thread."""

    def newest() -> list[tuple[str, str]]:
        conversation = messages.find_conversation(event.key)
        found = runs.runs_in_conversation(conversation.id, MAX_OFFERED) if conversation else ()
        return [(run["run"][:8], _called(run)) for run in found]

    try:
        async with asyncio.timeout(PATIENCE_S):
            return await records.do(newest)
    except TimeoutError:
        log.info("complete.late", option="run")
        return []


def _called(run: dict[str, str]) -> str:
    who = f"{run['persona']} ({run['engine']})" if run["persona"] else run["engine"]
    return f"{run['run'][:8]} · {who} · {run['state']}"[:100]
