"""``!usage``: who may see what was used, and how budgets stand. Inside intake's transaction.

Everybody sees their own use; members see the sum of the channel they ask in; everybody's use, and
use by person, is for those in ``[usage] viewers``. Guests see their own only. Of the budgets that
many share, others are told the percentage: they must know what may stop them, and no sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bridge.usage_commands import BudgetsShown, Usage, UsageIntention
from bridge.usage_words import OTHERS, say_budgets, say_usage, total
from core.errors import BadInput
from core.model import Author, Reply
from core.records import usage
from core.records.usage import Purse, Sum
from core.spending import Subject, span_typed
from core.tongue import say, to_say
from core.words import literal

if TYPE_CHECKING:
    from bridge.acts import Acts

NOT_A_VIEWER = to_say(
    "Everybody's use, and use by person, is for those in [usage] viewers of moot.toml. "
    "`!usage` shows your own, `!usage here` the sum of this channel."
)
GUEST = to_say("Guests see their own use only: `!usage`.")


@dataclass(frozen=True, slots=True)
class Counting:
    """What is counted, and who may look: ``viewers`` as ``[access] allow`` (empty: members)."""

    purse: Purse = field(default_factory=Purse)
    viewers: frozenset[str] = frozenset()

    def sees_all(self, author: Author) -> bool:
        """Whether this person may see everybody's use."""
        if not author.trusted:
            return False
        anybody = not self.viewers or "*" in self.viewers
        return anybody or bool(self.viewers.intersection(author.grants))


def act_usage(acts: Acts, intention: UsageIntention, counting: Counting) -> Reply:
    """What is to be told.

    Raises:
        BadInput: this person may not see that; says what they may.
    """
    author, key = acts.event.author, acts.event.key
    person, here = f"{key.chat}:{author.id}", f"{key.chat}:{key.channel}"
    _check(author, intention, counting)
    if isinstance(intention, BudgetsShown):
        return Reply(_budgets(acts, intention, counting, person, here))
    zone = counting.purse.zone
    span = span_typed(intention.span, acts.now, zone)
    match intention.scope:
        case "own":
            found = usage.sums(span, intention.by, zone, person=person)
            whose_use = literal(author.name)
        case "here":
            found = usage.sums(span, intention.by, zone, channel=here)
            whose_use = say("everybody in this channel")
        case "all":
            found = usage.sums(span, intention.by, zone)
            whose_use = "everybody"
    if intention.by == "channel" and intention.scope == "all":
        found = _hidden(found, here)
    text = say_usage(found, span, intention.by, zone, whose_use=whose_use)
    more = say("\n\n`!usage here` sums up this channel.") if intention.scope == "own" else ""
    return Reply(text + (more if author.trusted else ""))


def _check(author: Author, intention: UsageIntention, counting: Counting) -> None:
    if intention.scope == "own":
        return
    if not author.trusted:
        raise BadInput(say(GUEST))
    by_person = isinstance(intention, Usage) and intention.by == "person"
    if (intention.scope == "all" or by_person) and not counting.sees_all(author):
        raise BadInput(say(NOT_A_VIEWER))


def _hidden(found: Sequence[Sum], here: str) -> tuple[Sum, ...]:
    """Channels that not everybody can read are not named, this one apart."""
    shown = [one for one in found if one.name == here or usage.is_public(one.name)]
    rest = [one for one in found if one not in shown]
    more = (Sum(OTHERS, total(one.amount for one in rest)),) if rest else ()
    return (*shown, *more)


def _budgets(
    acts: Acts, intention: BudgetsShown, counting: Counting, person: str, here: str
) -> str:
    purse = counting.purse
    if intention.scope == "all":
        found = usage.all_standings(purse, acts.now)
        hidden = [
            replace(one, called=say("a channel that is not public"))
            if one.budget.of == "channel" and one.who != here and not usage.is_public(one.who)
            else replace(one, called=one.who if one.budget.of == "channel" else one.called)
            for one in found
        ]
        return say_budgets(hidden, purse.zone)
    engines = tuple(sorted(acts.policy.names.engines)) if acts.event.author.trusted else ()
    subject = Subject(person, here, purse.project_of(acts.event.key), engines)
    found = usage.standings(purse, subject, acts.now)
    if not acts.event.author.trusted:
        found = tuple(one for one in found if one.budget.of == "person")
    name = acts.event.author.name
    return say_budgets(
        [replace(one, called=name if one.budget.of == "person" else one.called) for one in found],
        purse.zone,
        sums=counting.sees_all(acts.event.author),
    )
