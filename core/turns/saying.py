"""Puts what a run came to into the outbox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.blocks import Position
from core.context.frame import cut_head
from core.minutes import wordless_text
from core.model import Button, Conversation, Outcome, OutFile, Participant, Pull, Run, Step, Turn
from core.records import asked, exchanges, live, outbox
from core.streams import explain
from core.table import LASTING
from core.tongue import say
from core.turns.asked import by_leave_text
from core.turns.controls import NOTHING, Below
from core.turns.made import Made, left_text
from core.turns.rounds import Voice, has_spoken
from core.words import (
    anyway_button,
    ask_others_text,
    in_run_text,
    label_of,
    retry_button,
    seat_name,
)

MAX_POSTS = 60  # of one answer; about a minute at Slack's pace
MAX_CHARS = 200_000  # of one answer as it is shown: rendering takes some seconds for a million


@dataclass(frozen=True, slots=True)
class Closing:
    """A run that has ended and is to be settled.

    ``asked`` are the pulls of earlier hops of this chain; ``fresh`` says why the question had to
    be put another way (a key of ``core.words.FRESH``; "" = it had not); ``told_back`` that blocks
    which did not parse were told back in this chain already; ``others`` are engines that could be
    asked instead of one whose quota is used up, and ``rests`` says that it is not asked for now.
    ``made`` is the answer as it is posted, with the files that go with it; ``below`` what stands
    under it. ``shown`` is the outbox row of the message in which readers see the answer already.
    """

    run_id: str
    turn: Turn
    step: Step
    seat: Participant
    outcome: Outcome
    asked: tuple[Pull, ...]
    fresh: str
    max_followups: int
    told_back: bool = False
    others: tuple[str, ...] = ()
    rests: bool = False
    made: Made | None = None
    below: Below = NOTHING
    shown: int = 0


@dataclass(frozen=True, slots=True)
class Say:
    """Puts what a run came to into the outbox."""

    closing: Closing
    conversation: Conversation
    voice: Voice
    now: float
    later: bool = False

    def looked_up(self, run: Run) -> None:
        """What was pulled while it worked, in one post."""
        pulled = [p for p in run.in_run if not p.again]
        if pulled:
            text = in_run_text(pulled)
            self._post("pull", self.voice(self.conversation.key.chat, text, ""))

    def answer(self, visible: str, *, expected: bool, last: bool) -> None:
        """What it said, with the files that go with it."""
        label = label_of(self.closing.turn, self.closing.seat, self.closing.step.round)
        made = self.closing.made
        shown = made.shown if made and visible else visible
        first, *more = made.posts if made else ((),)
        shown = shown or _names(first)
        texts = self._spoken(shown, label) if shown else ()
        if texts:
            controls = self._controls() if last else ()
            self._post("answer", texts, () if more else controls, files=first)
            for number, files in enumerate(more, 1):
                names = self.voice(self.conversation.key.chat, _names(files), label)
                below = controls if number == len(more) else ()
                self._post("answer", names, below, files=files, fresh=True)
        elif expected:
            seat, outcome = self.closing.seat, self.closing.outcome
            why = say("{engine} ended without saying anything.", engine=seat.engine)
            why = explain(seat.engine, outcome) if outcome.kind == "empty" else why
            self.notice(of_seat(seat, why))

    def _controls(self) -> tuple[Button, ...]:
        closing = self.closing
        return closing.below.buttons(closing.run_id, closing.turn, closing.step, self.conversation)

    def not_posted(self) -> None:
        """Which files of the run are not here, and why."""
        left = self.closing.made.left if self.closing.made else ()
        if left:
            texts = self.voice(self.conversation.key.chat, left_text(left), "")
            lie = [OutFile(one.name, Path(one.path), 0) for one in left if one.path]
            self._post("notice", texts, staying=lie)

    def by_leave(self, run: Run) -> None:
        """What it was not asked for again, since it is allowed for the session."""
        if told := by_leave_text(asked.used(run.id)):
            self.notice(told)

    def wordless(self, run: Run, position: Position | None) -> None:
        """A position without words is one all the same."""
        turn = self.closing.turn
        if position and turn.kind == "roundtable" and not has_spoken(turn, run):
            self.notice(wordless_text(self.closing.seat, position))

    def failure(self, visible: str) -> None:
        """Why it came to nothing, below what it had said by then."""
        seat, turn = self.closing.seat, self.closing.turn
        if visible:
            label = label_of(turn, seat, self.closing.step.round) + say(" · broken off")
            self._post("answer", self._spoken(visible, label))
        reason = explain(seat.engine, self.closing.outcome)
        reason += ask_others_text(self.closing.others)
        again = anyway_button(turn.id) if self.closing.rests else retry_button(turn.id)
        buttons = (*self.closing.below.instead(turn.id, self.closing.others), again)
        buttons = () if turn.kind == "roundtable" else buttons
        more = turn.kind == "roundtable" and self.closing.step.round + 1 < turn.rounds
        sits_out = more and self.closing.outcome.kind in LASTING
        rest = say(" It sits out the rounds to come.") if sits_out else ""
        self.notice(f"⚠️ {of_seat(seat, reason)}{rest}", buttons)

    def _spoken(self, text: str, label: str) -> tuple[str, ...]:
        """The text as posts. One that would fill the thread for long is cut, and says so."""
        shown = text if len(text) <= MAX_CHARS else cut_head(text, MAX_CHARS)
        texts = self._voiced(text, shown, label)
        if len(texts) > MAX_POSTS:
            shown = cut_head(text, len(shown) * MAX_POSTS // (len(texts) + 1))
            texts = self._voiced(text, shown, label)
        return texts

    def _voiced(self, text: str, shown: str, label: str) -> tuple[str, ...]:
        if len(shown) < len(text):
            missing = say(
                "{count:,} of {count2:,} characters", count=len(text) - len(shown), count2=len(text)
            )
            shown += say(
                "\n\n⚠️ Too long for a thread: the last {missing} are not shown.", missing=missing
            )
        shown += self.closing.below.small_print(self.closing.outcome)
        return self.voice(self.conversation.key.chat, shown, label)

    def notice(self, text: str, buttons: tuple[Button, ...] = ()) -> None:
        """A word of ours; to a bot, which may answer each of them, the same one once."""
        texts = self.voice(self.conversation.key.chat, text, "")
        if not (self.closing.turn.by_bot and exchanges.repeats(self.conversation.id, texts)):
            self._post("notice", texts, buttons)

    def _post(
        self,
        kind: Any,
        texts: Sequence[str],
        buttons: tuple[Button, ...] = (),
        *,
        files: Sequence[OutFile] = (),
        staying: Sequence[OutFile] = (),
        fresh: bool = False,
    ) -> None:
        outbox.add_post(
            self.conversation.id,
            kind,
            texts,
            live=self._live() if kind == "answer" and not fresh else None,
            buttons=buttons,
            files=files,
            staying=staying,
            turn_id=self.closing.turn.id,
            run_id=self.closing.run_id,
            keep=self.later,
            now=self.now,
        )

    def _live(self) -> int | None:
        """The row of the message that shows the answer, where it may stay as the answer."""
        shown = self.closing.shown
        return shown if shown and not self.later and live.may_stay(shown, self.now) else None


def _names(files: Sequence[OutFile]) -> str:
    return "📎 " + ", ".join(f"`{file.name}`" for file in files) if files else ""


def of_seat(seat: Participant, told: str) -> str:
    """What is told names the engine already; who speaks is said where that is more."""
    return f"{seat_name(seat)}: {told}" if seat.persona else told
