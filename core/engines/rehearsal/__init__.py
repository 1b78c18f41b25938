"""The rehearsal engine: a real child process that says plainly that it is no model. PURE.

It answers everybody who has no agent set up yet, and plays scripted parts in tests; what it can
be told to do stands in ``play.py``.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import get_args

from core.model import (
    EngineConfig,
    EngineTask,
    EngineTraits,
    OutcomeKind,
    Spawn,
    TerminalSession,
    Usage,
)
from core.streams import JsonObject, LineReader, get, int_of, text_of

_PLAY = Path(__file__).with_name("play.py").resolve()
_FOLDER = "REHEARSAL_SESSIONS"
_SPACE = uuid.UUID("0c2d2f0f-9d8a-4f1b-9a3f-6c0d5a1f7e21")
_KINDS: dict[str, OutcomeKind] = {str(kind): kind for kind in get_args(OutcomeKind)}


class Rehearsal:
    """The engine; see ``core.ports.Engine`` and ``core.engines.process.probe.Probed``."""

    name = "rehearsal"
    programs: tuple[str, ...] = ()
    ping = None
    traits = EngineTraits(memory_mb=20, system_prompt=True, resumes=True)

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.env_names = (_FOLDER, *config.env)

    def start(self, task: EngineTask) -> Spawn:
        """See ``core.ports.Engine``."""
        told = {
            "prompt": task.prompt,
            "context": task.context,
            "permission": task.permission,
            "session": task.resume or str(uuid.uuid5(_SPACE, task.run_id)),
            "resumed": bool(task.resume),
        }
        # -I and -S: nothing from the working folder or the environment is imported, and it
        # starts faster.
        argv = (sys.executable, "-I", "-S", str(_PLAY))
        return Spawn(argv, task.cwd, json.dumps(told).encode())

    def reader(self, task: EngineTask) -> RehearsalReader:
        """See ``core.ports.Engine``."""
        del task
        return RehearsalReader()

    def terminal_sessions(self, cwd: str, environ: Mapping[str, str]) -> Sequence[TerminalSession]:
        """See ``core.ports.InTerminal``."""
        folder = environ.get(_FOLDER)
        found: list[TerminalSession] = []
        for path in Path(folder).glob("*.json") if folder else ():
            with contextlib.suppress(OSError, ValueError):
                kept = json.loads(path.read_text("utf-8"))
                if kept["cwd"] == cwd:
                    about = next(iter(kept["said"]), "")[:200]
                    found.append(TerminalSession(path.stem, path.stat().st_mtime, about))
        return sorted(found, key=lambda session: -session.at)[:20]

    def resume_command(self, session: str, cwd: str) -> str:
        """See ``core.ports.InTerminal``."""
        words = (sys.executable, "-I", "-S", str(_PLAY), "--resume", session)
        return f"cd {shlex.quote(cwd)} && {shlex.join(words)}"

    def signed_in(self, environ: Mapping[str, str], read: Callable[[str], str]) -> bool | None:
        """There is nothing to sign in to."""
        del environ, read
        return True


class RehearsalReader(LineReader):
    """See ``core.ports.Reader``."""

    def __init__(self) -> None:
        super().__init__()
        self.handlers = {
            "started": lambda d: self.started(text_of(d, "session")),
            "delta": lambda d: self.delta(text_of(d, "text")),
            "message": lambda d: self.message(text_of(d, "text")),
            "tool": lambda d: self.tool_start(
                text_of(d, "id"), text_of(d, "name"), text_of(d, "about")
            ),
            "tool_end": lambda d: self.tool_end(
                text_of(d, "id"), text_of(d, "name"), ok=get(d, "ok") is True
            ),
            "result": self._result,
        }

    def _result(self, d: JsonObject) -> None:
        self.usage = Usage(int_of(d, "usage", "input"), int_of(d, "usage", "output"))
        if get(d, "ok") is True:
            self.close(ok=True)
            return
        kind = text_of(d, "kind")
        known = _KINDS.get(kind, "crashed")
        self.fail(known, text_of(d, "detail"))
        self.close(ok=False)


ENGINE = Rehearsal
