"""The command line as scripts use it: fixed names, exit codes, one clear line for a mistake."""

import fcntl
import json
import sqlite3
import stat
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.product import MOOT, base_env


class Cli:
    def __init__(self, folder: Path):
        self.folder = folder
        self.env = base_env(folder) | {"MOOT__STORAGE__DIR": str(folder / "data")}

    def __call__(self, *args: str, code: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(MOOT), *args],
            env=self.env | env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done


@pytest.fixture
def moot(tmp_path):
    return Cli(tmp_path)


def test_once_asks_prints_the_thread_and_leaves_a_receipt(moot):
    question = "왜 빌드가 깨졌나요? <&> `code`"
    said = moot("try", "--once", question).stdout
    assert said.count(question) == 2  # asked, and quoted in the answer
    assert "rehearsal" in said
    receipt = json.loads(moot("pack", "last", "--json").stdout)
    assert {"run", "mode", "reason", "budget", "sections", "dropped"} <= set(receipt)
    assert set(receipt["sections"][0]) == {
        *("name", "tier", "granted", "used", "hash", "cut", "known")
    }
    assert json.loads(moot("pack", receipt["run"][:6], "--json").stdout) == receipt
    assert "platform-rules" in moot("pack", receipt["run"]).stdout
    assert question not in json.dumps(receipt, ensure_ascii=False)


def test_once_says_by_its_exit_code_whether_it_was_answered(moot):
    said = moot("try", "--once", "x @@rehearse fail=quota@@", code=1).stdout
    assert "quota" in said


def test_a_room_needs_a_terminal(moot):
    assert "--once" in moot("try", code=2).stderr


def test_engines(moot):
    found = json.loads(moot("engines", "--json").stdout)
    assert all(set(e) == {"name", "installed", "version", "signed_in", "path"} for e in found)
    names = [engine["name"] for engine in found]
    assert set(names) == {"claude", "codex", "gemini", "opencode", "ollama", "rehearsal"}
    assert "rehearsal" in moot("engines").stdout


def test_a_clis_leftover_stub_is_not_installed(moot, tmp_path):
    """npm with --ignore-scripts leaves a file that cannot be executed."""
    stub = tmp_path / "bin" / "claude"
    stub.parent.mkdir()
    stub.write_text("not a program\n")
    stub.chmod(0o755)
    found = json.loads(moot("engines", "--json", PATH=f"{stub.parent}:/usr/bin:/bin").stdout)
    assert {e["name"]: e["installed"] for e in found}["claude"] is False
    shown = moot("engines", PATH=f"{stub.parent}:/usr/bin:/bin", COLUMNS="200").stdout
    assert f"claude: {stub} cannot be started" in shown


def test_what_to_do_about_an_engine_that_is_not_signed_in(moot, tmp_path):
    cli = tmp_path / "bin" / "codex"
    cli.parent.mkdir()
    cli.write_text("#!/bin/sh\necho codex-cli 1.2.3\n")
    cli.chmod(0o755)
    shown = moot("engines", PATH=f"{cli.parent}:/usr/bin:/bin", COLUMNS="200").stdout
    assert "codex: not signed in; start `codex` in a terminal" in shown


def test_doctor_says_which_file_and_which_seat(moot, tmp_path):
    config = tmp_path / "own.toml"
    config.write_text('[roundtable]\nparticipants = ["architect", "architekt:claude"]\n')
    done = moot("doctor", "--json", "--config", str(config), code=1)
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert str(config) in checks["settings"]["detail"]
    assert "architekt" in checks["roundtable"]["detail"]
    lines = moot("doctor", "--config", str(config), code=1).stdout.splitlines()
    assert f"ok   settings: read from {config}" in lines  # never wrapped where nobody looks


def test_doctor_on_a_fresh_machine_is_content(moot):
    checks = json.loads(moot("doctor", "--json").stdout)
    assert all(set(check) == {"name", "ok", "detail", "fix"} for check in checks)
    assert [check for check in checks if not check["ok"]] == []
    names = {check["name"] for check in checks}
    assert {"settings", "storage", "sqlite", "chroma", "access", "engine rehearsal"} <= names


def test_doctor_names_what_is_wrong_and_the_fix(moot, tmp_path):
    config = tmp_path / "moot.toml"
    config.write_text(
        '[projects.gone]\npath = "/nowhere/at/all"\n'
        '[slack]\nenabled = true\napi_url = "http://127.0.0.1:9/api/"\n'
        '[engines]\ndefault = "codex"\n'
    )
    env = {
        "MOOT__SLACK__BOT_TOKEN": "xapp-swapped-token",
        "MOOT__SLACK__APP_TOKEN": "xoxb-swapped-token",
        "PATH": "/usr/bin:/bin",
    }
    done = moot("doctor", "--json", "--config", str(config), code=1, **env)
    failing = [check for check in json.loads(done.stdout) if not check["ok"]]
    names = " ".join(check["name"] for check in failing)
    for what in ("project gone", "access", "engine codex", "slack"):
        assert what in names
    assert all(check["fix"] for check in failing)
    assert "swapped-token" not in done.stdout
    text = moot("doctor", "--config", str(config), code=1, **env).stdout
    assert "Create the folder" in text


