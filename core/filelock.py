"""A lock that is a locked file: the kernel gives it back when its holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path


def lock(path: Path) -> int | None:
    """An open file with its lock, or ``None`` where another has it. Raises ``OSError``.

    The handle is closed in every child (a server that an agent starts must not keep it). A file
    that was removed between opening and locking it is another one by now: it is opened anew.
    """
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
        except BlockingIOError:
            os.close(handle)
            return None
        except FileNotFoundError:
            pass
        except OSError:
            os.close(handle)
            raise
        os.close(handle)


def sign(handle: int, text: str) -> None:
    """Write who holds the lock into its file. Raises ``OSError``."""
    os.ftruncate(handle, 0)
    os.pwrite(handle, text.encode(), 0)


def signed(path: Path) -> str:
    """Who holds or held the lock, as it was signed; "" when that cannot be read."""
    with contextlib.suppress(OSError):
        return path.read_bytes()[:64].decode(errors="replace").strip()
    return ""


def let_go(handle: int) -> None:
    """Give the lock back, its file emptied: it ended in good order.

    Unlocked, not only closed: a child that was just forked has the handle until it is a program.
    """
    with contextlib.suppress(OSError):
        os.ftruncate(handle, 0)
        fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)
