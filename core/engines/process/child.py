"""One child process: started, fed, read, watched, and ended with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import math
import signal
from collections.abc import Awaitable, Callable, Sequence

import structlog
from psutil import Process

from core.engines.process import orphans, tree
from core.engines.process.clocks import NO_OUTPUT, NOT_FINISHED, Clocks, Why
from core.engines.process.pipes import Pipes
from core.engines.process.program import Program, spawn_failure
from core.model import EngineEvent, EngineTask, Exit, Limits, Outcome, Verdict
from core.ports import Reader
from core.streams import classify, plain

log = structlog.get_logger(__name__)

STDERR_BYTES = 16 * 1024
_LOOK_BYTES = 1024
DRAIN_S = 0.5  # from the exit to the end of the output, which a grandchild may hold open
INTERRUPT_S, TERMINATE_S, KILL_S = 2.0, 1.0, 1.0
SPAWN_RECORD_S = 15.0


class Child:
    """A supervised process for one task. ``run`` may be called once."""

    def __init__(
        self,
        program: Program,
        task: EngineTask,
        reader: Reader,
        *,
        on_event: Callable[[EngineEvent], None],
        limits: Limits,
        cancel: asyncio.Event,
        verdicts: asyncio.Queue[Verdict],
    ) -> None:
        self._program, self._task, self._reader = program, task, reader
        self._on_event, self._limits, self._cancel = on_event, limits, cancel
        self._verdicts = verdicts
        self._dialogue = program.plan.dialogue
        self._now = asyncio.get_running_loop().time
        self._clocks = Clocks(limits, self._now())
        self._pipes = Pipes(self._on_stdout, self._on_stderr, self._on_deaf)
        self._abandoned = False
        self._nudge = asyncio.Event()  # something is to be looked at
        self._err_tail = bytearray()
        self._fenced = False  # from here on nothing that arrives counts
        self._broken: BaseException | None = None
        self._exited: asyncio.Future[int] | None = None
        self._strangers: asyncio.Task[frozenset[int]] | None = None

    async def run(
        self, on_start: Callable[[], None], on_spawn: Callable[[int, float], Awaitable[None]]
    ) -> Outcome:
        """See ``core.engines.process.run``. Settles everything also when cancelled."""
        work = asyncio.ensure_future(self._run(on_start, on_spawn))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            self._abandoned = True
            self._nudge.set()
            while not work.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait({work})
            if not work.cancelled() and (error := work.exception()) is not None:
                log.warning("run.failed_while_cancelled", error=repr(error))
            raise

    async def _run(
        self, on_start: Callable[[], None], on_spawn: Callable[[int, float], Awaitable[None]]
    ) -> Outcome:
        try:
            pid, self._exited = self._pipes.start(self._program, self._task.run_id)
        except OSError as error:
            return spawn_failure(error, self._program.path)
        log.info("run.started", pid=pid)
        why: Why = "cancelled"
        forced = True
        try:
            await self._pipes.connect(self._program.plan.stdin, more=self._dialogue)
            self._clocks = Clocks(self._limits, self._now())
            if self._dialogue:
                self._say()
            on_start()
            started = tree.started_at(pid)  # one read of /proc: a thread would take longer
            async with asyncio.timeout(SPAWN_RECORD_S):
                await on_spawn(pid, started)
            why, forced = await self._watch()
        finally:
            self._fenced = self._fenced or why == "cancelled"
            code = await self._settle(pid)
        if self._broken is not None:
            raise self._broken
        if self._stopped():  # while it was ending by itself
            why = "cancelled"
        detail = NO_OUTPUT.format(self._limits.idle_s) if why == "stalled" else ""
        if why == "timeout":
            detail = NOT_FINISHED.format(self._limits.total_s)
        stderr = plain(self._err_tail.decode("utf-8", "replace"))
        end = Exit(None if forced and not why else code, None, stderr, why, detail)
        return self._reader.finish(end)

    def _stopped(self) -> bool:
        """Whether nobody wants it any more: nothing is handed on from that moment."""
        return self._cancel.is_set() or self._abandoned

    # --- what goes in ---------------------------------------------------------------------

    def _say(self) -> None:
        """Write what the reader has to send; once it has settled, close the input."""
        if self._pipes.listened_to:
            self._pipes.write(self._reader.to_send())
            if self._reader.settled():
                self._pipes.end_input()

    async def _decide(self) -> None:
        """Hand on what people decide, as it comes."""
        while self._broken is None:
            verdict = await self._verdicts.get()
            try:
                self._reader.decide(verdict)
                self._clocks.no_longer_waits(verdict.request_id, self._now())
                self._say()
                self._look_whether_settled()
            except Exception as error:  # noqa: BLE001 - raised again once the child is settled
                self._broken = error
            self._nudge.set()

    def _on_deaf(self) -> None:
        """Nothing that people might decide can reach the child any more: do not ask them."""
        for request_id in self._clocks.waiting:
            self._clocks.no_longer_waits(request_id, self._now())
            self._nudge.set()
            if not (self._fenced or self._stopped() or self._broken):
                self._tell(EngineEvent("withdrawn", id=request_id))

    # --- what comes out -------------------------------------------------------------------

    def _on_stdout(self, data: bytes) -> None:
        if self._fenced or self._broken is not None or self._stopped():
            return
        self._clocks.heard(self._now())
        try:
            for event in self._reader.receive(data):
                if event.kind in ("request", "withdrawn"):
                    self._note(event)
                self._on_event(event)
            if self._dialogue:
                self._say()
            self._look_whether_settled()
        except Exception as error:  # noqa: BLE001 - raised again once the child is settled
            self._broken = error
            self._nudge.set()

    def _note(self, event: EngineEvent) -> None:
        """Let the clocks stand still while people are asked, where an answer can be given."""
        if event.request is not None and self._dialogue:
            self._clocks.waits(event.request.id, self._now())
        elif event.kind == "withdrawn":
            self._clocks.no_longer_waits(event.id, self._now())
        self._nudge.set()

    def _tell(self, event: EngineEvent) -> None:
        try:
            self._on_event(event)
        except Exception as error:  # noqa: BLE001 - raised again once the child is settled
            self._broken = error

    def _look_whether_settled(self) -> None:
        if self._reader.settled() and self._clocks.settled(self._now()):
            self._nudge.set()

    def _on_stderr(self, data: bytes) -> None:
        self._err_tail += data
        del self._err_tail[:-STDERR_BYTES]
        if len(data) > 2 * _LOOK_BYTES:  # a flood: looking for words takes its time
            data = data[:_LOOK_BYTES] + b"\n" + data[-_LOOK_BYTES:]
        told = classify(data.decode("utf-8", "replace"))
        if told in ("rate", "quota", "auth", "overloaded"):
            self._clocks.refused(self._now(), surely=told != "overloaded")
            self._nudge.set()

    # --- watching -------------------------------------------------------------------------

    async def _watch(self) -> tuple[Why, bool]:
        """Wait for the exit or a reason to end the child; whether it has to be ended is second."""
        assert self._exited is not None
        loop = asyncio.get_running_loop()
        self._exited.add_done_callback(lambda _: self._nudge.set())
        helpers = [asyncio.ensure_future(self._stop())]
        if self._dialogue:
            helpers.append(asyncio.ensure_future(self._decide()))
        try:
            while True:
                if self._stopped():
                    return "cancelled", True
                if self._exited.done() or self._broken is not None:
                    return "", self._broken is not None
                due, why = self._clocks.due()
                if self._now() >= due:
                    return why, True
                if self._clocks.is_settled and not (self._strangers or orphans.adopting()):
                    # While it ends by itself: then the sweep has less to do.
                    looking = asyncio.to_thread(tree.strangers_to, self._task.run_id)
                    self._strangers = asyncio.ensure_future(looking)
                self._nudge.clear()
                alarm = None if due == math.inf else loop.call_at(due, self._nudge.set)
                try:
                    await self._nudge.wait()
                finally:
                    if alarm is not None:
                        alarm.cancel()
        finally:
            for helper in helpers:
                helper.cancel()

    async def _stop(self) -> None:
        await self._cancel.wait()
        self._nudge.set()

    # --- ending ---------------------------------------------------------------------------

    async def _settle(self, pid: int) -> int:
        """End the child and all it started, close the pipes; returns the exit status."""
        assert self._exited is not None
        # One that is gone has no children any more: those left are found by mark and seal.
        forced = not self._exited.done()
        known = await asyncio.to_thread(tree.descendants, pid) if forced else []
        for sig, patience_s in (
            (signal.SIGINT, INTERRUPT_S),
            (signal.SIGTERM, TERMINATE_S),
            (signal.SIGKILL, KILL_S),
        ):
            if self._exited.done():
                break
            tree.signal_group(pid, sig)
            await asyncio.wait({self._exited}, timeout=patience_s)
        if not (forced or self._pipes.out_ended.is_set()):
            # What is still in the pipe counts; a grandchild may hold it open.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_S):
                    await self._pipes.out_ended.wait()
        await self._sweep(pid, known, forced=forced)
        self._pipes.drain()
        self._fenced = True
        self._pipes.close()
        await asyncio.sleep(0)  # lets the transports call back once they are closed
        return self._exited.result() if self._exited.done() else -int(signal.SIGKILL)

    async def _sweep(self, pid: int, known: Sequence[Process], *, forced: bool) -> None:
        """End what the run has left.

        Where orphans come to us, all that it started is below us, and one look (too short for a
        thread) tells that there is nothing. One that had to be ended is looked for everywhere.
        """
        run_id = self._task.run_id
        if not forced and orphans.adopting() and not orphans.of(run_id, pid, orphans.glance()):
            return
        strangers = await self._strangers if self._strangers else ()
        everywhere = forced or not orphans.adopting()
        found = await asyncio.to_thread(
            tree.sweep, run_id, known, strangers, leader=pid, everywhere=everywhere
        )
        if found:
            log.info("run.leftovers_ended", run=run_id, count=len(found))
