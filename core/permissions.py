"""What a run may do: the lowest of what its channel, its asker and its question allow. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core.model import PERMISSIONS, Permission

MEMBERS = "*"


def lowest(*given: Permission | None) -> Permission | None:
    """The one that allows least; ``None`` stands for no limit."""
    limits = [limit for limit in given if limit is not None]
    return next((mode for mode in PERMISSIONS if mode in limits), None)


def ceiling(
    at_most: Mapping[str, Permission], grants: Iterable[str], *, trusted: bool
) -> Permission | None:
    """What questions of one person may lead to at most; ``None``: whatever the channel allows.

    Args:
        at_most: the settings' table, by person ("slack:U1"), role or ``"*"`` for all members.
        grants: the names that the person answers to (``Author.grants``).
        trusted: whether it is a member, and no guest (``Author.trusted``).

    The highest entry that names the person counts. A guest whom none names may have files read.
    """
    here = [at_most[name] for name in grants if name in at_most]
    if trusted and MEMBERS in at_most:
        here.append(at_most[MEMBERS])
    if here:
        return next(mode for mode in reversed(PERMISSIONS) if mode in here)
    return None if trusted else "plan"


def held_to(wanted: Permission, able: frozenset[Permission]) -> Permission | None:
    """The most that an engine can be held to without exceeding ``wanted``; ``None``: nothing."""
    allowed = PERMISSIONS.index(wanted)
    modes = reversed(list(enumerate(PERMISSIONS)))
    return next((mode for at, mode in modes if at <= allowed and mode in able), None)
