"""Texts of posts go when the words they tell do; the posts in the chat are the platform's.

Every function is part of its caller's transaction.
"""

from __future__ import annotations

from core.records.prepared import Prepared
from core.records.tables import OutboxRow, PullRow, RequestRow, RunRow, TurnRow
from core.tongue import say, to_say

UNSURE = to_say("*A message that stood here may have been deleted meanwhile. Ask again.*")
_KEPT = OutboxRow.state.not_in(("due", "kept"))


def forget_header(turn_id: int) -> None:
    """Keep no text of a turn's header that was sent: the question it quotes was deleted."""
    header = (OutboxRow.turn == turn_id) & (OutboxRow.kind == "header")
    OutboxRow.update(text="").where(header & (OutboxRow.state != "due")).execute()
    OutboxRow.update(title="").where(header).execute()


def forget_edited(message_id: int, turn_id: int | None, text: str) -> None:
    """A message was edited: what was asked and posted in the words that were is not kept."""
    made = (OutboxRow.message == message_id) & (OutboxRow.message != 0)
    if turn_id:
        made |= (OutboxRow.turn == turn_id) & (OutboxRow.kind == "header")
        TurnRow.update(prompt=text).where(
            (TurnRow.prompt_message == message_id) & (TurnRow.state == "done")
        ).execute()
    OutboxRow.update(text="", title="").where(made & _KEPT).execute()


_withdraw_fleeting = Prepared(
    OutboxRow,
    lambda now, text: OutboxRow.update(text=text).where(
        (OutboxRow.state == "due") & (OutboxRow.fleeting == 1) & (OutboxRow.created_at <= now)
    ),
)


def withdraw_fleeting(now: float) -> None:
    """What answers a command may tell any message: one that still waits is not sent any more."""
    _withdraw_fleeting.run(now=now, text=say(UNSURE))


def forget_run(run: RunRow, conversation_id: int) -> None:
    """Nothing that was posted of a run stays: its answer, its lookups, what it asked people.

    Notices of its turn tell what its blocks said, and Moot's own count repeats positions. What is
    not posted yet of the answer is dropped.
    """
    here = OutboxRow.conversation == conversation_id
    mine = here & (OutboxRow.run == run.id)
    told = here & (OutboxRow.turn == run.turn_id) & (OutboxRow.kind == "notice")
    of_answer = mine & OutboxRow.kind.in_(("answer", "pull"))
    # A notice with buttons is how people go on: it is sent, and tells why, in words of ours.
    gone = of_answer | (told & (OutboxRow.buttons == "[]"))
    waits = OutboxRow.state.in_(("due", "kept"))
    # What was to take the place of a message that shows its words already becomes its deletion.
    OutboxRow.update(op="delete", kind="status", text="", buttons="[]", files="[]").where(
        of_answer & waits & (OutboxRow.op == "post") & OutboxRow.target.is_null(False)  # noqa: FBT003
    ).execute()
    OutboxRow.update(state="dropped", error="erased", files="[]").where(gone & waits).execute()
    OutboxRow.update(text="", files="[]").where(
        gone | ((mine | told) & OutboxRow.state.not_in(("due", "kept")))
    ).execute()
    if TurnRow.get_by_id(run.turn_id).state in ("queued", "held", "running", "parked"):
        return  # the steps to come still go by these
    PullRow.update(query="", note="").where(PullRow.run == run.id).execute()
    asked = (RequestRow.run == run.id) & (RequestRow.state != "waiting")
    posts = RequestRow.select(RequestRow.post).where(asked)
    OutboxRow.update(buttons="[]").where(OutboxRow.id.in_(posts)).execute()
    RequestRow.update(about="", detail="", questions="[]", answers="[]", note="").where(
        asked
    ).execute()
