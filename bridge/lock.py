"""One process at a time writes a storage folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import AlreadyRunning, BadSettings


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
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BadSettings(f"Cannot write to [storage] dir {folder}: {error.strerror}.") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
            raise AlreadyRunning(
                f"Another Moot (process {owner}) already uses {folder}. Stop it first, or give "
                "this one a folder of its own: MOOT__STORAGE__DIR=/some/folder."
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)
