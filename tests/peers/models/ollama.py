"""Ollama: request body -> Conversation, Reply -> wire bytes."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from typing import Any

from tests.peers.models.chat import read_chat
from tests.peers.models.conversation import Conversation, Reply, ToolCall
from tests.peers.models.wire import deltas, usage


def read_ollama(body: dict[str, Any], model: str) -> Conversation:
    if "prompt" in body:  # /api/generate
        return Conversation(
            "ollama",
            body.get("model", model),
            body.get("system", ""),
            [("user", body.get("prompt", ""))],
            [],
            body.get("stream", True),
            body,
        )
    conv = read_chat(body, model)
    conv.protocol = "ollama"
    conv.stream = body.get("stream", True)
    return conv


def _ollama_base(conv: Conversation) -> dict[str, Any]:
    return {
        "model": conv.model,
        "created_at": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()),
    }


def _ollama_tail(conv: Conversation, reply: Reply) -> dict[str, Any]:
    tin, tout = usage(conv, reply)
    return {
        "done": True,
        "done_reason": "length" if reply.stop == "length" else "stop",
        "total_duration": 5_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": tin,
        "prompt_eval_duration": 1_000_000,
        "eval_count": tout,
        "eval_duration": 3_000_000,
    }


def _ollama_piece(
    conv: Conversation, text: str = "", thinking: str = "", calls: list[ToolCall] | None = None
) -> dict[str, Any]:
    if "prompt" in conv.raw:
        return {"response": text, **({"thinking": thinking} if thinking else {})}
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if thinking:
        message["thinking"] = thinking
    if calls:
        message["tool_calls"] = [
            {"function": {"name": c.name, "arguments": c.arguments}} for c in calls
        ]
    return {"message": message}


def ollama_json(conv: Conversation, reply: Reply) -> dict[str, Any]:
    return {
        **_ollama_base(conv),
        **_ollama_piece(conv, reply.text, reply.thinking, reply.calls),
        **_ollama_tail(conv, reply),
    }


async def ollama_stream(conv: Conversation, reply: Reply) -> AsyncIterator[bytes]:
    def line(d: dict[str, Any], tail: dict[str, Any] | None = None) -> bytes:
        return (
            json.dumps({**_ollama_base(conv), **d, **(tail or {"done": False})}, ensure_ascii=False)
            + "\n"
        ).encode()

    if reply.thinking:
        yield line(_ollama_piece(conv, thinking=reply.thinking))
    async for piece in deltas(reply):
        yield line(_ollama_piece(conv, piece))
    if reply.calls:
        yield line(_ollama_piece(conv, calls=reply.calls))
    yield line(_ollama_piece(conv), _ollama_tail(conv, reply))
