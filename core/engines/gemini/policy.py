"""What Gemini CLI may do in a mode, as a file of its policy engine. PURE.

The file is given twice: as an administrator's, above everything that the user's or the project's
settings say (``tools.allowed``, trusted MCP servers), and as a user's, for a host where a system
administrator has rules: there the CLI takes no other administrator's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from core.model import Permission

POLICY_FILE = "policy.toml"
# Where the user's own rules are: naming any other file would switch them off.
OWN = "~/.gemini/policies"

_TOP, _LOW = 999, 990  # a tier of the CLI goes to 999; nothing that settings say reaches 990
# Nobody can answer these: with no person at its terminal the CLI approves a plan by itself and
# goes on in its mode "yolo".
_NEVER = ("ask_user", "enter_plan_mode", "exit_plan_mode")
_FREE = ("write_todos", "update_topic", "list_background_processes", "read_background_output")
_FILES = ("write_file", "replace")
# What else changes something, starts a program or reaches out. Tools of MCP servers and those that
# a settings file's command lists are found by their names' beginnings.
_ACTS = ("run_shell_command", "save_memory", "activate_skill", "mcp_*", "discovered_tool_*")
_PAGES = ("web_fetch",)
_READERS = ("codebase_investigator", "cli_help")


def policy(permission: Permission) -> str:
    """The file's text for a mode below ``full``."""
    rules = [_rule(_NEVER, "deny", _TOP), _rule(_FREE, "allow", 900)]
    if permission == "plan":
        rules.append(_rule((*_ACTS, *_FILES, *_PAGES), "deny", _LOW))
    elif permission == "ask":
        rules.append(_rule((*_ACTS, *_FILES, *_PAGES), "ask_user", _LOW))
    else:
        rules.append(_rule(_ACTS, "deny", _LOW))
    # A sub-agent that can change something would be refused without anybody being asked.
    agents = (*_READERS, "generalist") if permission == "edit" else _READERS
    named = f'"agent_name":\\s*"({"|".join(agents)})"'
    rules.append(_rule(("invoke_agent",), "allow", _TOP, named))
    rules.append(_rule(("invoke_agent",), "deny", _LOW))
    return "\n".join(rules)


def _rule(tools: Sequence[str], decision: str, priority: int, pattern: str = "") -> str:
    lines = ["[[rule]]", f"toolName = {json.dumps(tools)}"]
    lines += [f"argsPattern = {json.dumps(pattern)}"] if pattern else []
    return "\n".join([*lines, f'decision = "{decision}"', f"priority = {priority}\n"])
