"""What a roundtable writes beside its runs: forecast, posts in the order of the seats, its end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from core.blocks import Blocks, split_blocks, visible_of
from core.minutes import (
    capped_text,
    cut_short,
    failed_text,
    go_buttons,
    header_text,
    held_text,
    plain_summary,
    votes_text,
    why_absent,
)
from core.model import (
    Button,
    Forecast,
    Message,
    Outcome,
    Outgoing,
    Participant,
    Project,
    Run,
    Step,
    Turn,
    TurnState,
)
from core.records import exchanges, live, messages, outbox, runs, turns
from core.table import Course, last_attempts, next_steps, speaker, waits
from core.tongue import ENGLISH, say, speaking
from core.turns.asked import withdraw_run
from core.turns.work import apply_blocks
from core.words import literal, retry_button, seat_name, stop_button

Voice = Callable[[str, str, str], tuple[str, ...]]
"""``(chat, markdown, label)`` -> the platform's texts (``Chat.render`` of that chat)."""

GOING = ("queued", "running", "parked")


@dataclass(frozen=True, slots=True)
class Teller:
    """What is needed to put words into a conversation: its project, the platforms' voice, now."""

    project: Project
    voice: Voice
    now: float


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a turn stands, and what is to be run now."""

    turn: Turn
    runs: tuple[Run, ...]
    steps: tuple[Step, ...]


def interjected(turn: Turn) -> tuple[Message, ...]:
    """What people said to nobody while a table talked; nothing where that decides nothing."""
    if turn.kind != "roundtable":
        return ()
    return messages.interjections(turn.conversation_id, turn.prompt_message_id)


def go_on(
    teller: Teller, turn_id: int, *, max_hops: int, running: frozenset[Step] = frozenset()
) -> Standing:
    """What is to be run now; lets go what was kept of seats whose turn it is to be heard."""
    turn = turns.get_turn(turn_id)
    assert turn is not None
    done = runs.runs_of(turn_id)
    said = interjected(turn)
    steps = next_steps(turn, done, said, max_hops=max_hops, running=running)
    if turn.kind == "roundtable" and turn.rules.order != "sequential":
        course = Course(turn, done, max_hops, running)
        here = min((step.round for step in (*running, *steps)), default=turn.rounds)
        _let_go(teller, course, here)
    return Standing(turn, done, steps)


def _let_go(teller: Teller, course: Course, here: int) -> None:
    """Post what is ready, in the order of the seats; rounds before ``here`` are over."""
    turn = course.turn
    for round_ in range(min(here + 1, turn.rounds)):
        for seat in range(len(turn.seats)):
            if round_ == here and not course.settled(round_, seat):
                break
            for run in course.runs:
                if (run.step.round, run.step.seat) == (round_, seat):
                    outbox.release(run.id)
    for run in runs.untold(turn.id):
        if run.step.round < here:
            _tell_late(teller, turn, run)


def let_go_all(teller: Teller, turn: Turn) -> None:
    """The turn is over: nothing that was said is kept back."""
    for run in sorted(runs.runs_of(turn.id), key=lambda r: (r.step.round, r.step.seat, r.step.hop)):
        outbox.release(run.id)
    for run in runs.untold(turn.id):
        _tell_late(teller, turn, run)


def _tell_late(teller: Teller, turn: Turn, run: Run) -> None:
    """Put the words of a run of a parallel round, which is over, into the conversation."""
    blocks = split_blocks(run.answer)
    apply(teller, turn, run, blocks, tell(turn, run, teller.now))


def apply(teller: Teller, turn: Turn, run: Run, blocks: Blocks, message_id: int) -> None:
    """Write what the blocks of an answer say, and tell the thread of it."""
    if run.state != "answered" or not blocks.found:
        return
    conversation = messages.get_conversation(turn.conversation_id)
    told = apply_blocks(
        blocks,
        turn=turn,
        step=run.step,
        conversation=conversation,
        project=teller.project,
        message_id=message_id,
        seat=seat_at(turn, run.step),
        now=teller.now,
    )
    for text in told:
        post_notice(turn, text, teller.voice, teller.now, run_id=run.id)


def seat_at(turn: Turn, step: Step) -> Participant:
    """Who a step is for, as ``core.table.speaker``; the rows are asked only where they decide."""
    seat = turn.seat_of(step)
    return seat if seat.engine else speaker(turn, step, runs.runs_of(turn.id))


def tell(turn: Turn, run: Run, now: float, visible: str | None = None) -> int:
    """Put a settled run's words into the conversation; others at a table read of a silence, too.

    Their error text is nobody's opinion: a voice that is missing is told in words of ours.
    ``visible`` is what people see of the answer, where it is known. Returns the record id of what
    was said (0: nothing).
    """
    seat = seat_at(turn, run.step)
    visible = visible_of(run.answer) if visible is None else visible
    said = 0
    if visible:
        said = messages.add_answer(
            turn.conversation_id,
            seat,
            visible,
            turn_id=turn.id,
            now=now,
            interrupted=run.state != "answered",
        )
    did = visible or run.pulls or run.faults or split_blocks(run.answer).found
    silent = run.state == "answered" and not did and not has_spoken(turn, run)
    if turn.kind == "roundtable" and (run.state in ("failed", "skipped") or silent):
        with speaking(ENGLISH):  # the others read it
            absent = f"[no answer in this round: {why_absent(run)}]"
        messages.add_answer(
            turn.conversation_id, seat, absent, turn_id=turn.id, now=now, interrupted=True
        )
    runs.set_told(run.id, message_id=said)
    return said


def has_spoken(turn: Turn, run: Run) -> bool:
    """Whether people saw something of this seat in this round before ``run``."""
    here = replace(run.step, hop=0)
    return any(
        replace(earlier.step, hop=0) == here
        and earlier.step.hop < run.step.hop
        and earlier.state == "answered"
        and bool(visible_of(earlier.answer))
        for earlier in runs.runs_of(turn.id)
    )


def clear_status(run_id: str, now: float) -> None:
    """The run is over: what showed that it works goes, but for what becomes the answer."""
    live.clear(run_id, now)


# --- the header --------------------------------------------------------------------------


def show_header(turn: Turn, voice: Voice, now: float) -> None:
    """Owe an edit of a roundtable's header, so that it shows how things stand."""
    if turn.header is None:
        return
    conversation = messages.get_conversation(turn.conversation_id)
    deleted = messages.is_deleted(turn.prompt_message_id)  # it runs on, but is not quoted any more
    shown = replace(turn, prompt="") if deleted else turn
    done = runs.runs_of(turn.id)
    text = header_text(shown, done, _synthesis_id(turn, done))
    stop = (stop_button(turn.id),) if turn.state in (*GOING, "held") else ()
    texts = voice(conversation.key.chat, text, "")
    outbox.change_post(turn.header, texts[0], buttons=stop, now=now)


