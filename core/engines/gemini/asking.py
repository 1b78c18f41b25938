"""``gemini --acp``: a run that asks people for leave. PURE."""

from __future__ import annotations

import difflib

from core.engines.gemini.reader import FIXES, message_in
from core.model import EngineRequest, EngineTask, OutcomeKind, Usage
from core.streams import JsonObject, classify, get, int_of, list_of, text_of
from core.streams.acp import (
    AcpReader,
    Stage,
    command_scope,
    details,
    diffs_in,
    error_text,
    files_scope,
    first_line,
)

_BARRIER = "default"


class GeminiAcpReader(AcpReader):
    """See ``core.ports.Reader``."""

    def __init__(self, task: EngineTask) -> None:
        super().__init__(task)
        self.fixes = FIXES

    def ready(self) -> None:
        """See ``AcpReader``.

        An earlier session is told from its beginning, and that may go on after it is said to be
        loaded; what answers a later request comes after all of it.
        """
        if not self.task.resume:
            self.prompt()
            return
        params: JsonObject = {"sessionId": self.session, "modeId": _BARRIER}
        self.call("session", "session/set_mode", params, lambda _: self.prompt())

    def text(self) -> str:
        """See ``AcpReader``."""
        return disarm(super().text())

    def failure(self, stage: Stage, error: JsonObject) -> tuple[OutcomeKind, str]:
        """See ``AcpReader``: the code is an HTTP status, or 500 for anything."""
        text, status = message_in(error_text(error)), int_of(error, "code")
        if stage == "prompt":
            return classify(text, status if status != 500 else None), text
        if int_of(error, "code") == -32000:
            return "auth", text
        if self.task.resume and classify(text) in ("session-lost", "crashed"):
            return "session-lost", text
        return classify(text), text

    def finished(self, result: JsonObject) -> None:
        """See ``AcpReader``."""
        used = get(result, "_meta", "quota", "token_count")
        self.usage = Usage(int_of(used, "input_tokens"), int_of(used, "output_tokens"))
        self.emit("usage")

    def request_of(self, request_id: str, params: JsonObject) -> EngineRequest:
        """See ``AcpReader``. It tells the command or path as the call's title."""
        call = get(params, "toolCall")
        title, kind, cwd = text_of(call, "title"), text_of(call, "kind"), self.task.cwd
        tool = text_of(call, "toolCallId").rpartition("__")[0] or kind
        changes = diffs_in(call)
        said = [text_of(part, "content", "text") for part in list_of(call, "content")]
        if changes:
            paths = [path for path, _, _ in changes]
            scope, label = files_scope(paths, cwd)
            return EngineRequest(
                request_id, tool=tool, about=", ".join(paths),
                detail=details(*(diff(*change) for change in changes)),
                scope=scope, scope_label=label,
            )  # fmt: skip
        whole = title if "\n" in title.strip() else ""
        scope, label = command_scope(cwd, title) if kind == "execute" else ("", "")
        return EngineRequest(
            request_id, tool=tool, about=first_line(title), detail=details(whole, *said),
            scope=scope, scope_label=label, same=scope,  # which names the very command
        )  # fmt: skip


def diff(path: str, old: str, new: str) -> str:
    """A change as people read it; of a new file, all of it."""
    if not old:
        return f"new file {path}\n{new}"
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=2, lineterm="")
    return f"{path}\n" + "\n".join(line for n, line in enumerate(lines) if n >= 2)


def disarm(text: str) -> str:
    """What begins with ``/`` or ``$`` would be a command to it, white space before it or not."""
    # U+FEFF is white space to JavaScript, but not to Python; U+2060 is to neither, and is not seen.
    bare = text.lstrip().lstrip("\ufeff").lstrip()
    return f"\u2060{text}" if bare.startswith(("/", "$")) else text
