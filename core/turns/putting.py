"""A question and its engine: put in one way or another, until something comes of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from core.context.pack import receipt
from core.control import Lease
from core.engines.process import Busy
from core.model import (
    EngineEvent,
    EngineTask,
    Outcome,
    PackRequest,
    Permission,
    Project,
    Step,
    Turn,
    Usage,
)
from core.permissions import held_to
from core.ports import Engine, kind_of
from core.records import runs
from core.records.parked import Parked
from core.tongue import say
from core.turns.asked import cannot_be_held
from core.turns.asking import IN_USE, Asking, Sitting
from core.turns.files import FOLDER
from core.turns.house import House
from core.turns.in_run import InRun
from core.turns.patience import ask_patiently, at_rest
from core.turns.requests import Requests
from core.words import literal

log = structlog.get_logger()


class _InUse(Exception):
    """Another writer has the session that was to be gone on with."""

    def __init__(self, by: Busy) -> None:
        super().__init__(by.by)
        self.by = by


@dataclass(frozen=True, slots=True)
class How:
    """What one run needs beside its question. ``gate`` returns once the run's row is there."""

    run_id: str
    step: Step
    scratch: Path
    request: PackRequest
    sitting: Sitting
    in_run: InRun | None
    gate: Callable[[], Awaitable[None]]
    resting: Parked | None = None  # as it was when the facts were read
    spent: list[Usage] = field(default_factory=list[Usage])  # by each process of it
    starts: list[float] = field(default_factory=list[float])  # of them; none: it was not asked


def no_folder(project: Project) -> Outcome:
    """What a question comes to whose project has no folder: no engine could help that."""
    return Outcome(
        "bad-config",
        detail=say("the project folder {path} does not exist", path=project.path),
        fix=say(
            "The folder of the project {name} does not exist: `{path}`. Make it, or correct "
            "`[projects.{name2}] path` in moot.toml and restart Moot; `moot doctor` looks at "
            "every project's folder.",
            name=literal(project.name, 60),
            path=_code(project.path),
            name2=_code(project.name),
        ),
        ours=True,
    )


def _code(text: str) -> str:
    """Between backticks: one line without any."""
    return " ".join(text.replace("`", "'").split())


