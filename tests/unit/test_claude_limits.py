"""When a limit of one's plan comes back, as Claude Code tells it in its stream."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.engines.claude.reader import ClaudeReader
from core.model import Exit, Outcome


def came_to(*infos: dict[str, Any], text: str = "You\u2019ve hit your limit") -> Outcome:
    reader = ClaudeReader("plan", "/w", resumed=False)
    lines: list[dict[str, Any]] = [
        {"type": "rate_limit_event", "rate_limit_info": info} for info in infos
    ]
    lines.append({"type": "result", "is_error": True, "api_error_status": 429, "result": text})
    reader.receive("".join(json.dumps(line) + "\n" for line in lines).encode())
    return reader.finish(Exit(1))


def test_the_time_is_taken_from_the_event() -> None:
    outcome = came_to(
        {"status": "rejected", "resetsAt": 1_764_558_000, "rateLimitType": "five_hour"}
    )
    assert (outcome.kind, outcome.reset_at) == ("quota", "2025-12-01 03:00 UTC")
    assert outcome.detail.startswith("You\u2019ve hit your limit")


@pytest.mark.parametrize(
    "info",
    [
        {"status": "allowed_warning", "resetsAt": 1_764_558_000},
        {"status": "rejected"},
        {"status": "rejected", "resetsAt": "soon"},
        {"status": "rejected", "resetsAt": -5},
        {"status": "rejected", "resetsAt": 1e14},
        None,
    ],
)
def test_what_tells_no_time_changes_nothing(info: Any) -> None:
    outcome = came_to(info, text="Rate limit reached")
    assert (outcome.kind, outcome.reset_at) == ("rate", "")


def test_a_limit_that_is_over_is_forgotten() -> None:
    met = {"status": "rejected", "resetsAt": 1_764_558_000}
    outcome = came_to(met, {"status": "allowed"}, text="Rate limit reached")
    assert (outcome.kind, outcome.reset_at) == ("rate", "")


@pytest.mark.parametrize(("model", "kind"), [("<synthetic>", "auth"), ("claude-x", "answered")])
def test_words_of_its_own_are_no_answer_although_a_model_worked_before(
    model: str, kind: str
) -> None:
    reader = ClaudeReader("plan", "/w", resumed=False)
    said = {"model": model, "content": [{"type": "text", "text": "Not logged in."}]}
    used = {"input_tokens": 9, "output_tokens": 30}
    lines: list[dict[str, Any]] = [
        {"type": "assistant", "message": {**said, "model": "claude-x"}},
        {"type": "assistant", "message": said},
        {"type": "result", "subtype": "success", "result": "Not logged in.", "usage": used},
    ]
    reader.receive("".join(json.dumps(line) + "\n" for line in lines).encode())
    assert reader.finish(Exit(0)).kind == kind
