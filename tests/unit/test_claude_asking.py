"""What Claude Code asks for, as people see it, and what it is told then."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.engines.claude.asking import request_of
from core.engines.claude.reader import ClaudeReader
from core.model import EngineEvent, Exit, Permission, Verdict
from tests.unit.test_transcripts import replay

CWD = "/w"


def reader(permission: Permission = "ask") -> ClaudeReader:
    return ClaudeReader(permission, CWD, resumed=False)


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def wish(tool: str, request_id: str = "r1", more: dict[str, Any] | None = None, **given: Any):
    request = {"subtype": "can_use_tool", "tool_name": tool, "input": given, **(more or {})}
    return line(type="control_request", request_id=request_id, request=request)


def sent(a_reader: ClaudeReader) -> list[dict[str, Any]]:
    return [json.loads(text)["response"] for text in a_reader.to_send().splitlines()]


def scope(tool: str, more: dict[str, Any] | None = None, **given: Any) -> tuple[str, str]:
    asked = request_of("r", {"tool_name": tool, "input": given, **(more or {})}, CWD)
    return asked.scope, asked.scope_label


def test_recorded_requests_are_put_to_people() -> None:
    def asked(case: str) -> list[EngineEvent]:
        return [e for e in replay(f"claude/{case}")[0] if e.kind in ("request", "withdrawn")]

    (event, _) = asked("ask_allowed")  # withdrawn at the end, for nobody decided in the replay
    request = event.request
    assert request is not None
    assert (request.kind, request.tool, request.about) == ("permission", "Bash", "touch made.txt")
    (event, _) = asked("ask_denied")
    request = event.request
    assert request is not None
    assert (request.about, request.scope) == ("/w/other.txt", "edit:project")
    (event, gone) = asked("ask_withdrawn")
    assert (event.id, event.kind, gone.kind) == (gone.id, "request", "withdrawn")
    assert asked("asks_in_edit") == []


def test_a_request_is_decided_once() -> None:
    one = reader()
    (event,) = one.receive(wish("Bash", command="touch x", description="d"))
    assert one.to_send() == b""
    one.decide(Verdict("other", "once"))
    assert one.to_send() == b""
    one.decide(Verdict(event.id, "once", by="Ada"))
    (said,) = sent(one)
    assert said["request_id"] == event.id
    assert said["response"] == {
        "behavior": "allow",
        "updatedInput": {"command": "touch x", "description": "d"},
    }
    one.decide(Verdict(event.id, "deny"))
    assert one.to_send() == b""


def test_several_that_wait_are_decided_in_any_order() -> None:
    """As two commands that only read do, which run at once."""
    one = reader()
    one.receive(wish("Bash", "r1", command="cat /etc/a") + wish("Bash", "r2", command="cat /etc/a"))
    one.decide(Verdict("r2", "deny"))
    one.decide(Verdict("r1", "once"))
    told = [(said["request_id"], said["response"]["behavior"]) for said in sent(one)]
    assert told == [("r2", "deny"), ("r1", "allow")]


def test_what_was_taken_back_is_not_answered() -> None:
    one = reader()
    one.receive(wish("Bash", command="touch x"))
    (event,) = one.receive(line(type="control_cancel_request", request_id="r1"))
    assert (event.kind, event.id) == ("withdrawn", "r1")
    assert one.receive(line(type="control_cancel_request", request_id="r1")) == ()
    one.decide(Verdict("r1", "once"))
    assert one.to_send() == b""


@pytest.mark.parametrize("permission", ["plan", "edit", "full"])
def test_beyond_the_mode_nobody_is_asked(permission: Permission) -> None:
    one = reader(permission)
    (event,) = one.receive(wish("Bash", command="touch x"))
    assert (event.kind, event.name) == ("warning", "denied")
    (said,) = sent(one)
    assert said["response"]["behavior"] == "deny"
    assert "nobody was asked" in said["response"]["message"]
    assert permission in said["response"]["message"]


@pytest.mark.parametrize(
    "request_",
    [
        {"subtype": "hook_callback"},
        {"subtype": "can_use_tool", "tool_name": "Bash"},
        {"subtype": "can_use_tool", "tool_name": "Bash", "input": "touch x"},
        None,
    ],
)
def test_what_moot_does_not_know_is_answered_and_waits_for_nobody(request_: Any) -> None:
    one = reader()
    assert one.receive(line(type="control_request", request_id="r1", request=request_)) == ()
    (said,) = sent(one)
    assert (said["subtype"], said["request_id"]) == ("error", "r1")


def test_a_form_of_a_server_is_cancelled() -> None:
    one = reader()
    one.receive(line(type="control_request", request_id="r", request={"subtype": "elicitation"}))
    assert sent(one)[0]["response"] == {"action": "cancel"}


def test_leave_is_narrow() -> None:
    key, label = scope("Bash", command="git push", description="one", timeout=5)
    assert label == "exactly this command: git push"
    assert scope("Bash", command="git push", description="two")[0] == key
    assert scope("Bash", command="git push ")[0] != key
    assert scope("Bash", command="git push", run_in_background=True)[0] != key
    assert scope("Bash", command="git push", dangerouslyDisableSandbox=True)[0] != key
    assert "git push" not in key  # it may hold a secret, and is kept
    assert scope("Bash", {"suppress_always_allow_rule": True}, command="git push") == ("", "")
    for tool in ("Edit", "Write", "NotebookEdit"):
        path = {"notebook_path" if tool == "NotebookEdit" else "file_path": "/w/a/b.txt"}
        assert scope(tool, **path) == ("edit:project", "edits of files in the project")
        assert scope(tool, {"decision_reason_type": "safetyCheck"}, **path) == ("", "")
    for path in ("/w/../etc/passwd", "/w", "/wide/a", "/etc/passwd", "../a"):
        assert scope("Write", file_path=path) == ("", ""), path
    assert scope("Read", file_path="/etc/a")[0] != scope("Read", file_path="/etc/b")[0] != ""
    assert (
        scope("WebFetch", url="https://a.test/x")[0] == scope("WebFetch", url="https://a.test")[0]
    )
    assert scope("WebFetch", url="https://a.test@b.test")[0] == "WebFetch:b.test"
    for url in ("not a url", "http://[", ""):
        assert scope("WebFetch", url=url) == ("", "")
    assert scope("mcp__db__query", sql="drop table x") == ("", "")


def test_what_is_decided_on_is_seen() -> None:
    def detail(tool: str, **given: Any) -> str:
        return request_of("r", {"tool_name": tool, "input": given}, CWD).detail

    edit = detail("Edit", file_path="/w/a", old_string="one\ntwo\n", new_string="one\n2\n")
    assert edit.splitlines() == ["@@ -1,2 +1,2 @@", " one", "-two", "+2"]
    assert detail("Write", file_path="/w/a", content="all of it") == "all of it"
    assert '"sql": "drop table x"' in detail("mcp__db__query", sql="drop table x")
    whole = "cat <<EOF\nrm -rf /\nEOF"
    request = request_of("r", {"tool_name": "Bash", "input": {"command": whole}}, CWD)
    assert request.about == "cat <<EOF …"
    assert whole in request.detail
    long = detail("Write", file_path="/w/a", content="x" * 30_000)
    assert len(long) == 30_000  # it is cut when secrets are out of it
    coloured = request_of(
        "r", {"tool_name": "Bash", "input": {}, "decision_reason": "\x1b[31mred\x1b[0m"}, CWD
    )
    assert coloured.detail == "red"


def test_a_no_says_who_and_why() -> None:
    def told(**more: Any) -> str:
        one = reader()
        one.receive(wish("Bash", command="x"))
        one.decide(Verdict("r1", "deny", **more))
        return sent(one)[0]["response"]["message"]

    assert told(by="Ada").startswith("This was denied by Ada. Go on without it")
    assert told(by="A\nB", note="no").startswith("This was denied by A B: no. ")
    assert told(note="x").startswith("This was denied: x. ")


def test_answers_go_with_their_questions() -> None:
    asked = {
        "questions": [
            {"question": "One?", "options": [{"label": "A"}, {"label": "B"}]},
            {"question": "Two?", "multiSelect": True, "options": []},
        ]
    }

    def answer(*answers: tuple[str, ...]) -> dict[str, Any]:
        one = reader("plan")
        (event,) = one.receive(wish("AskUserQuestion", **asked))
        assert event.request is not None
        assert [q.several for q in event.request.questions] == [False, True]
        one.decide(Verdict("r1", "answer", answers, "Ada"))
        return sent(one)[0]["response"]

    both = answer(("A",), ("x", "y"))
    assert both["updatedInput"] == {**asked, "answers": {"One?": "A", "Two?": "x, y"}}
    assert answer(("A",))["updatedInput"]["answers"] == {"One?": "A"}
    assert answer((), ("  ",))["behavior"] == "deny"


def test_a_plan_goes_ahead_only_by_that_word() -> None:
    def answer(*answers: tuple[str, ...]) -> dict[str, Any]:
        one = reader()
        (event,) = one.receive(wish("ExitPlanMode", plan="1. do it"))
        assert event.request is not None
        assert event.request.detail == "1. do it"
        one.decide(Verdict("r1", "answer", answers, "Ada"))
        return sent(one)[0]["response"]

    assert answer(("Go ahead",)) == {"behavior": "allow", "updatedInput": {"plan": "1. do it"}}
    assert answer(("Not yet",))["behavior"] == "deny"
    assert "step 2 first" in answer(("Go ahead, but step 2 first",))["message"]
    assert answer()["behavior"] == "deny"


# --- allow rules of the host's own settings ------------------------------------------------------


def answered(one: ClaudeReader, request_id: str, response: object = None, error: str = "") -> None:
    told = {"subtype": "error", "error": error} if error else {"subtype": "success"}
    answer = {**told, "request_id": request_id, "response": response}
    one.receive(line(type="control_response", response=answer))


def in_dialogue(permission: Permission = "ask") -> ClaudeReader:
    return ClaudeReader(permission, CWD, resumed=False, opening=b"SAID\n")


def opened(permission: Permission, rules: object, hooks: object = None) -> list[bytes]:
    """What is sent, step by step, until a person's words are."""
    one = in_dialogue(permission)
    steps = [one.to_send()]
    answered(one, "moot-rules", rules)
    assert one.to_send() == b""
    answered(one, "moot-hooks", hooks)
    steps.append(one.to_send())
    answered(one, "moot-held")
    return [*steps, one.to_send()]


