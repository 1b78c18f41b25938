"""How Claude Code is started. Pure, but for the sessions of a terminal."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping

from core.engines.claude import terminal
from core.engines.claude.asking import user_message
from core.engines.claude.narrowing import narrowing
from core.engines.claude.reader import ClaudeReader
from core.model import (
    EngineConfig,
    EngineTask,
    EngineTraits,
    Permission,
    PullAccess,
    Spawn,
    TerminalSession,
)
from core.streams import joined

_MODES: dict[Permission, str] = {
    "plan": "plan",
    "ask": "default",
    "edit": "acceptEdits",
    "full": "bypassPermissions",  # refused as root unless IS_SANDBOX=1 is set for Moot
}
_SPACE = uuid.UUID("9d9ad4a6-53b6-4f7e-8a4d-2f1f7d0c7c11")
_CONTEXT_FILE = "context.md"
_MCP_FILE = "mcp.json"
_FORBIDDEN_FILE = "forbidden.json"
_TOOL_MS = 30_000  # its own patience with a tool; ours with a Pull ends before

# CLAUDE.md, what it imports and .claude/rules, of folders that are given to it.
_WORDS = {"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1"}

# Tools that outlive a one-shot run, and those that would wait for a person who is not there.
_NO_TOOLS = "ScheduleWakeup,CronCreate"
_ASK_TOOLS = ",AskUserQuestion"
_PLAN_TOOLS = ",EnterPlanMode,ExitPlanMode"


class Claude:
    """The engine; see ``core.ports.Engine`` and ``core.engines.process.probe.Probed``."""

    name = "claude"
    programs = ("claude",)
    ping = None
    traits = EngineTraits(
        memory_mb=270,
        system_prompt=True,
        resumes=True,
        in_run_pull=True,
        permissions=frozenset(("plan", "ask", "edit", "full")),
        small_model="haiku",
    )

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.env_names = (
            *("ANTHROPIC_*", "CLAUDE_*", "IS_SANDBOX", "API_TIMEOUT_MS", "MAX_THINKING_TOKENS"),
            *("DISABLE_*", "BASH_*", "MCP_*", "ENABLE_*"),
            "AWS_*?CLAUDE_CODE_USE_BEDROCK",
            # Not GOOGLE_API_KEY, which is Gemini's.
            "GOOGLE_APPLICATION_CREDENTIALS?CLAUDE_CODE_USE_VERTEX",
            *("GOOGLE_CLOUD_*?CLAUDE_CODE_USE_VERTEX", "CLOUD_ML_*?CLAUDE_CODE_USE_VERTEX"),
            *("VERTEX_*?CLAUDE_CODE_USE_VERTEX", "GCLOUD_*?CLAUDE_CODE_USE_VERTEX"),
            *config.env,
        )

    def start(self, task: EngineTask) -> Spawn:
        """See ``core.ports.Engine``: the context goes into a file, the prompt to stdin.

        A session keeps the system text of its first turn (or loses it, were it told anew with
        ``--system-prompt-snapshot off``): what is told to one that goes on stands in the prompt.
        """
        dialogue = talks(task)
        argv = [self.config.path or "claude", "-p", "--output-format", "stream-json"]
        argv += ["--verbose", "--include-partial-messages", *_held_to(task), *_own_settings(task)]
        if dialogue:
            argv += ["--input-format", "stream-json", "--permission-prompt-tool", "stdio"]
        for folder in task.folders:
            argv += ["--add-dir", folder]
        files: dict[str, bytes] = {}
        if not task.trusted_settings and (forbidden := narrowing(task.cwd)):
            files[_FORBIDDEN_FILE] = forbidden
            argv += ["--settings", f"{task.scratch}/{_FORBIDDEN_FILE}"]
        if task.pulls:
            # Beside the user's own servers. Written to a private file: argv is for all to see.
            files[_MCP_FILE] = mcp_config(task.pulls)
            argv += ["--mcp-config", f"{task.scratch}/{_MCP_FILE}", "--allowedTools", "mcp__moot"]
        if model := task.model or self.config.model:
            argv += ["--model", as_asked_for(model) if task.permission == "plan" else model]
        if task.resume:
            argv += ["--resume", task.resume]
        else:
            argv += ["--session-id", str(uuid.uuid5(_SPACE, task.mark))]
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
        if not task.trusted_settings:
            env |= _WORDS
        stdin = b"" if dialogue else prompt_of(task).encode()  # the reader opens a dialogue
        return Spawn(tuple(argv), task.cwd, stdin, env, files, dialogue)

    def reader(self, task: EngineTask) -> ClaudeReader:
        """See ``core.ports.Engine``."""
        opening = user_message(prompt_of(task)) if talks(task) else b""
        return ClaudeReader(task.permission, task.cwd, resumed=bool(task.resume), opening=opening)

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

    def terminal_sessions(self, cwd: str, environ: Mapping[str, str]) -> list[TerminalSession]:
        """See ``core.ports.InTerminal``."""
        return terminal.sessions(cwd, environ)

    def resume_command(self, session: str, cwd: str) -> str:
        """See ``core.ports.InTerminal``."""
        return terminal.resume_command(session, cwd, self.config.path or "claude")


def talks(task: EngineTask) -> bool:
    """Whether stdin stays open: for what people decide, or to hold it to less than it may do."""
    return not task.passing and (task.asks or task.permission != "full")


def prompt_of(task: EngineTask) -> str:
    """What a person says: to a session that goes on, with the context before it."""
    prompt = joined(task.context, task.prompt) if task.resume else task.prompt
    return disarm(prompt).encode("utf-8", "replace").decode()


def as_asked_for(model: str) -> str:
    """The model's name for plan mode, so that it is the one that runs.

    There Claude Code takes Sonnet where exactly ``haiku`` is asked for ("haiku plan
    upgrade"). Names are looked up without regard to case, and that rule is not.
    """
    return "Haiku" if model == "haiku" else model


def _held_to(task: EngineTask) -> list[str]:
    """What it may do: the arguments."""
    if task.passing:
        # Nothing to plan, and no tool to hold back.
        return [
            *("--permission-mode", "dontAsk", "--tools", "", "--strict-mcp-config"),
            "--no-session-persistence",
        ]
    off = _NO_TOOLS
    if not task.asks:
        off += _ASK_TOOLS
    # To leave plan mode is no way out of Moot's; where more is allowed, it ends where it began.
    if not task.asks or task.permission == "plan":
        off += _PLAN_TOOLS
    return ["--permission-mode", _MODES[task.permission], "--disallowedTools", off]


def _own_settings(task: EngineTask) -> list[str]:
    """Whose settings count: not the project's folder's, if its owner does not say so.

    Whoever can write there could start programs (hooks, MCP servers, helpers), give leave in place
    of people, and send the key elsewhere. A list of what is shut off would never be whole. What the
    project says in words is read by ``_WORDS``.
    """
    return [] if task.trusted_settings else ["--setting-sources", "user", "--add-dir", task.cwd]


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
