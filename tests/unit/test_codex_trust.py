"""Whom Codex is told to trust, and what it is told of the project's words."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from core.engines.codex.trust import MAX_BYTES, instructions, quoted, trust


def levels(cwd: Path, *, trusted: bool) -> dict[str, str]:
    read = tomllib.loads(trust(str(cwd), trusted=trusted))
    return {path: entry["trust_level"] for path, entry in read["projects"].items()}


@pytest.mark.parametrize("name", ["a.b", 'a "b"', "it's", "b\\s", "\U0001f600", "a=b]", "\x7f"])
def test_any_path_is_told_as_it_is(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    assert levels(folder, trusted=False)[str(folder)] == "untrusted"
    assert tomllib.loads(f"a = {quoted(str(folder))}") == {"a": str(folder)}


def test_what_is_above_and_behind_a_link_is_not_trusted_either(tmp_path: Path) -> None:
    inner = tmp_path / "top/inner"
    inner.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(inner)
    told = levels(link, trusted=False)
    assert {str(link), str(inner), str(inner.parent), "/"} <= told.keys()
    assert set(told.values()) == {"untrusted"}


def test_trust_ends_at_the_work_tree(tmp_path: Path) -> None:
    inner = tmp_path / "top/inner"
    inner.mkdir(parents=True)
    (tmp_path / ".git").mkdir()  # empty: no work tree
    (tmp_path / "top/.git").write_text("gitdir: elsewhere\n")
    assert levels(inner, trusted=True) == {str(inner): "trusted", str(inner.parent): "trusted"}


def test_instructions_from_the_top_down(tmp_path: Path) -> None:
    inner = tmp_path / "top/inner"
    inner.mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("of another project")
    (tmp_path / "top/.git").write_text("gitdir: elsewhere\n")
    assert instructions(str(inner)) == ""
    (tmp_path / "top/AGENTS.md").write_text("first")
    (inner / "AGENTS.md").write_text("not this")
    (inner / "AGENTS.override.md").write_text("second")
    told = instructions(str(inner))
    assert "another" not in told
    assert "first\n\nsecond\n" in told
    assert "not this" not in told


def test_instructions_are_no_way_out_and_have_an_end(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    top = tmp_path / "top"
    top.mkdir()
    (top / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert instructions(str(top)) == ""
    (top / "AGENTS.override.md").write_text("x" * 2 * MAX_BYTES)
    assert MAX_BYTES <= len(instructions(str(top))) < MAX_BYTES + 500
