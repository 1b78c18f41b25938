"""Words about outcomes for people and for logs: short, useful, free of secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.model import Outcome

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

# Shapes of credentials, wherever they stand.
_SECRETS = re.compile(
    r"\b(?:sk|pk|rk|xai|gsk|key)-[A-Za-z0-9_-]{12,}"
    r"|\bxox[a-z]-[A-Za-z0-9-]{8,}|\bxapp-[A-Za-z0-9-]{8,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_[A-Za-z0-9_]{16,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{16,}|\bAKIA[A-Z0-9]{16}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r"|(?<=://)[^\s/@:]+:[^\s/@]+(?=@)"
    r"|(?i:(?<=bearer )[A-Za-z0-9._~+/-]{12,}=*)"
    r"|(?i:(?<=token=)[^\s&\"']{8,}|(?<=api_key=)[^\s&\"']{8,}|(?<=password=)[^\s&\"']{4,})"
)
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API|ACCESS|PRIVATE)?KEYS?(?:$|_)|TOKEN|SECRET|PASSW|CREDENTIAL|(?:^|_)AUTH(?:$|_)",
    re.IGNORECASE,
)
MASK = "[redacted]"


def secret_values(environ: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The values of variables whose names look like credentials (8 characters and longer)."""
    return frozenset(
        value
        for name, value in environ
        if len(value) >= 8
        and _SECRET_NAME.search(name)
        and not value.startswith("/")
        and not value.isdigit()
    )


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` without the known secret values and without anything shaped like a credential."""
    for value in sorted(secrets, key=len, reverse=True):
        text = text.replace(value, MASK)
    return _SECRETS.sub(MASK, text)


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
    "refused": "{engine} declined to answer.{detail}",
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
    "session-lost": "{engine} no longer knows its earlier session.{detail} It has to start afresh.",
    "bad-model": (
        "{engine} does not know the model it was asked for.{detail} Check [engines.{engine}] model."
    ),
    "bad-config": "{engine} could not be started as it is set up.{detail}",
    "missing-binary": (
        "{engine} is not installed on the host, or its installation is incomplete.{detail} "
        "Install it, or set [engines.{engine}] path; `moot engines` shows what was found."
    ),
    "crashed": "{engine} failed before it finished.{detail}",
    "stalled": "{engine} took too long and was stopped.{detail} Try again.",
    "cancelled": "{engine} was stopped.",
    "answered": "{engine} answered.",
}


_FIXABLE = {
    # where the engine knows a fix of its own, it takes the place of the general one
    "auth": "{engine} is not signed in, or its key was refused.{detail} {fix}",
    "bad-model": "{engine} does not know the model it was asked for.{detail} {fix}",
    "bad-config": "{engine} could not be started as it is set up.{detail} {fix}",
    "missing-binary": "{engine} is not installed, or its installation is incomplete.{detail} {fix}",
    "overloaded": "The model service behind {engine} cannot be reached.{detail} {fix}",
}


def explain(engine: str, outcome: Outcome) -> str:
    """One paragraph for people: what happened to a run, and what to do about it.

    ``outcome.detail`` is quoted in short, redacted once more.
    """
    detail = redact(tail(outcome.detail, 300)).replace("\n", " ").strip()
    if detail:
        detail = f" {detail}" if outcome.kind == "empty" else f" Details: {detail.rstrip('.')}."
    reset = f"; it comes back: {outcome.reset_at}" if outcome.reset_at else ""
    template = (_FIXABLE.get(outcome.kind) if outcome.fix else None) or _SAY[outcome.kind]
    text = template.format(engine=engine, detail=detail, reset=reset, fix=outcome.fix)
    return " ".join(text.split())
