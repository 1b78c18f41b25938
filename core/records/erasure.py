"""Messages that are deleted, forgotten or old are gone here, with all that holds their words.

What people say has its id on the platform; an answer has those of its posts. So the way is from a
post to its run, and from there to the message. Every function is part of its caller's transaction.
"""

from __future__ import annotations

from peewee import SQL

from core.blocks import visible_of
from core.model import ConversationKey
from core.records import messages, outbox_texts, sessions, turns
from core.records.changes import is_gone, note_deletion
from core.records.prepared import Prepared
from core.records.tables import ConversationRow, MessageRow, OutboxRow, RunRow, TurnRow

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


def asked_in(key: ConversationKey, platform_id: str) -> int:
    """The question that a header tells, where that is all the chat has of it; 0: there is none.

    It was asked by command: deleting the header deletes it.
    """
    post = _post(key, platform_id)
    if post is None or post.kind != "header" or not post.message:
        return 0
    asked = MessageRow.get_by_id(post.message)
    return 0 if asked.platform_id or asked.deleted_at is not None else asked.id


def erase(
    message_id: int, now: float, *, aged: bool = False, forgotten: bool = False
) -> tuple[int, ...]:
    """Erase one message, whoever said it: its words, what they became, and whom they were told.

    Of a question the turns forget it, too (their ids are returned): those that wait are over, one
    that runs forgets it in the end. Its answers are messages of their own. ``aged``: it was kept
    long enough. ``forgotten``: what its runs left goes as well, those that came to nothing too.
    """
    row = MessageRow.get_by_id(message_id)
    run = _run_of(row)
    if run is not None:
        _erase(run, now, aged=aged)
        return ()
    messages.erase(message_id, now, aged=aged)
    asked = turns.withdraw_prompt(message_id, now) if row.turn and _is_human(row) else ()
    for turn in asked:
        outbox_texts.forget_header(turn.id)
        for run in RunRow.select().where(RunRow.turn == turn.id) if forgotten else ():
            _erase(run, now)
    _untell(row, now, aged=aged)
    return tuple(turn.id for turn in asked)


def _is_human(row: MessageRow) -> bool:
    return row.author_kind == "human"


def _run_of(row: MessageRow) -> RunRow | None:
    """The run that said it."""
    if row.author_kind != "agent" or not row.turn:
        return None
    runs = RunRow.select().where(RunRow.turn == row.turn)
    return next((run for run in runs if said_in(run) == row.id), None)


def _untell(row: MessageRow, now: float, *, aged: bool) -> None:
    """Whoever was told a message does not go on with it."""
    if aged:
        sessions.end_aged(row.conversation_id, row.id, row.sent_at)
    else:
        outbox_texts.withdraw_fleeting(now)
        sessions.end_told(row.conversation_id, row.sent_at)
    note_deletion()


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


def _erase(run: RunRow, now: float, *, aged: bool = False) -> None:
    conversation_id = TurnRow.get_by_id(run.turn_id).conversation_id
    message_id = said_in(run)
    if message_id:
        messages.erase(message_id, now, aged=aged)
    # Its own session worked on it since before it was said. What a parallel round keeps back is in
    # no conversation yet, and stays out.
    if aged:
        sessions.end_aged(conversation_id, message_id, run.opened_at)
    else:
        sessions.end_told(conversation_id, run.opened_at)
        outbox_texts.withdraw_fleeting(now)
    note_deletion()
    RunRow.change(run.id, answer="", error="", position="", faults="[]", told=True)
    outbox_texts.forget_run(run, conversation_id)


def said_by_run(run_id: str) -> int:
    """The message that holds what the run with this id said (0: there is none)."""
    run = RunRow.get_or_none(RunRow.id == run_id)
    return said_in(run) if run is not None else 0


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
