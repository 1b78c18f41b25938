"""The app manifest: only names Slack lets an app have, and every scope in use."""

from __future__ import annotations

import json

import pytest

from adapters.slack.doctor import scopes
from adapters.slack.manifest import BUILT_IN_COMMANDS, COMMANDS, EVENTS, OPTIONAL, SCOPES, manifest

NEEDED_BY = {
    "app_mention": "app_mentions:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "message.mpim": "mpim:history",
    "app_home_opened": "chat:write",  # none; every bot has this one
    "user_change": "users:read",
    "subteam_members_changed": "usergroups:read",
    "subteam_updated": "usergroups:read",
    "channel_shared": "channels:read",
    "channel_unshared": "channels:read",
}


def test_commands_are_ours_alone() -> None:
    made = manifest()["features"]["slash_commands"]
    assert [c["command"] for c in made] == ["/ask", "/roundtable", "/recall", "/moot"]
    assert not {c["command"].lstrip("/") for c in made} & set(BUILT_IN_COMMANDS)
    assert {"status", "stop", "help"} - set(BUILT_IN_COMMANDS) == {"stop"}
    assert all(c["description"] and c["usage_hint"] for c in made)


@pytest.mark.parametrize("command", ["/status", "/remind", "/unheard-of"])
def test_other_names_are_refused(command) -> None:
    with pytest.raises(ValueError, match=command):
        manifest([*COMMANDS, command])


def test_it_is_complete_and_json() -> None:
    made = json.loads(json.dumps(manifest()))
    assert made["settings"]["socket_mode_enabled"] is True
    assert made["settings"]["interactivity"] == {"is_enabled": True}
    assert made["settings"]["event_subscriptions"]["bot_events"] == list(EVENTS)
    assert made["features"]["app_home"]["messages_tab_read_only_enabled"] is False
    granted = set(made["oauth_config"]["scopes"]["bot"])
    assert granted == {*SCOPES, *OPTIONAL}
    assert {NEEDED_BY[event] for event in EVENTS} <= granted
    assert {"chat:write", "commands", "users:read", "channels:read", "groups:read"} <= granted


def test_http_mode_names_its_address_everywhere() -> None:
    made = manifest(mode="http", request_url="https://moot.ex.test/slack/events")
    assert made["settings"]["socket_mode_enabled"] is False
    assert json.dumps(made).count("https://moot.ex.test/slack/events") == 2 + len(COMMANDS)


def test_limits_of_slack() -> None:
    made = manifest()
    assert len(made["display_information"]["name"]) <= 35
    assert len(made["display_information"]["description"]) <= 140
    assert all(len(c["description"]) <= 2_000 for c in made["features"]["slash_commands"])


def test_the_doctor_compares_with_the_same_list() -> None:
    assert scopes(",".join(SCOPES)).ok
    assert scopes(" , ".join([*SCOPES, "files:read"])).ok
    for missing in SCOPES:
        check = scopes(",".join(s for s in SCOPES if s != missing))
        assert not check.ok
        assert missing in check.detail
        assert missing in check.fix
    assert len(scopes("").detail.split(", ")) >= len(SCOPES)
