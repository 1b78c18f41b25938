"""A message's text as a person reads it: mentions by name, nothing of ours. Pure.

The objects are discord.py's, taken as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import discord

from core.markup.measure import well_formed

NAME_CHARS = 80
FORWARDED = "[forwarded message] "

# Code comes first, so that nothing inside it is taken for a mention.
_ATOMS = re.compile(
    r"(?P<code>```.*?```|``.+?``|`[^`\n]+`)"
    r"|<@!?(?P<user>\d+)>|<@&(?P<role>\d+)>|<#(?P<channel>\d+)>|<a?:(?P<emoji>\w+):\d+>",
    re.DOTALL,
)
_CONTROLS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)
_OURS = "\0"  # stands for our own mention until the blanks around it are tidied
_OURS_AT_START = re.compile(rf"(^|\s){_OURS}[ \t]*")

_EMPTY_LINES = re.compile(r"\A(?:[ \t]*\n)+")


@dataclass(frozen=True, slots=True)
class Me:
    """Whom a mention must name to mean us: the bot's account and its own roles."""

    user_id: int
    role_ids: frozenset[int] = frozenset()


def one_line(name: str) -> str:
    """Somebody's words as one line: no line breaks, control or direction characters."""
    return " ".join(_CONTROLS.sub(" ", well_formed(name)).split())


def name_of(user: Any) -> str:
    """How a person is called here, as data: one bounded line."""
    return one_line(user.display_name)[:NAME_CHARS] or str(user.id)


def readable(message: Any, me: Me) -> str:
    """The message's text as a person reads it: our mention gone, names and ids for the others.

    Attachments and stickers are named, embeds of bots and forwarded texts are quoted as lines.
    """
    parts = [_words(message.content, message, me)]
    parts += [FORWARDED + _words(s.content, message, me) for s in message.message_snapshots]
    if message.author.bot or message.webhook_id:
        parts += [f"{e.title or ''}\n{e.description or ''}".strip() for e in message.embeds]
    files = list(message.attachments)
    files += [file for snapshot in message.message_snapshots for file in snapshot.attachments]
    parts += [f"[attached file: {one_line(file.filename)}]" for file in files]
    parts += [f"[sticker: {one_line(sticker.name)}]" for sticker in message.stickers]
    return well_formed("\n".join(part for part in parts if part.strip()))


def _words(content: str, message: Any, me: Me) -> str:
    people = {user.id: user for user in message.mentions}
    guild = message.guild if isinstance(message.guild, discord.Guild) else None

    def shown(match: re.Match[str]) -> str:
        whole = match.group()
        if match["user"]:
            if int(match["user"]) == me.user_id:
                return _OURS
            user = people.get(int(match["user"]))
            return f"@{name_of(user)} ({user.id})" if user else whole
        if match["role"]:
            if int(match["role"]) in me.role_ids:
                return _OURS
            role = guild and guild.get_role(int(match["role"]))
            return f"@{one_line(role.name)} ({role.id})" if role else whole
        if match["channel"]:
            channel = guild and guild.get_channel_or_thread(int(match["channel"]))
            return f"#{one_line(channel.name)}" if channel else whole
        return f":{match['emoji']}:" if match["emoji"] else whole

    text = _ATOMS.sub(shown, content.replace(_OURS, ""))
    text = _OURS_AT_START.sub(r"\1", text).replace(_OURS, "")
    return _EMPTY_LINES.sub("", text).rstrip()  # the first line's indentation may be code's
