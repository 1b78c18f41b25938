"""From an event to rows: one transaction, and a repeated event changes nothing.

This is the only door for messages, commands and buttons. What the platforms deliver is data; what
may be done with it is decided here, by who acts.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

import structlog

from bridge import beside, recalls, shortcuts, terminals
from bridge.access import Door
from bridge.acts import Acts
from bridge.answers import FORM as ANSWER_FORM
from bridge.arrivals import (
    bare_word,
    in_unicode,
    is_too_late,
    note_place,
    take_quoted,
    words_matter,
)
from bridge.asked import AskedActs, asks_no_more, filled_in
from bridge.bots import ask_for_bot, is_addressed
from bridge.buttons import press
from bridge.commands import (
    Ask,
    Convene,
    NoTopic,
    Stop,
    parse,
    platform_command,
    typed_command,
)
from bridge.completing import complete
from bridge.duties import Role, pressed, verb_of
from bridge.forget_acts import Hiding, hide
from bridge.forms import TOPIC, how_to_type, read_roundtable, refusal, roundtable_form
from bridge.gate import Gate
from bridge.intake_policy import IntakePolicy
from bridge.offers import form_button, wanted_by
from bridge.replies import remind
from bridge.secrets import reply_without_secrets, without_secrets
from bridge.starting import begin
from core.errors import BadInput, NotAllowed
from core.model import ChatEvent, Conversation, Reply, Step
from core.records import changes, erasure, heard, messages, places, quoted, turns
from core.records.thread import CannotWrite, Records
from core.tongue import say, speaking, to_say

log = structlog.get_logger()

CANNOT_WRITE = to_say(
    "⚠️ Moot cannot write to its disk just now ({why}), so nothing was done. "
    "Try again when there is space on the host."
)
MAX_SETTLED = 1_000


class Intake:
    """Takes events in and says what to wake.

    After the commit ``on_turn`` is called if a turn was queued, ``on_post`` if something is to be
    posted, ``on_stop`` with the turns whose processes must end, ``on_skip`` with the steps,
    ``on_ruled`` with the run and the number of each request that was decided, and ``on_gone`` when
    words were deleted or changed.
    """

    def __init__(
        self,
        records: Records,
        door: Door,
        policy: IntakePolicy,
        render: Callable[[str, str], tuple[str, ...]],
        *,
        on_turn: Callable[[], None],
        on_post: Callable[[], None],
        on_stop: Callable[[tuple[int, ...]], None],
        on_skip: Callable[[int, tuple[Step, ...]], None],
        on_gone: Callable[[], None] = lambda: None,
        on_ruled: Callable[[str, int], None] = lambda _run, _number: None,
    ) -> None:
        self._on_ruled = on_ruled
        self._records = records
        self._door = door
        self._policy = policy
        self._render = render
        self._on_turn = on_turn
        self._on_post = on_post
        self._on_stop = on_stop
        self._on_skip = on_skip
        self._on_gone = on_gone
        # Messages that are rows already and were found to be meant for us. The rows would say the
        # same; but the second event of a mention comes just when its run is to start.
        self._settled: OrderedDict[str, int] = OrderedDict()  # with how many files it had

    async def accept(self, event: ChatEvent) -> Reply | None:
        """Take ``event`` in durably; when this returns, it is a row or it changed nothing."""
        with speaking(self._policy.languages.of_key(event.key)):
            if event.kind == "complete":
                return await complete(event, self._door, self._policy, self._records)
            reply = await self._accept(event)
            return reply and reply_without_secrets(reply)

    async def _accept(self, event: ChatEvent) -> Reply | None:
        event = in_unicode(event)
        if event.kind == "delete" and not event.message_id:
            return await self._thread_gone(event)
        files = len(event.attachments)  # of two events for a message one may not tell them
        if event.kind == "message" and self._settled.get(event.event_id, -1) >= files:
            log.debug(
                "event.accepted", kind="message", chat=event.key.chat, event_id=event.event_id
            )
            return None
        taken = _Taken(self, event, time.time())
        try:
            reply = await self._records.do(taken.transaction)
        except CannotWrite as error:
            if event.kind not in ("command", "button", "form", "shortcut", "home"):
                raise  # not acknowledged, so the platform brings it again
            log.error("event.not_written", kind=event.kind, error=str(error))  # noqa: TRY400
            return taken.refused(say(CANNOT_WRITE, why=error))
        if taken.echo:
            log.debug("event.echo", kind=event.kind, chat=event.key.chat, event_id=event.event_id)
            return None
        log.debug("event.accepted", kind=event.kind, chat=event.key.chat, event_id=event.event_id)
        if taken.acts.look is not None:
            reply = await self._look(taken.acts, taken.acts.look)
        if taken.settled:
            self._settled[event.event_id] = files
            while len(self._settled) > MAX_SETTLED:
                self._settled.popitem(last=False)
        self._tell(taken.acts)
        return reply

    async def _thread_gone(self, event: ChatEvent) -> None:
        """A whole thread was deleted: so was each message in it."""
        for message_id in await self._records.do(heard.told_in, event.key):
            one = f"{event.event_id}:{message_id}"
            await self._accept(replace(event, message_id=message_id, event_id=one))

    def _tell(self, acts: Acts) -> None:
        """Wake whoever has something to do now."""
        if acts.language is not None:
            self._policy.languages.note(*acts.language)
        if acts.stopped:
            self._on_stop(tuple(acts.stopped))
        for turn_id, step in acts.skipped:
            self._on_skip(turn_id, (step,))
        for run_id, number in acts.ruled:
            self._on_ruled(run_id, number)
        # Only for what there is: looking for it in vain would hold up the run that is to start.
        if acts.queued:
            self._on_turn()
        if acts.owes:
            self._on_post()
        if acts.gone or acts.event.kind in ("edit", "delete"):
            self._on_gone()

    async def _look(self, acts: Acts, look: terminals.Look | recalls.Look | Hiding) -> Reply | None:
        """What needs a look at the host comes after the commit: the rows wait for no program."""
        try:
            if isinstance(look, Hiding):
                if acts.stopped:
                    self._on_stop(tuple(acts.stopped))
                return await hide(acts, look, self._records)
            if isinstance(look, recalls.Look):
                return await self._policy.recalls.look(acts, look, self._records)
            reply = await self._policy.terminals.look(acts, look, self._records)
            if reply is None or acts.event.kind != "message":
                return reply
            await self._records.do(acts.notice, look.conversation, reply)
        except CannotWrite as error:
            log.error("event.not_written", kind=acts.event.kind, error=str(error))  # noqa: TRY400
            if isinstance(look, Hiding):
                return Reply(look.late)
            return Reply(say(CANNOT_WRITE, why=error))
        return None

    @property
    def door(self) -> Door:
        """Who may act."""
        return self._door

    @property
    def policy(self) -> IntakePolicy:
        """What intake goes by."""
        return self._policy

    def render(self, chat: str, markdown: str) -> tuple[str, ...]:
        """Markdown as the platform's texts."""
        return self._render(chat, markdown)


