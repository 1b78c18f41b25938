"""The dialogue with ``codex app-server``: JSON-RPC, a message a line. PURE."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from core.context.frame import one_line
from core.engines.codex.asking import (
    NO_ELICITATION,
    NOBODY,
    Ask,
    note,
    of_command,
    of_files,
    of_mcp,
    of_questions,
    of_wider_permissions,
)
from core.engines.codex.failures import FIXES, failure_kind, failure_text, refused_start
from core.engines.codex.holding import opening, still_to_hold
from core.engines.codex.items import NOT_TOOLS, about, kind_of, thoughts, went_well
from core.model import EngineEvent, EngineTask, Exit, Outcome, Usage, Verdict
from core.streams import (
    JsonObject,
    LineReader,
    get,
    int_of,
    joined_prompt,
    list_of,
    reset_time,
    text_of,
)

_HELLO, _THREAD, _TURN, _WORD = 1, 2, 3, 4  # the ids of our requests
_NOT_WANTED = ("turn/diff/updated", "thread/started", "item/reasoning/textDelta")
_Tokens = tuple[int, int, int]  # input, output, cached

_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class CodexReader(LineReader):
    """See ``core.ports.Reader``: opens a thread, starts one turn in it, and sees it to its end.

    Events of other threads are those of sub-agents: their tools and tokens count, their words do
    not.
    """

    type_path = ("method",)

    def __init__(self, task: EngineTask, model: str, told: Callable[[], str] = lambda: "") -> None:
        super().__init__()
        self.fixes = FIXES
        self._told = told  # what the project's folder tells, once its turn is to be asked
        self._task = task
        self._out: list[JsonObject] = []
        self._turn = ""
        self._asked = False
        self._open: dict[str, tuple[object, Ask]] = {}  # what people have not decided yet
        self._changes: dict[str, list[JsonObject]] = {}  # of files, by item, while it is at work
        self._back_at = 0  # when limits that are used up come back, in seconds since the epoch
        self._tokens: dict[str, tuple[_Tokens, _Tokens]] = {}  # thread -> before us, now
        self.handlers = {
            "": self._response,
            "item/started": self._item,
            "item/completed": self._item,
            "item/agentMessage/delta": self._delta,
            "thread/tokenUsage/updated": self._used,
            "warning": lambda d: self.emit("warning", text_of(d, "params", "message")),
            "error": self._error,
            "turn/completed": self._completed,
            "account/rateLimits/updated": self._limits,
            "serverRequest/resolved": self._resolved,
        }
        self._requests: dict[str, Callable[[str, JsonObject], Ask | JsonObject]] = {
            "item/commandExecution/requestApproval": self._may_run,
            "item/fileChange/requestApproval": self._may_change,
            "item/permissions/requestApproval": self._may_have,
            "mcpServer/elicitation/request": self._may_call,
            "item/tool/requestUserInput": self._question,
        }
        self._greet(model)

    def finish(self, end: Exit) -> Outcome:
        """See ``core.ports.Reader``."""
        outcome = super().finish(end)
        if outcome.kind == "quota" and self._back_at:
            # Its words name the host's time of day only, without the day or the zone.
            return replace(outcome, reset_at=reset_time(f"|{self._back_at}"))
        return outcome

    # --- what we say ------------------------------------------------------------------------

    def to_send(self) -> bytes:
        """See ``core.ports.Reader``."""
        said, self._out = self._out, []
        return b"".join(json.dumps(message).encode() + b"\n" for message in said)

    def decide(self, verdict: Verdict) -> None:
        """See ``core.ports.Reader``."""
        if found := self._open.pop(verdict.request_id, None):
            raw_id, ask = found
            self._out.append({"id": raw_id, "result": ask.answer(verdict)})
            if verdict.choice == "deny" and ask.request.kind == "permission" and verdict.note:
                self._explain(verdict)

    def _explain(self, verdict: Verdict) -> None:
        """Say why something was denied: with the denial itself, Codex takes no words."""
        by = f" by {one_line(verdict.by)}" if verdict.by else ""
        words = f"What you asked leave for was denied{by}: {one_line(verdict.note, 400)}"
        said: JsonObject = {"type": "text", "text": words, "text_elements": []}
        params: JsonObject = {
            "threadId": self.session,
            "expectedTurnId": self._turn,
            "input": [said],
        }
        self._out.append({"id": _WORD, "method": "turn/steer", "params": params})

    def _greet(self, model: str) -> None:
        task = self._task
        hello = {
            "clientInfo": {"name": "moot", "title": "Moot", "version": "1"},
            "capabilities": {
                "experimentalApi": True,  # without it no profile can be named for a thread
                "requestAttestation": False,
                "optOutNotificationMethods": [*_NOT_WANTED],
            },
        }
        thread: JsonObject = {
            "cwd": task.cwd,
            **opening(task.permission),
            "approvalsReviewer": "user",
        }
        if model:
            thread["model"] = model
        if task.resume:
            thread |= {"threadId": task.resume, "excludeTurns": True}
        elif task.passing:
            thread["ephemeral"] = True
        begin = "thread/resume" if task.resume else "thread/start"
        self._out += [
            {"id": _HELLO, "method": "initialize", "params": hello},
            {"method": "initialized"},
            {"id": _THREAD, "method": begin, "params": thread},
        ]

    def _ask_it(self, limits: JsonObject) -> None:
        text = joined_prompt(self._task.context, self._task.prompt).decode()
        said: list[JsonObject] = [
            {"type": "text", "text": words, "text_elements": []}
            for words in (self._told(), text)
            if words
        ]
        # Its shell shows it no pixels.
        said += [
            {"type": "localImage", "path": path}
            for path in self._task.files
            if path.lower().endswith(_IMAGES)
        ]
        params: JsonObject = {"threadId": self.session, "input": said, **limits}
        self._out.append({"id": _TURN, "method": "turn/start", "params": params})
        self._asked = True

    # --- what it says -----------------------------------------------------------------------

    def _dispatch(self, obj: JsonObject) -> None:
        if "id" in obj and text_of(obj, "method") and not self.closed:
            self._requested(obj)
        else:
            super()._dispatch(obj)

    def _response(self, d: JsonObject) -> None:
        if get(d, "id") == _WORD:
            return  # an explanation that came too late does no harm
        if (error := get(d, "error")) is not None:
            told = text_of(error, "message")
            self.in_use = "active writer" in told
            self.fail(*refused_start(told), final=True)
        elif get(d, "id") == _THREAD and not self._asked:
            self.started(text_of(d, "result", "thread", "id"))
            if self.session:
                self._ask_it(still_to_hold(self._task, get(d, "result")))
            else:
                self.fail("crashed", "it opened a thread without telling its id", final=True)
        elif get(d, "id") == _TURN:
            self._turn = text_of(d, "result", "turn", "id")

    def _ours(self, d: JsonObject) -> bool:
        return text_of(d, "params", "threadId") == self.session

    def _item(self, d: JsonObject) -> None:
        item = get(d, "params", "item")
        kind, item_id = kind_of(item), text_of(item, "id")
        starts = text_of(d, "method") == "item/started"
        if kind in NOT_TOOLS:
            if self._ours(d):
                self._word(kind, item, starts=starts)
            return
        if starts:
            if changes := list_of(item, "changes"):
                self._changes[item_id] = changes
            self.tool_start(item_id, kind, about(item))
        else:
            self._changes.pop(item_id, None)
            self.tool_end(item_id, kind, ok=went_well(item))

    def _word(self, kind: str, item: object, *, starts: bool) -> None:
        match kind:
            case "agent_message" if starts:
                self.anew()  # what a stream that broke had begun comes once more
            case "agent_message":
                self.message(text_of(item, "text"))
            case "reasoning" if not starts and (words := thoughts(item)):
                self.emit("thinking", words)
            case "context_compaction" if not starts:
                self.emit("compacted", "auto")
            case _:
                pass

    def _delta(self, d: JsonObject) -> None:
        if self._ours(d):
            self.delta(text_of(d, "params", "delta"))

    def _used(self, d: JsonObject) -> None:
        thread, turn = text_of(d, "params", "threadId"), text_of(d, "params", "turnId")
        if thread == self.session and turn != self._turn:
            return  # of an earlier turn: told when its session is gone on with
        used = get(d, "params", "tokenUsage")
        total, last = (
            (int_of(n, "inputTokens"), int_of(n, "outputTokens"), int_of(n, "cachedInputTokens"))
            for n in (get(used, "total"), get(used, "last"))
        )
        since = (total[0] - last[0], total[1] - last[1], total[2] - last[2])
        before = self._tokens[thread][0] if thread in self._tokens else since
        self._tokens[thread] = (before, total)
        spent = [
            sum(max(0, now[n] - then[n]) for then, now in self._tokens.values()) for n in range(3)
        ]
        self.usage = Usage(input_tokens=spent[0], output_tokens=spent[1], cached_tokens=spent[2])

    def _limits(self, d: JsonObject) -> None:
        windows = (get(d, "params", "rateLimits", name) for name in ("primary", "secondary"))
        ends = [int_of(w, "resetsAt") for w in windows if int_of(w, "usedPercent") >= 100]
        self._back_at = max(ends, default=0)

    def _error(self, d: JsonObject) -> None:
        if not self._ours(d):
            return
        error = get(d, "params", "error")
        if get(d, "params", "willRetry") is True:
            self.retry(failure_kind(error), failure_text(error))
        else:
            self.fail(failure_kind(error), failure_text(error))

    def _completed(self, d: JsonObject) -> None:
        turn = get(d, "params", "turn")
        another = bool(self._turn) and text_of(turn, "id") not in ("", self._turn)
        if another or self.closed or not self._ours(d):
            return
        status = text_of(turn, "status")
        if status not in ("completed", "interrupted"):
            error = get(turn, "error")
            self.fail(failure_kind(error), failure_text(error) or f"the turn ended as {status!r}")
        elif status == "interrupted":
            self.fail("crashed", "it broke off the turn by itself")
        else:
            self.emit("usage")
        self.close(ok=status == "completed")

    # --- what it asks -----------------------------------------------------------------------

    def _requested(self, d: JsonObject) -> None:
        """Every request gets an answer: at once, or when people have decided."""
        raw_id, method = d["id"], text_of(d, "method")
        params = get(d, "params")
        known = self._requests.get(method)
        if known is None:
            missing = {"code": -32601, "message": f"{method} is not offered by this client"}
            self._out.append({"id": raw_id, "error": missing})
            return
        request_id = json.dumps(raw_id)
        if request_id in self._open:  # a yes would go with what it was not said to
            twice = {"code": -32600, "message": "something else with this id still waits"}
            self._out.append({"id": raw_id, "error": twice})
            return
        found = known(request_id, cast("JsonObject", params) if isinstance(params, dict) else {})
        if isinstance(found, Ask):
            self._open[request_id] = (raw_id, found)
            self._events.append(EngineEvent("request", id=request_id, request=found.request))
        else:
            self._out.append({"id": raw_id, "result": found})

    def _leave(self, ask: Ask) -> Ask | JsonObject:
        """Leave is asked for in the mode that says so; in others nothing waits for a person."""
        return ask if self._task.permission == "ask" else ask.answer(Verdict("", "deny"))

    def _may_run(self, request_id: str, params: JsonObject) -> Ask | JsonObject:
        return self._leave(of_command(request_id, params))

    def _may_change(self, request_id: str, params: JsonObject) -> Ask | JsonObject:
        changes = self._changes.get(text_of(params, "itemId"), [])
        return self._leave(of_files(request_id, params, changes, self._task.cwd))

    def _may_have(self, request_id: str, params: JsonObject) -> Ask | JsonObject:
        return self._leave(of_wider_permissions(request_id, params))

    def _may_call(self, request_id: str, params: JsonObject) -> Ask | JsonObject:
        ask = of_mcp(request_id, params)
        if ask is None:
            server = text_of(params, "serverName")
            self.emit("warning", f"the MCP server {server} asked for input, which is not passed on")
            return NO_ELICITATION
        return self._leave(ask)

    def _question(self, request_id: str, params: JsonObject) -> Ask | JsonObject:
        if not self._task.asks:
            ids = [text_of(asked, "id") for asked in list_of(params, "questions")]
            return {"answers": {name: note(NOBODY) for name in ids}}
        return of_questions(request_id, params)

    def _resolved(self, d: JsonObject) -> None:
        """Codex settled a request by itself: nobody has to decide it any more."""
        request_id = json.dumps(get(d, "params", "requestId"))
        if self._open.pop(request_id, None):
            self.emit("withdrawn", id=request_id)
