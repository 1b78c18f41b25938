"""Claude Code: ``claude -p`` with stream-json. PURE."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping

from core.model import (
    EngineConfig,
    EngineTask,
    EngineTraits,
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
    joined,
    list_of,
    text_of,
)

_MODES: dict[Permission, str] = {
    "plan": "plan",
    "edit": "acceptEdits",
    "full": "bypassPermissions",  # refused as root unless IS_SANDBOX=1 is set for Moot
}
_SPACE = uuid.UUID("9d9ad4a6-53b6-4f7e-8a4d-2f1f7d0c7c11")
_CONTEXT_FILE = "context.md"
_MCP_FILE = "mcp.json"
_TOOL_MS = 30_000  # its own patience with a tool; ours with a Pull ends before

# Tools that would wait for a person who is not there, or outlive a one-shot run.
_NO_TOOLS = "AskUserQuestion,ExitPlanMode,EnterPlanMode,ScheduleWakeup,CronCreate"


class Claude:
    """The engine; see ``core.ports.Engine`` and ``core.engines.process.probe.Probed``."""

    name = "claude"
    programs = ("claude",)
    ping = None
    traits = EngineTraits(
        memory_mb=270, system_prompt=True, resumes=True, in_run_pull=True, small_model="haiku"
    )

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.env_names = (
            *("ANTHROPIC_*", "CLAUDE_*", "IS_SANDBOX", "API_TIMEOUT_MS", "MAX_THINKING_TOKENS"),
            *("DISABLE_*", "BASH_*", "MCP_*", "ENABLE_*"),
            "AWS_*?CLAUDE_CODE_USE_BEDROCK",
            *("GOOGLE_*?CLAUDE_CODE_USE_VERTEX", "CLOUD_ML_*?CLAUDE_CODE_USE_VERTEX"),
            *("VERTEX_*?CLAUDE_CODE_USE_VERTEX", "GCLOUD_*?CLAUDE_CODE_USE_VERTEX"),
            *config.env,
        )

    def start(self, task: EngineTask) -> Spawn:
        """See ``core.ports.Engine``: the context goes into a file, the prompt to stdin.

        A session keeps the system text of its first turn (or loses it, were it told anew with
        ``--system-prompt-snapshot off``): what is told to one that goes on stands in the prompt.
        """
        argv = [self.config.path or "claude", "-p", "--output-format", "stream-json"]
        argv += ["--verbose", "--include-partial-messages"]
        if task.passing:
            # Not plan mode: it would take a larger model than the small one that is asked for.
            argv += ["--permission-mode", "dontAsk", "--tools", "", "--strict-mcp-config"]
            argv.append("--no-session-persistence")
        else:
            argv += ["--permission-mode", _MODES[task.permission], "--disallowedTools", _NO_TOOLS]
        files: dict[str, bytes] = {}
        if task.pulls:
            # Beside the user's own servers. Written to a private file: argv is for all to see.
            files[_MCP_FILE] = mcp_config(task.pulls)
            argv += ["--mcp-config", f"{task.scratch}/{_MCP_FILE}", "--allowedTools", "mcp__moot"]
        if model := task.model or self.config.model:
            argv += ["--model", model]
        if task.resume:
            argv += ["--resume", task.resume]
        else:
            argv += ["--session-id", str(uuid.uuid5(_SPACE, task.run_id))]
        prompt = joined(task.context, task.prompt) if task.resume else task.prompt
        if task.context and not task.resume:
            files[_CONTEXT_FILE] = task.context.replace("\0", "").encode("utf-8", "replace")
            argv += ["--append-system-prompt-file", f"{task.scratch}/{_CONTEXT_FILE}"]
        argv += self.config.args
        env = {
            # "@/absolute/path" in a prompt would be read and sent without any permission check.
            "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "2",
        }
        stdin = disarm(prompt).encode("utf-8", "replace")
        return Spawn(tuple(argv), task.cwd, stdin, env, files)

    def reader(self, task: EngineTask) -> ClaudeReader:
        """See ``core.ports.Engine``."""
        return ClaudeReader(resumed=bool(task.resume))

    def signed_in(self, environ: Mapping[str, str], read: Callable[[str], str]) -> bool | None:
        """Whether a key, a token or a login is there."""
        keys = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
        clouds = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")
        if any(environ.get(k) for k in keys):
            return True
        if any(environ.get(k) for k in clouds):
            return None
        folder = environ.get("CLAUDE_CONFIG_DIR") or "~/.claude"
        if read(f"{folder}/.credentials.json"):
            return True
        if "apiKeyHelper" in read(f"{folder}/settings.json"):
            return True
        account = f"{folder}/.claude.json" if environ.get("CLAUDE_CONFIG_DIR") else "~/.claude.json"
        # On macOS the login itself is in the keychain; the account is noted here.
        return None if '"oauthAccount"' in read(account) else False


def mcp_config(pulls: PullAccess) -> bytes:
    """The file that tells it of Moot's server for Pulls."""
    headers = {"Authorization": f"Bearer {pulls.token}"}
    # Always loaded: else the model has to search for the tool before it can call it.
    server = {"type": "http", "url": pulls.url, "headers": headers, "alwaysLoad": True,
              "timeout": _TOOL_MS}  # fmt: skip
    return json.dumps({"mcpServers": {"moot": server}}).encode()


