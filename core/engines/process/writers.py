"""One writer for each session of an engine, across all processes of the host.

Two runs on one session at once lose a turn (Claude Code), mix their prompts (Gemini CLI) or fail
(Codex), and none of them says so. A lock is a file that is locked while a run works, in a folder
that all of a user's Moots share: the kernel gives it back when its holder dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil
import structlog

from core import filelock
from core.engines.process import tree

log = structlog.get_logger()

WAIT_S = 60.0
POLL_S = 0.25
KEPT_S = 90 * 24 * 3600.0  # longer than any of the engines keeps a session by itself


@dataclass(frozen=True, slots=True)
class Busy:
    """Who else writes to a session: a run of a ``moot``, or a ``terminal`` (process ``pid``)."""

    by: Literal["moot", "terminal"]
    pid: int = 0


class Writers:
    """The locks of all sessions, in ``folder`` (made when it is first needed).

    ``wait_s`` is how long a run waits for another's end. A terminal is not waited for: people
    leave them open for hours.
    """

    def __init__(self, folder: Path, *, wait_s: float = WAIT_S) -> None:
        self.folder = folder
        self.wait_s = wait_s

    def hold(self, engine: str, run_id: str) -> Hold:
        """What one run may hold; to be released when it is over."""
        return Hold(self, engine, run_id)

    def path(self, engine: str, session: str) -> Path:
        """The lock's file: ids are the engine's own words, so they are no file names."""
        name = hashlib.sha256(f"{engine}\0{session}".encode()).hexdigest()[:32]
        return self.folder / f"{name}.lock"

    def used(self, engine: str, sessions: Iterable[str]) -> frozenset[str]:
        """Those of ``sessions`` that a run of any Moot of this user has written to. Blocking."""
        return frozenset(s for s in sessions if self.path(engine, s).exists())

    def prune(self, now: float) -> int:
        """Remove the files of sessions that nobody has used for long. Blocking."""
        removed = 0
        for path in self.folder.glob("*.lock") if self.folder.is_dir() else ():
            with contextlib.suppress(OSError):
                if now - path.stat().st_mtime < KEPT_S:
                    continue
                handle = filelock.lock(path)
                if handle is not None:
                    path.unlink()  # whoever waits for this very file sees that it is gone
                    os.close(handle)
                    removed += 1
        return removed


class Hold:
    """The locks of one run. ``take`` before it starts, ``also`` when it tells another id."""

    def __init__(self, writers: Writers, engine: str, run_id: str) -> None:
        self._writers = writers
        self._engine = engine
        self._run_id = run_id
        self._guard = threading.Lock()
        self._handles: dict[str, int] = {}
        self._over = False

    async def take(
        self, session: str, cancel: asyncio.Event, on_wait: Callable[[Busy], None]
    ) -> Busy | None:
        """Become the session's writer; who is it instead, if that cannot be within ``wait_s``.

        Returns early, with nothing held, once ``cancel`` is set. ``on_wait`` is called when it
        has to be waited for.
        """
        deadline = time.monotonic() + self._writers.wait_s
        waited = False
        while not cancel.is_set():
            busy = await asyncio.to_thread(self._try, session)
            late = time.monotonic() >= deadline
            if busy is None or busy.by == "terminal" or late:
                return busy
            if not waited:
                on_wait(busy)
                waited = True
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await cancel.wait()
        return None

    async def also(self, session: str) -> None:
        """The run works in this session as well: a new one, or its own under another id."""
        busy = await asyncio.to_thread(self._lock, session)
        if busy is not None:
            log.warning("session.shared", engine=self._engine, by=busy.by)

    def release(self) -> None:
        """The run is over. Harmless when nothing is held."""
        with self._guard:
            self._over = True
            handles, self._handles = self._handles, {}
        for handle in handles.values():
            filelock.let_go(handle)

    def _try(self, session: str) -> Busy | None:
        # The lock first: it knows the runs of other Moots, whose programs name the session too.
        if (busy := self._lock(session)) is not None:
            return busy
        if pid := in_terminal(session):
            self._unlock(session)
            return Busy("terminal", pid)
        return None

    def _unlock(self, session: str) -> None:
        with self._guard:
            handle = self._handles.pop(session, None)
        if handle is not None:
            filelock.let_go(handle)

    def _lock(self, session: str) -> Busy | None:
        if session in self._handles:
            return None
        path = self._writers.path(self._engine, session)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = filelock.lock(path)
            if handle is None:
                return Busy("moot")
            left = os.pread(handle, 64, 0).decode(errors="replace")
            if left != self._run_id and tree.marked(left):
                # Its Moot died, and the run it had started works on.
                os.close(handle)
                return Busy("moot")
            filelock.sign(handle, self._run_id)
            os.utime(handle)
        except OSError as error:  # no such folder can be made, or it is one without locks
            log.warning("session.unlocked", folder=str(path.parent), error=error.strerror)
            return None
        with self._guard:
            if not self._over:
                self._handles[session] = handle
                return None
        filelock.let_go(handle)
        return None


def in_terminal(session: str) -> int:
    """A process of this user that was started with the session's id, or 0. Blocking.

    Not one of any Moot's runs, which have their locks. Best effort: a terminal whose session was
    begun in it does not name it.
    """
    me, ends = os.getpid(), f"={session}"
    for process in psutil.process_iter(["cmdline", "uids"]):
        uids, words = process.info["uids"], process.info["cmdline"] or ()
        ours = uids is not None and uids.real == os.getuid() and process.pid != me
        names_it = ours and any(word == session or word.endswith(ends) for word in words[1:])
        if names_it and not tree.has_mark(process.pid):
            return process.pid
    return 0
