"""What sources offer for a round, put together; one that fails is a note."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import structlog

from core.model import Candidate, Offer, Scene
from core.sources.port import Source

log = structlog.get_logger()


def offered(source: Source, scene: Scene) -> Offer:
    """What a source of the rows has."""
    assert source.offer is not None
    try:
        return source.offer(scene)
    except Exception as error:  # noqa: BLE001 - an empty section, and said so
        return failed(source, error)


def failed(source: Source, error: Exception) -> Offer:
    """A source that failed or was late gives nothing, and a note."""
    why = "too late" if isinstance(error, TimeoutError) else type(error).__name__
    log.warning("source.failed", source=source.name, error=why)
    log.debug("source.failure", source=source.name, exc_info=error)
    return Offer(notes=(f"{source.name}: nothing, {why}",))


def merged(offers: Iterable[Mapping[str, Candidate]]) -> dict[str, Candidate]:
    """The candidates of all sources; two that feed one section stand one after the other."""
    joined: dict[str, Candidate] = {}
    for candidates in offers:
        for name, found in candidates.items():
            first = joined.get(name)
            joined[name] = found if first is None else _joined(first, found)
    return joined


def _joined(first: Candidate, second: Candidate) -> Candidate:
    lines = [line for line in (first.available, second.available) if line]
    parts, pull = (*first.parts, *second.parts), first.pull or second.pull
    unread = first.unread or second.unread
    return Candidate(parts, pull, "; ".join(lines), first.always, unread)


def wants(source: Source, scene: Scene) -> bool:
    """Whether an offer from outside is worth a thread of its own."""
    try:
        return source.wants is None or source.wants(scene)
    except Exception:  # noqa: BLE001 - what is wrong meets its offer as well, which says so
        return True
