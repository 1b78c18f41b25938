"""What is shown without changing anything: status, context, rights, help. Inside a transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.asked import AskedActs
from bridge.commands import Help, RightsShown, Status
from bridge.heard_words import say_heard
from bridge.line import say_line
from bridge.rights import Rights, rights_of, say_lowered, say_rights, say_short
from bridge.standing import say_standing
from bridge.team_commands import WORDS
from core.context.parity import parity
from core.model import Conversation, Permission, Reply
from core.permissions import lowest
from core.receipts import say_context, say_parity
from core.records import outbox, parked, runs, turns
from core.turns.parking import resting_text
from core.words import HELP, HELP_TEAM, say_lines, say_status

if TYPE_CHECKING:
    from bridge.acts import Acts

TEAM_PAGES = ("team", "records", *WORDS)


def status(acts: Acts, conversation: Conversation | None) -> Reply:
    """What ``!status`` answers."""
    here = acts.waiting(conversation)
    told = say_status(here, *outbox.undelivered(), acts.now)
    told += say_line(acts.policy.line(), here)
    resting = resting_text(parked.resting(acts.now), acts.now)
    waits = AskedActs(acts).waits(conversation)
    listens = say_heard(acts.now)
    more = (told, say_short(_rights(acts)), waits, resting, acts.policy.memory(), listens)
    return Reply("\n\n".join(filter(None, more)))


def context(acts: Acts, conversation: Conversation, wanted: str) -> Reply:
    """What ``!context`` answers: one run's receipt, or a roundtable's side by side."""
    newest = turns.latest(conversation.id)
    if not wanted and newest is not None and newest.kind == "roundtable":
        told = say_parity(parity(runs.receipts_of(newest.id)))
    else:
        told = say_context(runs.runs_in_conversation(conversation.id, 20), wanted)
    return Reply(f"{told}\n\n{say_short(_rights(acts))}")


def told(
    acts: Acts, wanted: Status | Help | RightsShown, conversation: Conversation | None
) -> Reply:
    """What runs and waits, what can be typed, or what agents may do here for the one who asks."""
    match wanted:
        case Status():
            return status(acts, conversation)
        case RightsShown():
            return Reply(f"{say_standing(acts)}\n\n{say_rights(_rights(acts))}")
        case Help():
            return Reply(say_lines(HELP_TEAM if wanted.page in TEAM_PAGES else HELP))


def lowered(acts: Acts, conversation: Conversation, own: Permission | None, *, table: bool) -> None:
    """Tell a conversation, once, that the asker's own limit is what holds the agent lower."""
    rights = _rights(acts)
    others = replace(rights, asker=None).allowed(own, table=table)
    if lowest(rights.asker, others) == others:
        return
    text = say_lowered(rights)
    if not outbox.said_in(conversation.id, acts.render(acts.event.key.chat, text)[0]):
        acts.notice(conversation, Reply(text), fleeting=False)


def _rights(acts: Acts) -> Rights:
    project = acts.policy.ground.project_of(acts.event.key)
    engine = acts.policy.default_seat.engine
    return rights_of(acts.door, project, acts.event.author, engine, acts.policy.rights)
