"""Choosing a pack's mode, with the reason that goes on the receipt."""

from __future__ import annotations

from typing import get_args

from core.model import Mode, PackFacts, PackRequest

MODES: tuple[Mode, ...] = get_args(Mode)
LONG_CONVERSATION = 12


def choose_mode(request: PackRequest, facts: PackFacts) -> tuple[Mode, str]:
    """The mode and why: ``requested``, ``long-conversation``, ``has-plan`` or ``default``.

    An explicit mode that does not exist counts as none (``unknown_mode`` says so for the receipt).
    """
    if request.mode in MODES:
        return request.mode, "requested"
    if facts.message_count >= LONG_CONVERSATION:
        return "standard", "long-conversation"
    plan = facts.sources.get("plan")
    if plan is not None and any(plan.parts):
        return "standard", "has-plan"
    return "lite", "default"


def unknown_mode(request: PackRequest) -> str:
    """A note for the receipt when the mode asked for does not exist, else ""."""
    if not request.mode or request.mode in MODES:
        return ""
    return f"there is no such mode as was asked for; known are {', '.join(MODES)}"
