"""What stands below an answer: how to go on from it, and in small print what it took. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.markup.small import small
from core.model import Button, Conversation, Outcome, Participant, Step, Turn
from core.tongue import say
from core.words import literal, other_buttons

MAX_ACTION_CHARS = 80
MAX_ENGINES = 25
A_FEW = 3  # engines that can stand in for one: so many have a button each


@dataclass(frozen=True, slots=True)
class Below:
    """What the settings want below an answer, and what is known for it.

    ``choices`` are engines that could be asked as well, ``seat`` names the model that was asked,
    ``seconds`` is how long that took.
    """

    controls: bool = False
    footer: bool = False
    choices: tuple[str, ...] = ()
    seat: Participant | None = None
    seconds: float = 0.0

    def buttons(
        self, run_id: str, turn: Turn, step: Step, conversation: Conversation
    ) -> tuple[Button, ...]:
        """Below the last piece of an answer; of a roundtable only what sums it up has any."""
        if not self.controls or (turn.kind == "roundtable" and step.round < turn.rounds):
            return ()
        alone = turn.kind != "roundtable"
        onward = (Button(f"onward:{run_id}", say("Continue")),) if alone else ()
        branch = () if conversation.direct else (Button(f"branch:{run_id}", say("Branch")),)
        context = Button(f"context:{run_id}", say("Context"))
        return (*onward, *branch, context, *_menu(f"also:{run_id}", self.choices if alone else ()))

    def instead(self, turn_id: int, others: Sequence[str]) -> tuple[Button, ...]:
        """Below a failure: engines to put the question to. ``others`` can stand in for it."""
        if 0 < len(others) <= A_FEW:
            return other_buttons(turn_id, others)
        return _menu(f"other:{turn_id}", others or (self.choices if self.controls else ()))

    def small_print(self, outcome: Outcome) -> str:
        """What comes after the words of an answer; "" where it is not wanted. Markdown.

        It is for people: it belongs to a post, never to the words that are kept of an answer.
        """
        if not self.footer or self.seat is None:
            return ""
        return f"\n\n{small(footer(self.seat, outcome, self.seconds))}"


NOTHING = Below()


def _menu(action: str, others: Sequence[str]) -> tuple[Button, ...]:
    fitting = [name for name in others if len(f"{action}:{name}") <= MAX_ACTION_CHARS]
    if not fitting:
        return ()
    options = tuple((name, name) for name in fitting[:MAX_ENGINES])
    return (Button(action, say("Ask another engine"), options=options),)


def footer(seat: Participant, outcome: Outcome, seconds: float) -> str:
    """Engine, model, time, tokens and, where it is told, what it cost. Markdown, one line."""
    usage = outcome.usage
    told = [literal(seat.engine, 40)]
    told += [literal(seat.model, 60)] if seat.model else []
    told.append(_clock(seconds))
    if usage.input_tokens or usage.output_tokens:
        told.append(
            say(
                "{read} tokens read, {written} written",
                read=f"{usage.input_tokens:,}",
                written=f"{usage.output_tokens:,}",
            )
        )
    if usage.cost_usd:
        told.append(f"${usage.cost_usd:,.2f}" if usage.cost_usd >= 0.01 else say("under $0.01"))
    return " · ".join(told)


def _clock(seconds: float) -> str:
    whole = max(0, round(seconds))
    if whole < 60:
        return say("{seconds} s", seconds=whole)
    return say("{minutes} min {seconds} s", minutes=whole // 60, seconds=whole % 60)