def held_by(request: bytes) -> list[str]:
    return json.loads(request)["request"]["settings"]["permissions"]["ask"]


def listed(*rules: tuple[str, str, str]) -> dict[str, Any]:
    named = [{"behavior": b, "source": s, "rule": r} for b, s, r in rules]
    return {"state": {"rules": named}}


HOSTS = listed(
    ("allow", "userSettings", "Bash(git push *)"),
    ("allow", "localSettings", "Write"),
    ("allow", "policySettings", "mcp__db"),
    ("allow", "userSettings", "Bash"),
    ("allow", "userSettings", "Bash(ls:*)"),
    ("allow", "userSettings", "Bash(git status *)"),
    ("allow", "userSettings", "Bash(cat)"),
    ("allow", "userSettings", "Bash(catch *)"),
    ("allow", "userSettings", "Read(//etc/**)"),
    ("allow", "cliArg", "mcp__moot"),
    ("deny", "userSettings", "Bash(rm *)"),
    ("ask", "userSettings", "Bash(make *)"),
)


@pytest.mark.parametrize(
    ("permission", "held"),
    [
        ("plan", ["Bash(git push *)", "Write", "mcp__db", "Bash", "Bash(catch *)"]),
        ("ask", ["Bash(git push *)", "Write", "mcp__db", "Bash", "Bash(catch *)"]),
        ("edit", ["Bash(git push *)", "mcp__db", "Bash", "Bash(catch *)"]),
    ],
)
def test_what_the_host_allows_is_held_to_the_mode_before_a_word_is_said(
    permission: Permission, held: list[str]
) -> None:
    listing, holding, said = opened(permission, HOSTS)
    asked = [json.loads(text)["request"]["subtype"] for text in listing.splitlines()]
    assert asked == ["list_permission_rules", "get_hooks_listing"]
    assert json.loads(holding)["request"]["subtype"] == "apply_flag_settings"
    assert held_by(holding) == held
    assert said == b"SAID\n"


