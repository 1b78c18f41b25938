"""What a source is: a section's text when a pack is built, and the answers to a kind of Pull."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from core.model import Check, Offer, Pull, PulledResult, Scene

Where = Literal["records", "outside"]


@dataclass(frozen=True, slots=True)
class Source:
    """One place where text comes from.

    Its functions block; ``core.turns.gather`` runs them off the loop.

    Attributes:
        name: for notes on receipts, logs and ``doctor``.
        where: ``records``: on the records' thread, inside the one read transaction of a round (so
            it must be short); ``outside``: files, programs and indexes, in a thread of its own.
        sections: the sections it feeds (names of ``core.context.sections.TABLE``).
        kinds: the kinds of Pull it answers (of ``core.pull.KINDS``).
        offer: what it has for a round; an empty ``Offer`` when it has nothing. What it raises
            becomes a note on the receipt; a program or tool that is missing is a note, no error.
        wants: whether an ``outside`` offer is worth a thread of its own for this round; ``None``:
            always. All are asked in one thread, so it looks at the scene and whether a few paths
            exist, and no further. What says no has nothing to note either.
        answer: what one Pull brings. Never raises for what the query holds.
        check: a line for ``doctor``, where there is something to check.
        by_meaning: whether it looks at ``Scene.near``; then memory is asked before it.
        deadline_s: seconds until ``outside`` work is left behind; it bounds its own children too.
    """

    name: str
    where: Where
    sections: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    offer: Callable[[Scene], Offer] | None = None
    wants: Callable[[Scene], bool] | None = None
    answer: Callable[[Pull, Scene], PulledResult] | None = None
    check: Callable[[], Sequence[Check]] | None = None
    by_meaning: bool = False
    deadline_s: float = 5.0
