"""What a step's beginning and end write, each as one transaction on the records' thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.context.frame import cut_head
from core.model import (
    Button,
    Conversation,
    Outcome,
    Participant,
    Pull,
    PulledResult,
    RunState,
    Step,
    Turn,
    TurnState,
)
from core.pull import split_markers
from core.records import messages, outbox, runs, turns
from core.streams import explain
from core.table import LASTING
from core.words import (
    header_text,
    in_run_text,
    label_of,
    pulled_text,
    retry_button,
    seat_name,
    status_text,
    stop_button,
)

MAX_POSTS = 60  # of one answer; about a minute at Slack's pace
MAX_CHARS = 200_000  # of one answer as it is shown: rendering takes some seconds for a million

Voice = Callable[[str, str, str], tuple[str, ...]]
"""``(chat, markdown, label)`` -> the platform's texts (``Chat.render`` of that chat)."""


@dataclass(frozen=True, slots=True)
class Closing:
    """A run that has ended and is to be settled.

    ``asked`` are the pulls of earlier hops of this chain; ``fresh`` says that the engine's session
    was lost and the full context was sent again.
    """

    run_id: str
    turn: Turn
    step: Step
    seat: Participant
    outcome: Outcome
    asked: tuple[Pull, ...]
    fresh: bool
    max_followups: int


def open_step(
    run_id: str,
    turn: Turn,
    step: Step,
    seat: Participant,
    voice: Voice,
    *,
    can_write: bool,
    receipt: dict[str, Any],
    pulled: Sequence[PulledResult],
    asked_by: str,
    now: float,
) -> bool:
    """Write the run and its status message, and what the pulls before it brought.

    False, and nothing is written, when the turn was ended meanwhile (a stop between two steps).
    """
    current = turns.get_turn(turn.id)
    if current is None or current.state != "running":
        return False
    conversation = messages.get_conversation(turn.conversation_id)
    if asked_by and pulled:
        again = runs.set_hits(asked_by, [len(item.hits) for item in pulled])
        if not again:  # a repeated follow-up (after a crash) has shown its pulls already
            texts = voice(conversation.key.chat, pulled_text(pulled), "")
            outbox.add_post(
                conversation.id, "pull", texts, turn_id=turn.id, run_id=asked_by, now=now
            )
    texts = voice(conversation.key.chat, status_text(seat_name(seat), "", 0), "")
    stop = (stop_button(turn.id),)
    status = outbox.add_post(
        conversation.id,
        "status",
        texts[:1],
        buttons=stop,
        turn_id=turn.id,
        run_id=run_id,
        now=now,
    )
    runs.open_run(
        run_id, turn, step, seat, can_write=can_write, receipt=receipt, status=status, now=now
    )
    _show_header(turn, voice, now)
    return True


def close_step(closing: Closing, voice: Voice, now: float) -> RunState:
    """Settle a run: its answer, its pulls and what the thread sees of it; all or nothing.

    A run that something else settled first (a stop) leaves only its partial text; nothing of it is
    posted any more.
    """
    turn = turns.get_turn(closing.turn.id)
    assert turn is not None
    outcome, state = closing.outcome, _state_of(closing.outcome, turn)
    conversation = messages.get_conversation(turn.conversation_id)
    visible, pulls = split_markers(outcome.text, already=closing.asked)
    if state != "answered" or closing.step.hop >= closing.max_followups:
        pulls = ()
    visible = visible.strip()
    if not runs.settle_run(
        closing.run_id, state, outcome, answer=outcome.text, pulls=pulls, now=now
    ):
        return "cut"
    say = _Say(closing, conversation, voice, now)
    say.looked_up()
    if closing.fresh:
        say.notice(
            "The engine's own session was gone: it was started afresh with the full context."
        )
    if visible:
        messages.add_answer(
            conversation.id,
            closing.seat,
            visible,
            turn_id=turn.id,
            now=now,
            interrupted=state != "answered",
        )
    if state == "answered":
        say.answer(visible, expected=not pulls)
    elif state == "failed":
        say.failure(visible)
    _clear_status(closing.run_id, now)
    _show_header(turn, voice, now)
    return state


def end_of_turn(turn_id: int, voice: Voice, now: float) -> TurnState:
    """End a turn whose steps are all settled: done if anybody answered, else failed."""
    last = {(run.step.round, run.step.seat): run for run in runs.runs_of(turn_id)}
    answered = any(run.state == "answered" for run in last.values())
    turns.end_turn(turn_id, "done" if answered else "failed", "", now)
    turn = turns.get_turn(turn_id)
    assert turn is not None
    _show_header(turn, voice, now)
    return turn.state


def settle_cut(run_id: str, voice: Voice, now: float) -> None:
    """After a crash: close a run an earlier life left open.

    Made again once if it could not write (the turn's next step sees to that); otherwise the thread
    is told, with a Retry button, and it counts as answered.
    """
    run = runs.cut_open_run(run_id, now)
    turn = turns.get_turn(run.turn_id)
    assert turn is not None
    _clear_status(run_id, now)
    if turn.state not in ("queued", "running") or (run.attempt < 2 and not run.can_write):
        return
    runs.give_up(run_id)
    name = seat_name(turn.seats[run.step.seat])
    why = "it may have changed files" if run.can_write else "it was cut off twice"
    text = f"⚠️ Moot was interrupted while {name} worked. Since {why}, it was not started again."
    _offer_retry(turn, text, voice, now, run_id=run_id)


