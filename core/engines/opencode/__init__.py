"""OpenCode: ``opencode run --format json``, and ``opencode acp`` where it has to ask.

Why two ways: see docs/decisions/0056-gemini-and-opencode-ask-by-acp.md.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.engines.opencode import terminal
from core.engines.opencode.asking import OpenCodeAcpReader
from core.engines.opencode.reader import OpenCodeReader
from core.model import (
    PERMISSIONS,
    EngineConfig,
    EngineTask,
    EngineTraits,
    Permission,
    PullAccess,
    Spawn,
    TerminalSession,
)
from core.streams import joined_prompt

# Its own defaults allow everything, and its plan agent keeps the shell; "ask" with nobody to ask
# ends the run. So every tool is named here, and the last word is deny.
_READ = {"read": "allow", "grep": "allow", "glob": "allow", "list": "allow", "lsp": "allow",
         "todowrite": "allow", "todoread": "allow", "skill": "allow"}  # fmt: skip
# Its own questions are not passed on in any of its modes.
_NO_QUESTIONS = {"question": "deny", "plan_enter": "deny", "plan_exit": "deny"}
_PERMISSIONS: dict[Permission, dict[str, str]] = {
    "plan": {"*": "deny", **_READ},
    # A sub-agent's requests reach nobody: it would wait for ever (C150).
    "ask": {"*": "ask", **_READ, **_NO_QUESTIONS, "task": "deny"},
    "edit": {"*": "deny", **_READ, "edit": "allow", "write": "allow", "patch": "allow",
             "webfetch": "allow"},
    "full": {"*": "allow", **_NO_QUESTIONS},
}  # fmt: skip
_CONFIG: dict[str, Any] = {"autoupdate": False, "share": "disabled"}
_ASKING: dict[str, Any] = {
    "experimental": {"continue_loop_on_deny": True},  # else a denial ends the run
    "agent": {"title": {"disable": True}},  # else another model call
}
# Permissions of an agent are the last word, and a setting may give them to any agent: so below
# "full" it works as one that no setting knows of.
_AGENT = "held-to-{}"
# Its formatters and language servers are programs out of the project's folder.
_NO_PROGRAMS: dict[str, Any] = {"formatter": False, "lsp": False}
_WORDS = ("AGENTS.md", "CLAUDE.md")  # read although the project's settings are not
_TOOL_MS = 30_000  # its own patience with a tool; ours with a Pull ends before
_TITLE = "Moot"  # a given title saves the extra model call for one


class OpenCode:
    """The engine; see ``core.ports.Engine`` and ``core.engines.process.probe.Probed``."""

    name = "opencode"
    programs = ("opencode",)
    ping = None
    traits = EngineTraits(
        memory_mb=1300,
        cores=2.0,
        resumes=True,
        in_run_pull=True,
        permissions=frozenset(PERMISSIONS),
    )

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.env_names = ("OPENCODE_*", *config.env)

    def start(self, task: EngineTask) -> Spawn:
        """See ``core.ports.Engine``: context and prompt go to stdin, or into the dialogue.

        The model is ``provider/model``, as OpenCode wants it.
        """
        asks = task.permission == "ask"
        config = {**_CONFIG, **(_ASKING if asks else {})}
        may: dict[str, Any] = dict(_PERMISSIONS[task.permission])
        if task.folders:
            may["external_directory"] = {f"{folder}/*": "allow" for folder in task.folders}
        if task.pulls:
            config["mcp"] = {"moot": mcp_server(task.pulls)}
            may["moot_*"] = "allow"
        agent = "" if task.permission == "full" else _AGENT.format(task.permission)
        if agent:
            config["agent"] = {
                **config.get("agent", {}),
                agent: {"mode": "primary", "permission": may},
            }
            config["default_agent"] = agent
        if not task.trusted_settings:
            config["instructions"] = [f"{task.cwd}/{name}" for name in _WORDS]
            config.update(_NO_PROGRAMS if agent else {})
        env = {
            "OPENCODE_PERMISSION": json.dumps(may),
            # Added to the user's own configuration, which stays in force.
            "OPENCODE_CONFIG_CONTENT": json.dumps(config),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }
        if not task.trusted_settings:
            # Its files there, plugins, and what it would install beside them.
            env["OPENCODE_DISABLE_PROJECT_CONFIG"] = "1"
        program = self.config.path or "opencode"
        logs = ("--print-logs", "--log-level", "ERROR")  # else its endless retries are silent
        if asks:
            # It listens on loopback as well, where anybody on the host could give leave.
            env["OPENCODE_SERVER_PASSWORD"] = secrets.token_urlsafe(32)
            argv = (program, "acp", *logs, *self.config.args)
            return Spawn(argv, task.cwd, env=env, dialogue=True)
        argv = (program, "run", "--format", "json", "--thinking", *logs)
        argv += ("--session", task.resume) if task.resume else ("--title", _TITLE)
        argv += ("--agent", agent) if agent else ()
        if model := task.model or self.config.model:
            argv += ("-m", model)
        prompt = joined_prompt(task.context, task.prompt)
        return Spawn((*argv, *self.config.args), task.cwd, prompt, env)

    def reader(self, task: EngineTask) -> OpenCodeReader | OpenCodeAcpReader:
        """See ``core.ports.Engine``."""
        if task.permission == "ask":
            return OpenCodeAcpReader(task, task.model or self.config.model)
        return OpenCodeReader()

    def terminal_sessions(self, cwd: str, environ: Mapping[str, str]) -> Sequence[TerminalSession]:
        """See ``core.ports.InTerminal``."""
        return terminal.sessions(cwd, environ)

    def resume_command(self, session: str, cwd: str) -> str:
        """See ``core.ports.InTerminal``."""
        return terminal.resume_command(session, cwd, self.config.path or "opencode")

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


ENGINE = OpenCode
