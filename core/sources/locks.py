"""One lock for each thing on disk that only one thread at a time may change."""

from __future__ import annotations

import threading
from pathlib import Path

_locks: dict[Path, threading.Lock] = {}
_guard = threading.Lock()


def lock_for(path: Path) -> threading.Lock:
    """The lock of ``path``, the same for every thread of this process."""
    with _guard:
        return _locks.setdefault(path, threading.Lock())
