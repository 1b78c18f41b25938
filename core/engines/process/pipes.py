"""A child's three pipes, and its start with them: none ever waits for another."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import BinaryIO

from core.engines.process.program import Program
from core.engines.process.spawned import spawn

PIPE_BYTES = 2**20  # Gemini loses output on an ordinary pipe (64 KiB)


class Pipes:
    """Our ends of stdin, stdout and stderr.

    The callbacks are called on the loop: ``on_out`` and ``on_err`` with what arrives, ``on_deaf``
    once nothing more can be written (the child has closed its input, or we did).
    """

    def __init__(
        self,
        on_out: Callable[[bytes], None],
        on_err: Callable[[bytes], None],
        on_deaf: Callable[[], None],
    ) -> None:
        self._on_out, self._on_err, self._on_deaf = on_out, on_err, on_deaf
        self.out_ended = asyncio.Event()
        self._ours: list[BinaryIO] = []  # stdin, stdout, stderr; theirs to close once connected
        self._out_fd = -1
        self._stdin: asyncio.WriteTransport | None = None
        self._reading: list[asyncio.BaseTransport] = []

    def start(self, program: Program, run_id: str) -> tuple[int, asyncio.Future[int]]:
        """Start the program in a session of its own. Then ``connect``, and ``close`` in any case.

        Returns what ``spawn`` does.

        Raises:
            OSError: the system refused; nothing is left open.
        """
        pairs = [os.pipe(), os.pipe(), os.pipe()]
        (in_read, in_write), (out_read, out_write), (err_read, err_write) = pairs
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # more than the system allows: the usual size
                fcntl.fcntl(out_read, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        with contextlib.ExitStack() as theirs_end, contextlib.ExitStack() as ours_end:
            for fd in (in_read, out_write, err_write):
                theirs_end.callback(os.close, fd)
            for fd in (in_write, out_read, err_read):
                ours_end.callback(os.close, fd)
            started = spawn(
                (program.path, *program.plan.argv[1:]),
                run_id,
                cwd=program.plan.cwd,
                env=program.env,
                stdin=in_read,
                stdout=out_write,
                stderr=err_write,
                start_new_session=True,
                preexec_fn=_interruptible(),
            )
            ours_end.pop_all()  # it has started: our ends stay open
        self._out_fd = out_read
        self._ours = [
            os.fdopen(in_write, "wb", buffering=0),
            os.fdopen(out_read, "rb", buffering=0),
            os.fdopen(err_read, "rb", buffering=0),
        ]
        return started

    async def connect(self) -> None:
        """Begin to read. What the child writes meanwhile waits in the pipes."""
        loop = asyncio.get_running_loop()
        stdin, stdout, stderr = self._ours
        self._stdin, _ = await loop.connect_write_pipe(
            lambda: _Pipe(lambda _: None, self._on_deaf), stdin
        )
        for pipe, on_data, on_end in (
            (stdout, self._on_out, self.out_ended.set),
            (stderr, self._on_err, lambda: None),
        ):
            end = _Pipe(on_data, on_end)
            transport, _ = await loop.connect_read_pipe(lambda end=end: end, pipe)
            self._reading.append(transport)

    @property
    def listened_to(self) -> bool:
        """Whether what is written may still be read."""
        return self._stdin is not None and not self._stdin.is_closing()

    def write(self, data: bytes) -> None:
        """Send bytes to the child's input, however slowly it reads; returns at once."""
        if data and self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(data)

    def end_input(self) -> None:
        """Close the child's input once all that was written has gone."""
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write_eof()

    def drain(self) -> None:
        """Hand on what is still in the output's pipe, without waiting and with a bound."""
        if self._out_fd < 0 or self.out_ended.is_set():
            return
        with contextlib.suppress(OSError):  # BlockingIOError: no more, but somebody holds it
            for _ in range(2 * PIPE_BYTES // 65536):
                data = os.read(self._out_fd, 65536)
                if not data:
                    return
                self._on_out(data)

    def close(self) -> None:
        """Close all; what nobody read of the input is dropped. May be called again."""
        self._out_fd = -1
        for transport in self._reading:
            transport.close()
        stdin = self._stdin
        if stdin is not None and (stdin.get_write_buffer_size() or not stdin.is_closing()):
            stdin.abort()  # only once: what is closing already calls back by itself
        for pipe in self._ours[bool(self._stdin) + len(self._reading) :]:  # was not connected
            pipe.close()
        self._stdin, self._reading, self._ours = None, [], []


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
