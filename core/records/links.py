"""Links between conversations, confirmed by a person; and branches, forked from a message."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from core.errors import BadInput
from core.model import Actor, Branch, BranchState, Conversation, Message, Scene
from core.records import messages, scope
from core.records.filing import write_audit
from core.records.prepared import Prepared
from core.records.search import search
from core.records.tables import BranchRow, ConversationRow, LinkRow, MessageRow
from core.tongue import say

_LOOKED_AT = 100  # hits that suggestions are taken from


def link(scene: Scene, other_id: int, *, by: Actor, now: float) -> bool:
    """Link the scene's conversation with another one; False when they were linked before.

    Raises:
        BadInput: they are the same, or one side may not see the other.
    """
    here = scene.conversation
    if other_id == here.id:
        raise BadInput(say("A thread cannot be linked with itself."))
    if not _both_see(scene, other_id):
        raise BadInput(
            say(
                "There is no such thread that this one may be linked with: both must be in the "
                "same channel, or in public channels of the same project."
            )
        )
    first, second = sorted((here.id, other_id))
    made = (
        LinkRow.insert(first=first, second=second, by_key=by.key, by_name=by.name, created_at=now)
        .on_conflict_ignore()
        .as_rowcount()
        .execute()
    )
    if made:
        write_audit("link", other_id, "created", by, now, scene.project.name, here.id)
    return bool(made)


def suggest(scene: Scene, words: str, limit: int = 5) -> tuple[Conversation, ...]:
    """Threads that these words fit and that could be linked, the best first.

    Suggested only: a person confirms with ``link``.
    """
    known = {scene.conversation.id, *(other.id for other in linked(scene))}
    found: dict[int, Conversation] = {}
    for hit in search(scene, words, _LOOKED_AT):
        other = hit.conversation
        if other.id not in known and other.id not in found and _both_see(scene, other.id):
            found[other.id] = other
        if len(found) == limit:
            break
    return tuple(found.values())


def unlink(scene: Scene, other_id: int, *, by: Actor, now: float) -> bool:
    """Take a link away; False when there was none."""
    here = scene.conversation.id
    first, second = sorted((here, other_id))
    gone = LinkRow.delete().where((LinkRow.first == first) & (LinkRow.second == second)).execute()
    if gone:
        write_audit("link", other_id, "removed", by, now, scene.project.name, here)
    return bool(gone)


_links_of = Prepared(
    LinkRow,
    lambda here: (
        LinkRow.select()
        .where((LinkRow.first == here) | (LinkRow.second == here))
        .order_by(LinkRow.id)
    ),
)


def linked(scene: Scene) -> tuple[Conversation, ...]:
    """The conversations linked with the scene's that it may still see, oldest link first."""
    here = scene.conversation.id
    rows = _links_of.rows(here=here)
    others = [row.second_id if row.first_id == here else row.first_id for row in rows]
    return tuple(messages.get_conversation(other) for other in others if _both_see(scene, other))


def _both_see(scene: Scene, other_id: int) -> bool:
    """The scope rule, from both sides."""
    if not scope.may_see(scene, other_id):
        return False
    back = replace(scene, conversation=messages.get_conversation(other_id))
    return scope.may_see(back, scene.conversation.id)


# --- branches ----------------------------------------------------------------------------


def fork(scene: Scene, message_id: int, *, by: Actor, now: float) -> tuple[Branch, Conversation]:
    """Begin a branch at a message of the scene's conversation.

    The branch is a new conversation of the same channel whose thread is opened by its first post
    (``outbox.add_post`` with a title).

    Raises:
        BadInput: there is no such message here, or a direct message cannot branch.
    """
    here = scene.conversation
    if here.direct:
        raise BadInput(say("A direct message has no threads to branch into; branch in a channel."))
    if messages.get_message(message_id, here.id) is None:
        raise BadInput(
            say("There is no message #{message_id} in this thread.", message_id=message_id)
        )
    parent = ConversationRow.get_by_id(here.id)
    if parent.apart:
        raise BadInput(
            say("A private thread cannot branch: its branch would be open to the channel.")
        )
    made = messages.open_conversation(
        replace(here.key, root=""), direct=False, in_thread=False, now=now
    )
    ConversationRow.change(made.id, engaged=True, public=parent.public, mode=parent.mode)
    row = BranchRow.create(
        conversation=made.id,
        parent=here.id,
        message=message_id,
        by_key=by.key,
        by_name=by.name,
        created_at=now,
    )
    write_audit("branch", row.id, "created", by, now, scene.project.name, made.id)
    return to_branch(row), messages.get_conversation(made.id)


_branch = Prepared(
    BranchRow,
    lambda conversation: BranchRow.select().where(BranchRow.conversation == conversation),
)
_branches = Prepared(
    BranchRow,
    lambda parent: BranchRow.select().where(BranchRow.parent == parent).order_by(BranchRow.id),
)


def branch_of(conversation_id: int) -> Branch | None:
    """The branch that this conversation is, if it is one."""
    row = _branch.first(conversation=conversation_id)
    return to_branch(row) if row else None


def branches_of(parent_id: int) -> tuple[Branch, ...]:
    """The branches that were forked from this conversation, oldest first."""
    return tuple(to_branch(row) for row in _branches.rows(parent=parent_id))


def end_branch(
    branch: Branch, state: BranchState, *, project: str, by: Actor, now: float
) -> Branch:
    """Adopt a branch into its parent, or discard it.

    Raises:
        BadInput: it was ended before.
    """
    row = BranchRow.get_by_id(branch.id)
    if row.state != "open":
        raise BadInput(say("This branch was {state} already.", state=row.state))
    BranchRow.change(row.id, state=state)
    write_audit("branch", row.id, f"{row.state} -> {state}", by, now, project, row.conversation_id)
    return to_branch(BranchRow.get_by_id(row.id))


def to_branch(row: BranchRow) -> Branch:
    """A row as a value."""
    return Branch(
        id=row.id,
        conversation_id=row.conversation_id,
        parent_id=row.parent_id,
        message_id=row.message,
        state=cast("BranchState", row.state),
        by=row.by_name,
        at=row.created_at,
        by_key=row.by_key,
    )


_until = Prepared(
    MessageRow,
    lambda conversation, sent_at, message, limit: (
        MessageRow.select()
        .where(
            (MessageRow.conversation == conversation)
            & MessageRow.deleted_at.is_null()
            & (
                (MessageRow.sent_at < sent_at)
                | ((MessageRow.sent_at == sent_at) & (MessageRow.id <= message))
            )
        )
        .order_by(MessageRow.sent_at.desc(), MessageRow.id.desc())
        .limit(limit)
    ),
)


def until(branch: Branch, limit: int) -> tuple[Message, ...]:
    """The last ``limit`` messages of the parent up to the one it was forked at, oldest first."""
    at = MessageRow.get_by_id(branch.message_id)  # its place stays when its words are deleted
    rows = _until.rows(
        conversation=branch.parent_id, sent_at=at.sent_at, message=at.id, limit=limit
    )
    return tuple(messages.to_message(row) for row in reversed(rows))


def outcome(branch: Branch) -> Message | None:
    """What a branch came to: the last answer of an agent in it."""
    said = messages.recent(branch.conversation_id, 50)
    answers = [m for m in said if m.author_kind == "agent" and not m.interrupted]
    return answers[-1] if answers else None
