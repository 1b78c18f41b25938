"""Processes whose parent has ended: on Linux they become Moot's children, and are found as such.

The kernel gives every orphan to the nearest ancestor that asked for it (a "subreaper"). So what a
run started is below Moot whatever it did to its group, session and environment, and looking for
what a run left takes one read of ``/proc`` instead of one for every process of the host. Which run
an orphan is of is told by its seal (see ``seal``), its mark, or its session.

Who gets orphans must reap them: those of a run every second and at its end, others once they have
been dead for a while (whoever started one in this process has then had time to ask for its status).
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.engines.process import seal
from core.engines.process.environment import MARK

_PR_SET_CHILD_SUBREAPER = 36
_STALE_S = 10.0
_REAP_EVERY_S = 1.0  # what forks and ends all the time would fill the host's table of processes


class _Orphanage:
    """What this process knows of its children: one for all runs, as the kernel has it."""

    def __init__(self) -> None:
        self.pid = 0  # whose children are listed; 0: orphans do not come here, or cannot be listed
        self.expected: set[int] = set()  # started by us, and reaped by asyncio
        self.dead_since: dict[int, float] = {}
        self.glance: tuple[asyncio.AbstractEventLoop, list[int]] | None = None  # of this turn of it


_here = _Orphanage()


def adopt() -> bool:
    """Have the orphans of everything that this process starts from now on become its children.

    Returns whether that can be had: on Linux only. May be called again. A process that is the
    first of its container (pid 1) gets them in any case.
    """
    if sys.platform != "linux":
        return False
    me = os.getpid()
    if me != 1 and ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        return False
    with contextlib.suppress(OSError):  # a kernel without CONFIG_PROC_CHILDREN
        _listed(me)
        if _here.pid != me:
            _here.pid = me
            threading.Thread(target=_reap_on, name="orphans", daemon=True).start()
    return _here.pid == me


def adopting() -> bool:
    """Whether orphans come here and are found (never in a fork of the one that asked)."""
    return _here.pid != 0 and _here.pid == os.getpid()


def expect(pid: int) -> None:
    """``pid`` is a child that somebody here waits for: it is not an orphan."""
    _here.expected.add(pid)


def forget(pid: int) -> None:
    """``pid`` was waited for."""
    _here.expected.discard(pid)


def glance() -> list[int]:
    """The orphans there are, read once for all runs that end in the same turn of the loop.

    That is enough: a run's end is noted in an earlier turn, and its orphans were here by then.
    """
    loop = asyncio.get_running_loop()
    if _here.glance is None or _here.glance[0] is not loop:
        _here.glance = (loop, _adopted())
        loop.call_soon(_look_again)
    return _here.glance[1]


def _look_again() -> None:
    _here.glance = None


@dataclass(frozen=True, slots=True)
class Left:
    """What one look at a run's orphans found: the living ones, and whether others had just died.

    Where some had, they may have started more after these were listed: one has to look again.
    """

    alive: tuple[int, ...] = ()
    stirring: bool = False

    def __bool__(self) -> bool:
        return bool(self.alive) or self.stirring


def of(run_id: str, leader: int, among: Sequence[int] | None = None, *, kill: bool = False) -> Left:
    """The living orphans of a run, with what they started; its dead ones are reaped.

    ``leader`` is the process that was started for the run. Takes some 20 µs where there are none.
    Where ``among`` is not given, they are read anew. ``kill``: each is killed as it is met, the
    youngest first, before one that lives for a moment has started the next.
    """
    found: list[int] = []
    dead: set[int] = set()
    stirring = False
    for pid in reversed(_adopted() if among is None else among):
        if not _is_of(pid, run_id, leader):
            dead |= {pid} if _dead(pid) else set()
        elif _dead(pid):
            _reap(pid)
            stirring = True
        else:
            if kill:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            found += [pid, *_below(pid)]
    _reap_stale(dead)
    return Left(tuple(found), stirring)


def _reap_on() -> None:
    """Reap what has died of the runs that are under way, in a thread of its own, for ever."""
    mine = seal.read(os.getpid())  # of a Moot that an agent started: then all of it is sealed
    while adopting():
        time.sleep(_REAP_EVERY_S)
        for pid in _adopted():
            sealed = seal.read(pid)
            if sealed is not None and sealed != mine and _dead(pid):
                _reap(pid)


def _adopted() -> list[int]:
    if not adopting():
        return []
    with contextlib.suppress(OSError):
        return [pid for pid in _listed(_here.pid) if pid not in _here.expected]
    return []


def _listed(pid: int) -> list[int]:
    """The children of the process's first thread: its orphans among them."""
    path = f"/proc/{pid}/task/{pid}/children"
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a Path takes as long as the read
        return [int(child) for child in file.read().split()]


def _below(pid: int) -> Iterator[int]:
    """All descendants, by any of their threads."""
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (thread / "children").read_bytes().split()):
                yield child
                yield from _below(child)


def _is_of(pid: int, run_id: str, leader: int) -> bool:
    with contextlib.suppress(OSError):
        if (sealed := seal.read(pid)) is not None:
            return sealed == seal.number(run_id)
        if os.getsid(pid) == leader or os.getpgid(pid) == leader:
            return True
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        return f"{MARK}={run_id}".encode() in environment.split(b"\0")
    return False


def _dead(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    return False


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _reap_stale(dead: set[int]) -> None:
    """Reap those that have been seen dead for a while; ``dead`` are all that are so now."""
    if not dead and not _here.dead_since:
        return
    now, before = time.monotonic(), _here.dead_since
    _here.dead_since = {pid: before.get(pid, now) for pid in dead}
    for pid, since in _here.dead_since.items():
        if now - since > _STALE_S:
            _reap(pid)
