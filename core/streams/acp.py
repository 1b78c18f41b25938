"""A client of the Agent Client Protocol: JSON-RPC 2.0 over a process's pipes, a message a line.

One process for one prompt: ``initialize``, a session, the prompt, its end. Files and terminals stay
with the agent (no ``fs`` and no ``terminal`` capability): it works itself, and only asks for leave.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from hashlib import sha256
from typing import Any, ClassVar, Literal, cast

from core.model import EngineEvent, EngineRequest, EngineTask, Exit, OutcomeKind, Verdict
from core.streams.cuts import MAX_LINE_CHARS, kept
from core.streams.judge import classify
from core.streams.lines import JsonObject, get, int_of, list_of, text_of
from core.streams.reader import LineReader
from core.streams.say import joined_prompt

_MAX_TOOLS = 2000
_NO_METHOD = -32601

Stage = Literal["initialize", "session", "prompt"]


class AcpReader(LineReader, ABC):
    """See ``core.ports.Reader``. A subclass says how its agent opens a session and what it means.

    Attributes:
        resume_method: how an earlier session is opened.
    """

    type_path = ("method",)
    blocks_are_whole: ClassVar[bool] = False
    resume_method: ClassVar[str] = "session/load"

    def __init__(self, task: EngineTask) -> None:
        super().__init__()
        self.task = task
        self._out: list[JsonObject] = []
        self._calls: dict[int, tuple[Stage, Callable[[JsonObject], None]]] = {}
        self._open: dict[str, tuple[object, JsonObject]] = {}  # what people have not decided yet
        self._tools: dict[str, str] = {}  # tool call -> its name, while it is at work
        self._prompted = False
        self.handlers = {
            "": self._response,
            "session/update": self._update,
        }
        # ``False`` for each: whatever it does to files, it does itself, once that is allowed.
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        hello = {
            "protocolVersion": 1,
            "clientCapabilities": capabilities,
            "clientInfo": {"name": "moot", "title": "Moot", "version": "1"},
        }
        self.call("initialize", "initialize", hello, self.hello)

    # --- for subclasses -------------------------------------------------------------------

    def hello(self, result: JsonObject) -> None:
        """It is there; ``result`` says what it can do. Opens the session."""
        del result
        self.open_session()

    def open_session(self) -> None:
        """Open a new session, or the one that is gone on with."""
        # Servers of MCP stand in the agent's own configuration.
        params: JsonObject = {"cwd": self.task.cwd, "mcpServers": []}
        if self.task.resume:
            params["sessionId"] = self.task.resume
            self.call("session", self.resume_method, params, self._resumed)
        else:
            self.call("session", "session/new", params, self._opened)

    def ready(self) -> None:
        """The session is open: a place for what has to be set before ``prompt``."""
        self.prompt()

    def text(self) -> str:
        """What is asked."""
        return joined_prompt(self.task.context, self.task.prompt).decode()

    @abstractmethod
    def request_of(self, request_id: str, params: JsonObject) -> EngineRequest:
        """What people are to decide; ``params`` are those of ``session/request_permission``."""

    def failure(self, stage: Stage, error: JsonObject) -> tuple[OutcomeKind, str]:
        """What a JSON-RPC error means, and its words."""
        text = error_text(error)
        return ("session-lost" if stage == "session" and self.task.resume else classify(text)), text

    def finished(self, result: JsonObject) -> None:
        """The prompt is answered: a place for usage. The outcome is decided after it."""

    # --- what we say ----------------------------------------------------------------------

    def call(
        self, stage: Stage, method: str, params: JsonObject, then: Callable[[JsonObject], None]
    ) -> None:
        """Send a request; ``then`` gets its result, an error ends the run."""
        number = len(self._calls) + 1
        self._calls[number] = (stage, then)
        self._out.append({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    def prompt(self) -> None:
        """Ask what is to be asked. What came before it is of an earlier turn."""
        self._prompted = True
        said = [{"type": "text", "text": self.text()}]
        params: JsonObject = {"sessionId": self.session, "prompt": said}
        self.call("prompt", "session/prompt", params, self._answered)

    def to_send(self) -> bytes:
        """See ``core.ports.Reader``."""
        said, self._out = self._out, []
        return b"".join(json.dumps(message).encode() + b"\n" for message in said)

    def decide(self, verdict: Verdict) -> None:
        """See ``core.ports.Reader``.

        Never more than once: what "for this session" means is Moot's to remember, for an agent's
        own "always" is wider than what people were told.
        """
        if found := self._open.pop(verdict.request_id, None):
            raw_id, params = found
            allowed = verdict.choice in ("once", "session")
            wanted = "allow_once" if allowed else "reject_once"
            outcome: JsonObject = {"outcome": "cancelled"}
            for option in list_of(params, "options"):
                if text_of(option, "kind") == wanted:
                    outcome = {"outcome": "selected", "optionId": text_of(option, "optionId")}
                    break
            self._reply(raw_id, {"result": {"outcome": outcome}})

    def _reply(self, raw_id: object, body: JsonObject) -> None:
        self._out.append({"jsonrpc": "2.0", "id": raw_id, **body})

    # --- what it says ---------------------------------------------------------------------

    def _dispatch(self, obj: JsonObject) -> None:
        if "id" in obj and text_of(obj, "method") and not self.closed:
            self._requested(obj)
        else:
            super()._dispatch(obj)

    def _response(self, d: JsonObject) -> None:
        found = self._calls.get(int_of(d, "id"))
        if found is None or self.closed:
            return
        stage, then = found
        error = get(d, "error")
        if error is not None:
            if stage == "prompt":
                self._end_text()
            shape = cast("JsonObject", error) if isinstance(error, dict) else {"message": error}
            self.fail(*self.failure(stage, shape), final=True)
            self.close(ok=False)
            return
        result = get(d, "result")
        then(cast("JsonObject", result) if isinstance(result, dict) else {})

    def _opened(self, result: JsonObject) -> None:
        self.started(text_of(result, "sessionId"))
        if self.session:
            self.ready()
        else:
            self.fail("crashed", "it opened a session without telling its id", final=True)

    def _resumed(self, result: JsonObject) -> None:
        del result
        self.started(self.task.resume)
        self.ready()

    def _answered(self, result: JsonObject) -> None:
        self._end_text()
        self.finished(result)
        match text_of(result, "stopReason"):
            case "end_turn":
                pass
            case "refusal":
                self.fail("refused", "the provider's content filter stopped it")
            case "max_tokens":
                self.fail("crashed", "the answer was cut at the model's output limit")
            case "max_turn_requests":
                self.fail("crashed", "it stopped at its limit of turns, or went round in a loop")
            case "cancelled":
                self.fail("crashed", "it broke off the turn by itself")
            case other:
                self.fail("crashed", f"the turn ended as {other!r}")
        self.close(ok=self.error is None)

    def _update(self, d: JsonObject) -> None:
        if not self._prompted or text_of(d, "params", "sessionId") != self.session:
            return  # what an earlier turn said, told once more
        update = get(d, "params", "update")
        match text_of(update, "sessionUpdate"):
            case "agent_message_chunk":
                self.delta(text_of(update, "content", "text"))
            case "agent_thought_chunk":
                self.emit("thinking", text_of(update, "content", "text"))
            case "tool_call" | "tool_call_update":
                self._tool(update)
            case _:
                pass  # plans, commands, modes

    def _tool(self, update: object) -> None:
        call, status = text_of(update, "toolCallId"), text_of(update, "status")
        about = about_call(update)
        # A call is told of before its arguments are: then it is not worth a line yet.
        if call not in self._tools and (status != "pending" or get(update, "rawInput") is None):
            self._begin_tool(call, text_of(update, "kind"), about)
        if status in ("completed", "failed"):
            if call in self._tools:
                self.tool_end(call, self._tools.pop(call), ok=status == "completed")
            self.unfinished_tool = bool(self._tools)

    def _begin_tool(self, call: str, kind: str, about: str) -> None:
        self._end_text()
        self.answer = ""  # the answer is what comes after the last tool
        if len(self._tools) < _MAX_TOOLS:
            self._tools[call] = kind
        self.tool_start(call, kind, about)

    def _end_text(self) -> None:
        if text := "".join(self.partial):
            self.message(text)

    # --- what it asks ---------------------------------------------------------------------

    def _requested(self, d: JsonObject) -> None:
        """Every request gets an answer: at once, or when people have decided."""
        raw_id, method = d["id"], text_of(d, "method")
        if method != "session/request_permission":
            missing = {"code": _NO_METHOD, "message": f"{method} is not offered by this client"}
            self._reply(raw_id, {"error": missing})
            return
        given = get(d, "params")
        params = cast("JsonObject", given) if isinstance(given, dict) else {}
        request_id = json.dumps(raw_id)
        request = self.request_of(request_id, params)
        call = get(params, "toolCall")
        if (call_id := text_of(call, "toolCallId")) not in self._tools:
            self._begin_tool(call_id, text_of(call, "kind"), request.about)
        self._open[request_id] = (raw_id, params)
        self._events.append(EngineEvent("request", id=request_id, request=request))

    def ended(self, end: Exit) -> Exit:
        """See ``LineReader``."""
        if not self.closed and self.error is None and not end.why and end.code == 0:
            # It leaves without a word where it could not start (C100).
            kind = classify(end.stderr)
            self.fail(kind, end.stderr.strip() or "it ended before it answered")
        return end


# --- words --------------------------------------------------------------------------------


def error_text(error: JsonObject) -> str:
    """The words of a JSON-RPC error, with the details where they stand apart."""
    message, more = text_of(error, "message"), text_of(error, "data", "details")
    return f"{message}: {more}" if more and more not in message else message


def about_call(call: object) -> str:
    """The command or path that a tool call is about."""
    for key in ("command", "filePath", "filepath", "path", "url", "pattern", "query"):
        if text := text_of(call, "rawInput", key):
            return text
    return text_of(call, "title")


def diffs_in(call: object) -> list[tuple[str, str, str]]:
    """(path, old text, new text) of each change that a tool call would make."""
    return [
        (text_of(part, "path"), text_of(part, "oldText"), text_of(part, "newText"))
        for part in list_of(call, "content")
        if text_of(part, "type") == "diff"
    ]


def command_scope(cwd: str, command: str) -> tuple[str, str]:
    """Key and words of "exactly this command"."""
    digest = sha256(f"{cwd}\0{command}".encode("utf-8", "replace")).hexdigest()[:32]
    return f"command:{digest}", f"exactly this command: {kept(first_line(command), MAX_LINE_CHARS)}"


def files_scope(paths: list[str], cwd: str) -> tuple[str, str]:
    """Key and words of changes to files in the one folder of the project that all lie in.

    ("", "") where there is no such, or where something on the way begins with a dot (.git, .env):
    what says what is run is asked for each time. Folders below are not meant: one may be a link
    that leads out of the project.
    """
    folders = {path.rpartition("/")[0] for path in paths}
    if len(folders) != 1 or not cwd.startswith("/"):
        return "", ""
    (folder,), home = folders, cwd.rstrip("/")
    if folder != home and not folder.startswith(f"{home}/"):
        return "", ""
    if any(piece.startswith(".") for path in paths for piece in path[len(home) :].split("/")):
        return "", ""
    return f"files:{folder}", f"changes to files in {folder} (not in folders below it)"


def first_line(text: str) -> str:
    """The first line of ``text``; that there are more is said."""
    first, _, rest = text.strip().partition("\n")
    return f"{first} …" if rest else first


def details(*parts: str) -> str:
    """The parts that hold anything, one below the other."""
    return kept("\n\n".join(part.strip("\n") for part in parts if part.strip()))


def given_as_json(value: Any) -> str:
    """An input as people can read it."""
    return json.dumps(value, ensure_ascii=False, indent=1) if value else ""
