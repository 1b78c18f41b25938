"""Messages that show an answer while it is written, and the posts that take their place.

Until its run is over such a message is the run's status. Then either the answer's first piece takes
it over (a row with ``op`` "post" whose ``target`` it is), or its deletion is owed, so it never
outlives the run that it shows. All functions are part of their caller's transaction.
"""

from __future__ import annotations

from functools import partial

from core.model import Outgoing
from core.records import outbox
from core.records.prepared import Prepared
from core.records.tables import MessageRow, OutboxRow, RunRow

SHOWING = ("status", "live")
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


def begin(
    run_id: str, conversation_id: int, turn_id: int, text: str, reader: str, now: float
) -> int:
    """Owe a message that grows, for ``reader`` to read along; its row's id (0: the run is over)."""
    run = RunRow.get_or_none(RunRow.id == run_id)
    if run is None or run.state != "open":
        return 0
    post = partial(outbox.add_post, conversation_id, "live", (text,), stream=reader, now=now)
    return post(turn_id=turn_id, run_id=run_id) or 0


_of_run = Prepared(
    OutboxRow, lambda run: OutboxRow.select().where(OutboxRow.run == run).order_by(OutboxRow.id)
)


def clear(run_id: str, now: float) -> None:
    """The run is over: take back what shows that it works, but for what becomes the answer."""
    posts = [
        row for row in _of_run.rows(run=run_id) if row.op == "post" and row.state in ("due", "sent")
    ]
    taken = {row.target for row in posts if row.kind == "answer"}
    for row in posts:
        if row.kind in SHOWING and row.id not in taken:
            outbox.withdraw_post(row.id, now=now)


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
