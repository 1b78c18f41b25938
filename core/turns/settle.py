"""What a step's beginning and end write, each as one transaction on the records' thread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from core.blocks import split_blocks
from core.minutes import run_buttons
from core.model import (
    Outcome,
    Participant,
    Permission,
    PulledResult,
    RunState,
    Step,
    Turn,
    TurnState,
)
from core.pull import split_markers
from core.records import asked, messages, outbox, runs, sessions, turns
from core.streams import posing_as_answer
from core.table import spoke, waits
from core.tongue import say
from core.turns.asked import withdraw_run, withdraw_turn
from core.turns.rounds import (
    GOING,
    Teller,
    Voice,
    apply,
    clear_status,
    let_go_all,
    post_notice,
    say_the_end,
    seat_at,
    show_header,
    tell,
)
from core.turns.saying import Closing, Say
from core.turns.work import unread_text
from core.words import (
    FRESH,
    pulled_text,
    retry_button,
    seat_name,
    status_text,
)


def open_step(
    run_id: str,
    turn: Turn,
    step: Step,
    seat: Participant,
    voice: Voice,
    *,
    can_write: bool,
    permission: Permission = "plan",
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
                conversation.id,
                "pull",
                texts,
                turn_id=turn.id,
                run_id=asked_by,
                keep=waits(turn, step),
                now=now,
            )
    status = outbox.add_post(
        conversation.id,
        "status",
        _begun(voice, conversation.key.chat, seat),
        buttons=run_buttons(turn, step),
        turn_id=turn.id,
        run_id=run_id,
        now=now,
    )
    runs.open_run(
        run_id,
        turn,
        step,
        seat,
        can_write=can_write,
        permission=permission,
        receipt=receipt,
        status=status,
        now=now,
    )
    show_header(turn, voice, now)
    return True


@lru_cache(maxsize=64)
def _begun(voice: Voice, chat: str, seat: Participant) -> tuple[str, ...]:
    """The status of a run that begins: the same each time, and its process waits for it."""
    return voice(chat, status_text(seat_name(seat), "", 0), "")[:1]


def close_step(closing: Closing, teller: Teller) -> RunState:
    """Settle a run: its answer, its pulls and what the thread sees of it; all or nothing.

    A run that something else settled first (a stop, a skip) changes nothing any more. What comes
    of a parallel round is kept until it is the seat's turn to be heard.
    """
    turn, voice, now = turns.get_turn(closing.turn.id), teller.voice, teller.now
    assert turn is not None
    outcome, state = closing.outcome, _state_of(closing.outcome, turn)
    conversation = messages.get_conversation(turn.conversation_id)
    blocks = split_blocks(outcome.text)
    visible, pulls = split_markers(blocks.text, already=closing.asked)
    visible, faults = visible.strip(), blocks.faults
    if state != "answered" or closing.step.hop >= closing.max_followups:
        pulls, faults = (), ()
    if closing.told_back:
        faults = ()
    if state == "failed" and _is_error(visible, outcome):
        visible = ""
    later = waits(turn, closing.step) and turn.state in GOING
    position = blocks.position if state == "answered" else None
    withdraw_run(closing.run_id, say("the run is over"), voice, now)
    if not runs.settle_run(
        closing.run_id,
        state,
        outcome,
        answer=outcome.text if visible or state == "answered" else "",
        pulls=pulls,
        position=position.model_dump_json() if position else "",
        faults=faults,
        told=not later,
        now=now,
    ):
        runs.child_gone(closing.run_id)
        return "cut"
    speech = Say(closing, conversation, voice, now, later=later)
    run = runs.get_run(closing.run_id)
    if state in ("answered", "failed"):
        speech.looked_up(run)
    if closing.fresh:
        speech.notice(say(FRESH[closing.fresh]))
    said = 0 if later else tell(turn, run, now, visible)
    if state == "answered":
        lost = () if faults else blocks.faults  # told back before, or there is no hop left for it
        expected = not (pulls or blocks.found or blocks.faults)
        speech.answer(visible, expected=expected, last=not (pulls or faults))
        speech.not_posted()
        speech.wordless(run, None if visible or pulls or faults else position)
        if lost:
            speech.notice(unread_text(seat_name(closing.seat), lost))
        speech.by_leave(run)
    elif state == "failed":
        speech.failure(visible)
    if not later:
        apply(teller, turn, run, blocks, said)
    clear_status(closing.run_id, now)
    if turn.state != "cancelled":
        show_header(turn, voice, now)
    return state


def end_of_turn(turn_id: int, teller: Teller) -> TurnState:
    """End a turn whose steps are all settled: done if anybody answered, else failed.

    A table at which all were silent has failed; a question that was answered by silence has not.
    """
    turn = turns.get_turn(turn_id)
    assert turn is not None
    done = runs.runs_of(turn_id)
    last = {(run.step.round, run.step.seat): run for run in done}
    answered = any(run.state == "answered" for run in last.values())
    if turn.kind == "roundtable":
        answered = answered and any(spoke(run) for run in done)
    ended = turns.end_turn(turn_id, "done" if answered else "failed", "", teller.now)
    turn = turns.get_turn(turn_id)
    assert turn is not None
    _forget_deleted(turn)
    withdraw_turn(turn_id, say("the question is answered"), teller.voice, teller.now)
    if turn.kind == "roundtable":
        let_go_all(teller, turn)
        if ended:
            say_the_end(turn, teller.voice, teller.now)
    if turn.state != "cancelled":
        show_header(turn, teller.voice, teller.now)
    return turn.state


def _forget_deleted(turn: Turn) -> None:
    """A question deleted while it was worked on was told to the end: no session goes on with it."""
    if messages.is_deleted(turn.prompt_message_id):
        sessions.end_told(turn.conversation_id, turn.queued_at)


def settle_cut(run_id: str, voice: Voice, now: float) -> None:
    """After a crash: close a run an earlier life left open.

    Made again once if it could not write (the turn's next step sees to that); otherwise the thread
    is told, with a Retry button, and it counts as answered. One that waited for people is parked:
    what they decide is the word that it may be made again.
    """
    run = runs.cut_open_run(run_id, now)
    turn = turns.get_turn(run.turn_id)
    assert turn is not None
    clear_status(run_id, now)
    if run.state != "cut":  # skipped, and the crash came before its process had ended
        runs.child_gone(run_id)
        return
    if turn.state in ("queued", "running") and asked.holds(run_id):
        runs.park(run_id)
        return
    withdraw_run(run_id, say("the run is over"), voice, now)
    if turn.state not in ("queued", "running") or (run.attempt < 2 and not run.can_write):
        return
    runs.give_up(run_id)
    name = seat_name(seat_at(turn, run.step))
    why = say("it may have changed files") if run.can_write else say("it was cut off twice")
    text = say(
        "⚠️ Moot was interrupted while {name} worked. Since {why}, it was not started again.",
        name=name,
        why=why,
    )
    later = waits(turn, run.step)
    buttons = (retry_button(turn.id),)
    post_notice(turn, text, voice, now, buttons=buttons, run_id=run_id, keep=later)
    if later:
        runs.set_told(run_id, told=False)
    elif turn.kind == "roundtable":  # the others read that a voice is missing
        tell(turn, runs.get_run(run_id), now)


def fail_turn(turn_id: int, teller: Teller) -> None:
    """Moot itself failed at this turn: settle all of it and tell the thread."""
    voice, now = teller.voice, teller.now
    for run in runs.runs_of(turn_id):
        broken = Outcome("crashed", detail="an error inside Moot")
        if runs.settle_run(run.id, "failed", broken, answer="", pulls=(), now=now):
            clear_status(run.id, now)
    withdraw_turn(turn_id, say("the run is over"), voice, now)
    if not turns.end_turn(turn_id, "failed", "an error inside Moot", now):
        return
    turn = turns.get_turn(turn_id)
    assert turn is not None
    _forget_deleted(turn)
    let_go_all(teller, turn)
    text = say(
        "⚠️ Something went wrong inside Moot (turn {turn_id}; the log says what).", turn_id=turn_id
    )
    post_notice(turn, text, voice, now, buttons=(retry_button(turn.id),))
    show_header(turn, voice, now)


def _state_of(outcome: Outcome, turn: Turn) -> RunState:
    if turn.state == "cancelled":
        return "cancelled"
    # Nothing said and nothing used is no silence but a failure, such as a used-up limit (C103).
    if outcome.kind == "empty" and not (outcome.usage.input_tokens or outcome.usage.output_tokens):
        return "failed"
    # "cancelled" without a stop of ours: somebody ended the process on the host. That is said.
    return "answered" if outcome.kind in ("answered", "empty") else "failed"


def _is_error(visible: str, outcome: Outcome) -> bool:
    """Whether what a failed run said is its error, which is nobody's opinion (C109, C135)."""
    said, told = (" ".join(text.split()).casefold() for text in (visible, outcome.detail))
    return bool(said) and (posing_as_answer(visible) is not None or said in told)
