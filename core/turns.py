"""The one path: a mention, a roundtable's turn and a Pull's follow-up all go through here."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import structlog

from core.asking import Asking, ways_to_ask
from core.context.pack import build_context_pack, receipt
from core.gather import Gather
from core.model import (
    Conversation,
    ConversationKey,
    EngineEvent,
    EngineTask,
    Limits,
    Outcome,
    PackRequest,
    Participant,
    Permission,
    Project,
    Run,
    Said,
    Step,
    Turn,
    TurnState,
)
from core.ports import Engine
from core.records import messages, runs, turns
from core.records.thread import Records
from core.settle import Closing, Voice, close_step, end_of_turn, open_step
from core.sources.port import Source
from core.table import next_steps

log = structlog.get_logger()

HISTORY_DEADLINE_S = 15.0
HISTORY_LIMIT = 200


class RunEngine(Protocol):
    """The supervisor, as ``core.engines.process.run`` is shaped."""

    async def __call__(
        self,
        engine: Engine,
        task: EngineTask,
        *,
        on_event: Callable[[EngineEvent], None],
        gate: Callable[[], Awaitable[None]],
        on_start: Callable[[], None],
        on_spawn: Callable[[int, float], Awaitable[None]],
        limits: Limits,
        cancel: asyncio.Event,
    ) -> Outcome:
        """Give ``task`` to ``engine`` and see it through to its end; always an outcome."""
        ...


class Progress(Protocol):
    """Shows that a run lives; best effort, never awaited by the run."""

    def started(
        self, run_id: str, conversation: Conversation, turn: Turn, seat: Participant
    ) -> None:
        """A run has begun."""
        ...

    def event(self, run_id: str, event: EngineEvent) -> None:
        """The engine said something."""
        ...

    def ended(self, run_id: str) -> None:
        """The run is over."""
        ...


@dataclass(frozen=True, slots=True)
class Policy:
    """What the turn path needs of the settings. Sizes in characters."""

    budget_chars: int
    max_per_message_chars: int
    history_messages: int
    max_followups: int
    limits: Limits
    scratch: Path
    persona_folder: Path


@dataclass(frozen=True, slots=True)
class House:
    """Everything a turn needs, put together once by ``bridge.app``.

    ``channels_of`` names the channels of a project, as ``chat:channel``.
    """

    records: Records
    engines: Mapping[str, Engine]
    run_engine: RunEngine
    voice: Voice
    history: Callable[[ConversationKey, int], Awaitable[tuple[Said, ...]]]
    project_of: Callable[[ConversationKey], Project]
    channels_of: Callable[[Project], tuple[str, ...]]
    sources: Sequence[Source]
    progress: Progress
    wake_delivery: Callable[[], None]
    policy: Policy


@dataclass(frozen=True, slots=True)
class Ready:
    """A claimed turn with what is known of it: read together, since every trip to the rows counts.

    ``done`` are its runs so far (of an earlier life).
    """

    turn: Turn
    conversation: Conversation
    done: tuple[Run, ...]


def claim_ready(limit: int, excluded: Sequence[int], now: float) -> tuple[Ready, ...]:
    """Claim up to ``limit`` turns, as ``core.records.turns.claim`` does. One transaction."""
    return tuple(
        Ready(turn, messages.get_conversation(turn.conversation_id), runs.runs_of(turn.id))
        for turn in turns.claim_up_to(limit, excluded, now)
    )


async def take_turn(ready: Ready, house: House, cancel: asyncio.Event) -> TurnState:
    """Run every step of a turn not yet settled, then end it. Safe to call again after a crash.

    ``cancel`` ends the running process and settles the turn as cancelled.
    """
    turn, conversation, done = ready.turn, ready.conversation, ready.done
    project = house.project_of(conversation.key)
    notes = await _catch_up(conversation, house)
    gather = Gather(
        house.records,
        turn,
        conversation,
        project,
        sources=house.sources,
        project_channels=house.channels_of(project),
        history_messages=house.policy.history_messages,
        persona_folder=house.policy.persona_folder,
        notes=notes,
    )
    table = _Table(turn, conversation, project, gather, house, cancel)
    while not cancel.is_set() and (
        steps := next_steps(turn, done, (), max_hops=house.policy.max_followups)
    ):
        async with asyncio.TaskGroup() as group:  # one step, or a parallel round
            for step in steps:
                group.create_task(table.take(step, done))
        done = await house.records.do(runs.runs_of, turn.id)
    state = await house.records.insist(end_of_turn, turn.id, house.voice, time.time())
    house.wake_delivery()
    log.info("turn.ended", turn=turn.id, conversation=conversation.id, state=state)
    return state


@dataclass(frozen=True, slots=True)
class _Table:
    """One turn being worked on."""

    turn: Turn
    conversation: Conversation
    project: Project
    gather: Gather
    house: House
    cancel: asyncio.Event

    async def take(self, step: Step, done: Sequence[Run]) -> None:
        """One step from its pack to its posts."""
        run_id = secrets.token_hex(8)
        scratch = self.house.policy.scratch / run_id
        bound = {"run": run_id, "turn": self.turn.id, "conversation": self.conversation.id}
        with structlog.contextvars.bound_contextvars(**bound):
            try:
                await self._take(run_id, scratch, step, done)
            finally:
                await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def _take(self, run_id: str, scratch: Path, step: Step, done: Sequence[Run]) -> None:
        seat, chain = self.turn.seats[step.seat], _chain(done, step)
        pulled = await self.gather.pulled(chain[-1].pulls) if chain else ()
        request = await self._request(step, seat)
        pack = build_context_pack(request, await self.gather.facts(step.round))
        asking = ways_to_ask(pack, request, self.house.engines.get(seat.engine), chain, pulled)
        opened = time.time()
        opening = asyncio.ensure_future(
            self.house.records.do(
                open_step,
                run_id,
                self.turn,
                step,
                seat,
                self.house.voice,
                can_write=request.permission != "plan",
                receipt=receipt(asking[0].pack),
                pulled=pulled,
                asked_by=chain[-1].id if chain else "",
                now=opened,
            )
        )

        async def row_is_there() -> None:
            # The row before the act: files are made meanwhile, a process is not.
            if not await opening:
                self.cancel.set()
                return
            log.debug("run.opened", engine=seat.engine, **asdict(step))
            self.house.progress.started(run_id, self.conversation, self.turn, seat)

        try:
            outcome, fresh = await self._ask(run_id, scratch, asking, request, row_is_there)
        finally:
            self.house.progress.ended(run_id)
            await asyncio.wait((opening,))
        if not opening.result():
            self.cancel.set()
            return
        closing = Closing(
            run_id,
            self.turn,
            step,
            seat,
            outcome,
            tuple(pull for run in chain for pull in run.pulls),
            fresh,
            self.house.policy.max_followups,
        )
        state = await self.house.records.insist(close_step, closing, self.house.voice, time.time())
        self.house.wake_delivery()
        log.info(
            "run.closed",
            engine=seat.engine,
            state=state,
            outcome=outcome.kind,
            hop=step.hop,
            pack_chars=asking[0].pack.chars,
            seconds=round(time.time() - opened, 2),
            input_tokens=outcome.usage.input_tokens,
            output_tokens=outcome.usage.output_tokens,
        )

    async def _request(self, step: Step, seat: Participant) -> PackRequest:
        table = self.turn.kind == "roundtable"
        policy = self.house.policy
        permission: Permission = "plan" if table else self.project.permission
        return PackRequest(
            prompt=self.turn.prompt,
            prompt_message_id=self.turn.prompt_message_id,
            participant=seat,
            asker=self.turn.asker,
            persona_text=await self.gather.persona(seat),
            mode=self.turn.mode,
            budget_chars=policy.budget_chars,
            max_per_message_chars=policy.max_per_message_chars,
            topic=self.turn.prompt if table else "",
            round=step.round,
            rounds=self.turn.rounds if table else 0,
            permission=permission,
            can_pull=step.hop < policy.max_followups,
            pull_kinds=self.gather.pull_kinds,
        )

    async def _ask(
        self,
        run_id: str,
        scratch: Path,
        asking: Sequence[Asking],
        request: PackRequest,
        gate: Callable[[], Awaitable[None]],
    ) -> tuple[Outcome, bool]:
        """Ask the engine; says as well whether a lost session made a fresh start necessary."""
        seat = request.participant
        engine = self.house.engines.get(seat.engine)
        if engine is None:
            await gate()
            detail = f"there is no engine named “{seat.engine}” in the settings"
            return Outcome("bad-config", detail=detail), False
        task = EngineTask(
            run_id=run_id,
            context="",
            prompt="",
            cwd=self.project.path,
            scratch=str(scratch),
            permission=request.permission,
            model=seat.model,
        )
        first, *rest = asking
        outcome = await self._run(engine, first.of(task), gate)
        if outcome.kind == "session-lost" and rest:
            await self.house.records.do(runs.set_receipt, run_id, receipt(rest[0].pack))
            return await self._run(engine, rest[0].of(task), _open_gate), True
        return outcome, False

    async def _run(
        self, engine: Engine, task: EngineTask, gate: Callable[[], Awaitable[None]]
    ) -> Outcome:
        records, progress = self.house.records, self.house.progress
        saving: list[asyncio.Task[None]] = []

        def on_event(event: EngineEvent) -> None:
            if event.kind == "started" and event.text:
                saving.append(
                    asyncio.ensure_future(records.do(runs.set_session, task.run_id, event.text))
                )
            progress.event(task.run_id, event)

        async def on_spawn(pid: int, started: float) -> None:
            await records.do(runs.set_child, task.run_id, pid, started)
            log.debug("run.spawned", pid=pid)

        log.debug("run.starting", engine=engine.name, chars=len(task.context) + len(task.prompt))
        try:
            return await self.house.run_engine(
                engine,
                task,
                on_event=on_event,
                gate=gate,
                # Not earlier: posting the status message would compete with the start.
                on_start=self.house.wake_delivery,
                on_spawn=on_spawn,
                limits=self.house.policy.limits,
                cancel=self.cancel,
            )
        finally:
            await asyncio.gather(*saving)
            log.debug("run.exited")


async def _catch_up(conversation: Conversation, house: House) -> tuple[str, ...]:
    """Read a thread's earlier messages once; what cannot be read is a note on the receipt."""
    if conversation.caught_up:
        return ()
    try:
        async with asyncio.timeout(HISTORY_DEADLINE_S):
            said = await house.history(conversation.key, HISTORY_LIMIT)
    except Exception as error:  # noqa: BLE001 - whatever the platform has: the turn goes on without
        log.warning("history.failed", conversation=conversation.id, error=str(error)[:200])
        return ("the thread's earlier messages could not be read",)

    def write() -> None:
        messages.add_history(conversation.id, conversation.key.chat, said)
        messages.set_caught_up(conversation.id)

    await house.records.do(write)
    return ()


def _chain(done: Sequence[Run], step: Step) -> tuple[Run, ...]:
    """The answered hops before ``step``, in order."""
    return tuple(
        run
        for hop in range(step.hop)
        for run in done
        if run.step == Step(step.round, step.seat, hop) and run.state == "answered"
    )


async def _open_gate() -> None:
    """The row of this run is there already."""
