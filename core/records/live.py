"""Messages that show an answer while it is written, and the posts that take their place.

Until its run is over such a message is the run's status. Then either the answer's first piece takes
it over (a row with ``op`` "post" whose ``target`` it is), or its deletion is owed, so it never
outlives the run that it shows. All functions are part of their caller's transaction.
"""

from __future__ import annotations

from core.model import Outgoing
from core.records import outbox
from core.records.tables import MessageRow, OutboxRow

WATCHED_S = 60.0
"""An answer that took longer is a new message: an edit notifies nobody who has turned away."""


def may_stay(outbox_id: int, now: float) -> bool:
    """Whether this row's message may become the answer: it is the newest there, and still fresh.

    Below something newer an answer would be missed.
    """
    row = OutboxRow.get_by_id(outbox_id)
    if row.state != "sent" or not row.message_id or now - row.created_at > WATCHED_S:
        return False
    here = OutboxRow.conversation == row.conversation_id
    posts = here & (OutboxRow.id > row.id) & (OutboxRow.op == "post")
    newer = posts & OutboxRow.state.in_(("due", "sent"))
    if OutboxRow.select().where(newer).exists():
        return False
    said = (MessageRow.conversation == row.conversation_id) & (MessageRow.author_kind != "agent")
    return not MessageRow.select().where(said & (MessageRow.sent_at > row.created_at)).exists()


def is_taken_over(run_id: str, outbox_id: int) -> bool:
    """Whether a post of the run that is owed, or was sent, takes the place of this message."""
    of_run = (OutboxRow.run == run_id) & (OutboxRow.target == outbox_id)
    mine = of_run & (OutboxRow.op == "post")
    return OutboxRow.select().where(mine & OutboxRow.state.in_(("due", "sent"))).exists()


def post_anew(item: Outgoing, now: float) -> None:
    """This post takes nothing over: it is a new message, and the one it was to take over goes."""
    row = OutboxRow.get_by_id(item.id)
    if row.op == "post" and row.target:
        OutboxRow.change(row.id, target=None)
        outbox.withdraw_post(row.target, now=now)


def taken_over(item: Outgoing, message_id: str) -> None:
    """The post has its message: that is the answer's now, and no status any more."""
    row = OutboxRow.get_by_id(item.id)
    if row.op == "post" and row.target and message_id == item.live:
        OutboxRow.change(row.target, message_id="", state="dropped", error="became the answer")
