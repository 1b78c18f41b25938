"""Options as they are typed: ``--name value`` at both ends of a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from core.errors import BadInput
from core.model import ORDERS, PERMISSIONS, Permission
from core.tongue import say

OPTIONS = (
    *("engine", "as", "model", "mode", "budget", "with", "rounds", "preset", "synth"),
    *("early-stop", "permission"),
)
# What people may try instead of an option's name (some are the names of Discord's fields).
OTHER_NAMES = {
    "persona": "as",
    "agent": "engine",
    "participants": "with",
    "order": "mode",
    "synthesis": "synth",
    "synthesizer": "synth",
}
MODES = ("lite", "standard", "full")
MIN_BUDGET_CHARS = 4_000
# How alike a word must be to be taken for a typing error: "stpo" and "stop" just are.
ALIKE = 0.75

# A model's name goes into an engine's arguments, where "--yolo" would be an option.
_MODEL = re.compile(r"[^\W_][\w./:@+\[\]-]{0,199}")
_MAX_OPTIONS = 20  # so that a text made of options costs little

_BUDGET = re.compile(r"([0-9]{1,9})(k?)", re.IGNORECASE)
# Phones turn two hyphens into a dash.
# Participants may be written with spaces around the commas.
_OPTION = (
    rf"(?:--|—|–)(?P<name>{'|'.join(OPTIONS)})(?:\s+|=)"
    r"(?P<value>\"[^\"]*\"|(?:(?<=with.)\S+(?:(?:(?<=,)\s+|\s+(?=,))\S+)+|\S+))"
)
_LEADING = re.compile(rf"\s*{_OPTION}(?=\s|$)")
_TRAILING = re.compile(rf"(?:^|\s){_OPTION}\s*$")
_UNKNOWN = re.compile(
    r"\s*(?:--|—|–)([a-z][\w-]*)(?=[\s=]|$)|(?:^|.*\s)(?:--|—|–)([a-z][\w-]*)(?:(?:\s+|=)\S+)?\s*$",
    re.DOTALL,
)


def take_options(text: str) -> tuple[str, dict[str, str]]:
    """Take known options from both ends of ``text``; what stands inside is the person's own.

    ``--mode`` says two things with different words: ``order`` stands for how a roundtable goes.
    """
    found: dict[str, str] = {}
    for _ in range(_MAX_OPTIONS):
        match = _LEADING.match(text)
        if match is None:
            break
        _note(found, match)
        text = text[match.end() :]
    for _ in range(_MAX_OPTIONS):
        match = _TRAILING.search(text)
        if match is None:
            break
        _note(found, match)
        text = text[: match.start()]
    _refuse_misspelt(text)
    return text.strip(), found


def _note(found: dict[str, str], match: re.Match[str]) -> None:
    name, value = match["name"], match["value"].strip('"')
    if name == "mode":
        value = value.lower()
        if value in ORDERS:
            name = "order"
        elif value not in MODES:
            raise BadInput(
                say(
                    "`--mode` is one of {listed}; for a roundtable also {listed2}; not “{value}”.",
                    listed=listed(MODES),
                    listed2=listed(ORDERS),
                    value=value[:40],
                )
            )
    found.setdefault(name, value)


def _refuse_misspelt(text: str) -> None:
    match = _UNKNOWN.match(text)
    name = (match[1] or match[2]) if match else ""
    alike = get_close_matches(name, OPTIONS, 1, ALIKE)
    meant = OTHER_NAMES.get(name) or (alike[0] if alike else "")
    if meant:
        fault = say(
            "There is no option `--{name}`; did you mean `--{meant}`?", name=name, meant=meant
        )
        if name == meant:
            fault = say("`--{name}` needs a value.", name=name)
        raise BadInput(
            say("{fault} If it belongs to the question, put it between backticks.", fault=fault)
        )


def model_name(name: str) -> str:
    """``name``, if it can be one.

    Raises:
        BadInput: it cannot.
    """
    if name and not _MODEL.fullmatch(name):
        raise BadInput(say("“{name}” is no name of a model.", name=name[:40]))
    return name


def parse_budget(typed: str) -> int:
    """Characters from ``60000``, ``60,000`` or ``60k``; 0 for nothing said.

    Raises:
        BadInput: no number, or too small a one.
    """
    if not typed:
        return 0
    match = _BUDGET.fullmatch(re.sub(r"[,_\s']", "", typed))
    chars = int(match[1]) * (1_000 if match[2] else 1) if match else 0
    if chars < MIN_BUDGET_CHARS:
        raise BadInput(
            say(
                "A budget is a number of characters, at least {min_budget_chars:,} (`--budget "
                "40k`), not “{typed}”.",
                min_budget_chars=MIN_BUDGET_CHARS,
                typed=typed[:40],
            )
        )
    return chars


def parse_permission(value: str) -> Permission | None:
    """``plan``, ``ask``, ``edit`` or ``full``; ``None`` for nothing said.

    Raises:
        BadInput: something else.
    """
    if not value:
        return None
    if value.lower() not in PERMISSIONS:
        raise BadInput(
            say(
                "`--permission` is one of {all}, not “{value}”. It can only lower what is "
                "allowed here.",
                all=", ".join(PERMISSIONS),
                value=value[:40],
            )
        )
    return PERMISSIONS[PERMISSIONS.index(value.lower())]


def parse_switch(option: str, value: str) -> bool | None:
    """``on`` or ``off``; ``None`` for nothing said.

    Raises:
        BadInput: something else.
    """
    if value and value.lower() not in ("on", "off"):
        raise BadInput(
            say("`--{option}` is on or off, not “{value}”.", option=option, value=value[:40])
        )
    return value.lower() == "on" if value else None


def listed(names: Iterable[str]) -> str:
    """Names for a message: ``a, b, c``."""
    return ", ".join(sorted(names)) or "none"
