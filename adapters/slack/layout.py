"""PURE: what a post looks like to Slack's Web API: text, buttons, the nonce in its metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.slack.tables import SECTION_MAX, Parted, parted, sections, shown
from adapters.slack.text import Names, plain
from core.model import Button, Post

METADATA_TYPE = "moot_post"
LABEL_MAX = 75
BUTTONS_MAX = 25
OPTIONS_MAX = 100
VALUE_MAX = 150  # of an option; a button's may have 2,000
UPDATE_MAX_BYTES = 4_000

Json = Mapping[str, Any]


def body(text: str, buttons: Sequence[Button]) -> dict[str, Any]:
    """Text with buttons and a table block, nothing of the text cut.

    With blocks Slack shows the blocks and uses ``text`` for notifications only. A text that does
    not fit one section stays the message's text, and the buttons hang below it in an attachment.
    """
    buttons = pressable(buttons)
    around = parted(text)
    text = shown(text)
    if around is not None and (blocks := _with_table(around)):
        return {"text": text, "blocks": [*blocks, *actions(buttons)]}
    if not buttons:
        return {"text": text}
    if 0 < len(text) <= SECTION_MAX:
        return {"text": text, "blocks": [_section(text), *actions(buttons)]}
    attachment = {"fallback": "buttons", "blocks": actions(buttons)}
    return {"text": text, "attachments": [attachment]}


def note(pieces: Sequence[str], buttons: Sequence[Button]) -> dict[str, Any]:
    """A private note from rendered pieces: each its own section when there are buttons."""
    pieces = [shown(piece) for piece in pieces] or ["Done."]
    text = "\n".join(pieces)
    buttons = pressable(buttons)
    if not buttons:
        return {"text": text}
    parts = [part for piece in pieces for part in sections(piece) or (piece,)]
    return {"text": text, "blocks": [*map(_section, parts), *actions(buttons)]}


def _with_table(around: Parted) -> list[dict[str, Any]]:
    """The blocks of a message with a table; none if its text does not fit sections."""
    before, after = sections(around.before), sections(around.after)
    if before is None or after is None:
        return []
    return [*map(_section, before), around.table, *map(_section, after)]


def _section(text: str) -> dict[str, Any]:
    return {
        "type": "section",
        "text": {"type": "mrkdwn", "text": text, "verbatim": True},
        "expand": True,  # or the client folds it behind "see more"
    }


def actions(buttons: Sequence[Button]) -> list[dict[str, Any]]:
    """Rows of buttons, as many rows as needed."""
    rows = [buttons[i : i + BUTTONS_MAX] for i in range(0, len(buttons), BUTTONS_MAX)]
    return [
        {"type": "actions", "elements": [_button(b, f"moot_{r}_{i}") for i, b in enumerate(row)]}
        for r, row in enumerate(rows)
    ]


def pressable(buttons: Sequence[Button]) -> list[Button]:
    """Without those that are over: Slack has no buttons that cannot be pressed."""
    return [button for button in buttons if not button.over]


def _button(button: Button, action_id: str) -> dict[str, Any]:
    if button.options:
        return _menu(button, action_id)
    made = {
        "type": "button",
        "action_id": action_id,
        "value": button.action,
        "text": _label(button.label),
    }
    return made if button.style == "plain" else {**made, "style": button.style}


def _menu(button: Button, action_id: str) -> dict[str, Any]:
    """What is chosen comes back as the option's value: the whole action."""
    chosen = [(f"{button.action}:{value}", shown) for value, shown in button.options]
    options = [
        {"text": _label(shown), "value": action}
        for action, shown in chosen[:OPTIONS_MAX]
        if len(action) <= VALUE_MAX
    ]
    return {
        "type": "static_select",
        "action_id": action_id,
        "placeholder": _label(button.label),
        "options": options,
    }


def _label(text: str) -> dict[str, Any]:
    short = text if len(text) <= LABEL_MAX else text[: LABEL_MAX - 1] + "…"
    return {"type": "plain_text", "text": short, "emoji": True}


def new_message(post: Post) -> dict[str, Any]:
    """The arguments of ``chat.postMessage`` without the address."""
    return {
        **body(post.text, post.buttons),
        "metadata": {"event_type": METADATA_TYPE, "event_payload": {"nonce": post.nonce}},
        "unfurl_links": False,
        "unfurl_media": False,
    }


def changed_message(post: Post) -> dict[str, Any]:
    """The arguments of ``chat.update``: what was there before and is not now, goes."""
    return {"blocks": [], "attachments": [], **body(post.text, post.buttons)}


def plainer(args: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The same message for when Slack refuses its blocks: without a table, and as plain text.

    A table that is refused does not take the buttons along; nothing of the text is left out.
    """
    blocks = args.get("blocks") or ()
    pressed = [block for block in blocks if block["type"] == "actions"]
    text = {k: v for k, v in args.items() if k not in ("blocks", "attachments")}
    if not pressed or all(block["type"] != "table" for block in blocks):
        return [text]
    # An empty list takes away the blocks that an edited message had.
    none: dict[str, Any] = {"blocks": []} if "attachments" in args else {}
    attachment = {"fallback": "buttons", "blocks": pressed}
    return [{**text, **none, "attachments": [attachment]}, text]


def is_this(message: Json, post: Post, *, own: bool, newer: bool) -> bool:
    """Whether a message found on Slack is ``post``.

    Its nonce says so; where a message shows no metadata of ours, the same text does, if it is our
    own, ``newer`` than the first attempt and not known to be another post.
    """
    metadata = message.get("metadata") or {}
    if metadata.get("event_type") == METADATA_TYPE:
        return bool((metadata.get("event_payload") or {}).get("nonce") == post.nonce) and own
    if not (own and newer) or message.get("ts") in post.known_ids:
        return False
    return _comparable(str(message.get("text") or "")) == _comparable(shown(post.text))


def _comparable(text: str) -> str:
    """Slack re-writes what it stores (links, blanks); compare what a reader sees."""
    return " ".join(plain(text, "", Names()).split())
