"""What faults come to with the real Claude Code, which tries twice again by itself."""

from __future__ import annotations

from core.model import Limits
from tests.contract.table import Became

_RATE = Became("rate", "Rate limit reached")
_BUSY = Became("overloaded", r"Overloaded|overloaded|Internal server error")

BECAME: dict[str, Became] = {
    "401": Became("auth", within_s=20),
    "403": Became("auth", "may not use this model"),
    "404 model": Became("bad-model", "selected model"),
    "429": _RATE,
    "429 that says when": _RATE,
    "429 that passes": Became("answered", text="Recovered"),
    "quota": Became("quota", "exceeded your current quota"),
    "quota as an answer": Became("quota", "usage limit"),
    "500": _BUSY,
    "529 overloaded": _BUSY,
    "context too long": Became("context-too-long"),
    # It asks again, without streaming.
    "cut stream": Became("answered", text="This answer will be cut off before it can end"),
    "hang": Became("stalled", limits=Limits(idle_s=3, total_s=60), within_s=12),
    "html": Became("crashed", "malformed"),
}