class _Taken:
    """One event on its way in; ``transaction`` runs on the records' thread."""

    def __init__(self, intake: Intake, event: ChatEvent, now: float) -> None:
        self.intake = intake
        self.policy = intake.policy
        self.event = event
        self.now = now
        self.acts = Acts(event, now, intake.policy, intake.render, intake.door)
        self.gate = Gate(self.acts)
        self.settled = False
        self.echo = False  # of what Moot itself did, or it changes nothing

    def transaction(self) -> Reply | None:
        if words_matter(self.event, self.intake.door):
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
        addressed = is_addressed(event, known, self.intake.door)
        if (addressed or known) and changes.stays_out(event, known.id if known else 0):
            return None
        to_us_by_name = event.mentions_us or event.direct
        held = self.intake.door.role(event.author, event.key)
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
        take_quoted(event, conversation, self.intake.door)
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
            intention = parse(command, text, self.policy.names)
            self.gate.let_in(verb_of(intention))
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

    def _open(self) -> Conversation:
        event = self.event
        return messages.open_conversation(
            event.key, direct=event.direct, in_thread=event.in_thread, now=self.now
        )

    def _at_roundtable(self, conversation: Conversation) -> bool:
        """One that is held says nothing yet, so it keeps nobody from asking."""
        waiting = turns.waiting(conversation.id)
        return any(turn.kind == "roundtable" and turn.state != "held" for turn in waiting)

    def _edit(self) -> None:
        event = self.event
        if event.missed and heard.edited_since(event.key, event.message_id, event.sent_at):
            return  # the history was read before the edit that we have
        message_id = messages.change_text(
            event.key, event.message_id, event.text, self.now, event.attachments
        )
        quoted.change_copies(event, self.now)
        turn = turns.of_prompt(message_id) if message_id else None
        if not message_id or turn is None or not self.intake.door.allows(event.author, event.key):
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
            intention = parse(command, text, self.policy.names)
            self.gate.let_in(verb_of(intention))
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
