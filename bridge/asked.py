"""What people do to requests of engines: decide, answer, list, revoke. Inside intake's transaction.

A button, a typed command and a form end in the same ``decide``, behind the same door.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.asked_commands import AskedIntention, Decide, Requests, Revoke
from core.errors import BadInput, NotAllowed
from core.model import (
    Asked,
    AskedQuestion,
    ChatEvent,
    Conversation,
    Field,
    FieldKind,
    Form,
    Reply,
    Ruling,
    Turn,
)
from core.records import asked as rows
from core.records import messages, turns
from core.turns import asked as posts
from core.turns.rounds import show_header
from core.words import literal

if TYPE_CHECKING:
    from bridge.acts import Acts

FORM = "answer"
MAX_FIELDS = 5  # of a form (Discord)
MAX_ANSWER_CHARS = 4_000
_PRESSED = re.compile(r"([0-9]{1,9}):(once|session|deny|form|o([0-9]{1,2}))")
_PICKS = re.compile(r"[0-9]{1,2}(?:\s*[,;\s]\s*[0-9]{1,2})*")
NOT_HERE = "There is no request #{number} here. `!requests` lists what waits."
Values = Mapping[str, tuple[str, ...]]


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
            raise BadInput("This button is from another version of Moot.")
        number, verb, option = int(match[1]), match[2], match[3]
        asked = self._find(number, messages.find_conversation(self._event.key))
        if verb == "form":
            self._may_decide(asked)
            self._still(asked)
            return Reply(f"To answer, {how_to_answer(asked)}", form=answer_form(asked))
        if option is None:
            return self._decide(asked, Ruling(verb))  # type: ignore[arg-type]
        questions = asked.request.questions
        if not questions or int(option) >= len(questions[0].options):
            raise BadInput("This button is from another version of Moot.")
        picked = questions[0].options[int(option)][0]
        return self._decide(asked, Ruling("answer", answers=((picked,),)))

    def form(self, number: str, values: Values) -> Reply | None:
        """A form with answers that was sent. Raises as ``act``."""
        if not number.isdecimal():
            raise BadInput("This form is from another version of Moot.")
        asked = self._find(int(number), messages.find_conversation(self._event.key))
        answers = read_answers(asked, values)
        return self._decide(asked, Ruling("answer", answers=answers))

    # --- deciding ----------------------------------------------------------------------------

    def _typed(self, wanted: Decide, conversation: Conversation | None) -> Reply | None:
        asked = self._find(wanted.number, conversation)
        question = asked.request.kind == "question"
        if question and wanted.choice in ("once", "session"):
            raise BadInput(f"#{asked.id} is a question: {how_to_answer(asked)}")
        if not question and wanted.choice == "answer":
            raise BadInput(
                f"#{asked.id} asks for leave: `!allow {asked.id}` or `!deny {asked.id}`."
            )
        if wanted.choice == "session" and not posts.offers_session(asked):
            raise BadInput(
                f"#{asked.id} cannot be allowed for a session, only once: `!allow {asked.id}`."
            )
        if wanted.choice == "answer":
            self._may_decide(asked)
            self._still(asked)
            ruling = Ruling("answer", answers=typed_answers(asked, wanted.text))
        else:
            ruling = Ruling(wanted.choice, note=wanted.text[:1_000])
        return self._decide(asked, ruling)

    def _decide(self, asked: Asked, ruling: Ruling) -> Reply | None:
        """The one place where a person decides. The first one counts."""
        self._may_decide(asked)
        self._still(asked)
        acts, author = self._acts, self._event.author
        by_key = f"{self._event.key.chat}:{author.id}"
        ruling = replace(ruling, by_key=by_key, by=author.name)
        if ruling.state == "session" and not posts.offers_session(asked):
            raise BadInput(f"#{asked.id} cannot be allowed for a session, only once.")
        settled = posts.settle(asked, ruling, acts.voice, acts.now)
        if settled is None:
            self._still(_again(asked))
            return None
        if ruling.state == "session":
            rows.grant(settled, by_key, author.name, acts.now)
        acts.owes = True
        acts.ruled.append((settled.run_id, settled.id))
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
        door.check(self._event.author)
        if asked.request.kind == "permission":
            door.check_decides(self._event.author)

    def _still(self, asked: Asked) -> None:
        if asked.state != "waiting":
            raise BadInput(f"#{asked.id} does not wait any more. {posts.outcome(asked)}")

    def _find(self, number: int, conversation: Conversation | None) -> Asked:
        """The request, if this is where it may be seen: its thread, or its channel.

        A private thread is not for its channel, and another channel is not for anybody here.
        """
        asked = rows.find(number)
        if asked is None:
            raise BadInput(NOT_HERE.format(number=number))
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
            raise BadInput(NOT_HERE.format(number=number))
        return asked

    # --- lists -------------------------------------------------------------------------------

    def _here(self, conversation: Conversation | None) -> list[int]:
        if conversation is not None:
            return [conversation.id]
        key = self._event.key
        return rows.conversations_in_channel(key.chat, key.space, key.channel)

    def waits(self, conversation: Conversation | None) -> str:
        """What waits here, for ``!status``; "" when nothing does."""
        waiting = rows.waiting_in(self._here(conversation))
        lines = [f"- {posts.one_line(asked)}" for asked in waiting]
        return "\n".join(["Waiting for a decision:", *lines]) if lines else ""

    def _list(self, conversation: Conversation | None) -> str:
        here = self._here(conversation)
        grants = rows.grants_in(here)
        text = self.waits(conversation) or "Nothing waits here for a decision."
        if grants:
            allowed = [
                f"- **{g.id}** {literal(g.persona or g.engine)}: {literal(g.label, 120)} "
                f"(by {literal(g.by)}); `!revoke {g.id}` ends it"
                for g in grants
            ]
            text += "\n\n" + "\n".join(["Allowed for the session:", *allowed])
        return text

    def _revoke(self, number: int, conversation: Conversation | None) -> Reply:
        acts = self._acts
        acts.door.check_decides(self._event.author)
        found = next((g for g in rows.grants_in(self._here(conversation)) if g.id == number), None)
        if found is None or not rows.revoke(number, acts.now):
            raise BadInput(f"Nothing is allowed here by the number {number}. `!requests` lists it.")
        label, who = literal(found.label, 120), literal(self._event.author.name)
        return Reply(
            f"Revoked by {who}: {label}. It is asked again from now on; a run that is under way "
            "may still use it until it ends (`!stop` ends it)."
        )


def _again(asked: Asked) -> Asked:
    found = rows.find(asked.id)
    assert found is not None
    return found


# --- answers -----------------------------------------------------------------------------------


def how_to_answer(asked: Asked) -> str:
    """What to type where no form can be shown."""
    lines = " with a line for each question" if len(asked.request.questions) > 1 else ""
    return f"type `!answer {asked.id} …`{lines}: numbers of options, or your own words."


def answer_form(asked: Asked) -> Form | None:
    """A form for all questions of a request; ``None`` when they are too many for one."""
    questions = asked.request.questions
    if not 0 < len(questions) <= MAX_FIELDS:
        return None
    fields: list[Field] = []
    both = 2 * len(questions) <= MAX_FIELDS
    for at, question in enumerate(questions):
        label = " ".join(question.text.split())[:45] or f"Question {at + 1}"
        options = tuple(
            (str(number), " ".join(f"{number} = {name}".split())[:75])
            for number, (name, _) in enumerate(question.options, 1)
        )[:25]
        if options and both:
            kind: FieldKind = "choices" if question.several else "choice"
            fields.append(Field(f"pick{at}", label, kind, options=options, optional=True))
            words = Field(f"text{at}", "Or in your own words", "paragraph", optional=True)
        else:
            hint = "Numbers of the options, or your own words" if options else ""
            words = Field(f"text{at}", label, "paragraph", optional=True, hint=hint)
        fields.append(words)
    return Form(FORM, f"Answer #{asked.id}"[:24], "Send", tuple(fields), str(asked.id))


def read_answers(asked: Asked, values: Values) -> tuple[tuple[str, ...], ...]:
    """What was filled in, for each question in order.

    Raises:
        BadInput: nothing at all.
    """
    answers: list[tuple[str, ...]] = []
    for at, question in enumerate(asked.request.questions):
        written = next(iter(values.get(f"text{at}", ())), "").strip()
        picked = [
            question.options[int(number) - 1][0]
            for number in values.get(f"pick{at}", ())
            if number.isdecimal() and 0 < int(number) <= len(question.options)
        ]
        words = one_answer(question, written) if written else ()
        answers.append((*picked, *words))
    if not any(answers):
        raise BadInput("Pick something, or write an answer.")
    return tuple(answers)


def typed_answers(asked: Asked, text: str) -> tuple[tuple[str, ...], ...]:
    """The same from typed text: one question takes all of it, several take a line each.

    Raises:
        BadInput: there are not as many lines as questions.
    """
    questions = asked.request.questions
    if len(questions) == 1:
        return (one_answer(questions[0], text),)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) != len(questions):
        raise BadInput(
            f"#{asked.id} asks {len(questions)} questions, and {len(lines)} lines answer them: "
            f"{how_to_answer(asked)}"
        )
    return tuple(one_answer(q, line) for q, line in zip(questions, lines, strict=True))


def one_answer(question: AskedQuestion, text: str) -> tuple[str, ...]:
    """Options by their numbers or names where that is what was written, else the words."""
    text = text.strip()[:MAX_ANSWER_CHARS]
    names = [name for name, _ in question.options]
    if names and _PICKS.fullmatch(text):
        numbers = [int(n) for n in re.findall(r"[0-9]+", text)]
        fits = all(0 < n <= len(names) for n in numbers)
        if fits and (question.several or len(numbers) == 1):
            return tuple(dict.fromkeys(names[n - 1] for n in numbers))
    return (next((name for name in names if name.casefold() == text.casefold()), text),)


def filled_in(acts: Acts) -> Reply | None:
    """A form with answers was sent. One that cannot be taken stays open, with what was written."""
    values = acts.event.values
    try:
        return AskedActs(acts).form(acts.event.text, values)
    except (NotAllowed, BadInput) as error:
        written = [text for given in values.values() for text in given if text.strip()]
        kept = posts.code_block("\n".join(written)) if written else ""
        first = next(iter(values), "text0")
        return Reply(f"{error}\n\n{kept}".strip(), errors={first: str(error)})


def asks_no_more(acts: Acts, turn: Turn) -> None:
    """The question was deleted: what its agent waits for is nobody's wish any more.

    A turn that works keeps going; one that waits for people ends, for it could go nowhere.
    """
    if not rows.waiting_of_turn(turn.id):
        return
    why = "the question was deleted"
    if turns.end_turn(turn.id, "cancelled", why, acts.now):
        acts.stopped.append(turn.id)
    posts.withdraw_turn(turn.id, why, acts.voice, acts.now)
    acts.owes = True
