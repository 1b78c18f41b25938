"""The server for in-run Pulls must not keep Moot from starting."""

from __future__ import annotations

import importlib
import os
import resource
from pathlib import Path

import pytest
import structlog

from bridge.pulls import Pulls, check


@pytest.fixture
def no_more_files():
    """The system gives no further socket; for real."""
    importlib.import_module("adapters.pull.server")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = []

    def exhaust() -> None:
        highest = max(int(entry.name) for entry in Path("/dev/fd").iterdir()) + 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest, hard))
        try:
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            return

    yield exhaust
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    for fd in held:
        os.close(fd)


async def answer(pull) -> str:
    return ""


async def test_where_it_cannot_listen_agents_pull_by_markers(no_more_files):
    pulls = Pulls(wanted=True)
    no_more_files()
    with structlog.testing.capture_logs() as logs:
        assert not await pulls.ready()
    (warned,) = [entry for entry in logs if entry["log_level"] == "warning"]
    assert warned["event"] == "pulls.not_listening"
    assert "in_run = false" in warned["fix"]
    assert pulls.admit("r", {}, answer) is None
    pulls.dismiss("r")
    found = check(wanted=True, engines=("claude",))
    assert not found.ok
    assert "in_run = false" in found.fix
    await pulls.close()


async def test_it_listens_where_it_is_wanted():
    pulls = Pulls(wanted=True)
    assert pulls.admit("r", {}, answer) is None, "not before it is open"
    assert await pulls.ready()
    access = pulls.admit("r", {}, answer)
    assert access is not None
    assert access.url.startswith("http://127.0.0.1:")
    await pulls.close()
    assert not await pulls.ready(), "it stays closed"
    assert "claude, codex" in check(wanted=True, engines=("claude", "codex")).detail


async def test_it_does_not_listen_where_it_is_not_wanted():
    pulls = Pulls(wanted=False)
    pulls.start()
    assert not await pulls.ready()
    await pulls.close()
    assert "by markers" in check(wanted=False, engines=()).detail


async def test_it_is_closed_also_while_it_opens():
    pulls = Pulls(wanted=True)
    pulls.start()
    await pulls.close()
    assert not await pulls.ready()
