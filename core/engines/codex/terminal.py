"""Codex's sessions on this host, as people work with them in a terminal.

``$CODEX_HOME/sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl``; the first line is ``session_meta``.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from core.model import TerminalSession
from core.streams import JsonObject, list_of, text_of

MOST = 20
_SESSION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MAX_FILES = 400  # heads that are looked at, newest first
_MAX_HEAD_BYTES = 256 * 1024
_MAX_ABOUT_CHARS = 4000  # cut to what is shown once secrets are out of it


def sessions(cwd: str, environ: Mapping[str, str]) -> list[TerminalSession]:
    """See ``core.ports.InTerminal``. Reads the beginnings of the newest files only."""
    home = environ.get("HOME") or str(Path.home())
    folder = Path(environ.get("CODEX_HOME") or Path(home, ".codex"), "sessions")
    here = os.path.realpath(cwd)
    found: list[TerminalSession] = []
    for path, at in _newest(folder):
        if session := _read(path, at, here):
            found.append(session)
            if len(found) == MOST:
                break
    return found


def resume_command(session: str, cwd: str, program: str) -> str:
    """See ``core.ports.InTerminal``."""
    if not _SESSION.fullmatch(session):
        return ""
    return f"cd {shlex.quote(cwd)} && {shlex.quote(program)} resume {shlex.quote(session)}"


def _newest(folder: Path) -> list[tuple[Path, float]]:
    """The newest session files by when they were last written, at most ``_MAX_FILES``.

    Days are gone through from the newest on, so that years of sessions cost nothing: a file is in
    the folder of the day it was begun on, so one that was gone on with much later is found as long
    as not more than that many were begun since.
    """
    files: list[tuple[Path, float]] = []
    for day in _days(folder):
        for path in _listed(day):
            if path.name.startswith("rollout-") and path.suffix == ".jsonl":
                try:
                    files.append((path, path.stat().st_mtime))
                except OSError:
                    continue  # it was moved away meanwhile
        if len(files) >= _MAX_FILES:
            break
    return sorted(files, key=lambda file: file[1], reverse=True)[:_MAX_FILES]


def _days(folder: Path) -> Iterator[Path]:
    for year in _listed(folder):
        for month in _listed(year):
            yield from _listed(month)


def _listed(folder: Path) -> list[Path]:
    """What a folder holds, the last by name first; nothing where it cannot be read."""
    try:
        return sorted(folder.iterdir(), reverse=True)
    except OSError:
        return []


def _read(path: Path, at: float, here: str) -> TerminalSession | None:
    """The session of a file, if a person can go on with it in the folder ``here``."""
    try:
        with path.open("rb") as file:
            head = file.read(_MAX_HEAD_BYTES)
    except OSError:
        return None
    lines = head.split(b"\n")
    meta = _object(lines[0])
    if text_of(meta, "type") != "session_meta":
        return None
    payload = meta.get("payload")
    if not text_of(payload, "source"):  # an object: a sub-agent's
        return None
    session = text_of(payload, "id")
    if os.path.realpath(text_of(payload, "cwd")) != here or not _SESSION.fullmatch(session):
        return None
    return TerminalSession(session, at, _first_words(lines[1:]))


def _first_words(lines: list[bytes]) -> str:
    for line in lines:
        payload = _object(line).get("payload")
        if text_of(payload, "type") == "user_message":
            return text_of(payload, "message")[:_MAX_ABOUT_CHARS]
        if text_of(payload, "type") == "message" and text_of(payload, "role") == "user":
            said = " ".join(text_of(part, "text") for part in list_of(payload, "content"))
            if not said.lstrip().startswith("<"):  # <environment_context> and its like
                return said[:_MAX_ABOUT_CHARS]
    return ""


def _object(line: bytes) -> JsonObject:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("JsonObject", found) if isinstance(found, dict) else {}
