"""How Codex is held to Moot's permission modes. PURE.

The user's own rules (``~/.codex/rules``: what was once answered with "don't ask again") let a
command out of a plain sandbox without a question, in every mode, for whoever asks. A profile of
permissions that denies the reading of anything at all keeps them inside.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.engines.codex.trust import quoted
from core.model import EngineTask, Permission
from core.streams import JsonObject, text_of

DENIED = "denied"  # an empty file in the run's own folder: what is not there would be made
_PROFILE = "held"
_EXTENDS: Mapping[Permission, str] = {
    "plan": ":read-only",
    "ask": ":read-only",  # what changes something is put to people, and runs outside of it
    "edit": ":workspace",
}
_POLICY: Mapping[Permission, JsonObject] = {  # the same for a version that knows no profiles
    "plan": {"type": "readOnly"},
    "ask": {"type": "readOnly"},
    "edit": {"type": "workspaceWrite"},
}


def profile(task: EngineTask) -> list[str]:
    """The settings that define the profile; none for a run that may do anything."""
    if task.permission not in _EXTENDS:
        return []
    denied = quoted(f"{task.scratch}/{DENIED}")
    writes = f', {quoted(task.out)}="write"' if task.out and task.permission == "edit" else ""
    return [
        f'default_permissions="{_PROFILE}"',
        f'permissions.{_PROFILE}.extends="{_EXTENDS[task.permission]}"',
        f'permissions.{_PROFILE}.filesystem={{{denied}="none"{writes}}}',
    ]


def opening(permission: Permission) -> JsonObject:
    """What a thread is opened with, a new one or one that is gone on with."""
    if permission not in _EXTENDS:
        return {"sandbox": "danger-full-access", "approvalPolicy": "never"}
    asks = "on-request" if permission == "ask" else "never"
    return {"permissions": _PROFILE, "approvalPolicy": asks}


def still_to_hold(task: EngineTask, opened: object) -> JsonObject:
    """What the turn is to be told beside its words, as the thread was opened: mostly nothing.

    An older Codex passes over the profile and takes the user's own sandbox, or that of the
    session's last turn.
    """
    permission = task.permission
    if permission not in _EXTENDS:
        return {}
    if text_of(opened, "activePermissionProfile", "id") == _PROFILE:
        return {}
    more = {"writableRoots": [task.out]} if task.out and permission == "edit" else {}
    return {
        "sandboxPolicy": {**_POLICY[permission], **more},
        "approvalPolicy": opening(permission)["approvalPolicy"],
    }
