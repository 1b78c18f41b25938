"""Personas: role documents, the project's own first, then the shipped ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

MAX_PERSONA_CHARS = 8_000
PROJECT_FOLDER = Path(".moot") / "personas"


def persona_text(name: str, folders: Sequence[Path]) -> str:
    """The role document of ``name`` from the first folder that has it; empty when none has.

    Blocking: call it in a thread. ``name`` is what a person typed, so it must be a plain word.
    """
    if not re.fullmatch(r"[\w-]{1,40}", name):
        return ""
    for folder in folders:
        path = folder / f"{name}.md"
        if path.is_file():
            return path.read_text("utf-8", errors="replace")[:MAX_PERSONA_CHARS].strip()
    return ""
