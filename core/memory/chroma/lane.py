"""One thread that does one thing after another, for a library that is called from one thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

_Job = tuple[Future[Any], Callable[[], Any]]


class Lane:
    """Work in the order in which it was given, on one daemon thread (begun with the first).

    A daemon, unlike the threads of an executor: work that never ends does not keep the process.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._since: float | None = None

    @property
    def busy_s(self) -> float:
        """For how long the present work has been under way; 0 when there is none."""
        since = self._since
        return 0.0 if since is None else time.monotonic() - since

    async def do(self, function: Callable[[], T], within_s: float) -> T:
        """What ``function`` returns or raises. Its place in the order is settled at the call.

        Cancelled or late, it is not begun any more; what is under way goes on.

        Raises:
            TimeoutError: it was not done within ``within_s`` seconds.
        """
        done = self.give(function)
        async with asyncio.timeout(within_s):
            return await asyncio.wrap_future(done)

    def give(self, function: Callable[[], T]) -> Future[T]:
        """As ``do``, for what nobody waits for."""
        done: Future[T] = Future()
        self._jobs.put((done, function))
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        return done

    async def close(self, within_s: float) -> bool:
        """End the thread after what was given so far; whether it ended within the time."""
        if self._thread is None:
            return True
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join, within_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            done, function = job
            if not done.set_running_or_notify_cancel():
                continue
            self._since = time.monotonic()
            try:
                done.set_result(function())
            except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
                done.set_exception(error)
            except BaseException as error:  # noqa: BLE001 - a panic in Rust is no Exception
                done.set_exception(RuntimeError(f"{type(error).__name__} in {self._name}"))
            finally:
                self._since = None
                # Else the last result lives as long as the thread waits.
                del job, done, function
