"""Words in a thread that goes on: who is asked, and that something else still waits there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.model import Asked, Conversation, Participant, Reply, Turn
from core.records import asked as rows
from core.records import outbox
from core.tongue import say

if TYPE_CHECKING:
    from bridge.acts import Acts
    from bridge.commands import Ask, Names

MAX_WORDS = 5


def seat_of(ask: Ask, last: Turn | None, default: Participant, names: Names) -> Participant:
    """Who answers: whom the question names, else whoever the thread asked last.

    A named engine stands alone; a named persona or model takes the place of the last one's. After
    a roundtable, and where the last one does not exist any more, it is the default one.
    """
    if ask.engine:
        return Participant(ask.engine, ask.persona, ask.model)
    seat = kept(last, default, names)
    return Participant(seat.engine, ask.persona or seat.persona, ask.model or seat.model)


def kept(last: Turn | None, default: Participant, names: Names) -> Participant:
    """Who answers a plain reply after the turn ``last``."""
    seat = last.seats[0] if last is not None and last.kind == "ask" else default
    known = seat.engine in names.engines and seat.persona in ("", *names.personas)
    return seat if known else Participant(default.engine)


def remind(acts: Acts, conversation: Conversation, text: str, *, queued: bool) -> None:
    """Words decide nothing: who writes a few of them while a request waits is told how to.

    Once for each request, for most of what is written meanwhile is no answer to it.
    """
    if acts.event.kind != "message" or not _looks_like_an_answer(text):
        return
    what = (
        say("what you wrote is asked after it")
        if queued
        else say("what you wrote is for who speaks next")
    )
    for asked in rows.waiting_in([conversation.id]):
        told = say(
            "⏸️ **#{id}** still waits: {how}; {what}.", id=asked.id, how=_how(asked), what=what
        )
        if not outbox.said_in(conversation.id, acts.render(acts.event.key.chat, told)[0]):
            acts.notice(conversation, Reply(told), fleeting=False)
            return


def _looks_like_an_answer(text: str) -> bool:
    return 0 < len(text.split()) <= MAX_WORDS and not text.rstrip().endswith(("?", "？"))


def _how(asked: Asked) -> str:
    if asked.request.kind == "question":
        return say("`!answer {id} …`", id=asked.id)
    return say("`!allow {id}`, `!deny {id} …`", id=asked.id)
