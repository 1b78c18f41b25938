"""How each engine is started: what stands on its command line, and what never does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pytest

from core.engines.claude import Claude, disarm
from core.engines.codex import Codex
from core.engines.process.environment import bypass_proxy
from core.model import EngineConfig, EngineTask, Permission, PullAccess, Spawn
from core.turns.in_run import DEADLINE_S

CLIS = ("claude", "codex", "gemini", "opencode")
PERMISSIONS: tuple[Permission, ...] = ("plan", "edit", "full")


def task_of(**fields: Any) -> EngineTask:
    return EngineTask(**{
        "run_id": "run-1", "context": "THE CONTEXT", "prompt": "--the prompt", "cwd": "/w",
        "scratch": "/s", **fields,
    })  # fmt: skip


def start(name: str, config: EngineConfig | None = None, **fields: Any) -> Spawn:
    engine = import_module(f"core.engines.{name}").ENGINE(config or EngineConfig())
    return engine.start(task_of(**fields))


def codex_says(
    config: EngineConfig | None = None, opened: Mapping[str, Any] | None = None, **fields: Any
) -> list[dict[str, Any]]:
    """All that the other side hears until its turn has begun, in order."""
    task = task_of(**fields)
    reader = Codex(config or EngineConfig()).reader(task)
    said = reader.to_send()
    thread = {"id": 2, "result": {"thread": {"id": task.resume or "T1"}, **(opened or {})}}
    reader.receive(json.dumps(thread).encode() + b"\n")
    return [json.loads(line) for line in (said + reader.to_send()).splitlines()]


def codex_opens(config: EngineConfig | None = None, **fields: Any) -> dict[str, Any]:
    """How Codex is told to open its thread."""
    return codex_says(config, **fields)[2]["params"]


def codex_is_told(**fields: Any) -> bytes:
    """The words that Codex's turn begins with."""
    *_, turn = codex_says(**fields)
    return turn["params"]["input"][0]["text"].encode()


def is_told(name: str, **fields: Any) -> bytes:
    """The words that a dialogue begins with."""
    if name == "codex":
        return codex_is_told(**fields)
    reader = Claude(EngineConfig()).reader(task_of(**fields))
    for ours in ("moot-rules", "moot-hooks"):
        none = {"subtype": "success", "request_id": ours, "response": {}}
        told = {"type": "control_response", "response": none}
        reader.receive(json.dumps(told).encode() + b"\n")
    *_, said = reader.to_send().splitlines()
    return json.loads(said)["message"]["content"].encode()


def told_model(name: str, config: EngineConfig, **fields: Any) -> tuple[str, ...]:
    """Where an engine's model stands."""
    if name == "codex":
        return (codex_opens(config, **fields)["model"],)
    return start(name, config, **fields).argv


@pytest.mark.parametrize("name", [*CLIS, "rehearsal"])
@pytest.mark.parametrize("permission", PERMISSIONS)
def test_words_are_never_arguments(name: str, permission: Permission) -> None:
    plan = start(name, permission=permission)
    assert not [a for a in plan.argv if "CONTEXT" in a or "the prompt" in a]
    assert plan.cwd == "/w"
    said = plan.stdin or is_told(name, permission=permission)
    assert b"--the prompt" in said
    assert b"THE CONTEXT" in said + b"".join(plan.files.values())


@pytest.mark.parametrize("name", CLIS)
def test_settings_are_passed_on(name: str) -> None:
    config = EngineConfig(path="/opt/x", model="m1", args=("--extra", "1"), env=("ACME_KEY",))
    plan = start(name, config)
    assert plan.argv[0] == "/opt/x"
    assert "m1" in told_model(name, config)
    assert "--extra" in plan.argv
    assert "m2" in told_model(name, config, model="m2")
    assert "ACME_KEY" in import_module(f"core.engines.{name}").ENGINE(config).env_names


@pytest.mark.parametrize(
    ("name", "modes"),
    [
        ("claude", ("plan", "acceptEdits", "bypassPermissions")),
        ("gemini", ("plan", "auto_edit", "yolo")),
    ],
)
def test_permissions_on_the_command_line(name: str, modes: tuple[str, ...]) -> None:
    for permission, mode in zip(PERMISSIONS, modes, strict=True):
        for resume in ("", "S1"):
            argv = start(name, permission=permission, resume=resume).argv
            assert mode in argv
            assert not (set(modes) - {mode}) & set(argv)


