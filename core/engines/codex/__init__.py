"""Codex: a run is one ``codex app-server``, talked to until its turn is over.

Why not ``codex exec``: see docs/decisions/0055-codex-by-its-app-server.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial

from core.engines.codex import terminal
from core.engines.codex.holding import DENIED, profile
from core.engines.codex.reader import CodexReader
from core.engines.codex.trust import instructions, trust
from core.model import PERMISSIONS, EngineConfig, EngineTask, EngineTraits, Spawn, TerminalSession

_TOKEN = "MOOT_PULL_TOKEN"  # noqa: S105 - the variable's name
_TOOL_S = 30  # its own patience with a tool; ours with a Pull ends before
_MOST_TOLD = 64  # projects' instructions that wait for their run to begin


class Codex:
    """The engine; see ``core.ports.Engine`` and ``core.engines.process.probe.Probed``."""

    name = "codex"
    programs = ("codex",)
    ping = None
    traits = EngineTraits(
        memory_mb=250, resumes=True, in_run_pull=True, permissions=frozenset(PERMISSIONS)
    )

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.env_names = ("CODEX_*", "OPENAI_*", *config.env)
        self._told: dict[str, str] = {}  # the project's instructions, by the attempt's mark

    def start(self, task: EngineTask) -> Spawn:
        """See ``core.ports.Engine``: what is asked goes to its stdin, as the reader says."""
        argv = [self.config.path or "codex", "app-server"]
        # Without the first a refused connection is tried again without end. Not --disable: another
        # version may not know a feature, and refuses the flag but not the setting.
        settings = [
            f"{name}=false"
            for name in ("features.unbounded_connection_retries", "features.plugins",
                         "analytics.enabled", "check_for_update_on_startup")
        ]  # fmt: skip
        settings += [trust(task.cwd, trusted=task.trusted_settings), *profile(task)]
        if not (task.trusted_settings or task.resume or task.passing):
            self._tell(task.mark, instructions(task.cwd))
        # Where it is off, the tool for questions is there but says that it cannot be used.
        asks = "true" if task.asks else "false"
        settings.append(f"features.default_mode_request_user_input={asks}")
        if task.asks:  # it warns about that in every run
            settings.append("suppress_unstable_features_warning=true")
        env: dict[str, str] = {}
        if task.pulls:  # beside the user's own servers
            env[_TOKEN] = task.pulls.token
            settings += (
                f"mcp_servers.moot.{setting}"
                for setting in (f"url={json.dumps(task.pulls.url)}",
                                f'bearer_token_env_var="{_TOKEN}"',
                                'default_tools_approval_mode="approve"',
                                f"tool_timeout_sec={_TOOL_S}")
            )  # fmt: skip
        for setting in settings:
            argv += ["-c", setting]
        files = {DENIED: b""}
        return Spawn((*argv, *self.config.args), task.cwd, env=env, files=files, dialogue=True)

    def reader(self, task: EngineTask) -> CodexReader:
        """See ``core.ports.Engine``."""
        told = partial(self._told.pop, task.mark, "")
        return CodexReader(task, task.model or self.config.model, told)

    def _tell(self, mark: str, text: str) -> None:
        """Keep what the project tells until its turn is asked; files are read in ``start`` only."""
        while len(self._told) >= _MOST_TOLD:  # of runs that did not come so far
            self._told.pop(next(iter(self._told)), None)
        if text:
            self._told[mark] = text

    def terminal_sessions(self, cwd: str, environ: Mapping[str, str]) -> Sequence[TerminalSession]:
        """See ``core.ports.InTerminal``."""
        return terminal.sessions(cwd, environ)

    def resume_command(self, session: str, cwd: str) -> str:
        """See ``core.ports.InTerminal``."""
        return terminal.resume_command(session, cwd, self.config.path or "codex")

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


ENGINE = Codex
