"""What doctor says of engines, modes, people, budgets and slots."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.limits import engine_check, limit_checks
from config.settings import load_settings
from core.engines.process.probe import LATE
from core.model import EngineInfo

TEXT = """
[runs]
at_once = 3
[engines.gemini]
path = "/nope/gemini"
[engines.codex]
args = ["--no-such"]
[access]
approvers = ["slack:U1"]
[permissions]
at_most = { "*" = "ask" }
[channels."slack:C1"]
permission = "full"
[[budgets]]
of = "person"
per = "day"
tokens = "2M"
"""


@pytest.fixture
def settings(tmp_path: Path):
    path = tmp_path / "moot.toml"
    path.write_text(TEXT)
    return load_settings(path)


def info(name: str, *, there: bool = True, detail: str = "") -> EngineInfo:
    return EngineInfo(name, there, "1.0.0" if there else "", True, "/bin/x", detail)


def test_what_is_allowed_is_told(settings):
    told = {check.name: check.detail for check in limit_checks(settings, "claude")}
    assert "slack:C1: full" in told["modes"]
    assert "*: ask" in told["at_most"]
    assert "slack:U1" in told["approvers"]
    assert "each person a day: 2,000,000 tokens" in told["budgets"]
    assert told["at once"].startswith("3 runs on this host (as set)")


def test_a_path_that_was_set_and_is_not_there_fails(settings):
    found = engine_check(settings, info("gemini", there=False, detail="was not found"), "claude")
    assert not found.ok
    assert "[engines.gemini] path" in found.fix
    assert engine_check(settings, info("opencode", there=False), "claude").ok


def test_a_slow_version_is_not_called_not_installed(settings):
    slow = info("gemini", there=False, detail=f"`gemini --version` {LATE} 15 s; is this host busy?")
    found = engine_check(settings, slow, "gemini")
    assert "not installed" not in found.detail
    assert "did not answer" in found.detail
    assert "busy" in found.fix


def test_args_are_only_seen_by_a_question(settings):
    assert "--live" in engine_check(settings, info("codex"), "claude").detail
    assert "--live" not in engine_check(settings, info("claude"), "claude").detail
