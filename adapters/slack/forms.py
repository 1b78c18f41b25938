"""PURE: a form as a Slack modal, and what was filled in when it comes back.

Text that was typed into a modal arrives as it was typed: unlike a message's it is not escaped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from adapters.slack.events import CHAT, Directory, Identity, person_author
from core.model import ChatEvent, ConversationKey, Field, Form, Reply
from core.tongue import say

Json = Mapping[str, Any]
CALLBACK = "moot_form"
ACTION = "value"
INPUT_MAX = 3_000


def to_view(form: Form, key: ConversationKey) -> dict[str, Any]:
    """The argument ``view`` of ``views.open``; where it was asked for travels with it."""
    place = {
        "command": form.command,
        "context": form.context,
        "channel": key.channel,
        "root": key.root,
    }
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": json.dumps(place),
        "title": _plain(form.title),
        "submit": _plain(form.submit),
        "close": _plain(say("Cancel")),
        "blocks": [_input(field) for field in form.fields],
    }


def _input(field: Field) -> dict[str, Any]:
    return {
        "type": "input",
        "block_id": field.name,
        "label": _plain(field.label),
        "optional": field.optional,
        "element": {"action_id": ACTION, **_element(field)},
        **({"hint": _plain(field.hint)} if field.hint else {}),
    }


def _element(field: Field) -> dict[str, Any]:
    if field.kind in ("line", "paragraph"):
        initial = {"initial_value": field.value[:INPUT_MAX]} if field.value else {}
        return {
            "type": "plain_text_input",
            "multiline": field.kind == "paragraph",
            "max_length": INPUT_MAX,
            **initial,
        }
    options = {value: {"text": _plain(label), "value": value} for value, label in field.options}
    chosen = [options[value] for value in field.value.split("\n") if value in options]
    if field.kind == "choice":
        first = {"initial_option": chosen[0]} if chosen else {}
        return {"type": "static_select", "options": list(options.values()), **first}
    several = {"initial_options": chosen} if chosen else {}
    return {
        "type": "multi_static_select",
        "options": list(options.values()),
        "max_selected_items": field.at_most,
        **several,
    }


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def place_of(view: Json) -> dict[str, str]:
    """Where a view of ours was opened; empty for any other."""
    if view.get("callback_id") != CALLBACK:
        return {}
    try:
        place = json.loads(str(view.get("private_metadata") or ""))
    except ValueError:
        return {}
    return {str(name): str(value) for name, value in place.items()}


def to_form(body: Json, me: Identity, known: Directory, now: float) -> ChatEvent | None:
    """A modal that was sent; ``None`` for one that is not ours.

    Its id is the view's: sent again after an error, or twice, it is the same event.
    """
    view, user = body.get("view") or {}, body.get("user") or {}
    place = place_of(view)
    if not place.get("channel"):
        return None
    channel, root = place["channel"], place.get("root", "")
    author = person_author(str(user.get("id") or ""), known, team=user.get("team_id"), me=me)
    return ChatEvent(
        key=ConversationKey(CHAT, me.team_id, channel, root),
        event_id=f"{CHAT}:{me.team_id}:form:{view.get('id')}",
        message_id="",
        author=author,
        text=place.get("context", ""),
        kind="form",
        sent_at=now,
        command=place.get("command", ""),
        mentions_us=True,
        direct=channel.startswith("D"),
        in_thread=bool(root),
        values=_values((view.get("state") or {}).get("values") or {}),
    )


def _values(state: Mapping[str, Mapping[str, Json]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for block, elements in state.items():
        element = elements.get(ACTION) or {}
        chosen = element.get("selected_options")
        if chosen is None:
            one = element.get("selected_option")
            chosen = [one] if one else []
        typed = element.get("value")
        found[block] = (str(typed),) if typed else tuple(str(o["value"]) for o in chosen)
    return found


def errors_of(reply: Reply, view: Json) -> dict[str, str]:
    """What the modal shows under its fields. Slack ignores one of a field that is not there."""
    shown = [str(block.get("block_id")) for block in view.get("blocks") or ()]
    errors: dict[str, str] = {}
    for name, why in reply.errors.items():
        at = name if name in shown or not shown else shown[0]
        errors[at] = f"{errors[at]} {why}" if at in errors else why
    return errors
