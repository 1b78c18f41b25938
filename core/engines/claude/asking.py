"""What Claude Code asks its host for, as requests to people, and their verdicts as its answers.

With ``--permission-prompt-tool stdio`` it sends a ``control_request`` of the subtype
``can_use_tool`` on its output for everything that its permission mode does not allow by itself, and
waits for the ``control_response`` on its input. Pure.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping
from posixpath import commonpath, isabs, join, normpath
from typing import Any, cast
from urllib.parse import urlsplit

from core.model import AskedQuestion, EngineRequest, Permission, Verdict
from core.streams import JsonObject, get, list_of, plain, text_of
from core.streams.cuts import MAX_LINE_CHARS, kept, short

QUESTION = "AskUserQuestion"
PLAN = "ExitPlanMode"
_EDITS = ("Edit", "MultiEdit", "Write", "NotebookEdit")
GO = "Go ahead"
_GO_ON = "Go on without it, or say in your answer what you would need."
TWICE = f"This was not allowed: something else with the same id still waits. {_GO_ON}"
NO_QUESTION = "There is no question in this, so nobody was asked. Go on, or ask in your answer."
NOT_HELD = f"This was not allowed: what the skill brings leave for could not be held. {_GO_ON}"
_PLAN_ASKED = AskedQuestion(
    "Shall I go ahead with this plan?",
    "Plan",
    ((GO, "what this channel may do stays as it is"), ("Not yet", "it goes on planning")),
)


def user_message(prompt: str) -> bytes:
    """The prompt as the line that begins a dialogue."""
    message = {"role": "user", "content": prompt}
    said = {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": ""}
    return _line(said)


def request_of(request_id: str, asked: JsonObject, cwd: str) -> EngineRequest:
    """What people are to decide. ``asked`` is the ``request`` of a ``can_use_tool``."""
    tool, given = text_of(asked, "tool_name"), _input(asked)
    if tool == QUESTION:
        return EngineRequest(request_id, "question", tool, questions=_questions(given))
    if tool == PLAN:
        plan = kept(plain(text_of(given, "plan")).strip())
        return EngineRequest(request_id, "question", tool, detail=plan, questions=(_PLAN_ASKED,))
    scope, label = _scope(asked, cwd)
    whole = about(given)
    first, _, rest = whole.strip().partition("\n")
    return EngineRequest(
        request_id,
        tool=tool,
        about=f"{first} …" if rest else first,
        detail=kept(_detail(asked, whole if rest else "")),
        scope=scope,
        scope_label=label,
        same=_digest(_done(given)),
    )


def response(request_id: str, asked: JsonObject, verdict: Verdict) -> bytes:
    """What is sent for a verdict; ``asked`` as in ``request_of``."""
    tool, given = text_of(asked, "tool_name"), _input(asked)
    if verdict.choice == "deny":
        return deny(request_id, _denied(tool, verdict))
    picked = [", ".join(said) for said in verdict.answers]
    if tool == QUESTION:
        texts = [question.text for question in _questions(given)]
        answers = {text: said for text, said in zip(texts, picked, strict=False) if said.strip()}
        if not answers:
            return deny(request_id, "Nobody answered. Decide for yourself, or ask in your answer.")
        return _allow(request_id, {**given, "answers": answers})
    if tool == PLAN and verdict.choice == "answer" and picked[:1] != [GO]:
        said = "; ".join(part for part in picked if part.strip()) or "Not yet."
        return deny(request_id, f"The plan was not approved{_by(verdict)}. What was said: {said}")
    return _allow(request_id, given)


def allowed(request_id: str, asked: JsonObject) -> bytes:
    """Yes, without anybody being asked; ``asked`` as in ``request_of``."""
    return _allow(request_id, _input(asked))


def deny(request_id: str, message: str) -> bytes:
    """No, with what the model is told."""
    return _success(request_id, {"behavior": "deny", "message": message})


def nobody_asked(permission: Permission) -> str:
    """What the model is told of a wish that goes beyond what Moot lets it do."""
    return (
        f"This was not allowed: here you may do no more than Moot's mode `{permission}` does, and "
        f"nobody was asked. {_GO_ON}"
    )


def unknown(request_id: str, subtype: str) -> bytes:
    """The answer to a request that Moot does not know: it must not wait for one."""
    if subtype == "elicitation":  # an MCP server of the user's wants to be told something
        return _success(request_id, {"action": "cancel"})
    error = f"Moot does not know {subtype or 'this'}"
    body = {"subtype": "error", "request_id": request_id, "error": error}
    return _line({"type": "control_response", "response": body})


def about(tool_input: object) -> str:
    """The command or path that says best what a tool call is about."""
    keys = ("command", "file_path", "notebook_path", "path", "pattern", "query", "url")
    for key in (*keys, "description", "prompt"):
        if text := text_of(tool_input, key):
            return text
    return kept(json.dumps(tool_input, ensure_ascii=False), MAX_LINE_CHARS) if tool_input else ""


# --- inside -----------------------------------------------------------------------------------


def _input(asked: JsonObject) -> JsonObject:
    given = get(asked, "input")
    return cast("JsonObject", given) if isinstance(given, dict) else {}


def _questions(given: object) -> tuple[AskedQuestion, ...]:
    return tuple(
        AskedQuestion(
            text=text_of(one, "question"),
            header=text_of(one, "header"),
            options=tuple(
                (text_of(option, "label"), text_of(option, "description"))
                for option in list_of(one, "options")
            ),
            several=get(one, "multiSelect") is True,
        )
        for one in list_of(given, "questions")
    )


def _scope(asked: JsonObject, cwd: str) -> tuple[str, str]:
    """The key and the words of what "for this session" would allow; empty where nothing is.

    Narrow: the very same command, edits within the project that Claude Code has no second thoughts
    about, one file, one host.
    """
    tool, given = text_of(asked, "tool_name"), _input(asked)
    if get(asked, "suppress_always_allow_rule") or get(asked, "requires_user_interaction"):
        return "", ""  # it says itself that this is to be asked for each time
    if tool == "Bash" and text_of(given, "command"):
        line = _short(text_of(given, "command"))
        return f"Bash:{_digest(_done(given))}", f"exactly this command: {line}"
    path = text_of(given, "file_path") or text_of(given, "notebook_path")
    if tool in _EDITS and path:
        # It gives a reason for what is more than an ordinary edit: settings, hooks, a link that
        # leads out of the project. That is asked for each time.
        plainly = not get(asked, "decision_reason_type") and not get(asked, "blocked_path")
        return (
            ("edit:project", "edits of files in the project")
            if (plainly and _within(path, cwd))
            else ("", "")
        )
    if tool == "Read" and path:
        return f"Read:{_digest(path)}", f"reading {_short(path)}"
    host = _host(text_of(given, "url")) if tool == "WebFetch" else ""
    return (f"WebFetch:{host}", f"reading pages of {_short(host)}") if host else ("", "")


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # no address at all
        return ""


def _within(path: str, cwd: str) -> bool:
    whole = normpath(path if isabs(path) else join(cwd, path))
    return isabs(cwd) and whole != normpath(cwd) and commonpath((whole, cwd)) == normpath(cwd)


def _detail(asked: JsonObject, command: str) -> str:
    """What to look at before deciding: the reason, the command or the change as it is."""
    given = _input(asked)
    parts = [plain(text_of(asked, "decision_reason")), command]
    match text_of(asked, "tool_name"):
        case "Write":
            parts.append(text_of(given, "content"))
        case "Edit":
            parts.append(_diff(text_of(given, "old_string"), text_of(given, "new_string")))
        case "Bash":
            told = text_of(given, "description")
            parts.append(f"It says: {told}" if told else "")
            if get(given, "run_in_background") is True:
                parts.append("It would go on in the background.")
            if get(given, "dangerouslyDisableSandbox") is True:
                parts.append("It would run outside of the sandbox.")
        case "Read" | "WebFetch":
            parts.append(text_of(given, "prompt"))
        case _:
            parts.append(json.dumps(given, ensure_ascii=False, indent=1) if given else "")
    return "\n\n".join(part for part in parts if part.strip())


def _diff(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=2, lineterm="")
    return "\n".join(line for n, line in enumerate(lines) if n >= 2)  # without the names of files


def _denied(tool: str, verdict: Verdict) -> str:
    what = "The question was not answered" if tool == QUESTION else "This was denied"
    why = f": {verdict.note.strip()}" if verdict.note.strip() else ""
    return (
        f"{what}{_by(verdict)}{why}. Go on without it, or say in your answer what you would need."
    )


def _by(verdict: Verdict) -> str:
    return f" by {short(verdict.by, 100)}" if verdict.by.strip() else ""


def _allow(request_id: str, given: Mapping[str, Any]) -> bytes:
    return _success(request_id, {"behavior": "allow", "updatedInput": dict(given)})


def _success(request_id: str, answer: Mapping[str, Any]) -> bytes:
    body = {"subtype": "success", "request_id": request_id, "response": answer}
    return _line({"type": "control_response", "response": body})


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _done(given: JsonObject) -> JsonObject:
    """What is done: whatever changes it is part of it; the rest are words and patience."""
    return {k: v for k, v in given.items() if k not in ("description", "timeout")}


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _short(text: str) -> str:
    return short(text, MAX_LINE_CHARS)
