"""OpenCode: ``opencode run --format json``. PURE."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from core.model import (
    EngineConfig,
    EngineTask,
    EngineTraits,
    Exit,
    OutcomeKind,
    Permission,
    PullAccess,
    Spawn,
    Usage,
)
from core.streams import (
    JsonObject,
    LineReader,
    classify,
    float_of,
    get,
    int_of,
    joined_prompt,
    tail,
    text_of,
)

# Its own defaults allow everything, and its plan agent keeps the shell; "ask" with nobody to ask
# ends the run. So every tool is named here, and the last word is deny.
_READ = {"read": "allow", "grep": "allow", "glob": "allow", "list": "allow", "lsp": "allow",
         "todowrite": "allow", "todoread": "allow", "skill": "allow"}  # fmt: skip
_PERMISSIONS: dict[Permission, dict[str, str]] = {
    "plan": {"*": "deny", **_READ},
    "edit": {"*": "deny", **_READ, "edit": "allow", "write": "allow", "patch": "allow",
             "webfetch": "allow"},
    "full": {"*": "allow", "question": "deny", "plan_enter": "deny", "plan_exit": "deny"},
}  # fmt: skip
_CONFIG: dict[str, Any] = {"autoupdate": False, "share": "disabled"}
_TOOL_MS = 30_000  # its own patience with a tool; ours with a Pull ends before
_TITLE = "Moot"  # a given title saves the extra model call for one


class OpenCode:
    """The engine; see ``core.ports.Engine`` and ``core.engines.process.probe.Probed``."""

    name = "opencode"
    programs = ("opencode",)
    ping = None
    traits = EngineTraits(memory_mb=1300, cores=2.0, resumes=True, in_run_pull=True)

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.env_names = ("OPENCODE_*", *config.env)

    def start(self, task: EngineTask) -> Spawn:
        """See ``core.ports.Engine``: context and prompt go to stdin.

        The model is ``provider/model``, as OpenCode wants it.
        """
        argv = [self.config.path or "opencode", "run", "--format", "json", "--thinking"]
        argv += ["--print-logs", "--log-level", "ERROR"]  # else its endless retries are silent
        if task.resume:
            argv += ["--session", task.resume]
        else:
            argv += ["--title", _TITLE]
        if model := task.model or self.config.model:
            argv += ["-m", model]
        argv += self.config.args
        config, may = dict(_CONFIG), dict(_PERMISSIONS[task.permission])
        if task.pulls:
            config["mcp"] = {"moot": mcp_server(task.pulls)}
            may["moot_*"] = "allow"
        env = {
            "OPENCODE_PERMISSION": json.dumps(may),
            # Added to the user's own configuration, which stays in force.
            "OPENCODE_CONFIG_CONTENT": json.dumps(config),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }
        return Spawn(tuple(argv), task.cwd, joined_prompt(task.context, task.prompt), env)

    def reader(self, task: EngineTask) -> OpenCodeReader:
        """See ``core.ports.Engine``."""
        del task
        return OpenCodeReader()

    def signed_in(self, environ: Mapping[str, str], read: Callable[[str], str]) -> bool | None:
        """Whether a login is there or a provider configured; its free models need neither."""
        data = environ.get("XDG_DATA_HOME") or "~/.local/share"
        if read(f"{data}/opencode/auth.json").strip(" {}\n") or environ.get("OPENCODE_API_KEY"):
            return True
        folder = environ.get("XDG_CONFIG_HOME") or "~/.config"
        config = environ.get("OPENCODE_CONFIG_CONTENT", "")
        for path in (environ.get("OPENCODE_CONFIG"), f"{folder}/opencode/opencode.json",
                     f"{folder}/opencode/opencode.jsonc"):  # fmt: skip
            config += read(path) if path else ""
        return True if '"provider"' in config else None


def mcp_server(pulls: PullAccess) -> dict[str, Any]:
    """Moot's server for Pulls, as its configuration names one."""
    headers = {"Authorization": f"Bearer {pulls.token}"}
    return {"type": "remote", "url": pulls.url, "headers": headers, "oauth": False,
            "timeout": _TOOL_MS}  # fmt: skip


_FIXES: dict[OutcomeKind, str] = {
    "auth": "Run `opencode auth login` on the host, then try again.",
    "bad-model": "Set [engines.opencode] model as provider/model; `opencode models` lists them.",
    "missing-binary": "Install it with `npm install -g opencode-ai`, or set "
    "[engines.opencode] path.",
}


