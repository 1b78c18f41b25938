"""Which engine answers when none is named."""

import pytest

from bridge.load import first_usable
from core.model import EngineInfo


def info(name: str, signed_in: bool | None, *, installed: bool = True) -> EngineInfo:
    return EngineInfo(name, installed=installed, version="1.0", signed_in=signed_in, path="")


REHEARSAL = info("rehearsal", True)


@pytest.mark.parametrize(
    ("found", "name"),
    [
        ((), "rehearsal"),
        ((info("claude", True, installed=False), info("codex", True)), "codex"),
        ((info("claude", False), info("codex", True)), "codex"),
        # On macOS Claude Code's login is in the key chain, where we do not look.
        ((info("claude", None), info("codex", True)), "claude"),
        # Free hosted models are nothing a team's question goes to unasked.
        ((info("opencode", None), info("ollama", True)), "ollama"),
        ((info("opencode", None),), "rehearsal"),
        ((info("opencode", True), info("ollama", True)), "opencode"),
        ((info("ollama", None, installed=False),), "rehearsal"),
    ],
)
def test_the_first_usable_one(found, name):
    assert first_usable((*found, REHEARSAL)) == name
