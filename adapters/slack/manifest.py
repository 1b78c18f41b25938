"""PURE: the app manifest, made from the commands and scopes in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

# Each with what stops working without it; `moot doctor` compares the granted ones with these.
SCOPES: Mapping[str, str] = {
    "app_mentions:read": "hear mentions",
    "channels:history": "read threads in public channels",
    "channels:read": "know the names of public channels",
    "chat:write": "answer",
    "commands": "slash commands",
    "files:read": "read the files that people attach",
    "files:write": "post files, and long code as files",
    "groups:history": "read threads in private channels",
    "groups:read": "know the names of private channels",
    "im:history": "read direct messages",
    "mpim:history": "read group messages",
    "users:read": "know who asks, and keep guests out",
}
# What works less well without it; `moot doctor` names it and is content.
OPTIONAL: Mapping[str, str] = {
    "reactions:write": "show by a reaction under a question how it stands",
    "usergroups:read": "know who is in a user group that [access] names",
}
EVENTS = (
    "app_home_opened",
    "app_mention",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    # Somebody became a guest, left a group; a channel was shared: their rights change at once.
    "user_change",
    "subteam_members_changed",
    "subteam_updated",
    "channel_shared",
    "channel_unshared",
)
# Callback id -> what it does, its name and its description in Slack's menu of a message.
SHORTCUTS: Mapping[str, tuple[str, str, str]] = {
    "moot_ask_about": ("ask", "Ask about this", "Ask an agent about this message"),
    "moot_branch_from": ("branch", "Branch from here", "Go on from this message in a new thread"),
}
COMMANDS: Mapping[str, tuple[str, str]] = {
    "/ask": ("Ask an agent", "what to ask"),
    "/roundtable": ("Let several agents discuss", "a topic; without one a form opens"),
    "/recall": ("Find what was said, with evidence", "a question, or some words"),
    "/moot": (
        "Everything else: /moot help",
        (
            "stop | next | status | usage | recall | context | mode | plan | finding | artifact | "
            "decisions | help"
        ),
    ),
}
# Slack refuses an app's command with such a name, and with it the whole manifest.
BUILT_IN_COMMANDS = (
    *("active", "add", "apps", "archive", "away", "call", "collapse", "dm", "dnd", "expand"),
    *("feed", "feedback", "files", "giphy", "help", "huddle", "invite", "invite_people", "join"),
    *("kick", "leave", "list", "me", "msg", "mute", "open", "part", "people", "pref", "prefs"),
    *("remind", "remove", "rename", "search", "shortcuts", "shrug", "star", "starred", "status"),
    *("topic", "unarchive", "who", "workflow"),
)


def manifest(
    commands: Sequence[str] = tuple(COMMANDS),
    *,
    mode: Literal["socket", "http"] = "socket",
    request_url: str = "https://YOUR-HOST/slack/events",
    name: str = "moot",
) -> dict[str, Any]:
    """A manifest for Slack's "create an app from a manifest"; JSON-able.

    ``request_url`` is where HTTP mode is reached from outside; Socket Mode has none.

    Raises:
        ValueError: a command is unknown here, or has the name of one of Slack's own.
    """
    unknown = [c for c in commands if c not in COMMANDS]
    taken = [c for c in commands if c.lstrip("/") in BUILT_IN_COMMANDS]
    if unknown or taken:
        raise ValueError(f"not commands that Slack would let Moot have: {unknown + taken}")
    http = mode == "http"
    address = {"request_url": request_url} if http else {}
    return {
        "display_information": {
            "name": name,
            "description": "The team's coding agents, in the team's own chat",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": name, "always_online": True},
            "shortcuts": [
                {"name": name, "type": "message", "callback_id": callback, "description": what}
                for callback, (_, name, what) in SHORTCUTS.items()
            ],
            "slash_commands": [
                {
                    "command": command,
                    "description": COMMANDS[command][0],
                    "usage_hint": COMMANDS[command][1],
                    "should_escape": True,  # mentions arrive as ids, not as typed names
                    **({"url": request_url} if http else {}),
                }
                for command in commands
            ],
        },
        "oauth_config": {"scopes": {"bot": [*SCOPES, *OPTIONAL]}},
        "settings": {
            "event_subscriptions": {**address, "bot_events": list(EVENTS)},
            "interactivity": {"is_enabled": True, **address},
            "org_deploy_enabled": False,
            "socket_mode_enabled": not http,
            "token_rotation_enabled": False,
        },
    }