class OpenCodeReader(LineReader):
    """See ``core.ports.Reader``.

    There are no deltas and no closing event: the exit status and the last step decide.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fixes = _FIXES
        self._reason = ""
        self._rejected = ""
        self._message_id = ""
        self._whole = ""  # the answer that stood complete before the newest message began
        self._kept = ""  # the answer that a summary of the session came after
        self._named: dict[str, Callable[[JsonObject], None]] = {
            "text": self._text,
            "reasoning": lambda d: self.emit("thinking", text_of(d, "part", "text")),
            "tool_use": self._tool_use,
            "step_finish": self._step_finish,
            "error": self._error,
            "step_start": lambda _: None,
        }
        self.handlers = {name: self._any(handler) for name, handler in self._named.items()}

    def _any(self, handler: Callable[[JsonObject], None]) -> Callable[[JsonObject], None]:
        def handle(d: JsonObject) -> None:
            self.started(text_of(d, "sessionID"))
            handler(d)

        return handle

    def _text(self, d: JsonObject) -> None:
        text, message = text_of(d, "part", "text"), text_of(d, "part", "messageID")
        if get(d, "part", "synthetic") is True:  # what it says to the model itself
            if get(d, "part", "metadata", "compaction_continue") is True:
                self._compacted()
            return
        if message and message == self._message_id:
            before = self.answer
        else:
            self._whole = self.answer if self._reason == "stop" else ""
            before = self._kept
        self._message_id = message
        self.message(text)
        if before and text.strip():  # several parts of one message are one answer
            self.answer = f"{before}\n\n{text}"

    def _compacted(self) -> None:
        """The newest message was the summary of its session, and no answer.

        An answer that was complete before it stands; what is said afterwards is added to it.
        """
        self.answer = self._kept = self._whole
        self._message_id = ""
        if self.shown:
            self.shown.pop()
        self.emit("compacted", "auto")

    def _tool_use(self, d: JsonObject) -> None:  # comes when the tool is over
        state, tool = get(d, "part", "state"), text_of(d, "part", "tool")
        call, error = text_of(d, "part", "callID"), text_of(state, "error")
        self._rejected = error if "rejected permission" in error else ""
        self.tool_start(call, tool, about(state))
        self.tool_end(call, tool, ok=text_of(state, "status") == "completed")
        if "specified a rule" in error or self._rejected:
            self.warn(tail(error, 200), "denied")

    def _step_finish(self, d: JsonObject) -> None:
        self._reason = text_of(d, "part", "reason")
        tokens, sum_so_far = get(d, "part", "tokens"), self.usage
        cached = int_of(tokens, "cache", "read")
        self.usage = Usage(
            input_tokens=sum_so_far.input_tokens + int_of(tokens, "input") + cached,
            output_tokens=sum_so_far.output_tokens
            + int_of(tokens, "output")
            + int_of(tokens, "reasoning"),
            cached_tokens=sum_so_far.cached_tokens + cached,
            cost_usd=sum_so_far.cost_usd + float_of(d, "part", "cost"),
        )
        self.emit("usage")

    def _error(self, d: JsonObject) -> None:
        data = get(d, "error", "data")
        text = text_of(data, "message") or json.dumps(get(d, "error"), ensure_ascii=False)
        kinds: dict[str, OutcomeKind] = {
            "ProviderAuthError": "auth",
            "ContextOverflowError": "context-too-long",
            "ContentFilterError": "refused",
            "MessageAbortedError": "cancelled",
            "ProviderModelNotFoundError": "bad-model",
        }
        named = kinds.get(text_of(d, "error", "name"))
        self.fail(named or classify(text, int_of(data, "statusCode") or None), text)

    def ended(self, end: Exit) -> Exit:
        """See ``LineReader``."""
        if end.code == 0 and self._reason and self.error is None and not end.why:
            if self._reason in ("stop", "end_turn", "unknown"):
                self.close(ok=True)
            elif self._reason == "tool-calls" and self._rejected:
                self.fail("refused", self._rejected)
            elif self._reason == "length":
                self.fail("crashed", "the answer was cut at the model's output limit")
            elif self._reason == "content-filter":
                self.fail("refused", "the provider's content filter stopped it")
        return replace(end, stderr=errors_logged(end.stderr) or end.stderr)


def errors_logged(stderr: str) -> str:
    """The error messages in its log, one a line (the log itself is long and full of stacks)."""
    found = re.findall(r'\berror(?:\.\w+)?="((?:[^"\\]|\\.)*)"', stderr)
    return "\n".join(dict.fromkeys(text.replace('\\"', '"') for text in found))


def about(state: object) -> str:
    """The command or path that a tool call is about."""
    for key in ("command", "filePath", "path", "pattern", "query", "url", "description"):
        if text := text_of(state, "input", key):
            return text
    return text_of(state, "title")


ENGINE = OpenCode
