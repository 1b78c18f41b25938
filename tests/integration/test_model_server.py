"""The loopback model server itself: every protocol, without any CLI."""

from __future__ import annotations

import json

import aiohttp
import pytest

from tests.peers.models import FakeModels
from tests.peers.models.state import example_of, parse_directive

SHELL_SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}


def body(protocol: str, text: str, *, stream: bool = True, tools: bool = False) -> tuple[str, dict]:
    """The path and JSON of a request that says ``text``."""
    m = {"role": "user", "content": text}
    if protocol == "anthropic":
        d = {"model": "m", "stream": stream, "messages": [m]}
        if tools:
            d["tools"] = [{"name": "Bash", "input_schema": SHELL_SCHEMA}]
        return "/v1/messages", d
    if protocol == "responses":
        d = {
            "model": "m",
            "stream": stream,
            "input": [
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": text}],
                }
            ],
        }
        if tools:
            d["tools"] = [
                {
                    "type": "function",
                    "name": "exec_command",
                    "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}},
                }
            ]
        return "/v1/responses", d
    if protocol in ("chat", "ollama"):
        d = {"model": "m", "stream": stream, "messages": [m]}
        if tools:
            d["tools"] = [
                {"type": "function", "function": {"name": "bash", "parameters": SHELL_SCHEMA}}
            ]
        return ("/v1/chat/completions" if protocol == "chat" else "/api/chat"), d
    d = {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    if tools:
        d["tools"] = [
            {
                "functionDeclarations": [
                    {"name": "run_shell_command", "parametersJsonSchema": SHELL_SCHEMA}
                ]
            }
        ]
    return f"/v1beta/models/m:{'streamGenerateContent' if stream else 'generateContent'}", d


PROTOCOLS = ("anthropic", "responses", "chat", "gemini", "ollama")


async def post(models: FakeModels, path: str, data: dict) -> tuple[int, str]:
    async with aiohttp.ClientSession() as s, s.post(models.url + path, json=data) as r:
        return r.status, await r.text()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("stream", [True, False])
async def test_plain_and_tool(models, protocol, stream):
    status, text = await post(models, *body(protocol, "@@fake plain text=Hello@@", stream=stream))
    assert status == 200
    assert "Hello" in text
    status, text = await post(
        models, *body(protocol, '@@fake tool cmd="echo 42"@@', stream=stream, tools=True)
    )
    assert status == 200
    assert "echo 42" in text
    assert [s.directive for s in models.seen] == ["plain", "tool"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("status", [401, 404, 429, 500, 503])
async def test_errors(models, protocol, status):
    got, text = await post(models, *body(protocol, f"@@fake error status={status}@@"))
    assert got == status
    assert "scripted" in str(json.loads(text)["error"])


async def test_times_then_recovers(models):
    path, data = body("chat", "@@fake error status=429 times=2 key=k@@", stream=False)
    assert [(await post(models, path, data))[0] for _ in range(3)] == [429, 429, 200]


async def test_step_is_counted_after_the_last_prompt(models):
    path, data = body("anthropic", "@@fake tool@@", stream=False, tools=True)
    data["messages"] += [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "content": "files"}],
        },
    ]
    _, text = await post(models, path, data)
    assert "Done after 1 tool call(s). Last result: files" in text


async def test_cut_drops_the_connection(models):
    with pytest.raises(aiohttp.ClientError):
        await post(models, *body("chat", "@@fake malformed kind=truncate@@"))


def test_directive_and_example():
    assert parse_directive('x @@fake tool cmd="a b" n=2@@ y') == ("tool", {"cmd": "a b", "n": "2"})
    assert parse_directive("nothing") is None
    assert example_of(
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x"]}}}
    ) == {"a": 1, "b": "x"}
