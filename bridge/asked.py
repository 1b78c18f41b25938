"""What people do to requests of engines: decide, answer, list, revoke. Inside intake's transaction.

A button, a typed command and a form end in the same ``decide``, behind the same door.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.answers import Values, answer_form, how_to_answer, read_answers, typed_answers
from bridge.asked_commands import AskedIntention, Decide, Requests, Revoke
from bridge.duties import Role
from core.errors import BadInput, NotAllowed
from core.model import (
    Asked,
    ChatEvent,
    Conversation,
    Reply,
    Ruling,
    Turn,
)
from core.records import asked as rows
from core.records import messages, turns
from core.tongue import say, to_say
from core.turns import asked as posts
from core.turns.rounds import show_header
from core.words import literal

if TYPE_CHECKING:
    from bridge.acts import Acts

_PRESSED = re.compile(r"([0-9]{1,9}):(once|session|deny|form|o([0-9]{1,2}))")
NOT_HERE = to_say("There is no request #{number} here. `!requests` lists what waits.")


class AskedActs:
    """The acts of one person on requests, at one moment."""

    def __init__(self, acts: Acts) -> None:
        self._acts = acts
        self._event: ChatEvent = acts.event

    # --- the three ways in -------------------------------------------------------------------

    def act(self, intention: AskedIntention, conversation: Conversation | None) -> Reply | None:
        """What was typed.

        Raises:
            BadInput: it cannot be done; says why.
            NotAllowed: this person may not decide.
        """
        match intention:
            case Requests(0):
                return Reply(self._list(conversation))
            case Requests(number):
                return Reply(posts.whole(self._find(number, conversation)))
            case Revoke(number):
                return self._revoke(number, conversation)
            case Decide():
                return self._typed(intention, conversation)

    def press(self, argument: str) -> Reply | None:
        """A button under a request. Raises as ``act``."""
        match = _PRESSED.fullmatch(argument)
        if match is None:
            raise BadInput(say("This button is from another version of Moot."))
        number, verb, option = int(match[1]), match[2], match[3]
        asked = self._find(number, messages.find_conversation(self._event.key))
        if verb == "form":
            self._may_decide(asked)
            self._still(asked)
            return Reply(
                say("To answer, {how_to_answer}", how_to_answer=how_to_answer(asked)),
                form=answer_form(asked),
            )
        if option is None:
            return self._decide(asked, Ruling(verb))  # type: ignore[arg-type]
        questions = asked.request.questions
        if not questions or int(option) >= len(questions[0].options):
            raise BadInput(say("This button is from another version of Moot."))
        picked = questions[0].options[int(option)][0]
        return self._decide(asked, Ruling("answer", answers=((picked,),)))

    def form(self, number: str, values: Values) -> Reply | None:
        """A form with answers that was sent. Raises as ``act``."""
        if not number.isdecimal():
            raise BadInput(say("This form is from another version of Moot."))
        asked = self._find(int(number), messages.find_conversation(self._event.key))
        answers = read_answers(asked, values)
        return self._decide(asked, Ruling("answer", answers=answers))

    # --- deciding ----------------------------------------------------------------------------

    def _typed(self, wanted: Decide, conversation: Conversation | None) -> Reply | None:
        asked, wanted = self._meant(wanted, conversation)
        self._may_decide(asked)
        self._still(asked)
        question = asked.request.kind == "question"
        if question and wanted.choice in ("once", "session"):
            raise BadInput(
                say(
                    "#{id} is a question: {how_to_answer}",
                    id=asked.id,
                    how_to_answer=how_to_answer(asked),
                )
            )
        if not question and wanted.choice == "answer":
            raise BadInput(say("#{id} asks for leave: `!allow {id}` or `!deny {id}`.", id=asked.id))
        if wanted.choice == "session" and not posts.offers_session(asked):
            raise BadInput(
                say("#{id} cannot be allowed for a session, only once: `!allow {id}`.", id=asked.id)
            )
        if wanted.choice == "answer":
            if not wanted.text:
                raise BadInput(
                    say(
                        "What is the answer? To give it, {how_to_answer}",
                        how_to_answer=how_to_answer(asked),
                    )
                )
            ruling = Ruling("answer", answers=typed_answers(asked, wanted.text))
        else:
            ruling = Ruling(wanted.choice, note=wanted.text[:1_000])
        return self._decide(asked, ruling)

    def _meant(self, wanted: Decide, conversation: Conversation | None) -> tuple[Asked, Decide]:
        """The request that is decided: the one of that number, or the only one that waits here."""
        here = rows.waiting_in([conversation.id] if conversation is not None else [])
        alone = here[0] if len(here) == 1 else None
        bare = wanted.choice == "answer" and not wanted.text  # "!answer 2" picks an option
        if alone is not None and bare and wanted.number not in (0, alone.id):
            return alone, replace(wanted, number=alone.id, text=str(wanted.number))
        if wanted.number:
            return self._find(wanted.number, conversation), wanted
        if alone is not None:
            return alone, replace(wanted, number=alone.id)
        waits = self.waits(conversation)
        if not waits:
            raise BadInput(say("Nothing waits here for a decision."))
        verb = {"once": "allow", "session": "allow"}.get(wanted.choice, wanted.choice)
        some = rows.waiting_in(self._here(conversation))[0].id
        raise BadInput(
            say(
                "Say which one, for example `!{verb} {some}`.\n\n{waits}",
                verb=verb,
                some=some,
                waits=waits,
            )
        )

    def _decide(self, asked: Asked, ruling: Ruling) -> Reply | None:
        """The one place where a person decides. The first one counts."""
        self._may_decide(asked)
        self._still(asked)
        acts, author = self._acts, self._event.author
        by_key = f"{self._event.key.chat}:{author.id}"
        ruling = replace(ruling, by_key=by_key, by=author.name)
        if ruling.state == "session" and not posts.offers_session(asked):
            raise BadInput(say("#{id} cannot be allowed for a session, only once.", id=asked.id))
        settled = posts.settle(asked, ruling, acts.voice, acts.now)
        if settled is None:
            self._still(_again(asked))
            return None
        if ruling.state == "session":
            rows.grant(settled, by_key, author.name, acts.now)
        acts.owes = True
        acts.ruled.append((settled.run_id, settled.id))
        verb = {"once": "allow", "session": "allow session"}.get(ruling.state, ruling.state)
        acts.touch(f"request {settled.id}", verb)
        self._go_on(settled)
        told = f"#{settled.id}: {posts.outcome(settled)}"
        return None if self._event.kind == "button" else Reply(told)

    def _go_on(self, asked: Asked) -> None:
        """Where its process is gone, the turn goes on once it waits for nobody any more."""
        if turns.unpark(asked.turn_id):
            self._acts.queued = True
            turn = turns.get_turn(asked.turn_id)
            assert turn is not None
            show_header(turn, self._acts.voice, self._acts.now)

    def _may_decide(self, asked: Asked) -> None:
        """Leave is given by those who may; a question may be answered by all who may ask one."""
        door = self._acts.door
        door.check_role(self._event.author, self._event.key, Role.RUNNER)
        if asked.request.kind == "permission":
            door.check_decides(self._event.author, self._event.key)

    def _still(self, asked: Asked) -> None:
        if asked.state != "waiting":
            raise BadInput(
                say(
                    "#{id} does not wait any more. {outcome}",
                    id=asked.id,
                    outcome=posts.outcome(asked),
                )
            )

    def _find(self, number: int, conversation: Conversation | None) -> Asked:
        """The request, if this is where it may be seen: its thread, or its channel.

        A private thread is not for its channel, and another channel is not for anybody here.
        """
        asked = rows.find(number)
        if asked is None:
            raise BadInput(say(NOT_HERE, number=number))
        there = messages.get_conversation(asked.conversation_id)
        if conversation is not None and conversation.id == there.id:
            return asked
        here = self._event.key
        same = (here.chat, here.space, here.channel) == (
            there.key.chat,
            there.key.space,
            there.key.channel,
        )
        if not same or there.apart:
            raise BadInput(say(NOT_HERE, number=number))
        return asked

    # --- lists -------------------------------------------------------------------------------

    def _here(self, conversation: Conversation | None) -> list[int]:
        event = self._event
        opened = event.kind == "message" and not (event.in_thread or event.direct)
        if conversation is not None and not opened:
            return [conversation.id]
        key = event.key  # at channel level: what was typed there has only just opened a thread
        return rows.conversations_in_channel(key.chat, key.space, key.channel)

    def waits(self, conversation: Conversation | None) -> str:
        """What waits here, for ``!status``; "" when nothing does."""
        waiting = rows.waiting_in(self._here(conversation))
        lines = [f"- {posts.one_line(one)}{self._where(one, conversation)}" for one in waiting]
        return "\n".join([say("Waiting for a decision:"), *lines]) if lines else ""

    def _where(self, asked: Asked, conversation: Conversation | None) -> str:
        """A link to the request's thread, where that is not the one that is open."""
        if conversation is not None and asked.conversation_id == conversation.id:
            return ""
        there = messages.get_conversation(asked.conversation_id)
        address = self._acts.policy.ground.address(there.key, "")
        return say(" ([its thread]({address}))", address=address) if address else ""

    def _list(self, conversation: Conversation | None) -> str:
        here = self._here(conversation)
        grants = rows.grants_in(here)
        text = self.waits(conversation) or say("Nothing waits here for a decision.")
        if grants:
            allowed = [
                say(
                    "- **{id}** {persona}: {label} (by {by}); `!revoke {id}` ends it",
                    id=g.id,
                    persona=literal(g.persona or g.engine),
                    label=literal(g.label, 120),
                    by=literal(g.by),
                )
                for g in grants
            ]
            text += "\n\n" + "\n".join([say("Allowed for the session:"), *allowed])
        return text

    def _revoke(self, number: int, conversation: Conversation | None) -> Reply:
        acts = self._acts
        acts.door.check_decides(self._event.author, self._event.key)
        grants = rows.grants_in(self._here(conversation))
        if not grants:
            raise BadInput(say("Nothing is allowed for a session here."))
        if not number and len(grants) > 1:
            raise BadInput(
                say("Say which one, for example `!revoke {id}`: `!requests`.", id=grants[0].id)
            )
        found = next((g for g in grants if g.id == number or not number), None)
        if found is None or not rows.revoke(found.id, acts.now):
            raise BadInput(
                say(
                    "Nothing is allowed here by the number {number}. `!requests` lists it.",
                    number=number,
                )
            )
        acts.touch(f"grant {found.id}", "revoke")
        label, who = literal(found.label, 120), literal(self._event.author.name)
        return Reply(
            say(
                "Revoked by {who}: {label}. It is asked again from now on; a run that is under "
                "way may still use it until it ends (`!stop` ends it).",
                who=who,
                label=label,
            )
        )


