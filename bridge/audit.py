"""``!audit``: who did what, and who was refused, for admins alone.

Typed in a thread it is answered by a button, for what it shows is nobody else's; whoever is an
admin of one channel only is shown that channel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.audit_commands import Audit, parse_audit
from bridge.duties import ALL_VERBS
from core.errors import BadInput
from core.model import Button, Reply
from core.records import deeds
from core.tongue import say
from core.words import literal, moment

if TYPE_CHECKING:
    from bridge.acts import Acts

VERB = "audit"
SHOWN = 20
MAX_ACTION_CHARS = 80
DAY_S = 86_400.0


def act(acts: Acts, wanted: Audit) -> Reply:
    """What was typed; the door was asked before.

    Raises:
        BadInput: it is too long for a button, or names an act that is never written down.
    """
    event = acts.event
    _check(wanted)
    if event.kind == "message" and not event.direct:
        action = f"{VERB}:{wanted.words}"
        if len(action) > MAX_ACTION_CHARS:
            raise BadInput(say("That is too long for a button: use `/moot audit …` instead."))
        told = say("The audit log is shown to you alone: press the button.")
        return Reply(told, (Button(action, say("Show me"), "primary"),))
    return Reply(_shown(acts, wanted))


def press(acts: Acts, argument: str) -> Reply:
    """The button under it; the door was asked before. Raises as ``act``."""
    wanted = parse_audit(argument)
    _check(wanted)
    return Reply(_shown(acts, wanted))


def _check(wanted: Audit) -> None:
    if wanted.verb and wanted.verb not in ALL_VERBS:
        raise BadInput(
            say(
                "“{word}” is no act that is written down. It goes like this: `!audit`, "
                "`!audit @somebody 7d`, `!audit refused here`, `!audit stop month`.",
                word=literal(wanted.verb, 40),
            )
        )


def _shown(acts: Acts, wanted: Audit) -> str:
    key = acts.event.key
    alone = wanted.here or not acts.door.is_admin_everywhere(acts.event.author)
    person = wanted.person
    if person and ":" not in person:
        person = f"{key.chat}:{person}"
    found = deeds.find(
        deeds.Wanted(
            person=person,
            verb=wanted.verb,
            outcome=wanted.outcome,
            chat=key.chat,
            space=key.space,
            channels=(key.channel,) if alone else (),
            since=acts.now - wanted.days * DAY_S if wanted.days else 0.0,
        ),
        SHOWN + 1,
    )
    where = say("in this channel") if alone else say("in this workspace")
    if not found:
        return say("Nothing of the kind is in the audit log {where}.", where=where)
    lines = [_line(deed) for deed in found[:SHOWN]]
    more = (
        ["", say("There is more: `moot audit` on the host shows all of it.")]
        if len(found) > SHOWN
        else []
    )
    head = say("**Audit log** {where}, the newest first:", where=where)
    return "\n".join((head, "", *lines, *more))


_MARKS = {"done": "✅", "refused": "⛔", "limited": "⏱️"}


def _line(deed: deeds.Deed) -> str:
    who = literal(deed.name, 40) or f"`{literal(deed.person, 40)}`"
    what = literal(deed.verb, 40) + (f" → {literal(deed.target, 60)}" if deed.target else "")
    times = f" ×{deed.count}" if deed.count > 1 else ""
    place = f" · `{literal(deed.channel, 40)}`" if deed.channel else ""
    mark = _MARKS.get(deed.outcome, deed.outcome)
    return f"- {mark} {moment(deed.last_at)} **{who}** ({deed.role}): {what}{times}{place}"
