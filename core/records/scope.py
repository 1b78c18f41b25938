"""Whose words a question may draw from: what its asker and its whole channel may see.

The one rule for retrieval, every kind of Pull and whatever is derived from messages; resolved from
rows at that moment, so a channel that has just become private is private for the next question:

- a conversation draws from all conversations of its own channel (or direct message), but from a
  private thread (``apart``) only inside that thread;
- a channel draws also from *public* channels of the same chat and space that belong to the same
  project, if the asker is trusted (a member, not a guest): everybody in the channel could open
  those as well;
- nothing of a private channel, a direct message or a private thread ever reaches another place.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from peewee import Expression

from core.model import Scene
from core.records.tables import ConversationRow

NOT = "!"
"""Before a channel in ``Scene.project_channels``: another project has it, whatever ``*`` says."""


def visible(scene: Scene) -> Expression:
    """A condition on ``ConversationRow``, for queries that join it: what may be drawn from.

    Nothing in a prompt or a query widens it; ``scene`` must come from the turn's row.
    """
    here = scene.conversation
    own = _of_place(scene) & (ConversationRow.channel == here.key.channel)
    rule = (ConversationRow.id == here.id) | (own & ~ConversationRow.apart)
    if here.direct or not scene.asker_trusted:
        return rule
    elsewhere = _project(scene)
    if elsewhere is None:
        return rule
    public = ConversationRow.public & ~ConversationRow.direct & ~ConversationRow.apart
    return rule | (_of_place(scene) & public & elsewhere)


def may_see(scene: Scene, conversation_id: int) -> bool:
    """Whether this one conversation may be drawn from; False for one that does not exist."""
    if conversation_id == scene.conversation.id:
        return True
    asked = (ConversationRow.id == conversation_id) & visible(scene)
    return ConversationRow.select().where(asked).exists()


def _of_place(scene: Scene) -> Expression:
    key = scene.conversation.key
    return (ConversationRow.chat == key.chat) & (ConversationRow.space == key.space)


def _project(scene: Scene) -> Expression | None:
    """The channels of the scene's project in this chat; ``None`` when its own is in none."""
    before = f"{scene.conversation.key.chat}:"
    here = before + scene.conversation.key.channel
    if here not in scene.project_channels and (
        "*" not in scene.project_channels or NOT + here in scene.project_channels
    ):
        return None
    listed = [c[len(before) :] for c in scene.project_channels if c.startswith(before)]
    wanted: list[Expression] = [ConversationRow.channel.in_(listed)] if listed else []
    if "*" in scene.project_channels:
        refused = [
            c.removeprefix(NOT + before)
            for c in scene.project_channels
            if c.startswith(NOT + before)
        ]
        wanted.append(ConversationRow.channel.not_in(refused))
    return reduce(or_, wanted)
