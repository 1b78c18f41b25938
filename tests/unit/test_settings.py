"""Settings: three layers, clear errors, no secrets in readable files."""

import os
import re
import tomllib
from importlib.resources import files

import pytest

from bridge.policies import terms_of
from config.settings import Settings, SettingsError, load_settings
from core.context.terms import ChannelTerms, EngineTerms


@pytest.fixture(autouse=True)
def _clean(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith("MOOT_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def write(tmp_path, text, mode=0o600):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_defaults_alone_are_enough():
    settings = load_settings()
    assert settings.context.budget_chars == 60_000
    assert not settings.slack.on
    assert settings.access.allow == ()


def test_every_key_is_in_default_toml():
    """default.toml is the reference: no field may have a default elsewhere (secrets apart)."""
    listed = tomllib.loads(files("config").joinpath("default.toml").read_text("utf-8"))
    secret = {"bot_token", "app_token", "signing_secret", "token", "embedder_key", "transcribe_key"}
    for name, field in Settings.model_fields.items():
        if name in ("projects", "engines", "channels", "budgets", "bots"):
            continue
        keys = set(field.annotation.model_fields) - secret
        assert keys == set(listed[name]), name


def test_the_users_file_wins_over_defaults_and_the_environment_over_both(tmp_path, monkeypatch):
    path = write(tmp_path, '[runs]\nidle_s = 5\ntotal_s = 6\n[engines.codex]\nmodel = "m"\n')
    monkeypatch.setenv("MOOT__RUNS__IDLE_S", "7")
    monkeypatch.setenv("MOOT__ACCESS__ALLOW", '["slack:U1"]')
    settings = load_settings(path)
    assert (settings.runs.idle_s, settings.runs.total_s) == (7, 6)
    assert settings.engines.entry("codex").model == "m"
    assert settings.access.allow == ("slack:U1",)


def test_a_preset_says_only_what_differs(tmp_path):
    text = '[roundtable]\nrounds = 4\n[roundtable.presets.quick]\nmode = "parallel"\n'
    roundtable = load_settings(write(tmp_path, text)).roundtable
    quick = roundtable.preset("quick")
    assert (quick.mode, quick.rounds, quick.participants) == (
        "parallel",
        4,
        roundtable.participants,
    )
    assert {"review", "design", "debate"} <= set(roundtable.presets)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[roundtable]\nearly_stopp = true", "did you mean early_stop?"),
        ("[roundtable.presets.review]\npartcipants = []", "did you mean participants?"),
        ("[roundtable.presets.review]\nmode = 'round'", "'sequential', 'parallel' or 'blind'"),
        ("[roundtable.presets.'Two words']\nrounds = 1", "pattern"),
    ],
)
def test_a_wrong_preset_is_told(tmp_path, text, says):
    with pytest.raises(SettingsError) as caught:
        load_settings(write(tmp_path, text))
    assert says in str(caught.value)


def test_a_token_switches_its_chat_on(monkeypatch):
    monkeypatch.setenv("MOOT__DISCORD__TOKEN", "hush-hush")
    settings = load_settings()
    assert settings.discord.on
    assert "hush-hush" not in repr(settings.discord.token)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[slack]\nport = 'x'", "[slack] port"),
        ("[slack]\nprot = 3", "[slack] prot: there is no such setting"),
        ("[nope]\nx = 1", "nope: there is no such setting"),
        ("[access]\nallow = ['U1']", "'U1' is not of a known form"),
        ("[acess]\nallow = []", "acess: there is no such setting; did you mean access?"),
        ("[engines.claude]\nmodle = 'x'", "did you mean model?"),
        ("[access]\nallow = '*'", "[access] allow: this is a list"),
        ("[access]\nallow = ['slack:kim']", "'slack:kim' is not of a known form"),
        ("[access]\nallow = ['discord:kim']", "ids, not names"),
        ("[access]\nallow = ['discord:1:role:']", "'discord:1:role:' is not of"),
        ("[projects.a]\npath = '.'\nchannels = ['C123']", "'C123' is no channel"),
        ("[channels.C123]\nmode = 'full'", "'C123' is no channel"),
        ("[channels.'slack:general']\nmode = 'full'", "'slack:general' is no channel"),
        ("[channels.'slak:C1']\nretention_days = 30", "did you mean slack?"),
        ("[channels.'*']\nmode = 'full'", "'*' is no channel"),
        ("[channels.'slack:C1']\nmoed = 'full'", "did you mean mode?"),
        ("[channels.'slack:C1']\ndelivery = 'pull'", "[channels] slack:C1.delivery"),
        ("[engines.claude]\nbudget_token = 9", "did you mean budget_tokens?"),
        ("[projects.a]\npath = '.'\nchannels = ['slack:#general']", "ids, not names"),
        ("[roundtable]\nrounds = 9", "[roundtable] rounds"),
        ("[projects.a]\nchannels = []", "[projects] a.path"),
        (
            (
                "[projects.a]\npath = '/a'\nchannels = ['slack:C1']\n"
                "[projects.b]\npath = '/b'\nchannels = ['slack:C1']"
            ),
            "'slack:C1' is listed by both 'a' and 'b'",
        ),
        ("[permissions]\nroundtable = 'root'", "'plan', 'ask', 'edit' or 'full'"),
        ("[access]\napprovers = ['Kim']", "[access] approvers: 'Kim' is not of"),
        ("[access]\nadmins = ['*']", '"*" makes nobody one'),
        ("[permissions]\napprovers = ['slack:U1']", "[access] approvers now"),
        ("[channels.'slack:C1'.access]\nallow = ['#dev']", "slack:C1.access.allow: '#dev' is not"),
        ("[channels.'slack:C1'.access]\nalow = []", "did you mean allow?"),
        ("[permissions.at_most]\nkim = 'edit'", "[permissions] at_most: 'kim' is not of"),
        ("[permissions]\nanswer_within = 3", "did you mean answer_within_s?"),
        ("[channels.'slack:C1']\npermission = 'write'", "[channels] slack:C1.permission"),
        ("not toml", "no valid TOML"),
    ],
)
def test_errors_name_the_key(tmp_path, text, says):
    with pytest.raises(SettingsError) as caught:
        load_settings(write(tmp_path, text))
    assert says in str(caught.value)


