"""An engine whose quota is used up is not asked: what is said instead, and who could be asked."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping

from core.engines.process.probe import could_run
from core.model import Outcome
from core.ports import Engine
from core.records.parked import Parked
from core.streams.say import reset_words
from core.tongue import say


def unasked(parked: Parked) -> Outcome:
    """What a question to an engine that rests comes to, without a process."""
    return Outcome(
        "quota",
        detail=say("it was not asked now, since it said before: {detail}", detail=parked.detail),
        reset_at=parked.told,
        reset_s=parked.until,
    )


def when(parked: Parked) -> str:
    """When it comes back, as its first notice said it."""
    return reset_words(parked.until, parked.told)


def others(
    engines: Mapping[str, Engine],
    than: str,
    resting: Collection[str],
    own: Collection[str] = (),
) -> tuple[str, ...]:
    """Engines that could be asked instead; looks at files, so call it in a thread.

    ``own``: those that the settings name beside the shipped ones, which are taken at their word
    where no file tells.
    """
    found = (
        name
        for name, engine in engines.items()
        if name != than
        and name not in resting
        and (could_run(engine, os.environ) or (name in own and not getattr(engine, "programs", ())))
    )
    return tuple(found)


def resting_text(parked: Collection[Parked], now: float | None = None) -> str:
    """The engines that rest, a line each; "" where none does. Markdown."""
    now = time.time() if now is None else now
    told = [p for p in parked if p.until > now]
    return "\n".join(
        say("- {name} rests until {when}: its quota is used up", name=_named(p), when=when(p))
        for p in told
    )


def _named(parked: Parked) -> str:
    if parked.whole:
        return parked.engine
    model = parked.model or say("its default model")
    return f"{parked.engine} ({model})"
