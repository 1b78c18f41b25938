"""Members of the user groups that the settings name: looked up, kept a short while, fails closed.

A group whose members cannot be had has none. ``usergroups.users.list`` needs ``usergroups:read``.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

import structlog

from adapters.slack.api import Api
from core.errors import MootError

log = structlog.get_logger()
KEEP_S, KEEP_FAILURE_S = 120.0, 20.0


class Groups:
    """Who is in each of the ``named`` groups (``S123``); nothing is asked where none is named."""

    def __init__(self, api: Api, named: Collection[str]) -> None:
        self._api = api
        self._named = tuple(dict.fromkeys(named))
        self._kept: dict[str, tuple[float, frozenset[str]]] = {}

    def stale(self) -> tuple[str, ...]:
        """The groups that are to be looked up now."""
        now = time.monotonic()
        return tuple(one for one in self._named if self._kept.get(one, (0.0,))[0] <= now)

    def members(self) -> Mapping[str, frozenset[str]]:
        """The members of each group that is known well enough to count."""
        now = time.monotonic()
        return {one: who for one, (until, who) in self._kept.items() if until > now}

    def forget(self, group: str) -> None:
        """Its members have changed."""
        self._kept.pop(group, None)

    async def look_up(self, group: str, deadline_s: float) -> None:
        """Ask for the members of one group."""
        found: frozenset[str] = frozenset()
        keep_s = KEEP_FAILURE_S
        try:
            told = await self._api.call(
                "usergroups.users.list", timeout_s=deadline_s, usergroup=group
            )
            found, keep_s = frozenset(map(str, told["users"])), KEEP_S
        except (MootError, KeyError, TypeError) as error:
            log.warning("slack.group_unknown", group=group, error=str(error)[:200])
        finally:  # also when the deadline cancels it
            self._kept[group] = (time.monotonic() + keep_s, found)
