"""The room's file: one JSON object a line, appended; what a crash tore off is cut away.

Blocking: the room calls it from a thread. A line counts once the operating system has it, so it
survives a kill, not a power cut.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import structlog

from core.errors import AlreadyRunning

log = structlog.get_logger(__name__)

Record = dict[str, Any]


class Journal:
    """An append-only file of records. One at a time may write (the room sees to that)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1
        self._size = 0

    def open(self) -> list[Record]:
        """All whole records, oldest first; a torn last line is removed from the file.

        Raises:
            AlreadyRunning: another process has the room open.
            OSError: the folder cannot be made or the file not be opened.
        """
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._fd = self._locked()
        data = self._path.read_bytes()
        self._size = data.rfind(b"\n") + 1
        if self._size < len(data):
            log.warning("room.torn_line", size_bytes=len(data) - self._size)
            os.ftruncate(self._fd, self._size)
        records: list[Record] = []
        for number, line in enumerate(data[: self._size].splitlines(), 1):
            try:
                record = json.loads(line)
            except ValueError:
                log.warning("room.bad_line", line=number)
                continue
            if isinstance(record, dict):
                records.append(record)
        return records

    def append(self, record: Record) -> None:
        """Write one record whole, or nothing of it.

        Raises:
            OSError: no space, no rights; the file is as it was.
        """
        line = json.dumps(record).encode() + b"\n"
        try:
            written = 0
            while written < len(line):
                written += os.write(self._fd, line[written:])
        except OSError:
            os.ftruncate(self._fd, self._size)
            raise
        self._size += len(line)

    def rewrite(self, records: Iterable[Record]) -> None:
        """Replace the file by these records, at once or not at all.

        Raises:
            OSError: as ``append``.
        """
        fresh = self._path.with_suffix(".new")
        with fresh.open("wb") as out:
            fresh.chmod(0o600)
            for record in records:
                out.write(json.dumps(record).encode() + b"\n")
            out.flush()
            os.fsync(out.fileno())
            size = out.tell()
        fresh.replace(self._path)
        os.close(self._fd)
        self._fd = self._locked()
        self._size = size

    def _locked(self) -> int:
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            if isinstance(error, BlockingIOError):
                say = f"Another Moot has this room open ({self._path}). Close it, or use that one."
                raise AlreadyRunning(say) from None
            raise
        return fd

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