def _again(asked: Asked) -> Asked:
    found = rows.find(asked.id)
    assert found is not None
    return found


def filled_in(acts: Acts) -> Reply | None:
    """A form with answers was sent. One that cannot be taken stays open, with what was written."""
    values = acts.event.values
    try:
        return AskedActs(acts).form(acts.event.text, values)
    except (NotAllowed, BadInput) as error:
        acts.refused = error
        return given_back(str(error), values, "text0")


def given_back(why: str, values: Values, field: str) -> Reply:
    """Nothing was done with a form: why, and what was written in it, which is kept nowhere else.

    ``field`` has the fault where none was filled in.
    """
    written = [text for given in values.values() for text in given if text.strip()]
    kept = posts.code_block("\n".join(written)) if written else ""
    return Reply(f"{why}\n\n{kept}".strip(), errors={next(iter(values), field): why})


def asks_no_more(acts: Acts, turn: Turn) -> None:
    """The question was deleted: what its agent waits for is nobody's wish any more.

    A turn that works keeps going; one that waits for people ends, for it could go nowhere.
    """
    if not rows.waiting_of_turn(turn.id):
        return
    why = say("the question was deleted")
    if turns.end_turn(turn.id, "cancelled", why, acts.now):
        acts.stopped.append(turn.id)
    posts.withdraw_turn(turn.id, why, acts.voice, acts.now)
    acts.owes = True
