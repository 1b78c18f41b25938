"""An answer of an agent that is deleted in chat is gone here, too.

What people say has its id on the platform; an answer has those of its posts. So the way is from a
post to its run, and from there to the message. Every function is part of its caller's transaction.
"""

from __future__ import annotations

from peewee import SQL

from core.blocks import visible_of
from core.model import ConversationKey
from core.records import filing, messages, sessions
from core.records.changes import is_gone, note_deletion
from core.records.prepared import Prepared
from core.records.tables import ConversationRow, MessageRow, OutboxRow, RunRow

_posts = Prepared(
    OutboxRow,
    lambda message_id: OutboxRow.select().where(
        (OutboxRow.message_id == message_id)
        & SQL('"t1"."message_id" != \'\'')  # word for word as in the index
    ),
)


def erase_post(key: ConversationKey, platform_id: str, now: float) -> bool | None:
    """A post was deleted in chat: if it was of an answer, nothing of that answer stays.

    ``None`` when it is no post of ours. False when nothing is to be done: it was deleted before, or
    it is a notice, a header, a pull or a status (Moot itself takes these back, and hears of it).
    """
    post = _post(key, platform_id)
    if post is None:
        return None
    if post.kind != "answer" or not post.run or not post.text:
        return False
    _erase(RunRow.get_by_id(post.run), now)
    return True


def erase_if_gone(key: ConversationKey, platform_id: str, now: float) -> bool:
    """A post has its id now; whether it was deleted before that, and its answer is erased."""
    return is_gone(key, platform_id) and bool(erase_post(key, platform_id, now))


def _post(key: ConversationKey, platform_id: str) -> OutboxRow | None:
    # As of a message: a deletion may not tell its thread.
    for row in _posts.rows(message_id=platform_id):
        place = ConversationRow.get_by_id(row.conversation_id)
        if (place.chat, place.space, place.channel) == (key.chat, key.space, key.channel):
            return row
    return None


def _erase(run: RunRow, now: float) -> None:
    message_id = said_in(run)
    if message_id:
        messages.erase(message_id, now)
        filing.withdraw(message_id, now)
    # Its own session worked on it since before it was said. What a parallel round keeps back is in
    # no conversation yet, and stays out.
    sessions.end_told(run.turn.conversation_id, run.opened_at)
    note_deletion()
    RunRow.change(run.id, answer="", position="", faults="[]", told=True)
    mine = OutboxRow.run == run.id
    OutboxRow.update(state="dropped", error="erased").where(
        mine & (OutboxRow.kind == "answer") & OutboxRow.state.in_(("due", "kept"))
    ).execute()
    # Notices tell what its blocks said, and Moot's own count repeats positions.
    told = (OutboxRow.turn == run.turn_id) & (OutboxRow.kind == "notice")
    OutboxRow.update(text="").where(
        (mine & (OutboxRow.kind == "answer")) | ((mine | told) & (OutboxRow.state == "sent"))
    ).execute()


def said_in(run: RunRow) -> int:
    """The message that holds what a run said (0: there is none)."""
    if run.message:
        return run.message
    # Of an earlier build: its words and who said them have to do.
    found = (
        MessageRow.select()
        .where(
            (MessageRow.conversation == run.turn.conversation_id)
            & (MessageRow.turn == run.turn_id)
            & (MessageRow.author_kind == "agent")
            & (MessageRow.engine == run.engine)
            & (MessageRow.persona == run.persona)
            & (MessageRow.text == visible_of(run.answer))
        )
        .first()
    )
    return found.id if found is not None and found.text else 0
