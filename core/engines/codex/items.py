"""What Codex works on: the items of a turn, in words. PURE."""

from __future__ import annotations

import json
import re
from typing import cast

from core.streams import get, int_of, list_of, text_of
from core.streams.cuts import MAX_LINE_CHARS, kept

NOT_TOOLS = frozenset((
    "agent_message", "context_compaction", "entered_review_mode", "exited_review_mode",
    "function_call_output", "hook_prompt", "plan", "reasoning", "sub_agent_activity",
    "user_message",
))  # fmt: skip
_HUMP = re.compile(r"(?<!^)(?=[A-Z])")


def kind_of(item: object) -> str:
    """The item's type in small letters: ``command_execution``, ``agent_message``."""
    return _HUMP.sub("_", text_of(item, "type")).lower()


def went_well(item: object) -> bool:
    """Whether a tool that has ended did what it was asked to do, as far as is told."""
    if text_of(item, "status") in ("failed", "declined") or get(item, "success") is False:
        return False
    return int_of(item, "exitCode") == 0


def thoughts(item: object) -> str:
    """The words of a ``reasoning`` item."""
    summary = get(item, "summary")
    if not isinstance(summary, list):
        return ""
    words = cast("list[object]", summary)
    return "\n\n".join(piece for piece in words if isinstance(piece, str))


def about(item: object) -> str:
    """The command, file or tool that an item is about."""
    if command := text_of(item, "command"):
        return bare(command)
    if changes := list_of(item, "changes"):
        return ", ".join(text_of(change, "path") for change in changes)
    if tool := text_of(item, "tool"):
        return f"{text_of(item, 'server')} {tool}".strip()
    if query := text_of(item, "query"):
        return query
    return kept(json.dumps(item, ensure_ascii=False), MAX_LINE_CHARS)


_SHELL = re.compile(r"\S*/(?:ba|z|da|)sh -l?c (.*)", re.DOTALL)


def bare(command: str) -> str:
    """A command without the shell that Codex wraps it in: ``/bin/bash -lc 'ls -a'`` -> ``ls -a``.

    Only where its quoting is plain; else the whole is shown.
    """
    found = _SHELL.fullmatch(command)
    if found is None:
        return command
    inner = found[1]
    if len(inner) > 1 and inner[0] == inner[-1] == "'" and "'" not in inner[1:-1]:
        return inner[1:-1]
    if len(inner) > 1 and inner[0] == inner[-1] == '"' and not set('"$`\\') & set(inner[1:-1]):
        return inner[1:-1]
    return inner if re.fullmatch(r"[\w./=:@%+,-]+", inner) else command
