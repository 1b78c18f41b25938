"""The grammar of ``!resume`` and ``!continue``. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import BadInput
from core.tongue import say

WORDS = {"resume": "resume", "continue": "continue"}
SHOWN = 5
"""How many sessions a list shows."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Show how this thread's sessions are gone on with in a terminal."""


@dataclass(frozen=True, slots=True)
class Continue:
    """Take a session from a terminal into this thread: shown, or the one of that number."""

    engine: str = ""
    number: int = 0


TerminalIntention = Resume | Continue


def parse_terminal(command: str, text: str, engines: frozenset[str]) -> TerminalIntention:
    """``!resume``, or ``!continue codex 2`` in either order, each part optional.

    Raises:
        BadInput: something else; says what would work.
    """
    if command == "resume":
        if text.strip():
            raise BadInput(
                say(
                    "`!resume` alone shows how to go on in a terminal. To have an agent go on, say "
                    "so without the `!`."
                )
            )
        return Resume()
    engine, number = "", 0
    for word in text.lower().split():
        if word in engines and not engine:
            engine = word
        elif word.isascii() and len(word) <= 3 and word.isdigit() and int(word) and not number:
            number = int(word)
        else:
            raise BadInput(
                say(
                    "`!continue` takes a session from a terminal into this thread: `!continue`, "
                    "`!continue claude`, `!continue claude 2`. To have an agent go on, say so "
                    "without the `!`."
                )
            )
    return Continue(engine, number)
