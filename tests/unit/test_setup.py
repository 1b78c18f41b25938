"""What people paste into ``moot setup``, and the file it writes."""

import json
import tomllib
from urllib.parse import parse_qs, urlsplit

import pytest

from adapters.discord.onboarding import ONBOARDING as DISCORD
from adapters.slack.manifest import manifest
from adapters.slack.onboarding import ONBOARDING as SLACK
from adapters.slack.onboarding import make_link
from bridge.lock import who_writes, writers_lock
from bridge.setup.store import SettingsFile
from bridge.setup.talk import bare
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
    assert SLACK.fits({"bot_token": "xoxb-1-2-abc"}) == ""
    assert SLACK.fits({"app_token": "xapp-1-A012-34-abc"}) == ""
    assert "cut off" in SLACK.fits({"app_token": "xapp-1-"})
    assert "blanks" in SLACK.fits({"app_token": "xapp-1-A012-34-a bc"})
    assert "cut off" in SLACK.fits({"bot_token": "xoxb-1"})
    assert "blanks" in SLACK.fits({"bot_token": "xoxb-1-2 3-abc"})


@pytest.mark.parametrize(
    "pasted",
    [
        " xoxb-1-2-abc\t",
        '"xoxb-1-2-abc"',
        "`xoxb-1-2-abc`",
        '" xoxb-1-2-abc ",',
        "MOOT__SLACK__BOT_TOKEN=xoxb-1-2-abc",
        "export MOOT__SLACK__BOT_TOKEN='xoxb-1-2-abc'",
        'bot_token = "xoxb-1-2-abc"',
    ],
)
def test_what_is_copied_along_with_a_token_is_left_out(pasted):
    assert bare(pasted) == "xoxb-1-2-abc"


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


def test_what_was_edited_meanwhile_stays_and_lists_keep_their_comments(tmp_path):
    path = tmp_path / "moot.toml"
    path.write_text('[access]\nallow = [\n    "slack:U1", # boss\n]\n')
    file = SettingsFile(path)
    path.write_text(path.read_text() + '[log]\nlevel = "debug"\n')
    file.add("discord:2", "access", "allow")
    file.add("discord:2", "access", "allow")
    file.add("discord:2", "access", "admins")
    assert "# boss" in path.read_text()
    assert tomllib.loads(path.read_text()) == {
        "access": {"allow": ["slack:U1", "discord:2"], "admins": ["discord:2"]},
        "log": {"level": "debug"},
    }


def test_whether_it_can_be_written_is_known_before_anything_is_pasted(tmp_path):
    path = tmp_path / "new/moot.toml"
    SettingsFile(path).make_ready()
    assert list(path.parent.iterdir()) == []
    path.write_text("# mine\n")
    path.chmod(0o644)
    SettingsFile(path).make_ready()
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("# mine\n", 0o600)
    with pytest.raises(BadSettings, match="--config FILE"):
        SettingsFile(path / "below.toml").make_ready()


def test_a_value_in_place_of_a_table_is_named(tmp_path):
    path = tmp_path / "moot.toml"
    path.write_text("slack = 3\n")
    with pytest.raises(BadSettings, match="slack is no table"):
        SettingsFile(path).put("x", "slack", "bot_token")
    assert path.read_text() == "slack = 3\n"


def test_a_moot_that_runs_is_noticed(tmp_path):
    assert who_writes(tmp_path / "nowhere") == ""
    with writers_lock(tmp_path):
        assert who_writes(tmp_path).isdecimal()
    assert who_writes(tmp_path) == ""
