"""Finding and ending everything that belongs to a run, by its mark, its group and its pid.

All functions block for some milliseconds (they read /proc) and are meant to run in a thread.

What is not found: a process that was started with an emptied environment and whose parent has
ended before the run did. (As long as the parent lives, it is found as a descendant.)
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

from core.engines.process.environment import MARK

_PROC = Path("/proc")
_SAME_START_S = 2.0  # psutil adds the boot time, which may move a little with the clock


def started_at(pid: int) -> float:
    """When ``pid`` began, in seconds since the epoch; 0.0 when it is gone already."""
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return 0.0


def marked(run_id: str) -> list[int]:
    """The processes of ours whose environment carries the mark of ``run_id``, zombies left out."""
    if not run_id:
        return []
    if sys.platform == "linux":
        return _marked_by_proc(f"{MARK}={run_id}".encode())
    return _marked_by_psutil(run_id)


def _marked_by_proc(wanted: bytes) -> list[int]:
    found: list[int] = []
    for entry in os.scandir(_PROC):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            block = (_PROC / entry.name / "environ").read_bytes()
        except OSError:  # gone meanwhile, or another user's
            continue
        if wanted in block.split(b"\0"):
            found.append(int(entry.name))
    return found


def _marked_by_psutil(run_id: str) -> list[int]:
    found: list[int] = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(MARK) == run_id:
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found


def descendants(pid: int) -> list[psutil.Process]:
    """The living descendants of ``pid`` (those that were not orphaned yet)."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def signal_group(pid: int, sig: signal.Signals) -> None:
    """Signal the process group that ``pid`` leads; one that is gone is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, sig)


def sweep(run_id: str, known: Iterable[psutil.Process] = (), *, grace_s: float = 0.3) -> list[int]:
    """End every process of the run that is left: TERM, a short grace, KILL.

    ``known`` are processes seen earlier as descendants; psutil sees to it that a reused pid is
    not taken for one of them. Repeats until nothing is found (something may be starting more),
    at most for about a second beyond the grace.

    Returns the pids that were found.
    """
    seen: set[int] = set()
    deadline = time.monotonic() + grace_s
    give_up = deadline + 1.0
    known = list(known)
    while True:
        left = {p.pid for p in known if _alive(p)} | set(marked(run_id))
        if not left:
            return sorted(seen)
        now = time.monotonic()
        for pid in left:
            if now >= deadline:
                _signal(pid, signal.SIGKILL)
            elif pid not in seen:
                _signal(pid, signal.SIGTERM)
        seen |= left
        if now >= give_up:
            return sorted(seen)
        time.sleep(0.02)


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _signal(pid: int, sig: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, sig)


def end_leftover(run_id: str, pid: int, started: float) -> list[int]:
    """End what an earlier life of Moot left running for ``run_id``; returns the pids found.

    Found by the mark, and by ``pid`` where that is still the process that began at ``started``.
    """
    known: list[psutil.Process] = []
    if pid > 1 and started and abs(started_at(pid) - started) < _SAME_START_S:
        with contextlib.suppress(psutil.Error):
            known = [psutil.Process(pid), *descendants(pid)]
    return sweep(run_id, known)
