"""From a task to an outcome: the one entrance for engines of either sort."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from core.engines.process import tree
from core.engines.process.child import Child
from core.engines.process.environment import OUT, bypass_proxy, child_environment
from core.engines.process.http import call
from core.engines.process.program import Program, prepare
from core.engines.process.shown import event_shown, outcome_shown
from core.errors import BadInput, PromptTooLong
from core.model import (
    EngineEvent,
    EngineTask,
    Exit,
    HttpCall,
    Limits,
    Outcome,
    Verdict,
)
from core.ports import Engine
from core.redact import Flow, known, redact_shapes, secret_values
from core.streams import reset_moment

OnEvent = Callable[[EngineEvent], None]
OnSpawn = Callable[[int, float], Awaitable[None]]


async def run(
    engine: Engine,
    task: EngineTask,
    *,
    on_event: OnEvent,
    on_spawn: OnSpawn,
    limits: Limits,
    cancel: asyncio.Event,
    verdicts: asyncio.Queue[Verdict] | None = None,
    gate: Callable[[], Awaitable[None]] | None = None,
    on_start: Callable[[], None] = lambda: None,
    base_env: Mapping[str, str] | None = None,
) -> Outcome:
    """Give ``task`` to ``engine`` and see it through to its end.

    Whatever the engine does, an outcome is returned and nothing that was started is left running:
    also when the awaiting task is cancelled (then ``CancelledError`` goes on once all is settled,
    within 5 seconds). After ``cancel`` was set nothing more reaches ``on_event``, and the outcome
    is ``cancelled`` with the text so far.

    Args:
        engine: what to run; its ``start`` and ``reader`` are asked once.
        task: what to ask it.
        on_event: called on the loop for every event as it is read; must not block. The session's
            id comes as a ``started`` event as soon as the engine tells it.
        on_spawn: awaited as soon as there is a child, with its pid and start time (seconds since
            the epoch, as ``end_leftover`` wants them); not called for HTTP engines.
        limits: when a run counts as stalled (no output) or as too long.
        cancel: set it to stop the run.
        verdicts: what was decided of the requests that came as events. While one is open, the
            run's time limits stand still.
        gate: awaited when all is prepared, before anything is started; it may set ``cancel``. What
            it raises is raised.
        on_start: called once the engine is at work: a child exists, or a request is being made.
        base_env: the environment that the allow-list picks from (default: this process's own).

    Raises:
        Exception: what ``on_event`` or ``on_spawn`` raised, after the child was ended.
    """
    environ = dict(os.environ) if base_env is None else base_env  # decoded once
    own = frozenset((task.pulls.token,)) if task.pulls is not None else frozenset[str]()
    secrets = known(secret_values(environ.items()) | own)
    reader = engine.reader(task)

    flow = Flow(secrets)

    def tell(event: EngineEvent) -> None:
        if event.kind == "delta" and event.text:  # a known value may be cut by the pieces
            if text := flow.feed(event.text):
                text = redact_shapes(text)
                on_event(event if text == event.text else replace(event, text=text))
            return
        if rest := flow.end():
            on_event(EngineEvent("delta", rest))
        on_event(event_shown(event, secrets))

    try:
        plan = await asyncio.to_thread(_planned, engine, task, environ)
        if gate is not None:
            await gate()
        if isinstance(plan, Outcome):
            return await outcome_shown(plan, secrets)
        if cancel.is_set():
            return await outcome_shown(reader.finish(Exit(why="cancelled")), secrets)
        if isinstance(plan, HttpCall):
            on_start()
            outcome = await call(plan, reader, on_event=tell, limits=limits, cancel=cancel)
        else:
            child = Child(
                plan,
                task,
                reader,
                on_event=tell,
                limits=limits,
                cancel=cancel,
                verdicts=verdicts or asyncio.Queue(),
            )
            outcome = await child.run(on_start, on_spawn)
    except PromptTooLong as error:
        return Outcome("context-too-long", detail=str(error))
    except BadInput as error:
        return Outcome("bad-config", detail=str(error))
    return replace(
        await outcome_shown(outcome, secrets),
        reset_s=reset_moment(outcome.reset_at, time.time()) if outcome.reset_at else 0.0,
    )


def _planned(
    engine: Engine, task: EngineTask, environ: Mapping[str, str]
) -> HttpCall | Program | Outcome:
    """What to do for ``task``, with the files of a process written, or why it cannot be done."""
    plan = engine.start(task)
    if isinstance(plan, HttpCall):
        return plan
    env = child_environment(environ, engine.env_names, plan.env, task.run_id)
    for name in plan.unset:
        env.setdefault(name, "")
    if task.out:
        env[OUT] = task.out
    if task.pulls is not None:
        bypass_proxy(env, task.pulls.url)
    return prepare(plan, task, env)


async def end_leftover(run_id: str, pid: int, started: float) -> list[int]:
    """End the processes that an earlier life of Moot left running for a run.

    Found by the run's mark in their environment, and by ``pid`` where that is still the process
    that began at ``started`` (as told to ``on_spawn``). Returns the pids that were found.
    """
    return await asyncio.to_thread(tree.end_leftover, run_id, pid, started)
