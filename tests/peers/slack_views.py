"""Modals of the loopback Slack: triggers, ``views.open`` and what a person sends with a view.

``local-slack`` knows views only through its web page, without limits and without the three seconds
in which a trigger must be used, so all of it is here.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from tests.peers.slack_delivery import Json

TEXT_LIMITS = {"title": 24, "submit": 24, "close": 24}
SELECTS = ("static_select", "multi_static_select")


class BadView(Exception):
    """``views.open`` answers ``ok: false`` with this error."""


@dataclass(eq=False)
class Modal:
    """An open modal as its person sees it. ``errors`` stand under its fields."""

    user: str
    view: Json
    errors: dict[str, str] = field(default_factory=dict)
    open: bool = True

    @property
    def title(self) -> str:
        return self.view["title"]["text"]

    @property
    def labels(self) -> dict[str, str]:
        return {block["block_id"]: block["label"]["text"] for block in self.view["blocks"]}

    @property
    def offered(self) -> dict[str, list[str]]:
        """The values that can be picked, by field."""
        return {
            block["block_id"]: [option["value"] for option in block["element"]["options"]]
            for block in self.view["blocks"]
            if block["element"]["type"] in SELECTS
        }

    @property
    def filled(self) -> dict[str, Any]:
        """What stands in the fields before anything is typed."""
        return {block["block_id"]: _initial(block["element"]) for block in self.view["blocks"]}


class Views:
    """Attributes: ``trigger_life_s``; ``modals``, all that were opened, oldest first; ``homes``,
    the Home tab of each person."""

    def __init__(self) -> None:
        self.trigger_life_s = 3.0
        self.modals: list[Modal] = []
        self.homes: dict[str, Json] = {}
        self._triggers: dict[str, tuple[float, str]] = {}
        self._used: set[str] = set()

    def note(self, payload: Json) -> None:
        """A command or a click brings a trigger."""
        user = payload.get("user_id") or (payload.get("user") or {}).get("id")
        if trigger := payload.get("trigger_id"):
            self._triggers[trigger] = (time.monotonic(), str(user))

    def opened(self, args: Json) -> Json:
        """Answer ``views.open``."""
        trigger, view = args.get("trigger_id"), args.get("view")
        if trigger in self._used:
            raise BadView("exchanged_trigger_id")
        if trigger not in self._triggers:
            raise BadView("invalid_trigger_id")
        at, user = self._triggers[trigger]
        if time.monotonic() - at > self.trigger_life_s:
            raise BadView("expired_trigger_id")
        if not isinstance(view, dict) or not _view_ok(view):
            raise BadView("invalid_arguments")
        self._used.add(trigger)
        made = {**view, "id": f"V{uuid.uuid4().hex[:10].upper()}", "state": {"values": {}}}
        self.modals.append(Modal(user, made))
        return {"ok": True, "view": made}

    def published(self, args: Json) -> Json:
        """Answer ``views.publish``."""
        user, view = args.get("user_id"), args.get("view")
        if not user or not isinstance(view, dict) or view.get("type") != "home":
            raise BadView("invalid_arguments")
        if not 0 < len(view.get("blocks") or []) <= 100:
            raise BadView("invalid_arguments")
        self.homes[user] = {**view, "id": f"V{uuid.uuid4().hex[:10].upper()}"}
        return {"ok": True, "view": self.homes[user]}

    def submission(self, modal: Modal, values: dict[str, Any], base: Json) -> Json:
        """The payload of a modal that is sent with ``values`` typed over what stood there."""
        assert modal.open, "that modal is closed"
        unknown = values.keys() - modal.labels.keys()
        assert not unknown, f"no such fields: {unknown}"
        state = {}
        for block in modal.view["blocks"]:
            name, element = block["block_id"], block["element"]
            value = values.get(name, _initial(element))
            assert value or block.get("optional"), f"{name} is required"
            state[name] = {element["action_id"]: _state(name, element, value)}
        return {
            "type": "view_submission",
            **base,
            "user": {"id": modal.user, "name": modal.user.lower(), "team_id": base["team"]["id"]},
            "trigger_id": uuid.uuid4().hex,
            "view": {**modal.view, "state": {"values": state}},
            "response_urls": [],
        }

    def settled(self, modal: Modal, answer: Any, *, acked: bool) -> None:
        """What the acknowledgement makes of the modal; without one it stays as it is."""
        if not acked:
            return
        if isinstance(answer, dict) and answer.get("response_action") == "errors":
            shown = answer["errors"]
            assert shown, "Slack wants at least one error"
            assert shown.keys() <= modal.labels.keys(), f"errors for no field: {shown}"
            modal.errors = shown
            return
        assert not answer, f"an acknowledgement that this Slack does not know: {answer}"
        modal.open, modal.errors = False, {}


def _initial(element: Json) -> Any:
    match element["type"]:
        case "plain_text_input":
            return element.get("initial_value", "")
        case "static_select":
            return (element.get("initial_option") or {}).get("value", "")
        case _:
            return [option["value"] for option in element.get("initial_options") or ()]


def _state(name: str, element: Json, value: Any) -> Json:
    kind = element["type"]
    if kind == "plain_text_input":
        assert len(value) <= element.get("max_length", 3_000), f"{name} is too long to type"
        return {"type": kind, "value": value or None}
    options = {option["value"]: option for option in element["options"]}
    picked = [value] if isinstance(value, str) and value else list(value)
    assert set(picked) <= options.keys(), f"{name} offers only {list(options)}"
    if kind == "static_select":
        return {"type": kind, "selected_option": options[picked[0]] if picked else None}
    assert len(picked) <= element.get("max_selected_items", 100), f"{name}: too many"
    return {"type": kind, "selected_options": [options[one] for one in picked]}


def _view_ok(view: Json) -> bool:
    blocks = view.get("blocks") or []
    ids = [block.get("block_id") for block in blocks]
    texts = all(
        0 < len(view[name]["text"]) <= limit and view[name]["type"] == "plain_text"
        for name, limit in TEXT_LIMITS.items()
        if name in view
    )
    return (
        view.get("type") == "modal"
        and "title" in view
        and "submit" in view  # needed where there are input blocks
        and texts
        and len(view.get("private_metadata", "")) <= 3_000
        and len(view.get("callback_id", "")) <= 255
        and 0 < len(blocks) <= 100
        and len(set(ids)) == len(ids)
        and all(_input_ok(block) for block in blocks)
    )


def _input_ok(block: Json) -> bool:
    element = block.get("element") or {}
    options = element.get("options") or []
    known = [option["value"] for option in options]
    first = element.get("initial_options") or [element.get("initial_option")]
    return (
        block.get("type") == "input"
        and 0 < len(block["label"]["text"]) <= 2_000
        and len(block.get("hint", {}).get("text", "")) <= 2_000
        and len(element.get("action_id", "")) <= 255
        and element.get("type") in ("plain_text_input", *SELECTS)
        and (element["type"] not in SELECTS or 0 < len(options) <= 100)
        and all(0 < len(o["text"]["text"]) <= 75 and 0 < len(o["value"]) <= 150 for o in options)
        and len(set(known)) == len(known)
        and all(option in options for option in first if option)
        and len(element.get("initial_value", "")) <= element.get("max_length", 3_000) <= 3_000
    )
