"""What the model can be told to do; each function is one scenario."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable
from typing import Any

from tests.peers.models.conversation import (
    DIRECTIVE,
    READ_TOOLS,
    SHELL_TOOLS,
    WRITE_TOOLS,
    Conversation,
    Failure,
    Outcome,
    RawBody,
    Reply,
    ToolCall,
)
from tests.peers.models.state import State

Scenario = Callable[[Conversation, dict[str, str], State], Outcome]

SCENARIOS: dict[str, Scenario] = {}


def scenario(fn: Scenario) -> Scenario:
    SCENARIOS[fn.__name__.removeprefix("sc_")] = fn
    return fn


@scenario
def sc_plain(conv: Conversation, args: dict[str, str], state: State) -> Outcome:
    """A short fixed answer.  text=..."""
    return Reply(text=args.get("text", "Hello from the fake model.").replace("\\n", "\n"))


@scenario
def sc_marker(conv, args, state) -> Outcome:
    """An answer that holds a marker a bridge may look for.  marker=..."""
    mark = args.get("marker", "[[SEND_FILE: out/report.txt]]")
    return Reply(text=f"Here is the report.\n\n{mark}\n\nAnything else?")


@scenario
def sc_pull(conv, args, state) -> Outcome:
    """An answer that ends with a Pull marker.  kind=memory query=... text=...

    Composed here, since a marker in a prompt is taken out before it gets to an agent.
    """
    mark = f"<!-- pull:{args.get('kind', 'memory')}: {args.get('query', '')} -->"
    return Reply(text=f"{args.get('text', 'I must look that up.')}\n\n{mark}")


@scenario
def sc_echo(conv, args, state) -> Outcome:
    """Proves how the prompt arrived: length, sha256, first and last bytes."""
    p = conv.prompt
    digest = hashlib.sha256(p.encode("utf-8", "surrogatepass")).hexdigest()
    return Reply(
        text=json.dumps(
            {
                "chars": len(p),
                "bytes": len(p.encode("utf-8", "surrogatepass")),
                "sha256": digest,
                "head": p[:120],
                "tail": p[-60:],
            },
            ensure_ascii=False,
        )
    )


@scenario
def sc_history(conv, args, state) -> Outcome:
    """Proves that a resumed session carries its past."""
    heads = [re.sub(r"\s+", " ", p)[:60] for p in conv.prompts]
    return Reply(text=json.dumps({"user_turns": len(heads), "heads": heads}, ensure_ascii=False))


@scenario
def sc_find(conv, args, state) -> Outcome:
    """Says where in the request text=... is: system, user, tool, nowhere."""
    needle = args.get("text", "")
    hits = []
    if needle in conv.system:
        hits.append("system")
    for i, (role, text) in enumerate(conv.turns):
        body = DIRECTIVE.sub("", text)
        if needle in body:
            hits.append(f"{role}#{i}")
    if not hits and needle in DIRECTIVE.sub("", json.dumps(conv.raw, ensure_ascii=False)):
        hits.append("elsewhere")
    return Reply(text="found in: " + (", ".join(hits) or "nowhere"))


@scenario
def sc_tools(conv, args, state) -> Outcome:
    """Lists the tools that the agent offered."""
    return Reply(text="tools: " + ", ".join(sorted(t.name for t in conv.tools)))


@scenario
def sc_summary(conv, args, state) -> Outcome:
    """The first line of each numbered message, as Moot's summariser asks for it."""
    told = "\n".join([conv.system, *(text for _, text in conv.turns)])
    said = re.findall(r"^\[#(\d+)\] .*:\n> ?(.*)$", told, re.MULTILINE)
    statements = [{"text": text, "messages": [int(number)]} for number, text in said]
    topics = {"topics": [{"title": "Summed up", "statements": statements}]}
    return Reply(text=f"```json\n{json.dumps(topics, ensure_ascii=False)}\n```")


def _shell_call(conv: Conversation, cmd: str) -> ToolCall | None:
    tool = conv.tool(SHELL_TOOLS)
    if tool is None:
        return None
    if tool.kind == "custom":  # Codex "code mode": JavaScript source
        src = (
            f"const r = await tools.exec_command({{cmd: {json.dumps(cmd)}}});\n"
            "text(r.output ?? JSON.stringify(r));"
        )
        return ToolCall(tool.name, {}, kind="custom", namespace=tool.namespace, raw_input=src)
    props = tool.schema.get("properties", {})
    arguments: dict[str, Any] = {}
    if "cmd" in props:
        arguments["cmd"] = cmd
    elif props.get("command", {}).get("type") == "array":
        arguments["command"] = ["bash", "-lc", cmd]
    else:
        arguments["command"] = cmd
    if "description" in props:
        arguments["description"] = "Run a scripted command"
    return ToolCall(tool.name, arguments)


