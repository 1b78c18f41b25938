"""Codex's dialogue, line by line: what it tells, what it asks, and what it is answered."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from core.engines.codex import Codex
from core.engines.codex.asking import one_folder
from core.engines.codex.items import bare
from core.model import EngineConfig, EngineEvent, EngineRequest, EngineTask, Exit, Verdict
from core.streams import reset_moment

THREAD, TURN = "T1", "U1"


class Talk:
    """A run of Codex's, whose thread and turn are open; ``says`` brings a line, ``sent`` ours."""

    def __init__(self, **fields: Any) -> None:
        task = EngineTask("r", "", "p", "/w/project", "/s", **fields)
        self.reader = Codex(EngineConfig()).reader(task)
        self.reader.to_send()
        self._hear({"id": 2, "result": {"thread": {"id": THREAD}}})
        self._hear({"id": 3, "result": {"turn": {"id": TURN}}})
        self.reader.to_send()

    def _hear(self, line: dict[str, Any]) -> list[EngineEvent]:
        return [*self.reader.receive(json.dumps(line).encode() + b"\n")]

    def says(self, method: str, thread: str = THREAD, **params: Any) -> list[EngineEvent]:
        return self._hear(
            {"method": method, "params": {"threadId": thread, "turnId": TURN, **params}}
        )

    def asks(self, method: str, number: object = 0, **params: Any) -> EngineRequest | None:
        ours = {"threadId": THREAD, "turnId": TURN, **params}
        events = self._hear({"id": number, "method": method, "params": ours})
        return events[0].request if events else None

    def sent(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.reader.to_send().splitlines()]

    def decide(self, choice: str, *answers: tuple[str, ...], number: str = "0", note: str = ""):
        self.reader.decide(Verdict(number, choice, answers, "Ada", note))  # type: ignore[arg-type]
        return self.sent()


COMMAND = "item/commandExecution/requestApproval"
FILES = "item/fileChange/requestApproval"


@pytest.mark.parametrize(
    ("choice", "decision"),
    [("once", "accept"), ("session", "acceptForSession"), ("deny", "decline")],
)
def test_a_verdict_is_answered_once(choice: str, decision: str) -> None:
    talk = Talk(permission="ask", asks=True)
    asked = talk.asks(COMMAND, 7, command="/bin/bash -lc 'rm -r x'", cwd="/w", reason="to tidy up")
    assert asked is not None
    assert (asked.id, asked.about, asked.tool) == ("7", "rm -r x", "command_execution")
    assert asked.detail == "to tidy up\n\nin /w"
    assert talk.sent() == []
    assert talk.decide(choice, number="8") == []  # another one, or nobody's
    assert talk.decide(choice, number="7") == [{"id": 7, "result": {"decision": decision}}]
    assert talk.decide(choice, number="7") == []


def test_the_scope_is_the_exact_command_in_its_folder() -> None:
    def scope(command: str, cwd: str = "/w") -> str:
        asked = Talk(permission="ask").asks(COMMAND, command=command, cwd=cwd)
        assert asked is not None
        return asked.scope

    assert scope("ls") == scope("ls")
    assert len({scope("ls"), scope("ls "), scope("ls", "/v"), scope("ls\nrm x")}) == 4


def test_what_a_person_has_to_see_is_told_whole() -> None:
    talk = Talk(permission="ask")
    asked = talk.asks(COMMAND, command="echo one\nrm -r /", cwd="")
    assert asked is not None
    assert asked.about == "echo one …"
    assert asked.detail == "echo one\nrm -r /"
    asked = talk.asks(COMMAND, 1, command="true\n" + "x" * 20_000)
    assert asked is not None
    assert len(asked.detail) == 20_005  # it is cut when secrets are out of it


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("/bin/bash -lc 'ls -a'", "ls -a"),
        ("/usr/bin/zsh -lc ls", "ls"),
        ('/bin/sh -c "ls -a"', "ls -a"),
        ('/bin/bash -lc "echo $HOME"', '/bin/bash -lc "echo $HOME"'),
        ("/bin/bash -lc 'a'\"'\"'b'", "/bin/bash -lc 'a'\"'\"'b'"),
        ("/bin/bash -lc 'a' 'b'", "/bin/bash -lc 'a' 'b'"),
        ("/bin/bash -lc ls; rm x", "/bin/bash -lc ls; rm x"),
        ("/bin/bash -lc 'ls' ; rm 'x'", "/bin/bash -lc 'ls' ; rm 'x'"),
        ("python3 -c 'x'", "python3 -c 'x'"),
    ],
)
def test_a_command_is_shown_without_its_shell_only_where_that_hides_nothing(
    command: str, shown: str
) -> None:
    assert bare(command) == shown


