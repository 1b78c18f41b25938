"""``!forget``: who may have what forgotten, and how it is confirmed. Inside intake's transaction.

Everybody who may use Moot may forget what they said and what agents answered to them; a thread, who
began it; anything, those whom ``[access] approvers`` names. More than one message is
confirmed with a button, which asks for the same right again.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bridge.forget_commands import USAGE, Forget
from bridge.team_commands import ids_in, message_in
from core.errors import BadInput
from core.model import Button, Conversation, Reply
from core.records import forgetting, outbox, turns
from core.records.thread import Records
from core.tongue import say, say_many, to_say
from core.turns.asked import withdraw_turn
from core.words import literal

if TYPE_CHECKING:
    from bridge.acts import Acts

VERB = "forget"
_PRESSED = re.compile(r"(message|thread|person):([^\s]{1,70})")
NOT_YOURS = to_say(
    "There is no such message that you may have forgotten: it must be yours, or an answer to you. "
    "For those of others ask somebody whom `[access] approvers` in moot.toml names."
)
NOT_YOUR_THREAD = to_say(
    "A thread is forgotten by whoever began it, or by somebody whom `[access] approvers` in "
    "moot.toml names. `!forget me` forgets what you said yourself."
)
NOT_THEIRS = to_say(
    "What somebody else said is forgotten by themselves (`!forget me`), or by somebody whom "
    "`[access] approvers` in moot.toml names."
)
ONLY_HERE = to_say("The chat itself keeps its messages: delete them there, too.")
NOTHING = to_say("There is nothing that stands of it: it was forgotten already, or never kept.")
UNDER_WAY = to_say(
    "much is to be erased, and some of it can still be found for a while. Moot goes on with it, "
    "after a restart too. Press the button again in a minute: it says whether anything is left."
)
WAIT_S = 2.0  # platforms wait some 3 s for what a button does


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be forgotten: a message or thread by number, or a person as ``slack:U1``."""

    of: Literal["message", "thread", "person"]
    which: str

    @property
    def ids(self) -> tuple[int, ...]:
        """The messages that stand of it."""
        match self.of:
            case "message":
                return forgetting.of_message(int(self.which))
            case "thread":
                return forgetting.of_thread(int(self.which))
            case "person":
                return forgetting.of_person(self.which)


@dataclass(frozen=True, slots=True)
class Hiding:
    """What is still to be hidden (under the name ``rest``) before the receipt ``told`` is given.

    ``late`` is said instead where that takes too long for whoever waits for it.
    """

    rest: str
    told: str
    late: str


async def hide(acts: Acts, look: Hiding, records: Records) -> Reply:
    """Hide it step by step, with everything else between two steps; then the receipt.

    A crash, or what takes too long, leaves the rest to the eraser.
    """
    ends = time.monotonic() + WAIT_S
    while await records.do(forgetting.hide_some, acts.now, look.rest):
        if time.monotonic() > ends:
            return Reply(look.late)
    await records.do(close, acts, look.told)
    return Reply(look.told)


def close(acts: Acts, told: str) -> None:
    """The post that asked says what was done, without its button."""
    if outbox.close_post(acts.event.key, acts.event.message_id, told, now=acts.now):
        acts.owes = True


