"""Personas: role documents, the project's own first, then the shipped ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import structlog

log = structlog.get_logger()

MAX_PERSONA_CHARS = 8_000
PROJECT_FOLDER = Path(".moot") / "personas"


def persona_text(name: str, folders: Sequence[Path]) -> str:
    """The role document of ``name`` from the first folder that has it; empty when none has.

    One that cannot be read, or is a link out of its project, does not count. Blocking: call it in a
    thread. ``name`` is what a person typed, so it must be a plain word.
    """
    if not re.fullmatch(r"[\w-]{1,40}", name):
        return ""
    for folder in folders:
        path = folder / f"{name}.md"
        own = folder.parts[-2:] == PROJECT_FOLDER.parts
        home = folder.parents[1] if own else folder
        try:
            if not path.is_file() or not path.resolve().is_relative_to(home.resolve()):
                continue  # a link that leads away: what is elsewhere is no role document
            with path.open("rb") as file:
                text = file.read(MAX_PERSONA_CHARS * 4).decode("utf-8", "replace")
        except OSError as error:
            log.warning("persona.unreadable", persona=name, error=type(error).__name__)
            continue
        return text[:MAX_PERSONA_CHARS].strip()
    return ""
