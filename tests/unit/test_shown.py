"""What a run shows is cut after secrets were taken out of it, so that no piece of one gets out."""

from __future__ import annotations

import json

import pytest

from core.engines.claude.asking import request_of
from core.engines.process.shown import (
    MAX_ABOUT_CHARS,
    MAX_DETAIL_CHARS,
    MAX_LABEL_CHARS,
    MAX_WARNING_CHARS,
    event_shown,
    outcome_shown,
)
from core.model import EngineEvent, EngineRequest, Exit, Outcome
from core.redact import Secrets
from core.streams import LineReader, explain, telling

OWN = "a-value-of-this-run-alone"
SHAPED = "sk-ant-api03-AbCdEfGhIjKlMnOp"
SECRETS = Secrets([OWN])


def clean(text: str) -> bool:
    """No piece of what is secret is left in ``text``."""
    pieces = (OWN[at : at + 8] for at in range(len(OWN) - 7))
    return not any(piece in text for piece in pieces) and "AbCd" not in text and "MnOp" not in text


class Words(LineReader):
    """An engine that says what it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.handlers = {"tool": lambda d: self.tool_start("t", "sh", str(d["about"]))}


@pytest.mark.parametrize("secret", [OWN, SHAPED])
def test_a_tools_line(secret: str) -> None:
    for before in range(MAX_ABOUT_CHARS + 10):
        line = json.dumps({"type": "tool", "about": "y" * before + f" {secret} " + "z" * 300})
        [event] = Words().receive(line.encode() + b"\n")
        shown = event_shown(event, SECRETS)
        assert clean(shown.text), shown.text
        assert len(shown.text) <= MAX_ABOUT_CHARS


@pytest.mark.parametrize("secret", [OWN, SHAPED])
async def test_an_errors_end(secret: str) -> None:
    for after in range(0, 420, 3):
        error = f"it broke: {secret} " + "z" * after
        outcome = Words().finish(Exit(code=1, stderr="long ago " * 50 + error))
        shown = await outcome_shown(outcome, SECRETS)
        assert clean(shown.detail), shown.detail
        assert len(shown.detail) <= 402
        assert clean(explain("acme", shown))
        told = await outcome_shown(Outcome("crashed", detail=telling("y" * 300 + error)), SECRETS)
        assert clean(told.detail)


async def test_a_long_answer_loses_its_secrets_too() -> None:
    shown = await outcome_shown(Outcome("answered", f"{OWN} " + "word " * 20_000), SECRETS)
    assert shown.text.startswith("[redacted] word")


@pytest.mark.parametrize("secret", [OWN, SHAPED])
def test_a_request(secret: str) -> None:
    for near in range(-30, 6):
        command = "y" * (MAX_DETAIL_CHARS + near) + f" {secret} and {'z' * 30_000}\nmore"
        for whole in (command, command[19_900:]):
            request = request_of("r", {"tool_name": "Bash", "input": {"command": whole}}, "/w")
            shown = event_shown(EngineEvent("request", request=request), SECRETS).request
            assert shown is not None
            assert clean(shown.detail + shown.scope_label), shown.scope_label
            assert len(shown.scope_label) <= MAX_LABEL_CHARS


def test_what_is_left_out_is_said() -> None:
    asked = EngineRequest("r", detail="x" * (MAX_DETAIL_CHARS + 1_500))
    shown = event_shown(EngineEvent("request", request=asked), SECRETS).request
    assert shown is not None
    assert shown.detail.endswith("x\n[at least 1,500 more characters]")
    whole = EngineEvent("request", request=EngineRequest("r", detail="x" * MAX_DETAIL_CHARS))
    assert event_shown(whole, SECRETS) is whole


def test_a_warning_is_short() -> None:
    told = event_shown(EngineEvent("warning", f"{OWN} " + "word " * 500), SECRETS)
    assert len(told.text) <= MAX_WARNING_CHARS + 2
