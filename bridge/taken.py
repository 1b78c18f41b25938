"""One event on its way in, on the records' thread: what it means, and what may be done about it."""

from __future__ import annotations

from collections.abc import Callable

from bridge import beside, recalls, shortcuts, terminals
from bridge.access import Door
from bridge.acts import Acts
from bridge.answers import FORM as ANSWER_FORM
from bridge.arrivals import (
    bare_word,
    is_too_late,
    note_place,
    open_place,
    take_quoted,
    words_matter,
)
from bridge.asked import AskedActs, asks_no_more, filled_in, given_back
from bridge.bots import ask_for_bot, is_addressed
from bridge.buttons import press
from bridge.commands import (
    Ask,
    Convene,
    Intention,
    NoTopic,
    Stop,
    parse,
    platform_command,
    typed_command,
)
from bridge.duties import Role, pressed, verb_of
from bridge.forms import TOPIC, how_to_type, read_roundtable, refusal, roundtable_form
from bridge.gate import Gate
from bridge.intake_policy import IntakePolicy
from bridge.offers import form_button, wanted_by
from bridge.replies import remind
from bridge.secrets import without_secrets
from bridge.starting import begin
from core.errors import BadInput, NotAllowed
from core.model import ChatEvent, Conversation, Reply
from core.records import changes, erasure, heard, messages, places, quoted, turns
from core.tongue import say


