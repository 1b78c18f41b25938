"""Scopes: whose eyes a text is for, as one number. All that the vectors and Chroma know of places.

A scope is a channel (or direct message) with all its threads, or one private thread of it. A scope
that is allowed may still hold messages that may not be seen, where the settings or rows are finer
(``recall = "conversation"``): whoever finds something by scope asks the rows again
(``core.records.search.fetch``).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from peewee import SQL, Query, fn

from core.model import Scene
from core.records.prepared import Prepared
from core.records.scope import Shape, elsewhere, sight
from core.records.tables import ConversationRow, ScopeRow

_scope = Prepared(
    ScopeRow,
    lambda chat, space, channel, apart: ScopeRow.select().where(
        (ScopeRow.chat == chat)
        & (ScopeRow.space == space)
        & (ScopeRow.channel == channel)
        & (ScopeRow.apart == apart)
    ),
)
_place = Prepared(
    ConversationRow, lambda number: ConversationRow.select().where(ConversationRow.id == number)
)


def scope_of(conversation_id: int) -> int:
    """The number of a conversation's scope as its row is now, made if there is none yet.

    Raises:
        LookupError: there is no such conversation.
    """
    place = _place.first(number=conversation_id)
    if place is None:
        raise LookupError(f"there is no conversation {conversation_id}")
    apart = place.id if place.apart else 0
    key = {"chat": place.chat, "space": place.space, "channel": place.channel, "apart": apart}
    found = _scope.first(**key)
    return found.id if found else ScopeRow.create(**key).id


def allowed_scopes(scene: Scene) -> tuple[int, ...]:
    """The scopes that hold what a scene may draw from now, by the rule of ``core.records.scope``.

    Resolved from rows at this moment; ascending. A scope that nothing was put in is not there.
    """
    seen = sight(scene)
    return tuple(number for (number,) in _allowed(seen.shape).tuples(**seen.values))


@cache
def _allowed(shape: Shape) -> Prepared[ScopeRow]:
    def build(here: Any, chat: Any, space: Any, channel: Any, listed: Any, refused: Any) -> Query:
        place = (ScopeRow.chat == chat) & (ScopeRow.space == space)
        # A private thread draws from its channel as well, but where it is to stay alone.
        itself = ConversationRow.select(ConversationRow.id * ConversationRow.apart)
        apart = ScopeRow.apart.in_(itself.where(ConversationRow.id == here))
        near = apart if shape.alone else apart | (ScopeRow.apart == 0)
        allowed = place & (ScopeRow.channel == channel) & near
        more = elsewhere(shape, ScopeRow.channel, listed, refused)
        if more is not None:
            public = ConversationRow.select(SQL("1")).where(
                (ConversationRow.chat == ScopeRow.chat)
                & (ConversationRow.space == ScopeRow.space)
                & (ConversationRow.channel == ScopeRow.channel)
                & ConversationRow.public
                & ~ConversationRow.direct
                & ~ConversationRow.apart
            )
            allowed |= place & (ScopeRow.apart == 0) & more & fn.EXISTS(public)
        return ScopeRow.select(ScopeRow.id).where(allowed).order_by(ScopeRow.id)

    return Prepared(ScopeRow, build)
