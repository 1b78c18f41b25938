"""Words about outcomes for people and for logs: short, useful, free of secrets."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from core.model import Outcome
from core.redact import redact

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def joined(context: str, prompt: str) -> str:
    """The context and the prompt as one text."""
    return f"{context}\n\n---\n\n{prompt}" if context else prompt


def joined_prompt(context: str, prompt: str) -> bytes:
    """What goes to the stdin of an engine that takes the context and the prompt as one text."""
    return joined(context, prompt).replace("\0", "").encode("utf-8", "replace")


def plain(text: str) -> str:
    """``text`` without colour codes and control characters (tabs and line breaks stay)."""
    return _CONTROL.sub("", _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def tail(text: str, max_chars: int = 400) -> str:
    """The end of ``text`` as one short, plain paragraph, whole lines where possible."""
    text = "\n".join(line.rstrip() for line in plain(text).strip().splitlines() if line.strip())
    if len(text) <= max_chars:
        return text
    cut = text[-max_chars:]
    _, newline, rest = cut.partition("\n")
    return "…" + (rest if newline and rest else cut)


_SAY = {
    "empty": "{engine} ended without any text.{detail} Ask again, or put the question differently.",
    "refused": (
        "{engine} declined to answer.{detail} Put the question differently, or ask another engine."
    ),
    "auth": (
        "{engine} is not signed in, or its key was refused.{detail} Sign {engine} in on the host, "
        "then try again."
    ),
    "quota": "{engine} has used up its quota{reset}.{detail} Ask another engine meanwhile.",
    "rate": "{engine} is being rate limited.{detail} Try again in a minute.",
    "overloaded": (
        "The model service behind {engine} is overloaded or cannot be reached.{detail} "
        "Try again later."
    ),
    "context-too-long": (
        "This was too long for {engine}'s model.{detail} Start a new thread, or lower [context] "
        "budget_chars."
    ),
    "session-lost": (
        "{engine} no longer knows its earlier session.{detail} Ask again: it then starts afresh."
    ),
    "bad-model": (
        "{engine} does not know the model it was asked for.{detail} Check [engines.{engine}] model."
    ),
    "bad-config": (
        "{engine} could not be started as it is set up.{detail} Check [engines.{engine}]; "
        "`moot engines check` shows what is the matter."
    ),
    "missing-binary": (
        "{engine} is not installed on the host, or its installation is incomplete.{detail} "
        "Install it, or set [engines.{engine}] path; `moot engines` shows what was found."
    ),
    "crashed": "{engine} failed before it finished.{detail} {hint}",
    "stalled": (
        "{engine} took too long and was stopped.{detail} Try again, or ask for less at once."
    ),
    "cancelled": "{engine} was stopped.{detail} Ask again when you want it to go on.",
    "answered": "{engine} answered.",
}


_FIXABLE = {
    # where the engine knows a fix of its own, it takes the place of the general one
    "auth": "{engine} is not signed in, or its key was refused.{detail} {fix}",
    "bad-model": "{engine} does not know the model it was asked for.{detail} {fix}",
    "bad-config": "{engine} could not be started as it is set up.{detail} {fix}",
    "missing-binary": "{engine} is not installed, or its installation is incomplete.{detail} {fix}",
    "overloaded": "The model service behind {engine} cannot be reached.{detail} {fix}",
    "quota": "{engine} has used up its quota{reset}.{detail} {fix}",
}

_TABLE = re.compile(r"\[engines\.[\w-]+\]")  # engines know their usual name only

# What helps against a failure that has no kind of its own, by what the engine says of it.
_HINTS = (
    (
        r"output (?:token )?(?:limit|maximum)|max_output_tokens|output limit|model's window",
        "Ask it to go on from there, or for less at once.",
    ),
    (
        r"limit of turns|max(?:imum)? (?:session )?turns|turn limit",
        'Write "go on" to let it continue, or give it a smaller task.',
    ),
    (r"\bloop\b|repeat(?:s|ed|ing) itself", "Put the question differently, or in smaller steps."),
    (r"killed|memory", "Look whether the host is short of memory, then try again."),
    (r"budget", "Raise its budget on the host, or give it a smaller task."),
)
_HINT = "Try again; if it fails like this again, `moot engines check` and the log say more."


def reset_words(at: float, told: str) -> str:
    """When a quota comes back, the same wherever it is said.

    In UTC, which everybody can read and which stays right, then as it was ``told``; what cannot be
    computed (``at`` is 0.0) only so.
    """
    if not at:
        return told
    known = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    as_told = told and not told.startswith(("in ", known))
    return f"{known} ({told})" if as_told else known


def explain(engine: str, outcome: Outcome) -> str:
    """One paragraph for people: what happened to a run, and what to do about it.

    ``outcome.detail`` is quoted in short, redacted once more.
    """
    if outcome.ours:
        return redact(outcome.fix)
    said = tail(redact(outcome.detail), 300).replace("\n", " ").strip()
    detail = said
    if detail:
        detail = f" {detail}" if outcome.kind == "empty" else f" Details: {detail.rstrip('.')}."
    back = reset_words(outcome.reset_s, outcome.reset_at)
    reset = f"; it comes back: {back}" if back else ""
    hints = (hint for shape, hint in _HINTS if re.search(shape, said, re.IGNORECASE))
    hint = next(hints, _HINT)
    fix = _TABLE.sub(f"[engines.{engine}]", outcome.fix)
    template = (_FIXABLE.get(outcome.kind) if outcome.fix else None) or _SAY[outcome.kind]
    text = template.format(engine=engine, detail=detail, reset=reset, fix=fix, hint=hint)
    return " ".join(text.split())
