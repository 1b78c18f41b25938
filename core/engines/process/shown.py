"""What of a run may be shown and kept: without secrets, and only then cut to what is shown."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from core.model import AskedQuestion, EngineEvent, EngineRequest, Outcome
from core.redact import Secrets, redact
from core.streams import tail
from core.streams.cuts import head, short

MAX_DETAIL_CHARS = 20_000  # of a request
MAX_LABEL_CHARS = 160
MAX_ABOUT_CHARS = 200  # of a tool's call
MAX_WARNING_CHARS = 400
_LONG = 20_000


def event_shown(event: EngineEvent, secrets: Secrets) -> EngineEvent:
    """The event as it may be shown and kept, what it asks people included."""
    text = redact(event.text, secrets)
    if event.kind == "tool_start":
        text = short(text, MAX_ABOUT_CHARS)
    elif event.kind in ("warning", "retry") and len(text) > MAX_WARNING_CHARS:
        text = tail(text, MAX_WARNING_CHARS)
    asked = event.request and _request_shown(event.request, secrets)
    if text == event.text and asked == event.request:
        return event
    return replace(event, text=text, request=asked)


async def outcome_shown(outcome: Outcome, secrets: Secrets) -> Outcome:
    """The outcome as it may be shown and kept, with its detail as one short paragraph."""
    long = len(outcome.text) > _LONG
    text = (
        await asyncio.to_thread(redact, outcome.text, secrets)
        if long
        else redact(outcome.text, secrets)
    )
    return replace(outcome, text=text, detail=tail(redact(outcome.detail, secrets)))


def _request_shown(asked: EngineRequest, secrets: Secrets) -> EngineRequest:
    """What an engine asks for; its id and its tool's name stay."""
    return replace(
        asked,
        about=redact(asked.about, secrets),
        detail=head(redact(asked.detail, secrets), MAX_DETAIL_CHARS),
        scope=redact(asked.scope, secrets),
        scope_label=short(redact(asked.scope_label, secrets), MAX_LABEL_CHARS),
        questions=tuple(_question_shown(question, secrets) for question in asked.questions),
    )


def _question_shown(question: AskedQuestion, secrets: Secrets) -> AskedQuestion:
    return replace(
        question,
        text=redact(question.text, secrets),
        header=redact(question.header, secrets),
        options=tuple(
            (redact(label, secrets), redact(told, secrets)) for label, told in question.options
        ),
    )
