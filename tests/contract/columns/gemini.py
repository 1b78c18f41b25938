"""What faults come to with the real Gemini CLI, whose home here lets it try twice."""

from __future__ import annotations

from core.model import Limits
from tests.contract.table import Became

# It waits for half a minute and longer, and only its error output says why.
_TROUBLE = Limits(idle_s=60, total_s=120, trouble_s=2)
_RATE = Became("rate", "429|[Rr]ate limit", limits=_TROUBLE, within_s=30)

BECAME: dict[str, Became] = {
    "401": Became("auth", "invalid x-api-key"),
    "403": Became("auth", "may not use this model"),
    "404 model": Became("bad-model", "no-such-model"),
    "429": _RATE,
    "429 that says when": Became("rate", "429|[Rr]ate limit", limits=_TROUBLE, within_s=30),
    "429 that passes": Became("answered", text="Recovered"),
    "quota": Became("quota", "quota"),
    "quota as an answer": Became("quota", "usage limit"),
    "500": Became("overloaded", "Internal server error"),
    "529 overloaded": Became("overloaded", "Overloaded"),
    "context too long": Became("context-too-long", "prompt is too long"),
    "cut stream": Became("overloaded", "terminated", text="This answer will be cut"),
    "hang": Became("stalled", limits=Limits(idle_s=6, total_s=60), within_s=30),
    "html": Became("crashed", "Incomplete JSON"),
}
