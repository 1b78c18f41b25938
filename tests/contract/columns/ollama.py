"""What faults come to with Ollama's API, which is asked once: nothing is tried again here."""

from __future__ import annotations

from core.model import Limits
from tests.contract.table import Became

_RATE = Became("rate", "Rate limit reached", within_s=5)

BECAME: dict[str, Became] = {
    "401": Became("auth", "invalid x-api-key", within_s=5),
    "403": Became("auth", "may not use this model", within_s=5),
    "404 model": Became("bad-model", "no-such-model", within_s=5),
    "429": _RATE,
    "429 that says when": _RATE,
    "429 that passes": _RATE,  # it would pass at the next try, which is Moot's to make
    "quota": Became("quota", "exceeded your current quota", within_s=5),
    "quota as an answer": Became("quota", "usage limit", within_s=5),
    "500": Became("overloaded", "Internal server error", within_s=5),
    "529 overloaded": Became("overloaded", "Overloaded", within_s=5),
    "context too long": Became("context-too-long", "prompt is too long", within_s=5),
    "cut stream": Became("crashed", "mid-answer", text="This answer will be cut", within_s=5),
    "hang": Became("stalled", limits=Limits(idle_s=2, total_s=60), within_s=8),
    "html": Became("bad-config", "does not speak as Ollama", within_s=5),
}