class Taken:
    """One event; ``transaction`` runs on the records' thread.

    ``settled``: its message is a row now and was found to be meant for us. ``echo``: it is of what
    Moot itself did, or changes nothing.
    """

    def __init__(
        self,
        event: ChatEvent,
        now: float,
        policy: IntakePolicy,
        render: Callable[[str, str], tuple[str, ...]],
        door: Door,
    ) -> None:
        self.policy = policy
        self.door = door
        self.event = event
        self.now = now
        self.acts = Acts(event, now, policy, render, door)
        self.gate = Gate(self.acts)
        self.settled = self.echo = False

    def transaction(self) -> Reply | None:
        """Do it; what is returned is told to the one who acted."""
        if words_matter(self.event, self.door):
            self.event = self.acts.event = without_secrets(self.event)
        reply = self._handle()
        self.gate.close()
        if note_place(self.event, self.now):
            self.acts.owes = True
        return reply

    def _handle(self) -> Reply | None:
        match self.event.kind:
            case "message":
                return self._message()
            case "command":
                return self._command()
            case "button":
                return self._button()
            case "form":
                return self._form()
            case "edit":
                self._edit()
                return None
            case "delete":
                self._delete()
                return None
            case "shortcut":
                return beside.shortcut(self.acts, self.gate)
            case "home":
                return beside.own_page(self.acts, self.gate)
            case "channel" | "complete":
                return None

    # --- messages -------------------------------------------------------------------------

    def _message(self) -> Reply | None:
        event = self.event
        known = messages.find_conversation(event.key)
        typed = typed_command(event.text)
        addressed = is_addressed(event, known, self.door)
        if (addressed or known) and changes.stays_out(event, known.id if known else 0):
            return None
        to_us_by_name = event.mentions_us or event.direct
        held = self.door.role(event.author, event.key)
        allowed = held >= Role.RUNNER  # whose words may command an agent
        if not addressed or not (to_us_by_name or allowed or (held and typed)):
            if known:
                messages.add_event(known.id, event, addressed=False, admitted=allowed)
            return None
        conversation = known or self._open()
        if typed is None and not to_us_by_name and self._at_roundtable(conversation):
            # Somebody speaks up while the table talks: the next participant reads it.
            _, news = messages.add_event(conversation.id, event, addressed=False)
            if news:
                remind(self.acts, conversation, event.text, queued=False)
            return None
        if allowed:
            take_quoted(event, conversation, self.door)
        message_id, news = messages.add_event(
            conversation.id, event, addressed=True, admitted=allowed
        )
        self.settled = True
        if not news or is_too_late(self.acts, conversation):
            return None
        if event.author.kind != "human":
            ask_for_bot(self.acts, conversation, message_id)
            return None
        return self._mean(conversation, message_id, typed, allowed=allowed)

    def _mean(
        self,
        conversation: Conversation,
        message_id: int,
        typed: tuple[str, str] | None,
        *,
        allowed: bool,
    ) -> Reply | None:
        """Do what a message means; what is returned is for its author alone."""
        event = self.event
        try:
            self.gate.enter()
            if allowed:
                places.set_engaged(conversation.id)
            command, text = typed or bare_word(event) or ("ask", event.text)
            intention = self._meant(command, text)
            reply = self.acts.act(intention, conversation, message_id)
        except NoTopic as error:
            reply = Reply(str(error), (form_button(error.said, message_id),))
        except (NotAllowed, BadInput) as error:
            reply = self.gate.denied(error)
            alone = event.key.chat in self.policy.whispers and not event.direct
            if alone and isinstance(error, NotAllowed):
                return reply  # to them alone, not in front of everybody
        if reply:
            self.acts.notice(conversation, reply)
        return None

    def _meant(self, command: str, text: str) -> Intention:
        """What a command means, if this person may do it. What may not is not helped with.

        Raises:
            NotAllowed, BadInput, NoTopic: not; says why.
        """
        if command == "roundtable":
            self.gate.let_in(command)  # else the form would be offered
        intention = parse(command, text, self.policy.names)
        self.gate.let_in(verb_of(intention))
        return intention

    def _open(self) -> Conversation:
        return open_place(self.event, self.event.key, self.now, late=self.event.in_thread)

    def _at_roundtable(self, conversation: Conversation) -> bool:
        """One that is held says nothing yet, so it keeps nobody from asking."""
        waiting = turns.waiting(conversation.id)
        return any(turn.kind == "roundtable" and turn.state != "held" for turn in waiting)

    def _edit(self) -> None:
        event = self.event
        if event.missed and heard.edited_since(event.key, event.message_id, event.sent_at):
            return  # the history was read before the edit that we have
        self.policy.targets.change(event)
        message_id = messages.change_text(
            event.key, event.message_id, event.text, self.now, event.attachments
        )
        quoted.change_copies(event, self.now)
        turn = turns.of_prompt(message_id) if message_id else None
        if not message_id or turn is None or not self.door.allows(event.author, event.key):
            return
        command, text = typed_command(event.text) or bare_word(event) or ("ask", event.text)
        try:
            intention = parse(command, text, self.policy.names)
        except BadInput:
            return  # the question as it was first asked still stands
        if isinstance(intention, Ask | Convene):
            self.acts.change(turn, intention)

    def _delete(self) -> None:
        event = self.event
        self.policy.targets.change(event)
        if message_id := erasure.asked_in(event.key, event.message_id):
            erasure.erase(message_id, self.now)
        else:
            ours = erasure.erase_post(event.key, event.message_id, self.now)
            if ours is not None:
                self.echo = not ours
                return
            message_id = messages.remove(event.key, event.message_id, self.now)
        if message_id is None:
            changes.note_gone(event.key, event.message_id, self.now)
            return
        for gone in (message_id, *quoted.erase_copies(event, self.now)):
            for turn in turns.withdraw_prompt(gone, self.now):
                self.acts.unquote(turn)
                asks_no_more(self.acts, turn)

    # --- commands and buttons -------------------------------------------------------------

    def _command(self) -> Reply | None:
        event = self.event
        if not messages.first_time(event.event_id, self.now):
            return None
        try:
            self.gate.enter()
            command, text = platform_command(event.command, event.text)
            intention = self._meant(command, text)
            if isinstance(intention, Ask | Convene):
                return self._start_by_command(intention)
            conversation = self._conversation_here()
            if conversation is None and isinstance(intention, Stop):
                return self.acts.ask_which()
            return self.acts.act(intention, conversation, 0)
        except NoTopic as error:
            return self._open_form(error.said)
        except (NotAllowed, BadInput) as error:
            return self.gate.denied(error)

    def _open_form(self, said: Convene) -> Reply:
        form = roundtable_form(said, self.policy.tables, self.policy.names)
        return Reply(how_to_type(form.context), form=form)

    def _form(self) -> Reply | None:
        """A form that was sent. It counts once; one with errors did not count and comes again."""
        event = self.event
        try:
            self.gate.let_in(f"form {event.command}")
        except NotAllowed as error:
            self.gate.denied(error)
            return self.refused(str(error))
        if event.command == ANSWER_FORM:
            return filled_in(self.acts)
        if event.command == shortcuts.ABOUT:
            return beside.about(self.acts, self.gate)
        if event.command != "roundtable":
            return self.refused(say("This form is from another version of Moot."))
        wanted = read_roundtable(event.values, event.text, self.policy.names)
        if isinstance(wanted, Reply):
            return wanted
        try:
            self.acts.check_pace(wanted)
        except NotAllowed as error:
            self.gate.denied(error)
            return self.refused(str(error))
        here = self._conversation_here()
        if here is not None and (full := self.acts.full(turns.waiting(here.id))):
            return self.refused(full.text)
        if not messages.first_time(event.event_id, self.now):
            return None
        return self._start_by_command(wanted)

    def refused(self, why: str) -> Reply:
        """Nothing was done; what was filled in into a form is not lost."""
        event = self.event
        if event.kind != "form":
            return Reply(why)
        if event.command != "roundtable":
            return given_back(why, event.values, shortcuts.QUESTION)
        return refusal({TOPIC: why}, event.values, event.text)

    def _conversation_here(self) -> Conversation | None:
        key = self.event.key
        return messages.find_conversation(key) if key.root or self.event.direct else None

    def _start_by_command(self, intention: Ask | Convene) -> Reply:
        """A command has no message of its own: a header says in the thread who asked what."""
        self.acts.check_pace(intention)
        return begin(self.acts, self._open(), intention)

    def _button(self) -> Reply | None:
        if not messages.first_time(self.event.event_id, self.now):
            return None
        verb, _, argument = self.event.text.partition(":")
        try:
            self.gate.let_in(pressed(self.event.text))
            if verb == "req":
                return AskedActs(self.acts).press(argument)
            if verb in terminals.VERBS:
                return self.policy.terminals.press(self.acts, verb, argument)
            if verb in recalls.VERBS:
                return self.policy.recalls.press(self.acts, verb, argument)
            if verb == "form":
                return self._open_form(wanted_by(argument, self.event.key, self.policy.names))
            return press(self.acts, verb, argument)
        except (NotAllowed, BadInput) as error:
            return self.gate.denied(error)
