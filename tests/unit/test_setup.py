"""What people paste into ``moot setup``, and the file it writes."""

import json
import tomllib
from urllib.parse import parse_qs, urlsplit

import pytest

from adapters.discord.onboarding import ONBOARDING as DISCORD
from adapters.slack.manifest import manifest
from adapters.slack.onboarding import ONBOARDING as SLACK
from adapters.slack.onboarding import make_link
from bridge.setup.store import SettingsFile
from core.errors import BadSettings


@pytest.mark.parametrize(
    ("pasted", "key", "told"),
    [
        ("xapp-1-A012-34-abc", "app_token", ""),
        ("xoxb-1-2-abc", "bot_token", ""),
        ("xoxp-1-2-abc", "", "a token of a person"),
        ("xoxe.xoxb-1-abc", "", "expires"),
        ("xoxc-1", "", "browser"),
        ("0123456789abcdef" * 2, "", "signing secret"),
        ("https://hooks.slack.com/services/T/B/x", "", "webhook"),
        ("A012345", "", "they begin with"),
    ],
)
def test_what_is_pasted_for_slack_is_told_apart(pasted, key, told):
    found, why = SLACK.recognise(pasted)
    assert found == key
    assert told in why
    assert bool(why) is (not key)


@pytest.mark.parametrize(
    ("pasted", "key", "told"),
    [
        ("MTE1.Gabc.def_ghi-jkl", "token", ""),
        ("115793000000000000", "", "id"),
        ("ab" * 32, "", "public key"),
        ("QmY3xw0cTfhGk3", "", "client secret"),
        ("Bot MTE1.Gabc.def", "", "more than the token"),
    ],
)
def test_what_is_pasted_for_discord_is_told_apart(pasted, key, told):
    found, why = DISCORD.recognise(pasted)
    assert found == key
    assert told in why


def test_an_app_token_that_is_cut_off_is_told():
    assert SLACK.fits({"bot_token": "xoxb-1"}) == ""
    assert SLACK.fits({"app_token": "xapp-1-A012-34-abc"}) == ""
    assert "cut off" in SLACK.fits({"app_token": "xapp-1-"})


def test_the_link_makes_an_app_of_the_whole_manifest():
    [told] = parse_qs(urlsplit(make_link()).query)["manifest_json"]
    assert json.loads(told) == json.loads(json.dumps(manifest()))


def test_the_file_keeps_what_stands_there_and_is_private(tmp_path):
    path = tmp_path / "moot.toml"
    path.write_text('# mine\n[access]\nallow = ["*"] # all\n')
    path.chmod(0o644)
    file = SettingsFile(path)
    file.put("xoxb-1", "slack", "bot_token")
    file.put("plan", "projects", "a", "permission")
    assert path.read_text().startswith('# mine\n[access]\nallow = ["*"] # all\n')
    assert tomllib.loads(path.read_text()) == {
        "access": {"allow": ["*"]},
        "slack": {"bot_token": "xoxb-1"},
        "projects": {"a": {"permission": "plan"}},
    }
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["moot.toml"]
    again = SettingsFile(path)
    assert again.get("slack", "bot_token") == "xoxb-1"
    assert again.get("slack", "none", "such") is None


def test_a_file_that_is_no_toml_is_refused_untouched(tmp_path):
    path = tmp_path / "moot.toml"
    path.write_text("[access\n")
    with pytest.raises(BadSettings, match="cannot be read"):
        SettingsFile(path)
    assert path.read_text() == "[access\n"
