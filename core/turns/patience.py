"""How an engine is asked: not at all while it rests, and again where trying again may help."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from core.model import EngineEvent, EngineTask, EngineTraits, Outcome, Participant, Turn
from core.ports import Engine
from core.records import parked, runs
from core.records.parked import Parked
from core.tongue import say
from core.turns.controls import Below
from core.turns.house import House
from core.turns.parking import others, unasked
from core.turns.retry import Attempt, Tried, persistently

RunOnce = Callable[[int, Callable[[EngineEvent], None]], Awaitable[Outcome]]
"""``(number, watch)``: one attempt; every event of it is told to ``watch`` as well."""


async def ask_patiently(
    engine: Engine,
    task: EngineTask,
    house: House,
    *,
    gate: Callable[[], Awaitable[None]],
    cancel: asyncio.Event,
    run_once: RunOnce,
    resting: Parked | None,
) -> Outcome:
    """Ask until it does not help any more; a used-up quota that ends at a known time is noted.

    One that is ``resting`` is answered for at once, without a process: ``gate`` (which sees to the
    run's row) is then awaited here.
    """
    if resting is not None:
        await gate()
        return unasked(resting)

    async def attempt(number: int) -> Tried:
        watched = Attempt()
        return watched.over(await run_once(number, watched.event))

    async def on_wait(tried: Tried, seconds: float) -> None:
        told = say("trying again in {seconds:.0f} s", seconds=seconds)
        house.progress.event(task.run_id, EngineEvent("retry", told, name="again"))
        await house.records.do(runs.add_retry, task.run_id, tried.outcome.kind, seconds)

    outcome = await persistently(
        attempt, retries=house.policy.retries, cancel=cancel, on_wait=on_wait
    )
    if rests(engine.traits, outcome, now := time.time()):
        await house.records.do(parked.note, engine.name, task.model, outcome, now)
    return outcome


def at_rest(engine: str, model: str, traits: EngineTraits | None) -> Parked | None:
    """Whether an engine is not to be asked just now, and why; for the records' thread."""
    rests_at_all = traits is not None and traits.rests
    return parked.find(engine, model, time.time()) if rests_at_all else None


def rests(traits: EngineTraits | None, outcome: Outcome, now: float) -> bool:
    """Whether an engine is not asked for now, after it came to ``outcome``."""
    return traits is not None and traits.rests and outcome.kind == "quota" and outcome.reset_s > now


async def who_else(house: House, engine: str, outcome: Outcome) -> tuple[str, ...]:
    """Engines that could be asked instead of one whose quota is used up; () for other outcomes."""
    return await who_could(house, engine) if outcome.kind == "quota" else ()


async def choices(house: House, turn: Turn, engine: str) -> tuple[str, ...]:
    """Engines that are offered below an answer, looked for while the run works."""
    wanted = house.policy.controls and turn.kind != "roundtable"
    return await who_could(house, engine) if wanted else ()


def below(house: House, offered: tuple[str, ...], seat: Participant, opened: float) -> Below:
    """What stands below the answer of a run that began at ``opened``."""
    policy = house.policy
    return Below(policy.controls, policy.footer, offered, seat, time.time() - opened)


async def who_could(house: House, engine: str) -> tuple[str, ...]:
    """Engines that could be asked beside this one, as far as files tell."""
    resting = await house.records.do(parked.resting, time.time())
    names = {p.engine for p in resting if p.whole}
    return await asyncio.to_thread(others, house.engines, engine, names, house.policy.own_engines)
