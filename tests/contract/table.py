"""What becomes of a run when something goes wrong: a row per fault, a column per engine.

The rows say what the model server does. A column (``columns/ENGINE.py``) says what Moot makes of
that engine in each: ``BECAME[row]``, or in ``LEFT_OUT[row]`` why the engine has no such row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from core.model import Limits, OutcomeKind

ROWS: dict[str, str] = {
    "401": "error status=401",
    "403": "error status=403",
    "404 model": "error status=404",
    "429": "error status=429",
    "429 that says when": "error status=429 retry_after=1",
    "429 that passes": "error status=429 retry_after=1 times=1",
    "quota": "quota",
    "quota as an answer": 'plain text="You have hit your usage limit. Try again at 3:40 PM."',
    "500": "error status=500",
    "529 overloaded": "error status=529",
    "context too long": "context",
    "cut stream": "malformed kind=truncate",
    "hang": "hang",
    "html": "malformed kind=html",
}
"""Name of a row -> what the model server is told to do."""

PATIENT = Limits(idle_s=60, total_s=120)


@dataclass(frozen=True, slots=True)
class Became:
    """What a fault comes to with one engine.

    Attributes:
        kind: the outcome's kind.
        says: a regular expression that is found in the outcome's detail.
        text: the partial text (or answer) begins with this; "" = there is none.
        limits: the run's limits, where the fault needs shorter ones.
        within_s: a bound on the run's time in seconds.
        env: more environment (an engine's own patience, made shorter).
        task: more fields of the ``EngineTask``.
    """

    kind: OutcomeKind
    says: str = ""
    text: str = ""
    limits: Limits = PATIENT
    within_s: float = 60.0
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    task: Mapping[str, Any] = field(default_factory=dict[str, Any])


def column(engine: str) -> tuple[dict[str, Became], dict[str, str]]:
    """``BECAME`` and ``LEFT_OUT`` of an engine's column."""
    module = import_module(f"tests.contract.columns.{engine}")
    return module.BECAME, getattr(module, "LEFT_OUT", {})
