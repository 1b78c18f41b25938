"""What each act needs: one table for messages, commands, buttons, forms, shortcuts and the home.

What is not in the table nobody may do: whoever adds an act adds its line, and a test
(``tests/integration/test_every_door.py``) fails until there is one.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from bridge.asked_commands import Decide
from bridge.commands import Mode
from bridge.languages import Language
from bridge.recall_commands import MarkIt
from bridge.team_commands import Team

if TYPE_CHECKING:
    from bridge.commands import Intention


class Role(IntEnum):
    """What a person is in a place; each role includes those below it."""

    NOBODY = 0
    VIEWER = 1
    RUNNER = 2
    APPROVER = 3
    ADMIN = 4

    @property
    def called(self) -> str:
        """As settings and people say it."""
        return self.name.lower()


_VIEW, _RUN, _ADMIN = Role.VIEWER, Role.RUNNER, Role.ADMIN

NEEDS: dict[str, Role] = {
    # What is typed, in a thread or as a platform's command.
    **dict.fromkeys(("help", "status", "context", "permission", "mode", "usage", "budgets"), _VIEW),
    **dict.fromkeys(("recall", "requests", "plan", "plan show", "finding", "finding show"), _VIEW),
    **dict.fromkeys(("artifact", "artifact show", "decisions", "decisions show", "link"), _VIEW),
    **dict.fromkeys(("ask", "roundtable", "stop", "next", "mode set", "resume", "continue"), _RUN),
    **dict.fromkeys(("mark", "unmark", "forget", "link add", "unlink", "resend"), _RUN),
    **dict.fromkeys(("branch", "branch adopt", "branch discard"), _RUN),
    **dict.fromkeys(("plan new", "plan approve", "plan reject", "plan done", "plan start"), _RUN),
    **dict.fromkeys(("finding add", "finding close", "finding reopen", "artifact add"), _RUN),
    # An agent's question may be answered by whoever may ask one. Leave is given by approvers:
    # which of the two it is, stands in the request (``bridge.asked``).
    **dict.fromkeys(("allow", "deny", "answer"), _RUN),
    "revoke": Role.APPROVER,
    "language": _VIEW,
    "language set": _ADMIN,
    "audit": _ADMIN,
    # Buttons and menus, by the word before the colon.
    **dict.fromkeys(("button recall", "button more"), _VIEW),
    **dict.fromkeys(("button stop", "button retry", "button anyway", "button other"), _RUN),
    **dict.fromkeys(("button go", "button next", "button form", "button req"), _RUN),
    **dict.fromkeys(("button resume", "button continue", "button pick"), _RUN),
    **dict.fromkeys(("button mark", "button forget", "button resend"), _RUN),
    **dict.fromkeys(("button onward", "button branch", "button also"), _RUN),
    **dict.fromkeys(("button context", "button home"), _VIEW),
    "button audit": _ADMIN,
    # Forms, by their name.
    **dict.fromkeys(("form roundtable", "form answer", "form about"), _RUN),
    # Shortcuts on a message, and a person's home.
    **dict.fromkeys(("shortcut ask", "shortcut branch"), _RUN),
    "home": _VIEW,
}


def short(verb: str) -> str:
    """``stop`` for the button as for the word: how it was said stands beside it."""
    for before in ("button ", "form ", "shortcut "):
        if verb.startswith(before):
            return verb.removeprefix(before)
    return verb


ALL_VERBS = frozenset(map(short, NEEDS)) | {"edit", "allow session", "message"}
"""What lines of the audit log may be called."""

SETTINGS = frozenset(("language set",))
"""What is set for a whole channel: by approvers where nobody is named as an admin."""

ONLY_VIEWS = frozenset(verb for verb, role in NEEDS.items() if role is Role.VIEWER)
"""Acts that change nothing: they are not in the audit log."""


def verb_of(intention: Intention) -> str:
    """What is meant, as the table and the audit log name it."""
    match intention:
        case Team(topic="link") if intention.number or intention.link:
            return "link add"
        case Team():
            return f"{intention.topic} {intention.verb}".strip()
        case Decide():
            return "allow" if intention.choice in ("once", "session") else intention.choice
        case MarkIt():
            return "mark" if intention.kind else "unmark"
        case Mode():
            return "mode" if intention.mode is None else "mode set"
        case Language():
            return "language" if intention.language is None else "language set"
        case _:
            named = type(intention).__name__
            return _NAMED.get(named, named.lower())


# Of most others the type says it.
_NAMED = {
    "Convene": "roundtable",
    "RightsShown": "permission",
    "BudgetsShown": "budgets",
}


def pressed(action: str) -> str:
    """What a button or menu does, by its action (``stop:12``)."""
    return f"button {action.partition(':')[0]}"


def needed(verb: str) -> Role | None:
    """The least role that may do this; ``None``: nobody, for the table does not name it."""
    return NEEDS.get(verb)
