"""Allow rules of the host's own settings, held back where Moot's mode allows less. Pure.

Whoever works with Claude Code in a terminal collects rules there ("Yes, and don't ask again"), and
they count in every permission mode, plan mode included. What Moot's mode promises must not hang on
them: before the question is put, Claude Code is asked for its rules, and told to ask for what those
allow that changes something. A rule to ask goes before a rule to allow.
"""

from __future__ import annotations

import json
import re

from core.model import Permission
from core.streams import JsonObject, list_of, text_of

LIST, HOLD = "moot-rules", "moot-held"  # ids of our requests
_OURS = ("cliArg", "session")  # what Moot's own settings and arguments allow
_READING_TOOLS = frozenset(
    (
        *("Read", "Grep", "Glob", "LS", "LSP", "NotebookRead", "WebFetch", "WebSearch"),
        *("ToolSearch", "Skill", "Task", "Agent", "TodoWrite", "AskUserQuestion"),
    )
)
_EDITING_TOOLS = frozenset(("Edit", "MultiEdit", "Write", "NotebookEdit"))
# Whatever their arguments are they write nothing; where they are told to write into a file Claude
# Code asks all the same.
_READING = re.compile(
    r"(?:ls|cat|head|tail|wc|pwd|stat|du|df|which|file|grep|git status)(?:(?::| )?\*)?"
)


def listing() -> bytes:
    """The request for its rules."""
    return _request(LIST, {"subtype": "list_permission_rules"})


def holding(rules: list[str]) -> bytes:
    """The request to ask before what these rules allow; for this process only."""
    return _request(
        HOLD, {"subtype": "apply_flag_settings", "settings": {"permissions": {"ask": rules}}}
    )


def to_hold(response: object, permission: Permission) -> list[str]:
    """Those of the rules that allow more than the mode does; ``response`` is that to ``LIST``."""
    if permission == "full":
        return []
    allowing = [
        text_of(rule, "rule")
        for rule in list_of(response, "response", "state", "rules")
        if text_of(rule, "behavior") == "allow" and text_of(rule, "source") not in _OURS
    ]
    return [rule for rule in dict.fromkeys(allowing) if rule and _exceeds(rule, permission)]


def _exceeds(rule: str, permission: Permission) -> bool:
    tool, _, rest = rule.partition("(")
    if tool in _READING_TOOLS or (tool in _EDITING_TOOLS and permission == "edit"):
        return False
    return not (tool == "Bash" and _READING.fullmatch(rest.removesuffix(")")))


def _request(request_id: str, request: JsonObject) -> bytes:
    body = {"type": "control_request", "request_id": request_id, "request": request}
    return json.dumps(body).encode() + b"\n"
