"""Budgets on the path of a turn: whether it may begin, what its runs used, who is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from core.model import Outcome, Participant, Step, Turn, Usage
from core.records import messages, turns, usage
from core.records.usage import Purse
from core.spending import (
    WARN_AT,
    Standing,
    Subject,
    ended_text,
    refused_text,
    warned_text,
)
from core.tongue import speaking_at
from core.turns.rounds import Teller, Voice, post_notice, show_header
from core.words import ask_others_text, other_buttons, retry_button


def subject_of(turn: Turn, purse: Purse, *engines: str) -> Subject:
    """Whose use the runs of a turn are, by these engines (none: by all of its seats)."""
    key = messages.get_conversation(turn.conversation_id).key
    channel = f"{key.chat}:{key.channel}"
    seats = engines or tuple(seat.engine for seat in turn.seats)
    return Subject(turn.asker_key, channel, purse.project_of(key), seats)


def refusal(turn: Turn, purse: Purse, now: float) -> str:
    """Why a turn may not begin: it falls under a budget with nothing left; "": it may."""
    none_left = _none_left(turn, purse, now)
    return refused_text(_named(none_left, turn), purse.zone) if none_left else ""


def _none_left(turn: Turn, purse: Purse, now: float, *engines: str) -> Standing | None:
    """The used-up budget that a turn falls under, with these engines (none: its own)."""
    if not purse.budgets:
        return None
    subject = subject_of(turn, purse, *engines)
    return usage.spent(usage.standings(purse, subject, now, without_turn=turn.id))


def _instead(turn: Turn, purse: Purse, now: float) -> tuple[str, ...]:
    """Engines that a question could go to whose own engine may not be asked any more."""
    none_left = _none_left(turn, purse, now)
    if none_left is None or none_left.budget.of != "engine" or turn.kind != "ask":
        return ()
    there = purse.others(turn.seats[0].engine)
    return tuple(name for name in there if not _none_left(turn, purse, now, name))


def refuse(turn: Turn, purse: Purse, voice: Voice, now: float) -> bool:
    """End a turn that falls under a budget with nothing left, with a word that says so and a Retry.

    Whether it was so. Nothing of it is lost; where it is an engine's budget, others are offered.
    """
    text = refusal(turn, purse, now)
    others = _instead(turn, purse, now) if text else ()
    if not text or not turns.end_turn(turn.id, "failed", "a budget is used up", now):
        return False
    text += ask_others_text(others)
    buttons = (retry_button(turn.id), *other_buttons(turn.id, others))
    post_notice(turn, text, voice, now, buttons=buttons)
    show_header(replace(turn, state="failed"), voice, now)
    return True


def may_begin(turn: Turn, purse: Purse, voice: Voice, now: float) -> Literal["yes", "wait", "no"]:
    """Whether a turn that waits may begin: not beyond a budget, with what runs under way may use.

    ``wait``: the rest of a budget is reserved; ``no``: nothing is left, the turn is over.
    """
    if not purse.budgets:
        return "yes"
    with speaking_at(messages.get_conversation(turn.conversation_id).key):
        if refuse(turn, purse, voice, now):
            return "no"
    found = usage.standings(purse, subject_of(turn, purse), now, without_turn=turn.id)
    return "wait" if usage.spent(found, reserved=True) else "yes"


def may_open(turn: Turn, step: Step, engine: str, purse: Purse, now: float) -> bool:
    """Whether a further run of a roundtable may begin; if not, it holds no more rounds and says so.

    What was begun is finished: follow-ups go on. A single question was asked when it was claimed.
    """
    if not purse.budgets or turn.kind != "roundtable" or step.hop:
        return True
    subject = subject_of(turn, purse, engine)
    found = usage.standings(purse, subject, now, without_turn=turn.id)
    if (none_left := usage.spent(found, reserved=True)) is None:
        return True
    turns.set_spent(turn.id, ended_text(_named(none_left, turn), purse.zone))
    return False


def in_all(outcome: Outcome, earlier: Iterable[Usage]) -> Outcome:
    """With what was used in vain before, when one run took several processes."""
    used = outcome.usage
    for more in earlier:
        used = replace(
            used,
            input_tokens=used.input_tokens + more.input_tokens,
            output_tokens=used.output_tokens + more.output_tokens,
            cached_tokens=used.cached_tokens + more.cached_tokens,
            # What a session came to would be counted twice.
            cost_usd=used.cost_usd + (0.0 if more.session_cost_usd else more.cost_usd),
        )
    return replace(outcome, usage=used)


def note(
    starts: Sequence[float],
    run_id: str,
    turn: Turn,
    seat: Participant,
    outcome: Outcome,
    purse: Purse,
    teller: Teller,
) -> None:
    """Write what a run used; the thread is told once when most, or all, of a budget is used.

    ``starts`` are those of its processes and calls: without any its engine was not asked (it
    rests, or is not there), and nothing is written.
    """
    now = teller.now
    if not starts:
        return
    usage.note_run(run_id, turn, seat, outcome, teller.project.name, now)
    if not purse.budgets:
        return
    for standing in usage.standings(purse, subject_of(turn, purse, seat.engine), now):
        level = "full" if standing.share >= 1 else "most" if standing.share >= WARN_AT else ""
        if level and usage.first_time(standing, level, now):
            text = warned_text(_named(standing, turn), purse.zone)
            post_notice(turn, text, teller.voice, now)


def _named(standing: Standing, turn: Turn) -> Standing:
    """With the name of the person as it is now."""
    return replace(standing, called=turn.asker) if standing.budget.of == "person" else standing
