"""OpenAI Responses: request body -> Conversation, Reply -> wire bytes."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

from tests.peers.models.conversation import Conversation, Failure, Reply, Tool
from tests.peers.models.wire import add_user, deltas, sse, text_of, usage


def read_responses(body: dict[str, Any], model: str) -> Conversation:
    turns: list[tuple[str, str]] = []
    system = [body.get("instructions") or ""]
    items = body.get("input") or []
    if isinstance(items, str):
        items = [{"type": "message", "role": "user", "content": items}]
    for it in items:
        kind = it.get("type", "message")
        if kind == "message":
            role, text = it.get("role"), text_of(it.get("content"))
            if role in ("system", "developer"):
                system.append(text)
            elif role == "assistant":
                turns.append(("assistant", text))
            else:
                add_user(turns, text)
        elif kind.endswith("_output"):
            turns.append(("tool", text_of(it.get("output"))))
    tools = []
    offered = list(body.get("tools") or [])
    for it in items:  # newer models get them in the input
        if it.get("type") == "additional_tools":
            offered += it.get("tools") or []
    for t in offered:
        if t.get("type") in ("function", "custom"):
            tools.append(Tool(t.get("name", ""), t.get("parameters") or {}, t["type"]))
        elif t.get("type") == "namespace":
            tools += [
                Tool(
                    s.get("name", ""),
                    s.get("parameters") or {},
                    s.get("type", "function"),
                    t.get("name", ""),
                )
                for s in t.get("tools", [])
            ]
        else:
            tools.append(Tool(t.get("type", ""), {}, t.get("type", "")))
    return Conversation(
        "responses",
        body.get("model", model),
        "\n".join(system),
        turns,
        tools,
        bool(body.get("stream")),
        body,
    )


def _responses_items(reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.thinking:
        items.append(
            {
                "type": "reasoning",
                "id": "rs_" + uuid.uuid4().hex[:16],
                "summary": [{"type": "summary_text", "text": reply.thinking}],
            }
        )
    if reply.text:
        items.append(
            {
                "type": "message",
                "id": "msg_" + uuid.uuid4().hex[:16],
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": reply.text, "annotations": []}],
            }
        )
    for c in reply.calls:
        if c.kind == "custom":
            items.append(
                {
                    "type": "custom_tool_call",
                    "id": "ctc_" + c.id,
                    "call_id": "call_" + c.id,
                    "name": c.name,
                    "input": c.raw_input,
                    "status": "completed",
                    **({"namespace": c.namespace} if c.namespace else {}),
                }
            )
        else:
            items.append(
                {
                    "type": "function_call",
                    "id": "fc_" + c.id,
                    "call_id": "call_" + c.id,
                    "name": c.name,
                    "arguments": json.dumps(c.arguments),
                    "status": "completed",
                    **({"namespace": c.namespace} if c.namespace else {}),
                }
            )
    return items


def responses_json(conv: Conversation, reply: Reply) -> dict[str, Any]:
    tin, tout = usage(conv, reply)
    out = {
        "id": "resp_" + uuid.uuid4().hex[:24],
        "object": "response",
        "created_at": int(time.time()),
        "model": conv.model,
        "status": "incomplete" if reply.stop == "length" else "completed",
        "output": _responses_items(reply),
        "error": None,
        "incomplete_details": None,
        "usage": {
            "input_tokens": tin,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": tout,
            "output_tokens_details": {"reasoning_tokens": len(reply.thinking) // 4},
            "total_tokens": tin + tout,
        },
    }
    if reply.stop == "length":
        out["incomplete_details"] = {"reason": "max_output_tokens"}
    return out


async def responses_stream(conv: Conversation, reply: Reply) -> AsyncIterator[bytes]:
    whole = responses_json(conv, reply)
    seq = 0

    def ev(kind: str, **rest: Any) -> bytes:
        nonlocal seq
        seq += 1
        return sse({"type": kind, "sequence_number": seq, **rest}, kind)

    opening = dict(whole, status="in_progress", output=[], usage=None, incomplete_details=None)
    yield ev("response.created", response=opening)
    yield ev("response.in_progress", response=opening)
    for i, item in enumerate(whole["output"]):
        kind = item["type"]
        ids = {"output_index": i, "item_id": item["id"]}
        if kind == "message":
            yield ev(
                "response.output_item.added",
                output_index=i,
                item=dict(item, status="in_progress", content=[]),
            )
            yield ev(
                "response.content_part.added",
                content_index=0,
                **ids,
                part={"type": "output_text", "text": "", "annotations": []},
            )
            async for piece in deltas(reply):
                yield ev("response.output_text.delta", content_index=0, **ids, delta=piece)
            yield ev("response.output_text.done", content_index=0, **ids, text=reply.text)
            yield ev("response.content_part.done", content_index=0, **ids, part=item["content"][0])
        elif kind == "reasoning":
            yield ev("response.output_item.added", output_index=i, item=dict(item, summary=[]))
            yield ev(
                "response.reasoning_summary_part.added",
                summary_index=0,
                **ids,
                part={"type": "summary_text", "text": ""},
            )
            yield ev(
                "response.reasoning_summary_text.delta",
                summary_index=0,
                **ids,
                delta=reply.thinking,
            )
            yield ev(
                "response.reasoning_summary_text.done", summary_index=0, **ids, text=reply.thinking
            )
        else:
            empty = {"input": ""} if kind == "custom_tool_call" else {"arguments": ""}
            yield ev(
                "response.output_item.added",
                output_index=i,
                item=dict(item, status="in_progress", **empty),
            )
            if kind == "function_call":
                yield ev("response.function_call_arguments.delta", **ids, delta=item["arguments"])
                yield ev(
                    "response.function_call_arguments.done", **ids, arguments=item["arguments"]
                )
            else:
                yield ev("response.custom_tool_call_input.delta", **ids, delta=item["input"])
                yield ev("response.custom_tool_call_input.done", **ids, input=item["input"])
        yield ev("response.output_item.done", output_index=i, item=item)
    yield ev(
        "response.incomplete" if reply.stop == "length" else "response.completed", response=whole
    )


_OPENAI_CODE = {
    "auth": "invalid_api_key",
    "permission": "model_not_allowed",
    "rate_limit": "rate_limit_exceeded",
    "quota": "insufficient_quota",
    "context_length": "context_length_exceeded",
    "not_found": "model_not_found",
    "overloaded": "server_is_overloaded",
    "server": "server_error",
}


def openai_error(f: Failure) -> dict[str, Any]:
    code = _OPENAI_CODE.get(f.kind)
    return {
        "error": {
            "message": f.message,
            "code": code,
            "param": None,
            "type": "insufficient_quota"
            if f.kind == "quota"
            else "invalid_request_error"
            if f.status < 429
            else code or "server_error",
        }
    }
