"""Anthropic Messages: request body -> Conversation, Reply -> wire bytes."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

from tests.peers.models.conversation import Conversation, Failure, Reply, Tool
from tests.peers.models.wire import clean, deltas, sse, text_of, usage


def read_anthropic(body: dict[str, Any], model: str) -> Conversation:
    turns: list[tuple[str, str]] = []
    for m in body.get("messages", []):
        content = m.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if m.get("role") == "assistant":
            turns.append(("assistant", text_of([b for b in blocks if b.get("type") == "text"])))
            continue
        results = [b for b in blocks if b.get("type") == "tool_result"]
        for b in results:
            turns.append(("tool", text_of(b.get("content"))))
        texts = [clean(b.get("text", "")) for b in blocks if b.get("type") == "text"]
        texts = [t for t in texts if t]
        if texts and m.get("role") == "user":
            turns.append(("user", "\n".join(texts)))
    return Conversation(
        "anthropic",
        body.get("model", model),
        text_of(body.get("system")),
        turns,
        [Tool(t.get("name", ""), t.get("input_schema") or {}) for t in body.get("tools") or []],
        bool(body.get("stream")),
        body,
    )


_ANTHROPIC_STOP = {
    "end": "end_turn",
    "tool": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
}


def _anthropic_blocks(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.thinking:
        blocks.append({"type": "thinking", "thinking": reply.thinking, "signature": "ZmFrZQ=="})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    for c in reply.calls:
        blocks.append(
            {"type": "tool_use", "id": "toolu_" + c.id, "name": c.name, "input": c.arguments}
        )
    return blocks


def anthropic_json(conv: Conversation, reply: Reply) -> dict[str, Any]:
    tin, tout = usage(conv, reply)
    return {
        "id": "msg_" + uuid.uuid4().hex[:24],
        "type": "message",
        "role": "assistant",
        "model": conv.model,
        "content": _anthropic_blocks(reply),
        "stop_reason": _ANTHROPIC_STOP[reply.stop],
        "stop_sequence": None,
        "usage": {
            "input_tokens": tin,
            "output_tokens": tout,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


async def anthropic_stream(conv: Conversation, reply: Reply) -> AsyncIterator[bytes]:
    whole = anthropic_json(conv, reply)
    start = dict(whole, content=[], stop_reason=None, usage=dict(whole["usage"], output_tokens=1))
    yield sse({"type": "message_start", "message": start}, "message_start")
    yield sse({"type": "ping"}, "ping")

    def ev(kind: str, index: int, **rest: Any) -> bytes:
        return sse({"type": kind, "index": index, **rest}, kind)

    for i, block in enumerate(whole["content"]):
        kind = block["type"]
        if kind == "text":
            yield ev("content_block_start", i, content_block={"type": "text", "text": ""})
            async for piece in deltas(reply):
                yield ev("content_block_delta", i, delta={"type": "text_delta", "text": piece})
        elif kind == "thinking":
            yield ev(
                "content_block_start",
                i,
                content_block={"type": "thinking", "thinking": "", "signature": ""},
            )
            yield ev(
                "content_block_delta",
                i,
                delta={"type": "thinking_delta", "thinking": block["thinking"]},
            )
            yield ev(
                "content_block_delta",
                i,
                delta={"type": "signature_delta", "signature": block["signature"]},
            )
        else:
            yield ev("content_block_start", i, content_block=dict(block, input={}))
            yield ev(
                "content_block_delta",
                i,
                delta={"type": "input_json_delta", "partial_json": json.dumps(block["input"])},
            )
        yield ev("content_block_stop", i)
    yield sse(
        {
            "type": "message_delta",
            "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": whole["usage"]["output_tokens"]},
        },
        "message_delta",
    )
    yield sse({"type": "message_stop"}, "message_stop")


_ANTHROPIC_ERR = {
    "auth": "authentication_error",
    "permission": "permission_error",
    "rate_limit": "rate_limit_error",
    "quota": "rate_limit_error",
    "overloaded": "overloaded_error",
    "not_found": "not_found_error",
    "too_large": "request_too_large",
    "invalid": "invalid_request_error",
    "context_length": "invalid_request_error",
}


def anthropic_error(f: Failure) -> dict[str, Any]:
    return {
        "type": "error",
        "error": {"type": _ANTHROPIC_ERR.get(f.kind, "api_error"), "message": f.message},
        "request_id": "req_fake",
    }