def changed(*changes: tuple[str, str], to: str = "") -> list[dict[str, Any]]:
    kind = {"type": "update", "move_path": to} if to else {"type": "add"}
    return [{"path": path, "kind": kind, "diff": diff} for path, diff in changes]


def test_the_change_that_is_asked_for_is_shown() -> None:
    talk = Talk(permission="ask")
    changes = changed(("/w/project/src/a.py", "print(1)\n"), ("/w/project/src/b.py", "x"))
    talk.says("item/started", item={"type": "fileChange", "id": "i1", "changes": changes})
    asked = talk.asks(FILES, itemId="i1")
    assert asked is not None
    assert asked.about == "/w/project/src/a.py, /w/project/src/b.py"
    assert asked.detail == "add /w/project/src/a.py\nprint(1)\n\nadd /w/project/src/b.py\nx"
    assert asked.scope == "files:/w/project/src"
    moved = changed(("/w/project/src/a.py", ""), to="/etc/cron.d/a")
    talk.says("item/started", item={"type": "fileChange", "id": "i2", "changes": moved})
    asked = talk.asks(FILES, 1, itemId="i2")
    assert asked is not None
    assert "/w/project/src/a.py -> /etc/cron.d/a" in asked.detail
    assert asked.scope == ""
    asked = talk.asks(FILES, 2, itemId="unheard of")
    assert asked is not None
    assert (asked.about, asked.scope) == ("files that it does not name", "")


@pytest.mark.parametrize(
    ("paths", "folder"),
    [
        (["/w/a", "/w/b"], "/w"),
        (["/w/s/a"], "/w/s"),
        (["/w/a", "/w/s/b"], ""),
        (["/v/a"], ""),
        (["/wider/a"], ""),
        (["/w/.git/a"], ""),
        (["/w/.env"], ""),
        (["/w/../v/a"], ""),
        (["a"], ""),
        ([], ""),
    ],
)
def test_leave_for_files_is_for_one_folder_of_the_project(paths: list[str], folder: str) -> None:
    assert one_folder(paths, "/w") == folder
    assert one_folder(paths, "/w/") == folder


@pytest.mark.parametrize("permission", ["plan", "edit", "full"])
def test_in_other_modes_leave_is_denied_at_once(permission: str) -> None:
    talk = Talk(permission=permission, asks=True)
    assert talk.asks(COMMAND, command="ls") is None
    assert talk.asks(FILES, 1) is None
    elicited = {"_meta": {"codex_approval_kind": "mcp_tool_call"}, "serverName": "s"}
    assert talk.asks("mcpServer/elicitation/request", 2, **elicited) is None
    assert talk.asks("item/permissions/requestApproval", 3, permissions={"network": {}}) is None
    assert [said["result"] for said in talk.sent()] == [
        {"decision": "decline"},
        {"decision": "decline"},
        {"action": "decline", "content": None, "_meta": None},
        {"permissions": {}, "scope": "turn"},
    ]


def test_a_request_that_nobody_knows_is_refused_and_does_not_hang() -> None:
    talk = Talk(permission="ask", asks=True)
    assert talk.asks("item/tool/call", "x") is None
    (said,) = talk.sent()
    assert said["id"] == "x"
    assert said["error"]["code"] == -32601
    assert talk.asks("mcpServer/elicitation/request", 1, serverName="s", mode="url") is None
    assert talk.sent() == [
        {"id": 1, "result": {"action": "decline", "content": None, "_meta": None}}
    ]


def test_wider_permissions_are_for_the_turn_and_no_more_than_was_shown() -> None:
    talk = Talk(permission="ask")
    wanted = {"network": {"enabled": True}, "fileSystem": None}
    asked = talk.asks("item/permissions/requestApproval", permissions=wanted, reason="to fetch")
    assert asked is not None
    assert '"enabled": true' in asked.detail
    assert asked.scope == ""
    (said,) = talk.decide("once")
    assert said["result"] == {"permissions": {"network": {"enabled": True}}, "scope": "turn"}


def test_secrets_are_not_asked_for_in_a_chat() -> None:
    talk = Talk(asks=True)
    plain = {"id": "a", "question": "Which?", "header": "H", "options": [{"label": "X"}]}
    secret = {"id": "b", "question": "Your key?", "isSecret": True}
    asked = talk.asks("item/tool/requestUserInput", questions=[secret, plain])
    assert asked is not None
    assert [q.text for q in asked.questions] == ["Which?"]
    (said,) = talk.decide("answer", ("X",))
    answers = said["result"]["answers"]
    assert answers["a"] == {"answers": ["X"]}
    assert "Secrets cannot be asked for" in answers["b"]["answers"][0]
    assert talk.asks("item/tool/requestUserInput", 1, questions=[secret]) is None
    assert len(talk.sent()) == 1


