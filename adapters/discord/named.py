"""What ``moot doctor`` asks of the people and roles that the settings name: whether they exist."""

from __future__ import annotations

import re
from collections.abc import Sequence

import discord

from core.model import Check

_ROLE = re.compile(r"discord:([0-9]+):role:([0-9]+)")
_PERSON = re.compile(r"discord:([0-9]+)")
FIX = "correct the id in moot.toml (Developer Mode, then “Copy User ID” or “Copy Role ID”)"


async def checks(client: discord.Client, people: Sequence[str], *, public: bool) -> list[Check]:
    """One line for those who are named, and one for ``"*"`` where anybody may invite Moot.

    ``people`` are names as the settings have them; ``public``: whoever likes may add the bot.
    """
    wrong: list[str] = []
    count = 0
    roles: dict[int, set[str] | None] = {}
    for name in people:
        if role := _ROLE.fullmatch(name):
            count += 1
            guild = int(role[1])
            if guild not in roles:
                roles[guild] = await _roles(client, guild)
            there = roles[guild]
            if there is None:
                wrong.append(f"Moot is in no server {guild}")
            elif role[2] not in there:
                wrong.append(f"there is no role {role[2]} in the server {guild}")
        elif person := _PERSON.fullmatch(name):
            count += 1
            try:
                await client.http.get_user(int(person[1]))
            except discord.NotFound:
                wrong.append(f"there is no person {person[1]}")
    found: list[Check] = []
    if count:
        told = "; ".join(dict.fromkeys(wrong)) or f"{count} named, all known"
        found.append(Check("discord people", not wrong, told, FIX if wrong else ""))
    if "*" in people and public:
        detail = (
            'the bot is public: whoever adds it to a server of theirs is a member there, and "*" '
            "covers members of every server that Moot is in. Switch “Public Bot” off, or name roles"
        )
        found.append(Check('discord "*"', ok=True, detail=detail))
    return found


async def _roles(client: discord.Client, guild: int) -> set[str] | None:
    try:
        return {str(role["id"]) for role in await client.http.get_roles(guild)}
    except (discord.NotFound, discord.Forbidden):
        return None