@pytest.mark.parametrize("resume", ["", "T0"])
@pytest.mark.parametrize(
    ("permission", "extends", "sandbox", "policy"),
    [
        ("plan", ":read-only", "readOnly", "never"),
        ("ask", ":read-only", "readOnly", "on-request"),
        ("edit", ":workspace", "workspaceWrite", "never"),
    ],
)
def test_permissions_of_a_thread_of_codex(
    permission: Permission, extends: str, sandbox: str, policy: str, resume: str
) -> None:
    plan = start("codex", permission=permission, resume=resume)
    assert f'permissions.held.extends="{extends}"' in plan.argv
    assert 'permissions.held.filesystem={"/s/denied"="none"}' in plan.argv
    assert "denied" in plan.files
    fields = {"permission": permission, "resume": resume}
    opened = codex_opens(**fields)
    assert (opened["permissions"], opened["approvalPolicy"]) == ("held", policy)
    assert opened["approvalsReviewer"] == "user"
    assert opened["cwd"] == "/w"
    assert "sandbox" not in opened
    held = {"activePermissionProfile": {"id": "held"}}
    assert "sandboxPolicy" not in codex_says(opened=held, **fields)[-1]["params"]
    for profile in ({}, {"activePermissionProfile": {"id": "the user's"}}):  # an older Codex
        turn = codex_says(opened=profile, **fields)[-1]["params"]
        assert (turn["sandboxPolicy"], turn["approvalPolicy"]) == ({"type": sandbox}, policy)


def test_a_thread_of_codex_that_may_do_anything() -> None:
    assert "permissions" not in " ".join(start("codex", permission="full").argv)
    opened = codex_opens(permission="full")
    assert (opened["sandbox"], opened["approvalPolicy"]) == ("danger-full-access", "never")
    assert "sandboxPolicy" not in codex_says(permission="full")[-1]["params"]


def test_opencode_never_keeps_its_own_permissions() -> None:
    rules = {
        p: json.loads(start("opencode", permission=p).env["OPENCODE_PERMISSION"])
        for p in PERMISSIONS
    }
    assert next(iter(rules["plan"].items())) == ("*", "deny")  # the last match wins
    assert not {"bash", "edit", "write", "task", "external_directory"} & rules["plan"].keys()
    assert rules["edit"]["edit"] == "allow"
    assert "bash" not in rules["edit"]
    assert rules["full"]["*"] == "allow"
    assert "ask" not in {v for r in rules.values() for v in r.values()}


def test_sessions() -> None:
    for name in ("claude", "gemini"):
        first, again, other = (start(name, run_id=r).argv for r in ("a", "a", "b"))
        assert first == again != other
        assert "--session-id" in first
        resumed = start(name, resume="S1").argv
        assert resumed[resumed.index("--resume") + 1] == "S1"
        assert "--session-id" not in resumed
    hello, ready, opened, turn = codex_says(resume="T0")
    assert (hello["method"], ready["method"]) == ("initialize", "initialized")
    assert (opened["method"], opened["params"]["threadId"]) == ("thread/resume", "T0")
    assert (turn["method"], turn["params"]["threadId"]) == ("turn/start", "T0")
    assert [said["method"] for said in codex_says()][2] == "thread/start"
    argv = start("opencode", resume="ses_1").argv
    assert argv[argv.index("--session") + 1] == "ses_1"


def test_a_passing_job_gets_no_tools_and_leaves_no_session_where_the_cli_can() -> None:
    claude = start("claude", passing=True).argv
    assert claude[claude.index("--tools") + 1] == ""
    assert claude[claude.index("--permission-mode") + 1] == "dontAsk"
    assert {"--strict-mcp-config", "--no-session-persistence"} <= set(claude)
    assert not {"--tools", "--no-session-persistence"} & set(start("claude").argv)
    assert codex_opens(passing=True)["ephemeral"] is True
    assert "ephemeral" not in codex_opens()


