"""What ``gemini --output-format stream-json`` says. PURE."""

from __future__ import annotations

import json
import re
from typing import ClassVar

from core.model import (
    Exit,
    OutcomeKind,
    Usage,
)
from core.streams import (
    JsonObject,
    LineReader,
    classify,
    get,
    int_of,
    telling,
    text_of,
)
from core.streams.cuts import MAX_LINE_CHARS, kept
from core.tongue import to_say

# Exit statuses: its own, and HTTP statuses modulo 256.
_EXITS: dict[int, OutcomeKind] = {
    41: "auth",
    42: "bad-config",
    44: "bad-config",
    52: "bad-config",
    401 % 256: "auth",
    402 % 256: "quota",
    403 % 256: "auth",
    404 % 256: "bad-model",
    413 % 256: "context-too-long",
    429 % 256: "rate",
    500 % 256: "overloaded",
    502 % 256: "overloaded",
    503 % 256: "overloaded",
    504 % 256: "overloaded",
    529 % 256: "overloaded",
}
_EXIT_WORDS = {
    42: "it could not read what it was given",
    44: "its sandbox could not be started",
    52: "its settings file cannot be read",
    53: "it stopped at its limit of turns",
    54: "a tool of it failed for good",
}


FIXES: dict[OutcomeKind, str] = {
    "auth": to_say("Run `gemini` on the host and sign in, or set GEMINI_API_KEY; then try again."),
    "missing-binary": to_say(
        "Install it with `npm install -g @google/gemini-cli`, or set [engines.gemini] path."
    ),
}


class GeminiReader(LineReader):
    """See ``core.ports.Reader``. Texts come in deltas only, so a stream cut short shows nothing."""

    blocks_are_whole: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self._looped = False
        self.fixes = FIXES
        self.handlers = {
            "init": lambda d: self.started(text_of(d, "session_id")),
            "message": self._message,
            "tool_use": self._tool_use,
            "tool_result": lambda d: self.tool_end(
                text_of(d, "tool_id"), ok=text_of(d, "status") == "success"
            ),
            "error": self._error,
            "result": self._result,
        }

    def _message(self, d: JsonObject) -> None:
        if text_of(d, "role") == "assistant":
            self.delta(text_of(d, "content"))

    def _end_block(self) -> None:
        if text := "".join(self.partial):
            self.message(text)

    def _tool_use(self, d: JsonObject) -> None:
        self._end_block()
        self.answer = ""  # the answer is what comes after the last tool
        self.tool_start(text_of(d, "tool_id"), text_of(d, "tool_name"), about(d))

    def _error(self, d: JsonObject) -> None:
        text = text_of(d, "message")
        self.warn(text)
        self._looped = self._looped or "loop detected" in text.lower()
        if text_of(d, "severity") == "error":
            self.fail(classify(text), text)

    def _result(self, d: JsonObject) -> None:
        self._end_block()
        used = get(d, "stats")
        self.usage = Usage(
            input_tokens=int_of(used, "input_tokens"),
            output_tokens=int_of(used, "output_tokens"),
            cached_tokens=int_of(used, "cached"),
        )
        self.emit("usage")
        if text_of(d, "status") == "success":
            broken = self._looped and bool(self.answer)  # it says that it went well all the same
            if broken:
                self.fail("crashed", "it noticed that it went in a loop and stopped")
            self.close(ok=not broken)
            return
        text = text_of(d, "error", "message")
        status = re.search(r'"code":\s*(\d{3})', text)
        kind = classify(text, int(status[1]) if status else None)
        if text_of(d, "error", "type") == "FatalTurnLimitedError":
            kind = "crashed"
        self.fail(kind, message_in(text))
        self.close(ok=False)

    def ended(self, end: Exit) -> Exit:
        """See ``LineReader``."""
        vague = self.error[0] if self.error else classify(end.stderr)
        told = end.code in _EXITS or end.code in _EXIT_WORDS
        if vague == "crashed" and told and not end.why and not self.succeeded:
            # Its stderr is full of noise: the exit status is clearer (C100).
            code = end.code or 0
            said = self.error[1] if self.error else telling(end.stderr)
            word = _EXIT_WORDS.get(code, "")
            status = f"{word} (exit status {code})" if word else f"exit status {code}"
            self.fail(_EXITS.get(code, "crashed"), said or status)
        return end


def message_in(text: str) -> str:
    """The words in an API error that is quoted as JSON, or the text as it is."""
    found = re.search(r'"message":\s*("(?:[^"\\]|\\.)*")', text)
    return str(json.loads(found[1], strict=False)) if found else text


def about(d: JsonObject) -> str:
    """The command or path that a tool call is about."""
    for key in ("command", "file_path", "absolute_path", "path", "dir_path", "pattern", "query"):
        if text := text_of(d, "parameters", key):
            return text
    return kept(str(get(d, "parameters") or ""), MAX_LINE_CHARS)
