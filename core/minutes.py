"""What Moot says of a roundtable: its header, its count of positions, its own summary. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from core.blocks import Position, visible_of
from core.model import Button, Forecast, Participant, Run, Step, Turn
from core.table import (
    Course,
    absences,
    agreed,
    last_attempts,
    positions,
    present,
    speaker,
    spent,
    spoke,
)
from core.tongue import say, say_many, to_say
from core.words import DELETED, literal, seat_name, stop_button

_MARKS = {
    "answered": "✅",
    "failed": "⚠️",
    "cancelled": "⏹️",
    "skipped": "⏭️",
    "cut": "↻",
    "parked": "⏸️",
    "open": "💬",
}
_ENDINGS = {"done": to_say("complete"), "failed": to_say("failed"), "cancelled": to_say("stopped")}
_ORDERS = {
    "sequential": to_say("one after the other"),
    "parallel": to_say("all at once"),
    "blind": to_say("all at once, nobody reads anyone in round 1"),
}
_STANCES = {
    "agree": to_say("agrees"),
    "disagree": to_say("disagrees"),
    "abstain": to_say("abstains"),
}
_WHYS = {
    "": to_say("interrupted"),
    "empty": to_say("empty"),
    "refused": to_say("refused"),
    "auth": to_say("auth"),
    "quota": to_say("quota"),
    "rate": to_say("rate"),
    "overloaded": to_say("overloaded"),
    "context-too-long": to_say("context-too-long"),
    "session-lost": to_say("session-lost"),
    "bad-model": to_say("bad-model"),
    "bad-config": to_say("bad-config"),
    "missing-binary": to_say("missing-binary"),
    "crashed": to_say("crash"),
    "stalled": to_say("timed out"),
    "cancelled": to_say("cancelled"),
}
MAX_LAST_WORD_CHARS = 400
MAX_NAMES_CHARS = 800  # of a header, which has to be one post: Discord's hold 2,000 characters


def next_button(turn_id: int, step: Step) -> Button:
    """Skips a speaker in this round, and in no other should it be pressed late."""
    return Button(f"next:{turn_id}:{step.round}:{step.seat}", say("Next"))


def run_buttons(turn: Turn, step: Step) -> tuple[Button, ...]:
    """What stands under the status message of a run."""
    stop = stop_button(turn.id)
    return (next_button(turn.id, step), stop) if turn.kind == "roundtable" else (stop,)


def show_names(seats: Iterable[Participant]) -> str:
    """``architect (claude), codex``: names as they stand in our sentences."""
    return ", ".join(literal(seat_name(seat)) for seat in seats)


# --- how it stands ------------------------------------------------------------------------


def header_state(turn: Turn, runs: Sequence[Run]) -> str:
    """How a roundtable stands, honestly.

    waiting, held, round n/m, summing up, and in the end: complete, partial, stopped, failed.
    """
    if turn.state == "held":
        return say("waits for your word")
    if turn.state == "parked":
        return say("waits for your decision")
    if turn.state == "queued" and not runs:
        return say("waiting")
    if turn.state in ("queued", "running"):
        now = max((run.step.round for run in runs), default=0) + 1
        if now > turn.rounds:
            return say("summing up")
        return say("round {now}/{rounds}", now=now, rounds=turn.rounds)
    if turn.state == "done" and is_partial(turn, runs):
        return say("partial")
    return say(_ENDINGS[turn.state])


def is_partial(turn: Turn, runs: Sequence[Run]) -> bool:
    """Whether something that was to come is missing: a voice, the rounds after a cap, the end."""
    last = [run for run, _ in last_attempts(runs).values()]
    whole = all(run.state == "answered" for run in last)
    silent = any(run.state == "answered" and run.outcome == "empty" for run in last)
    summed = turn.rules.synthesizer is None or any(
        run.step.round == turn.rounds and run.state == "answered" and visible_of(run.answer)
        for run in last
    )
    return not whole or silent or not summed or cut_short(turn, runs) == "cap"


def cut_short(turn: Turn, runs: Sequence[Run]) -> str:
    """Why rounds were left out: ``agreed``, ``cap``, or "" when none was."""
    begun = {run.step.round for run in runs}
    course = Course(turn, runs)
    for round_ in range(turn.rounds):
        owed, _ = course.owed(round_)  # also what somebody was to look up
        if owed:
            whole = round_ not in begun and round_ > 0
            return "agreed" if whole and agreed(turn, runs, round_ - 1) else "cap"
    return ""


def header_text(turn: Turn, runs: Sequence[Run], synthesis_id: int = 0) -> str:
    """A roundtable's header: topic, a line per round with each seat's standing, what it costs.

    ``synthesis_id`` is the record id of the synthesis, once it is there.
    """
    state = header_state(turn, runs)
    topic = literal(turn.prompt, 300) if turn.prompt else f"*{say(DELETED)}*"
    # Who asked: behind a slash command there is no message of theirs.
    head = say("**Roundtable** · {state} · asked by {who}", state=state, who=literal(turn.asker))
    lines = [head, "", f"> {topic}", ""]
    last = _newest(runs)
    over = turn.state not in ("queued", "running", "held", "parked")
    skipped = cut_short(turn, runs) if turn.state == "done" else ""
    whole = sum(len(seat_name(seat)) + 5 for seat in turn.seats) * turn.rounds
    named = whole <= MAX_NAMES_CHARS  # else a post could not hold what comes after them
    lines += (
        [] if named else [say("- In turn: {names}", names=", ".join(map(seat_name, turn.seats)))]
    )
    for number in range(turn.rounds):
        if skipped and not any(round_ == number for round_, _ in last):
            why = say("all agreed") if skipped == "agreed" else say("the budget was used up")
            lines.append(say("- Round {number}: left out, {why}", number=number + 1, why=why))
            continue
        seats = enumerate(turn.seats)
        marks = [_marked(seat, last.get((number, n)), over=over, named=named) for n, seat in seats]
        told = (", " if named else " ").join(marks)
        lines.append(say("- Round {number}: {told}", number=number + 1, told=told))
    if turn.rules.synthesizer is not None:
        place = turn.synthesis
        who = speaker(turn, place, runs)
        mark = _marked(who, last.get((place.round, place.seat)), over=over)
        number = say("message #{synthesis_id}", synthesis_id=synthesis_id)
        number = f"[{number}]({turn.synthesis_link})" if turn.synthesis_link else number
        where = say(" · {number}, at the end of this thread", number=number) if synthesis_id else ""
        lines.append(say("- Synthesis: {mark}{where}", mark=mark, where=where))
    return "\n".join([*lines, "", _small_print(turn, runs)])


def _newest(runs: Sequence[Run]) -> dict[tuple[int, int], Run]:
    """The last run of each seat in each round."""
    steps = sorted(last_attempts(runs).items(), key=lambda item: item[0].hop)
    return {(step.round, step.seat): run for step, (run, _) in steps}


def _marked(seat: Participant, run: Run | None, *, over: bool, named: bool = True) -> str:
    mark = _mark(run, over=over) if run else "▫️"
    return f"{mark} {seat_name(seat)}" if named else mark


def _mark(run: Run, *, over: bool) -> str:
    if run.state == "answered" and run.outcome == "empty" and not spoke(run):
        return _MARKS["failed"]  # it ended well and said nothing: a voice is missing all the same
    # A stop is told before the process has ended and its run is closed.
    return _MARKS["cancelled" if run.state == "open" and over else run.state]


def _small_print(turn: Turn, runs: Sequence[Run]) -> str:
    said = [say(_ORDERS[turn.rules.order])]
    if turn.forecast is not None:
        said.append(forecast_text(turn.forecast))
    if runs:
        calls = say_many("{count} call", "{count} calls", len(runs))
        sent = say("sent so far") if turn.state in ("queued", "running", "parked") else say("sent")
        said.append(
            say("{sent}: {calls}, {spent:,} characters", sent=sent, calls=calls, spent=spent(runs))
        )
    if turn.rules.cap_chars and not turn.rules.confirmed:
        said.append(say("budget {cap_chars:,}", cap_chars=turn.rules.cap_chars))
    return _begun(" · ".join(said))


def _begun(text: str) -> str:
    """A sentence's first letter; names in it stay as they are."""
    return text[0].upper() + text[1:]


