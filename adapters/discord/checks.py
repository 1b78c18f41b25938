"""What ``moot doctor`` asks of Discord; every failing line ends with the fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import discord

from adapters.discord import named
from core.errors import MootError
from core.model import Check

NEEDED = discord.Permissions(
    view_channel=True,
    send_messages=True,
    send_messages_in_threads=True,
    create_public_threads=True,
    read_message_history=True,
    embed_links=True,
    attach_files=True,
)
# What works less well without it: asked for in the invitation, and named by the check.
OPTIONAL = discord.Permissions(add_reactions=True)
SCOPES = ("bot", "applications.commands")
PORTAL = "https://discord.com/developers/applications"
INTENT_FIX = (
    f"open {PORTAL}, your application, Bot, and switch on “Message Content Intent”, "
    "then start Moot again"
)
TOKEN_FIX = (
    f"open {PORTAL}, your application, Bot, press “Reset Token” and set MOOT__DISCORD__TOKEN "
    "to what it shows"
)


def invite_link(application_id: int) -> str:
    """The link that lets the owner of a server add the bot with what it needs."""
    return discord.utils.oauth_url(application_id, permissions=NEEDED | OPTIONAL, scopes=SCOPES)


def token_kind(token: str) -> str:
    """Why this cannot be a bot token, judging by its form; "" if it can."""
    if not token:
        return "there is none"
    if token.split()[0] in ("Bot", "Bearer") or token != token.strip():
        return "it holds more than the token itself"
    if token.count(".") != 2:
        if len(token) == 64 and all(c in "0123456789abcdef" for c in token):
            return "it looks like the application's public key"
        return "it does not have the three parts of a bot token (a client secret has one)"
    return ""


async def checks(
    client: discord.Client,
    token: str,
    channels: Sequence[str] = (),
    people: Sequence[str] = (),
) -> list[Check]:
    """Log in with a client of its own (it is closed by the caller) and look around."""
    wrong = token_kind(token)
    if wrong:
        return [Check("discord token", ok=False, detail=wrong, fix=TOKEN_FIX)]
    try:
        await client.login(token)
    except discord.LoginFailure:
        detail = "Discord refuses it"
        return [Check("discord token", ok=False, detail=detail, fix=TOKEN_FIX)]
    user, application = client.user, client.application
    if user is None or application is None:
        raise MootError("discord.py logged in without an account")
    lines = [_account(user), _intent(application)]
    if application.interactions_endpoint_url:
        lines.append(
            Check(
                "discord commands",
                ok=False,
                detail="an interactions endpoint URL is set, so commands never reach Moot",
                fix=f"open {PORTAL}, your application, General Information, and empty "
                "“Interactions Endpoint URL”",
            )
        )
    lines.append(_guilds(await client.http.get_guilds(200), application.id))
    lines += [await _channel(client, channel) for channel in channels]
    return lines + await named.checks(client, people, public=application.bot_public)


async def _channel(client: discord.Client, channel: str) -> Check:
    """A channel that a project lists: a slip in its id would go unnoticed, and its project too."""
    name = f"discord channel {channel}"
    fix = (
        "correct the id in [projects] channels (Developer Mode, then “Copy Channel ID”), or give "
        "Moot's role “View Channel” there"
    )
    if not channel.isdecimal():
        return Check(name, ok=False, detail="this is no id: ids are numbers", fix=fix)
    try:
        told = await client.http.get_channel(int(channel))
    except (discord.NotFound, discord.Forbidden) as error:
        return Check(name, ok=False, detail=f"Moot cannot see it: {error.text}", fix=fix)
    return Check(name, ok=True, detail=f"#{dict(told).get('name')}")


def _account(user: discord.ClientUser) -> Check:
    if user.bot:
        return Check("discord token", ok=True, detail=f"signed in as {user.name}")
    detail = f"it belongs to a person ({user.name}), which Discord forbids"
    return Check("discord token", ok=False, detail=detail, fix=TOKEN_FIX)


def _intent(application: discord.AppInfo) -> Check:
    flags = application.flags
    ok = flags.gateway_message_content or flags.gateway_message_content_limited
    detail = "switched on" if ok else "off: Moot would see empty messages"
    fix = "" if ok else INTENT_FIX
    return Check("discord message content intent", ok=ok, detail=detail, fix=fix)


def _guilds(guilds: list[Mapping[str, Any]], application_id: int) -> Check:
    """At least one server, and in each of them what posting and threads need."""
    link = invite_link(application_id)
    if not guilds:
        fix = f"open {link} and choose a server"
        return Check("discord servers", ok=False, detail="Moot is in none", fix=fix)
    short = []
    for guild in guilds:
        held = discord.Permissions(int(guild["permissions"]))
        missing = [] if held.administrator else [n for n, on in NEEDED & ~held if on]
        if missing:
            names = ", ".join(name.replace("_", " ") for name in missing)
            short.append(f"{guild['name']} lacks {names}")
    if short:
        fix = f"open {link} and choose the server again, or edit Moot's role there"
        return Check("discord servers", ok=False, detail="; ".join(short), fix=fix)
    names = ", ".join(str(guild["name"]) for guild in guilds[:10])
    mute = [str(g["name"]) for g in guilds if not _has(int(g["permissions"]), OPTIONAL)]
    where = ", ".join(mute[:10])
    more = f"; without Add Reactions in {where}: questions show no reactions there" if mute else ""
    return Check("discord servers", ok=True, detail=f"in {len(guilds)}: {names}{more}")


def _has(held: int, wanted: discord.Permissions) -> bool:
    mine = discord.Permissions(held)
    return mine.administrator or mine.is_superset(wanted)
