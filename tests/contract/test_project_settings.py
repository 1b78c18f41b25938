"""What lies in the project's folder is data of others, whatever the real CLIs make of it.

It gives no leave, starts no program, sends no key elsewhere; what it says in words is still read.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.contract.desk import Desk

pytestmark = [pytest.mark.clis, pytest.mark.timeout(120)]

PLAIN = "@@fake plain@@"


def lay(desk: Desk, files: dict[str, str]) -> None:
    """Put files into the project; ``@MADE@`` stands for what a program there would make."""
    for name, text in files.items():
        path = desk.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("@MADE@", str(desk.project / "made.txt")))


async def made(desk: Desk) -> bool:
    return await asyncio.to_thread((desk.project / "made.txt").exists)


# --- Codex ------------------------------------------------------------------------------------

CODEX_FILES = {
    ".codex/config.toml": '[mcp_servers.x]\ncommand = "touch"\nargs = ["@MADE@"]\n',
    "AGENTS.md": "MARK-OF-AGENTS\n",
    ".git/HEAD": "ref: refs/heads/main\n",
}


@pytest.fixture
def codex_home(desk: Desk, tmp_path: Path) -> Path:
    """A CODEX_HOME of this test's own, which keeps what Codex writes into it."""
    env = {**desk.homes.env("codex"), "CODEX_HOME": str(tmp_path)}
    (tmp_path / "config.toml").write_text(
        Path(desk.homes.env("codex")["CODEX_HOME"], "config.toml").read_text()
    )
    desk.homes.env = lambda _: env  # type: ignore[method-assign]
    return tmp_path


@pytest.mark.parametrize("desk", ["codex"], indirect=True)
@pytest.mark.parametrize("permission", ["plan", "ask", "edit", "full"])
async def test_codex_trusts_no_project(desk: Desk, permission: str, codex_home: Path) -> None:
    config = codex_home / "config.toml"
    lay(desk, CODEX_FILES)
    before = config.read_text()
    outcome = await desk.ask(PLAIN, permission=permission, asks=True)
    assert outcome.kind == "answered", outcome
    assert config.read_text() == before  # nor says so for the runs to come
    assert not await made(desk)
    assert "MARK-OF-AGENTS" in desk.bodies()


@pytest.mark.parametrize("desk", ["codex"], indirect=True)
@pytest.mark.parametrize("folder", ["", "inner"])
async def test_codex_that_was_trusted_in_a_terminal(
    desk: Desk, folder: str, codex_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(desk, {**CODEX_FILES, "inner/b.txt": "beta\n"})
    with (codex_home / "config.toml").open("a") as file:
        file.write(f'\n[projects."{desk.project}"]\ntrust_level = "trusted"\n')
    top, inside = desk.project, desk.project / folder
    monkeypatch.setattr(Desk, "project", inside)
    await desk.ask(PLAIN, permission="plan")
    assert not await asyncio.to_thread((top / "made.txt").exists)
    assert "MARK-OF-AGENTS" in desk.bodies()


@pytest.mark.parametrize("desk", ["codex"], indirect=True)
async def test_codex_where_the_owner_trusts_the_project(desk: Desk, codex_home: Path) -> None:
    lay(desk, CODEX_FILES)
    before = (codex_home / "config.toml").read_text()
    await desk.ask(PLAIN, permission="edit", trusted_settings=True)
    assert await made(desk)
    assert "MARK-OF-AGENTS" in desk.bodies()
    assert (codex_home / "config.toml").read_text() == before
