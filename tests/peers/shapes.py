"""What readers take from each event type of the CLIs, and of which type it is."""

from __future__ import annotations

from typing import Any

# engine -> event type -> path -> type; a path that ends in "?" may be missing.
SHAPES: dict[str, dict[str, dict[str, type | tuple[type, ...]]]] = {
    "claude": {
        "system/init": {"session_id": str},
        "system/api_retry": {"attempt": int, "max_retries": int, "error": str},
        "system/compact_boundary": {"compact_metadata.trigger": str},
        "stream_event": {"event.type": str},
        "assistant": {"message.content": list, "message.model": str},
        "user": {"message.content": (list, str)},
        "result": {
            "session_id": str,
            "is_error": bool,
            "subtype": str,
            "usage.input_tokens": int,
            "usage.output_tokens": int,
            "usage.cache_read_input_tokens": int,
            "usage.cache_creation_input_tokens": int,
            "total_cost_usd": (int, float),
            "result?": str,
            "terminal_reason?": str,
        },
    },
    "gemini": {
        "init": {"session_id": str},
        "message": {"role": str, "content": str},
        "tool_use": {"tool_id": str, "tool_name": str, "parameters": dict},
        "tool_result": {"tool_id": str, "status": str},
        "error": {"message": str, "severity": str},
        "result": {
            "status": str,
            "stats.input_tokens": int,
            "stats.output_tokens": int,
            "stats.cached": int,
            "error.message?": str,
        },
    },
    "opencode": {
        "text": {"sessionID": str, "part.text": str, "part.messageID": str},
        "reasoning": {"sessionID": str, "part.text": str},
        "tool_use": {
            "sessionID": str,
            "part.tool": str,
            "part.callID": str,
            "part.state.status": str,
        },
        "step_start": {"sessionID": str},
        "step_finish": {
            "sessionID": str,
            "part.reason": str,
            "part.tokens.input": int,
            "part.tokens.output": int,
            "part.tokens.reasoning": int,
            "part.tokens.cache.read": int,
            "part.cost": (int, float),
        },
        "error": {"error.name": str},
    },
}


def event_type(engine: str, event: dict[str, Any]) -> str:
    """The name of an event in ``SHAPES``."""
    kind = str(event.get("type", ""))
    if engine == "claude" and kind == "system":
        return f"system/{event.get('subtype', '')}"
    return kind


def faults(engine: str, event: dict[str, Any]) -> list[str]:
    """What is not as the reader takes it, as ``type: path``."""
    kind = event_type(engine, event)
    found: list[str] = []
    for path, wanted in SHAPES[engine].get(kind, {}).items():
        value: Any = event
        for key in path.rstrip("?").split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if value is None and path.endswith("?"):
            continue
        if not isinstance(value, wanted):
            found.append(f"{kind}: {path}")
    return found
