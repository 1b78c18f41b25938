"""A mark of a run that no process loses: a resource limit that the kernel hands on and ignores.

The limit on file locks (``RLIMIT_LOCKS``) has had no effect since Linux 2.4.25, but it is still
stored, inherited by every child, kept over exec, and read and set from outside. A process that
emptied its environment, left its group and lost its parent still has it. It is set just after the
start of a run's process, as the soft limit only; a program that asks for it sees a large number.

Linux only: elsewhere, and where a container forbids it, nothing is sealed and nothing found by it.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys

_LOCKS = 10  # RLIMIT_LOCKS, on every architecture; Python does not name it
_ODD = 1 << 60  # so that no limit that somebody set by hand is taken for a seal


def number(run_id: str) -> int:
    """The limit that stands for a run."""
    return _ODD | int.from_bytes(hashlib.blake2b(run_id.encode(), digest_size=7).digest())


if sys.platform == "linux":
    import resource

    def put(pid: int, run_id: str) -> None:
        """Seal a process of ours; what it starts from now on inherits it."""
        with contextlib.suppress(OSError, ValueError):  # gone already, or not to be had here
            hard = resource.prlimit(pid, _LOCKS)[1]
            resource.prlimit(pid, _LOCKS, (number(run_id), hard))

    def read(pid: int) -> int | None:
        """The number on a process (a dead one that was not reaped too); ``None``: it has none."""
        try:
            soft = resource.prlimit(pid, _LOCKS)[0]
        except (OSError, ValueError):
            return None
        return soft if soft >= _ODD else None

else:

    def put(pid: int, run_id: str) -> None:
        """There are no seals here."""

    def read(pid: int) -> int | None:
        """There are no seals here."""
        del pid
        return None
