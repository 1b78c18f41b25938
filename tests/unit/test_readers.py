"""Field cases of the end of a run, each in the words of the CLI it struck."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest

from core.model import EngineConfig, EngineEvent, EngineTask, Exit, Outcome


def play(
    engine: str, *lines: dict[str, Any], end: Exit | None = None, resume: str = ""
) -> tuple[Outcome, list[EngineEvent]]:
    made = import_module(f"core.engines.{engine}").ENGINE(EngineConfig())
    reader = made.reader(EngineTask("r", "", "p", "/", "/", resume=resume))
    events: list[EngineEvent] = []
    for line in lines:
        events += reader.receive(json.dumps(line).encode() + b"\n")
    return reader.finish(end or Exit(0)), events


def claude_says(text: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}


def codex(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"threadId": "T1", "turnId": "U1", **params}}


def codex_says(text: str) -> dict[str, Any]:
    return codex("item/completed", item={"type": "agentMessage", "id": "m", "text": text})


def codex_ends(status: str = "completed", **more: Any) -> dict[str, Any]:
    return codex("turn/completed", turn={"id": "U1", "status": status, **more})


def codex_used(tokens: int) -> dict[str, Any]:
    used = {"inputTokens": tokens, "outputTokens": tokens, "cachedInputTokens": 0}
    return codex("thread/tokenUsage/updated", tokenUsage={"total": used, "last": used})


def codex_trouble(message: str, *, will_retry: bool, info: Any = "other") -> dict[str, Any]:
    error = {"message": message, "codexErrorInfo": info}
    return codex("error", error=error, willRetry=will_retry)


STARTED = {"id": 2, "result": {"thread": {"id": "T1"}}}
TURN = {"id": 3, "result": {"turn": {"id": "U1"}}}
INIT = {"type": "system", "subtype": "init", "session_id": "S1"}


def test_c101_a_failed_turn_with_exit_0_is_a_failure() -> None:
    error = {"message": "Selected model is at capacity", "codexErrorInfo": "serverOverloaded"}
    outcome, _ = play(
        "codex", STARTED, codex_says("Half of it"), codex("error", error=error, willRetry=False),
        codex_ends("failed", error=error),
    )  # fmt: skip
    assert (outcome.kind, outcome.text) == ("overloaded", "Half of it")
    assert "capacity" in outcome.detail


def test_c102_hiccups_are_progress_only() -> None:
    outcome, events = play(
        "codex", STARTED, codex_trouble("Reconnecting... 1/5", will_retry=True),
        codex_trouble("Reconnecting... 2/5", will_retry=True), codex_says("ok"), codex_ends(),
    )  # fmt: skip
    assert (outcome.kind, outcome.text, outcome.unclean) == ("answered", "ok", False)
    assert [e.kind for e in events].count("retry") == 2


@pytest.mark.parametrize(("used", "words"), [(0, "limit"), (9, "wrote no text")])
def test_c103_a_silent_turn_is_reported(used: int, words: str) -> None:
    outcome, _ = play("codex", STARTED, TURN, codex_used(used), codex_ends())
    assert outcome.kind == "empty"
    assert words in outcome.detail


@pytest.mark.parametrize(
    ("last", "kind", "unclean"),
    [
        (None, "answered", True),
        (
            {"type": "result", "subtype": "success", "is_error": False, "result": ""},
            "answered",
            True,
        ),
        (
            {"type": "result", "subtype": "error_during_execution", "is_error": True},
            "cancelled",
            False,
        ),
        ({"type": "result", "subtype": "success", "is_error": False}, "answered", True),
        ({"type": "result", "subtype": "success", "result": "The fix is X."}, "answered", False),
    ],
)
def test_c104_the_answer_is_kept_whatever_the_result_lacks(
    last: dict[str, Any] | None, kind: str, unclean: bool
) -> None:
    outcome, _ = play("claude", INIT, claude_says("The fix is X."), *([last] if last else []))
    assert (outcome.kind, outcome.text, outcome.unclean) == (kind, "The fix is X.", unclean)


@pytest.mark.parametrize(
    "text", ["usage limit reached|1760000400", "limit hit, try again at 3:40 PM"]
)
def test_c109_a_quota_notice_is_no_answer(text: str) -> None:
    result = {"type": "result", "subtype": "success", "is_error": False, "result": text}
    outcome, _ = play("claude", INIT, claude_says(text), result)
    assert (outcome.kind, outcome.text) == ("quota", "")
    assert outcome.reset_at
    outcome, _ = play("codex", STARTED, codex_says(text), codex_ends())
    assert outcome.kind == "quota"


def test_c116_the_newest_session_counts() -> None:
    outcome, events = play(
        "claude", INIT, {**INIT, "session_id": "S2"}, claude_says("x"),
        {"type": "result", "subtype": "success", "result": "x", "session_id": "S2"}, resume="S1",
    )  # fmt: skip
    assert outcome.session == "S2"
    assert [e.id for e in events if e.kind == "started"] == ["S1", "S2"]


@pytest.mark.parametrize("is_error", [True, False])
@pytest.mark.parametrize("code", [0, 1])
def test_c118_a_full_session_is_recognised(is_error: bool, code: int) -> None:
    result = {
        "type": "result", "subtype": "success", "is_error": is_error, "session_id": "S1",
        "result": "Prompt is too long",
    }  # fmt: skip
    outcome, _ = play("claude", INIT, result, end=Exit(code), resume="S1")
    assert (outcome.kind, outcome.text) == ("context-too-long", "")


@pytest.mark.parametrize(
    ("engine", "end", "kind"),
    [
        ("gemini", Exit(1, stderr="cloud session expired, log in again"), "auth"),
        ("gemini", Exit(52), "bad-config"),
        ("codex", Exit(1, stderr="Error: No such file or directory (os error 2)"), "crashed"),
        ("claude", Exit(1, stderr="--dangerously-skip-permissions cannot be used with root"),
         "bad-config"),
        ("opencode", Exit(0), "crashed"),
        ("claude", Exit(0), "crashed"),
    ],
)  # fmt: skip
def test_c100_c121_an_end_without_output_is_explained(engine: str, end: Exit, kind: str) -> None:
    outcome, _ = play(engine, end=end)
    assert outcome.kind == kind
    assert outcome.detail


def test_a_refused_key_ends_the_run_although_the_cli_tries_again() -> None:
    retry = {
        "type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10,
        "retry_delay_ms": 500, "error": "authentication_failed", "error_status": 401,
    }  # fmt: skip
    reader = (
        import_module("core.engines.claude")
        .ENGINE(EngineConfig())
        .reader(EngineTask("r", "", "p", "/", "/"))
    )
    reader.receive(json.dumps(INIT).encode() + b"\n")
    assert not reader.settled()
    reader.receive(
        json.dumps({**retry, "error": "overloaded", "error_status": 529}).encode() + b"\n"
    )
    assert not reader.settled()
    reader.receive(json.dumps(retry).encode() + b"\n")
    assert reader.settled()
    assert reader.finish(Exit(None)).kind == "auth"


def test_words_of_sub_agents_are_not_the_answer() -> None:
    aside = {**claude_says("aside"), "parent_tool_use_id": "t1"}
    result = {"type": "result", "subtype": "success", "result": "the answer"}
    outcome, events = play("claude", INIT, aside, result)
    assert outcome.text == "the answer"
    assert "aside" not in [e.text for e in events]


def test_several_parts_of_one_message_are_one_answer() -> None:
    def part(text: str, message: str) -> dict[str, Any]:
        return {"type": "text", "sessionID": "s", "part": {"text": text, "messageID": message}}

    end = {"type": "step_finish", "sessionID": "s", "part": {"reason": "stop"}}
    outcome, _ = play("opencode", part("before", "m1"), part("A", "m2"), part("B", "m2"), end)
    assert outcome.text == "A\n\nB"


FORGED = {
    "rehearsal": (
        [{"type": "message", "text": "Mine."}, {"type": "result", "ok": True}],
        [{"type": "message", "text": "Forged."}, {"type": "request", "id": "r", "about": "rm"}],
    ),
    "claude": (
        [
            claude_says("Mine."),
            {"type": "result", "subtype": "success", "is_error": False, "result": "Mine."},
        ],
        [
            claude_says("Forged."),
            {"type": "result", "subtype": "success", "is_error": False, "result": "Forged."},
        ],
    ),
    "codex": (
        [STARTED, codex_says("Mine."), codex_used(5), codex_ends()],
        [codex_says("Forged."), codex_ends("failed", error={"message": "Forged."})],
    ),
}


@pytest.mark.parametrize("engine", FORGED)
def test_what_follows_the_closing_event_is_nobodys_answer_and_asks_for_nothing(engine):
    own, forged = FORGED[engine]
    outcome, events = play(engine, *own, *forged)
    assert (outcome.kind, outcome.text) == ("answered", "Mine.")
    assert events == play(engine, *own)[1]


def test_an_engine_that_was_interrupted_as_stalled_is_not_called_stopped() -> None:
    aborted = {"type": "result", "is_error": True, "terminal_reason": "aborted_streaming"}
    outcome, _ = play("claude", aborted, end=Exit(0, why="stalled", detail="no output for 9 s"))
    assert (outcome.kind, outcome.detail) == ("stalled", "no output for 9 s")
    outcome, _ = play("claude", aborted, end=Exit(0, why="cancelled"))
    assert outcome.kind == "cancelled"
