"""Whose words a question may draw from: what its asker and its whole channel may see.

The one rule for retrieval, every kind of Pull and whatever is derived from messages; resolved from
rows at that moment, so a channel that has just become private is private for the next question:

- a conversation draws from all conversations of its own channel (or direct message), but from a
  private thread (``apart``) only inside that thread;
- a channel draws also from *public* channels of the same chat and space that belong to the same
  project, if the asker is trusted (a member, not a guest) and the channel is not shared with other
  spaces: everybody in the channel could open those as well;
- nothing of a private channel, a direct message or a private thread ever reaches another place;
- the settings can narrow it (``Scene.recall``): to the channel, or to the conversation alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import or_
from typing import Any, NamedTuple

from peewee import Expression

from core.model import Scene
from core.records.prepared import Prepared, each
from core.records.tables import ConversationRow

NOT = "!"
"""Before a channel in ``Scene.project_channels``: another project has it, whatever ``*`` says."""


class Shape(NamedTuple):
    """Which parts the rule has for a scene: the same parts make the same SQL.

    ``listed``: named public channels count; ``others``: all public ones but those refused;
    ``alone``: only the conversation itself.
    """

    listed: bool = False
    others: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Sight:
    """What may be drawn from: a statement is built once a shape, the values go into its slots."""

    shape: Shape
    here: int
    chat: str
    space: str
    channel: str
    listed: str
    refused: str

    @property
    def values(self) -> dict[str, Any]:
        """For the slots that ``rule`` is given; the lists as JSON."""
        names = ("here", "chat", "space", "channel", "listed", "refused")
        return {name: getattr(self, name) for name in names}


def sight(scene: Scene) -> Sight:
    """What a scene may draw from; it must come from the turn's row."""
    here, key = scene.conversation, scene.conversation.key
    listed, refused = list[str](), list[str]()
    shape = Shape(alone=scene.recall == "conversation")
    if is_wide(scene):
        before = f"{key.chat}:"
        channels = scene.project_channels
        listed = [c[len(before) :] for c in channels if c.startswith(before)]
        refused = [c.removeprefix(NOT + before) for c in channels if c.startswith(NOT + before)]
        shape = Shape(bool(listed), "*" in channels)
    return Sight(
        shape, here.id, key.chat, key.space, key.channel, json.dumps(listed), json.dumps(refused)
    )


def rule(
    shape: Shape, here: Any, chat: Any, space: Any, channel: Any, listed: Any, refused: Any
) -> Expression:
    """A condition on ``ConversationRow``, for queries that join it: what may be drawn from.

    Values or slots (``core.records.prepared``); the names are those of ``Sight.values``.
    """
    if shape.alone:
        return ConversationRow.id == here
    place = (ConversationRow.chat == chat) & (ConversationRow.space == space)
    own = place & (ConversationRow.channel == channel)
    allowed = (ConversationRow.id == here) | (own & ~ConversationRow.apart)
    more = elsewhere(shape, ConversationRow.channel, listed, refused)
    if more is None:
        return allowed
    public = ConversationRow.public & ~ConversationRow.direct & ~ConversationRow.apart
    return allowed | (place & public & more)


def elsewhere(shape: Shape, channel: Any, listed: Any, refused: Any) -> Expression | None:
    """A condition on the column ``channel``: which others count, if they are public."""
    parts: list[Expression] = []
    if shape.listed:
        parts.append(channel.in_(each(listed)))
    if shape.others:
        parts.append(channel.not_in(each(refused)))
    return reduce(or_, parts) if parts else None


def visible(scene: Scene) -> Expression:
    """``rule`` for a scene. Nothing in a prompt or a query widens it."""
    seen = sight(scene)
    return rule(seen.shape, **seen.values)


@cache
def _seen(shape: Shape) -> Prepared[ConversationRow]:
    return Prepared(
        ConversationRow,
        lambda asked, here, chat, space, channel, listed, refused: ConversationRow.select().where(
            (ConversationRow.id == asked) & rule(shape, here, chat, space, channel, listed, refused)
        ),
    )


def may_see(scene: Scene, conversation_id: int) -> bool:
    """Whether this one conversation may be drawn from; False for one that does not exist."""
    if conversation_id == scene.conversation.id:
        return True
    seen = sight(scene)
    return bool(_seen(seen.shape).rows(asked=conversation_id, **seen.values))


def is_wide(scene: Scene) -> bool:
    """Whether a scene draws from the project's public channels as well."""
    here = scene.conversation
    alone = here.direct or here.shared or not scene.asker_trusted
    return scene.recall == "project" and not alone and _of_project(scene)


def _of_project(scene: Scene) -> bool:
    """Whether the scene's own channel is one of its project's."""
    here = f"{scene.conversation.key.chat}:{scene.conversation.key.channel}"
    channels: Sequence[str] = scene.project_channels
    return here in channels or ("*" in channels and NOT + here not in channels)
