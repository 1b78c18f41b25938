"""What faults come to with the real OpenCode, which tries again without end and without a word."""

from __future__ import annotations

from core.model import Limits
from tests.contract.table import Became

_TROUBLE = Limits(idle_s=60, total_s=120, trouble_s=2)
_ALIKE = "named as the 401 is, and a start costs 5 s"

BECAME: dict[str, Became] = {
    "quota": Became("quota", "exceeded your current quota", limits=_TROUBLE),
    "500": Became("overloaded", "Internal server error", limits=_TROUBLE, within_s=50),
    "context too long": Became("context-too-long"),
}
LEFT_OUT: dict[str, str] = {
    "401": "see test_a_refused_key_is_named",
    "403": _ALIKE,
    "404 model": _ALIKE,
    "429": "see test_endless_silent_retries_are_ended_and_named",
    "429 that says when": "it tries again as for the 429",
    "429 that passes": "nothing but the time it takes tells it from an answer",
    "quota as an answer": "an answer is judged alike, whoever gave it",
    "529 overloaded": "it tries again as for the 500",
    "cut stream": "it tries again as for the 500",
    "hang": "Moot's own watchdog, as with the others",
    "html": "it tries again as for the 500, two to three times a second",
}