def test_a_request_that_codex_settles_itself_is_withdrawn() -> None:
    talk = Talk(permission="ask")
    assert talk.asks(COMMAND, "q", command="ls")
    (gone,) = talk.says("serverRequest/resolved", requestId="q")
    assert (gone.kind, gone.id) == ("withdrawn", '"q"')
    assert talk.decide("once", number='"q"') == []


def test_an_explanation_that_comes_too_late_does_no_harm() -> None:
    talk = Talk(permission="ask")
    talk.asks(COMMAND, command="ls")
    denied, explained = talk.decide("deny", note="not\nnow")
    assert denied["result"] == {"decision": "decline"}
    assert explained["method"] == "turn/steer"
    assert explained["params"]["input"][0]["text"].endswith("denied by Ada: not\\nnow")
    talk._hear({"id": explained["id"], "error": {"code": -1, "message": "no active turn"}})
    talk.says("item/completed", item={"type": "agentMessage", "id": "m", "text": "Done."})
    talk.says("turn/completed", turn={"id": TURN, "status": "completed"})
    assert talk.reader.finish(Exit(0)).text == "Done."


# --- what it tells ------------------------------------------------------------------------


def test_sub_agents_tools_and_tokens_count_and_their_words_do_not() -> None:
    talk = Talk()
    said = {"type": "agentMessage", "id": "m", "text": "I am only a helper."}
    assert talk.says("item/completed", "T2", item=said) == []
    assert talk.says("item/agentMessage/delta", "T2", delta="I am") == []
    (event,) = talk.says(
        "item/started", "T2", item={"type": "commandExecution", "id": "c", "command": "ls"}
    )
    assert (event.kind, event.text) == ("tool_start", "ls")
    talk.says("error", "T2", error={"message": "boom", "codexErrorInfo": "unauthorized"})
    talk.says("turn/completed", "T2", turn={"id": "U2", "status": "failed"})
    assert not talk.reader.settled()
    for thread, total, last in ((THREAD, 30, 10), (THREAD, 50, 20), ("T2", 7, 7)):
        counts = [
            {"inputTokens": n, "outputTokens": n, "cachedInputTokens": 1} for n in (total, last)
        ]
        used = {"total": counts[0], "last": counts[1]}
        talk.says("thread/tokenUsage/updated", thread, tokenUsage=used)
    talk.says("item/completed", item={**said, "text": "The answer."})
    talk.says("turn/completed", turn={"id": TURN, "status": "completed"})
    outcome = talk.reader.finish(Exit(0))
    assert (outcome.kind, outcome.text) == ("answered", "The answer.")
    assert outcome.usage.input_tokens == 30 + 7  # 10 and 20 in this run, 20 before it


def test_a_text_that_begins_anew_is_not_doubled() -> None:
    talk = Talk()
    begun = {"type": "agentMessage", "id": "m", "text": ""}
    talk.says("item/started", item=begun)
    talk.says("item/agentMessage/delta", delta="Half of")
    trouble = {"message": "Reconnecting... 1/5", "codexErrorInfo": "other"}
    (event,) = talk.says("error", error=trouble, willRetry=True)
    assert event.kind == "retry"
    talk.says("item/started", item=begun)
    talk.says("item/agentMessage/delta", delta="Half of it")
    assert talk.reader.finish(Exit(why="cancelled")).text == "Half of it"


@pytest.mark.parametrize(
    ("info", "kind"),
    [
        ("contextWindowExceeded", "context-too-long"),
        ("usageLimitExceeded", "quota"),
        ("rateLimitExceeded", "rate"),
        ("serverOverloaded", "overloaded"),
        ("modelNotFound", "bad-model"),
        ("unauthorized", "auth"),
        ("cyberPolicy", "refused"),
        ({"httpConnectionFailed": {"httpStatusCode": 403}}, "auth"),
        ({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}, "rate"),
        ({"responseStreamDisconnected": {"httpStatusCode": None}}, "crashed"),
        ("a new one", "crashed"),
        ({"a new one": 7}, "crashed"),
        (None, "crashed"),
    ],
)
def test_its_codes_name_the_failure(info: object, kind: str) -> None:
    talk = Talk()
    error = {"message": "Something is wrong", "codexErrorInfo": info}
    talk.says("error", error=error, willRetry=False)
    talk.says("turn/completed", turn={"id": TURN, "status": "failed", "error": error})
    outcome = talk.reader.finish(Exit(0))
    assert (outcome.kind, outcome.detail) == (kind, "Something is wrong")


