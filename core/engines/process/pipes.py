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

from core.engines.process.program import Program
from core.engines.process.spawned import spawn

PIPE_BYTES = 2**20  # Gemini loses output on an ordinary pipe (64 KiB)
READ_BYTES = 2**16  # at a time, so that other runs have their turn


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
        self._in_fd = self._out_fd = self._err_fd = -1  # those that are ours to close
        self._stdin: asyncio.WriteTransport | None = None

    def start(self, program: Program, run_id: str) -> tuple[int, asyncio.Future[int]]:
        """Start the program in a session of its own. Then ``connect``, and ``close`` in any case.

        Returns what ``spawn`` does.

        Raises:
            OSError: the system refused; nothing is left open.
        """
        fds: list[int] = []
        try:
            for _ in range(3):
                fds += os.pipe()
            in_read, self._in_fd, self._out_fd, out_write, self._err_fd, err_write = fds
            if sys.platform == "linux":
                with contextlib.suppress(OSError):  # more than the system allows: the usual size
                    fcntl.fcntl(self._out_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
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
        except BaseException:
            self._in_fd = self._out_fd = self._err_fd = -1
            for fd in fds:
                os.close(fd)
            raise
        for fd in (in_read, out_write, err_write):
            os.close(fd)
        return started

    async def connect(self, first: bytes, *, more: bool) -> None:
        """Begin to read, and write ``first``; unless there is ``more``, the input then ends.

        What the child writes meanwhile waits in the pipes.
        """
        loop = asyncio.get_running_loop()
        for fd, on_readable in ((self._out_fd, self._read_out), (self._err_fd, self._read_err)):
            os.set_blocking(fd, False)
            loop.add_reader(fd, on_readable)
        if not more and not (first := self._written_at_once(first)):
            return
        pipe = os.fdopen(self._in_fd, "wb", buffering=0)
        self._in_fd = -1  # the transport closes it
        self._stdin, _ = await loop.connect_write_pipe(lambda: _Input(self._on_deaf), pipe)
        self.write(first)
        if not more:
            self.end_input()

    def _written_at_once(self, data: bytes) -> bytes:
        """Write what fits into the pipe, mostly all, and close it then; what is left."""
        fd = self._in_fd
        os.set_blocking(fd, False)
        try:
            left = data[os.write(fd, data) :]
        except BlockingIOError:
            return data
        except OSError:  # it does not want any
            left = b""
        if not left:
            self._in_fd = -1
            os.close(fd)
            self._on_deaf()
        return left

    def _read_out(self) -> None:
        data = _read(self._out_fd)
        if data:
            self._on_out(data)
        elif data is not None:
            self._stop_reading_out()

    def _read_err(self) -> None:
        data = _read(self._err_fd)
        if data:
            self._on_err(data)
        elif data is not None:
            self._err_fd = _closed(self._err_fd)

    def _stop_reading_out(self) -> None:
        self._out_fd = _closed(self._out_fd)
        self.out_ended.set()

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
        for _ in range(2 * PIPE_BYTES // READ_BYTES):
            data = _read(self._out_fd) if self._out_fd >= 0 else None
            if not data:  # no more, but somebody may hold it
                return
            self._on_out(data)

    def close(self) -> None:
        """Close all; what nobody read of the input is dropped. May be called again."""
        self._out_fd, self._err_fd = _closed(self._out_fd), _closed(self._err_fd)
        self._in_fd = _closed(self._in_fd)
        stdin, self._stdin = self._stdin, None
        if stdin is not None and (stdin.get_write_buffer_size() or not stdin.is_closing()):
            stdin.abort()  # only once: what is closing already calls back by itself


class _Input(asyncio.BaseProtocol):
    """Says when nothing more can be written."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self._on_end = on_end

    def connection_lost(self, exc: Exception | None) -> None:
        """See ``asyncio.BaseProtocol``."""
        del exc
        self._on_end()


def _read(fd: int) -> bytes | None:
    """What is there; empty at the end, ``None`` when there is nothing yet."""
    try:
        return os.read(fd, READ_BYTES)
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:
        return b""


def _closed(fd: int) -> int:
    """Read it no more, and close it, where it is open; what stands for it from now on."""
    if fd >= 0:
        asyncio.get_running_loop().remove_reader(fd)
        os.close(fd)
    return -1


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
