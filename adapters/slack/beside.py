"""PURE: shortcuts on a message and the Home tab: payloads become events, a page becomes a view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.slack.events import (
    CHAT,
    Directory,
    Identity,
    key_of,
    person_author,
    pressed_in,
    to_said,
)
from adapters.slack.layout import note
from adapters.slack.manifest import SHORTCUTS
from adapters.slack.render import render
from core.model import ChatEvent, ConversationKey, Reply

Json = Mapping[str, Any]
PIECE_BYTES = 2_900  # fits a section block
MAX_BLOCKS = 100
COMMANDS = {callback: command for callback, (command, *_) in SHORTCUTS.items()}


def to_shortcut(body: Json, me: Identity, known: Directory, *, inside: bool) -> ChatEvent | None:
    """A shortcut that was used on a message; ``None`` for one that is not ours.

    ``inside``: Moot is in the channel of the message.
    """
    command = COMMANDS.get(str(body.get("callback_id") or ""))
    message, channel = body.get("message") or {}, str((body.get("channel") or {}).get("id") or "")
    ts = str(message.get("ts") or body.get("message_ts") or "")
    if command is None or not channel or not ts:
        return None
    thread = str(message.get("thread_ts") or "")
    user = body.get("user") or {}
    return ChatEvent(
        key=key_of(channel, ts, thread, me),
        event_id=f"{CHAT}:{me.team_id}:shortcut:{body.get('trigger_id')}",
        message_id=ts,
        author=person_author(str(user.get("id") or ""), known, team=user.get("team_id"), me=me),
        text="",
        kind="shortcut",
        sent_at=float(body.get("action_ts") or ts),
        command=command,
        mentions_us=True,
        direct=channel.startswith("D"),
        in_thread=bool(thread and thread != ts),
        target=to_said({**message, "ts": ts}, me, known),
        outside=not inside,
    )


def to_home(body: Json, me: Identity, known: Directory) -> ChatEvent | None:
    """Somebody opened the Home tab; ``None`` for any other event."""
    event = body.get("event") or {}
    if event.get("type") != "app_home_opened" or event.get("tab") != "home":
        return None
    user = str(event.get("user") or "")
    at = str(event.get("event_ts") or body.get("event_time") or "0")
    return _home(user, str(event.get("channel") or ""), f"home:{at}:{user}", "", at, me, known)


def to_home_button(body: Json, me: Identity, known: Directory) -> ChatEvent | None:
    """A button of the Home tab; ``None`` for a click elsewhere."""
    view, user = body.get("view") or {}, str((body.get("user") or {}).get("id") or "")
    action, pressed = pressed_in(body)
    if view.get("type") != "home" or not pressed:
        return None
    at = str(action.get("action_ts") or "0")
    channel = str(view.get("private_metadata") or "")
    ident = f"home:{body.get('trigger_id') or at}:{user}"
    return _home(user, channel, ident, pressed, at, me, known)


def _home(
    user: str, channel: str, ident: str, text: str, at: str, me: Identity, known: Directory
) -> ChatEvent:
    return ChatEvent(
        key=ConversationKey(CHAT, me.team_id, channel, ""),
        event_id=f"{CHAT}:{me.team_id}:{ident}",
        message_id="",
        author=person_author(user, known, team=None, me=me),
        text=text,
        kind="home",
        sent_at=float(at),
        direct=True,
    )


def home_view(reply: Reply, channel: str) -> dict[str, Any]:
    """The argument ``view`` of ``views.publish``; the channel comes back with its buttons."""
    made = note(render(reply.text, limit=PIECE_BYTES), reply.buttons)
    section = {"type": "section", "text": {"type": "mrkdwn", "text": made["text"][:3_000]}}
    blocks = made.get("blocks") or [section]
    return {"type": "home", "private_metadata": channel, "blocks": blocks[:MAX_BLOCKS]}
