"""From an event to rows: one transaction, and a repeated event changes nothing.

This is the only door for messages, commands and buttons. What the platforms deliver is data; what
may be done with it is decided here, by who acts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle

import structlog

from bridge.access import Door
from bridge.commands import (
    Ask,
    Context,
    Convene,
    Help,
    Intention,
    Names,
    Status,
    Stop,
    parse,
    typed_command,
)
from core.errors import BadInput, NotAllowed
from core.model import Button, ChatEvent, Conversation, Participant, Reply, Turn
from core.records import messages, outbox, runs, turns
from core.records.thread import Records
from core.words import HELP, header_text, literal, say_context, say_status

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class IntakePolicy:
    """What intake needs of the settings."""

    names: Names
    default_seat: Participant
    table_engines: tuple[str, ...]
    roundtable_seats: tuple[Participant, ...]
    rounds: int
    mode: str
    queue_limit: int


class Intake:
    """Takes events in and says what to wake.

    After the commit ``on_turn`` and ``on_post`` are called, and ``on_stop`` with the turns whose
    processes must end.
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
    ) -> None:
        self._records = records
        self._door = door
        self._policy = policy
        self._render = render
        self._on_turn = on_turn
        self._on_post = on_post
        self._on_stop = on_stop

    async def accept(self, event: ChatEvent) -> Reply | None:
        """Take ``event`` in durably; when this returns, it is a row or it changed nothing."""
        taken = _Taken(self, event, time.time())
        reply = await self._records.do(taken.transaction)
        log.debug("event.accepted", kind=event.kind, chat=event.key.chat, event_id=event.event_id)
        if taken.stopped:
            self._on_stop(tuple(taken.stopped))
        self._on_turn()
        self._on_post()
        return reply

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
        self.stopped: list[int] = []

    def transaction(self) -> Reply | None:
        match self.event.kind:
            case "message":
                self._message()
                return None
            case "command":
                return self._command()
            case "button":
                return self._button()
            case "edit":
                self._edit()
                return None
            case "delete":
                self._delete()
                return None

    # --- messages -------------------------------------------------------------------------

    def _message(self) -> None:
        event = self.event
        known = messages.find_conversation(event.key)
        engaged = bool(known and known.engaged)
        typed = typed_command(event.text)
        if event.author.kind != "human":
            addressed = False
        elif event.mentions_us or event.direct:
            addressed = True
        else:
            addressed = engaged and event.in_thread and not event.mentions_others
        if not addressed:
            if known:
                messages.add_event(known.id, event, addressed=False)
            return
        allowed = self.intake.door.allows(event.author)
        if not allowed and not (event.mentions_us or event.direct):
            messages.add_event(known.id, event, addressed=False) if known else None
            return
        conversation = known or self._open()
        plain = typed is None and not event.mentions_us and not event.direct
        if plain and self._at_roundtable(conversation):
            # Somebody speaks up while the table talks: the next participant reads it.
            messages.add_event(conversation.id, event, addressed=False)
            return
        message_id, news = messages.add_event(conversation.id, event, addressed=True)
        if not news:
            return
        try:
            self.intake.door.check(event.author)
            messages.set_engaged(conversation.id)
            command, text = typed or _bare_word(event) or ("ask", event.text)
            intention = parse(command, text, self.policy.names)
            reply = self._act(intention, conversation, message_id)
        except (NotAllowed, BadInput) as error:
            reply = Reply(str(error))
        if reply:
            self._notice(conversation, reply)

    def _open(self) -> Conversation:
        event = self.event
        return messages.open_conversation(
            event.key, direct=event.direct, in_thread=event.in_thread, now=self.now
        )

    def _at_roundtable(self, conversation: Conversation) -> bool:
        return any(turn.kind == "roundtable" for turn in turns.waiting(conversation.id))

    def _notice(self, conversation: Conversation, reply: Reply) -> None:
        texts = self.intake.render(self.event.key.chat, reply.text)
        outbox.add_post(conversation.id, "notice", texts, buttons=reply.buttons, now=self.now)

    def _edit(self) -> None:
        event = self.event
        message_id = messages.change_text(event.key, event.message_id, event.text, self.now)
        turn = turns.of_prompt(message_id) if message_id else None
        if turn is None or turn.state != "queued" or not self.intake.door.allows(event.author):
            return
        command, text = typed_command(event.text) or _bare_word(event) or ("ask", event.text)
        try:
            intention = parse(command, text, self.policy.names)
        except BadInput:
            return  # the question as it was first asked still stands
        if isinstance(intention, Ask):
            turns.change_prompt(turn.id, intention.prompt)
        elif isinstance(intention, Convene):
            turns.change_prompt(turn.id, intention.topic)

    def _delete(self) -> None:
        event = self.event
        message_id = messages.remove(event.key, event.message_id, self.now)
        turn = turns.of_prompt(message_id) if message_id else None
        if turn and turn.state == "queued":
            turns.end_turn(turn.id, "cancelled", "the question was deleted", self.now)

    # --- commands and buttons -------------------------------------------------------------

    def _command(self) -> Reply | None:
        event = self.event
        if not messages.first_time(event.event_id, self.now):
            return None
        try:
            self.intake.door.check(event.author)
            intention = parse(event.command, event.text, self.policy.names)
            if isinstance(intention, Ask | Convene):
                return self._start_by_command(intention)
            conversation = self._conversation_here()
            if conversation is None and isinstance(intention, Stop):
                return self._ask_which()
            return self._act(intention, conversation, 0)
        except (NotAllowed, BadInput) as error:
            return Reply(str(error))

    def _conversation_here(self) -> Conversation | None:
        key = self.event.key
        return messages.find_conversation(key) if key.root or self.event.direct else None

    def _start_by_command(self, intention: Ask | Convene) -> Reply:
        """A command has no message of its own: a header says in the thread who asked what."""
        conversation = self._open()
        messages.set_engaged(conversation.id)
        text = intention.prompt if isinstance(intention, Ask) else intention.topic
        spoken = ChatEvent(
            key=conversation.key,
            event_id=self.event.event_id,
            message_id="",
            author=self.event.author,
            text=text,
            kind="message",
            sent_at=self.event.sent_at,
        )
        message_id, _ = messages.add_event(conversation.id, spoken, addressed=True)
        if isinstance(intention, Ask):
            asked = f"**{literal(self.event.author.name)} asks:** {text}"
            outbox.add_post(
                conversation.id,
                "header",
                self.intake.render(self.event.key.chat, asked),
                title=_title(text),
                now=self.now,
            )
        return self._act(intention, conversation, message_id) or Reply(
            "On it: the answer comes in the thread."
        )

    def _button(self) -> Reply | None:
        event = self.event
        if not messages.first_time(event.event_id, self.now):
            return None
        verb, _, argument = event.text.partition(":")
        turn = turns.get_turn(int(argument)) if argument.isdecimal() else None
        try:
            self.intake.door.check(event.author)
            if turn is None:
                raise BadInput("This button belongs to something that is over.")
            # The button must be in the channel of its turn: its value alone is no authority.
            conversation = messages.get_conversation(turn.conversation_id)
            here = (event.key.chat, event.key.space, event.key.channel)
            if here != (conversation.key.chat, conversation.key.space, conversation.key.channel):
                raise BadInput("This button belongs to another channel.")
            match verb:
                case "stop":
                    return self._stop(conversation, [turn])
                case "retry":
                    return self._retry(conversation, turn)
                case _:
                    raise BadInput("This button is from another version of Moot.")
        except (NotAllowed, BadInput) as error:
            return Reply(str(error))

    # --- what can be meant ----------------------------------------------------------------

    def _act(
        self, intention: Intention, conversation: Conversation | None, message_id: int
    ) -> Reply | None:
        match intention:
            case Ask() | Convene() if conversation is not None:
                return self._queue(intention, conversation, message_id)
            case Stop() if conversation is not None:
                return self._stop(conversation, list(turns.waiting(conversation.id)))
            case Status():
                return Reply(
                    say_status(self._waiting(conversation), *outbox.undelivered(), self.now)
                )
            case Context() if conversation is not None:
                return Reply(
                    say_context(runs.runs_in_conversation(conversation.id, 20), intention.run)
                )
            case Help():
                return Reply(HELP)
            case _:
                raise BadInput("Do this inside a thread that Moot takes part in.")

    def _waiting(self, conversation: Conversation | None) -> tuple[Turn, ...]:
        key = self.event.key
        if conversation is None:
            return turns.waiting_in_channel(key.chat, key.space, key.channel)
        return turns.waiting(conversation.id)

    def _queue(
        self, intention: Ask | Convene, conversation: Conversation, message_id: int
    ) -> Reply | None:
        policy = self.policy
        waits = turns.waiting(conversation.id)
        if len(waits) >= policy.queue_limit:
            return Reply(
                f"{len(waits)} questions wait in this thread already, so this one was not taken. "
                "Ask again when some are answered, or `!stop` them."
            )
        if isinstance(intention, Ask):
            default = policy.default_seat
            engine = intention.engine or default.engine
            kind, prompt, rounds = "ask", intention.prompt, 1
            seats: tuple[Participant, ...] = (
                Participant(engine, intention.persona, intention.model),
            )
        else:
            kind, prompt, rounds = "roundtable", intention.topic, intention.rounds or policy.rounds
            seats = _seated(intention.seats or policy.roundtable_seats, policy.table_engines)
        turn_id = turns.queue_turn(
            conversation.id,
            kind=kind,
            prompt=prompt,
            prompt_message_id=message_id,
            asker=self.event.author.name,
            asker_key=f"{self.event.key.chat}:{self.event.author.id}",
            seats=seats,
            rounds=rounds,
            mode=intention.mode or policy.mode,
            now=self.now,
        )
        self._queued(conversation, turn_id, kind)
        return None

    def _queued(self, conversation: Conversation, turn_id: int, kind: str) -> None:
        if kind == "roundtable":
            self._post_header(conversation, turn_id)
        log.debug("turn.queued", turn=turn_id, conversation=conversation.id, kind=kind)

    def _post_header(self, conversation: Conversation, turn_id: int) -> None:
        turn = turns.get_turn(turn_id)
        assert turn is not None
        texts = self.intake.render(conversation.key.chat, header_text(turn, ()))
        stop = (Button(f"stop:{turn_id}", "Stop", "danger"),)
        header = outbox.add_post(
            conversation.id,
            "header",
            texts[:1],
            buttons=stop,
            turn_id=turn_id,
            title=_title(turn.prompt),
            now=self.now,
        )
        if header is not None:
            turns.set_header(turn_id, header)

    def _stop(self, conversation: Conversation, waits: list[Turn]) -> Reply | None:
        """End turns now: the rows first, the processes right after the commit."""
        why = f"stopped by {self.event.author.name}"
        ended = [t for t in waits if turns.end_turn(t.id, "cancelled", why, self.now)]
        if not ended:
            return Reply("Nothing runs or waits here.")
        self.stopped += [turn.id for turn in ended]
        count = f" {len(ended)} questions" if len(ended) > 1 else ""
        self._notice(conversation, Reply(f"Stopped{count} by {literal(self.event.author.name)}."))
        for turn in ended:
            if turn.header is not None:
                stopped = replace(turn, state="cancelled")
                text = header_text(stopped, runs.runs_of(turn.id))
                texts = self.intake.render(conversation.key.chat, text)
                outbox.change_post(turn.header, texts[0], now=self.now)
        return None if self.event.kind == "message" else Reply("Stopped.")

    def _ask_which(self) -> Reply:
        key = self.event.key
        found = turns.waiting_in_channel(key.chat, key.space, key.channel)
        if not found:
            return Reply("Nothing runs or waits in this channel.")
        buttons = tuple(
            Button(f"stop:{t.id}", f"Stop: {_title(t.prompt)[:60]}", "danger") for t in found[:5]
        )
        more = f" (the oldest 5 of {len(found)})" if len(found) > 5 else ""
        return Reply(f"Which one should stop?{more}", buttons)

    def _retry(self, conversation: Conversation, turn: Turn) -> Reply:
        if turn.state in ("queued", "running") or any(
            other.prompt_message_id == turn.prompt_message_id
            for other in turns.waiting(conversation.id)
        ):
            return Reply("It is being worked on already.")
        again = turns.queue_turn(
            conversation.id,
            kind=turn.kind,
            prompt=turn.prompt,
            prompt_message_id=turn.prompt_message_id,
            asker=self.event.author.name,
            asker_key=f"{self.event.key.chat}:{self.event.author.id}",
            seats=turn.seats,
            rounds=turn.rounds,
            mode=turn.mode,
            now=self.now,
        )
        self._queued(conversation, again, turn.kind)
        return Reply("Trying again.")


def _bare_word(event: ChatEvent) -> tuple[str, str] | None:
    """A mention with just ``stop``, ``status``, ``context`` or ``help`` means the command."""
    word = event.text.strip().lower()
    return (word, "") if word in ("stop", "status", "context", "help") else None


def _title(text: str) -> str:
    """A one-line name for a thread."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"


def _seated(seats: Sequence[Participant], engines: Sequence[str]) -> tuple[Participant, ...]:
    """Seats with an engine each: those without one take ``engines`` in turn."""
    turn_by_turn = cycle(engines)
    return tuple(
        seat if seat.engine else replace(seat, engine=next(turn_by_turn)) for seat in seats
    )
