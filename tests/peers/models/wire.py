"""What the five protocols share."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

from tests.peers.models.conversation import Conversation, Reply

#: Context that agents put into user messages by themselves; not the prompt.
INJECTED = re.compile(
    r"<(system-reminder|environment_context|user_instructions|session_context|"
    r"permissions instructions|INSTRUCTIONS|skills_instructions)>.*?</\1>",
    re.DOTALL,
)


def clean(text: str) -> str:
    return INJECTED.sub("", text).strip()


def text_of(content: Any) -> str:
    """Flattens the "string or list of parts" that every protocol uses."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(c) for c in content)
    if isinstance(content, dict):
        for key in ("text", "content", "output", "result"):
            if key in content:
                return text_of(content[key])
        return json.dumps(content, ensure_ascii=False)
    return str(content)


def add_user(turns: list[tuple[str, str]], text: str) -> None:
    text = clean(text)
    if text:
        turns.append(("user", text))


class Cut(Exception):
    """The scenario asked for the connection to drop here."""


def usage(conv: Conversation, reply: Reply) -> tuple[int, int]:
    size = len(conv.system) + sum(len(t) for _, t in conv.turns)
    tin = reply.input_tokens or max(1, size // 4)
    tout = reply.output_tokens or max(
        1, (len(reply.text) + len(reply.thinking)) // 4 + 20 * len(reply.calls)
    )
    return tin, tout


async def deltas(reply: Reply) -> AsyncIterator[str]:
    for i, piece in enumerate(reply.deltas()):
        if reply.cut_after is not None and i >= reply.cut_after:
            raise Cut
        if reply.delay:
            await asyncio.sleep(reply.delay)
        yield piece


def sse(data: Any, event: str | None = None) -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
