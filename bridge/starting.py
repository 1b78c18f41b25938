"""A question that has no message of its own: a command's, a form's, a button's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.commands import Ask, Convene
from core.model import ChatEvent, Conversation, Reply
from core.records import messages, outbox, places
from core.tongue import say
from core.words import literal, one_line, quoted

if TYPE_CHECKING:
    from bridge.acts import Acts


def begin(
    acts: Acts, conversation: Conversation, intention: Ask | Convene, header: str = ""
) -> Reply:
    """Put it in ``conversation``; a header says there who asked what (``header``: in these words).

    Raises:
        NotAllowed: there were too many.
    """
    places.set_engaged(conversation.id)
    event = acts.event
    text = intention.prompt if isinstance(intention, Ask) else intention.topic
    spoken = ChatEvent(
        key=conversation.key,
        event_id=event.event_id,
        message_id="",
        author=event.author,
        text=text,
        kind="message",
        sent_at=event.sent_at,
    )
    message_id, _ = messages.add_event(conversation.id, spoken, addressed=True)
    if isinstance(intention, Ask):
        name = literal(event.author.name)
        asked = header or say("**{name} asks:** {text}", name=name, text=quoted(text))
        outbox.add_post(
            conversation.id,
            "header",
            acts.render(event.key.chat, asked),
            title=one_line(text),
            message_id=message_id,
            now=acts.now,
        )
        acts.owes = True
    told = acts.act(intention, conversation, message_id)
    return told or Reply(say("On it: the answer comes in the thread."))
