"""Work of sources in threads of their own: one that never ends holds up nothing else.

``asyncio.to_thread`` has a handful of threads for the whole process, and Python waits for them
when it ends. A file system that hangs would soon have them all, and no turn could go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections import Counter
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")

MAX_AT_ONCE = 24  # threads of one name; more are refused, since those before may never end
MAX_IDLE = 2  # threads that wait for the next work: making one holds up the loop

_at_work: Counter[str] = Counter()
_counting = threading.Lock()
_idle: list[SimpleQueue[Callable[[], None]]] = []


class TooMany(TimeoutError):
    """So much of the same kind is still under way that nothing is added to it."""


async def apart(name: str, function: Callable[[], T]) -> T:
    """What ``function`` returns or raises, from a daemon thread. Cancelled, it is left behind.

    Args:
        name: whose work it is; threads are counted by it.
        function: blocks.

    Raises:
        TooMany: ``MAX_AT_ONCE`` of this name are under way.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()
    with _counting:
        if _at_work[name] >= MAX_AT_ONCE:
            raise TooMany(name)
        _at_work[name] += 1

    def tell(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return  # nobody waits any more
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # pyright: ignore[reportArgumentType]

    def work() -> None:
        result, error = None, None
        try:
            result = context.run(function)
        except BaseException as raised:  # noqa: BLE001 - it is raised where it is waited for
            error = raised
        finally:
            with _counting:
                _at_work[name] -= 1
        with contextlib.suppress(RuntimeError):  # the loop is closed: Moot has ended
            loop.call_soon_threadsafe(tell, result, error)

    _begin(work)
    return await done


def _begin(work: Callable[[], None]) -> None:
    """Give ``work`` to a thread that has nothing to do, or to a new one."""
    with _counting:
        given = _idle.pop() if _idle else None
    if given is None:
        given = SimpleQueue[Callable[[], None]]()
        threading.Thread(target=_serve, args=(given,), name="source", daemon=True).start()
    given.put(work)


def _serve(given: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        given.get()()
        with _counting:
            if len(_idle) >= MAX_IDLE:
                return
            _idle.append(given)
