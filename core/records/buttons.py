"""Buttons as they are stored with a post: JSON, what a plain one does not have left out."""

from __future__ import annotations

import json
from collections.abc import Sequence

from core.model import Button, ButtonStyle


def dump_buttons(buttons: Sequence[Button]) -> str:
    """Buttons as they are stored."""
    return json.dumps([_stored(button) for button in buttons], ensure_ascii=False)


def _stored(button: Button) -> list[object]:
    plain: list[object] = [button.action, button.label, button.style]
    return [*plain, button.options, button.over] if button.options or button.over else plain


def load_buttons(stored: str) -> tuple[Button, ...]:
    """Stored buttons as values."""
    return tuple(_button(*fields) for fields in json.loads(stored))


def _button(
    action: str,
    label: str,
    style: ButtonStyle,
    options: Sequence[Sequence[str]] = (),
    over: bool = False,  # noqa: FBT001, FBT002 - as they stand in the row
) -> Button:
    pairs = tuple((value, shown) for value, shown in options)
    return Button(action, label, style, pairs, over)
