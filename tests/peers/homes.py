"""A private home for each agent CLI, set up to speak to the model server of ``peers.models``.

``Homes(folder, url)`` gives, per engine, the environment to run it in: its configuration folder is
below ``folder``, its base URL is ``url``, and nothing of the real user's set-up is seen. For whole
runs of the product, ``everything()`` joins them and puts the CLIs on PATH.

``folder`` must not be below /tmp for Codex, which may write there in its workspace mode: see
``folder_for``.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.peers.npm import BIN, ROOT

KEY = "sk-fake-0123456789"
MODELS = {
    "claude": "claude-sonnet-4-5",
    "codex": "",
    "gemini": "gemini-2.5-pro",
    "opencode": "fake/fake-model",
    "ollama": "fake-local:latest",
}


@contextmanager
def folder_for(name: str) -> Iterator[Path]:
    """A fresh folder below ``.cache`` that is removed afterwards."""
    parent = ROOT / ".cache" / "homes"
    parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


class Homes:
    """See the module. ``env(name)`` makes the home on first use."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url

    def base(self) -> dict[str, str]:
        """What every engine gets: a PATH with the CLIs first, and a HOME of its own."""
        home = self.folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        return {
            "PATH": os.pathsep.join([str(BIN), os.environ.get("PATH", os.defpath)]),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
        }

    def env(self, name: str) -> dict[str, str]:
        """The whole environment for one engine."""
        return {**self.base(), **getattr(self, f"_{name}")()}

    def everything(self) -> dict[str, str]:
        """One environment in which every engine works (Codex needs ``env = ["FAKE_API_KEY"]``)."""
        joined = self.base()
        for name in ("claude", "codex", "gemini", "opencode", "ollama"):
            joined.update(getattr(self, f"_{name}")())
        return joined

    def _make(self, name: str) -> Path:
        made = self.folder / name
        made.mkdir(parents=True, exist_ok=True)
        return made

    def _claude(self) -> dict[str, str]:
        return {
            "CLAUDE_CONFIG_DIR": str(self._make("claude")),
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_MODEL": MODELS["claude"],
            "IS_SANDBOX": "1",
        }

    def _codex(self) -> dict[str, str]:
        home = self._make("codex")
        (home / "config.toml").write_text(
            'model_provider = "fake"\nmodel = "fake-model"\n\n'
            f'[model_providers.fake]\nname = "fake"\nbase_url = "{self.url}/v1"\n'
            'env_key = "FAKE_API_KEY"\nwire_api = "responses"\n'
            "request_max_retries = 1\nstream_max_retries = 1\n"
        )
        return {"CODEX_HOME": str(home), "FAKE_API_KEY": KEY}

    def _gemini(self) -> dict[str, str]:
        home = self._make("gemini")
        settings = home / ".gemini" / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(
            json.dumps(
                {
                    "security": {"auth": {"selectedType": "gemini-api-key"}},
                    "general": {"maxAttempts": 2, "enableAutoUpdate": False},
                    "privacy": {"usageStatisticsEnabled": False},
                    "model": {"name": MODELS["gemini"]},
                }
            )
        )
        return {
            "GEMINI_CLI_HOME": str(home),
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "GEMINI_API_KEY": KEY,
        }

    def _opencode(self) -> dict[str, str]:
        home = self._make("opencode")
        config = home / "opencode.json"
        config.write_text(
            json.dumps(
                {
                    "autoupdate": False,
                    "enabled_providers": ["fake"],
                    "model": MODELS["opencode"],
                    "provider": {
                        "fake": {
                            "npm": "@ai-sdk/openai-compatible",
                            "name": "fake",
                            "options": {"baseURL": f"{self.url}/v1", "apiKey": KEY},
                            "models": {"fake-model": {"name": "fake-model"}},
                        }
                    },
                }
            )
        )
        return {
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CACHE_HOME": str(home / "cache"),
            "OPENCODE_CONFIG": str(config),
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        }

    def _ollama(self) -> dict[str, str]:
        return {"OLLAMA_HOST": self.url}
