"""OpenAI Chat Completions: request body -> Conversation, Reply -> wire bytes."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

from tests.peers.models.conversation import Conversation, Reply, Tool
from tests.peers.models.wire import add_user, deltas, sse, text_of, usage


def read_chat(body: dict[str, Any], model: str) -> Conversation:
    turns: list[tuple[str, str]] = []
    system = []
    for m in body.get("messages", []):
        role, text = m.get("role"), text_of(m.get("content"))
        if role in ("system", "developer"):
            system.append(text)
        elif role == "tool":
            turns.append(("tool", text))
        elif role == "assistant":
            turns.append(("assistant", text))
        else:
            add_user(turns, text)
    tools = [
        Tool(t["function"]["name"], t["function"].get("parameters") or {})
        for t in body.get("tools") or []
        if t.get("type") == "function"
    ]
    return Conversation(
        "chat",
        body.get("model", model),
        "\n".join(system),
        turns,
        tools,
        bool(body.get("stream")),
        body,
    )


_CHAT_STOP = {"end": "stop", "tool": "tool_calls", "length": "length", "refusal": "content_filter"}


def _chat_usage(conv: Conversation, reply: Reply) -> dict[str, int]:
    tin, tout = usage(conv, reply)
    return {"prompt_tokens": tin, "completion_tokens": tout, "total_tokens": tin + tout}


def _chat_calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {
            "index": i,
            "id": "call_" + c.id,
            "type": "function",
            "function": {"name": c.name, "arguments": json.dumps(c.arguments)},
        }
        for i, c in enumerate(reply.calls)
    ]


def chat_json(conv: Conversation, reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    if reply.calls:
        message["tool_calls"] = _chat_calls(reply)
    return {
        "id": "chatcmpl-" + uuid.uuid4().hex[:20],
        "object": "chat.completion",
        "created": int(time.time()),
        "model": conv.model,
        "choices": [{"index": 0, "message": message, "finish_reason": _CHAT_STOP[reply.stop]}],
        "usage": _chat_usage(conv, reply),
    }


async def chat_stream(conv: Conversation, reply: Reply) -> AsyncIterator[bytes]:
    base = {
        "id": "chatcmpl-" + uuid.uuid4().hex[:20],
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": conv.model,
    }

    def ev(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return sse(dict(base, choices=[{"index": 0, "delta": delta, "finish_reason": finish}]))

    yield ev({"role": "assistant", "content": ""})
    if reply.thinking:
        yield ev({"reasoning_content": reply.thinking})
    async for piece in deltas(reply):
        yield ev({"content": piece})
    if reply.calls:
        yield ev({"tool_calls": _chat_calls(reply)})
    yield ev({}, _CHAT_STOP[reply.stop])
    yield sse(dict(base, choices=[], usage=_chat_usage(conv, reply)))
    yield b"data: [DONE]\n\n"
