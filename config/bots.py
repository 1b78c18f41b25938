"""The table of the settings for other bots: who of them may ask, and how often."""

from __future__ import annotations

import re

from pydantic import Field

from config.tables import Permission, Section

_BOT = re.compile(r"slack:B[A-Z0-9_]+|discord:\d+|(?!slack:|discord:)[a-z][\w-]*:[^\s:]+")


class BotEntry(Section):
    """What one bot may have; ``default.toml`` says what each key means."""

    at_most: Permission = "plan"
    exchanges: int = Field(default=3, ge=0, le=100)
    per_hour: int = Field(default=12, ge=0, le=1_000)


def checked(bots: dict[str, BotEntry]) -> dict[str, BotEntry]:
    """Entries whose names are ids of bots; no ``"*"``: each bot is let in by itself.

    Raises:
        ValueError: one is not of that form.
    """
    for name in bots:
        if not _BOT.fullmatch(name):
            raise ValueError(
                f'{name!r} is no bot; use "slack:B123" (its bot id) or "discord:ID" (its user id, '
                "or a webhook's): ids, not names"
            )
    return bots
