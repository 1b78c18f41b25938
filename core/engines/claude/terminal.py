"""The sessions that Claude Code keeps on this host, as people see them in a terminal. Blocking."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from core.model import TerminalSession
from core.streams import JsonObject, get, list_of, text_of
from core.streams.lines import parse_line

MOST = 20
_SESSION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HEAD_BYTES = 256 * 1024  # of a session's file: its first words stand near the beginning
_ABOUT_CHARS = 4000  # cut to what is shown once secrets are out of it
_MAX_NAME = 200


def sessions(cwd: str, environ: Mapping[str, str]) -> list[TerminalSession]:
    """See ``core.ports.InTerminal``."""
    found: list[tuple[float, int, Path]] = []
    for folder in _folders(cwd, environ):
        try:
            paths = [p for p in folder.glob("*.jsonl") if _SESSION.fullmatch(p.stem)]
            told = [(path.stat(), path) for path in paths]
            found += [(stat.st_mtime, stat.st_size, path) for stat, path in told]
        except OSError:
            continue  # gone meanwhile, or not ours to read: then there is none
    found.sort(reverse=True)
    listed = (_session(at, size, path, cwd) for at, size, path in found)
    return list(itertools.islice((session for session in listed if session), MOST))


def resume_command(session: str, cwd: str, program: str = "claude") -> str:
    """See ``core.ports.InTerminal``."""
    if not _SESSION.fullmatch(session):
        return ""
    return f"cd {shlex.quote(cwd)} && {shlex.quote(program)} --resume {shlex.quote(session)}"


def _folders(cwd: str, environ: Mapping[str, str]) -> list[Path]:
    """Where the sessions of a folder are kept: its path with everything odd made a dash.

    A long name is cut and gets a hash at its end, which Moot does not know to compute: whatever
    begins so is looked at, for every session's own file names its folder.
    """
    home = environ.get("CLAUDE_CONFIG_DIR") or Path(environ.get("HOME", "~"), ".claude")
    projects = Path(home).expanduser() / "projects"
    names = {re.sub(r"[^a-zA-Z0-9]", "-", path) for path in (cwd, _real(cwd))}
    short = [projects / name for name in names if len(name) <= _MAX_NAME]
    long = [name[:_MAX_NAME] for name in names if len(name) > _MAX_NAME]
    try:
        return short + [path for name in long for path in projects.glob(f"{name}-*")]
    except OSError:
        return short


def _session(at: float, size: int, path: Path, cwd: str) -> TerminalSession | None:
    """What a session's file tells at its beginning; ``None`` for one of another folder, or none."""
    about = where = ""
    spoken = False
    for line in _head(path):
        where = where or text_of(line, "cwd")
        if text_of(line, "type") != "user" or get(line, "isMeta") or get(line, "isSidechain"):
            continue
        spoken = True
        about = _words(line)
        if about:
            break
    ours = {cwd, _real(cwd)}
    # Different paths can have one name ("a-b" and "a/b").
    if where and where not in ours and _real(where) not in ours:
        return None
    if not spoken and size <= _HEAD_BYTES:
        return None
    return TerminalSession(path.stem, at, about[:_ABOUT_CHARS])


def _head(path: Path) -> Iterator[JsonObject]:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return
    for line in head.splitlines():
        yield from parse_line(line)[0]


def _words(line: JsonObject) -> str:
    """What a person said, or "" where the line is a command's or a tool's."""
    content = get(line, "message", "content")
    if isinstance(content, str):
        said = [content]
    else:
        said = [text_of(b, "text") for b in list_of(line, "message", "content")]
    texts = [text.strip() for text in said if not text.lstrip().startswith("<")]
    return "\n".join(text for text in texts if text)


def _real(path: str) -> str:
    try:
        return str(Path(path).resolve())
    except (OSError, RuntimeError):
        return path
