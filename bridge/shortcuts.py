"""Shortcuts on a message: "Ask about this" and "Branch from here".

Inside intake's transaction. The message's words are kept only once somebody asks: until the form
comes back they are in memory, and a restart in between means that the thread is read instead.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bridge.arrivals import open_place
from bridge.commands import Ask, says_something
from bridge.doorkeeping import admits
from bridge.starting import begin
from bridge.team_acts import TeamActs
from bridge.team_commands import Team
from core.errors import BadInput
from core.model import ChatEvent, Conversation, ConversationKey, Field, Form, Reply, Said
from core.records import history, messages, pointed, turns
from core.redact import redact
from core.tongue import say
from core.words import literal

if TYPE_CHECKING:
    from bridge.acts import Acts

ABOUT = "about"  # the form's name
QUESTION, ENGINE = "question", "engine"
MAX_KEPT = 200
MAX_ENGINES = 25
MAX_LABEL_CHARS = 75


@dataclass(slots=True)
class Targets:
    """Messages that somebody was asked a question about, until the question comes."""

    _kept: OrderedDict[tuple[ConversationKey, str], Said] = field(
        default_factory=OrderedDict[tuple[ConversationKey, str], Said]
    )

    def keep(self, key: ConversationKey, said: Said) -> None:
        """Remember a message; the oldest goes when there are too many."""
        self._kept[_at(key, said.message_id)] = said
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)

    def change(self, event: ChatEvent) -> None:
        """A message was edited or deleted (which may not tell its thread): it is not kept so."""
        channel = replace(event.key, root="")
        for at in [one for one in self._kept if one[1] == event.message_id]:
            if replace(at[0], root="") != channel:
                continue
            said = self._kept.pop(at)
            if event.kind == "edit":
                self._kept[at] = replace(said, text=event.text, attachments=event.attachments)

    def find(self, key: ConversationKey, message_id: str) -> Said | None:
        """The message, if it is remembered."""
        return self._kept.get(_at(key, message_id))


def _at(key: ConversationKey, message_id: str) -> tuple[ConversationKey, str]:
    # Its thread, too: what was said in a private one is not asked about from its channel.
    return replace(key, root=key.root or message_id), message_id


def used(acts: Acts) -> Reply | None:
    """A shortcut was used on a message.

    Raises:
        BadInput: it cannot be done there; says what can.
    """
    event = acts.event
    if event.outside:
        raise BadInput(
            say(
                "I am not in that channel, so I can neither read along nor answer there. Invite me "
                "(on Slack `/invite` and my name, on Discord the right to view the channel and to "
                "write in its threads) and use the shortcut again, or send me the text directly."
            )
        )
    if event.target is None or not event.target.message_id:
        raise BadInput(say("I was not told which message that is. Mention me in its thread."))
    if event.command == "branch":
        return _branch(acts, event.target)
    acts.policy.targets.keep(event.key, event.target)
    form = about_form(event.target, engines(acts.policy.default_seat.engine, acts))
    return Reply(say("Mention me in the thread of that message and ask there."), form=form)


def engines(first: str, acts: Acts) -> tuple[str, ...]:
    """What a form offers to ask: who answers by default, then whoever else is set up."""
    others = [name for name in acts.policy.tables.engines if name != first]
    return tuple(dict.fromkeys((first, *others, *sorted(acts.policy.own_engines))))


def about_form(target: Said, offered: Sequence[str]) -> Form:
    """Asks for the question about a message, and (where there are several) whom to ask."""
    begins = " ".join(target.text.split())
    hint = f"{target.author.name}: {begins}"
    hint = hint if len(hint) <= 100 else hint[:99] + "…"
    fields = [Field(QUESTION, say("Your question"), "paragraph", hint=hint)]
    if len(offered) > 1:
        names = [name for name in offered if len(name) <= MAX_LABEL_CHARS][:MAX_ENGINES]
        options = tuple((name, name) for name in names)
        fields.append(Field(ENGINE, say("Engine"), "choice", names[0], options=options))
    return Form(ABOUT, say("Ask about this"), say("Ask"), tuple(fields), target.message_id)


def asked(acts: Acts) -> Reply | None:
    """The form came back: put the question in the thread of its message.

    Raises:
        NotAllowed: there were too many.
    """
    event = acts.event
    wanted = _read(acts, event.values)
    if isinstance(wanted, Reply):
        return wanted
    acts.check_pace(wanted)
    here = _thread(event.key, event.text, direct=event.direct)
    known = messages.find_conversation(here)
    if known is not None and (full := acts.full(turns.waiting(known.id))):
        return Reply(full.text, errors={QUESTION: full.text})
    if not messages.first_time(event.event_id, acts.now):
        return None
    conversation = known or _open(acts, here)
    at = _taken_in(acts, conversation, event.text)
    return begin(acts, conversation, replace(wanted, about=at))


def _read(acts: Acts, values: Mapping[str, tuple[str, ...]]) -> Ask | Reply:
    question = next(iter(values.get(QUESTION, ())), "").strip()
    engine = next(iter(values.get(ENGINE, ())), "")
    if not says_something(question):
        why = say("What would you like to know about it?")
        return Reply(why, errors={QUESTION: why})
    if engine and engine not in acts.policy.names.engines:
        why = say("There is no engine “{name}” any more.", name=literal(engine, 40))
        return Reply(why, errors={ENGINE: why})
    return Ask(question, engine)


def _branch(acts: Acts, target: Said) -> Reply | None:
    """A new thread from the message; its own thread is told where that is."""
    event = acts.event
    if not messages.first_time(event.event_id, acts.now):
        return None
    if event.direct:
        raise BadInput(say("A direct message has no threads: branch off in a channel."))
    acts.policy.targets.keep(event.key, target)
    here = _thread(event.key, target.message_id, direct=False)
    conversation = messages.find_conversation(here) or _open(acts, here)
    at = _taken_in(acts, conversation, target.message_id)
    if not at:
        raise BadInput(say("That message is not kept here, so nothing can go on from it."))
    team = TeamActs(acts, acts.policy.ground, conversation, 0)
    return team.act(Team("branch", number=at))


def _thread(key: ConversationKey, message_id: str, *, direct: bool) -> ConversationKey:
    """The thread of a message: at channel level its own."""
    return key if key.root or direct else replace(key, root=message_id)


def _open(acts: Acts, key: ConversationKey) -> Conversation:
    """One that Moot had no part in: what was said there is read before the first answer."""
    return open_place(acts.event, key, acts.now, late=not acts.event.direct)


def _taken_in(acts: Acts, conversation: Conversation, message_id: str) -> int:
    """The record of the message, made if it is new here; 0 where it is not known any more."""
    if at := pointed.message_at(conversation, message_id):
        return at
    said = acts.policy.targets.find(conversation.key, message_id)
    if said is None:
        return 0
    clean = replace(
        said,
        text=redact(said.text),
        attachments=tuple(replace(one, name=redact(one.name)) for one in said.attachments),
        admitted=admits(acts.door, said.author, conversation.key),
    )
    history.add_history(conversation.id, conversation.key.chat, [clean], pointed_at=True)
    return pointed.message_at(conversation, message_id)