class ForgetActs:
    """The acts of one person, in a conversation or (``None``) at channel level."""

    def __init__(self, acts: Acts) -> None:
        self._acts = acts
        event = acts.event
        self._key = event.key
        self._me = f"{event.key.chat}:{event.author.id}"
        self._rest = ""

    def act(self, wanted: Forget, conversation: Conversation | None) -> Reply:
        """What was typed: one message is forgotten at once, for more there is a button.

        Raises:
            BadInput: there is no such thing that this person may have forgotten.
        """
        target = self._target(wanted, conversation)
        self._check(target)
        ids = target.ids
        if not ids:
            raise BadInput(say(NOTHING))
        if len(ids) == 1:
            return Reply(self._forget(target, ids))
        label = say("Erase {count:,} messages", count=len(ids))
        return Reply(
            say(
                "{named}: **{count:,} messages** would be erased from Moot, with everything made "
                "of them. {only_here} This cannot be undone.",
                named=self._named(target),
                count=len(ids),
                only_here=say(ONLY_HERE),
            ),
            (Button(f"{VERB}:{target.of}:{target.which}", label, "danger"),),
        )

    def press(self, argument: str) -> Reply:
        """The button under such a question. Raises as ``act``."""
        match = _PRESSED.fullmatch(argument)
        if match is None or (match[1] != "person" and not match[2].isdecimal()):
            raise BadInput(say("This button is from another version of Moot."))
        target = Target(match[1], match[2])  # type: ignore[arg-type]
        self._check(target)
        ids = target.ids
        if not ids:
            raise BadInput(say(NOTHING))
        told = self._forget(target, ids)
        if self._rest:
            self._acts.look = Hiding(self._rest, told, f"{self._named(target)}: {say(UNDER_WAY)}")
        else:
            close(self._acts, told)
        return Reply(told)

    # --- what is meant, and who may --------------------------------------------------------

    def _target(self, wanted: Forget, conversation: Conversation | None) -> Target:
        match wanted.of:
            case "message":
                return Target("message", str(wanted.number))
            case "link":
                ids = [message_in(wanted.link), *ids_in(wanted.link)]
                number = forgetting.at_address(self._key, [i for i in ids if i], wanted.link)
                return Target("message", str(number))
            case "reply":
                replied = self._acts.event.reply_to
                if not replied:
                    raise BadInput(say("Which message? {usage}.", usage=say(USAGE)))
                number = forgetting.at_address(self._key, [replied], self._key.channel)
                return Target("message", str(number))
            case "thread":
                if conversation is None:
                    raise BadInput(say("Type `!forget thread` in the thread that is meant."))
                return Target("thread", str(conversation.id))
            case "me":
                return Target("person", self._me)
            case "person":
                return Target("person", f"{self._key.chat}:{wanted.person}")

    def _check(self, target: Target) -> None:
        """The one place where it is decided who may have what forgotten.

        Raises:
            BadInput: not this person; the same words whether or not there is such a thing.
        """
        door, author = self._acts.door, self._acts.event.author
        door.check(author, self._key, VERB)
        approver = door.erases(author, self._key)
        match target.of:
            case "message":
                place = forgetting.place_of(int(target.which))
                whose = forgetting.said_by(int(target.which))
                near = place is not None and (place.chat, place.space) == (
                    self._key.chat,
                    self._key.space,
                )
                if not whose or not (whose == self._me or (approver and near)):
                    raise BadInput(say(NOT_YOURS))
            case "thread":
                begun = forgetting.begun_by(int(target.which))
                here = forgetting.is_in(int(target.which), self._key)
                if not here or not (begun == self._me or approver):
                    raise BadInput(say(NOT_YOUR_THREAD))
            case "person":
                same = target.which.startswith(f"{self._key.chat}:")
                if target.which != self._me and not (approver and same):
                    raise BadInput(say(NOT_THEIRS))

    # --- doing it ----------------------------------------------------------------------------

    def _forget(self, target: Target, ids: tuple[int, ...]) -> str:
        acts = self._acts
        now, at = acts.now, acts.event.sent_at or acts.now
        match target.of:
            case "message":
                done = forgetting.forget(ids, now)
            case "thread":
                done = forgetting.forget_thread(int(target.which), now, at, ids)
            case "person":
                done = forgetting.forget_person(target.which, now, at, ids)
        acts.touch(f"{target.of} {target.which}", VERB)
        why = say("forgotten by {name}", name=acts.event.author.name)
        for turn_id in done.turns:
            if turns.end_turn(turn_id, "cancelled", why, now):
                acts.stopped.append(turn_id)
            withdraw_turn(turn_id, why, acts.voice, now)
            acts.owes = True
        acts.gone = True
        self._rest = done.rest
        return say_many(
            "🧹 {named}: {count} message was erased from Moot. {only_here}",
            "🧹 {named}: {count:,} messages were erased from Moot. {only_here}",
            done.count,
            named=self._named(target),
            only_here=say(ONLY_HERE),
        )

    def _named(self, target: Target) -> str:
        match target.of:
            case "message":
                return say("Message #{which}", which=target.which)
            case "thread":
                return say("This thread")
            case "person" if target.which == self._me:
                return say(
                    "What {name} said, with the answers",
                    name=literal(self._acts.event.author.name, 40),
                )
            case "person":
                return say("What {which} said, with the answers", which=literal(target.which, 60))
