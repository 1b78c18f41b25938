"""Mentions of files that go with a post, in an answer's Markdown. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from core.markup.dialect import make_parser

# As CommonMark writes them, without nesting: a label, and a target in angle brackets or bare.
_LINK = re.compile(
    r"(!?)\[((?:\\.|[^\[\]\\])*)\]\(\s*(?:<([^<>\n]*)>|([^\s()<>]*))(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)"
)
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


def without_links(markdown: str, folder: str, names: Mapping[str, str]) -> str:
    """``markdown`` with images and links to files of ``folder`` as their names, outside code.

    ``names`` maps a file's path in the folder to what it is called where it is posted: the link
    would lead nowhere, and the file stands below the answer.
    """

    def told(link: re.Match[str]) -> str:
        target = unquote(link[3] if link[3] is not None else link[4])
        name = _meant(target, folder, names)
        if name is None:
            return link[0]
        label = link[2].strip()
        shown = f"`{name.replace('`', chr(39))}`"
        return shown if not label or label == name else f"{label} ({shown})"

    if not _LINK.search(markdown):
        return markdown
    markdown = markdown.replace("\r\n", "\n").replace("\r", "\n")
    lines = _LINES.findall(markdown)
    for start, end in reversed(_prose(markdown)):
        piece = "".join(lines[start:end])
        lines[start:end] = [_outside_code(piece, told)]
    return "".join(lines)


def _prose(markdown: str) -> list[tuple[int, int]]:
    """Line spans of blocks of text, in order; what is code or raw is in none."""
    parser = make_parser()
    parser.core.ruler.enableOnly(["normalize", "block"])
    return sorted(
        {
            (token.map[0], token.map[1])
            for token in parser.parse(markdown)
            if token.type == "inline" and token.map
        }
    )


def _outside_code(text: str, told: Callable[[re.Match[str]], str]) -> str:
    """``_LINK`` replaced where it stands in no code span."""
    parts = re.split(r"(?<!`)(`+)(?!`)", text)
    done: list[str] = []
    at = 0
    while at < len(parts):
        done.append(_LINK.sub(told, parts[at]))
        if at + 1 >= len(parts):
            break
        fence = parts[at + 1]
        closing = next((i for i in range(at + 3, len(parts), 2) if parts[i] == fence), None)
        if closing is None:
            done.append(fence)
            at += 2
            continue
        done.append("".join(parts[at + 1 : closing + 1]))
        at = closing + 1
    return "".join(done)


def _meant(target: str, folder: str, names: Mapping[str, str]) -> str | None:
    """Which file of the folder a target is; ``None`` for anything else."""
    bare = target.removeprefix("file://").removeprefix("$MOOT_FILES/").removeprefix("sandbox:")
    bare = bare.removeprefix(folder.rstrip("/") + "/")
    bare = posixpath.normpath(bare)
    return names.get(bare)