def test_a_follow_up_without_context() -> None:
    for name in ("gemini", "opencode"):
        assert start(name, context="", resume="S").stdin == b"--the prompt"
    assert codex_is_told(context="", resume="S") == b"--the prompt"
    plan = start("claude", context="", resume="S")
    assert plan.files == {}
    assert "--append-system-prompt-file" not in plan.argv


@pytest.mark.parametrize("name", CLIS)
def test_what_is_new_to_a_session_goes_with_the_prompt(name: str) -> None:
    plan = start(name, resume="S1")
    assert not any(b"THE CONTEXT" in data for data in plan.files.values())
    said = plan.stdin or is_told(name, resume="S1")
    assert said == b"THE CONTEXT\n\n---\n\n--the prompt"


def test_claude_reads_no_file_because_a_prompt_names_it() -> None:
    assert start("claude").env["CLAUDE_CODE_DISABLE_FILE_MENTIONS"] == "1"


@pytest.mark.parametrize(
    ("prompt", "sent"),
    [
        ("/clear", " /clear"),
        ("\n\t/cost", " \n\t/cost"),
        ("a /b", "a /b"),
        ("x\0y", "xy"),
        ("\0/x", " /x"),
    ],
)
def test_claude_takes_no_prompt_for_a_command(prompt: str, sent: str) -> None:
    assert disarm(prompt) == sent


def test_half_characters_can_be_sent() -> None:
    for name in CLIS:
        half = {"prompt": "a\ud83d", "context": "b\ud83d"}
        assert start(name, **half).stdin or is_told(name, **half)


PULLS = PullAccess("http://127.0.0.1:4711/mcp", "the-token-of-this-run")


@pytest.mark.parametrize("name", ["claude", "codex", "opencode"])
@pytest.mark.parametrize("permission", PERMISSIONS)
def test_the_way_to_pull_is_told_without_the_token_on_the_command_line(
    name: str, permission: Permission
) -> None:
    plan = start(name, permission=permission, pulls=PULLS)
    assert not [a for a in plan.argv if PULLS.token in a]
    told = " ".join((*plan.argv, *plan.env.values(), *(f.decode() for f in plan.files.values())))
    assert PULLS.url in told
    assert PULLS.token in told
    assert PULLS.token not in repr(EngineTask("r", "", "", "/", "/", pulls=PULLS))
    without = start(name, permission=permission)
    assert "moot" not in " ".join((*without.argv, *without.env.values())).replace("MOOT", "")
    assert "--strict-mcp-config" not in plan.argv, "the user's own servers go on working"


def test_engines_wait_longer_than_a_pull_may_take() -> None:
    claude = json.loads(start("claude", pulls=PULLS).files["mcp.json"])["mcpServers"]["moot"]
    codex = [a for a in start("codex", pulls=PULLS).argv if "tool_timeout_sec" in a]
    opencode = json.loads(start("opencode", pulls=PULLS).env["OPENCODE_CONFIG_CONTENT"])
    waits_s = (
        claude["timeout"] / 1000,
        float(codex[0].partition("=")[2]),
        opencode["mcp"]["moot"]["timeout"] / 1000,
    )
    assert min(waits_s) >= DEADLINE_S + 5


def test_engines_that_take_no_server_say_so() -> None:
    able = {n: import_module(f"core.engines.{n}").ENGINE.traits.in_run_pull for n in ALL}
    assert able == {n: n in ("claude", "codex", "opencode") for n in ALL}


ALL = (*CLIS, "ollama", "rehearsal")


@pytest.mark.parametrize(
    ("given", "then"),
    [
        ({}, "127.0.0.1"),
        ({"NO_PROXY": "corp.example, 10.0.0.0/8"}, "corp.example,10.0.0.0/8,127.0.0.1"),
        ({"NO_PROXY": "127.0.0.1"}, "127.0.0.1"),
        ({"NO_PROXY": "*"}, "*"),
        ({"no_proxy": "corp.example"}, "corp.example,127.0.0.1"),
    ],
)
def test_no_proxy_hears_of_a_pull(given: dict[str, str], then: str) -> None:
    env = {"HTTP_PROXY": "http://proxy.example:3128", **given}
    bypass_proxy(env, PULLS.url)
    assert env["NO_PROXY"] == env["no_proxy"] == then
