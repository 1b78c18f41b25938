"""Finding and ending everything that belongs to a run: by its mark, seal, group, pid and orphans.

All functions block for some milliseconds (they read /proc) and are meant to run in a thread.

What is not found: where there are no seals (not on Linux), a process that was started with an
emptied environment and whose parent has ended before the run did. As long as the parent lives, it
is found as a descendant.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Collection, Container, Iterable
from pathlib import Path

import psutil

from core.engines.process import orphans, seal
from core.engines.process.environment import MARK

_PROC = Path("/proc")
_KERNEL_THREAD = 0x0020_0000  # PF_KTHREAD in the flags of /proc/PID/stat
_TICKS = os.sysconf("SC_CLK_TCK")
_SAME_START_S = 2.0  # the boot time is added, which may move a little with the clock


def started_at(pid: int) -> float:
    """When ``pid`` began, in seconds since the epoch; 0.0 when it is gone already."""
    if sys.platform == "linux":  # what psutil does, without reading /proc/stat as well
        try:
            ticks = int(_bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()[19])
        except OSError:
            return 0.0
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / _TICKS
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return 0.0


def marked(run_id: str, strangers: Container[int] = ()) -> list[int]:
    """The processes with the mark of ``run_id`` in their environment, or with its seal.

    Zombies are left out. ``strangers`` are known to have nothing to do with the run and are not
    looked at.
    """
    if not run_id:
        return []
    mark, me = f"{MARK}={run_id}".encode(), os.getpid()
    number = seal.number(run_id)

    def has(pid: int) -> bool:
        if (sealed := seal.read(pid)) is not None:
            return sealed == number and not _is_empty(pid)
        return mark in _environment(pid)

    return [pid for pid in _pids() if pid != me and pid not in strangers and has(pid)]


def marks(prefix: str) -> dict[int, str]:
    """The processes whose mark begins with ``prefix``, with their marks."""
    wanted, me = f"{MARK}={prefix}".encode(), os.getpid()
    found: dict[int, str] = {}
    for pid in _pids():
        for entry in _environment(pid) if pid != me else ():
            if entry.startswith(wanted):
                found[pid] = entry.decode("utf-8", "replace").partition("=")[2]
    return found


def has_mark(pid: int) -> bool:
    """Whether a process belongs to a run of any Moot."""
    wanted = f"{MARK}=".encode()
    sealed = seal.read(pid) is not None
    return sealed or any(entry.startswith(wanted) for entry in _environment(pid))


def strangers_to(run_id: str) -> frozenset[int]:
    """Processes that have nothing to do with the run: a sweep soon after may pass over them.

    A process without mark and seal does not get them later, and a number is not given again before
    all others had their turn. One whose environment cannot be read counts only when it never has
    any again: it may just be replacing itself (exec).
    """
    wanted, number = f"{MARK}={run_id}".encode(), seal.number(run_id)
    seen = ((pid, _environment(pid)) for pid in _pids() if seal.read(pid) != number)
    return frozenset(
        pid for pid, block in seen if (wanted not in block if any(block) else _is_empty(pid))
    )


def _bytes(path: str) -> bytes:
    """A small file of /proc. Raises ``OSError``."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a Path takes as long as the read
        return file.read()


def _is_empty(pid: int) -> bool:
    """Whether this is a zombie or a thread of the kernel's."""
    try:
        state, *_, flags = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[:7]
    except (OSError, ValueError):
        return False
    return state == "Z" or bool(int(flags) & _KERNEL_THREAD)


def _pids() -> list[int]:
    if sys.platform == "linux":
        return [int(entry.name) for entry in os.scandir(_PROC) if entry.name.isdigit()]
    return psutil.pids()


def _environment(pid: int) -> Collection[bytes]:
    """``NAME=value`` of each variable; empty for a zombie, one that is gone, or another user's."""
    if sys.platform != "linux":
        return _environment_by_psutil(pid)
    try:
        return (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return ()


def _environment_by_psutil(pid: int) -> Collection[bytes]:
    try:
        return [f"{k}={v}".encode() for k, v in psutil.Process(pid).environ().items()]
    except (psutil.Error, OSError):
        return ()


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


def sweep(
    run_id: str,
    known: Iterable[psutil.Process] = (),
    strangers: Container[int] = (),
    *,
    leader: int = 0,
    everywhere: bool = True,
    grace_s: float = 0.3,
) -> list[int]:
    """End every process of the run that is left: TERM, a short grace, KILL.

    Repeats until nothing is found (something may be starting more), at most for about a second
    beyond the grace; for five where others are started as fast as they end, since a busy host needs
    luck to meet one alive.

    Args:
        run_id: the run's mark.
        known: processes seen earlier as descendants; psutil sees to it that a reused pid is not
            taken for one of them.
        strangers: are not looked at (see ``strangers_to``).
        leader: the process that was started for the run: orphans are found by its session too.
        everywhere: look at all processes of the host, not only at orphans and the known ones.
        grace_s: seconds from TERM to KILL.

    Returns the pids that were found.
    """
    seen: set[int] = set()
    deadline = time.monotonic() + grace_s
    give_up, give_up_haste = deadline + 1.0, deadline + 5.0
    known = list(known)
    looks, hasty = 0, False
    while True:
        found = orphans.of(run_id, leader, kill=hasty)
        left = {p.pid for p in known if _alive(p)} | set(found.alive)
        if everywhere:
            left |= set(marked(run_id, strangers))
        if not left and not found.stirring:
            return sorted(seen)
        hasty = found.stirring and looks > 0  # it starts others as fast as it ends: so be faster
        looks += 1
        now = time.monotonic()
        for pid in left:
            if now >= deadline or hasty:
                _signal(pid, signal.SIGKILL)
            elif pid not in seen:
                _signal(pid, signal.SIGTERM)
        seen |= left
        if now >= (give_up_haste if found.stirring else give_up):
            return sorted(seen)
        if not hasty:
            time.sleep(0.02 if left else 0.001)


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