def test_when_a_used_up_limit_comes_back_is_told_with_its_day() -> None:
    """As recorded from 0.171: its words name a time of day on the host."""
    talk = Talk()
    limits = {
        "primary": {"usedPercent": 100, "windowDurationMins": 300, "resetsAt": 1796047537},
        "secondary": {"usedPercent": 40, "windowDurationMins": 10080, "resetsAt": 1796110537},
    }
    talk.says("account/rateLimits/updated", rateLimits=limits)
    words = "You’ve hit your usage limit. Upgrade to Pro or try again at 11:05 PM."
    error = {"message": words, "codexErrorInfo": "usageLimitExceeded"}
    talk.says("error", error=error, willRetry=False)
    talk.says("turn/completed", turn={"id": TURN, "status": "failed", "error": error})
    outcome = talk.reader.finish(Exit(0))
    assert (outcome.kind, outcome.reset_at) == ("quota", "2026-11-30 14:05 UTC")
    assert abs(reset_moment(outcome.reset_at, 1796040537) - 1796047537) < 60


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("no rollout found for thread id X", "session-lost"),
        ("invalid session id: invalid character", "session-lost"),
        ("thread X already has an active writer", "crashed"),
        ("failed to load configuration: Model provider `nope` not found", "bad-config"),
        ("Invalid request: unknown variant `thread/start`", "bad-config"),
    ],
)
def test_a_thread_that_cannot_be_opened_ends_the_run(message: str, kind: str) -> None:
    reader = Codex(EngineConfig()).reader(EngineTask("r", "", "p", "/", "/", resume="T0"))
    reader.receive(
        json.dumps({"id": 2, "error": {"code": -32600, "message": message}}).encode() + b"\n"
    )
    assert reader.settled()
    assert reader.finish(Exit(0)).kind == kind


# --- sessions in a terminal ---------------------------------------------------------------

IDS = [f"{n:08x}-0000-7000-8000-00000000000{n}" for n in range(9)]


def rollout(home: Path, day: str, session: str, at: float, **meta: Any) -> Path:
    """A session's file as Codex writes it."""
    path = home / "sessions" / day / f"rollout-x-{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    told = {"id": session, "cwd": "/w", "source": "cli", **meta}
    environment = [{"type": "input_text", "text": "<environment_context>\n</environment_context>"}]
    lines = [
        {"type": "session_meta", "payload": told},
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": environment},
        },
        {
            "type": "event_msg",
            "payload": {"type": "user_message", "message": f"words of {session}"},
        },
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(path, (at, at))
    return path


def test_the_sessions_of_a_folder_newest_first(tmp_path: Path) -> None:
    rollout(tmp_path, "2026/01/02", IDS[0], 300)  # begun first, used last
    rollout(tmp_path, "2026/11/30", IDS[1], 100)
    rollout(tmp_path, "2026/11/30", IDS[2], 200, source="vscode")
    rollout(tmp_path, "2026/11/30", IDS[3], 400, cwd="/other")
    rollout(tmp_path, "2026/11/30", IDS[4], 400, source={"subagent": {}})
    rollout(tmp_path, "2026/11/30", IDS[5], 400, id="-x; rm -r /")
    (tmp_path / "sessions" / "2026" / "11" / "30" / "rollout-x.jsonl").write_bytes(b"\xff\x00{")
    (tmp_path / "sessions" / "2026" / "notes.txt").write_text("no folder")
    engine = Codex(EngineConfig())
    found = engine.terminal_sessions("/w", {"CODEX_HOME": str(tmp_path)})
    assert [kept.id for kept in found] == [IDS[0], IDS[2], IDS[1]]
    assert found[0].about == f"words of {IDS[0]}"
    assert found[0].at == 300
    assert engine.terminal_sessions("/w", {"CODEX_HOME": str(tmp_path / "none")}) == []
    assert engine.terminal_sessions("/w", {"HOME": str(tmp_path)}) == []


def test_no_more_than_twenty_and_no_more_than_the_beginning_is_read(tmp_path: Path) -> None:
    for n in range(25):
        path = rollout(tmp_path, "2026/11/30", f"{n:08x}-0000-7000-8000-000000000000", 100 + n)
    with path.open("a") as file:
        file.write("x" * 1_000_000)
    found = Codex(EngineConfig()).terminal_sessions("/w", {"CODEX_HOME": str(tmp_path)})
    assert len(found) == 20
    assert found[0].about == f"words of {24:08x}-0000-7000-8000-000000000000"


def test_the_line_that_goes_on_in_a_terminal_is_safe_to_paste() -> None:
    engine = Codex(EngineConfig(path="/opt/my codex"))
    line = engine.resume_command(IDS[1], "/w/it's here")
    assert line == f"""cd '/w/it'"'"'s here' && '/opt/my codex' resume {IDS[1]}"""
    assert engine.resume_command("--help", "/w") == ""
    assert engine.resume_command("$(rm -r /)", "/w") == ""
