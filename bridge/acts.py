"""What an intention does to the rows: queue, stop, retry, tell. Inside intake's transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import structlog

from bridge import doers, shown
from bridge.access import Door
from bridge.commands import (
    Ask,
    Convene,
    Intention,
    Mode,
    Next,
    Stop,
)
from bridge.duties import Role
from bridge.intake_policy import IntakePolicy
from bridge.recalls import Look as Recalling
from bridge.replies import remind, seat_of
from bridge.secrets import reply_without_secrets
from bridge.speakers import next_speaker
from bridge.terminals import Look
from core.errors import BadInput, NotAllowed
from core.minutes import header_text
from core.model import Button, ChatEvent, Conversation, Permission, Reply, Step, Turn
from core.permissions import lowest
from core.records import messages, outbox, outbox_texts, places, reactions, runs, turns
from core.records.often import weight
from core.tongue import say, to_say
from core.turns.asked import withdraw_turn
from core.turns.budgets import refusal, refuse
from core.turns.rounds import decided, show_header
from core.words import DELETED, literal, one_line, stop_button

if TYPE_CHECKING:
    from bridge.forget_acts import Hiding

log = structlog.get_logger()
GOES_ON = to_say(
    "This roundtable goes on as it was begun: an edit changes only one that waits. To have it as "
    "it reads now, `!stop` it and send the edited text as a new message."
)
NOTHING_LEFT = to_say("A budget is used up: the thread says which, and when it begins anew.")


class Acts:
    """The acts of one person at one moment.

    ``stopped`` collects turns whose processes must end, ``skipped`` single steps, ``ruled`` the
    runs and numbers of requests that were decided; ``queued``, ``owes`` and ``gone`` say whether
    there is a new turn, anything to post, or anything less to remember.
    """

    def __init__(
        self,
        event: ChatEvent,
        now: float,
        policy: IntakePolicy,
        render: Callable[[str, str], tuple[str, ...]],
        door: Door,
    ) -> None:
        self.event = event
        self.door = door
        self.now = now
        self.policy = policy
        self.render = render
        self.touched: list[tuple[str, str]] = []  # for the audit log: what was done to what
        self.refused: NotAllowed | BadInput | None = None  # where a doer told it itself
        self.stopped: list[int] = []
        self.skipped: list[tuple[int, Step]] = []
        self.ruled: list[tuple[str, int]] = []
        self.queued = self.owes = self.gone = False
        self.language: tuple[tuple[str, str, str], str] | None = None  # chosen for a channel
        # At the host or memory, or what is still to be hidden, once it is committed.
        self.look: Look | Recalling | Hiding | None = None

    def voice(self, chat: str, markdown: str, _label: str) -> tuple[str, ...]:
        """``render`` as ``core.turns.rounds.Voice``."""
        return self.render(chat, markdown)

    def notice(self, conversation: Conversation, reply: Reply, *, fleeting: bool = True) -> None:
        """Say something in the thread; what ``said_in`` looks up later is not ``fleeting``."""
        texts = self.render(self.event.key.chat, reply.text)
        buttons = reply_without_secrets(reply).buttons
        outbox.add_post(
            conversation.id, "notice", texts, buttons=buttons, fleeting=fleeting, now=self.now
        )
        self.owes = True

    def act(
        self, intention: Intention, conversation: Conversation | None, message_id: int
    ) -> Reply | None:
        """Do what is meant; what is returned is to be told to the person.

        Raises:
            BadInput, NotAllowed: it cannot be done; says why.
        """
        match intention:
            case Ask() | Convene() if conversation is not None:
                return self._queue(intention, conversation, message_id)
            case Stop() if conversation is not None:
                return self.stop(conversation, list(turns.waiting(conversation.id)))
            case Next() if conversation is not None:
                return next_speaker(self, conversation, intention.name)
            case Mode() if conversation is not None:
                return self._mode(intention.mode, conversation)
            case _:
                return doers.do(self, intention, conversation, message_id)

    def waiting(self, conversation: Conversation | None) -> tuple[Turn, ...]:
        """The turns that run or wait in a conversation, or (``None``) in the channel."""
        key = self.event.key
        if conversation is None:
            found = turns.waiting_in_channel(key.chat, key.space, key.channel)
        else:
            found = turns.waiting(conversation.id)
        # One that was deleted while it is worked on is quoted nowhere any more.
        gone = [turn.id for turn in found if messages.is_deleted(turn.prompt_message_id)]
        return tuple(replace(turn, prompt="") if turn.id in gone else turn for turn in found)

    def _queue(
        self, intention: Ask | Convene, conversation: Conversation, message_id: int
    ) -> Reply | None:
        self.check_pace(intention)
        waits = turns.waiting(conversation.id)
        if full := self.full(waits):
            return full
        mode = intention.mode or conversation.mode
        if isinstance(intention, Ask):
            last = turns.latest(conversation.id)
            seat = seat_of(intention, last, self.policy.default_seat, self.policy.names)
            remind(self, conversation, intention.prompt, queued=True)
            return self._put(
                conversation,
                kind="ask",
                prompt=intention.prompt,
                prompt_message_id=message_id,
                seats=(seat,),
                rounds=1,
                mode=mode,
                budget_chars=intention.budget_chars,
                permission=intention.permission,
                about=intention.about,
            )
        setup = self.policy.tables.setup(intention)
        return self._put(
            conversation,
            kind="roundtable",
            prompt=intention.topic,
            prompt_message_id=message_id,
            seats=setup.seats,
            rounds=setup.rounds,
            rules=setup.rules,
            mode=mode,
            permission=intention.permission,
        )

    def _put(
        self, conversation: Conversation, *, permission: Permission | None, **turn: Any
    ) -> Reply | None:
        """Queue a turn of the one who acts, which may do no more than this person may have done.

        One that falls under a budget with nothing left is refused; the thread is told why.
        """
        author = self.event.author
        asks = weight(turn["kind"], len(turn["seats"]))
        self.policy.often.ask(author, self.person, asks, self.now)
        turn_id = turns.queue_turn(
            conversation.id,
            asker=author.name,
            asker_key=self.person,
            asker_trusted=author.trusted,
            permission=lowest(self.door.ceiling(author), permission),
            by_bot=author.kind != "human",
            now=self.now,
            **turn,
        )
        if self.policy.reactions and author.kind == "human":
            reactions.note(turn["prompt_message_id"])
        self.touch(f"turn {turn_id}")
        self._queued(conversation, turn_id, turn["kind"])
        queued, purse = turns.get_turn(turn_id), self.policy.counting.purse
        if queued is None or not refuse(queued, purse, self.voice, self.now):
            if author.kind == "human":  # a bot's answers say so themselves
                table = turn["kind"] == "roundtable"
                shown.lowered(self, conversation, permission, table=table)
            return None
        self.owes = True
        return None if self.event.kind == "message" else Reply(say(NOTHING_LEFT))

    def check_pace(self, intention: Ask | Convene) -> None:
        """Before anything is written for a question: whether this person may ask one more now.

        Raises:
            NotAllowed: not yet; says when.
        """
        one = isinstance(intention, Ask)
        asks = 1 if one else weight("roundtable", len(self.policy.tables.setup(intention).seats))
        self.policy.often.ask(self.event.author, self.person, asks, self.now)

    def touch(self, target: str, verb: str = "") -> None:
        """Something came of this act (``verb``: of another name than it was let in by)."""
        self.touched.append((verb, target))

    @property
    def person(self) -> str:
        """Who acts, as usage rows have it."""
        return f"{self.event.key.chat}:{self.event.author.id}"

    def change(self, turn: Turn, wanted: Ask | Convene) -> None:
        """A question was edited: one that waits is asked as it reads now.

        A roundtable is reckoned again, so that one over its budget can be made smaller by an edit;
        one that has begun goes on as it is, and the thread is told so once.
        """
        self.touch(f"turn {turn.id}", "edit")
        turns.limit(turn.id, lowest(self.door.ceiling(self.event.author), wanted.permission))
        if isinstance(wanted, Ask) or turn.kind != "roundtable":
            prompt = wanted.prompt if isinstance(wanted, Ask) else wanted.topic
            if not turns.change_prompt(turn.prompt_message_id, prompt):
                self._goes_on(turn)
            return
        setup = self.policy.tables.setup(wanted)
        new = replace(
            turn,
            prompt=wanted.topic,
            seats=setup.seats,
            rounds=setup.rounds,
            rules=replace(setup.rules, confirmed=turn.rules.confirmed),
            mode=wanted.mode or turn.mode,
        )
        if turns.change_table(
            turn.id,
            prompt=new.prompt,
            seats=new.seats,
            rounds=new.rounds,
            rules=setup.rules,
            mode=new.mode,
        ):
            changed = turns.get_turn(turn.id)
            assert changed is not None
            show_header(changed, self.voice, self.now)
            decided(turn, "", self.voice, self.now)
            self.queued = self.owes = True
            return
        turns.change_prompt(turn.prompt_message_id, wanted.topic)
        if new != turn:  # a platform tells an edit as well when it adds a preview of a link
            self._goes_on(turn)

    def _goes_on(self, turn: Turn) -> None:
        texts = self.render(self.event.key.chat, say(GOES_ON))
        begun = turn.kind == "roundtable" and turn.state in ("queued", "running")
        if begun and not outbox.told_already(turn.id, texts[0]):
            outbox.add_post(turn.conversation_id, "notice", texts, turn_id=turn.id, now=self.now)
            self.owes = True

    def _mode(self, mode: str | None, conversation: Conversation) -> Reply:
        if mode is not None:
            places.set_mode(conversation.id, mode)
        shown = conversation.mode if mode is None else mode
        if shown:
            return Reply(
                say(
                    "Questions in this thread get the mode **{shown}**; `!mode auto` ends it.",
                    shown=shown,
                )
            )
        usual = self.policy.mode or say("chosen by what the thread holds")
        return Reply(
            say(
                "This thread has no mode of its own ({usual}). `!mode lite`, `!mode standard` or "
                "`!mode full` sets one.",
                usual=usual,
            )
        )

    def full(self, waits: Sequence[Turn]) -> Reply | None:
        """What to say when no more questions are taken in this thread."""
        behind = len(waits) - 1  # the first one is being worked on, or is the next to be
        if behind < self.policy.queue_limit:
            return None
        return Reply(
            say(
                "{behind} questions wait in this thread already, so this one was not taken. Ask "
                "again when some are answered, or `!stop` them.",
                behind=behind,
            )
        )

    def _queued(self, conversation: Conversation, turn_id: int, kind: str) -> None:
        self.queued = True
        if kind == "roundtable":
            self._post_header(conversation, turn_id)
        log.debug("turn.queued", turn=turn_id, conversation=conversation.id, kind=kind)

    def _post_header(self, conversation: Conversation, turn_id: int) -> None:
        turn = turns.get_turn(turn_id)
        assert turn is not None
        texts = self.render(conversation.key.chat, header_text(turn, ()))
        stop = (stop_button(turn_id),)
        header = outbox.add_post(
            conversation.id,
            "header",
            texts[:1],
            buttons=stop,
            turn_id=turn_id,
            title=one_line(turn.prompt),
            now=self.now,
        )
        if header is not None:
            turns.set_header(turn_id, header)
            self.owes = True

    def stop(self, conversation: Conversation, waits: list[Turn]) -> Reply | None:
        """End turns now: the rows first, the processes right after the commit."""
        why = say("stopped by {name}", name=self.event.author.name)
        waits, others = self._may_stop(waits)
        if others and not waits:
            self.door.check_role(self.event.author, self.event.key, Role.APPROVER)
        ended = [t for t in waits if turns.end_turn(t.id, "cancelled", why, self.now)]
        if not ended:
            return Reply(say("Nothing runs or waits here."))
        self.stopped += [turn.id for turn in ended]
        for turn in ended:
            self.touch(f"turn {turn.id}", "stop")
        count = say(": {count} questions", count=len(ended)) if len(ended) > 1 else ""
        self.notice(
            conversation,
            Reply(
                say("Stopped by {name}{count}.", name=literal(self.event.author.name), count=count)
            ),
        )
        for turn in ended:
            withdraw_turn(turn.id, why, self.voice, self.now)
            show_header(replace(turn, state="cancelled"), self.voice, self.now)
            decided(turn, "", self.voice, self.now)
        return None if self.event.kind == "message" else Reply(say("Stopped."))

    def _may_stop(self, waits: list[Turn]) -> tuple[list[Turn], list[Turn]]:
        """Those that this person may stop, and the others: what others asked, approvers stop."""
        every = self.door.allows(self.event.author, self.event.key, Role.APPROVER)
        mine = [turn for turn in waits if every or turn.asker_key == self.person]
        return mine, [turn for turn in waits if turn not in mine]

    def unquote(self, turn: Turn) -> None:
        """The question of ``turn`` was deleted: its header does not quote it any more."""
        if turn.header is None:
            return
        going = turn.state in ("queued", "running")
        stop = (stop_button(turn.id),) if going else ()
        text = header_text(turn, runs.runs_of(turn.id))
        texts = self.render(self.event.key.chat, text)
        outbox.change_post(turn.header, texts[0], buttons=stop, now=self.now)
        outbox_texts.forget_header(turn.id)
        decided(turn, "", self.voice, self.now)
        self.owes = True

    def ask_which(self) -> Reply:
        """A stop at channel level: buttons for what runs and waits in this channel."""
        found, _ = self._may_stop(list(self.waiting(None)))
        if not found:
            return Reply(say("Nothing runs or waits in this channel."))
        buttons = tuple(
            Button(
                f"stop:{t.id}",
                say("Stop: {prompt}", prompt=one_line(t.prompt)[:60] or say(DELETED)),
                "danger",
            )
            for t in found[:5]
        )
        more = say(" (the oldest 5 of {count})", count=len(found)) if len(found) > 5 else ""
        return Reply(say("Which one should stop?{more}", more=more), buttons)

    def retry(self, conversation: Conversation, turn: Turn) -> Reply:
        """Put the same question to the same table once more.

        What a budget refuses is told to the one who presses: the thread has read it before.
        """
        if not turn.prompt:
            return Reply(say("The question was deleted."))
        waits = turns.waiting(conversation.id)
        # Its own row ends a moment after the post that tells its end and offers this.
        over = turn.id if turn.kind == "ask" and outbox.is_offered(turn.id) else 0
        same = [w.id for w in waits if w.prompt_message_id == turn.prompt_message_id]
        if set(same) - {over}:
            return Reply(say("It is being worked on already."))
        if full := self.full(waits):
            return full
        mine = replace(turn, asker=self.event.author.name, asker_key=self.person)
        if told := refusal(mine, self.policy.counting.purse, self.now):
            return Reply(told)
        refused = self._put(
            conversation,
            kind=turn.kind,
            prompt=turn.prompt,
            prompt_message_id=turn.prompt_message_id,
            seats=turn.seats,
            rounds=turn.rounds,
            mode=turn.mode,
            rules=replace(turn.rules, spent=""),
            budget_chars=turn.budget_chars,
            permission=turn.permission,
            about=turn.about,
        )
        return refused or Reply(say("Trying again."))
