"""What faults come to with the real Codex, whose home here lets it try once again by itself."""

from __future__ import annotations

from core.model import Limits
from tests.contract.table import Became

_RATE = Became("rate", "429 Too Many Requests", within_s=8)
_CLOSED = Became("overloaded", "stream (closed|disconnected)", within_s=8)

BECAME: dict[str, Became] = {
    "401": Became("auth", r"invalid x-api-key", within_s=8),
    "403": Became("auth", "may not use this model", within_s=8),
    "404 model": Became("bad-model", "no-such-model", within_s=8),
    "429": _RATE,
    "429 that says when": _RATE,
    "429 that passes": Became("answered", text="Recovered"),
    "quota": Became("quota", "Quota exceeded", within_s=8),
    "quota as an answer": Became("quota", "usage limit"),
    "500": Became("overloaded", "high demand", within_s=8),
    "529 overloaded": Became("overloaded", "Overloaded", within_s=8),
    "context too long": Became("context-too-long", "ran out of room", within_s=8),
    "cut stream": Became("overloaded", "stream disconnected", text="This answer will be cut"),
    "hang": Became("stalled", limits=Limits(idle_s=3, total_s=60), within_s=12),
    "html": _CLOSED,
}
