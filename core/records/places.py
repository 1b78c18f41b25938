"""What holds of a conversation as a place: its thread, its mode, and who can read it."""

from __future__ import annotations

from collections.abc import Iterable

from core.model import Conversation, ConversationKey, Missing
from core.records import jobs
from core.records.messages import find_conversation, to_conversation
from core.records.prepared import Prepared
from core.records.tables import ConversationRow


def by_id(conversation_id: int) -> Conversation | None:
    """The conversation of that id, if there is one: a button may name any."""
    row = ConversationRow.get_or_none(ConversationRow.id == conversation_id)
    return to_conversation(row) if row is not None else None


def set_root(conversation_id: int, root: str) -> None:
    """The first post has opened the thread; one that has a root keeps it."""
    row = ConversationRow.get_by_id(conversation_id)
    if row.root is None:
        key = ConversationKey(row.chat, row.space, row.channel, root)
        twin = row.id if find_conversation(key) else 0
        ConversationRow.change(row.id, root=root, twin=twin)


def set_engaged(conversation_id: int) -> None:
    """Moot takes part in this conversation from now on."""
    ConversationRow.change(conversation_id, engaged=True)


def set_caught_up(conversation_id: int, missing: Iterable[Missing] = ()) -> None:
    """The thread's earlier messages have been read, but for what is ``missing``."""
    told = " ".join(dict.fromkeys(missing))
    ConversationRow.change(conversation_id, caught_up=True, missing=told)


def set_mode(conversation_id: int, mode: str) -> None:
    """The conversation's own pack mode; "" gives it back to the settings."""
    ConversationRow.change(conversation_id, mode=mode)


def set_apart(key: ConversationKey) -> None:
    """This thread is a private one: not everybody in its channel can read it."""
    turned = ConversationRow.select(ConversationRow.id).where(
        (ConversationRow.chat == key.chat)
        & (ConversationRow.space == key.space)
        & (ConversationRow.channel == key.channel)
        & (ConversationRow.root == key.root)
        & ~ConversationRow.apart
    )
    for row in list(turned):
        ConversationRow.change(row.id, apart=True)
        jobs.move(row.id)


_public = Prepared(
    ConversationRow,
    lambda chat, space, channel: (
        ConversationRow.select()
        .where(
            (ConversationRow.chat == chat)
            & (ConversationRow.space == space)
            & (ConversationRow.channel == channel)
            & ConversationRow.public
            & ~ConversationRow.direct
        )
        .limit(1)
    ),
)
_set_public = Prepared(
    ConversationRow,
    lambda chat, space, channel, public: ConversationRow.update(public=public).where(
        (ConversationRow.chat == chat)
        & (ConversationRow.space == space)
        & (ConversationRow.channel == channel)
        & (ConversationRow.public != public)
    ),
)


def is_public(key: ConversationKey) -> bool:
    """Whether everybody in the space is known to be able to read the channel of ``key``."""
    return bool(_public.rows(chat=key.chat, space=key.space, channel=key.channel))


_set_shared = Prepared(
    ConversationRow,
    lambda chat, space, channel, shared: ConversationRow.update(shared=shared).where(
        (ConversationRow.chat == chat)
        & (ConversationRow.space == space)
        & (ConversationRow.channel == channel)
        & (ConversationRow.shared != shared)
    ),
)


def set_shared(key: ConversationKey, *, shared: bool) -> None:
    """Whether people of other spaces are in the channel: it holds for all its conversations."""
    _set_shared.run(chat=key.chat, space=key.space, channel=key.channel, shared=shared)


def set_public(key: ConversationKey, *, public: bool) -> None:
    """Whether everybody in the space may read the channel: it holds for all its conversations."""
    _set_public.run(chat=key.chat, space=key.space, channel=key.channel, public=public)