@dataclass(frozen=True, slots=True)
class Question:
    """What one step asks its engine; ``wanted`` is what its run is allowed at most.

    ``lease`` is the slot that the step holds.
    """

    turn: Turn
    house: House
    project: Project
    wanted: Permission
    cancel: asyncio.Event
    lease: Lease | None

    async def ask(self, how: How, asking: Sequence[Asking]) -> tuple[Outcome, str]:
        """Ask the engine; says as well why a new session was needed ("" = it was not)."""
        seat = how.request.participant
        engine = self.house.engines.get(seat.engine)
        if engine is None:
            await how.gate()
            detail = say("there is no engine named “{engine}” in the settings", engine=seat.engine)
            return Outcome("bad-config", detail=detail), ""
        task = EngineTask(
            run_id=how.run_id,
            context="",
            prompt="",
            cwd=self.project.path,
            scratch=str(how.scratch),
            permission=how.request.permission,
            model=seat.model,
            trusted_settings=self.project.trust_settings,
            files=tuple(
                str(how.scratch / FOLDER / one.file) for one in how.request.files if one.file
            ),
            out=how.request.out_folder,
            asks=self.house.policy.attended
            and (self.turn.kind == "ask" or how.request.permission == "ask"),
        )
        if held_to(how.request.permission, engine.traits.permissions) is None:
            await how.gate()
            return Outcome("bad-config", detail=cannot_be_held(self.wanted)), ""
        if not await asyncio.to_thread(Path(self.project.path).is_dir):
            await how.gate()
            return no_folder(self.project), ""
        first, *rest = asking
        failed = why = ""
        try:
            outcome = await self._patiently(engine, first.of(task), how, how.resting)
        except _InUse as other:
            outcome, failed = Outcome("session-lost"), IN_USE[other.by.by]
        if outcome.in_use and first.resume:
            outcome, failed = replace(outcome, kind="session-lost"), IN_USE["terminal"]
        for way in rest:
            if outcome.kind in way.mends:
                failed = failed or outcome.kind
                why = "reduced" if way.reduced else failed
                await self._rotate(how, way, failed)
                failed = ""
                again = replace(how, gate=_open_gate)
                resting = await self.house.records.do(
                    at_rest, engine.name, task.model, engine.traits
                )
                outcome = await self._patiently(engine, way.of(task), again, resting)
        return outcome, why

    async def _rotate(self, how: How, way: Asking, why: str) -> None:
        """Another way is tried: the rows say what is sent now."""

        def rotate() -> None:
            runs.set_receipt(how.run_id, receipt(way.pack), why)
            how.sitting.rotate(why, way, time.time())

        await self.house.records.do(rotate)
        log.info("run.again", engine=how.request.participant.engine, why=why, reduced=way.reduced)

    async def _patiently(
        self, engine: Engine, task: EngineTask, how: How, resting: Parked | None
    ) -> Outcome:
        async def run_once(number: int, watch: Callable[[EngineEvent], None]) -> Outcome:
            here = replace(how, gate=_open_gate) if number else how
            outcome = await self._run(engine, replace(task, attempt=number), here, watch)
            how.spent.append(outcome.usage)
            return outcome

        return await ask_patiently(
            engine,
            task,
            self.house,
            gate=how.gate,
            cancel=self.cancel,
            run_once=run_once,
            resting=resting,
        )

    async def _run(
        self, engine: Engine, task: EngineTask, how: How, watch: Callable[[EngineEvent], None]
    ) -> Outcome:
        records, progress, sitting = self.house.records, self.house.progress, how.sitting
        saving: list[asyncio.Task[None]] = []
        asking = Requests(task.run_id, self.turn, how.step, sitting, self.house, self.lease)
        # By the CLI: another entry of the settings, or another Moot's, may name the same session.
        hold = self.house.writers.hold(kind_of(engine), task.run_id)

        def waits(_: Busy) -> None:
            progress.event(task.run_id, EngineEvent("retry", name="session"))

        async def gate() -> None:
            await how.gate()
            if task.resume and (other := await hold.take(task.resume, self.cancel, waits)):
                raise _InUse(other)

        def named(name: str) -> None:
            runs.set_session(task.run_id, name)
            sitting.named(name)

        def on_event(event: EngineEvent) -> None:
            watch(event)
            sitting.heard(event.kind)
            if event.kind == "started" and event.text:
                saving.append(asyncio.ensure_future(records.do(named, event.text)))
                saving.append(asyncio.ensure_future(hold.also(event.text)))
            elif event.kind == "compacted":
                saving.append(asyncio.ensure_future(records.do(sitting.compacted)))
            asking.event(event)
            progress.event(task.run_id, event)

        def on_start() -> None:
            how.starts.append(time.time())
            # Not earlier: posting the status message would compete with the start.
            self.house.wake_delivery()

        async def on_spawn(pid: int, started: float) -> None:
            await records.do(runs.set_child, task.run_id, pid, started)
            log.debug("run.spawned", pid=pid)

        log.debug("run.starting", engine=engine.name, chars=len(task.context) + len(task.prompt))
        pulls, in_run = self.house.pulls, how.in_run
        if in_run is not None and pulls is not None:
            task = replace(task, pulls=pulls.admit(task.run_id, in_run.kinds, in_run.answer))
        try:
            async with asking.at_work():
                return await self.house.run_engine(
                    engine,
                    task,
                    on_event=on_event,
                    gate=gate,
                    on_start=on_start,
                    on_spawn=on_spawn,
                    limits=self.house.policy.limits,
                    cancel=self.cancel,
                    verdicts=asking.verdicts,
                )
        finally:
            if pulls is not None:
                pulls.dismiss(task.run_id)
            try:
                await asyncio.gather(*saving)
            finally:
                hold.release()
            log.debug("run.exited")


async def _open_gate() -> None:
    """The row of this run is there already."""
