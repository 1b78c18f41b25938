"""The controls below an answer: go on, branch, what it was told, ask another engine.

Inside intake's transaction. A press is for the conversation of the button's run, whatever stands
there by now; what is over is said to the one who presses, alone.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge import shown
from bridge.commands import Ask
from bridge.here import is_here
from bridge.starting import begin
from bridge.team_acts import TeamActs
from bridge.team_commands import Team
from core.errors import BadInput
from core.model import Conversation, Reply, Turn
from core.records import links, messages, pointed, runs, turns
from core.tongue import say
from core.words import literal

if TYPE_CHECKING:
    from bridge.acts import Acts

VERBS = ("onward", "branch", "context", "also")
GO_ON = "Go on."  # what the agent is asked
_RUN = re.compile(r"[0-9a-f]{16}")


def use(acts: Acts, verb: str, argument: str) -> Reply | None:
    """Do what a control says (``argument``: its run, and for a menu what was chosen).

    Raises:
        BadInput: it is over, or stands in another channel than its run.
    """
    run_id, _, chosen = argument.partition(":")
    if not _RUN.fullmatch(run_id) or runs.find_run(run_id) is None:
        raise BadInput(say("This button belongs to something that is over."))
    run = runs.get_run(run_id)
    turn = turns.get_turn(run.turn_id)
    assert turn is not None
    conversation = messages.get_conversation(turn.conversation_id)
    # Its value alone is no authority: it must be pressed where its run is.
    if not is_here(conversation, acts.event.key):
        raise BadInput(say("This button belongs to another channel."))
    match verb:
        case "onward":
            return _onward(acts, conversation, turn)
        case "branch":
            return _branch(acts, conversation)
        case "context":
            return shown.context(acts, conversation, run.id)
        case _:
            return _also(acts, conversation, turn, chosen)


def _onward(acts: Acts, conversation: Conversation, turn: Turn) -> Reply:
    """Ask whoever answered to go on, once: while that runs, a second press changes nothing."""
    if turns.waiting(conversation.id):
        return Reply(say("It is being worked on already: the answer comes in the thread."))
    last = turns.latest(conversation.id)
    if last is None or last.id != turn.id:
        return Reply(say("There is something newer in this thread: go on from there."))
    acts.check_pace(Ask(GO_ON))
    name = literal(acts.event.author.name)
    header = say("**{name}** asks to go on.", name=name)
    return begin(acts, conversation, Ask(GO_ON), header)


def _branch(acts: Acts, conversation: Conversation) -> Reply | None:
    """A new thread from this answer; whoever has opened one here is led to that."""
    at = pointed.message_at(conversation, acts.event.message_id)
    for branch in links.branches_of(conversation.id):
        mine = branch.by_key == acts.person and branch.state == "open"
        if at and mine and branch.message_id == at:
            made = messages.get_conversation(branch.conversation_id)
            where = acts.policy.ground.address(made.key, "") if made.opened else ""
            link = f"[{say('this thread')}]({where})" if where else say("a new thread")
            return Reply(say("You branched off here already, into {link}.", link=link))
    team = TeamActs(acts, acts.policy.ground, conversation, 0)
    return team.act(Team("branch", number=at))


def _also(acts: Acts, conversation: Conversation, turn: Turn, engine: str) -> Reply:
    """Put the question to another engine as well; the answer that stands stays as it is."""
    if turn.kind != "ask" or engine not in acts.policy.names.engines:
        name = literal(engine, 40)
        raise BadInput(say("There is no engine “{name}” any more.", name=name))
    wanted = replace(turn, seats=(replace(turn.seats[0], engine=engine, model=""),))
    reply = acts.retry(conversation, wanted)
    return Reply(say("Asking {engine}.", engine=engine)) if acts.queued else reply
