"""Small print: a last line in italics that begins with a character nobody sees. Pure.

Platforms that have small print of their own show it as that; all others leave the italics.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MARK = "\u2063"  # invisible separator: no font shows it


def small(text: str) -> str:
    """``text`` (Markdown, one line) as a paragraph in small print."""
    return f"*{MARK}{text}*"


def set_small(pieces: Sequence[str], italic: str, before: str, after: str) -> tuple[str, ...]:
    """Rendered pieces with the small print in its platform's spelling.

    ``italic`` is the platform's mark for italics; what stands there instead must not be longer.
    """
    if not pieces or MARK not in pieces[-1]:
        return tuple(pieces)
    mark = re.escape(italic)
    line = re.compile(rf"^{mark}{MARK}(.*){mark}\Z", re.MULTILINE)
    last = line.sub(lambda found: f"{before}{found[1]}{after}", pieces[-1])
    return (*pieces[:-1], last)
