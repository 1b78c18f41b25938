"""``moot engines check``, as a person starts it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import tomlkit

from tests.e2e.product import MOOT, base_env

ENGINES = '''
import sys
from dataclasses import replace
from pathlib import Path

from core.engines.rehearsal import Rehearsal
from core.model import Spawn


class Fine(Rehearsal):
    name = "fine"


class Novel(Rehearsal):
    """A newer version of it says something new."""

    name = "novel"
    order = 'print(\\'{"type": "brand_new", "x": 1}\\')'

    def start(self, task):
        spawn = super().start(task)
        play = Path(spawn.argv[-1])
        code = f"import runpy, sys; {self.order}; sys.argv = [{str(play)!r}]; "
        code += f"runpy.run_path({str(play)!r}, run_name='__main__')"
        return replace(spawn, argv=(sys.executable, "-c", code))


class Broken(Novel):
    name = "broken"
    order = "sys.stderr.write('cloud session expired, log in again'); sys.exit(1)"


class Absent(Rehearsal):
    name = "absent"
    programs = ("no-such-program-here",)
'''


@pytest.fixture
def check(tmp_path: Path):
    (tmp_path / "own_engines.py").write_text(ENGINES)
    names = ("fine", "novel", "broken", "absent")
    settings = {
        "storage": {"dir": str(tmp_path / "data")},
        "engines": {name: {"use": f"own_engines:{name.title()}"} for name in names},
    }
    (tmp_path / "moot.toml").write_text(tomlkit.dumps(settings))
    env = {**base_env(tmp_path), "PYTHONPATH": str(tmp_path), "COLUMNS": "200"}

    def run(*words: str, code: int = 0) -> str:
        argv = [str(MOOT), "engines", "check", *words, "--config", str(tmp_path / "moot.toml")]
        done = subprocess.run(
            argv, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


def test_a_small_question_is_asked_and_unknown_events_are_named(check) -> None:
    found = json.loads(check("fine", "novel", "--live", "--json"))
    assert [one["name"] for one in found] == ["fine", "novel"]
    assert all(one["live"]["outcome"] == "answered" for one in found)
    assert all(one["live"]["output_tokens"] > 0 for one in found)
    assert [one["live"]["unknown"] for one in found] == [{}, {"brand_new": 1}]
    shown = check("fine", "novel", "--live")
    assert "novel: unknown events: brand_new (1x)" in shown
    assert "fine: answered" in shown


def test_one_that_fails_says_why_and_what_to_do(check) -> None:
    shown = check("broken", "--live", code=1)
    assert "broken: broken is not signed in" in shown
    assert "Sign broken in on the host" in shown
    (one,) = json.loads(check("broken", "--live", "--json", code=1))
    assert (one["failed"], one["live"]["outcome"]) == (True, "auth")


def test_what_is_not_there_has_failed_only_when_it_was_named(check) -> None:
    assert "absent: no-such-program-here was not found" in check("absent", code=1)
    found = {one["name"]: one for one in json.loads(check("--json"))}
    assert not found["absent"]["found"]
    assert not found["absent"]["failed"]
    assert "rehearsal" not in found
    assert found["fine"]["permissions"]


def test_an_unknown_name_is_one_clear_line(check) -> None:
    assert check("nobody", code=2) == ""
