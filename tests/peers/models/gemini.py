"""Gemini: request body -> Conversation, Reply -> wire bytes."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

from tests.peers.models.conversation import Conversation, Failure, Reply, Tool, ToolCall
from tests.peers.models.wire import add_user, deltas, sse, text_of, usage


def read_gemini(body: dict[str, Any], model: str) -> Conversation:
    turns: list[tuple[str, str]] = []
    for c in body.get("contents", []):
        parts = c.get("parts") or []
        for p in parts:
            if "functionResponse" in p:
                turns.append(("tool", text_of(p["functionResponse"].get("response"))))
        text = "\n".join(p["text"] for p in parts if "text" in p and not p.get("thought"))
        if c.get("role") == "model":
            turns.append(("assistant", text))
        elif text:
            add_user(turns, text)
    tools = [
        Tool(f["name"], f.get("parametersJsonSchema") or f.get("parameters") or {})
        for t in body.get("tools") or []
        for f in t.get("functionDeclarations") or []
    ]
    system = text_of((body.get("systemInstruction") or {}).get("parts"))
    return Conversation("gemini", model, system, turns, tools, True, body)


_GEMINI_STOP = {"end": "STOP", "tool": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}


def _gemini_chunk(
    conv: Conversation,
    parts: list[dict[str, Any]],
    rid: str,
    finish: str | None = None,
    usage: dict[str, int] | None = None,
) -> dict[str, Any]:
    cand: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        cand["finishReason"] = finish
    out: dict[str, Any] = {"candidates": [cand], "modelVersion": conv.model, "responseId": rid}
    if usage:
        out["usageMetadata"] = usage
    return out


def _gemini_usage(conv: Conversation, reply: Reply) -> dict[str, int]:
    tin, tout = usage(conv, reply)
    return {
        "promptTokenCount": tin,
        "candidatesTokenCount": tout,
        "thoughtsTokenCount": len(reply.thinking) // 4,
        "totalTokenCount": tin + tout,
    }


def _gemini_call(c: ToolCall) -> dict[str, Any]:
    return {
        "functionCall": {"id": c.id, "name": c.name, "args": c.arguments},
        "thoughtSignature": "ZmFrZQ==",
    }


def gemini_json(conv: Conversation, reply: Reply) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if reply.thinking:
        parts.append({"text": reply.thinking, "thought": True})
    if reply.text:
        parts.append({"text": reply.text})
    parts += [_gemini_call(c) for c in reply.calls]
    return _gemini_chunk(
        conv, parts, uuid.uuid4().hex[:16], _GEMINI_STOP[reply.stop], _gemini_usage(conv, reply)
    )


async def gemini_stream(conv: Conversation, reply: Reply) -> AsyncIterator[bytes]:
    rid = uuid.uuid4().hex[:16]
    if reply.thinking:
        yield sse(_gemini_chunk(conv, [{"text": reply.thinking, "thought": True}], rid))
    async for piece in deltas(reply):
        yield sse(_gemini_chunk(conv, [{"text": piece}], rid))
    if reply.calls:
        yield sse(_gemini_chunk(conv, [_gemini_call(c) for c in reply.calls], rid))
    yield sse(
        _gemini_chunk(
            conv, [{"text": ""}], rid, _GEMINI_STOP[reply.stop], _gemini_usage(conv, reply)
        )
    )


_GEMINI_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def gemini_error(f: Failure) -> dict[str, Any]:
    details: list[dict[str, Any]] = []
    if f.kind == "auth":
        details.append(
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
            }
        )
    if f.kind in ("rate_limit", "quota"):
        unit = "PerDay" if f.kind == "quota" else "PerMinute"
        details.append(
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [
                    {
                        "quotaMetric": "fake/generate_requests",
                        "quotaId": f"GenerateRequests{unit}PerProjectPerModel",
                    }
                ],
            }
        )
    if f.retry_after is not None:
        details.append(
            {
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": f"{f.retry_after:g}s",
            }
        )
    return {
        "error": {
            "code": f.status,
            "message": f.message,
            "status": _GEMINI_STATUS.get(f.status, "UNKNOWN"),
            "details": details,
        }
    }
