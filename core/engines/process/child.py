"""One child process: started, fed, read, watched, and ended with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import math
import os
import shutil
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import structlog

from core.engines.process import tree
from core.model import EngineEvent, EngineTask, Exit, Limits, Outcome, Spawn, Verdict
from core.ports import Reader
from core.streams import classify, plain

log = structlog.get_logger(__name__)

PIPE_BYTES = 2**20  # Gemini loses output on an ordinary pipe (64 KiB)
STDERR_BYTES = 16 * 1024
DRAIN_S = 0.5  # from the exit to the end of the output, which a grandchild may hold open
INTERRUPT_S, TERMINATE_S, KILL_S = 2.0, 1.0, 1.0
SPAWN_RECORD_S = 15.0

Why = Literal["", "cancelled", "stalled", "timeout"]


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
        self._waiting: dict[str, None] = {}  # requests that nobody has decided yet
        self._waits_since = 0.0
        self._waited_s = 0.0  # for people, in all: no time limit counts it
        self._abandoned = asyncio.Event()
        self._nudge = asyncio.Event()
        self._in_ended = asyncio.Event()
        self._out_ended = asyncio.Event()
        self._err_tail = bytearray()
        self._fenced = False  # from here on nothing that arrives counts
        self._settled_at = 0.0
        self._refused_at = 0.0
        self._broken: BaseException | None = None
        self._transports: list[asyncio.BaseTransport] = []
        self._stdin: asyncio.WriteTransport | None = None
        self._out_pipe: BinaryIO | None = None
        self._exited: asyncio.Task[int] | None = None
        self._strangers: asyncio.Task[frozenset[int]] | None = None

    async def run(
        self, on_start: Callable[[], None], on_spawn: Callable[[int, float], Awaitable[None]]
    ) -> Outcome:
        """See ``core.engines.process.run``. Settles everything also when cancelled."""
        work = asyncio.ensure_future(self._run(on_start, on_spawn))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            self._abandoned.set()
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
            process = await self._spawn()
        except OSError as error:
            self._close()
            return spawn_failure(error, self._program.path)
        self._exited = asyncio.ensure_future(process.wait())
        why: Why = "cancelled"
        forced = True
        try:
            on_start()
            started = await asyncio.to_thread(tree.started_at, process.pid)
            async with asyncio.timeout(SPAWN_RECORD_S):
                await on_spawn(process.pid, started)
            why, forced = await self._watch()
        finally:
            self._fenced = self._fenced or why == "cancelled"
            code = await self._settle(process.pid)
        if self._broken is not None:
            raise self._broken
        detail = f"no output for {self._limits.idle_s:.0f} s" if why == "stalled" else ""
        if why == "timeout":
            detail = f"still not finished after {self._limits.total_s:.0f} s"
        stderr = plain(self._err_tail.decode("utf-8", "replace"))
        end = Exit(None if forced and not why else code, None, stderr, why, detail)
        return self._reader.finish(end)

    # --- starting -------------------------------------------------------------------------

    async def _spawn(self) -> asyncio.subprocess.Process:
        """Start the program with pipes of our own.

        Not asyncio's: its ``wait`` may itself wait for pipes that a grandchild holds open.
        """
        loop = asyncio.get_running_loop()
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        theirs, ours = (in_read, out_write, err_write), (in_write, out_read, err_read)
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # more than the system allows: the usual size
                fcntl.fcntl(out_read, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        with contextlib.ExitStack() as theirs_end, contextlib.ExitStack() as ours_end:
            for fd in theirs:
                theirs_end.callback(os.close, fd)
            for fd in ours:
                ours_end.callback(os.close, fd)
            process = await asyncio.create_subprocess_exec(
                self._program.path,
                *self._program.plan.argv[1:],
                cwd=self._program.plan.cwd,
                env=self._program.env,
                stdin=in_read,
                stdout=out_write,
                stderr=err_write,
                start_new_session=True,
                preexec_fn=_interruptible(),
            )
            ours_end.pop_all()  # it has started: our ends stay open
        log.info("run.started", pid=process.pid)
        self._out_pipe = os.fdopen(out_read, "rb", buffering=0)
        out, _ = await loop.connect_read_pipe(
            lambda: _Pipe(self._on_stdout, self._out_ended.set), self._out_pipe
        )
        err, _ = await loop.connect_read_pipe(
            lambda: _Pipe(self._on_stderr, lambda: None), os.fdopen(err_read, "rb", buffering=0)
        )
        stdin, _ = await loop.connect_write_pipe(
            lambda: _Pipe(lambda _: None, self._in_ended.set),
            os.fdopen(in_write, "wb", buffering=0),
        )
        self._transports = [out, err]
        self._stdin = stdin
        self._last = self._began = loop.time()
        if self._program.plan.stdin:
            stdin.write(self._program.plan.stdin)
        if self._program.plan.dialogue:
            self._send()
        else:
            stdin.write_eof()  # after all that was written has gone
        return process

    # --- a dialogue -----------------------------------------------------------------------

    def _send(self) -> None:
        """Write what the reader has to say; once nothing more can be said, close."""
        if self._stdin is None or self._in_ended.is_set():
            return
        if data := self._reader.to_send():
            self._stdin.write(data)
        if self._reader.settled():
            self._stdin.write_eof()

    async def _decide(self) -> None:
        """Hand on what people decide, as it comes."""
        while True:
            verdict = await self._verdicts.get()
            self._reader.decide(verdict)
            self._no_longer_waits(verdict.request_id)
            self._send()
            self._nudge.set()

    def _waits(self, request_id: str) -> None:
        if not self._waiting:
            self._waits_since = asyncio.get_running_loop().time()
        self._waiting[request_id] = None
        self._nudge.set()

    def _no_longer_waits(self, request_id: str) -> None:
        if self._waiting.pop(request_id, self) is self or self._waiting:
            return
        self._last = asyncio.get_running_loop().time()
        self._waited_s += self._last - self._waits_since

    # --- watching -------------------------------------------------------------------------

    def _on_stdout(self, data: bytes) -> None:
        if self._fenced or self._broken is not None:
            return
        self._last = asyncio.get_running_loop().time()
        self._refused_at = 0.0
        try:
            for event in self._reader.receive(data):
                if event.kind == "request" and event.request is not None:
                    self._waits(event.request.id)
                elif event.kind == "withdrawn":
                    self._no_longer_waits(event.id)
                self._on_event(event)
            if self._program.plan.dialogue:
                self._send()
            if not self._settled_at and self._reader.settled():
                self._settled_at = self._last
                self._nudge.set()
        except Exception as error:  # noqa: BLE001 - raised again once the child is settled
            self._broken = error
            self._nudge.set()

    def _on_stderr(self, data: bytes) -> None:
        self._err_tail += data
        del self._err_tail[:-STDERR_BYTES]
        told = classify(data.decode("utf-8", "replace"))
        if not self._refused_at and told in ("rate", "quota", "auth"):
            self._refused_at = asyncio.get_running_loop().time()
            self._nudge.set()

    async def _watch(self) -> tuple[Why, bool]:
        """Wait for the exit or a reason to end the child; whether it has to be ended is second."""
        assert self._exited is not None
        loop = asyncio.get_running_loop()
        ends = (self._cancel, self._abandoned)
        stops: list[asyncio.Future[Any]] = [asyncio.ensure_future(end.wait()) for end in ends]
        if self._program.plan.dialogue:
            stops.append(asyncio.ensure_future(self._decide()))
        try:
            while True:
                if self._cancel.is_set() or self._abandoned.is_set():
                    return "cancelled", True
                if self._exited.done() or self._broken is not None:
                    return "", self._broken is not None
                due, why = self._deadline()
                now = loop.time()
                if now >= due:
                    return why, True
                if self._settled_at and self._strangers is None:
                    # While it ends by itself: then the sweep has less to do.
                    looking = asyncio.to_thread(tree.strangers_to, self._task.run_id)
                    self._strangers = asyncio.ensure_future(looking)
                self._nudge.clear()
                nudge = asyncio.ensure_future(self._nudge.wait())
                try:
                    await asyncio.wait(
                        {self._exited, nudge, *stops},
                        timeout=None if due == math.inf else due - now,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
                finally:
                    nudge.cancel()
        finally:
            for stop in stops:
                stop.cancel()

    def _deadline(self) -> tuple[float, Why]:
        """When the child is to be ended as things stand (in the loop's time), and why."""
        limits = self._limits
        if self._waiting:  # a run that waits for a person is neither idle nor late
            return math.inf, ""
        ends: list[tuple[float, Why]] = [
            (self._last + limits.idle_s, "stalled"),
            (self._began + self._waited_s + limits.total_s, "timeout"),
        ]
        if self._refused_at:
            ends.append((self._refused_at + limits.trouble_s, "stalled"))
        if self._settled_at:
            ends.append((self._settled_at + limits.linger_s, ""))
        return min(ends)

    # --- ending ---------------------------------------------------------------------------

    async def _settle(self, pid: int) -> int:
        """End the child and all it started, close the pipes; returns the exit status."""
        assert self._exited is not None
        # One that is gone has no children any more: those left are found by the run's mark.
        gone = self._exited.done()
        known = [] if gone else await asyncio.to_thread(tree.descendants, pid)
        forced = not self._exited.done()
        for sig, patience_s in (
            (signal.SIGINT, INTERRUPT_S),
            (signal.SIGTERM, TERMINATE_S),
            (signal.SIGKILL, KILL_S),
        ):
            if self._exited.done():
                break
            tree.signal_group(pid, sig)
            await asyncio.wait({self._exited}, timeout=patience_s)
        if not forced:  # what is still in the pipe counts; a grandchild may hold it open
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_S):
                    await self._out_ended.wait()
        strangers = await self._strangers if self._strangers else ()
        found = await asyncio.to_thread(tree.sweep, self._task.run_id, known, strangers)
        if found:
            log.info("run.leftovers_ended", run=self._task.run_id, count=len(found))
        self._drain()
        self._close()
        await asyncio.sleep(0)  # lets the transports call back once they are closed
        return self._exited.result() if self._exited.done() else -int(signal.SIGKILL)

    def _drain(self) -> None:
        """Read what is still in the pipe, without waiting and with a bound."""
        if self._out_pipe is None or self._out_ended.is_set() or self._fenced:
            return
        with contextlib.suppress(OSError, ValueError):
            for _ in range(2 * PIPE_BYTES // 65536):
                data = os.read(self._out_pipe.fileno(), 65536)
                if not data:
                    return
                self._on_stdout(data)

    def _close(self) -> None:
        for transport in self._transports:
            transport.close()
        self._transports.clear()
        if self._stdin is not None and not self._in_ended.is_set():
            self._stdin.abort()  # what nobody read is dropped


class _Pipe(asyncio.Protocol):
    """Hands on what arrives, and says when the other side has closed."""

    def __init__(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_data, self._on_end = on_data, on_end

    def data_received(self, data: bytes) -> None:
        """See ``asyncio.Protocol``."""
        self._on_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """See ``asyncio.Protocol``."""
        del exc
        self._on_end()


def _nothing(*_: object) -> None:
    """A signal handler that does nothing; unlike SIG_IGN it is not inherited over exec."""


def _interruptible() -> Callable[[], object] | None:
    """See to it that children react to SIGINT although Moot was started with it ignored.

    A script's ``&`` and nohup do that, and exec passes "ignored" on. Where we may (the main
    thread), a handler of ours takes its place once; elsewhere the child resets it itself.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        return None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _nothing)
        return None
    return lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass(frozen=True, slots=True)
class Program:
    """A process ready to be started: ``path`` is the program's absolute one."""

    path: str
    plan: Spawn
    env: dict[str, str]


def prepare(plan: Spawn, task: EngineTask, env: dict[str, str]) -> Program | Outcome:
    """Make the scratch folder, write the files, find the program; or why it cannot start.

    Blocking.
    """
    if not Path(plan.cwd).is_dir():
        return Outcome("bad-config", detail=f"the project folder {plan.cwd} does not exist")
    try:
        Path(task.scratch).mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, data in plan.files.items():
            target = Path(task.scratch, name)
            if target.parent != Path(task.scratch):
                return Outcome("bad-config", detail=f"not a plain file name: {name!r}")
            fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
    except OSError as error:
        return Outcome("crashed", detail=f"could not write the run's files: {error}")
    wanted = str(Path(plan.argv[0]).expanduser()) if "/" in plan.argv[0] else plan.argv[0]
    program = shutil.which(wanted, path=env["PATH"])
    if program is None:
        there = Path(wanted).exists() if "/" in wanted else False
        says = "is not an executable file" if there else "was not found"
        return Outcome("missing-binary", detail=f"{plan.argv[0]} {says}")
    return Program(str(Path(program).absolute()), plan, env)


def spawn_failure(error: OSError, program: str) -> Outcome:
    """The outcome of a start that the system refused."""
    match error:
        case FileNotFoundError():  # the file is there: it is its interpreter that is not
            return Outcome("missing-binary", detail=f"{program} cannot run: {error.strerror}")
        case PermissionError():
            return Outcome("bad-config", detail=f"not allowed to start {program}")
        case OSError(errno=8):  # ENOEXEC
            return Outcome(
                "missing-binary",
                detail=f"{program} is only a stub: the install script of its npm package did not "
                "run, so the real program is missing",
            )
        case OSError(errno=7):  # E2BIG
            return Outcome("bad-config", detail="the arguments and environment are too large")
        case _:
            return Outcome("crashed", detail=f"{program} could not be started: {error}")
