"""Slack's shortcuts and Home tab: payloads in, events out; pages in, views out."""

from __future__ import annotations

import pytest

from adapters.slack.beside import home_view, to_home, to_home_button, to_shortcut
from adapters.slack.doctor import scopes
from adapters.slack.events import Directory, Identity, Person
from adapters.slack.manifest import OPTIONAL, SCOPES, SHORTCUTS, manifest
from core.model import Button, Reply

ME = Identity("T1", "U0BOT", "B0BOT", "moot")
KNOWN = Directory({"U1": Person("U1", "Alice", trusted=True), "U2": Person("U2", "Bob")})


def used(callback: str = "moot_ask_about", channel: str = "C1", **message):
    said = {"type": "message", "user": "U2", "text": "a &lt; b", "ts": "10.000001", **message}
    body = {
        "type": "message_action",
        "callback_id": callback,
        "trigger_id": "t.1",
        "action_ts": "20.5",
        "channel": {"id": channel},
        "user": {"id": "U1", "team_id": "T1"},
        "message": said,
    }
    return to_shortcut(body, ME, KNOWN, inside=channel != "C9")


@pytest.mark.parametrize(
    ("fields", "root", "in_thread"),
    [
        ({}, "10.000001", False),
        ({"thread_ts": "10.000001"}, "10.000001", False),  # a root with replies
        ({"thread_ts": "5.000001"}, "5.000001", True),
        ({"channel": "D1"}, "", False),
    ],
)
def test_a_shortcut_belongs_to_the_thread_of_its_message(fields, root, in_thread) -> None:
    event = used(**fields)
    assert (event.kind, event.command, event.key.root, event.in_thread) == (
        "shortcut", "ask", root, in_thread,
    )  # fmt: skip
    assert event.author.name == "Alice"
    assert (event.target.author.name, event.target.text) == ("Bob", "a < b")
    assert not event.outside


def test_where_moot_is_not_what_is_not_ours_and_what_is_no_message() -> None:
    assert used(channel="C9").outside
    assert used("moot_branch_from").command == "branch"
    assert used("somebody_elses") is None
    assert used(subtype="channel_join").target is None


def test_a_stranger_is_not_trusted_by_a_shortcut() -> None:
    body = {
        "callback_id": "moot_ask_about",
        "channel": {"id": "C1"},
        "user": {"id": "U1", "team_id": "T9"},  # of another company
        "message": {"ts": "10.000001", "user": "U2", "text": "x"},
    }
    assert not to_shortcut(body, ME, KNOWN, inside=True).author.trusted


def test_only_the_home_tab_is_a_home() -> None:
    event = {"type": "app_home_opened", "user": "U1", "channel": "D1", "tab": "home",
             "event_ts": "7.5"}  # fmt: skip
    opened = to_home({"event": event}, ME, KNOWN)
    assert (opened.kind, opened.key.channel, opened.text) == ("home", "D1", "")
    assert to_home({"event": {**event, "tab": "messages"}}, ME, KNOWN) is None
    assert to_home({"event": {"type": "message"}}, ME, KNOWN) is None


def test_a_page_and_its_buttons_go_there_and_back() -> None:
    buttons = (Button("home:refresh", "Refresh"), Button("home:stop:3", "Stop 1", "danger"))
    view = home_view(Reply("**Running**\n\n" + "word " * 2_000, buttons), "D1")
    assert view["type"] == "home"
    assert len(view["blocks"]) <= 100
    sections = [b["text"]["text"] for b in view["blocks"] if b["type"] == "section"]
    assert all(len(text) <= 3_000 for text in sections)
    assert sum(text.count("word") for text in sections) == 2_000
    pressed = view["blocks"][-1]["elements"][1]
    body = {
        "view": {**view, "id": "V1"},
        "trigger_id": "t.2",
        "user": {"id": "U1"},
        "actions": [{**pressed, "action_ts": "8.5"}],
    }
    event = to_home_button(body, ME, KNOWN)
    assert (event.kind, event.text, event.key.channel) == ("home", "home:stop:3", "D1")
    assert to_home_button({**body, "view": {"type": "modal"}}, ME, KNOWN) is None
    assert to_home_button({**body, "view": None}, ME, KNOWN) is None


def test_one_line_is_a_page_too() -> None:
    view = home_view(Reply("Ask whoever runs it."), "D1")
    assert [b["type"] for b in view["blocks"]] == ["section"]


def test_the_manifest_has_both_shortcuts_the_tab_and_what_is_optional() -> None:
    made = manifest()
    shortcuts = made["features"]["shortcuts"]
    assert [s["name"] for s in shortcuts] == ["Ask about this", "Branch from here"]
    assert all(s["type"] == "message" and len(s["name"]) <= 24 for s in shortcuts)
    assert all(len(s["description"]) <= 150 for s in shortcuts)
    assert {s["callback_id"] for s in shortcuts} == set(SHORTCUTS)
    assert made["features"]["app_home"]["home_tab_enabled"]
    assert "app_home_opened" in made["settings"]["event_subscriptions"]["bot_events"]
    assert set(OPTIONAL) <= set(made["oauth_config"]["scopes"]["bot"])


def test_the_doctor_names_what_is_optional_and_is_content() -> None:
    check = scopes(",".join(SCOPES))
    assert check.ok
    assert "reactions:write" in check.detail
    assert "reactions:write" not in scopes(",".join([*SCOPES, *OPTIONAL])).detail
