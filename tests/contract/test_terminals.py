"""Out to a terminal and back, with the real CLIs: the line that ``!resume`` shows goes on."""

from __future__ import annotations

import asyncio
import json
import subprocess

import pytest

from core.ports import InTerminal
from tests.contract.desk import CLIS, Desk

pytestmark = [pytest.mark.clis, pytest.mark.timeout(300)]

TYPED = "SECOND, in a terminal. @@fake plain@@"


def without_its_screen(name: str, line: str) -> str:
    """The line with what makes the same program read one question from stdin and end."""
    match name:
        case "claude":
            return f"{line} -p"
        case "codex":
            return line.replace(" resume ", " exec resume --skip-git-repo-check ") + " -"
        case "gemini":
            return f"{line} --skip-trust"
        case _:
            return line.replace("opencode ", "opencode run ")


@pytest.mark.parametrize("desk", CLIS, indirect=True)
async def test_what_chat_began_a_terminal_goes_on_with_and_chat_again(desk: Desk) -> None:
    engine = desk.engine()
    assert isinstance(engine, InTerminal)
    first = await desk.ask("FIRST, in chat. @@fake plain@@", context="")
    assert first.kind == "answered", first
    env = desk.homes.env(desk.name)
    [kept] = engine.terminal_sessions(str(desk.project), env)
    assert kept.id == first.session
    assert "FIRST, in chat." in kept.about

    line = engine.resume_command(first.session, str(desk.project))
    done = await asyncio.to_thread(
        subprocess.run,
        ["/bin/sh", "-c", without_its_screen(desk.name, line)], input=TYPED, text=True,
        capture_output=True, env=env, cwd="/", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [*_, asked] = [json.dumps(s.body) for s in desk.models.seen if s.body and not s.side]
    assert "FIRST, in chat." in asked
    assert "SECOND, in a terminal." in asked

    # It is still one session, under the same id, with what was said in the terminal.
    third = await desk.ask("THIRD. @@fake history@@", resume=first.session, context="")
    assert third.session == first.session
    heads = json.loads(third.text)["heads"]
    assert [word for head in heads for word in ("FIRST", "SECOND", "THIRD") if word in head] == [
        "FIRST", "SECOND", "THIRD",
    ]  # fmt: skip
    [after] = engine.terminal_sessions(str(desk.project), env)
    assert after.id == first.session
    assert after.at >= kept.at