def fail_turn(turn_id: int, voice: Voice, now: float) -> None:
    """Moot itself failed at this turn: settle all of it and tell the thread."""
    for run in runs.runs_of(turn_id):
        broken = Outcome("crashed", detail="an error inside Moot")
        if runs.settle_run(run.id, "failed", broken, answer="", pulls=(), now=now):
            _clear_status(run.id, now)
    if not turns.end_turn(turn_id, "failed", "an error inside Moot", now):
        return
    turn = turns.get_turn(turn_id)
    assert turn is not None
    text = f"⚠️ Something went wrong inside Moot (turn {turn_id}; the log says what)."
    _offer_retry(turn, text, voice, now)
    _show_header(turn, voice, now)


def _offer_retry(
    turn: Turn, text: str, voice: Voice, now: float, *, run_id: str | None = None
) -> None:
    """Tell the thread what kept a turn from its answer, with a Retry button."""
    conversation = messages.get_conversation(turn.conversation_id)
    outbox.add_post(
        conversation.id,
        "notice",
        voice(conversation.key.chat, text, ""),
        buttons=(retry_button(turn.id),),
        turn_id=turn.id,
        run_id=run_id,
        now=now,
    )


def _clear_status(run_id: str, now: float) -> None:
    """The run is over: its status message goes."""
    status = runs.status_of(run_id)
    if status is not None:
        outbox.withdraw_post(status, now=now)


@dataclass(frozen=True, slots=True)
class _Say:
    """Puts what a run came to into the outbox."""

    closing: Closing
    conversation: Conversation
    voice: Voice
    now: float

    def looked_up(self) -> None:
        """What was pulled while it worked, in one post."""
        if pulled := runs.pulled_in_run(self.closing.run_id):
            text = in_run_text(pulled)
            self._post("pull", self.voice(self.conversation.key.chat, text, ""))

    def answer(self, visible: str, *, expected: bool) -> None:
        label = label_of(self.closing.turn, self.closing.seat, self.closing.step.round)
        texts = self._spoken(visible, label) if visible else ()
        if texts:
            self._post("answer", texts)
        elif expected:
            seat, outcome = self.closing.seat, self.closing.outcome
            why = f"{seat.engine} ended without saying anything."
            why = explain(seat.engine, outcome) if outcome.kind == "empty" else why
            self.notice(_of(seat, why))
            self._absent()

    def failure(self, visible: str) -> None:
        seat, turn = self.closing.seat, self.closing.turn
        if visible:
            label = label_of(turn, seat, self.closing.step.round) + " · broken off"
            self._post("answer", self._spoken(visible, label))
        reason = explain(seat.engine, self.closing.outcome)
        buttons = () if turn.kind == "roundtable" else (retry_button(turn.id),)
        more = turn.kind == "roundtable" and self.closing.step.round + 1 < turn.rounds
        sits_out = more and self.closing.outcome.kind in LASTING
        rest = " It sits out the rounds to come." if sits_out else ""
        self.notice(f"⚠️ {_of(seat, reason)}{rest}", buttons)
        self._absent()

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
            missing = f"{len(text) - len(shown):,} of {len(text):,} characters"
            shown += f"\n\n⚠️ Too long for a thread: the last {missing} are not shown."
        return self.voice(self.conversation.key.chat, shown, label)

    def _absent(self) -> None:
        """The others at a table must know that a voice is missing, and take no error for one."""
        turn, seat = self.closing.turn, self.closing.seat
        if turn.kind == "roundtable":
            kind = self.closing.outcome.kind
            absent = f"[no answer in this round: {'empty' if kind == 'answered' else kind}]"
            messages.add_answer(
                self.conversation.id, seat, absent, turn_id=turn.id, now=self.now, interrupted=True
            )

    def notice(self, text: str, buttons: tuple[Button, ...] = ()) -> None:
        self._post("notice", self.voice(self.conversation.key.chat, text, ""), buttons)

    def _post(self, kind: Any, texts: Sequence[str], buttons: tuple[Button, ...] = ()) -> None:
        outbox.add_post(
            self.conversation.id,
            kind,
            texts,
            buttons=buttons,
            turn_id=self.closing.turn.id,
            run_id=self.closing.run_id,
            now=self.now,
        )


def _state_of(outcome: Outcome, turn: Turn) -> RunState:
    if turn.state == "cancelled":
        return "cancelled"
    # Nothing said and nothing used is no silence but a failure, such as a used-up limit (C103).
    if outcome.kind == "empty" and not (outcome.usage.input_tokens or outcome.usage.output_tokens):
        return "failed"
    # "cancelled" without a stop of ours: somebody ended the process on the host. That is said.
    return "answered" if outcome.kind in ("answered", "empty") else "failed"


def _show_header(turn: Turn, voice: Voice, now: float) -> None:
    """Owe an edit of a roundtable's header, so that it shows how things stand."""
    if turn.header is None or turn.state == "cancelled":
        return
    conversation = messages.get_conversation(turn.conversation_id)
    deleted = messages.is_deleted(turn.prompt_message_id)  # it runs on, but is not quoted any more
    shown = replace(turn, prompt="") if deleted else turn
    text = header_text(shown, runs.runs_of(turn.id))
    going = turn.state in ("queued", "running")
    stop = (stop_button(turn.id),) if going else ()
    texts = voice(conversation.key.chat, text, "")
    outbox.change_post(turn.header, texts[0], buttons=stop, now=now)


def _of(seat: Participant, told: str) -> str:
    """What is told names the engine already; who speaks is said where that is more."""
    return f"{seat_name(seat)}: {told}" if seat.persona else told