def disarm(prompt: str) -> str:
    """The prompt without NUL, and with a leading space where it would be taken for a command."""
    prompt = prompt.replace("\0", "")
    # U+FEFF is white space to JavaScript, but not to Python.
    return f" {prompt}" if prompt.lstrip().lstrip("\ufeff").lstrip().startswith("/") else prompt


_REASONS: dict[str, tuple[OutcomeKind, str]] = {
    "max_turns": ("crashed", "it stopped at its limit of turns"),
    "prompt_too_long": ("context-too-long", ""),
    "aborted_streaming": ("cancelled", "it was interrupted"),
    "aborted_tools": ("cancelled", "it was interrupted"),
}


_FIXES: dict[OutcomeKind, str] = {
    "auth": "Run `claude` on the host and sign in with /login, or set ANTHROPIC_API_KEY; "
    "then try again.",
    "missing-binary": "Install it with `npm install -g @anthropic-ai/claude-code`, or set "
    "[engines.claude] path.",
}


class ClaudeReader(LineReader):
    """See ``core.ports.Reader``."""

    def __init__(self, *, resumed: bool) -> None:
        super().__init__()
        self.fixes = _FIXES
        self._resumed = resumed
        self.handlers = {
            "system": self._system,
            "stream_event": self._stream_event,
            "assistant": self._assistant,
            "user": self._user,
            "result": self._result,
        }

    def _system(self, d: JsonObject) -> None:
        match text_of(d, "subtype"):
            case "init":
                self.started(text_of(d, "session_id"))
            case "api_retry":
                kind = classify(text_of(d, "error"), int_of(d, "error_status") or None)
                attempt = f"{int_of(d, 'attempt')}/{int_of(d, 'max_retries')}"
                self.retry(kind, f"{text_of(d, 'error')}, attempt {attempt}")
                if kind == "auth":  # it would go on for minutes
                    self.fail(kind, text_of(d, "error"), final=True)
            case "permission_denied":
                self.warn(text_of(d, "message"), "denied")
            case "compact_boundary":
                self.emit("compacted", text_of(d, "compact_metadata", "trigger"))
            case _:
                pass

    def _stream_event(self, d: JsonObject) -> None:
        if get(d, "parent_tool_use_id"):
            return  # a sub-agent's words are not the answer
        if text_of(d, "event", "type") == "message_start":
            self.partial.clear()  # after a retry the text begins anew
        elif text_of(d, "event", "delta", "type") == "text_delta":
            self.delta(text_of(d, "event", "delta", "text"))

    def _assistant(self, d: JsonObject) -> None:
        if get(d, "parent_tool_use_id"):
            return
        if text_of(d, "message", "model") == "<synthetic>" and d.get("error"):
            return  # comes again, better, in the result
        for block in list_of(d, "message", "content"):
            match text_of(block, "type"):
                case "text":
                    self.message(text_of(block, "text"))
                case "thinking":
                    self.emit("thinking", text_of(block, "thinking"))
                case "tool_use":
                    name = text_of(block, "name")
                    self.tool_start(text_of(block, "id"), name, about(get(block, "input")))
                case _:
                    pass

    def _user(self, d: JsonObject) -> None:
        for block in list_of(d, "message", "content"):
            if text_of(block, "type") == "tool_result":
                self.tool_end(text_of(block, "tool_use_id"), ok=get(block, "is_error") is not True)

    def _result(self, d: JsonObject) -> None:
        self.started(text_of(d, "session_id") if not get(d, "is_error") else "")
        used = get(d, "usage")
        cached = int_of(used, "cache_read_input_tokens")
        self.usage = Usage(
            input_tokens=int_of(used, "input_tokens")
            + int_of(used, "cache_creation_input_tokens")
            + cached,
            output_tokens=int_of(used, "output_tokens"),
            cached_tokens=cached,
            # of the whole session: what a resumed run cost cannot be told from it
            cost_usd=0.0 if self._resumed else float_of(d, "total_cost_usd"),
        )
        self.emit("usage")
        # subtype may be "success" all the same
        if get(d, "is_error") is not True and text_of(d, "subtype") in ("", "success"):
            final = text_of(d, "result")
            self.unclean = not final.strip()  # the answer then stands in the messages (C104)
            if final.strip():
                self.answer = final
            self.close(ok=True)
            return
        text = text_of(d, "result") or "; ".join(str(e) for e in get(d, "errors") or ())
        kind, known = _REASONS.get(text_of(d, "terminal_reason"), (None, ""))
        if kind is None and not text and text_of(d, "subtype") == "error_during_execution":
            kind, known = "cancelled", "it was interrupted"
        if text_of(d, "subtype") == "error_max_turns":
            kind, known = _REASONS["max_turns"]
        self.fail(kind or classify(text, int_of(d, "api_error_status") or None), known or text)
        self.close(ok=False)


def about(tool_input: object) -> str:
    """The command or path that says best what a tool call is about."""
    for key in ("command", "file_path", "path", "pattern", "query", "url", "description", "prompt"):
        if text := text_of(tool_input, key):
            return text
    return json.dumps(tool_input, ensure_ascii=False)[:200] if tool_input else ""


ENGINE = Claude
