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
    AskedQuestion,
    EngineConfig,
    EngineEvent,
    EngineRequest,
    EngineTask,
    EngineTraits,
    OutcomeKind,
    Spawn,
    TerminalSession,
    Usage,
    Verdict,
)
from core.streams import JsonObject, LineReader, get, int_of, list_of, text_of

_PLAY = Path(__file__).with_name("play.py").resolve()
_FOLDER = "REHEARSAL_SESSIONS"
_SPACE = uuid.UUID("0c2d2f0f-9d8a-4f1b-9a3f-6c0d5a1f7e21")
_KINDS: dict[str, OutcomeKind] = {str(kind): kind for kind in get_args(OutcomeKind)}


class Rehearsal:
    """The engine; see ``core.ports.Engine`` and ``core.engines.process.probe.Probed``."""

    name = "rehearsal"
    programs: tuple[str, ...] = ()
    ping = None
    traits = EngineTraits(
        memory_mb=20,
        rests=False,  # it has no quota: what it tells of one is played
        system_prompt=True,
        resumes=True,
        permissions=frozenset(("plan", "ask", "edit", "full")),
    )

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.env_names = (_FOLDER, *config.env)

    def start(self, task: EngineTask) -> Spawn:
        """See ``core.ports.Engine``."""
        told = {
            "prompt": task.prompt,
            "context": task.context,
            "permission": task.permission,
            "session": task.resume or str(uuid.uuid5(_SPACE, task.mark)),
            "resumed": bool(task.resume),
            "asks": task.asks,
            "files": list(task.files),
        }
        # -I and -S: nothing from the working folder or the environment is imported, and it
        # starts faster.
        argv = (sys.executable, "-I", "-S", str(_PLAY))
        told_line = json.dumps(told).encode() + b"\n"
        return Spawn(argv, task.cwd, told_line, dialogue=task.asks)

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
                    about = next(iter(kept["said"]), "")[:4000]
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
            "request": self._request,
            "withdrawn": lambda d: self.emit("withdrawn", id=text_of(d, "id")),
            "result": self._result,
        }
        self._verdicts = bytearray()
        self._open: set[str] = set()

    def to_send(self) -> bytes:
        """See ``core.ports.Reader``."""
        told, self._verdicts = bytes(self._verdicts), bytearray()
        return told

    def decide(self, verdict: Verdict) -> None:
        """See ``core.ports.Reader``."""
        if verdict.request_id not in self._open:
            return
        self._open.discard(verdict.request_id)
        note = f"{verdict.note} ({verdict.by})" if verdict.note else f"({verdict.by})"
        told = {
            "id": verdict.request_id,
            "choice": verdict.choice,
            "answers": [list(answers) for answers in verdict.answers],
            "note": note,
        }
        self._verdicts += json.dumps(told).encode() + b"\n"

    def _request(self, d: JsonObject) -> None:
        questions = tuple(
            AskedQuestion(
                text_of(q, "text"),
                options=tuple((str(option), "") for option in get(q, "options") or ()),
                several=get(q, "several") is True,
            )
            for q in list_of(d, "questions")
        )
        request = EngineRequest(
            text_of(d, "id"),
            "question" if text_of(d, "kind") == "question" else "permission",
            text_of(d, "tool"),
            text_of(d, "about"),
            text_of(d, "detail"),
            text_of(d, "scope"),
            text_of(d, "label"),
            questions,
        )
        self._open.add(request.id)
        self._events.append(EngineEvent("request", id=request.id, request=request))

    def _result(self, d: JsonObject) -> None:
        self.usage = Usage(int_of(d, "usage", "input"), int_of(d, "usage", "output"))
        if get(d, "ok") is True:
            self.close(ok=True)
            return
        kind = text_of(d, "kind")
        known = _KINDS.get(kind, "crashed")
        self.in_use = kind == "in-use"
        self.fail(known, text_of(d, "detail"))
        self.close(ok=False)


ENGINE = Rehearsal
