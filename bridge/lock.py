"""One process at a time writes a storage folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from core import filelock
from core.errors import AlreadyRunning, BadSettings


def who_writes(folder: Path) -> str:
    """The process that holds the writer's lock on ``folder``; "" when nobody does."""
    path = folder / "moot.lock"
    with suppress(OSError):
        if path.exists():
            handle = filelock.lock(path)
            if handle is None:
                return filelock.signed(path) or "unknown"
            filelock.let_go(handle)
    return ""


@contextmanager
def writers_lock(folder: Path) -> Iterator[None]:
    """Hold the writer's lock on ``folder`` (made if missing) while the body runs.

    Raises:
        AlreadyRunning: another process holds it.
        BadSettings: the folder cannot be made or written.
    """
    path = folder / "moot.lock"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = filelock.lock(path)
    except OSError as error:
        raise BadSettings(f"Cannot write to [storage] dir {folder}: {error.strerror}.") from None
    if handle is None:
        raise AlreadyRunning(
            f"Another Moot (process {filelock.signed(path) or 'unknown'}) already uses {folder}. "
            "Stop it first, or give this one a folder of its own: MOOT__STORAGE__DIR=/some/folder."
        )
    try:
        filelock.sign(handle, str(os.getpid()))
        yield
    finally:
        filelock.let_go(handle)
