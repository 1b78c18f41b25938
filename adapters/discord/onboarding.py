"""How a person makes Moot's Discord bot: links to follow, the token, how others are told apart."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.discord.chat import DiscordChat, DiscordConfig
from adapters.discord.checks import PORTAL, token_kind
from core.model import Secret
from core.ports import Chat


class DiscordOnboarding:
    """Implements ``core.ports.Onboarding``."""

    name = "discord"
    title = "Discord"
    secrets = (
        Secret(
            "token",
            "bot token",
            "",
            "On the page **Bot** press **Reset Token** and copy what it shows (it is shown once). "
            "On the same page, switch on **Message Content Intent** and save.",
        ),
    )
    invite = "In Discord, open a channel of that server which the bot can see."
    unheard = (
        "No mention has arrived yet. Can the bot see that channel (a private one: add its role)? "
        "Choose the bot itself from the list when you type `@`, not a role of the same name."
    )
    unheard_reply = (
        "No reply without a mention has arrived. Is **Message Content Intent** on (page **Bot**)? "
        "Write in the thread that was just opened."
    )

    def opening(self) -> str:
        """How the application is made."""
        return (
            f"Open <{PORTAL}>, press **New Application** and give it a name: people will mention "
            "that name. Leave **Interactions Endpoint URL** (page **General Information**) empty."
        )

    def recognise(self, text: str) -> tuple[str, str]:
        """See :meth:`core.ports.Onboarding.recognise`."""
        if text.isdecimal():
            return "", "That is an id (of the application, a server or a person), not the token."
        wrong = token_kind(text)
        return ("", f"That is not the bot token: {wrong}.") if wrong else ("token", "")

    def fits(self, secrets: Mapping[str, str]) -> str:  # noqa: ARG002 - there is only one
        """See :meth:`core.ports.Onboarding.fits`."""
        return ""

    def chat(self, secrets: Mapping[str, str], addresses: Mapping[str, str]) -> Chat:
        """See :meth:`core.ports.Onboarding.chat`."""
        return DiscordChat(
            DiscordConfig(
                token=secrets["token"],
                api_url=addresses.get("api_url", ""),
                gateway_url=addresses.get("gateway_url", ""),
            )
        )


ONBOARDING = DiscordOnboarding()
