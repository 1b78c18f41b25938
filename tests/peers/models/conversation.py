"""The protocol-neutral model of a request and of a reply."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from typing import Any

DIRECTIVE = re.compile(r"@@fake[ \t]+([a-z0-9_]+)((?:[ \t]+[^@]*?)?)@@")


#: Names under which the agents offer "run a shell command" and "read a file".
SHELL_TOOLS = (
    "Bash",
    "bash",
    "exec_command",
    "shell_command",
    "shell",
    "local_shell",
    "container.exec",
    "run_shell_command",
    "exec",
)
READ_TOOLS = ("Read", "read", "read_file")
WRITE_TOOLS = ("Write", "write", "write_file")

#: Marks of requests that are not the user's turn (see Conversation.side).
SIDE_HINTS = (
    "title generator",
    "generate a short title",
    "generate a concise",
    "conversation title",
    "isNewTopic",
    "Task Routing AI",
    "Summarize this coding conversation",
)


@dataclass
class Tool:
    name: str
    schema: dict[str, Any]
    kind: str = "function"  # Codex also has "custom" (free-form) tools
    namespace: str = ""  # Codex groups MCP tools under "mcp__SERVER"


@dataclass
class Conversation:
    """What one request says, whatever protocol it came in."""

    protocol: str
    model: str
    system: str
    turns: list[tuple[str, str]]  # (user | assistant | tool, text)
    tools: list[Tool]
    stream: bool
    raw: dict[str, Any] = field(repr=False, default_factory=dict)

    @property
    def _last_user(self) -> int:
        for i in range(len(self.turns) - 1, -1, -1):
            if self.turns[i][0] == "user":
                return i
        return -1

    @property
    def prompt(self) -> str:
        """The last thing the user said, injected context removed."""
        i = self._last_user
        return self.turns[i][1] if i >= 0 else ""

    @property
    def prompts(self) -> list[str]:
        return [text for role, text in self.turns if role == "user"]

    @property
    def tool_results(self) -> list[str]:
        return [t for role, t in self.turns[self._last_user + 1 :] if role == "tool"]

    @property
    def step(self) -> int:
        """How many tool results came back since the user last spoke."""
        return len(self.tool_results)

    @property
    def side(self) -> bool:
        if self.tools:
            return False
        hay = self.system + "\n" + (self.turns[0][1] if self.turns else "")
        return any(h.lower() in hay.lower() for h in SIDE_HINTS)

    def tool(self, names: tuple[str, ...]) -> Tool | None:
        by_name = {t.name: t for t in self.tools}
        return next((by_name[n] for n in names if n in by_name), None)


@dataclass
class ToolCall:
    name: str
    arguments: dict[str, Any]
    kind: str = "function"
    namespace: str = ""
    raw_input: str = ""  # for kind == "custom"
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:20])


@dataclass
class Reply:
    text: str = ""
    thinking: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    chunk: int = 24  # characters in one streamed delta
    delay: float = 0.0  # seconds before each delta
    first: float = 0.0  # seconds before the first byte
    stop: str = "end"  # end | tool | length | refusal
    cut_after: int | None = None  # drop the connection after N text deltas
    input_tokens: int = 0  # 0: estimated from the request
    output_tokens: int = 0

    def deltas(self) -> list[str]:
        n = max(1, self.chunk)
        return [self.text[i : i + n] for i in range(0, len(self.text), n)]


@dataclass
class Failure:
    status: int
    kind: str  # rate_limit | auth | overloaded | ...
    message: str
    retry_after: float | None = None
    in_stream: bool = False  # 200, then an error event


@dataclass
class RawBody:
    """Bytes sent as they are, for the malformed cases."""

    body: bytes
    content_type: str = "text/event-stream"
    status: int = 200
    hang: float = 0.0


Outcome = Reply | Failure | RawBody
