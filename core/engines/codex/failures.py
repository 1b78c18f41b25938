"""What goes wrong with Codex, as it tells it, and what helps. PURE."""

from __future__ import annotations

from typing import cast

from core.model import OutcomeKind
from core.streams import JsonObject, classify, get, int_of, text_of
from core.tongue import to_say

FIXES: dict[OutcomeKind, str] = {
    "auth": to_say(
        "Run `codex login` on the host, or name the variable of your provider's key in "
        "[engines.codex] env; then try again."
    ),
    "bad-config": to_say(
        "Look into its config.toml and [engines.codex] args; Moot needs a Codex that has "
        "`codex app-server`."
    ),
    "missing-binary": to_say(
        "Install it with `npm install -g @openai/codex`, or set [engines.codex] path."
    ),
}

_TOLD: dict[str, OutcomeKind] = {
    "contextWindowExceeded": "context-too-long",
    "sessionBudgetExceeded": "quota",
    "usageLimitExceeded": "quota",
    "rateLimitExceeded": "rate",
    "flexUnavailable": "overloaded",
    "serverOverloaded": "overloaded",
    "policyCapacityUnavailable": "overloaded",
    "internalServerError": "overloaded",
    "modelNotFound": "bad-model",
    "unauthorized": "auth",
    "cyberPolicy": "refused",
    "bioPolicy": "refused",
    "misalignmentPolicyViolation": "refused",
}

IN_USE = (
    "this session is open in another Codex (in a terminal on the host?); close it there, then try "
    "again"
)


def failure_text(error: object) -> str:
    """The words of a ``TurnError``: what happened, and the reason behind it where it is told."""
    message, more = text_of(error, "message"), text_of(error, "additionalDetails")
    return f"{message}: {more}" if more and more not in message else message


def failure_kind(error: object) -> OutcomeKind:
    """What a ``TurnError`` means: by its code, the HTTP status in it, or its words."""
    info = get(error, "codexErrorInfo")
    if isinstance(info, str) and info in _TOLD:
        return _TOLD[info]
    status = 0
    if isinstance(info, dict):
        for inner in cast("JsonObject", info).values():
            status = status or int_of(inner, "httpStatusCode")
    return classify(failure_text(error), status or None)


def refused_start(text: str) -> tuple[OutcomeKind, str]:
    """What it means that a thread or a turn could not be begun, and the words for it."""
    if "active writer" in text:
        return "crashed", IN_USE
    if "invalid session id" in text or "invalid thread id" in text:
        return "session-lost", text
    if "load configuration" in text or "unknown variant" in text:
        return "bad-config", text
    return classify(text), text