def test_doctor_tells_a_wrong_setting(moot, tmp_path):
    (tmp_path / "moot.toml").write_text("[runs]\nidle = 3\n")
    [check] = json.loads(moot("doctor", "--json", code=1).stdout)
    assert "[runs] idle" in check["detail"]
    assert "[runs] idle" in moot("run", code=2).stderr


def test_run_without_any_chat_says_what_to_set(moot):
    assert "MOOT__SLACK__BOT_TOKEN" in moot("run", code=2).stderr


def test_run_with_a_missing_token_names_it(moot):
    assert (
        "TOKEN"
        in moot("run", code=2, MOOT__DISCORD__TOKEN="", MOOT__DISCORD__ENABLED="true").stderr
    )
    assert "TOKEN" in moot("run", code=2, MOOT__SLACK__ENABLED="true").stderr


def test_a_second_process_on_the_same_folder_is_refused(moot, tmp_path):
    (tmp_path / "data").mkdir()
    with (tmp_path / "data" / "moot.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("4711")
        lock.flush()
        said = moot("try", "--once", "x", code=2).stderr
    assert "process 4711" in said
    assert "MOOT__STORAGE__DIR" in said


def test_an_unknown_run_or_no_database_is_one_line(moot):
    assert "no database" in moot("pack", "last", code=2).stderr
    moot("try", "--once", "x")
    for wanted in ("zzz", "", "%", "_"):
        assert "There is no run" in moot("pack", wanted, code=2).stderr


def test_every_command_takes_a_settings_file(moot):
    for command in ("run", "try", "doctor", "engines", "pack", "slack-manifest"):
        assert "--config" in moot(command, "--help").stdout
    assert "cannot read" in moot("engines", "--config", "none.toml", code=2).stderr


def test_what_is_stored_is_private(moot, tmp_path):
    moot("try", "--once", "secret question")
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    scratch = tmp_path / "data" / "scratch"
    assert not scratch.exists() or not list(scratch.iterdir())


def test_the_console_script_is_safe_from_packages_of_the_current_folder(moot, tmp_path):
    """Django projects have a ``core`` of their own."""
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "__init__.py").write_text("raise SystemExit('the wrong core')")
    (tmp_path / "config.py").write_text("raise SystemExit('the wrong config')")
    assert "rehearsal" in moot("engines").stdout


@pytest.mark.parametrize("content", ["not a database " * 400, "", None])
def test_a_database_that_is_not_ours_is_told_in_one_line(moot, tmp_path, content):
    """C166, C160: broken, empty (that one is fine: it is filled), and a stranger's tables."""
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "moot.sqlite"
    if content is None:
        with closing(sqlite3.connect(path)) as theirs:
            theirs.execute("CREATE TABLE turn(x)")
    else:
        path.write_text(content)
    if content == "":
        assert "rehearsal" in moot("try", "--once", "hi").stdout
        return
    for command in (("try", "--once", "hi"), ("pack", "last")):
        assert str(path) in moot(*command, code=2).stderr
    checks = json.loads(moot("doctor", "--json", code=1).stdout)
    assert [c["name"] for c in checks if not c["ok"]] == ["database"]
    if content:
        assert path.read_text() == content


@pytest.mark.parametrize("folder", ["/dev/null", "/dev/null/below", "/proc/moot"])
def test_a_storage_folder_that_cannot_be_is_told_in_one_line(moot, folder):
    assert "[storage] dir" in moot("try", "--once", "hi", code=2, MOOT__STORAGE__DIR=folder).stderr


@pytest.mark.parametrize("value", ["slack:U123", "[", '["slack:U1"'])
def test_a_variable_that_is_no_json_is_named_with_the_way_to_write_it(moot, value):
    said = moot("try", "--once", "hi", code=2, MOOT__ACCESS__ALLOW=value).stderr
    assert "access" in said
    assert """'["slack:U123"]'""" in said
    assert "settings" in moot("doctor", code=1, MOOT__ACCESS__ALLOW=value).stdout


@pytest.mark.parametrize("use", ["os:getpid", "../x:y", ":ENGINE", "os:environ"])
def test_an_engine_of_ones_own_that_is_none_is_named(moot, use):
    env = {"MOOT__ENGINES__MINE__USE": use}
    assert "[engines.mine]" in moot("try", "--once", "hi", code=2, **env).stderr


@pytest.mark.parametrize("address", ["slack.example", "ftp://x", "http://["])
def test_an_address_that_is_none_is_refused_at_the_start(moot, address):
    assert "[slack] api_url" in moot("engines", code=2, MOOT__SLACK__API_URL=address).stderr
    assert (
        "[discord] gateway_url"
        in moot("engines", code=2, MOOT__DISCORD__GATEWAY_URL=address).stderr
    )


def test_once_with_a_command_is_answered_too(moot):
    assert "Mention me" in moot("try", "--once", "!help").stdout


def test_the_version_can_be_asked_for(moot):
    assert moot("--version").stdout.startswith("moot 0.")