def forecast_text(forecast: Forecast) -> str:
    """What a roundtable may send, in a line."""
    cost = say("about ${cost_usd:,.2f}", cost_usd=forecast.cost_usd) if forecast.cost_usd else ""
    if forecast.unpriced:
        names = ", ".join(forecast.unpriced)
        cost = (
            say("{cost}, and unknown for {names}", cost=cost, names=names)
            if cost
            else say("cost unknown ({names} told none)", names=names)
        )
    return say(
        "forecast: up to {calls} calls, {chars:,} characters, about {tokens:,} tokens, "
        "{cost}; reckoned with answers of {answer_chars:,} characters and no Pulls",
        calls=forecast.calls,
        chars=forecast.chars,
        tokens=forecast.tokens,
        cost=cost,
        answer_chars=forecast.answer_chars,
    )


def held_text(turn: Turn, forecast: Forecast) -> str:
    """What asks for a person's word before a roundtable that would cost much."""
    return say(
        "⏸️ This roundtable may send more than its budget of {cap_chars:,} characters. "
        "{forecast_text}. **Go on** lifts the budget for this roundtable; fewer rounds "
        "or participants make it smaller. Other questions here go on meanwhile.",
        cap_chars=turn.rules.cap_chars,
        forecast_text=_begun(forecast_text(forecast)),
    )


def let_go_text(turn: Turn, who: str) -> str:
    """What stands in the place of ``held_text`` once somebody gave the word."""
    return say(
        "▶️ {who} let this roundtable go on beyond its budget of {cap_chars:,} characters.",
        who=literal(who),
        cap_chars=turn.rules.cap_chars,
    )


def go_buttons(turn_id: int) -> tuple[Button, ...]:
    """The answer to ``held_text``."""
    return (Button(f"go:{turn_id}", say("Go on"), "primary"), stop_button(turn_id))