@scenario
def sc_tool(conv, args, state) -> Outcome:
    """One shell call (cmd=...), then text that quotes its result.

    n=N makes N calls one after another; parallel=N makes N calls at once.
    """
    n = int(args.get("n", 1))
    parallel = int(args.get("parallel", 1))
    if conv.step < n * parallel:
        cmd = args.get("cmd", "ls -a")
        calls = [_shell_call(conv, cmd) for _ in range(parallel)]
        calls = [c for c in calls if c]
        if not calls:
            return Reply(text="(no shell tool was offered)")
        return Reply(text=args.get("say", "I will run a command."), calls=calls, stop="tool")
    last = re.sub(r"\s+", " ", conv.tool_results[-1])[:200]
    return Reply(text=f"Done after {conv.step} tool call(s). Last result: {last}", chunk=4000)


@scenario
def sc_read(conv, args, state) -> Outcome:
    """Reads a file with the agent's own read tool.  path=..."""
    if conv.step == 0:
        tool = conv.tool(READ_TOOLS)
        if tool is None:
            call = _shell_call(conv, "cat " + shlex.quote(args.get("path", "a.txt")))
        else:
            props = tool.schema.get("properties", {})
            key = next(
                (k for k in ("file_path", "filePath", "path", "absolute_path") if k in props),
                "file_path",
            )
            call = ToolCall(tool.name, {key: args.get("path", "a.txt")})
        if call is None:
            return Reply(text="(no read tool was offered)")
        return Reply(calls=[call], stop="tool")
    return Reply(text="The file says: " + conv.tool_results[-1][:200], chunk=4000)


@scenario
def sc_write(conv, args, state) -> Outcome:
    """Writes a file with the agent's own write tool.  path=... text=..."""
    if conv.step == 0:
        path, text = args.get("path", "made.txt"), args.get("text", "made by fake")
        tool = conv.tool(WRITE_TOOLS)
        if tool is None:
            call = _shell_call(conv, f"printf %s {shlex.quote(text)} > {shlex.quote(path)}")
        else:
            props = tool.schema.get("properties", {})
            key = next((k for k in ("file_path", "filePath", "path") if k in props), "file_path")
            call = ToolCall(tool.name, {key: path, "content": text})
        if call is None:
            return Reply(text="(no write tool was offered)")
        return Reply(calls=[call], stop="tool")
    return Reply(text="Write result: " + conv.tool_results[-1][:200], chunk=4000)


@scenario
def sc_call(conv, args, state) -> Outcome:
    """Calls any tool by name.  tool=NAME json='{"k": 1}'"""
    if conv.step == 0:
        name, arguments = args["tool"], json.loads(args.get("json", "{}"))
        tool, js = conv.tool((name,)), conv.tool(("exec",))
        if tool is None and js is not None and js.kind == "custom":  # Codex "code mode"
            call = ToolCall(
                "exec",
                {},
                kind="custom",
                namespace=js.namespace,
                raw_input=(f"text(JSON.stringify(await tools.{name}({json.dumps(arguments)})));"),
            )
        else:
            call = ToolCall(name, arguments, namespace=tool.namespace if tool else "")
        return Reply(calls=[call], stop="tool")
    return Reply(text="Tool said: " + conv.tool_results[-1][:300], chunk=4000)


@scenario
def sc_calls(conv, args, state) -> Outcome:
    """Calls several tools, one after another, with nothing.  tools=NAME,NAME"""
    names = args["tools"].split(",")
    if conv.step < len(names):
        return Reply(calls=[ToolCall(names[conv.step], {})], stop="tool")
    return Reply(text="Tool said: " + conv.tool_results[-1][:300], chunk=4000)


@scenario
def sc_lookup(conv, args, state) -> Outcome:
    """Pulls while it works, under whatever name the agent gave the tool.  kind= query= n=1 text=

    Then quotes the last result, or says ``text``.
    """
    if conv.step < int(args.get("n", 1)):
        tool = next((t for t in conv.tools if re.fullmatch(r"(\w+_)?pull", t.name)), None)
        if tool is None:
            return Reply(text="(no pull tool was offered)")
        asked = {"kind": args.get("kind", "memory"), "query": args.get("query", "")}
        call = ToolCall(tool.name, asked, namespace=tool.namespace)
        return Reply(calls=[call], stop="tool")
    return Reply(text=args.get("text") or "Pulled: " + conv.tool_results[-1][:600], chunk=4000)


