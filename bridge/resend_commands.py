"""The grammar of ``!resend``: a word alone. Pure."""

from __future__ import annotations

from dataclasses import dataclass

WORDS = {"resend": "resend"}


@dataclass(frozen=True, slots=True)
class Resend:
    """Try what could not be posted once more: in a thread, or to oneself in a direct message."""
