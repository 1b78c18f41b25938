"""Who does what is meant, where no question is put and nothing that runs is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge import audit, home, shown
from bridge.asked import AskedActs
from bridge.asked_commands import Decide, Requests, Revoke
from bridge.audit_commands import Audit
from bridge.commands import Context, Help, Home, Intention, RightsShown, Status
from bridge.forget_acts import ForgetActs
from bridge.forget_commands import Forget
from bridge.languages import Language
from bridge.recall_commands import MarkIt, Recall
from bridge.resend import resend
from bridge.resend_commands import Resend
from bridge.team_acts import TeamActs
from bridge.team_commands import Team
from bridge.terminal_commands import Continue, Resume
from bridge.usage_acts import act_usage
from bridge.usage_commands import BudgetsShown, Usage
from core.errors import BadInput
from core.model import Conversation, Reply
from core.tongue import say

if TYPE_CHECKING:
    from bridge.acts import Acts


def do(
    acts: Acts, intention: Intention, conversation: Conversation | None, message_id: int
) -> Reply | None:
    """Do it; what is returned is to be told to the person.

    Raises:
        BadInput: it needs a thread and there is none, or cannot be done; says why.
        NotAllowed: this person may not.
    """
    match intention:
        case Status() | Help() | RightsShown():
            return shown.told(acts, intention, conversation)
        case Usage() | BudgetsShown():
            return act_usage(acts, intention, acts.policy.counting)
        case Context() if conversation is not None:
            return shown.context(acts, conversation, intention.run)
        case Resume() | Continue() if conversation is not None:
            return acts.policy.terminals.act(acts, intention, conversation)
        case Team():
            return TeamActs(acts, acts.policy.ground, conversation, message_id).act(intention)
        case Decide() | Requests() | Revoke():
            return AskedActs(acts).act(intention, conversation)
        case Recall() | MarkIt():
            return acts.policy.recalls.act(acts, intention, conversation, message_id)
        case Language():
            return acts.policy.languages.act(acts, intention)
        case Resend() | Home() | Audit() | Forget():
            return _ones_own(acts, intention, conversation)
        case _:
            raise BadInput(
                say(
                    "This is about one thread: type it in one that Moot takes part in, "
                    "with `!` before it."
                )
            )


def _ones_own(
    acts: Acts, intention: Resend | Home | Audit | Forget, conversation: Conversation | None
) -> Reply | None:
    """What is for the one who acts alone, wherever it is. Raises as ``do``."""
    match intention:
        case Resend():
            return resend(acts, conversation)
        case Home():
            return home.asked(acts)
        case Audit():
            return audit.act(acts, intention)
        case Forget():
            return ForgetActs(acts).act(intention, conversation)
