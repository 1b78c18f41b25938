"""A thread that Moot meets in the middle: what its platform tells of it is taken in once."""

from __future__ import annotations

from collections.abc import Iterable

from core.model import Missing, Said
from core.records import files, indexing, places
from core.records.changes import is_forgotten, is_gone
from core.records.messages import get_conversation
from core.records.tables import MessageRow, OutboxRow
from core.words import is_notice


def take_in(conversation_id: int, chat: str, said: Iterable[Said]) -> tuple[Missing, ...]:
    """Write a thread's earlier messages and that they were read; returns what they lack.

    One transaction: after a crash they are either here or read again.
    """
    said = tuple(said)
    add_history(conversation_id, chat, said)
    missing: list[Missing] = []
    if any(one.gone for one in said):
        missing.append("starter")
    if any(one.gap for one in said):
        missing.append("older")
    places.set_caught_up(conversation_id, missing)
    return tuple(missing)


def add_history(
    conversation_id: int, chat: str, said: Iterable[Said], *, pointed_at: bool = False
) -> None:
    """Write a thread's earlier messages; those known already stay as they are.

    What was deleted after the platform was asked for them is not taken in, nor is what was
    forgotten here, nor files of people who may not use Moot. Our own posts are an agent's words
    where the rows that they came from are lost; of those that are not, and of what only told how
    things stand, nothing is written unless somebody ``pointed_at`` it.
    """
    key = get_conversation(conversation_id).key
    for item in said:
        ours = item.author.kind == "agent"
        author = f"agent:{item.author.name}" if ours else f"{chat}:{item.author.id}"
        late = is_forgotten(conversation_id, author, item.sent_at)
        if item.gone or late or is_gone(key, item.message_id):
            continue
        if ours and not (pointed_at or _speaks(item)):
            continue
        if MessageRow.get_or_none(
            (MessageRow.conversation == conversation_id)
            & (MessageRow.platform_id == item.message_id)
        ):
            continue
        row = MessageRow.create(
            conversation=conversation_id,
            platform_id=item.message_id,
            author_key=author,
            author_name=item.author.name,
            author_kind=item.author.kind,
            text=item.text,
            sent_at=item.sent_at,
            admitted=item.admitted,
        )
        indexing.put(row.id)
        files.note_event(conversation_id, row.id, item, admitted=item.admitted)


def _speaks(post: Said) -> bool:
    """Whether a post of ours is somebody's word that stands nowhere else: not in the outbox."""
    if not post.text or is_notice(post.text):
        return False
    return not OutboxRow.select().where(OutboxRow.message_id == post.message_id).exists()
