"""``moot engines check`` on a screen of 80 columns."""

from __future__ import annotations

import pytest

from bridge.check import Checked, Live, show_checked
from core.model import PERMISSIONS


def checked(name: str, live: Live | None) -> Checked:
    return Checked(
        name, name, True, "2.1.332", False, None, "/bin/x", PERMISSIONS, True, True, False, "", live
    )


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_outcomes_stand_whole_in_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    long = Live("context-too-long", "too long", 123.4, 0, 0, {"brand_new": 1})
    show_checked([checked("opencode", long), checked("claude", None)], live=True)
    shown = capsys.readouterr().out
    assert "context-too-long, 123.4 s" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "Moot does not know" in " ".join(shown.split())
    assert "Nothing was asked" not in shown


def test_that_nothing_was_asked_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    show_checked([checked("claude", None)], live=True)
    assert "Nothing was asked" in capsys.readouterr().out
    show_checked([checked("claude", None)])
    assert "Nothing was asked" not in capsys.readouterr().out
