"""How texts of engines are bounded. PURE.

A secret that was cut is recognised by nobody. So readers keep texts in a length that only keeps
memory and time in bounds, and what is shown is cut after secrets were taken out, with the run's own
among them (``core.engines.process.shown``).
"""

from __future__ import annotations

MAX_KEPT_CHARS = 100_000
MAX_LINE_CHARS = 4_000  # of what is shown as one short line
MAX_ERROR_CHARS = 8_000  # longer than a private key


def kept(text: str, max_chars: int = MAX_KEPT_CHARS) -> str:
    """The beginning of ``text``, as far as it is held in memory."""
    return text[:max_chars]


def head(text: str, max_chars: int) -> str:
    """The beginning of ``text``; how much is left out is said on a line of its own."""
    left = len(text) - max_chars
    return text if left <= 0 else f"{text[:max_chars]}\n[at least {left:,} more characters]"


def short(text: str, max_chars: int) -> str:
    """``text`` as one line, cut to ``max_chars``."""
    line = " ".join(text.split())
    return line if len(line) <= max_chars else f"{line[: max_chars - 1]}…"
