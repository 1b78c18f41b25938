"""The store of files that are to be posted: copies are put there, and go when nobody needs them."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import structlog

from core.records import out_files
from core.records.thread import CannotWrite, Records

log = structlog.get_logger()

EVERY_S = 3_600.0


class Shelf:
    """``run`` until cancelled; ``wake`` it when posts were sent or erased."""

    def __init__(self, records: Records, folder: Path, *, every_s: float = EVERY_S) -> None:
        self.folder = folder
        self._records = records
        self._every_s = every_s
        self._due = asyncio.Event()
        self._filling: set[str] = set()

    def wake(self) -> None:
        """Copies may be needed no more."""
        self._due.set()

    @contextmanager
    def filling(self, run_id: str) -> Generator[None]:
        """While a run's files are copied and its posts are not rows yet, nothing of them goes."""
        self._filling.add(run_id)
        try:
            yield
        finally:
            self._filling.discard(run_id)

    async def run(self) -> None:
        """Sweep at the start (an earlier life may have left copies), when woken, and each hour."""
        while True:
            self._due.clear()
            try:
                await self.sweep(time.time())
            except (CannotWrite, OSError) as error:
                log.warning("shelf.not_swept", error=str(error))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._every_s):
                    await self._due.wait()

    async def sweep(self, now: float) -> None:
        """Remove every copy that no post needs."""
        filling = frozenset(self._filling)  # before the rows are read: what ends later is there
        there = await asyncio.to_thread(_listed, self.folder)
        if not there:
            return
        filling |= self._filling  # what began meanwhile may be in the list
        needed = await self._records.do(out_files.needed, now)
        gone = await asyncio.to_thread(_remove, self.folder, there, needed, filling)
        if gone:
            log.debug("shelf.swept", files=gone)


def _listed(folder: Path) -> tuple[str, ...]:
    if not folder.is_dir():
        return ()
    return tuple(
        f"{run.name}/{file.name}" if file else run.name
        for run in folder.iterdir()
        for file in (tuple(run.iterdir()) or (None,) if run.is_dir() else (None,))
    )


def _remove(
    folder: Path, there: tuple[str, ...], needed: frozenset[str], filling: frozenset[str]
) -> int:
    gone = 0
    for name in there:
        run, _, file = name.partition("/")
        if name in needed or run in filling:
            continue
        path = folder / name
        if file and not path.is_dir():
            path.unlink(missing_ok=True)
            gone += 1
        elif path.is_dir() and not file:
            with contextlib.suppress(OSError):
                path.rmdir()
        elif path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        if file:
            with contextlib.suppress(OSError):  # others are in it still
                (folder / run).rmdir()
    return gone
