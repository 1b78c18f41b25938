"""Buttons that belong to a turn: what they say, and that they are in its channel."""

from __future__ import annotations

import re
from dataclasses import replace

from bridge import audit, controls, home, resend
from bridge.acts import Acts
from bridge.forget_acts import VERB as FORGET
from bridge.forget_acts import ForgetActs
from bridge.here import is_here
from bridge.speakers import go_on, next_of
from core.errors import BadInput
from core.model import Conversation, Reply, Turn
from core.records import messages, outbox, parked, turns
from core.tongue import say
from core.words import literal

_NUMBER = re.compile(r"[0-9]{1,18}")  # what a row's id can be
_PLACE = re.compile(r"([0-9]{1,3}):([0-9]{1,3})")  # a round and a seat


def press(acts: Acts, verb: str, argument: str) -> Reply | None:
    """Do what a button of a turn says (``argument``: the turn's number, and more).

    Raises:
        BadInput: it is over, from another version, or the button of another channel.
    """
    if verb == audit.VERB:
        return audit.press(acts, argument)
    if verb == resend.VERB:
        return resend.press(acts, argument)
    if verb == home.VERB:
        return home.press(acts, argument)
    if verb in controls.VERBS:
        return controls.use(acts, verb, argument)
    if verb == FORGET:
        return ForgetActs(acts).press(argument)
    placed = verb in ("next", "other")
    number, _, place = argument.partition(":") if placed else (argument, "", "")
    turn = turns.get_turn(int(number)) if _NUMBER.fullmatch(number) else None
    if turn is None:
        raise BadInput(say("This button belongs to something that is over."))
    # The button must be where its turn is: its value alone is no authority.
    conversation = messages.get_conversation(turn.conversation_id)
    if not is_here(conversation, acts.event.key):
        raise BadInput(say("This button belongs to another channel."))
    if verb in ("retry", "anyway", "other"):
        return _again(acts, conversation, turn, verb, place)
    match verb:
        case "stop":
            return acts.stop(conversation, [turn])
        case "go":
            return go_on(acts, turn)
        case "next" if found := _PLACE.fullmatch(place):
            return next_of(acts, turn, int(found[1]), int(found[2]))
        case _:
            raise BadInput(say("This button is from another version of Moot."))


def _again(acts: Acts, conversation: Conversation, turn: Turn, verb: str, engine: str) -> Reply:
    """Put the question of a turn again; the buttons that offered it are used up then.

    ``other`` asks another engine; ``anyway`` one that rests: it may have got quota meanwhile.
    """
    wanted = turn
    if verb == "other":
        if turn.kind != "ask" or engine not in acts.policy.names.engines:
            raise BadInput(
                say("There is no engine “{engine}” any more.", engine=literal(engine, 40))
            )
        wanted = replace(turn, seats=(replace(turn.seats[0], engine=engine, model=""),))
    reply = acts.retry(conversation, wanted)
    if not acts.queued:
        return reply  # nothing is asked, so the offer stands, and what rests rests on
    for seat in turn.seats if verb == "anyway" else ():
        parked.unpark(seat.engine)
    outbox.close_offers(turn.id, now=acts.now)
    acts.owes = True
    return Reply(say("Asking {engine}.", engine=engine)) if verb == "other" else reply
