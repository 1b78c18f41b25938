"""A process from its start to its exit, for the loop: sealed at once, waited for without a thread.

Not asyncio's own, which hands a process on only some turns of the loop after its start (by then it
may have started others), and on Python 3.11 has a thread wait for each.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

from core.engines.process import orphans, seal


def spawn(argv: Sequence[str], run_id: str, **how: Any) -> tuple[int, asyncio.Future[int]]:
    """Start a process for a run; its pid, and its exit status (negative for a signal) to come.

    ``how`` goes to ``subprocess.Popen``. The future may be waited for by anybody, is never
    cancelled by whoever does, and is done once the process was reaped.

    Raises:
        OSError: the system refused.
    """
    process = subprocess.Popen(argv, **how)
    seal.put(process.pid, run_id)
    orphans.expect(process.pid)
    exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    exited.add_done_callback(lambda _: orphans.forget(process.pid))
    if not _by_descriptor(process, exited):
        _by_thread(process, exited)
    return process.pid, exited


def _by_descriptor(process: subprocess.Popen[Any], exited: asyncio.Future[int]) -> bool:
    """Have the loop watch a descriptor of the process; whether that can be had."""
    if sys.platform != "linux":
        return False
    try:
        fd = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # an old kernel, a C library without it, a strict container
        return False
    loop = asyncio.get_running_loop()

    def ended() -> None:
        loop.remove_reader(fd)
        os.close(fd)
        exited.set_result(process.wait())  # does not wait: it has ended

    loop.add_reader(fd, ended)
    return True


def _by_thread(process: subprocess.Popen[Any], exited: asyncio.Future[int]) -> None:
    """Have a thread of its own wait."""
    loop = asyncio.get_running_loop()

    def wait() -> None:
        code = process.wait()
        try:
            loop.call_soon_threadsafe(exited.set_result, code)
        except RuntimeError:
            if not loop.is_closed():  # then nobody waits any more
                raise

    threading.Thread(target=wait, name=f"wait-{process.pid}", daemon=True).start()
