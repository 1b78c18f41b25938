"""What the project's own settings forbid holds, though nothing else of them counts. Blocking."""

from __future__ import annotations

import json
import re
from pathlib import Path

from core.streams import JsonObject, texts_of
from core.streams.lines import parse_line

_FILES = ("settings.json", "settings.local.json")
_MAX_BYTES = 1 << 20
# "/src" is below the folder of the settings that say so, and these will be in another one.
_FROM_THE_TOP = re.compile(r"((?:Read|Edit|Write|MultiEdit|NotebookEdit|Glob|Grep)\()(?=/(?!/))")


def narrowing(cwd: str) -> bytes:
    """A settings file with the rules to deny and to ask of the project in ``cwd``, or nothing."""
    rules = {kind: list[str]() for kind in ("deny", "ask")}
    for name in _FILES:
        said = _read(Path(cwd, ".claude", name))
        for kind, found in rules.items():
            told = texts_of(said, "permissions", kind)
            found += [_FROM_THE_TOP.sub(r"\1.", rule) for rule in told]
    held = {kind: found for kind, found in rules.items() if found}
    return json.dumps({"permissions": held}).encode() if held else b""


def _read(path: Path) -> JsonObject:
    try:
        with path.open("rb") as file:
            text = b" ".join(file.read(_MAX_BYTES).splitlines())
    except OSError:
        return {}  # it is not there, as mostly
    found, _ = parse_line(text)
    return found[0] if found else {}
