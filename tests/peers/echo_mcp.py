"""A small MCP server on standard input and output, as a user may have one: ``lab_echo(text)``."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {
    "name": "lab_echo",
    "description": "Echo a text back.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
}


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """The result for a request; ``None`` for a method that is not known."""
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "lab", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        text = (params.get("arguments") or {}).get("text", "")
        return {"content": [{"type": "text", "text": f"echo: {text}"}]}
    return {} if method == "ping" else None


def main() -> None:
    """Answer line by line until the input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message)
        missing = {"error": {"code": -32601, "message": "no such method"}}
        reply = {"result": result} if result is not None else missing
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)


if __name__ == "__main__":
    main()