def posted(item: Outgoing, link: str, voice: Voice, now: float) -> None:
    """A post was sent, to be found at ``link``: the header leads to where the synthesis begins."""
    run = runs.get_run(item.run_id) if item.kind == "answer" and item.run_id and link else None
    turn = turns.get_turn(run.turn_id) if run else None
    if run is None or turn is None or turn.kind != "roundtable" or turn.synthesis_link:
        return
    if run.step.round == turn.rounds:
        turns.set_synthesis_link(turn.id, link)
        show_header(replace(turn, synthesis_link=link), voice, now)


def _synthesis_id(turn: Turn, done: Collection[Run]) -> int:
    mine = [run for run in done if run.step.round == turn.rounds and run.state == "answered"]
    if turn.state in GOING or not mine:
        return 0
    who = speaker(turn, turn.synthesis, tuple(done))
    return messages.last_of(turn.conversation_id, turn.id, who)


# --- before it starts --------------------------------------------------------------------


def reckoned(turn_id: int, forecast: Forecast, voice: Voice, now: float) -> TurnState:
    """Note what a roundtable may send and show it; one over its budget is held and says so."""
    turn = turns.get_turn(turn_id)
    assert turn is not None
    rules = turn.rules
    over = bool(rules.cap_chars) and not rules.confirmed and forecast.chars > rules.cap_chars
    if not turns.set_forecast(turn_id, forecast, hold=over):
        return turn.state
    turn = replace(turn, forecast=forecast, state="held" if over else turn.state)
    show_header(turn, voice, now)
    if over:
        post_notice(turn, held_text(turn, forecast), voice, now, buttons=go_buttons(turn.id))
    return turn.state


