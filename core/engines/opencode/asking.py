"""``opencode acp``: a run that asks people for leave. PURE."""

from __future__ import annotations

from dataclasses import replace

from core.engines.opencode.reader import FIXES, errors_logged
from core.model import EngineRequest, EngineTask, Exit, OutcomeKind, Usage
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
    given_as_json,
)

_NAMED: dict[str, OutcomeKind] = {
    "ProviderAuthError": "auth",
    "ContextOverflowError": "context-too-long",
    "ContentFilterError": "refused",
    "ProviderModelNotFoundError": "bad-model",
}
_MAX_PAGES = 50


class OpenCodeAcpReader(AcpReader):
    """See ``core.ports.Reader``."""

    resume_method = "session/resume"  # without telling all of it once more

    def __init__(self, task: EngineTask, model: str) -> None:
        super().__init__(task)
        self.fixes = FIXES
        self._model = model
        self._pages = 0

    def hello(self, result: JsonObject) -> None:
        """See ``AcpReader``. In another folder than its own a session is opened, and then hangs."""
        told = get(result, "agentCapabilities", "sessionCapabilities", "list")
        if self.task.resume and told is not None:
            self._look_for_it("")
        else:
            self.open_session()

    def _look_for_it(self, cursor: str) -> None:
        params: JsonObject = {"cwd": self.task.cwd, **({"cursor": cursor} if cursor else {})}
        self.call("session", "session/list", params, self._listed)

    def _listed(self, result: JsonObject) -> None:
        self._pages += 1
        if any(text_of(s, "sessionId") == self.task.resume for s in list_of(result, "sessions")):
            self.open_session()
        elif (more := text_of(result, "nextCursor")) and self._pages < _MAX_PAGES:
            self._look_for_it(more)
        else:
            self.fail("session-lost", "it has no such session in this folder", final=True)
            self.close(ok=False)

    def ready(self) -> None:
        """See ``AcpReader``."""
        if not self._model:
            self.prompt()
            return
        params: JsonObject = {
            "sessionId": self.session, "configId": "model", "value": self._model,
        }  # fmt: skip
        self.call("initialize", "session/set_config_option", params, lambda _: self.prompt())

    def failure(self, stage: Stage, error: JsonObject) -> tuple[OutcomeKind, str]:
        """See ``AcpReader``."""
        text = error_text(error).removeprefix("Internal error: ")
        if stage == "session" and self.task.resume and text_of(error, "data", "service"):
            return "session-lost", text
        return _NAMED.get(text_of(error, "data", "errorName")) or classify(text), text

    def finished(self, result: JsonObject) -> None:
        """See ``AcpReader``. It tells the tokens of its last step only."""
        used = get(result, "usage")
        self.usage = Usage(
            int_of(used, "inputTokens"),
            int_of(used, "outputTokens"),
            int_of(used, "cachedReadTokens"),
        )
        self.emit("usage")

    def request_of(self, request_id: str, params: JsonObject) -> EngineRequest:
        """See ``AcpReader``."""
        call, cwd = get(params, "toolCall"), self.task.cwd
        given, title, kind = get(call, "rawInput"), text_of(call, "title"), text_of(call, "kind")
        command, detail, scope, label = text_of(given, "command"), "", "", ""
        folders = get(given, "directories")
        if isinstance(folders, list) or text_of(given, "parentDir"):
            # Beside the call itself, which is asked for (or is free) by itself.
            return EngineRequest(
                request_id, tool="external_directory", about=first_line(title),
                detail=details("It reaches outside of the project.", given_as_json(given)),
            )  # fmt: skip
        if changes := diffs_in(call):
            paths = [path for path, _, _ in changes]
            scope, label = files_scope(paths, cwd)
            title = ", ".join(paths)
            detail = text_of(given, "diff") or "\n\n".join(new for _, _, new in changes)
        elif command:
            scope, label = command_scope(cwd, command)
            title, detail = command, command if "\n" in command.strip() else ""
        else:
            detail = given_as_json(given)
        return EngineRequest(
            request_id, tool=kind, about=first_line(title), detail=details(detail),
            scope=scope, scope_label=label,
        )  # fmt: skip

    def ended(self, end: Exit) -> Exit:
        """See ``LineReader``."""
        end = replace(end, stderr=errors_logged(end.stderr) or end.stderr)
        return super().ended(end)
