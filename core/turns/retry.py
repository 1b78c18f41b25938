"""A run that failed in a way that passes is tried again: few times, soon, and in sight."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_result,
    stop_after_attempt,
    wait_exponential_jitter,
)

from core.model import EngineEvent, Outcome

log = structlog.get_logger()

FIRST_WAIT_S, MAX_WAIT_S = 2.0, 20.0
MAX_RATE_WAIT_S = 60.0  # told by the service; one that is longer is for people to wait for
PATIENT_S = 60.0  # an engine that took so long has tried again by itself
_SHOWN = frozenset(("delta", "message", "tool_start", "tool_end", "request"))


@dataclass(slots=True)
class Tried:
    """One attempt: what came of it, how long it took, and whether anybody saw something of it."""

    outcome: Outcome
    seconds: float = 0.0
    shown: bool = False


class Attempt:
    """Watches one attempt's events."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown = False

    def event(self, event: EngineEvent) -> None:
        """The engine said something."""
        self._shown = self._shown or event.kind in _SHOWN

    def over(self, outcome: Outcome) -> Tried:
        """The attempt has ended."""
        shown = self._shown or bool(outcome.text.strip())
        return Tried(outcome, time.monotonic() - self._began, shown)


def may_help(tried: Tried, now: float) -> bool:
    """Whether the same question, asked again soon, may fare better.

    Not once people saw a word of it or a tool ran: that would be said or done twice.
    """
    outcome = tried.outcome
    if tried.shown or tried.seconds > PATIENT_S:
        return False
    if outcome.kind == "rate":
        return 0 < outcome.reset_s <= now + MAX_RATE_WAIT_S
    return outcome.kind == "overloaded"


async def persistently(
    attempt: Callable[[int], Awaitable[Tried]],
    *,
    retries: int,
    cancel: asyncio.Event,
    on_wait: Callable[[Tried, float], Awaitable[None]],
) -> Outcome:
    """Call ``attempt`` (with 0, 1, ...) until it does not help any more; the last one's outcome.

    Waits between: the time that the service told, else some seconds with jitter; ``cancel`` ends a
    wait at once, and the outcome is then ``cancelled``. ``on_wait`` is told why and how long.
    """
    backoff = wait_exponential_jitter(multiplier=FIRST_WAIT_S, max=MAX_WAIT_S, jitter=FIRST_WAIT_S)
    number = 0

    async def once() -> Tried:
        nonlocal number
        number += 1
        return await attempt(number - 1)

    def wait(state: RetryCallState) -> float:
        tried = _of(state)
        told = tried.outcome.reset_s - time.time() if tried.outcome.kind == "rate" else 0.0
        return max(told + 0.5, backoff(state)) if told > 0 else backoff(state)

    async def announce(state: RetryCallState) -> None:
        tried, seconds = _of(state), state.upcoming_sleep
        log.info("run.retry", why=tried.outcome.kind, wait_s=round(seconds, 1))
        await on_wait(tried, seconds)

    async def sleep(seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await cancel.wait()
        except TimeoutError:
            return

    def again(tried: Tried) -> bool:
        return not cancel.is_set() and may_help(tried, time.time())

    tried: Tried = await AsyncRetrying(
        stop=stop_after_attempt(1 + retries),
        wait=wait,
        retry=retry_if_result(again),
        before_sleep=announce,
        sleep=sleep,
        retry_error_callback=_of,
    )(_unless_cancelled(once, cancel))
    return tried.outcome


def _unless_cancelled(
    once: Callable[[], Awaitable[Tried]], cancel: asyncio.Event
) -> Callable[[], Awaitable[Tried]]:
    """Cancelled while it waited: nothing is started any more."""
    begun = False

    async def attempt() -> Tried:
        nonlocal begun
        if begun and cancel.is_set():
            return Tried(Outcome("cancelled"))
        begun = True
        return await once()

    return attempt


def _of(state: RetryCallState) -> Tried:
    assert state.outcome is not None
    tried: Tried = state.outcome.result()
    return tried
