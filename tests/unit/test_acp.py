"""The client of the Agent Client Protocol, over what Gemini CLI and OpenCode really said."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from core.engines.gemini.asking import disarm
from core.model import EngineConfig, EngineEvent, EngineRequest, EngineTask, Verdict
from core.streams.acp import AcpReader, command_scope, files_scope

FOLDER = Path(__file__).parents[1] / "fixtures" / "transcripts"
both = pytest.mark.parametrize("engine", ["gemini", "opencode"])


def reader_of(engine: str, **fields: Any) -> AcpReader:
    task = EngineTask(
        run_id="r", context="", prompt="p", cwd="/w", scratch="/s", permission="ask", asks=True,
        model="fake/fake-model", **fields,
    )  # fmt: skip
    made = import_module(f"core.engines.{engine}").ENGINE(EngineConfig()).reader(task)
    assert isinstance(made, AcpReader)
    return made


def talk(
    engine: str, case: str, choice: str = "once", **fields: Any
) -> tuple[list[dict[str, Any]], list[EngineEvent], AcpReader]:
    """A recorded talk over again: what was sent, what was said, and the reader at its end."""
    reader = reader_of(engine, **fields)
    sent, events = [reader.to_send()], []
    for line in (FOLDER / engine / f"{case}.stdout").read_bytes().splitlines(keepends=True):
        for event in reader.receive(line):
            events.append(event)
            if event.request is not None:
                reader.decide(Verdict(event.request.id, choice))  # type: ignore[arg-type]
        sent.append(reader.to_send())
    return [json.loads(line) for line in b"".join(sent).splitlines()], events, reader


def asked(events: list[EngineEvent]) -> list[EngineRequest]:
    return [event.request for event in events if event.request is not None]


def decided(sent: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [m["result"]["outcome"] for m in sent if "outcome" in m.get("result", {})]


@both
def test_a_talk_goes_from_hello_to_the_prompt(engine: str) -> None:
    sent, events, reader = talk(engine, "ask_command")
    methods = [m["method"] for m in sent if "method" in m]
    assert methods[0] == "initialize"
    assert methods[1] == "session/new"
    assert methods[-1] == "session/prompt"
    offered = sent[0]["params"]["clientCapabilities"]
    assert offered == {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    assert sent[-2]["params"]["prompt"] == [{"type": "text", "text": "p"}]
    assert reader.settled()
    assert not reader.to_send()
    assert [e.kind for e in events].count("started") == 1


@both
@pytest.mark.parametrize("choice", ["once", "session"])
def test_leave_is_given_once_whatever_it_is_for(engine: str, choice: str) -> None:
    sent, events, _ = talk(engine, "ask_command", choice)
    (request,) = asked(events)
    assert request.about == "touch made.txt"
    assert request.scope == command_scope("/w", "touch made.txt")[0]
    (outcome,) = decided(sent)
    assert outcome["optionId"] in ("once", "proceed_once")


@both
def test_a_no_is_said_and_the_tool_failed(engine: str) -> None:
    sent, events, _ = talk(engine, "ask_command_denied", "deny")
    (outcome,) = decided(sent)
    assert outcome["optionId"] in ("reject", "cancel")
    kinds = [e.kind for e in events]
    assert kinds.index("tool_start") < kinds.index("request")
    assert not [e for e in events if e.kind == "tool_end" and e.ok]


@both
def test_a_change_is_shown_with_its_diff(engine: str) -> None:
    sent, events, _ = talk(engine, "ask_write")
    (request,) = asked(events)
    assert request.about == "/w/new.txt"
    assert "made" in request.detail
    assert (request.scope, request.scope_label) == files_scope(["/w/new.txt"], "/w")
    # OpenCode wants its client to write, though that is not offered: it gets its answer.
    refused = [m for m in sent if m.get("error", {}).get("code") == -32601]
    assert len(refused) == (1 if engine == "opencode" else 0)


@both
def test_what_was_said_before_is_not_said_again(engine: str) -> None:
    told = json.loads((FOLDER / engine / "ask_resumed.json").read_text())["task"]["resume"]
    sent, events, reader = talk(engine, "ask_resumed", resume=told)
    assert "touch made.txt" not in "".join(e.text for e in events if e.kind == "tool_start")
    assert not asked(events)
    assert json.loads(reader.answer)["user_turns"] == 2
    assert reader.session == told
    methods = [m["method"] for m in sent if "method" in m]
    if engine == "opencode":
        assert methods[1:3] == ["session/list", "session/resume"]
    else:
        assert methods[1:3] == ["session/load", "session/set_mode"]


def test_what_reaches_outside_has_no_leave_for_a_session() -> None:
    _, events, _ = talk("opencode", "ask_outside")
    outside, command = asked(events)
    assert (outside.tool, outside.scope) == ("external_directory", "")
    assert "/etc" in outside.detail
    assert command.about == "cat /etc/hostname"


@both
def test_a_verdict_on_nothing_changes_nothing(engine: str) -> None:
    reader = reader_of(engine)
    reader.to_send()
    reader.decide(Verdict("17", "once"))
    assert reader.to_send() == b""


@both
def test_a_request_nobody_knows_is_answered(engine: str) -> None:
    reader = reader_of(engine)
    reader.to_send()
    assert reader.receive(b'{"jsonrpc":"2.0","id":"x","method":"terminal/create"}\n') == ()
    answer = json.loads(reader.to_send())
    assert (answer["id"], answer["error"]["code"]) == ("x", -32601)


@pytest.mark.parametrize(
    ("paths", "folder"),
    [
        (["/w/a.py", "/w/b.py"], "/w"),
        (["/w/x/a.py"], "/w/x"),
        (["/w/x/a.py", "/w/b.py"], ""),
        (["/w/.git/hooks/x"], ""),
        (["/w/.env"], ""),
        (["/w/../etc/x"], ""),
        (["/etc/x"], ""),
        (["/wide/x"], ""),
        (["a.py"], ""),
        ([], ""),
    ],
)
def test_leave_for_changes_is_for_one_folder_of_the_project(paths: list[str], folder: str) -> None:
    assert files_scope(paths, "/w")[0] == (f"files:{folder}" if folder else "")


def test_the_same_command_elsewhere_is_another_one() -> None:
    assert command_scope("/w", "ls")[0] != command_scope("/v", "ls")[0]


@pytest.mark.parametrize("text", ["/memory add x", "\n /init", "\ufeff /x", " $skill"])
def test_a_prompt_is_no_command(text: str) -> None:
    assert disarm(text) == f"\u2060{text}"
    assert disarm(f"so: {text}") == f"so: {text}"
