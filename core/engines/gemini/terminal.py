"""Gemini CLI's sessions on this host, as people work with them in a terminal. Blocking.

``.gemini/projects.json`` names a folder per project; its sessions are
``.gemini/tmp/NAME/chats/session-TIME-ID.jsonl`` (``.json`` in older versions).
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from core.model import TerminalSession
from core.streams import JsonObject, get, list_of, text_of
from core.streams.lines import parse_line

MOST = 20
_SESSION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MAX_FILES = 200
_HEAD_BYTES = 256 * 1024
_ABOUT_CHARS = 4000  # cut to what is shown once secrets are out of it


def sessions(cwd: str, environ: Mapping[str, str]) -> list[TerminalSession]:
    """See ``core.ports.InTerminal``. Reads the beginnings of the newest files only."""
    home = environ.get("GEMINI_CLI_HOME") or environ.get("HOME") or str(Path.home())
    chats = [Path(home, ".gemini", "tmp", name, "chats") for name in _names(Path(home), cwd)]
    found: dict[str, TerminalSession] = {}
    for path, at in _newest(chats):
        session = _session(path, at)
        if session and session.id not in found:
            found[session.id] = session
            if len(found) == MOST:
                break
    return list(found.values())


def resume_command(session: str, cwd: str, program: str) -> str:
    """See ``core.ports.InTerminal``."""
    if not _SESSION.fullmatch(session):
        return ""
    return f"cd {shlex.quote(cwd)} && {shlex.quote(program)} --resume {shlex.quote(session)}"


def _names(home: Path, cwd: str) -> list[str]:
    """The names that its folders for the project ``cwd`` have."""
    try:
        known = json.loads((home / ".gemini" / "projects.json").read_bytes()[:_HEAD_BYTES])
    except (OSError, ValueError, RecursionError):
        return []
    names = (text_of(known, "projects", path) for path in {cwd, os.path.realpath(cwd)})
    return [name for name in names if name and "/" not in name and name not in (".", "..")]


def _newest(folders: list[Path]) -> list[tuple[Path, float]]:
    files: list[tuple[Path, float]] = []
    for folder in folders:
        try:
            kept = [p for p in folder.glob("session-*") if p.suffix in (".jsonl", ".json")]
            files += [(path, path.stat().st_mtime) for path in kept]
        except OSError:
            continue  # gone meanwhile, or not ours to read
    return sorted(files, key=lambda file: file[1], reverse=True)[:_MAX_FILES]


def _session(path: Path, at: float) -> TerminalSession | None:
    """What a file tells at its beginning; ``None`` where nobody has said anything in it."""
    session = about = ""
    for line in _head(path):
        session = session or text_of(line, "sessionId")
        if text_of(line, "kind") == "subagent":
            return None
        for message in (line, *list_of(line, "messages"), *list_of(line, "$set", "messages")):
            if text_of(message, "type") == "user":
                about = about or _words(message)
        if about:
            break
    if not about or not _SESSION.fullmatch(session):
        return None
    return TerminalSession(session, at, about[:_ABOUT_CHARS])


def _head(path: Path) -> Iterator[JsonObject]:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return
    if path.suffix == ".json":
        yield from parse_line(head)[0]
        return
    for line in head.splitlines():
        yield from parse_line(line)[0]


def _words(message: object) -> str:
    """What a person said, or "" where it is what the program itself told the model."""
    content = get(message, "content")
    if isinstance(content, str):
        text = content
    else:
        text = "\n".join(text_of(part, "text") for part in list_of(message, "content"))
    return "" if text.lstrip().startswith("<session_context>") else text.strip()
