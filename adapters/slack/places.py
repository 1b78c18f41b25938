"""PURE: whether everybody in the workspace may read a channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.slack.events import CHAT, Directory, Identity, ours
from core.model import Author, ChatEvent, ConversationKey

Json = Mapping[str, Any]
# What Slack writes into a channel that was converted.
CONVERSIONS = {"channel_convert_to_private": False, "channel_convert_to_public": None}
# What it writes there when posts are taken again; a join counts where it is our own.
REOPENED = frozenset(("channel_unarchive", "group_unarchive", "channel_join", "group_join"))
SHARED = ("is_shared", "is_ext_shared", "is_pending_ext_shared", "is_org_shared")
CLOSED = ("is_private", "is_group", "is_im", "is_mpim")


def is_public(channel: Json) -> bool:
    """A ``conversations.info`` answer: open to every member, and to nobody of another workspace."""
    return not is_shared(channel) and not any(channel.get(flag) for flag in CLOSED)


def is_shared(channel: Json) -> bool:
    """A ``conversations.info`` answer: people of another workspace are, or are to be, in it."""
    return any(channel.get(flag) for flag in SHARED)


def shared_of(body: Json, channel: str, known: Directory) -> bool | None:
    """Whether a delivery or a recent look-up tells of other workspaces; ``None``: neither does."""
    if body.get("is_ext_shared_channel"):
        return True
    told = known.shared.get(channel)
    # What an event does not call shared with another company may be so with a part of one's own.
    return told if told is not None else False if "is_ext_shared_channel" in body else None


def public_of(body: Json, channel: str, known: Directory) -> bool | None:
    """What a delivery and a recent look-up tell of its channel; ``None``: nothing."""
    if not channel or channel.startswith("D"):
        return False
    kind = str((body.get("event") or {}).get("channel_type") or "")
    if body.get("is_ext_shared_channel") or kind not in ("", "channel"):
        return False
    told = known.public.get(channel)
    return told if told is not None else True if kind == "channel" else None


def to_conversion(body: Json, me: Identity, now: float) -> ChatEvent | None:
    """A channel was converted, or takes posts (again).

    That it is public now is believed when a look-up says so.
    """
    event = body.get("event") or {}
    subtype, channel = event.get("subtype"), str(event.get("channel") or "")
    opened = subtype in REOPENED and ("join" not in str(subtype) or ours(event, me))
    converted = subtype in CONVERSIONS
    if event.get("type") != "message" or not (converted or opened) or not channel:
        return None
    what = f"{event.get('ts')}:{subtype}"
    return channel_event(channel, what, me, now, public=CONVERSIONS.get(str(subtype)))


def channel_event(
    channel: str, what: str, me: Identity, now: float, *, public: bool | None
) -> ChatEvent:
    """That something was told of a channel itself."""
    return ChatEvent(
        key=ConversationKey(CHAT, me.team_id, channel, ""),
        event_id=f"{CHAT}:{me.team_id}:{channel}:{what}",
        message_id="",
        author=Author("", "somebody", "bot", trusted=False),
        text="",
        kind="channel",
        sent_at=now,
        public=public,
    )


def permalink(workspace_url: str, key: ConversationKey, message_id: str = "") -> str:
    """The address of a thread's first message, or of another message in it."""
    if not workspace_url:
        return ""
    channel = f"{workspace_url.rstrip('/')}/archives/{key.channel}"
    ts = message_id or key.root
    if not ts:
        return channel
    inside = f"?thread_ts={key.root}&cid={key.channel}" if key.root and ts != key.root else ""
    return f"{channel}/p{ts.replace('.', '')}{inside}"
