"""Words about outcomes for people and for logs: short, useful, free of secrets."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from core.model import Outcome
from core.redact import redact
from core.tongue import say, to_say
from core.words import moment

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
    "empty": to_say(
        "{engine} ended without any text.{detail} Ask again, or put the question differently."
    ),
    "refused": to_say(
        "{engine} declined to answer.{detail} Put the question differently, or ask another engine."
    ),
    "auth": to_say(
        "{engine} is not signed in, or its key was refused.{detail} Sign {engine} in on the host, "
        "then try again."
    ),
    "quota": to_say("{engine} has used up its quota{reset}.{detail} Ask another engine meanwhile."),
    "rate": to_say("{engine} is being rate limited.{detail} Try again in a minute."),
    "overloaded": to_say(
        "The model service behind {engine} is overloaded or cannot be reached.{detail} "
        "Try again later."
    ),
    "context-too-long": to_say(
        "This was too long for {engine}'s model.{detail} Start a new thread, or lower [context] "
        "budget_chars."
    ),
    "session-lost": to_say(
        "{engine} no longer knows its earlier session.{detail} Ask again: it then starts afresh."
    ),
    "bad-model": to_say(
        "{engine} does not know the model it was asked for.{detail} Check [engines.{engine}] model."
    ),
    "bad-config": to_say(
        "{engine} could not be started as it is set up.{detail} Check [engines.{engine}]; "
        "`moot engines check` shows what is the matter."
    ),
    "missing-binary": to_say(
        "{engine} is not installed on the host, or its installation is incomplete.{detail} "
        "Install it, or set [engines.{engine}] path; `moot engines` shows what was found."
    ),
    "crashed": to_say("{engine} failed before it finished.{detail} {hint}"),
    "stalled": to_say(
        "{engine} took too long and was stopped.{detail} Try again, or ask for less at once."
    ),
    "cancelled": to_say("{engine} was stopped.{detail} Ask again when you want it to go on."),
    "answered": to_say("{engine} answered."),
}


_FIXABLE = {
    # where the engine knows a fix of its own, it takes the place of the general one
    "auth": to_say("{engine} is not signed in, or its key was refused.{detail} {fix}"),
    "bad-model": to_say("{engine} does not know the model it was asked for.{detail} {fix}"),
    "bad-config": to_say("{engine} could not be started as it is set up.{detail} {fix}"),
    "missing-binary": to_say(
        "{engine} is not installed, or its installation is incomplete.{detail} {fix}"
    ),
    "overloaded": to_say("The model service behind {engine} cannot be reached.{detail} {fix}"),
    "quota": to_say("{engine} has used up its quota{reset}.{detail} {fix}"),
}

_AS_TOLD = "%Y-%m-%d %H:%M UTC"
_TABLE = re.compile(r"\[engines\.[\w-]+\]")  # engines know their usual name only

# What helps against a failure that has no kind of its own, by what the engine says of it.
_HINTS = (
    (
        r"output (?:token )?(?:limit|maximum)|max_output_tokens|output limit|model's window",
        to_say("Ask it to go on from there, or for less at once."),
    ),
    (
        r"limit of turns|max(?:imum)? (?:session )?turns|turn limit",
        to_say('Write "go on" to let it continue, or give it a smaller task.'),
    ),
    (
        r"\bloop\b|repeat(?:s|ed|ing) itself",
        to_say("Put the question differently, or in smaller steps."),
    ),
    (r"killed|memory", to_say("Look whether the host is short of memory, then try again.")),
    (r"budget", to_say("Raise its budget on the host, or give it a smaller task.")),
)
_HINT = to_say("Try again; if it fails like this again, `moot engines check` and the log say more.")


def reset_words(at: float, told: str) -> str:
    """When a quota comes back, the same wherever it is said. Markdown.

    As each reader's own time (``core.words.moment``), then as it was ``told``; what cannot be
    computed (``at`` is 0.0) only so.
    """
    if not at:
        return told
    known = moment(at)
    as_told = told and not told.startswith(("in ", f"{datetime.fromtimestamp(at, UTC):{_AS_TOLD}}"))
    return f"{known} ({told})" if as_told else known


def explain(engine: str, outcome: Outcome) -> str:
    """One paragraph for people: what happened to a run, and what to do about it.

    ``outcome.detail`` is quoted in short, redacted once more.
    """
    if outcome.ours:
        return redact(outcome.fix)
    said = tail(redact(outcome.detail), 300).replace("\n", " ").strip()
    detail = said
    if detail and outcome.kind == "empty":
        detail = f" {detail}"
    elif detail:
        detail = say(" Details: {detail}.", detail=detail.rstrip("."))
    back = reset_words(outcome.reset_s, outcome.reset_at)
    reset = say("; it comes back: {back}", back=back) if back else ""
    hints = (hint for shape, hint in _HINTS if re.search(shape, said, re.IGNORECASE))
    hint = say(next(hints, _HINT))
    # Engines mark theirs with ``to_say``; one that names something is said already.
    fix = outcome.fix if "{" in outcome.fix else say(outcome.fix)
    fix = _TABLE.sub(f"[engines.{engine}]", fix)
    template = (_FIXABLE.get(outcome.kind) if outcome.fix else None) or _SAY[outcome.kind]
    text = say(template, engine=engine, detail=detail, reset=reset, fix=fix, hint=hint)
    return " ".join(text.split())