def test_without_such_rules_it_begins_at_once() -> None:
    assert opened("plan", listed())[1:] == [b"SAID\n", b""]
    one = in_dialogue("full")
    assert one.to_send() == b"SAID\n"


def test_a_claude_code_that_tells_no_rules_is_asked_all_the_same() -> None:
    one = in_dialogue("plan")
    one.to_send()
    answered(one, "moot-rules", error="Unsupported")
    answered(one, "moot-hooks", error="Unsupported")
    assert one.to_send() == b"SAID\n"


def test_what_cannot_be_held_is_not_asked() -> None:
    one = in_dialogue("plan")
    one.to_send()
    answered(one, "moot-rules", HOSTS)
    answered(one, "moot-hooks", {"hooks": []})
    one.to_send()
    answered(one, "moot-held", error="no such setting")
    assert one.to_send() == b""
    assert one.settled()
    outcome = one.finish(Exit(1))
    assert outcome.kind == "bad-config"
    assert "no such setting" in outcome.detail


# --- hooks and skills, which give leave of their own ---------------------------------------------


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
@pytest.mark.parametrize("permission", ["plan", "ask", "edit"])
def test_where_hooks_may_give_leave_all_is_held(permission: Permission, event: str) -> None:
    _, holding, said = opened(permission, HOSTS, {"hooks": [{"event": event}]})
    held = set(held_by(holding))
    assert {"Bash(git push *)", "Bash", "WebFetch", "Skill", "mcp__*"} <= held
    assert ("Edit" in held) is (permission != "edit")
    assert said == b"SAID\n"


