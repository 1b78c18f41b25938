"""What the readers of all JSON-line engines share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from core.model import EngineEvent, Exit, Outcome, OutcomeKind, Usage, Verdict
from core.streams.cuts import MAX_ERROR_CHARS, MAX_LINE_CHARS, kept
from core.streams.judge import classify, telling
from core.streams.lines import JsonLines, JsonObject, text_of
from core.streams.notices import posing_as_answer
from core.streams.resets import is_far, reset_time
from core.streams.say import tail

_MAX_PARTIAL_CHARS = 2_000_000
_MAX_SHOWN = 200
_MAX_KINDS, _MAX_KIND_CHARS = 100, 60
OTHER_KINDS = "…"
TOO_LONG: JsonObject = {}  # stands for a line above the cap


class LineReader:
    """Base of a reader: lines in, events out, and one judgement at the end.

    A subclass fills ``handlers`` (event type -> method) and calls, as the engine tells them,
    ``started``, ``delta``, ``message``, ``tool_start``, ``tool_end``, ``fail`` and ``close``.
    Event types without a handler are counted and ignored, so that a newer CLI does no harm.

    Attributes:
        type_path: where an event's type stands in its object.
        fixes: what helps against a kind of outcome, in the engine's own terms.
        blocks_are_whole: whether ``message`` is only called with complete texts. Where it is, an
            answer without a closing event counts as an (unclean) answer; where texts come in
            deltas only, it may be cut, and does not.
    """

    type_path: ClassVar[tuple[str, ...]] = ("type",)
    blocks_are_whole: ClassVar[bool] = True

    def __init__(self) -> None:
        self.fixes: Mapping[OutcomeKind, str] = {}
        self.handlers: dict[str, Callable[[JsonObject], None]] = {}
        self.usage = Usage()
        self.own_words = False  # the newest text is the engine's own, and no model's
        self.session = ""
        self.answer = ""  # the newest complete text; what comes after a tool replaces it
        self.partial: list[str] = []  # deltas of the text that is being written
        self.shown: list[str] = []  # complete texts, in order
        self.error: tuple[OutcomeKind, str] | None = None
        self.trouble: tuple[OutcomeKind, str] | None = None  # what it is trying to get over
        self.warned = ""
        self.in_use = False  # another process has the session, so nothing was asked
        self.unclean = False  # it ended well, but not as it should
        self.closed = False  # the engine said itself that the run is over
        self.succeeded = False  # ... and that it went well
        self.unfinished_tool = False
        self.unknown: dict[str, int] = {}
        self._events: list[EngineEvent] = []
        self._lines = JsonLines(marker=TOO_LONG)
        self._open_chars = 0
        self._final_failure = False
        self._usage_told = False

    # --- the port ---------------------------------------------------------------------

    def receive(self, data: bytes) -> tuple[EngineEvent, ...]:
        """See ``core.ports.Reader``."""
        for obj in self._lines.feed(data):
            self._dispatch(obj)
        return self._take()

    def to_send(self) -> bytes:
        """See ``core.ports.Reader``: a one-shot run says nothing more."""
        return b""

    def decide(self, verdict: Verdict) -> None:
        """See ``core.ports.Reader``: a one-shot run asks for nothing."""

    def settled(self) -> bool:
        """See ``core.ports.Reader``."""
        return self.closed or self._final_failure

    def finish(self, end: Exit) -> Outcome:
        """See ``core.ports.Reader``."""
        for obj in self._lines.end():
            self._dispatch(obj)
        end = self.ended(end)
        outcome = self._judge(end)
        kind, reset = outcome.kind, ""
        if kind in ("quota", "rate"):
            reset = reset_time(outcome.detail) or reset_time(self._notice())
            # What comes back in hours or at a time of day is used up, whatever it is called.
            kind = "quota" if kind == "quota" or is_far(reset) else "rate"
        return Outcome(
            kind=kind,
            text=unix_lines(outcome.text),
            detail=tail(outcome.detail, MAX_ERROR_CHARS),
            session=self.session,
            usage=self.usage,
            unclean=outcome.unclean,
            reset_at=reset,
            fix=self.fixes.get(kind, ""),
            in_use=self.in_use,
        )

    # --- for subclasses -----------------------------------------------------------------

    def ended(self, end: Exit) -> Exit:
        """Called when all is read, before the judgement: a place to close, to fail, to tidy."""
        return end

    def emit(self, *args: str, ok: bool = True, **fields: str) -> None:
        """Queue an event; the arguments are those of ``EngineEvent``."""
        self._usage_told = self._usage_told or args[:1] == ("usage",)
        self._events.append(EngineEvent(*args, ok=ok, **fields))  # type: ignore[arg-type]

    def started(self, session: str) -> None:
        """The engine named its session; the newest name counts (C116)."""
        if session and session != self.session:
            self.session = session
            self.emit("started", session, id=session)

    def delta(self, text: str) -> None:
        """A piece of the text that is being written."""
        if text:
            self.trouble = None
            self._open_chars += len(text)
            if self._open_chars <= _MAX_PARTIAL_CHARS:  # a flood must not fill the memory
                self.partial.append(text)
            self._events.append(EngineEvent("delta", text))

    def anew(self) -> None:
        """The text that is being written is begun once more: what came of it does not count."""
        if self.partial:
            self.partial.clear()
            self._open_chars = 0
            self._events.append(EngineEvent("delta", name="anew"))

    def message(self, text: str) -> None:
        """A complete text; it stands for the deltas before it."""
        self.partial.clear()
        self._open_chars = 0
        if text.strip():
            self.trouble = None
            self.answer = text = text[:_MAX_PARTIAL_CHARS]
            self.shown.append(text)
            del self.shown[:-_MAX_SHOWN]
            while len(self.shown) > 1 and sum(map(len, self.shown)) > _MAX_PARTIAL_CHARS:
                del self.shown[0]
            self.unfinished_tool = False
            self.emit("message", text)

    def warn(self, text: str, name: str = "") -> None:
        """Something went not quite right; the newest one explains an empty answer."""
        self.warned = text
        self.emit("warning", text, name=name)

    def retry(self, kind: OutcomeKind, text: str) -> None:
        """The engine ran into trouble and tries again by itself; it may yet succeed."""
        self.trouble = (kind, text)
        self.emit("retry", text, name=kind)

    def tool_start(self, tool_id: str, name: str, about: str) -> None:
        """A tool begins; ``about`` is the command or path, in one line."""
        self.unfinished_tool = True
        self.emit(
            "tool_start", " ".join(kept(about, MAX_LINE_CHARS).split()), name=name, id=tool_id
        )

    def tool_end(self, tool_id: str, name: str = "", *, ok: bool) -> None:
        """A tool ended, well or not. Its output is not part of the event."""
        self.emit("tool_end", name=name, id=tool_id, ok=ok)

    def fail(self, kind: OutcomeKind, detail: str, *, final: bool = False) -> None:
        """The run failed; the first reason that is more than ``crashed`` counts.

        ``final`` says that the engine may go on trying but cannot succeed: it is then ended.
        """
        if self.error is None or (self.error[0] == "crashed" and kind != "crashed"):
            self.error = (kind, detail)
        self._final_failure = self._final_failure or final

    def close(self, *, ok: bool) -> None:
        """The closing event: the engine says that the run is over, well or not."""
        self.closed, self.succeeded = True, ok

    # --- inside -----------------------------------------------------------------------

    def _dispatch(self, obj: JsonObject) -> None:
        if self.closed:  # whoever still holds the output (a grandchild) is not the engine
            return
        if obj is TOO_LONG:
            self.warn("one event was too long and was left out", "skipped")
            return
        path = self.type_path
        kind = obj.get(path[0]) if len(path) == 1 else text_of(obj, *path)
        if not isinstance(kind, str):
            kind = ""
        handler = self.handlers.get(kind)
        if handler is None:
            kind = kind[:_MAX_KIND_CHARS]
            if kind not in self.unknown and len(self.unknown) >= _MAX_KINDS:
                kind = OTHER_KINDS
            self.unknown[kind] = self.unknown.get(kind, 0) + 1
        else:
            handler(obj)

    def _take(self) -> tuple[EngineEvent, ...]:
        events, self._events = tuple(self._events), []
        return events

    def _posing(self, text: str, *, failed: bool = False) -> OutcomeKind | None:
        """The failure that ``text`` is, seen together with what the engine says of who wrote it."""
        if self.own_words:
            wrote = False
        elif self.usage.output_tokens > 0:
            wrote = True
        else:
            wrote = False if self._usage_told or failed else None
        return posing_as_answer(text, wrote=wrote)

    def so_far(self) -> str:
        """What was visible of the answer when the run broke off: texts and the open delta."""
        said = [*self.shown, "".join(self.partial)]
        pieces = [piece for piece in said if self._posing(piece) is None]
        return "\n\n".join(p.strip() for p in pieces if p.strip())[-_MAX_PARTIAL_CHARS:]

    def _notice(self) -> str:
        """The newest text where it is a notice itself: times in an answer are no limit's."""
        newest = "".join(self.partial).strip() or (self.shown[-1] if self.shown else "")
        return newest if self._posing(newest) in ("quota", "rate") else ""

    def _judge(self, end: Exit) -> Outcome:
        if end.why == "cancelled":
            return Outcome("cancelled", self.so_far())
        if self.closed and self.succeeded:
            return self._judge_answer(end)
        return self._judge_failure(end)

    def _judge_answer(self, end: Exit) -> Outcome:
        text = self.answer.strip() or "".join(self.partial).strip()
        odd_exit = end.code not in (0, None) and not end.why
        if kind := self._posing(text, failed=odd_exit):
            return Outcome(kind, "", text)
        if not text:
            nothing_used = not (self.usage.input_tokens or self.usage.output_tokens)
            return Outcome("empty", "", self.warned or (NO_TOKENS if nothing_used else NO_TEXT))
        # A failing exit after a proper end (a hook, our own signal) does not undo the answer.
        return Outcome("answered", text, unclean=self.unclean or odd_exit)

    def _judge_failure(self, end: Exit) -> Outcome:
        text = self.so_far()
        # What it says of being interrupted is about us: why we did that counts.
        interrupted = end.why in ("stalled", "timeout")
        if self.error is not None and not (interrupted and self.error[0] == "cancelled"):
            return Outcome(self.error[0], text, self.error[1])
        said, told = telling(end.stderr), classify(end.stderr)
        if self.trouble is not None and told == "crashed":
            told, said = self.trouble
        if interrupted:
            # Some engines only mention a refusal and then wait for ever (C108).
            known = told in ("rate", "quota", "auth", "overloaded", "bad-model")
            return Outcome(told if known else "stalled", text, said if known else end.detail)
        if end.why == "unreachable":
            return Outcome("overloaded", text, end.detail)
        if end.why == "missing-binary" or end.code in (126, 127):
            return Outcome("missing-binary", text, end.detail or said)
        if kind := self._posing(self.answer, failed=end.code not in (0, None)):
            return Outcome(kind, "", self.answer)
        whole = self.answer and self.blocks_are_whole and not self.partial
        if whole and not self.unfinished_tool and end.code == 0:
            return Outcome("answered", self.answer.strip(), ended_without(end), unclean=True)
        if told == "crashed" and end.code in _ENDED:
            kind, why = _ENDED[end.code]
            return Outcome(kind, text, f"{why} (exit status {end.code})")
        return Outcome(told, text, said or end.detail or ended_without(end))


# Ended by a signal that was not ours: as a shell tells it, and as the system does.
_SIGNALS: dict[int, tuple[OutcomeKind, str]] = {
    2: ("cancelled", "somebody interrupted it on the host (SIGINT)"),
    15: ("cancelled", "somebody ended it on the host (SIGTERM)"),
    9: ("crashed", "it was killed (SIGKILL); perhaps the host has too little memory"),
    11: ("crashed", "it crashed (SIGSEGV)"),
    6: ("crashed", "it gave itself up (SIGABRT)"),
}
_ENDED = {code: said for n, said in _SIGNALS.items() for code in (128 + n, -n)}

NO_TEXT = "It did its work but wrote no text."
NO_TOKENS = "It used no tokens at all, which is what a used-up limit often looks like."


def unix_lines(text: str) -> str:
    """``text`` with every line end as one line feed: no platform shows a stray CR well (C097)."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def ended_without(end: Exit) -> str:
    """How a run ended that had no closing event."""
    return f"the output ended without a closing event (exit status {end.code})"
