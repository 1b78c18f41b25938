"""Scenes for tests of what may be found from a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.model import Conversation, Project, Scene, Turn
from core.records import messages, queue


def scene_of(conversation: Conversation | int, **values: Any) -> Scene:
    """A question asked in ``conversation`` (or the one with that id) by a member."""
    here = conversation
    if isinstance(here, int):
        here = messages.get_conversation(here)
    given: dict[str, Any] = {
        "project": Project("p", "/"),
        "prompt": "",
        "turn_id": 1_000,
        "prompt_message_id": 0,
        "asker_trusted": True,
    }
    return Scene(conversation=here, **(given | values))


def claim_oldest(excluded: Sequence[int] = (), now: float = 1.0) -> Turn | None:
    """Take the oldest turn that may begin, as the worker does with one free slot."""
    found = (queue.claim(head, now) for head in queue.heads(excluded))
    return next((turn for turn in found if turn is not None), None)
