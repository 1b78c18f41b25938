"""Sessions of Claude Code on this host, as its files tell them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from core.engines.claude import ENGINE
from core.model import EngineConfig

ENGINE_ = ENGINE(EngineConfig())


def folder_of(home: Path, cwd: str) -> Path:
    made = home / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", cwd)
    made.mkdir(parents=True, exist_ok=True)
    return made


def session_id(n: int) -> str:
    return f"00000000-0000-4000-8000-{n:012x}"


def write(folder: Path, n: int, *lines: object, at: float = 1000.0) -> Path:
    path = folder / f"{session_id(n)}.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    os.utime(path, (at, at))
    return path


def said(text: object, cwd: str, **more: object) -> dict[str, object]:
    return {"type": "user", "cwd": cwd, "message": {"role": "user", "content": text}, **more}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "claude"


@pytest.fixture
def cwd(tmp_path: Path) -> str:
    made = tmp_path / "my.project_1"
    made.mkdir()
    return str(made)


def found(home: Path, cwd: str) -> list[tuple[str, str]]:
    listed = ENGINE_.terminal_sessions(cwd, {"CLAUDE_CONFIG_DIR": str(home)})
    return [(session.id, session.about) for session in listed]


def test_newest_first_with_the_first_words_of_a_person(home: Path, cwd: str) -> None:
    folder = folder_of(home, cwd)
    write(folder, 1, {"type": "queue"}, said("배포 😀\nnow?", cwd), said("then", cwd), at=100)
    write(
        folder,
        2,
        said("<command-name>/clear</command-name>", cwd),
        said("Caveat: …", cwd, isMeta=True),
        said([{"type": "text", "text": "fix it " * 60}], cwd),
        at=200.5,
    )
    listed = ENGINE_.terminal_sessions(cwd, {"CLAUDE_CONFIG_DIR": str(home)})
    assert [(s.id, s.at) for s in listed] == [(session_id(2), 200.5), (session_id(1), 100)]
    assert listed[1].about == "배포 😀\nnow?"
    assert listed[0].about == ("fix it " * 60).strip()  # cut where it is shown, without secrets


def test_only_what_is_a_session_of_this_folder(home: Path, cwd: str, tmp_path: Path) -> None:
    folder = folder_of(home, cwd)
    write(folder, 1, said("ours", cwd))
    # "my.project_1" and "my-project-1" have one name.
    write(folder, 2, said("of a neighbour", str(tmp_path / "my-project-1")))
    write(folder, 3, {"type": "summary", "summary": "no person spoke"})
    write(folder, 4, said("a helper's", cwd, isSidechain=True))
    (folder / "agent-1234.jsonl").write_text(json.dumps(said("no session", cwd)))
    (folder / f"{session_id(5)}.jsonl").mkdir()
    (folder / f"{session_id(6)}.jsonl").write_bytes(b"\xff{not json\n")
    assert found(home, cwd) == [(session_id(1), "ours")]


def test_a_first_prompt_longer_than_what_is_read_is_left_untold(home: Path, cwd: str) -> None:
    write(folder_of(home, cwd), 1, said("x" * 400_000, cwd))
    assert found(home, cwd) == [(session_id(1), "")]


def test_at_most_twenty_and_none_is_no_error(home: Path, cwd: str) -> None:
    assert found(home, cwd) == []
    folder = folder_of(home, cwd)
    for n in range(25):
        write(folder, n, said(f"number {n}", cwd), at=n)
    listed = found(home, cwd)
    assert len(listed) == 20
    assert listed[0] == (session_id(24), "number 24")


def test_a_folder_that_is_reached_by_a_link(home: Path, cwd: str, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(cwd)
    write(folder_of(home, cwd), 1, said("ours", cwd))
    assert found(home, str(link)) == [(session_id(1), "ours")]


def test_a_long_path_is_found_by_its_beginning(home: Path, tmp_path: Path) -> None:
    long = tmp_path / ("d" * 120) / ("e" * 120)
    long.mkdir(parents=True)
    name = re.sub(r"[^a-zA-Z0-9]", "-", str(long))[:200] + "-1x2y3z"
    folder = home / "projects" / name
    folder.mkdir(parents=True)
    write(folder, 1, said("ours", str(long)))
    write(folder, 2, said("of another", str(long) + "-2"))
    assert found(home, str(long)) == [(session_id(1), "ours")]


def test_the_usual_place_is_below_home(tmp_path: Path, cwd: str) -> None:
    write(folder_of(tmp_path / ".claude", cwd), 1, said("ours", cwd))
    (session,) = ENGINE_.terminal_sessions(cwd, {"HOME": str(tmp_path)})
    assert session.about == "ours"


def test_the_line_for_a_terminal_is_quoted(tmp_path: Path) -> None:
    odd = tmp_path / "it's; touch $HOME"
    odd.mkdir()
    line = ENGINE_.resume_command(session_id(1), str(odd))
    assert line == f"cd {shlex.quote(str(odd))} && claude --resume {session_id(1)}"
    shown = subprocess.run(
        ["/bin/sh", "-c", line.replace("claude", "pwd; echo", 1)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown.splitlines() == [str(odd), f"--resume {session_id(1)}"]
    assert ENGINE_.resume_command("x; rm -rf /", str(odd)) == ""
