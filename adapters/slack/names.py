"""Who is behind an id: cached ``users.info`` and ``conversations.info``, within a deadline.

A look-up that fails or is late never holds anything up: the id is shown raw, and its owner is not
trusted. Failures are remembered for a short while, so that a slow Slack is asked once.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Generic, TypeVar

import structlog

from adapters.slack.api import Api
from adapters.slack.events import Directory, Identity, Person
from adapters.slack.groups import Groups
from adapters.slack.places import is_public, is_shared
from adapters.slack.text import one_line
from core.errors import ChatRefused, MootError

log = structlog.get_logger()
T = TypeVar("T")
DEADLINE_S = 1.5  # of the 3 s in which Slack wants its acknowledgement
KEEP_S, KEEP_FAILURE_S = 300.0, 20.0
STANDING_S = 120.0  # how long somebody may be who they were: told changes count at once
MAX_KEPT = 5_000


class _Cache(Generic[T]):
    """Values with an age; the longest unused go first. A kept ``None`` is a recent failure."""

    def __init__(self, keep_s: float = KEEP_S) -> None:
        self._keep_s = keep_s
        self._kept: OrderedDict[str, tuple[float, T | None]] = OrderedDict()

    def fresh(self, key: str) -> bool:
        until, _ = self._kept.get(key, (0.0, None))
        return time.monotonic() < until

    def get(self, key: str) -> T | None:
        _, value = self._kept.get(key, (0.0, None))
        return value

    def drop(self, key: str) -> None:
        self._kept.pop(key, None)

    def put(self, key: str, value: T | None) -> None:
        keep_s = KEEP_FAILURE_S if value is None else self._keep_s
        self._kept[key] = (time.monotonic() + keep_s, value)
        self._kept.move_to_end(key)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)


class People:
    """Looks up users and channels for one workspace."""

    def __init__(
        self, api: Api, *, deadline_s: float = DEADLINE_S, groups: Iterable[str] = ()
    ) -> None:
        self._api = api
        self._deadline_s = deadline_s
        self._groups = Groups(api, tuple(groups))
        self._people: _Cache[Person] = _Cache(STANDING_S)
        self._channels: _Cache[tuple[str, bool, bool]] = _Cache()

    async def look_up(
        self,
        me: Identity,
        users: Iterable[str],
        channels: Iterable[str] = (),
        deadline_s: float | None = None,
    ) -> Directory:
        """What is known of these ids when the deadline has passed, at the latest.

        ``deadline_s`` in place of the usual one.
        """
        users = tuple(dict.fromkeys(users))
        channels = tuple(c for c in dict.fromkeys(channels) if c and not c.startswith("D"))
        asks = [self._person(u, me) for u in users if not self._people.fresh(u)]
        asks += [self._channel(c) for c in channels if not self._channels.fresh(c)]
        within_s = deadline_s or self._deadline_s
        asks += [self._groups.look_up(group, within_s) for group in self._groups.stale()]
        if asks:
            await self._within_deadline(asks, deadline_s or self._deadline_s)
        people = {u: p for u in users if (p := self._people.get(u)) and self._people.fresh(u)}
        found = {c: told for c in channels if (told := self._channels.get(c))}
        # A name may be old; whether a channel is public may not.
        fresh = {c: told for c, told in found.items() if self._channels.fresh(c)}
        return Directory(
            people,
            {c: told[0] for c, told in found.items()},
            public={c: told[1] for c, told in fresh.items()},
            shared={c: told[2] for c, told in fresh.items()},
            groups=self._groups.members(),
        )

    async def is_inside(self, channel: str) -> bool:
        """Whether we are in a channel; where Slack does not say in time, posting will show."""
        try:
            told = await self._api.call(
                "conversations.info", timeout_s=self._deadline_s, channel=channel
            )
        except ChatRefused as error:
            return error.code != "channel_not_found"
        except MootError as error:
            log.info("slack.lookup_failed", method="conversations.info", error=str(error)[:200])
            return True
        about = told.get("channel") or {}
        return bool(about.get("is_member") or about.get("is_im") or about.get("is_mpim"))

    def knows(self, channel: str) -> bool:
        """Whether a channel was looked up (or tried) lately: then asking for it costs nothing."""
        return self._channels.fresh(channel)

    def heard(self, event: Mapping[str, Any]) -> None:
        """Slack tells that somebody or something changed: what is known of it counts no more."""
        kind = str(event.get("type") or "")
        if kind == "user_change":
            self._people.drop(str((event.get("user") or {}).get("id") or ""))
        elif kind in ("subteam_members_changed", "subteam_updated"):
            about = event.get("subteam") or {}
            self._groups.forget(str(event.get("subteam_id") or about.get("id") or ""))
        elif kind in ("channel_shared", "channel_unshared"):
            self._channels.drop(str(event.get("channel") or ""))

    def forget(self, channel: str) -> None:
        """A channel has changed: look it up anew."""
        self._channels.drop(channel)

    async def _within_deadline(
        self, asks: list[Coroutine[Any, Any, None]], deadline_s: float
    ) -> None:
        tasks = [asyncio.ensure_future(ask) for ask in asks]
        try:
            await asyncio.wait(tasks, timeout=deadline_s)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _person(self, user: str, me: Identity) -> None:
        await self._ask(
            self._people, user, "users.info", {"user": user}, lambda got: to_person(got["user"], me)
        )

    async def _channel(self, channel: str) -> None:
        await self._ask(
            self._channels,
            channel,
            "conversations.info",
            {"channel": channel},
            lambda got: (
                one_line(str(got["channel"]["name"])),
                is_public(got["channel"]),
                is_shared(got["channel"]),
            ),
        )

    async def _ask(
        self,
        cache: _Cache[T],
        key: str,
        method: str,
        args: dict[str, str],
        read: Callable[[Any], T],
    ) -> None:
        found: T | None = None
        try:
            found = read(await self._api.call(method, timeout_s=self._deadline_s, **args))
        except (MootError, KeyError, TypeError) as error:
            log.warning("slack.lookup_failed", method=method, id=key, error=str(error)[:200])
        finally:  # also when the deadline cancels it
            cache.put(key, found)


def to_person(user: dict[str, Any], me: Identity) -> Person:
    """PURE: a ``users.info`` answer, with the right to be trusted worked out from its flags."""
    profile = user.get("profile") or {}
    called = profile.get("display_name") or profile.get("real_name") or user.get("real_name")
    same_company = bool(me.enterprise_id) and me.enterprise_id == (
        user.get("enterprise_user") or {}
    ).get("enterprise_id")
    at_home = same_company or user.get("team_id") in (me.team_id, me.enterprise_id or me.team_id)
    outsider = any(
        user.get(flag)
        for flag in ("is_restricted", "is_ultra_restricted", "is_stranger", "deleted")
    )
    return Person(
        id=str(user["id"]),
        name=one_line(str(called or user.get("name") or user["id"])),
        bot=bool(user.get("is_bot")) or user["id"] == "USLACKBOT",
        trusted=at_home and not outsider,
        team=str(user.get("team_id") or ""),
    )
