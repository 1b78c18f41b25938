"""``!resend``, and the button that brings a kept answer to whoever asked."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from bridge.duties import Role
from core.errors import BadInput
from core.model import Conversation, ConversationKey, Reply
from core.records import messages, undelivered
from core.tongue import say, say_many

if TYPE_CHECKING:
    from bridge.acts import Acts

VERB = "resend"
_NUMBER = re.compile(r"[0-9]{1,18}")


def resend(acts: Acts, conversation: Conversation | None) -> Reply:
    """Do it.

    Raises:
        BadInput: neither in a thread that Moot takes part in nor in a direct message.
    """
    if acts.event.direct:
        return _here(acts, None)
    if conversation is None:
        raise BadInput(
            say(
                "Type `!resend` in the thread whose answer is missing, or to me directly: then "
                "what could not be posted comes to you."
            )
        )
    count = undelivered.try_again(conversation.id)
    if not count:
        return Reply(say("Nothing is kept for this thread: everything was posted."))
    acts.owes = True
    return Reply(say_many("One post is tried again.", "{count} posts are tried again.", count))


def press(acts: Acts, argument: str) -> Reply:
    """The button of a note in a direct message; ``argument`` is the turn's number.

    Raises:
        BadInput: it is pressed elsewhere, or not a turn's number.
    """
    if not acts.event.direct or not _NUMBER.fullmatch(argument):
        raise BadInput(say("This button works in a direct message only."))
    return _here(acts, int(argument))


def _may_see(acts: Acts, there: ConversationKey) -> bool:
    """Rights are those of the place that it was asked in, as they are now."""
    return acts.door.allows(acts.event.author, there, Role.VIEWER)


def _here(acts: Acts, turn_id: int | None) -> Reply:
    """Only what this very person asked: the value of a button is no authority."""
    event = acts.event
    here = messages.open_conversation(event.key, direct=True, in_thread=False, now=acts.now)
    asker = f"{event.key.chat}:{event.author.id}"
    count = undelivered.hand_over(asker, turn_id, here.id, acts.now, partial(_may_see, acts))
    if not count:
        return Reply(say("Nothing is kept: it was posted meanwhile, or is not written yet."))
    acts.owes = True
    return Reply(
        say_many("It comes here; so it does there as soon as it can be posted.",
                 "{count} posts come here; so they do there as soon as they can be posted.", count)
    )  # fmt: skip
