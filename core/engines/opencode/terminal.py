"""OpenCode's sessions on this host, as people work with them in a terminal. Blocking.

They are in a SQLite database, ``$XDG_DATA_HOME/opencode/opencode.db``, which is only read.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from core.model import TerminalSession
from core.streams import get, text_of

MOST = 20
_SESSION = re.compile(r"ses_[0-9A-Za-z]{8,64}")
_ABOUT_CHARS = 4000  # cut to what is shown once secrets are out of it
_BUSY_S = 2.0
_SESSIONS = """
    SELECT id, time_updated FROM session
    WHERE directory IN (?, ?) AND parent_id IS NULL AND time_archived IS NULL
    ORDER BY time_updated DESC LIMIT ?
"""
_FIRST_WORDS = """
    SELECT substr(part.data, 1, 65536) FROM message JOIN part ON part.message_id = message.id
    WHERE message.session_id = ? AND json_extract(message.data, '$.role') = 'user'
    ORDER BY message.time_created, part.id LIMIT 5
"""


def sessions(cwd: str, environ: Mapping[str, str]) -> list[TerminalSession]:
    """See ``core.ports.InTerminal``. A database of another shape holds none."""
    home = environ.get("HOME") or str(Path.home())
    data = environ.get("XDG_DATA_HOME") or str(Path(home, ".local", "share"))
    path = Path(data, "opencode", "opencode.db")
    if not path.is_file():
        return []
    try:
        opened = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=_BUSY_S)
        with contextlib.closing(opened) as database:
            rows = database.execute(_SESSIONS, (cwd, os.path.realpath(cwd), MOST)).fetchall()
            return [
                TerminalSession(session, at / 1000, _about(database, session))
                for session, at in rows
                if _SESSION.fullmatch(str(session))
            ]
    except sqlite3.Error:
        return []


def resume_command(session: str, cwd: str, program: str) -> str:
    """See ``core.ports.InTerminal``."""
    if not _SESSION.fullmatch(session):
        return ""
    return f"cd {shlex.quote(cwd)} && {shlex.quote(program)} --session {shlex.quote(session)}"


def _about(database: sqlite3.Connection, session: str) -> str:
    """What a person said first in a session."""
    for (data,) in database.execute(_FIRST_WORDS, (session,)):
        try:
            part = json.loads(data)
        except (ValueError, RecursionError):
            continue  # longer than what is read of it, or not of this shape
        if text_of(part, "type") == "text" and get(part, "synthetic") is not True:
            return text_of(part, "text").strip()[:_ABOUT_CHARS]
    return ""
