"""What a person fills into a modal, and what Discord sends of it: by simcord's own rules."""

from __future__ import annotations

from typing import Any

from simcord import _modal

TEXT, SELECT = 4, 3


def filled(modal: dict[str, Any]) -> dict[str, Any]:
    """What stands in the fields at first: a text, or the values that are picked."""
    return {control["custom_id"]: _first(control) for control in _modal._modal_controls(modal)}


def submission(modal: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """The ``data`` of a MODAL_SUBMIT interaction; refuses what the client would not let through."""
    unknown = values.keys() - filled(modal).keys()
    assert not unknown, f"no such fields: {unknown}"
    typed = {name: value for name, value in (filled(modal) | values).items() if value}
    nodes = _modal._modal_submit_nodes(modal["components"], None, typed, {}, 0, [])
    return {"custom_id": modal["custom_id"], "components": nodes}


def _first(control: dict[str, Any]) -> Any:
    if control["type"] == TEXT:
        return control.get("value") or ""
    return [option["value"] for option in control["options"] if option.get("default")]