def decided(turn: Turn, told: str, voice: Voice, now: float) -> None:
    """Nobody is asked any more whether a held roundtable may go on: the thread reads ``told``.

    "" takes the question back; either way its buttons are gone.
    """
    chat = messages.get_conversation(turn.conversation_id).key.chat
    text = voice(chat, told, "")[0] if told else ""
    outbox.close_question(turn.id, text, now=now)


# --- a speaker is skipped ----------------------------------------------------------------


def skip(turn: Turn, run: Run, who: str, voice: Voice, now: float) -> bool:
    """Settle a run that somebody skips; False when it was over already.

    The caller ends its process after the commit.
    """
    outcome = Outcome("cancelled", detail=f"skipped by {who}")
    later = waits(turn, run.step)
    if not runs.settle_run(
        run.id, "skipped", outcome, answer="", pulls=(), now=now, told=not later
    ):
        return False
    clear_status(run.id, now)
    withdraw_run(run.id, say("skipped by {who}", who=who), voice, now)
    seat = seat_at(turn, run.step)
    if not later:
        tell(turn, replace(run, state="skipped", answer=""), now)
    rest = say("; the others go on") if run.step.round < turn.rounds else ""
    text = say(
        "⏭️ {seat} was skipped by {who}{rest}.",
        seat=literal(seat_name(seat)),
        who=literal(who),
        rest=rest,
    )
    post_notice(turn, text, voice, now, run_id=run.id)
    show_header(turn, voice, now)
    return True


# --- its end -----------------------------------------------------------------------------


def say_the_end(turn: Turn, voice: Voice, now: float) -> None:
    """What a roundtable that is done or failed leaves in the thread."""
    done = runs.runs_of(turn.id)
    if turn.state == "failed":
        text = "\n\n".join(filter(None, (failed_text(turn, done), turn.rules.spent)))
        post_notice(turn, text, voice, now, buttons=(retry_button(turn.id),))
        return
    if turn.rules.spent or cut_short(turn, done) == "cap":
        post_notice(turn, capped_text(turn), voice, now)
    if turn.rules.synthesizer is None:
        return
    summed = [r for r, _ in last_attempts(done).values() if r.step.round == turn.rounds]
    if not any(r.state == "answered" and visible_of(r.answer) for r in summed):
        why = (
            say("nobody summed up ({why_absent})", why_absent=why_absent(summed[-1]))
            if summed
            else say("nobody summed up")
        )
        texts = {run.id: visible_of(run.answer) for run in done}
        post_notice(turn, plain_summary(turn, done, texts, why), voice, now)
    post_notice(turn, votes_text(turn, done), voice, now)


def post_notice(
    turn: Turn,
    text: str,
    voice: Voice,
    now: float,
    *,
    buttons: Sequence[Button] = (),
    run_id: str | None = None,
    keep: bool = False,
) -> None:
    """Owe a notice in the turn's thread; ``keep`` as ``core.records.outbox.add_post``."""
    conversation = messages.get_conversation(turn.conversation_id)
    texts = voice(conversation.key.chat, text, "")
    if turn.by_bot and exchanges.repeats(conversation.id, texts):
        return  # it may answer each of them
    outbox.add_post(
        conversation.id,
        "notice",
        texts,
        buttons=buttons,
        turn_id=turn.id,
        run_id=run_id,
        keep=keep,
        now=now,
    )
