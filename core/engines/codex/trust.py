"""What the project's folder may tell Codex: its words, and its settings only where they may count.

Codex reads ``.codex/config.toml`` of a folder that it trusts (MCP servers there run outside of the
sandbox), and by itself trusts for good, in the user's own file, each folder it was let change
something in. Told for one process whom to trust, it writes nothing; but of a folder that it is told
not to trust it leaves out AGENTS.md as well, so Moot gives it that.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

MAX_BYTES = 32 * 1024  # Codex's own limit for all of them together
_NAMES = ("AGENTS.override.md", "AGENTS.md")  # the first that is there counts, as in Codex


def trust(cwd: str, *, trusted: bool) -> str:
    """The setting that says for this process which folders are trusted.

    Not trusted: the folder and all above it, for each has settings of its own that could count.
    Trusted: from the work tree's top down to it. Blocking.
    """
    # Not projects."/a/b".trust_level: a path with dots or quotes would be cut at them.
    level = "trusted" if trusted else "untrusted"
    entries = [f'{quoted(folder)}={{trust_level="{level}"}}' for folder in _folders(cwd, trusted)]
    return f"projects={{{','.join(entries)}}}"


def instructions(cwd: str) -> str:
    """AGENTS.md from the work tree's top down to ``cwd``, as Codex would tell it; "" for none.

    Left out is what cannot be read, and a link that leads out of the work tree. Blocking.
    """
    top = _top(cwd)
    left, texts = MAX_BYTES, list[str]()
    for folder in reversed(_between(cwd, top)):
        text = next((text for name in _NAMES if (text := _read(folder / name, top, left))), "")
        left -= len(text.encode())
        texts += [text] if text.strip() else []
    if not texts:
        return ""
    told = "\n\n".join(texts)
    return f"# AGENTS.md instructions for {cwd}\n\n<INSTRUCTIONS>\n{told}\n</INSTRUCTIONS>"


def quoted(path: str) -> str:
    """A path as a string of TOML: that of JSON, but for characters beyond the first plane."""
    return json.dumps(path, ensure_ascii=False).replace("\x7f", "\\u007f")


def _folders(cwd: str, trusted: bool) -> Sequence[str]:  # noqa: FBT001
    if trusted:
        return [str(path) for path in _between(cwd, _top(cwd))]
    paths = [Path(cwd), Path(os.path.realpath(cwd))]  # a link may lead below another folder
    return list(dict.fromkeys(str(p) for path in paths for p in (path, *path.parents)))


def _top(cwd: str) -> Path:
    """The work tree's top; an empty ``.git``, as sandboxes leave them, makes none."""
    here = Path(os.path.realpath(cwd))
    return next((p for p in (here, *here.parents) if _is_top(p / ".git")), here)


def _is_top(git: Path) -> bool:
    try:
        return git.is_file() or (git / "HEAD").is_file()  # a file: in another work tree
    except OSError:
        return False


def _between(cwd: str, top: Path) -> list[Path]:
    """``cwd`` and what is above it up to ``top``."""
    here = Path(os.path.realpath(cwd))
    return [path for path in (here, *here.parents) if path.is_relative_to(top)]


def _read(path: Path, top: Path, most: int) -> str:
    try:
        real = path.resolve()
        if most <= 0 or not real.is_relative_to(top) or not real.is_file():
            return ""
        with real.open("rb") as file:
            return file.read(most).decode("utf-8", "ignore")
    except (OSError, RuntimeError):
        return ""  # as if it were not there: Codex passes over it too
