"""How a person makes Moot's Slack app: links to follow, tokens to paste, how each is told apart."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import quote

from adapters.slack.chat import SlackChat, SlackConfig
from adapters.slack.doctor import APP_OF, SECRET_FIX
from adapters.slack.manifest import manifest
from core.model import Secret
from core.ports import Chat

APPS = "https://api.slack.com/apps"
_BOT = re.compile(r"xoxb-[^-\s]+-\S+")
# What else stands on those pages, by its beginning.
_OTHERS = {
    "xoxp-": "a token of a person (xoxp-); Moot needs the one of the bot, right below or beside it",
    "xoxe": "a token that expires (token rotation is on); make the app from the manifest, "
    "which leaves it off",
    "xoxc-": "a token of a browser session, which apps cannot use",
    "xoxd-": "a token of a browser session, which apps cannot use",
    "xoxs-": "a token of an old kind, which apps cannot use",
    "https://hooks.": "the address of a webhook, which can only post",
}
_SECRET = re.compile(r"[0-9a-f]{32}")


class SlackOnboarding:
    """Implements ``core.ports.Onboarding`` for an app of Socket Mode."""

    name = "slack"
    title = "Slack"
    secrets = (
        Secret(
            "app_token",
            "App-Level Token",
            "xapp-",
            "**Basic Information** → **App-Level Tokens** → **Generate Token and Scopes** → "
            "**Add Scope** → `connections:write` → **Generate**. It begins with `xapp-`.",
        ),
        Secret(
            "bot_token",
            "Bot User OAuth Token",
            "xoxb-",
            "**Install App** → **Install to Workspace** → **Allow**. Copy the *Bot User OAuth "
            "Token*; it begins with `xoxb-`.",
        ),
    )
    invite = "In Slack, open a channel and type `/invite @moot` (the name you gave the app)."
    unheard = (
        "No mention has arrived yet. Is the bot in that channel (`/invite @moot`)? Does the app "
        "listen to the event `app_mention` (**Event Subscriptions** → **Subscribe to bot "
        "events**)? Pasting the manifest again under **App Manifest** puts that right."
    )
    unheard_reply = (
        "No reply without a mention has arrived. The app should listen to the events "
        "`message.channels` and `message.groups`: paste the manifest again under **App "
        "Manifest**, then **Install App** → **Reinstall to Workspace**."
    )

    def opening(self) -> str:
        """How the app is made: one link, with the manifest in it."""
        return (
            "Open this link, choose your workspace, then **Next** and **Create**. It makes the "
            "app with all that it needs:\n\n"
            f"{make_link()}\n\n"
            f"(Is it cut off? At <{APPS}> choose **Create New App** → **From a manifest** and "
            "paste what `moot slack-manifest` prints.)"
        )

    def recognise(self, text: str) -> tuple[str, str]:
        """See :meth:`core.ports.Onboarding.recognise`."""
        for secret in self.secrets:
            if text.startswith(secret.begins):
                return secret.key, ""
        for beginning, what in _OTHERS.items():
            if text.startswith(beginning):
                return "", f"That is {what}."
        if _SECRET.fullmatch(text):
            return "", (
                "That looks like the app's signing secret or client secret. Socket Mode needs "
                f"neither; only HTTP mode does: {SECRET_FIX}."
            )
        return "", "That is no token of Slack: they begin with `xapp-` or `xoxb-`."

    def fits(self, secrets: Mapping[str, str]) -> str:
        """See :meth:`core.ports.Onboarding.fits`."""
        app, bot = secrets.get("app_token", ""), secrets.get("bot_token", "")
        if app and (not APP_OF.match(app) or app.split() != [app]):
            return "The app-level token is cut off or has blanks in it: copy it whole."
        if bot and not _BOT.fullmatch(bot):
            return "The bot token is cut off or has blanks in it: copy it whole."
        return ""

    def chat(self, secrets: Mapping[str, str], addresses: Mapping[str, str]) -> Chat:
        """See :meth:`core.ports.Onboarding.chat`."""
        return SlackChat(
            SlackConfig(
                bot_token=secrets["bot_token"],
                app_token=secrets["app_token"],
                api_url=addresses.get("api_url", ""),
            )
        )


def make_link() -> str:
    """PURE: the page of Slack that makes an app from our manifest."""
    told = json.dumps(manifest(), separators=(",", ":"))
    return f"{APPS}?new_app=1&manifest_json={quote(told, safe='')}"


ONBOARDING = SlackOnboarding()
