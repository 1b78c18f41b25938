"""Gemini's and OpenCode's sessions on disk: what is odd there is left out, and harms nothing."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.engines.gemini import terminal as gemini
from core.engines.opencode import terminal as opencode

ID = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"


def user(text: str) -> dict[str, object]:
    return {"type": "user", "content": [{"text": text}]}


def write(path: Path, *lines: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """Where the sessions of the project /w are."""
    write(tmp_path / ".gemini" / "projects.json", {"projects": {"/w": "w", "/x": "../../x"}})
    return tmp_path / ".gemini" / "tmp" / "w" / "chats"


def test_gemini_tells_what_people_said_first(tmp_path: Path, chats: Path) -> None:
    told = {"$set": {"messages": [user("<session_context>\nThis is the Gemini CLI.")]}}
    write(chats / "session-a-1.jsonl", {"sessionId": ID, "kind": "main"}, told, user(" 안녕\nyou "))
    write(chats / "session-a-2.jsonl", {"sessionId": OTHER, "kind": "subagent"}, user("x"))
    write(chats / "session-a-3.jsonl", {"sessionId": OTHER, "kind": "main"}, told)
    write(chats / "session-a-4.jsonl", {"sessionId": "../x", "kind": "main"}, user("x"))
    (chats / "session-a-5.jsonl").write_bytes(b"\xff{[\n" * 1000)
    (chats / "session-a-6.jsonl").mkdir()
    (found,) = gemini.sessions("/w", {"HOME": str(tmp_path)})
    assert (found.id, found.about) == (ID, "안녕\nyou")
    assert gemini.sessions("/x", {"GEMINI_CLI_HOME": str(tmp_path)}) == []
    assert gemini.sessions("/y", {"HOME": str(tmp_path)}) == []


def test_gemini_without_a_home_has_none(tmp_path: Path) -> None:
    assert gemini.sessions("/w", {"HOME": str(tmp_path)}) == []
    write(tmp_path / ".gemini" / "projects.json", ["no", "object"])
    assert gemini.sessions("/w", {"HOME": str(tmp_path)}) == []


def test_gemini_tells_twenty_the_newest_first(tmp_path: Path, chats: Path) -> None:
    for n in range(25):
        session = f"{n:08d}-1111-4111-8111-111111111111"
        path = chats / f"session-{n}.jsonl"
        write(path, {"sessionId": session}, user(f"question {n}"))
        os.utime(path, (n, n))
    found = gemini.sessions("/w", {"HOME": str(tmp_path)})
    assert [s.about for s in found] == [f"question {n}" for n in range(24, 4, -1)]


def test_opencode_without_a_database_or_with_another_one_has_none(tmp_path: Path) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path)}
    assert opencode.sessions("/w", env) == []
    path = tmp_path / "opencode" / "opencode.db"
    path.parent.mkdir()
    path.write_bytes(b"this is no database at all, but long enough to be looked at" * 100)
    assert opencode.sessions("/w", env) == []
    path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE session (id text)")
        database.commit()
    assert opencode.sessions("/w", env) == []


@pytest.mark.parametrize("session", ["", "x; rm -rf ~", "$(id)", "-x", f"{ID}\n"])
def test_what_is_no_session_gives_no_line(session: str) -> None:
    assert gemini.resume_command(session, "/w", "gemini") == ""
    assert opencode.resume_command(session, "/w", "opencode") == ""


def test_a_line_is_quoted() -> None:
    line = gemini.resume_command(ID, "/a b/$(c)", "/opt/my cli/gemini")
    assert line == f"cd '/a b/$(c)' && '/opt/my cli/gemini' --resume {ID}"
    session = "ses_0123456789abcdefABCDEF0123"
    line = opencode.resume_command(session, "/a'b", "opencode")
    assert line == f"""cd '/a'"'"'b' && opencode --session {session}"""
