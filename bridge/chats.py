"""The platforms that the settings switch on, and what is missing for them."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from bridge.doorkeeping import groups_named, nobody_gets_in
from config.settings import Settings
from core.errors import BadSettings
from core.ports import Chat

log = structlog.get_logger()


def make_chats(settings: Settings) -> list[Chat]:
    """The platforms that are switched on.

    Raises:
        BadSettings: a token is missing.
    """
    chats: list[Chat] = []
    if settings.slack.on:
        from adapters.slack.chat import SlackChat, SlackConfig

        slack = settings.slack
        chats.append(
            SlackChat(
                SlackConfig(
                    bot_token=slack.bot_token.get_secret_value(),
                    app_token=slack.app_token.get_secret_value(),
                    signing_secret=slack.signing_secret.get_secret_value(),
                    mode=slack.mode,
                    api_url=slack.api_url,
                    host=slack.host,
                    port=slack.port,
                    groups=groups_named(settings),
                )
            )
        )
    if settings.discord.on:
        from adapters.discord.chat import DiscordChat, DiscordConfig

        discord = settings.discord
        chats.append(
            DiscordChat(
                DiscordConfig(
                    token=discord.token.get_secret_value(),
                    api_url=discord.api_url,
                    gateway_url=discord.gateway_url,
                )
            )
        )
    return chats


def check_access(settings: Settings, chats: Sequence[Chat]) -> None:
    """Say at the start when nobody can get in."""
    if chats and nobody_gets_in(settings):
        log.warning(
            "access.empty",
            fix='Nobody may use Moot: add people to [access] allow, such as "slack:U123" or "*".',
        )


def check_tokens(settings: Settings) -> None:
    """Name a missing token at once, before anything connects.

    Raises:
        BadSettings: says which variable to set.
    """
    slack, discord = settings.slack, settings.discord
    second = (
        (slack.app_token, "MOOT__SLACK__APP_TOKEN")
        if slack.mode == "socket"
        else (slack.signing_secret, "MOOT__SLACK__SIGNING_SECRET")
    )
    needed = [(slack.bot_token, "MOOT__SLACK__BOT_TOKEN"), second] if slack.on else []
    needed += [(discord.token, "MOOT__DISCORD__TOKEN")] if discord.on else []
    for token, variable in needed:
        if not token.get_secret_value():
            raise BadSettings(f"{variable} is not set. `moot doctor` says where to find it.")
