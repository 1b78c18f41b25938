"""What ``opencode run --format json`` says. PURE."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

from core.model import (
    Exit,
    OutcomeKind,
    Usage,
)
from core.streams import (
    JsonObject,
    LineReader,
    classify,
    float_of,
    get,
    int_of,
    tail,
    text_of,
)
from core.streams.cuts import MAX_LINE_CHARS
from core.tongue import to_say

FIXES: dict[OutcomeKind, str] = {
    "auth": to_say("Run `opencode auth login` on the host, then try again."),
    "bad-model": to_say(
        "Set [engines.opencode] model as provider/model; `opencode models` lists them."
    ),
    "missing-binary": to_say(
        "Install it with `npm install -g opencode-ai`, or set [engines.opencode] path."
    ),
}


class OpenCodeReader(LineReader):
    """See ``core.ports.Reader``.

    There are no deltas and no closing event: the exit status and the last step decide.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fixes = FIXES
        self._reason = ""
        self._rejected = ""
        self._message_id = ""
        self._whole = ""  # the answer that stood complete before the newest message began
        self._kept = ""  # the answer that a summary of the session came after
        self._named: dict[str, Callable[[JsonObject], None]] = {
            "text": self._text,
            "reasoning": lambda d: self.emit("thinking", text_of(d, "part", "text")),
            "tool_use": self._tool_use,
            "step_finish": self._step_finish,
            "error": self._error,
            "step_start": lambda _: None,
        }
        self.handlers = {name: self._any(handler) for name, handler in self._named.items()}

    def _any(self, handler: Callable[[JsonObject], None]) -> Callable[[JsonObject], None]:
        def handle(d: JsonObject) -> None:
            self.started(text_of(d, "sessionID"))
            handler(d)

        return handle

    def _text(self, d: JsonObject) -> None:
        text, message = text_of(d, "part", "text"), text_of(d, "part", "messageID")
        if get(d, "part", "synthetic") is True:  # what it says to the model itself
            if get(d, "part", "metadata", "compaction_continue") is True:
                self._compacted()
            return
        if message and message == self._message_id:
            before = self.answer
        else:
            self._whole = self.answer if self._reason == "stop" else ""
            before = self._kept
        self._message_id = message
        self.message(text)
        if before and text.strip():  # several parts of one message are one answer
            self.answer = f"{before}\n\n{text}"

    def _compacted(self) -> None:
        """The newest message was the summary of its session, and no answer.

        An answer that was complete before it stands; what is said afterwards is added to it.
        """
        self.answer = self._kept = self._whole
        self._message_id = ""
        if self.shown:
            self.shown.pop()
        self.emit("compacted", "auto")

    def _tool_use(self, d: JsonObject) -> None:  # comes when the tool is over
        state, tool = get(d, "part", "state"), text_of(d, "part", "tool")
        call, error = text_of(d, "part", "callID"), text_of(state, "error")
        self._rejected = error if "rejected permission" in error else ""
        self.tool_start(call, tool, about(state))
        self.tool_end(call, tool, ok=text_of(state, "status") == "completed")
        if "specified a rule" in error or self._rejected:
            self.warn(tail(error, MAX_LINE_CHARS), "denied")

    def _step_finish(self, d: JsonObject) -> None:
        self._reason = text_of(d, "part", "reason")
        tokens, sum_so_far = get(d, "part", "tokens"), self.usage
        cached = int_of(tokens, "cache", "read")
        self.usage = Usage(
            input_tokens=sum_so_far.input_tokens + int_of(tokens, "input") + cached,
            output_tokens=sum_so_far.output_tokens
            + int_of(tokens, "output")
            + int_of(tokens, "reasoning"),
            cached_tokens=sum_so_far.cached_tokens + cached,
            cost_usd=sum_so_far.cost_usd + float_of(d, "part", "cost"),
        )
        self.emit("usage")

    def _error(self, d: JsonObject) -> None:
        data = get(d, "error", "data")
        text = text_of(data, "message") or json.dumps(get(d, "error"), ensure_ascii=False)
        kinds: dict[str, OutcomeKind] = {
            "ProviderAuthError": "auth",
            "ContextOverflowError": "context-too-long",
            "ContentFilterError": "refused",
            "MessageAbortedError": "cancelled",
            "ProviderModelNotFoundError": "bad-model",
        }
        named = kinds.get(text_of(d, "error", "name"))
        self.fail(named or classify(text, int_of(data, "statusCode") or None), text)

    def ended(self, end: Exit) -> Exit:
        """See ``LineReader``."""
        if end.code == 0 and self._reason and self.error is None and not end.why:
            if self._reason in ("stop", "end_turn", "unknown"):
                self.close(ok=True)
            elif self._reason == "tool-calls" and self._rejected:
                self.fail("refused", self._rejected)
            elif self._reason == "length":
                self.fail("crashed", "the answer was cut at the model's output limit")
            elif self._reason == "content-filter":
                self.fail("refused", "the provider's content filter stopped it")
        return replace(end, stderr=errors_logged(end.stderr) or end.stderr)


def errors_logged(stderr: str) -> str:
    """The error messages in its log, one a line (the log itself is long and full of stacks)."""
    found = re.findall(r'\berror(?:\.\w+)?="((?:[^"\\]|\\.)*)"', stderr)
    return "\n".join(dict.fromkeys(text.replace('\\"', '"') for text in found))


def about(state: object) -> str:
    """The command or path that a tool call is about."""
    for key in ("command", "filePath", "path", "pattern", "query", "url", "description"):
        if text := text_of(state, "input", key):
            return text
    return text_of(state, "title")
