"""What somebody is in a place, by which entry, and how much they may ask: for people to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.access import EVERYBODY, Standing
from bridge.duties import Role
from bridge.often import HOUR_S, MINUTE_S
from core.records.often import asked_since
from core.tongue import say, to_say
from core.words import literal

if TYPE_CHECKING:
    from bridge.acts import Acts

MAY = {
    Role.NOBODY: to_say("may do nothing here"),
    Role.VIEWER: to_say("may look: status, use, what was said"),
    Role.RUNNER: to_say("may ask, and stop what they asked"),
    Role.APPROVER: to_say("may also give agents leave, and stop what others asked"),
    Role.ADMIN: to_say("may do everything, and read the audit log"),
}


def say_standing(acts: Acts) -> str:
    """Role, entry and limits of whoever acts, in a few lines."""
    event = acts.event
    found = acts.door.standing(event.author, event.key)
    lines = [
        say(
            "👤 **{name} is {role} here**, by {why}: {may}.",
            name=literal(event.author.name, 40),
            role=found.role.called,
            why=_why(found),
            may=say(MAY[found.role]),
        )
    ]
    limits = acts.policy.often.limits
    if limits.spares(event.author):
        lines.append(say("How often does not count, by `[access] unlimited`."))
    elif limits.per_minute or limits.per_hour:
        asked = asked_since(acts.person, acts.now - HOUR_S)
        lately = sum(count for at, count in asked if at > acts.now - MINUTE_S)
        lines.append(
            say(
                "Asked {lately} of {per_minute} within a minute, {asked} of {per_hour} within an "
                "hour.",
                lately=lately,
                per_minute=limits.per_minute or "∞",
                asked=sum(count for _, count in asked),
                per_hour=limits.per_hour or "∞",
            )
        )
    return "\n".join(lines)


def _why(found: Standing) -> str:
    if not found.entry:
        return say("no entry of any list")
    entry = say("every member") if found.entry == EVERYBODY else f"`{found.entry}`"
    return say("{entry} in `{where}`", entry=entry, where=found.where)
