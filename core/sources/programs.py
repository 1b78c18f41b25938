"""Programs that sources ask (git, rawq, code-review-graph, chub): run once, bounded in all ways."""

from __future__ import annotations

import os
import secrets
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import psutil

from core.engines.process.environment import child_environment
from core.engines.process.tree import marks, signal_group, sweep

MAX_OUT_BYTES = 4_000_000
MAX_ERR_BYTES = 8_000
_POLL_S = 0.05  # how long a grandchild may hold the pipes open after the program has ended

_MARK = "source-"  # then the pid of the Moot that started it

End = Literal["ended", "late", "flood"]


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program went. ``code`` is its exit status; it counts only where ``end`` is "ended".

    ``late``: it was ended at the deadline; ``flood``: it wrote more than it was allowed.
    """

    end: End
    code: int
    out: bytes
    err: str

    @property
    def why(self) -> str:
        """What went wrong, in a few words of ours; "" when it ended by itself with status 0."""
        if self.end == "late":
            return "no answer in time"
        if self.end == "flood":
            return "too much output"
        return f"exit status {self.code}" if self.code else ""


def find_program(name: str) -> str:
    """The absolute path of a program on PATH, or ""."""
    found = shutil.which(name)
    return str(Path(found).absolute()) if found else ""


def end_leftovers() -> list[int]:
    """End what an earlier Moot was waiting for when it was killed; returns the pids. Blocking.

    Those of a Moot that is still there are left alone.
    """
    ended: list[int] = []
    for mark in set(marks(_MARK).values()):
        moot = mark.removeprefix(_MARK).partition("-")[0]
        if moot.isdecimal() and not psutil.pid_exists(int(moot)):
            ended += sweep(mark, grace_s=0.0)
    return ended


def run_program(
    argv: Sequence[str],
    cwd: Path,
    *,
    deadline_s: float,
    names: Sequence[str] = (),
    added: Mapping[str, str] | None = None,
    alone: bool = False,
    max_bytes: int = MAX_OUT_BYTES,
    stop: threading.Event | None = None,
) -> Ran:
    """Run a program without input; it and all it started are gone when this returns. Blocking.

    Args:
        argv: its absolute path and its arguments.
        cwd: where it works.
        deadline_s: seconds until it is killed, with its process group.
        names: environment variables it may see beside the common allow-list.
        added: further variables.
        alone: it is known to leave nothing behind when it ends by itself (then nobody looks).
        max_bytes: how much it may write to stdout before it is killed.
        stop: once it is set, it is killed as if it were late.

    Raises:
        OSError: it cannot be started.
    """
    mark = f"{_MARK}{os.getpid()}-{secrets.token_hex(8)}"
    env = child_environment(os.environ, names, {"PWD": str(cwd), **(added or {})}, mark)
    process = subprocess.Popen(
        list(argv),
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    end: End = "late"
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout as out_pipe, process.stderr as err_pipe:
        out, err = bytearray(), bytearray()
        try:
            pipes = {out_pipe: out, err_pipe: err}
            end = _read(process, pipes, time.monotonic() + deadline_s, max_bytes, stop)
        finally:
            forced = process.poll() is None
            if forced:
                signal_group(process.pid, signal.SIGKILL)
            code = process.wait()
            if forced or not alone:
                sweep(mark, grace_s=0.0)
    return Ran(end, code, bytes(out), err[-MAX_ERR_BYTES:].decode("utf-8", "replace").strip())


def _read(
    process: subprocess.Popen[bytes],
    pipes: Mapping[IO[bytes], bytearray],
    deadline: float,
    max_bytes: int,
    stop: threading.Event | None,
) -> End:
    """Read both pipes until they end, the program has ended, or a bound is reached."""
    out = next(iter(pipes.values()))
    with selectors.DefaultSelector() as ready:
        for pipe, kept in pipes.items():
            ready.register(pipe, selectors.EVENT_READ, kept)
        while ready.get_map():
            left = deadline - time.monotonic()
            if left <= 0 or (stop is not None and stop.is_set()):
                return "late"
            events = ready.select(min(left, _POLL_S))
            if not events and process.poll() is not None:
                return "ended"
            for key, _ in events:
                data = os.read(key.fd, 65_536)
                if not data:
                    ready.unregister(key.fileobj)
                key.data.extend(data)
                if key.data is not out:
                    del key.data[:-MAX_ERR_BYTES]
            if len(out) > max_bytes:
                return "flood"
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return "late"
    return "ended"