def test_channels_and_people_of_every_known_form(tmp_path):
    text = (
        "[access]\nallow = ['*', 'slack:U0A', 'discord:42', 'discord:1:role:2', 'console:kim']\n"
        "[projects.a]\npath = '.'\n"
        "channels = ['*', 'slack:C0A', 'discord:42', 'console:general', 'acme:any/where']\n"
    )
    settings = load_settings(write(tmp_path, text))
    assert len(settings.access.allow) == len(settings.projects["a"].channels) == 5


def test_a_misspelt_variable_is_told(monkeypatch):
    monkeypatch.setenv("MOOT__SLAK__BOT_TOKEN", "xoxb-hidden")
    with pytest.raises(SettingsError, match=r"MOOT__SLAK.*did you mean slack") as told:
        load_settings()
    assert "hidden" not in str(told.value)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(SettingsError, match="cannot read the settings file"):
        load_settings(tmp_path / "none.toml")


def test_a_token_in_a_file_others_can_read_is_refused(tmp_path):
    for table, key in (("slack", "bot_token"), ("memory", "embedder_key")):
        text = f'[{table}]\n{key} = "xoxb-secret"\n'
        with pytest.raises(SettingsError, match="chmod 600") as caught:
            load_settings(write(tmp_path, text, 0o644))
        assert "xoxb-secret" not in str(caught.value)
        settings = load_settings(write(tmp_path, text, 0o600))
        assert getattr(getattr(settings, table), key).get_secret_value() == "xoxb-secret"


def test_a_wrong_secret_is_never_quoted(tmp_path, monkeypatch):
    monkeypatch.setenv("MOOT__SLACK__BOT_TOKEN", '{"xoxb": "hidden-value"}')
    try:
        said = repr(load_settings())
    except SettingsError as error:
        said = str(error)
    assert "hidden-value" not in said


def test_how_agents_are_told_is_read_for_engines_and_channels(tmp_path):
    path = tmp_path / "moot.toml"
    path.write_text(
        "[context]\nsessions = false\n"
        "[engines.gemini]\nbudget_chars = 90000\nbudget_tokens = 20000\ndelivery = 'push'\n"
        "[engines.codex]\nargs = ['--oss']\n[engines.acme]\nuse = 'x:Y'\nlocal = true\n"
        "[channels.'slack:C1']\nmode = 'full'\nbudget_chars = 40000\ndelivery = 'hybrid'\n"
    )
    terms = terms_of(settings := load_settings(path))
    assert settings.context.sessions is False
    assert terms.engines["gemini"] == EngineTerms(90_000, 20_000, "push")
    assert terms.engines["codex"].local is True
    assert terms.engines["acme"].local is True
    assert terms.engines["claude"] == EngineTerms()
    assert terms.channels == {"slack:C1": ChannelTerms("full", 40_000, "hybrid")}
    assert (terms.budget_chars, terms.light_budget_chars, terms.delivery) == (
        60_000,
        16_000,
        "hybrid",
    )


BUDGET = '[[budgets]]\nper = "day"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BUDGET + 'of = "engine"\nname = "cluade"\ntokens = 9', "did you mean 'claude'?"),
        (BUDGET + 'of = "project"\nname = "billing"\ntokens = 9', "there are: none"),
        (BUDGET + 'of = "person"\nname = "slack:C1"\ntokens = 9', "is no id of a person"),
        (BUDGET + 'of = "channel"\nname = "slack:U1"\ntokens = 9', "is no id of a channel"),
        (BUDGET + 'of = "channel"\nname = "*"\ntokens = 9', "is no id of a channel"),
        (BUDGET + 'of = "person"\ntokens = "lots"', "number 1, tokens: a number of tokens"),
        (BUDGET + 'of = "person"\ntoken = 5', "[[budgets]] number 1, token: there is no such"),
        ('[budgets]\nof = "person"\nper = "day"\ntokens = 9', "write [[budgets]], with two"),
        ('[roundtable]\nparticipants = ["critic", 3]', "participants, entry 2"),
    ],
)
def test_a_budget_that_would_stop_nobody_is_refused(tmp_path, text, said):
    with pytest.raises(SettingsError, match=re.escape(said)):
        load_settings(write(tmp_path, text))


@pytest.mark.parametrize(
    ("typed", "tokens"),
    [('"2M"', 2_000_000), ('"90k"', 90_000), ('"1.5 m"', 1_500_000), ('"2,000"', 2_000), ("7", 7)],
)
def test_tokens_as_people_write_them(tmp_path, typed, tokens):
    text = BUDGET + f'of = "engine"\nname = "rehearsal"\ntokens = {typed}\n'
    assert load_settings(write(tmp_path, text)).budgets[0].tokens == tokens
