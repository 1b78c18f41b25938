"""What ``moot doctor`` asks of the people and groups that the settings name: whether they exist."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.slack.api import Api
from adapters.slack.places import is_shared
from core.errors import ChatRefused, MootError
from core.model import Check

GROUP = "slack:group:"
PERSON = "slack:"
FIX = (
    "correct the id in moot.toml: a person's is in their profile (… > Copy member ID), a group's "
    "ends the address of its page"
)


async def checks(api: Api, people: Sequence[str]) -> list[Check]:
    """One line for those who are named, and one for ``"*"`` where strangers share channels.

    ``people`` are names as the settings have them; those of other chats are left out.
    """
    groups = [n.removeprefix(GROUP) for n in people if n.startswith(GROUP)]
    persons = [
        n.removeprefix(PERSON) for n in people if n.startswith(PERSON) and not n.startswith(GROUP)
    ]
    found: list[Check] = []
    try:
        if persons or groups:
            wrong = [why for person in persons if (why := await _person(api, person))]
            wrong += await _groups(api, groups) if groups else []
            told = "; ".join(wrong) or f"{len(persons) + len(groups)} named, all known"
            found.append(Check("slack people", not wrong, told, FIX if wrong else ""))
        if "*" in people:
            found += await _everybody(api)
    except MootError as error:
        found.append(Check("slack people", ok=False, detail=str(error), fix="try again"))
    return found


async def _person(api: Api, person: str) -> str:
    """What is wrong with a person's id; "" for nothing."""
    try:
        user = (await api.call("users.info", user=person)).get("user") or {}
    except ChatRefused as error:
        if error.code in ("user_not_found", "users_not_found", "user_not_visible"):
            return f"there is no person {person}"
        if error.code == "missing_scope":
            return ""  # its own line says so
        raise
    return f"{person} has left the workspace" if user.get("deleted") else ""


async def _groups(api: Api, groups: Sequence[str]) -> list[str]:
    try:
        told = await api.call("usergroups.list")
    except ChatRefused as error:
        if error.code != "missing_scope":
            raise
        why = "cannot be known without the scope usergroups:read, so they let nobody in"
        return [f"who is in {', '.join(groups)} {why}"]
    there = {str(group.get("id")) for group in told.get("usergroups") or ()}
    return [
        f"there is no user group {group} (or it is switched off)"
        for group in groups
        if group not in there
    ]


async def _everybody(api: Api) -> list[Check]:
    try:
        told = await api.call(
            "users.conversations", types="public_channel,private_channel", limit=200
        )
    except ChatRefused:
        return []  # the scope for it is missing, which its own line says
    shared = [f"#{c.get('name') or c['id']}" for c in told.get("channels") or () if is_shared(c)]
    if not shared:
        return []
    detail = (
        f'others share {", ".join(shared[:5])} with you: "*" covers members of your workspace '
        "only; guests and people of other companies are nobody there until they are named"
    )
    return [Check('slack "*"', ok=True, detail=detail)]
