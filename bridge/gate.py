"""One event at the door: who may, how often, and what the audit log says of it.

Part of intake's transaction: an act and its line are written together. Handlers call ``let_in``
before they do anything, and give what was refused to ``denied``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from bridge.duties import ONLY_VIEWS, Role, short
from bridge.often import MINUTE_S, TooMuch
from core.errors import BadInput, NotAllowed
from core.model import Reply
from core.records import deeds, messages

if TYPE_CHECKING:
    from bridge.acts import Acts

log = structlog.get_logger()

# What is only done where something came of it: its doers say what (``Acts.touch``).
_TELL_THEMSELVES = frozenset(
    ("ask", "roundtable", "stop", "retry", "anyway", "other", "go", "next", "allow", "deny")
) | frozenset(("answer", "req", "revoke", "forget", "form"))
_PERSON = "person "
_PRIVATE = ("command", "button", "form", "shortcut", "home")
"""Kinds of events whose reply only the one who acts sees."""


class Gate:
    """The door for what one person does at one moment."""

    def __init__(self, acts: Acts) -> None:
        self._acts = acts
        self._verb = ""
        self._failed = False
        self._counted = False

    def enter(self) -> None:
        """Let through who may look here at all, before it is read what they mean. Raises so."""
        event = self._acts.event
        self._verb = event.command or event.kind
        self._count()
        self._acts.door.check_role(event.author, event.key, Role.VIEWER)

    def let_in(self, verb: str) -> None:
        """Let through who may do this here (a name of ``bridge.duties.NEEDS``), or raise.

        Raises:
            NotAllowed: says what is missing and who could give it, or when it goes on.
        """
        event = self._acts.event
        self._verb = verb
        self._count()
        self._acts.door.check(event.author, event.key, verb)

    def _count(self) -> None:
        if not self._counted:
            self._counted = True
            self._acts.policy.often.act(self._acts.event.author, self._acts.person)

    def denied(self, error: NotAllowed | BadInput) -> Reply | None:
        """What was not done, and what to tell of it.

        ``None``: it was told within the hour, or the minute where somebody did too much. Who sees
        a reply alone is told each time.
        """
        self._failed = True
        if not isinstance(error, NotAllowed):
            return Reply(str(error))
        much = isinstance(error, TooMuch)
        event = self._acts.event
        line = self._line(self._verb or event.kind, "", "limited" if much else "refused")
        # Where nobody is told alone, each mention at channel level would open a thread to be told.
        alone = event.key.chat in self._acts.policy.whispers
        opens = event.kind == "message" and not (event.in_thread or event.direct or alone)
        within_s = MINUTE_S if much or opens else deeds.TOGETHER_S
        first = deeds.refuse(line, within_s, in_channel=much or opens)
        if first:
            log.info(
                "door.refused",
                verb=line.verb,
                chat=event.key.chat,
                person=line.person,
                why=line.outcome,
            )
        return Reply(str(error)) if first or event.kind in _PRIVATE else None

    def close(self) -> None:
        """Write down what was done."""
        acts = self._acts
        if acts.refused is not None:
            self.denied(acts.refused)
        for verb, target in acts.touched:
            deeds.write(self._line(verb or self._verb or "ask", target, "done"))
        named = short(self._verb)
        if self._failed or acts.touched or not named or self._verb in ONLY_VIEWS:
            return
        if named not in _TELL_THEMSELVES:
            deeds.write(self._line(self._verb, "", "done"))

    def _line(self, verb: str, target: str, outcome: str) -> deeds.Deed:
        acts = self._acts
        event = acts.event
        known = messages.find_conversation(event.key)
        # Whoever is forgotten, by themselves or by others, is not named by that very act.
        forgotten = target.removeprefix(_PERSON) if target.startswith(_PERSON) else ""
        hidden = forgotten == acts.person
        person = deeds.hidden_key(acts.person) if hidden else acts.person
        role = acts.door.role(event.author, event.key)
        return deeds.Deed(
            at=acts.now,
            person=person,
            name="" if hidden else " ".join(event.author.name.split())[:80],
            role="bot" if event.author.kind != "human" else role.called,
            verb=short(verb),
            outcome=outcome,
            via=event.kind,
            target=f"{_PERSON}{deeds.hidden_key(forgotten)}" if forgotten else target,
            chat=event.key.chat,
            space=event.key.space,
            channel=event.key.channel,
            conversation=known.id if known else 0,
        )
