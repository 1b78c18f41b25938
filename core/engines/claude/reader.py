"""What Claude Code says while it works: its lines to events, and to what people decide. PURE."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

from core.engines.claude import asking, rules
from core.engines.claude.asking import about
from core.model import EngineEvent, OutcomeKind, Permission, Usage, Verdict
from core.streams import (
    JsonObject,
    LineReader,
    classify,
    float_of,
    get,
    int_of,
    list_of,
    part_of,
    text_of,
    texts_of,
)
from core.tongue import to_say

_REASONS: dict[str, tuple[OutcomeKind, str]] = {
    "max_turns": ("crashed", "it stopped at its limit of turns"),
    "prompt_too_long": ("context-too-long", ""),
    "aborted_streaming": ("cancelled", "it was interrupted"),
    "aborted_tools": ("cancelled", "it was interrupted"),
}


_MAX_EPOCH = 32_503_680_000  # the year 3000

_FIXES: dict[OutcomeKind, str] = {
    "auth": to_say(
        "Run `claude` on the host and sign in with /login, or set ANTHROPIC_API_KEY; "
        "then try again."
    ),
    "missing-binary": to_say(
        "Install it with `npm install -g @anthropic-ai/claude-code`, or set [engines.claude] path."
    ),
}


class ClaudeReader(LineReader):
    """See ``core.ports.Reader``."""

    def __init__(
        self, permission: Permission, cwd: str, *, resumed: bool, opening: bytes = b""
    ) -> None:
        super().__init__()
        self.fixes = _FIXES
        self._permission: Permission = permission
        self._cwd, self._resumed = cwd, resumed
        self._open: dict[str, JsonObject] = {}  # what people are asked, by the request's id
        self._opening = opening  # what a person says, in a dialogue: once it is held to the mode
        self._sent: list[bytes] = []
        self._allow: list[str] = []  # the rules that are held back
        self._listed: dict[str, bool] = {}  # what of ours was answered: by its id, if well
        self._hooked = self._wide = False  # hooks may give leave; everything is held
        self._waits: list[tuple[str, JsonObject, Verdict]] = []  # a yes to a skill, till it is held
        if opening:
            self._sent.append(self._said() if permission == "full" else rules.listing())
        self._resets_at = 0  # when the plan's limit, which was met, comes back (epoch seconds)
        self.handlers = {
            "system": self._system,
            "stream_event": self._stream_event,
            "assistant": self._assistant,
            "user": self._user,
            "rate_limit_event": self._limit,
            "result": self._result,
            "control_request": self._control_request,
            "control_cancel_request": self._control_cancel,
            "control_response": self._control_response,
            "conversation_reset": lambda _: None,
        }

    # --- the dialogue -------------------------------------------------------------------

    def to_send(self) -> bytes:
        """See ``core.ports.Reader``."""
        sent, self._sent = b"".join(self._sent), []
        return sent

    def decide(self, verdict: Verdict) -> None:
        """See ``core.ports.Reader``."""
        asked = self._open.pop(verdict.request_id, None)
        if asked is None:
            return
        brings_leave = text_of(asked, "tool_name") == "Skill" and verdict.choice != "deny"
        if brings_leave and self._permission != "full" and not self._wide:
            self._waits.append((verdict.request_id, asked, verdict))
            self._sent.append(rules.holding(self._everything(), rules.WIDER))
        else:
            self._sent.append(asking.response(verdict.request_id, asked, verdict))

    def _everything(self) -> list[str]:
        return [*self._allow, *rules.wide(self._permission)]

    def _control_request(self, d: JsonObject) -> None:
        request_id, asked = text_of(d, "request_id"), d.get("request")
        if not request_id:
            return
        subtype, tool = text_of(asked, "subtype"), text_of(asked, "tool_name")
        if subtype != "can_use_tool" or not isinstance(get(asked, "input"), dict):
            self._sent.append(asking.unknown(request_id, subtype))
            return
        if request_id in self._open:  # a yes would go with what it was not said to
            self._sent.append(asking.deny(request_id, asking.TWICE))
            return
        if self._wide and rules.free_where_wide(tool, get(asked, "input")):
            self._sent.append(asking.allowed(request_id, cast("JsonObject", asked)))
            return
        request = asking.request_of(request_id, cast("JsonObject", asked), self._cwd)
        if request.kind == "question" and not any(q.text.strip() for q in request.questions):
            self._sent.append(asking.deny(request_id, asking.NO_QUESTION))
            return
        if request.kind == "permission" and self._permission != "ask":
            self._sent.append(asking.deny(request_id, asking.nobody_asked(self._permission)))
            self.warn(f"{tool} is more than the mode {self._permission} allows", "denied")
            return
        self._open[request_id] = cast("JsonObject", asked)
        self._events.append(EngineEvent("request", id=request_id, request=request))

    def _control_response(self, d: JsonObject) -> None:
        went_well = text_of(d, "response", "subtype") == "success"
        match text_of(d, "response", "request_id"):
            case (rules.LIST | rules.HOOKS) as which:
                self._listed[which] = went_well
                if which == rules.LIST and went_well:
                    self._allow = rules.to_hold(d.get("response"), self._permission)
                elif which == rules.HOOKS:
                    self._hooked = not went_well or rules.decide(d.get("response"))
                if len(self._listed) == 2:
                    self._hold()
            case rules.HOLD if went_well:
                self._sent.append(self._said())
            case rules.HOLD:
                why = text_of(d, "response", "error")
                told = f"it cannot be held to the mode {self._permission} beside the allow rules"
                self.fail("bad-config", f"{told} of its own settings: {why}", final=True)
            case rules.WIDER:
                self._wide = self._wide or went_well
                self._let_in()
            case _:
                pass

    def _hold(self) -> None:
        """Begin, held to the mode: an older one that tells no rules is asked all the same."""
        self._wide = self._hooked and self._listed[rules.LIST]
        held = self._everything() if self._wide else self._allow
        self._sent.append(rules.holding(held) if held else self._said())

    def _let_in(self) -> None:
        """Answer what waited for everything else to be held."""
        for request_id, asked, verdict in self._waits:
            answer = asking.response(request_id, asked, verdict)
            self._sent.append(answer if self._wide else asking.deny(request_id, asking.NOT_HELD))
        self._waits.clear()

    def _said(self) -> bytes:
        """What a person says; once."""
        said, self._opening = self._opening, b""
        return said

    def _control_cancel(self, d: JsonObject) -> None:
        request_id = text_of(d, "request_id")
        self._waits = [waits for waits in self._waits if waits[0] != request_id]
        if self._open.pop(request_id, None) is not None:
            self.emit("withdrawn", id=request_id)

    # --- events -------------------------------------------------------------------------

    def _system(self, d: JsonObject) -> None:
        match text_of(d, "subtype"):
            case "init":
                self.started(text_of(d, "session_id"))
            case "api_retry":
                kind = classify(text_of(d, "error"), int_of(d, "error_status") or None)
                attempt = f"{int_of(d, 'attempt')}/{int_of(d, 'max_retries')}"
                self.retry(kind, f"{text_of(d, 'error')}, attempt {attempt}")
                if kind == "auth":  # it would go on for minutes
                    self.fail(kind, text_of(d, "error"), final=True)
            case "permission_denied":
                self.warn(text_of(d, "message"), "denied")
            case "compact_boundary":
                self.emit("compacted", text_of(d, "compact_metadata", "trigger"))
            case _:
                pass

    def _limit(self, d: JsonObject) -> None:
        info = get(d, "rate_limit_info")
        met = text_of(info, "status") == "rejected"
        self._resets_at = int_of(info, "resetsAt") if met else 0

    def _stream_event(self, d: JsonObject) -> None:
        if d.get("parent_tool_use_id"):
            return  # a sub-agent's words are not the answer
        event = part_of(d, "event")
        if event.get("type") == "message_start":
            self.anew()  # after a retry
            return
        delta = part_of(event, "delta")
        if delta.get("type") == "text_delta":
            self.delta(text_of(delta, "text"))

    def _assistant(self, d: JsonObject) -> None:
        if get(d, "parent_tool_use_id"):
            return
        self.own_words = text_of(d, "message", "model") == "<synthetic>"
        if self.own_words and d.get("error"):
            return  # comes again, better, in the result
        for block in list_of(d, "message", "content"):
            match text_of(block, "type"):
                case "text":
                    self.message(text_of(block, "text"))
                case "thinking":
                    self.emit("thinking", text_of(block, "thinking"))
                case "tool_use":
                    name = text_of(block, "name")
                    self.tool_start(text_of(block, "id"), name, about(get(block, "input")))
                case _:
                    pass

    def _user(self, d: JsonObject) -> None:
        for block in list_of(d, "message", "content"):
            if text_of(block, "type") == "tool_result":
                self.tool_end(text_of(block, "tool_use_id"), ok=get(block, "is_error") is not True)

    def _result(self, d: JsonObject) -> None:
        for request_id in self._open:
            self.emit("withdrawn", id=request_id)
        self._open.clear()
        self.started(text_of(d, "session_id") if not get(d, "is_error") else "")
        used = get(d, "usage")
        cached = int_of(used, "cache_read_input_tokens")
        total = float_of(d, "total_cost_usd")
        self.usage = Usage(
            input_tokens=int_of(used, "input_tokens")
            + int_of(used, "cache_creation_input_tokens")
            + cached,
            output_tokens=int_of(used, "output_tokens"),
            cached_tokens=cached,
            # It tells what the session came to, resumed or not: what a run that goes on with one
            # cost is for the house to say, which knows what it had come to before.
            cost_usd=0.0 if self._resumed else total,
            session_cost_usd=total,
        )
        self.emit("usage")
        # subtype may be "success" all the same
        if get(d, "is_error") is not True and text_of(d, "subtype") in ("", "success"):
            final = text_of(d, "result")
            self.unclean = not final.strip()  # the answer then stands in the messages (C104)
            if final.strip():
                self.answer = final
            self.close(ok=True)
            return
        text = text_of(d, "result") or "; ".join(texts_of(d, "errors"))
        kind, known = _REASONS.get(text_of(d, "terminal_reason"), (None, ""))
        if kind is None and not text and text_of(d, "subtype") == "error_during_execution":
            kind, known = "cancelled", "it was interrupted"
        if text_of(d, "subtype") == "error_max_turns":
            kind, known = _REASONS["max_turns"]
        kind = kind or classify(text, int_of(d, "api_error_status") or None)
        if kind in ("rate", "quota") and 0 < self._resets_at < _MAX_EPOCH:
            at = datetime.fromtimestamp(self._resets_at, UTC)
            kind, text = "quota", f"{text}\nIt resets at {at:%Y-%m-%d %H:%M} UTC."
        self.fail(kind, known or text)
        self.close(ok=False)
