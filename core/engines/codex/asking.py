"""What Codex asks its client while it works, and how it is answered. PURE.

Each ``of_...`` takes the request's parameters and gives what people are asked, with a function
that turns their verdict into Codex's own answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import cast

from core.engines.codex.items import bare
from core.model import AskedQuestion, EngineRequest, Verdict
from core.streams import JsonObject, get, list_of, text_of
from core.streams.cuts import kept

NOBODY = "Nobody answered. Go on with your best judgement, and say what you assumed."
NO_SECRETS = "Secrets cannot be asked for in a chat. Go on without, or say what has to be set up."

Answer = Callable[[Verdict], JsonObject]


@dataclass(frozen=True, slots=True)
class Ask:
    """A request of Codex's: what people are asked, and its answer for their verdict."""

    request: EngineRequest
    answer: Answer


def decision(verdict: Verdict) -> JsonObject:
    """The answer to a request for leave: a declined command is told to the model, which goes on."""
    words = {"once": "accept", "session": "acceptForSession"}
    return {"decision": words.get(verdict.choice, "decline")}


def of_command(request_id: str, params: object) -> Ask:
    """A command that is to run outside of the sandbox, or a host that is to be reached."""
    command = bare(text_of(params, "command"))
    folder, reason = text_of(params, "cwd"), text_of(params, "reason")
    host = text_of(params, "networkApprovalContext", "host")
    whole = command if "\n" in command.strip() else ""
    if text_of(params, "kind") == "writeStdin":  # what it types into a program that runs
        request = EngineRequest(
            request_id, tool="write_stdin", about=first_line(command), detail=details(reason, whole)
        )
    elif host:
        request = EngineRequest(
            request_id, tool="network", about=first_line(host), detail=details(reason, command),
            scope=f"network:{host}", scope_label=f"connections to {host}",
        )  # fmt: skip
    else:
        where = f"in {folder}" if folder else ""
        request = EngineRequest(
            request_id, tool="command_execution", about=first_line(command),
            detail=details(reason, whole, where),
            scope=f"command:{digest(folder, command)}",
            scope_label=f"exactly this command: {first_line(command)}",
            same=digest(folder, command),
        )  # fmt: skip
    return Ask(request, decision)


def of_files(request_id: str, params: object, changes: list[JsonObject], cwd: str) -> Ask:
    """Files that are to be changed; ``changes`` are those of the item that the request names."""
    paths = [text_of(change, "path") for change in changes]
    moved = [to for change in changes if (to := text_of(change, "kind", "move_path"))]
    folder = one_folder([*paths, *moved], cwd)
    diffs = [f"{change_line(change)}\n{text_of(change, 'diff')}" for change in changes]
    request = EngineRequest(
        request_id, tool="file_change", about=", ".join(paths) or "files that it does not name",
        detail=details(text_of(params, "reason"), *diffs),
        scope=f"files:{folder}" if folder else "",
        scope_label=f"changes to files in {folder} (not in folders below it)" if folder else "",
        same=digest(*diffs),
    )  # fmt: skip
    return Ask(request, decision)


def change_line(change: object) -> str:
    """``add /w/a.txt``; with where to, for a file that is moved."""
    to = text_of(change, "kind", "move_path")
    what = text_of(change, "kind", "type") or "change"
    return f"{what} {text_of(change, 'path')}" + (f" -> {to}" if to else "")


def one_folder(paths: list[str], cwd: str) -> str:
    """The folder of the project that all ``paths`` lie in directly; "" where there is no such.

    What begins with a dot below ``cwd`` (.git, .codex, .env) is asked for each time: it says what
    is run. Folders below are not meant: one may be a link that leads out of the project.
    """
    folders = {path.rpartition("/")[0] for path in paths}
    if len(folders) != 1 or not cwd.startswith("/"):
        return ""
    (folder,) = folders
    home = cwd.rstrip("/")
    if folder != home and not folder.startswith(f"{home}/"):
        return ""
    below = [piece for path in paths for piece in path[len(home) :].split("/")]
    return "" if any(piece.startswith(".") for piece in below) else folder


