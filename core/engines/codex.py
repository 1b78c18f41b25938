"""Codex: ``codex exec --json``. PURE."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from core.model import (
    EngineConfig,
    EngineTask,
    EngineTraits,
    OutcomeKind,
    Permission,
    Spawn,
    Usage,
)
from core.streams import (
    JsonObject,
    LineReader,
    classify,
    get,
    int_of,
    joined_prompt,
    list_of,
    text_of,
)

_SANDBOX: dict[Permission, str] = {
    "plan": "read-only",
    "edit": "workspace-write",
    "full": "danger-full-access",
}
_TOKEN = "MOOT_PULL_TOKEN"  # noqa: S105 - the variable's name
_TOOL_S = 30  # its own patience with a tool; ours with a Pull ends before


class Codex:
    """The engine; see ``core.ports.Engine`` and ``core.engines.process.probe.Probed``."""

    name = "codex"
    programs = ("codex",)
    ping = None
    traits = EngineTraits(memory_mb=250, resumes=True, in_run_pull=True)

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.env_names = ("CODEX_*", "OPENAI_*", *config.env)

    def start(self, task: EngineTask) -> Spawn:
        """See ``core.ports.Engine``: context and prompt go to stdin."""
        argv = [self.config.path or "codex", "exec"]
        if task.resume:
            argv.append("resume")
        argv += ["--json", "--skip-git-repo-check"]
        if task.passing:
            argv.append("--ephemeral")
        # "resume" knows no --sandbox, so both ways use the setting.
        argv += ["-c", f'sandbox_mode="{_SANDBOX[task.permission]}"']
        argv += ["-c", 'approval_policy="never"']
        # Without the first a refused connection is tried again without end. Not --disable: another
        # version may not know a feature, and refuses the flag but not the setting.
        for setting in ("features.unbounded_connection_retries", "features.plugins",
                        "analytics.enabled", "check_for_update_on_startup"):  # fmt: skip
            argv += ["-c", f"{setting}=false"]
        env: dict[str, str] = {}
        if task.pulls:  # beside the user's own servers
            env[_TOKEN] = task.pulls.token
            for setting in (f"url={json.dumps(task.pulls.url)}",
                            f'bearer_token_env_var="{_TOKEN}"',
                            'default_tools_approval_mode="approve"',
                            f"tool_timeout_sec={_TOOL_S}"):  # fmt: skip
                argv += ["-c", f"mcp_servers.moot.{setting}"]
        if model := task.model or self.config.model:
            argv += ["-m", model]
        argv += self.config.args
        if task.resume:
            argv.append(task.resume)
        argv.append("-")
        return Spawn(tuple(argv), task.cwd, joined_prompt(task.context, task.prompt), env)

    def reader(self, task: EngineTask) -> CodexReader:
        """See ``core.ports.Engine``."""
        del task
        return CodexReader()

    def signed_in(self, environ: Mapping[str, str], read: Callable[[str], str]) -> bool | None:
        """Whether a key or a login is there, or a provider that brings its own.

        A provider's key counts only where Codex gets to see it: ``[engines.codex] env`` names it.
        """
        folder = environ.get("CODEX_HOME") or "~/.codex"
        if environ.get("CODEX_API_KEY") or read(f"{folder}/auth.json").strip():
            return True
        config = read(f"{folder}/config.toml")
        if "model_provider" not in config:
            return False
        keys = [
            line.split("=", 1)[1].strip(" \t\"'")
            for line in config.splitlines()
            if line.strip().startswith("env_key") and "=" in line
        ]
        if not keys:
            return None
        seen = (key for key in keys if any(fnmatchcase(key, name) for name in self.env_names))
        return any(environ.get(key) for key in seen)


_FIXES: dict[OutcomeKind, str] = {
    "auth": "Run `codex login` on the host, or name the variable of your provider's key in "
    "[engines.codex] env; then try again.",
    "missing-binary": "Install it with `npm install -g @openai/codex`, or set "
    "[engines.codex] path.",
}


class CodexReader(LineReader):
    """See ``core.ports.Reader``. Codex sends no text deltas: a message comes when it is whole."""

    def __init__(self) -> None:
        super().__init__()
        self.fixes = _FIXES
        self.handlers = {
            "thread.started": lambda d: self.started(text_of(d, "thread_id")),
            "item.started": self._item,
            "item.completed": self._item,
            "error": self._error,
            "turn.failed": self._failed,
            "turn.completed": self._completed,
        }

    def _item(self, d: JsonObject) -> None:
        item = get(d, "item")
        kind, item_id = text_of(item, "type"), text_of(item, "id")
        starts = text_of(d, "type") == "item.started"
        match kind:
            case "agent_message" if not starts:
                self.message(text_of(item, "text"))
            case "reasoning" if not starts:
                self.emit("thinking", text_of(item, "text"))
            case "error":
                self.emit("warning", text_of(item, "message"))
            case "agent_message" | "reasoning" | "todo_list":
                pass
            case _ if starts:
                self.tool_start(item_id, kind, about(item))
            case _:
                failed = text_of(item, "status") == "failed" or int_of(item, "exit_code") != 0
                self.tool_end(item_id, kind, ok=not failed)

    def _error(self, d: JsonObject) -> None:
        # Passing trouble and fatal errors share this type: only what follows tells them apart.
        text = text_of(d, "message")
        self.retry(classify(text), text)

    def _failed(self, d: JsonObject) -> None:
        text = text_of(d, "error", "message") or (self.trouble or ("", ""))[1]
        self.fail(classify(text), text)
        self.close(ok=False)

    def _completed(self, d: JsonObject) -> None:
        used = get(d, "usage")
        self.usage = Usage(
            input_tokens=int_of(used, "input_tokens"),
            output_tokens=int_of(used, "output_tokens"),
            cached_tokens=int_of(used, "cached_input_tokens"),
        )
        self.emit("usage")
        self.close(ok=True)


def about(item: object) -> str:
    """The command, file or tool that an item is about."""
    if command := text_of(item, "command"):
        return command
    if changes := list_of(item, "changes"):
        return ", ".join(text_of(change, "path") for change in changes)
    if tool := text_of(item, "tool"):
        return f"{text_of(item, 'server')} {tool}".strip()
    if query := text_of(item, "query"):
        return query
    return json.dumps(item, ensure_ascii=False)[:200]


ENGINE = Codex
