"""The grammar of ``!usage``. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bridge.options import listed
from core.errors import BadInput
from core.spending import BYS, SPANS, By, is_span
from core.tongue import say

WORDS = {"usage": "usage"}
Scope = Literal["own", "here", "all"]
FORM = "`!usage [today|week|month|7d|2026-11] [by engine] [here|all]`, `!usage budgets`"


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used: in which span ("" = this month), in which parts, by whom."""

    span: str = ""
    by: By = "engine"
    scope: Scope = "own"


@dataclass(frozen=True, slots=True)
class BudgetsShown:
    """How the budgets stand; ``scope`` all: everybody's."""

    scope: Scope = "own"


UsageIntention = Usage | BudgetsShown


def parse_usage(text: str, form: str = "") -> UsageIntention:
    """``week by person all``: each part optional, in any order; ``budgets``.

    ``form`` is how it is typed elsewhere than in a chat ("": as there).

    Raises:
        BadInput: a word that means nothing here; says what would work.
    """
    span, budgets = "", False
    by: By = "engine"
    scope: Scope = "own"
    words = text.lower().replace("--", " ").replace("—", " ").split()
    while words:
        match words.pop(0):
            case "by" if words:
                by = _by(words.pop(0))
            case "here" | "all" | "own" as word:
                scope = word
            case "budget" | "budgets":
                budgets = True
            case word if is_span(word):
                span = word
            case word:
                spans = ", ".join(SPANS)
                typed = "moot usage" if form else "`!usage`"
                raise BadInput(
                    say(
                        "{typed} knows no “{word}”: {form}. Spans: {spans}.",
                        typed=typed,
                        word=word[:40],
                        form=form or FORM,
                        spans=spans,
                    )
                )
    if budgets:
        return BudgetsShown(scope)
    return Usage(span, by, scope)


def _by(word: str) -> By:
    word = {"user": "person", "people": "person", "users": "person"}.get(word, word)
    for by in BYS:
        if by == word:
            return by
    raise BadInput(
        say("`by` is one of {listed}, not “{word}”.", listed=listed(BYS), word=word[:40])
    )
