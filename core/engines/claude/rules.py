"""What would give leave in place of people, held back where Moot's mode allows less. Pure.

Whoever works with Claude Code in a terminal collects rules there ("Yes, and don't ask again"), and
they count in every permission mode, plan mode included. What Moot's mode promises must not hang on
them: before the question is put, Claude Code is asked for its rules, and told to ask for what those
allow that changes something. A rule to ask goes before a rule to allow.

It goes before what a hook allows as well, and before what a skill brings for itself
(``allowed-tools``). Of those nobody can tell what they would allow: where there are such hooks, or
a skill was let in, everything that changes something is asked for.
"""

from __future__ import annotations

import json
import re

from core.model import Permission
from core.streams import JsonObject, get, list_of, text_of

LIST, HOOKS, HOLD, WIDER = "moot-rules", "moot-hooks", "moot-held", "moot-wider"  # our requests
_OURS = ("cliArg", "session")  # what Moot's own settings and arguments allow
_READING_TOOLS = frozenset(
    (
        *("Read", "Grep", "Glob", "LS", "LSP", "NotebookRead", "WebFetch", "WebSearch"),
        *("ToolSearch", "Task", "Agent", "TodoWrite", "AskUserQuestion"),
    )
)
_EDITING_TOOLS = frozenset(("Edit", "MultiEdit", "Write", "NotebookEdit"))
# Whatever their arguments are they write nothing; where they are told to write into a file Claude
# Code asks all the same.
_READING = re.compile(
    r"(?:ls|cat|head|tail|wc|pwd|stat|du|df|which|file|grep|git status)(?:(?::| )?\*)?"
)


# All that changes something or reaches out, whatever is given to it.
_ALL = ("Bash", "PowerShell", "Monitor", "Edit", "MultiEdit", "Write", "NotebookEdit", "WebFetch",
        "WebSearch", "Skill", "Workflow", "mcp__*")  # fmt: skip
_DECIDING = ("PreToolUse", "PermissionRequest")  # hooks that may say yes in place of people
_MOOTS = "mcp__moot__"
# Under `_ALL` these are let through here, where Claude Code would not ask by itself: plain words
# that name nothing outside of the project.
_PLAIN_READING = re.compile(
    r"(?:ls|cat|head|tail|wc|pwd|stat|du|df|which|grep|git status)"
    r"(?: (?:--?[A-Za-z0-9-]+|[\w.][\w.,/+-]*))*"
)


def listing() -> bytes:
    """The requests for its rules and its hooks."""
    rules = _request(LIST, {"subtype": "list_permission_rules"})
    return rules + _request(HOOKS, {"subtype": "get_hooks_listing"})


def holding(rules: list[str], request_id: str = HOLD) -> bytes:
    """The request to ask before what these rules allow; for this process only."""
    return _request(
        request_id, {"subtype": "apply_flag_settings", "settings": {"permissions": {"ask": rules}}}
    )


def decide(response: object) -> bool:
    """Whether there are hooks that may give leave; ``response`` is that to ``HOOKS``."""
    return any(
        text_of(hook, "event") in _DECIDING for hook in list_of(response, "response", "hooks")
    )


def wide(permission: Permission) -> list[str]:
    """The rules that hold everything, but for what the mode is there for."""
    return [rule for rule in _ALL if not (permission == "edit" and rule in _EDITING_TOOLS)]


def free_where_wide(tool: str, given: object) -> bool:
    """Whether a request is there for ``wide`` only, and is for nothing that is to be asked."""
    if tool.startswith(_MOOTS):
        return True
    command = text_of(given, "command")
    odd = get(given, "run_in_background") or get(given, "dangerouslyDisableSandbox")
    inside = ".." not in command and not odd
    return tool == "Bash" and inside and bool(_PLAIN_READING.fullmatch(command))


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