@scenario
def sc_patch(conv, args, state) -> Outcome:
    """Adds a file with Codex's apply_patch tool.  path=made.txt text=..."""
    if conv.step == 0:
        patch = (
            f"*** Begin Patch\n*** Add File: {args.get('path', 'made.txt')}\n"
            f"+{args.get('text', 'made by fake')}\n*** End Patch\n"
        )
        tool = conv.tool(("apply_patch",))
        if tool is None:
            call = _shell_call(conv, f"apply_patch <<'EOF'\n{patch}EOF")
            return Reply(calls=[call], stop="tool") if call else Reply(text="(no patch tool)")
        if tool.kind == "custom":
            call = ToolCall("apply_patch", {}, kind="custom", raw_input=patch)
        else:
            call = ToolCall("apply_patch", {"input": patch})
        return Reply(calls=[call], stop="tool")
    return Reply(text="Patch result: " + conv.tool_results[-1][:200], chunk=4000)


@scenario
def sc_loop(conv, args, state) -> Outcome:
    """Never stops calling a tool; for turn limits.  max=50 is a safety net."""
    if conv.step >= int(args.get("max", 50)):
        return Reply(text="(loop safety net reached)")
    call = _shell_call(conv, f"echo step {conv.step}")
    return Reply(calls=[call], stop="tool") if call else Reply(text="(no shell tool)")


@scenario
def sc_thinking(conv, args, state) -> Outcome:
    """Reasoning first, then text."""
    return Reply(
        thinking=args.get("thought", "Let me weigh the options. The answer is 42."),
        text="The answer is 42.",
    )


@scenario
def sc_big(conv, args, state) -> Outcome:
    """One very long line.  bytes=200000 chunk=..."""
    n = int(args.get("bytes", 200_000))
    return Reply(text="x" * n, chunk=int(args.get("chunk", n)))


@scenario
def sc_slow(conv, args, state) -> Outcome:
    """Text in pieces with a pause before each.  chunks=20 delay=0.25 first=0"""
    n = int(args.get("chunks", 20))
    words = [f"word{i:03d} " for i in range(n)]
    return Reply(
        text="".join(words),
        chunk=8,
        delay=float(args.get("delay", 0.25)),
        first=float(args.get("first", 0)),
    )


@scenario
def sc_hang(conv, args, state) -> Outcome:
    """Accepts the request and says nothing.  seconds=600"""
    return RawBody(b"", hang=float(args.get("seconds", 600)))


@scenario
def sc_length(conv, args, state) -> Outcome:
    """The answer was cut at the output-token limit."""
    return Reply(text="This answer stops in the midd", stop="length")


@scenario
def sc_refusal(conv, args, state) -> Outcome:
    """The model's own safety stop."""
    return Reply(text="I can't help with that.", stop="refusal")


_ERRORS: dict[int, tuple[str, str]] = {
    400: ("invalid", "Invalid request (scripted)."),
    401: ("auth", "invalid x-api-key (scripted)."),
    403: ("permission", "Your key may not use this model (scripted)."),
    404: ("not_found", "model: no-such-model (scripted)."),
    413: ("too_large", "Request exceeds the maximum size (scripted)."),
    429: ("rate_limit", "Rate limit reached, try again later (scripted)."),
    500: ("server", "Internal server error (scripted)."),
    502: ("server", "Bad gateway (scripted)."),
    503: ("overloaded", "The model is overloaded (scripted)."),
    529: ("overloaded", "Overloaded (scripted)."),
}


@scenario
def sc_error(conv, args, state) -> Outcome:
    """An API error.  status=429 retry_after=1 times=2 kind=... stream=1

    With times=N only the first N main requests fail; then ``plain`` answers,
    which shows whether (and how) the agent retries by itself.
    """
    status = int(args.get("status", 500))
    kind, message = _ERRORS.get(status, ("server", f"status {status} (scripted)."))
    if "times" in args:
        n = state.count("error:" + args.get("key", json.dumps(args, sort_keys=True)))
        if n > int(args["times"]):
            return Reply(text=f"Recovered after {args['times']} failure(s).")
    retry = args.get("retry_after")
    return Failure(
        status,
        args.get("kind", kind),
        args.get("message", message),
        retry_after=float(retry) if retry else None,
        in_stream=args.get("stream") == "1",
    )


@scenario
def sc_quota(conv, args, state) -> Outcome:
    """Out of credit: the 429 that waiting does not cure."""
    return Failure(429, "quota", "You exceeded your current quota (scripted).")


@scenario
def sc_context(conv, args, state) -> Outcome:
    """The prompt is longer than the model's window."""
    return Failure(
        400,
        "context_length",
        "prompt is too long: 250000 tokens > 200000 maximum",
        in_stream=args.get("stream") == "1",
    )


@scenario
def sc_malformed(conv, args, state) -> Outcome:
    """kind=json | html | empty | truncate"""
    kind = args.get("kind", "json")
    if kind == "html":
        return RawBody(b"<html><body>captive portal</body></html>", "text/html")
    if kind == "empty":
        return RawBody(b"")
    if kind == "truncate":
        return Reply(text="This answer will be cut off before it can end properly.", cut_after=1)
    return RawBody(b"event: message_start\ndata: {this is not json\n\n")