# --- its end ------------------------------------------------------------------------------


def wordless_text(seat: Participant, stand: Position) -> str:
    """Of an answer that is nothing but a position: people would see nothing of it."""
    why = f": {literal(stand.summary, 200)}" if stand.summary else ""
    who, where = literal(seat_name(seat)), say(_STANCES[stand.stance])
    return say(
        "{who} wrote nothing but a position: **{where}** ({confidence:.0%}){why}",
        who=who,
        where=where,
        confidence=stand.confidence,
        why=why,
    )


def votes_text(turn: Turn, runs: Sequence[Run]) -> str:
    """Our own count of where everybody stands, and who was missing; never a model's."""
    stands = positions(turn, runs)
    lines = [say("**Positions**, as each participant ended with it (counted by Moot):"), ""]
    lines += [say("| participant | position | confidence | in a sentence |"), "|---|---|---|---|"]
    for number, seat in enumerate(turn.seats):
        stand = stands.get(number)
        where = say(_STANCES[stand.stance]) if stand else say("gave none")
        sure = f"{stand.confidence:.0%}" if stand else ""
        why = literal(stand.summary, 200) if stand else ""
        lines.append(f"| {literal(seat_name(seat))} | {where} | {sure} | {why} |")
    held = Counter(stand.stance for stand in stands.values())
    counts = [
        say("{count} agree", count=held["agree"]),
        say("{count} disagree", count=held["disagree"]),
        say("{count} abstain", count=held["abstain"]),
    ]
    none = len(turn.seats) - len(stands)
    counts += [say("{none} gave no position", none=none)] if none else []
    lines += ["", ", ".join(counts) + "."]
    missing = missing_text(turn, runs)
    return "\n".join(
        [*lines, *(["\n" + say("Missing: {missing}.", missing=missing)] if missing else [])]
    )


def stands(turn: Turn, runs: Sequence[Run]) -> tuple[str, ...]:
    """Where each participant stands, one line each, for the one who sums up; their words raw."""
    found = positions(turn, runs)
    return tuple(
        f"{seat_name(seat)}: "
        + (
            f"{found[n].stance} (confidence {found[n].confidence:.0%}): {found[n].summary}"
            if n in found
            else "gave no position"
        )
        for n, seat in enumerate(turn.seats)
    )


def missing_text(turn: Turn, runs: Sequence[Run]) -> str:
    """Who gave no answer in which round, and why; "" when nobody was missing."""
    told: list[str] = []
    last = _newest(runs)
    held = {round_ for round_, _ in last if round_ < turn.rounds}
    absent = absences(runs)
    for number, seat in enumerate(turn.seats):
        for round_ in sorted(held):
            run = last.get((round_, number))
            if number in present(turn, runs, round_):
                continue
            if run is None:
                out = absent.get(number, round_) < round_
                why = say("sat out") if out else say("was not asked")
            else:
                why = why_absent(run)
            told.append(
                say(
                    "{seat} in round {round} ({why})",
                    seat=literal(seat_name(seat)),
                    round=round_ + 1,
                    why=why,
                )
            )
    return ", ".join(told)


def why_absent(run: Run) -> str:
    """Why nothing came of a run, in a word of ours."""
    if run.state == "skipped":
        return say("skipped")
    kind = "empty" if run.outcome == "answered" else run.outcome
    return say(_WHYS.get(kind, kind))


def plain_summary(turn: Turn, runs: Sequence[Run], texts: Mapping[str, str], why: str) -> str:
    """Who said what last: stands in where nobody summed up.

    ``texts`` are the visible answers by run id; ``why`` says why it is ours.
    """
    lines = [
        say(
            "**Summary by Moot**, since {why}. It repeats who said what last and judges nothing:",
            why=why,
        ),
        "",
    ]
    stands = positions(turn, runs)
    for number, seat in enumerate(turn.seats):
        mine = [r for r in runs if r.step.seat == number and spoke(r) and texts.get(r.id)]
        if not mine:
            what = say("no answer") if number not in stands else say("a position, and no words")
            lines.append(f"- {literal(seat_name(seat))}: {what}")
            continue
        run = max(mine, key=lambda r: (r.step.round, r.step.hop))
        said = literal(texts[run.id], MAX_LAST_WORD_CHARS)
        lines.append(
            say(
                "- {seat}, round {round}: {said}",
                seat=literal(seat_name(seat)),
                round=run.step.round + 1,
                said=said,
            )
        )
    return "\n".join(lines)


def capped_text(turn: Turn) -> str:
    """Why a roundtable ends early that was not to."""
    if turn.rules.spent:
        return turn.rules.spent
    return say(
        "⚠️ The budget of {cap_chars:,} characters for this roundtable is used up, so no "
        "more rounds are held. `--budget` or [roundtable] budget_chars gives more.",
        cap_chars=turn.rules.cap_chars,
    )


def failed_text(turn: Turn, runs: Sequence[Run]) -> str:
    """A roundtable in which nobody could answer."""
    who = missing_text(turn, runs) or say("nobody was asked")
    return say("⚠️ The roundtable failed: nobody gave an answer. {who}.", who=who)
