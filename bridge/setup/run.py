"""``moot setup`` as it is started."""

from __future__ import annotations

from pathlib import Path

from bridge import logs
from bridge.setup.steps import PLATFORMS, Setup, guide_for
from bridge.setup.store import SettingsFile
from bridge.setup.talk import Talk
from config.settings import Settings
from core.errors import BadInput


def set_up(platform: str, config: Path | None) -> Settings | None:
    """Lead through a platform; the settings when Moot is to be started now.

    Raises:
        MootError: it cannot go on; says why.
    """
    logs.set_up("error")
    known = [name for name, _ in PLATFORMS]
    if platform and platform not in known:
        raise BadInput(f"There is no chat {platform!r}; there are: {', '.join(known)}.")
    talk = Talk()
    chosen = platform or talk.choose("Which chat", PLATFORMS, "slack")
    return Setup(guide_for(chosen), talk, SettingsFile(config)).lead()
