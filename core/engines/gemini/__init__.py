"""Gemini CLI: ``gemini --output-format stream-json``, and ``gemini --acp`` where it has to ask.

Why two ways: see docs/decisions/0056-gemini-and-opencode-ask-by-acp.md.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence

from core.engines.gemini import terminal
from core.engines.gemini.asking import GeminiAcpReader
from core.engines.gemini.policy import OWN, POLICY_FILE, policy
from core.engines.gemini.reader import GeminiReader
from core.model import (
    PERMISSIONS,
    EngineConfig,
    EngineTask,
    EngineTraits,
    Permission,
    Spawn,
    TerminalSession,
)
from core.streams import joined_prompt

_MODES: dict[Permission, str] = {
    "plan": "plan",
    "ask": "default",
    "edit": "auto_edit",
    "full": "yolo",
}
# What a `.env` of the project could say of where requests go and what runs, in a folder that is
# worked in as if it were trusted. A variable that is there already, though empty, is left alone.
_NOT_BY_PROJECT = (
    *("GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "CODE_ASSIST_ENDPOINT"),
    *("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"),
    *("NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED"),
    *("GEMINI_SYSTEM_MD", "GEMINI_WRITE_SYSTEM_MD", "GEMINI_SANDBOX", "SANDBOX"),
)
_SPACE = uuid.UUID("5f5a9f8e-6d0e-4f7d-8f63-1c7f3f0f8a42")


class Gemini:
    """The engine; see ``core.ports.Engine`` and ``core.engines.process.probe.Probed``."""

    name = "gemini"
    programs = ("gemini",)
    ping = None
    traits = EngineTraits(memory_mb=400, resumes=True, permissions=frozenset(PERMISSIONS))

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.env_names = ("GEMINI_*", "GOOGLE_*", *config.env)

    def start(self, task: EngineTask) -> Spawn:
        """See ``core.ports.Engine``: context and prompt go to stdin, or into the dialogue."""
        asks = task.permission == "ask"
        argv = [self.config.path or "gemini"]
        argv += ["--acp"] if asks else ["--output-format", "stream-json"]
        argv += ["--approval-mode", _MODES[task.permission]]
        if model := task.model or self.config.model:
            argv += ["-m", model]
        for folder in task.folders:
            argv += ["--include-directories", folder]
        files: dict[str, bytes] = {}
        if task.permission != "full":
            files[POLICY_FILE] = policy(task.permission).encode()
            path = f"{task.scratch}/{POLICY_FILE}"
            argv += ["--admin-policy", path, "--policy", path, "--policy", OWN]
        trusted = task.trusted_settings
        if not (trusted or asks):
            # Its settings are read before its arguments: the project's are left out, and then it
            # works in the folder all the same (untrusted, it refuses to).
            argv.append("--skip-trust")
        if asks:
            pass  # the session is told over the protocol
        elif task.resume:
            argv += ["--resume", task.resume]
        else:
            argv += ["--session-id", str(uuid.uuid5(_SPACE, task.run_id))]
        argv += self.config.args
        env = {
            "GEMINI_CLI_NO_RELAUNCH": "true",  # else a second process, deaf to interrupts
            "GEMINI_CLI_TRUST_WORKSPACE": "true" if trusted else "false",
            "NO_COLOR": "1",
            "TERM": "xterm-256color",  # else it warns about the terminal
        }
        prompt = b"" if asks else joined_prompt(task.context, task.prompt)
        unset = () if trusted else _NOT_BY_PROJECT
        return Spawn(tuple(argv), task.cwd, prompt, env, files, dialogue=asks, unset=unset)

    def reader(self, task: EngineTask) -> GeminiReader | GeminiAcpReader:
        """See ``core.ports.Engine``."""
        return GeminiAcpReader(task) if task.permission == "ask" else GeminiReader()

    def terminal_sessions(self, cwd: str, environ: Mapping[str, str]) -> Sequence[TerminalSession]:
        """See ``core.ports.InTerminal``."""
        return terminal.sessions(cwd, environ)

    def resume_command(self, session: str, cwd: str) -> str:
        """See ``core.ports.InTerminal``."""
        return terminal.resume_command(session, cwd, self.config.path or "gemini")

    def signed_in(self, environ: Mapping[str, str], read: Callable[[str], str]) -> bool | None:
        """Whether a key or a login is there."""
        if environ.get("GEMINI_API_KEY") or environ.get("GOOGLE_API_KEY"):
            return True
        if environ.get("GOOGLE_GENAI_USE_VERTEXAI"):
            return None
        folder = environ.get("GEMINI_CLI_HOME") or "~"
        if read(f"{folder}/.gemini/oauth_creds.json").strip():
            return True
        # A key may also stand in its own .env file, or the login in the system's key store.
        if "GEMINI_API_KEY" in read(f"{folder}/.gemini/.env"):
            return True
        return None if "oauth" in read(f"{folder}/.gemini/settings.json") else False


ENGINE = Gemini