def of_mcp(request_id: str, params: object) -> Ask | None:
    """A tool of an MCP server that is to be called; ``None`` where the server itself asks."""
    if text_of(params, "_meta", "codex_approval_kind") != "mcp_tool_call":
        return None
    server, tool = text_of(params, "serverName"), text_of(params, "_meta", "tool_name")
    given = get(params, "_meta", "tool_params")
    lasts = get(params, "_meta", "persist")
    for_session = isinstance(lasts, list) and "session" in lasts

    def answer(verdict: Verdict) -> JsonObject:
        if verdict.choice not in ("once", "session"):
            return NO_ELICITATION
        kept = verdict.choice == "session" and for_session
        return {"action": "accept", "content": None, "_meta": KEPT if kept else None}

    request = EngineRequest(
        request_id, tool="mcp_tool_call", about=f"{server} {tool}",
        detail=details(text_of(params, "message"), json.dumps(given, ensure_ascii=False, indent=1)),
        scope=f"mcp:{server}:{tool}",
        scope_label=f"the tool {tool} of the MCP server {server}, whatever it is given",
    )  # fmt: skip
    return Ask(request, answer)


NO_ELICITATION: JsonObject = {"action": "decline", "content": None, "_meta": None}
KEPT: JsonObject = {"persist": "session"}


def of_wider_permissions(request_id: str, params: object) -> Ask:
    """More than the sandbox allows, for the rest of the turn."""
    wanted = get(params, "permissions")
    told = cast("JsonObject", wanted) if isinstance(wanted, dict) else {}
    held = {name: value for name, value in told.items() if value is not None}

    def answer(verdict: Verdict) -> JsonObject:
        given = held if verdict.choice in ("once", "session") else {}
        return {"permissions": given, "scope": "turn"}

    request = EngineRequest(
        request_id, tool="request_permissions", about="wider permissions for the rest of this run",
        detail=details(text_of(params, "reason"), json.dumps(held, ensure_ascii=False, indent=1)),
    )  # fmt: skip
    return Ask(request, answer)


def of_questions(request_id: str, params: object) -> Ask | JsonObject:
    """The agent's own questions; or the answer at once, where nothing of it can be asked here."""
    asked = list_of(params, "questions")
    ids = [text_of(q, "id") for q in asked]
    secret = [get(q, "isSecret") is True for q in asked]
    if not any(text_of(q, "question").strip() for q in asked):  # nothing that could be answered
        return {"answers": {name: note(NOBODY) for name in ids}}
    open_ids = [name for name, hidden in zip(ids, secret, strict=True) if not hidden]
    closed: JsonObject = {
        name: note(NO_SECRETS) for name, hidden in zip(ids, secret, strict=True) if hidden
    }
    if not open_ids:
        return {"answers": closed}

    def answer(verdict: Verdict) -> JsonObject:
        if verdict.choice != "answer":
            unanswered = {name: note(verdict.note or NOBODY) for name in open_ids}
            return {"answers": {**closed, **unanswered}}
        picked = [*verdict.answers, *[()] * len(open_ids)]
        given = {
            name: {"answers": list(words)} if words else note(NOBODY)
            for name, words in zip(open_ids, picked, strict=False)
        }
        return {"answers": {**closed, **given}}

    questions = tuple(question(q) for q, hidden in zip(asked, secret, strict=True) if not hidden)
    request = EngineRequest(
        request_id, kind="question", tool="request_user_input", about=first_line(questions[0].text),
        questions=questions,
    )  # fmt: skip
    return Ask(request, answer)


def note(text: str) -> JsonObject:
    """An answer that is none of the options, in the form that Codex tells its model of."""
    return {"answers": [f"user_note: {text}"]}


def question(asked: object) -> AskedQuestion:
    """One question as people are asked it."""
    options = tuple(
        (text_of(option, "label"), text_of(option, "description"))
        for option in list_of(asked, "options")
        if text_of(option, "label")
    )
    return AskedQuestion(text_of(asked, "question"), text_of(asked, "header"), options)


# --- words --------------------------------------------------------------------------------


def digest(*parts: str) -> str:
    """A short key of a text of any length."""
    return sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def first_line(text: str) -> str:
    """The first line of ``text``; that there are more is said."""
    first, _, rest = text.strip().partition("\n")
    return f"{first} …" if rest else first


def details(*parts: str) -> str:
    """The parts that hold anything, one below the other."""
    return kept("\n\n".join(part.strip("\n") for part in parts if part.strip()))