def test_hooks_that_give_no_leave_change_nothing() -> None:
    hooks = {"hooks": [{"event": "PostToolUse"}, {"event": "SessionStart"}]}
    assert opened("ask", listed(), hooks)[1:] == [b"SAID\n", b""]


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("ls", False),
        ("ls -la src/core", False),
        ("grep -rn name a.txt b.txt", False),
        ("ls; touch x", True),
        ("ls\ntouch x", True),
        ("cat /etc/passwd", True),
        ("cat ../secret", True),
        ("cat ~/secret", True),
        ("cat $(touch x)", True),
        ("grep --file=/etc/passwd x", True),
        ("grep -f/etc/passwd x", True),
        ("ls > x", True),
        ("catch", True),
    ],
)
def test_what_would_not_be_asked_for_is_not_where_all_is_held(command: str, asked: bool) -> None:
    one = in_dialogue("ask")
    answered(one, "moot-rules", listed())
    answered(one, "moot-hooks", {"hooks": [{"event": "PreToolUse"}]})
    one.to_send()
    assert bool(one.receive(wish("Bash", command=command))) is asked
    if not asked:
        (told,) = sent(one)
        assert told["response"] == {"behavior": "allow", "updatedInput": {"command": command}}
    (event,) = one.receive(wish("Bash", "r2", command="ls", dangerouslyDisableSandbox=True))
    assert event.kind == "request"


def test_a_skill_is_let_in_once_all_else_is_held() -> None:
    one = in_dialogue("ask")
    answered(one, "moot-rules", listed(("allow", "userSettings", "Bash(make *)")))
    answered(one, "moot-hooks", {"hooks": []})
    one.to_send()
    one.receive(wish("Skill", skill="deploy"))
    one.decide(Verdict("r1", "once", by="Ada"))
    holding = one.to_send()
    assert {"Bash(make *)", "Bash", "Write", "mcp__*"} <= set(held_by(holding))
    answered(one, "moot-wider")
    (told,) = sent(one)
    assert told["response"] == {"behavior": "allow", "updatedInput": {"skill": "deploy"}}
    assert not one.receive(wish("mcp__moot__pull", "r2"))  # Moot's own is no other's
    assert sent(one)[0]["response"]["behavior"] == "allow"


def test_a_skill_that_cannot_be_held_is_not_let_in() -> None:
    one = in_dialogue("ask")
    one.receive(wish("Skill", skill="deploy"))
    one.decide(Verdict("r1", "once", by="Ada"))
    one.to_send()
    answered(one, "moot-wider", error="no such setting")
    assert sent(one)[0]["response"]["behavior"] == "deny"


@pytest.mark.parametrize("permission", ["plan", "edit"])
def test_an_allow_rule_for_skills_is_held(permission: Permission) -> None:
    rules = listed(("allow", "localSettings", "Skill"), ("allow", "userSettings", "Skill(a)"))
    assert held_by(opened(permission, rules)[1]) == ["Skill", "Skill(a)"]


# --- what cannot be put to people ----------------------------------------------------------------


@pytest.mark.parametrize("questions", [[], [{}], [{"question": " "}], None])
def test_a_question_without_words_waits_for_nobody(questions: object) -> None:
    one = reader()
    assert not one.receive(wish("AskUserQuestion", questions=questions))
    (told,) = sent(one)
    assert told["response"]["behavior"] == "deny"


def test_a_second_request_with_the_same_id_is_refused() -> None:
    one = reader()
    one.receive(wish("Bash", command="touch x"))
    assert not one.receive(wish("Bash", command="rm y"))
    (told,) = sent(one)
    assert (told["request_id"], told["response"]["behavior"]) == ("r1", "deny")
    one.decide(Verdict("r1", "once", by="Ada"))
    (told,) = sent(one)
    assert told["response"]["updatedInput"] == {"command": "touch x"}
