"""What people point at: a thread or a message by what its address on the platform holds.

Nothing here asks who may see it: ``core.records.scope`` does, before anything is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from core.model import Conversation, ConversationKey, Message
from core.records.erasure import said_in
from core.records.prepared import Prepared, each
from core.records.tables import ConversationRow, MessageRow, OutboxRow, RunRow


def thread_at(here: ConversationKey, ids: Sequence[str]) -> int:
    """The conversation of this chat and space whose thread, or one of whose messages, has an id.

    ``ids`` are tried in order; 0 when there is none.
    """
    same = (ConversationRow.chat == here.chat) & (ConversationRow.space == here.space)
    for one in ids:
        row = ConversationRow.get_or_none(
            same & (ConversationRow.root == one) & (ConversationRow.twin == 0)
        )
        if row is not None:
            return row.id
    for one in ids:
        said = MessageRow.select().join(ConversationRow)
        found = said.where(same & (MessageRow.platform_id == one)).first()
        if found is not None:
            return found.conversation_id
    return 0


def message_at(conversation: Conversation, platform_id: str) -> int:
    """The message of this conversation with this id, an answer of ours too; 0: there is none."""
    if not platform_id:  # what agents said has no id of its own
        return 0
    said = MessageRow.get_or_none(
        (MessageRow.conversation == conversation.id) & (MessageRow.platform_id == platform_id)
    )
    if said is not None:
        return said.id
    posted = OutboxRow.get_or_none(
        (OutboxRow.conversation == conversation.id)
        & (OutboxRow.message_id == platform_id)
        & (OutboxRow.kind == "answer")
    )
    run = RunRow.get_or_none(RunRow.id == posted.run) if posted is not None else None
    return said_in(run) if run is not None else 0


_posts_of = Prepared(
    RunRow,
    lambda turns, ids: (
        RunRow.select(RunRow.message, OutboxRow.message_id)
        .join(OutboxRow, on=(OutboxRow.run == RunRow.id))
        .where(
            RunRow.turn.in_(each(turns))
            & RunRow.message.in_(each(ids))
            & (OutboxRow.kind == "answer")
            & (OutboxRow.op == "post")
            & (OutboxRow.state == "sent")
        )
        .order_by(OutboxRow.id.desc())
    ),
)


def posts_of(said: Iterable[Message]) -> dict[int, str]:
    """Messages' ids on their platform: of an agent's answer its first post's; none: not in it."""
    said = list(said)
    known = {message.id: message.platform_id for message in said if message.platform_id}
    agents = {m.id: m.turn_id for m in said if m.author_kind == "agent" and m.id not in known}
    if agents:
        turns = json.dumps([turn for turn in agents.values() if turn])
        known |= dict(_posts_of.tuples(turns=turns, ids=json.dumps(list(agents))))
    return known


def first_words(conversation_id: int) -> str:
    """What a thread began with, as far as it still stands; "" for an empty one."""
    row = (
        MessageRow.select()
        .where((MessageRow.conversation == conversation_id) & MessageRow.deleted_at.is_null())
        .order_by(MessageRow.sent_at, MessageRow.id)
        .first()
    )
    return row.text if row is not None else ""


def title_of(conversation_id: int) -> str:
    """The title of the post that opened a thread, when it was one of ours."""
    row = (
        OutboxRow.select()
        .where((OutboxRow.conversation == conversation_id) & (OutboxRow.kind == "header"))
        .order_by(OutboxRow.id)
        .first()
    )
    return row.title if row is not None else ""
