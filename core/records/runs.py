"""Runs: one process for one step, from before it exists until it is settled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from peewee import SQL, fn

from core.context import tokens
from core.model import (
    InRunPull,
    Outcome,
    Participant,
    Permission,
    Pull,
    Run,
    RunState,
    Step,
    Turn,
)
from core.records.prepared import Prepared
from core.records.tables import ConversationRow, PullRow, RunRow, TurnRow

FACTOR_RUNS = 24

_runs_of = Prepared(
    RunRow,
    lambda turn: (
        RunRow.select().where(RunRow.turn == turn).order_by(RunRow.opened_at, RunRow.attempt)
    ),
)
_pulls_of = Prepared(
    PullRow, lambda run: PullRow.select().where(PullRow.run == run).order_by(PullRow.id)
)
_attempts = Prepared(
    RunRow,
    lambda turn, round_, seat, hop: RunRow.select(fn.COUNT(RunRow.id)).where(
        (RunRow.turn == turn)
        & (RunRow.round == round_)
        & (RunRow.seat == seat)
        & (RunRow.hop == hop)
    ),
)


def runs_of(turn_id: int) -> tuple[Run, ...]:
    """All runs of a turn, in the order they were opened."""
    return tuple(to_run(row) for row in _runs_of.rows(turn=turn_id))


def get_run(run_id: str) -> Run:
    """The run with this id."""
    return to_run(RunRow.get_by_id(run_id))


def open_run(
    run_id: str,
    turn: Turn,
    step: Step,
    seat: Participant,
    *,
    can_write: bool,
    permission: Permission = "plan",
    receipt: dict[str, Any],
    status: int | None,
    now: float,
) -> None:
    """Write the run before its process exists; an earlier cut attempt of the step is counted.

    The receipt says how much is sent (``chars``) and which ``messages`` are shown.
    """
    earlier = _attempts.value(turn=turn.id, round_=step.round, seat=step.seat, hop=step.hop)
    RunRow.create(
        id=run_id,
        turn=turn.id,
        round=step.round,
        seat=step.seat,
        hop=step.hop,
        attempt=earlier + 1,
        can_write=can_write,
        permission=permission,
        engine=seat.engine,
        persona=seat.persona,
        receipt=json.dumps(receipt, ensure_ascii=False),
        chars=receipt.get("chars", 0),
        read_to=max(receipt.get("messages", ()), default=0),
        status=status,
        opened_at=now,
    )


def set_child(run_id: str, pid: int, started: float) -> None:
    """The process exists: a later life of Moot can find it."""
    RunRow.change(run_id, pid=pid, pid_started=started)


def set_session(run_id: str, session: str) -> None:
    """The engine told its session's id; saved as soon as it is known."""
    RunRow.change(run_id, session=session)


def set_receipt(run_id: str, receipt: dict[str, Any], why: str) -> None:
    """The engine is asked another way, because of ``why`` (an outcome): both ways count as sent.

    The receipt is of what is sent now; what was sent in vain stands in ``before``, each with its
    ``chars``, ``estimated_tokens`` and ``why`` it came to nothing.
    """
    row = RunRow.get_by_id(run_id)
    vain = json.loads(row.receipt)
    sent = {key: vain.get(key, 0) for key in ("chars", "estimated_tokens")}
    told = {**receipt, "before": [*vain.get("before", ()), {**sent, "why": why}]}
    chars = row.chars + receipt.get("chars", 0)
    RunRow.change(run_id, receipt=json.dumps(told, ensure_ascii=False), chars=chars)


def add_retry(run_id: str, why: str, wait_s: float) -> None:
    """The run is tried again after ``wait_s``, because of ``why`` (an outcome): it counts."""
    told = json.loads(RunRow.get_by_id(run_id).receipt)
    told["retries"] = [*told.get("retries", ()), {"why": why, "wait_s": round(wait_s, 1)}]
    RunRow.change(run_id, receipt=json.dumps(told, ensure_ascii=False))


_is_open = Prepared(
    RunRow,
    lambda run: RunRow.select(RunRow.id).where(
        (RunRow.id == run) & RunRow.state.in_(("open", "parked"))
    ),
)


def settle_run(
    run_id: str,
    state: RunState,
    outcome: Outcome,
    *,
    answer: str,
    pulls: Sequence[Pull],
    now: float,
    position: str = "",
    faults: Sequence[str] = (),
    told: bool = True,
) -> bool:
    """Close an open run; False when something else closed it first (a stop, a restart).

    ``told`` is False while its words wait for the end of a parallel round.
    """
    values: dict[str, Any] = {
        "state": state,
        "answer": answer,
        "error": outcome.detail,
        "outcome": outcome.kind,
        "usage": json.dumps(asdict(outcome.usage)),
        "position": position,
        "faults": json.dumps(list(faults), ensure_ascii=False),
        "told": told,
        "ended_at": now,
    }
    if outcome.session:
        values["session"] = outcome.session
    if not _is_open.tuples(run=run_id):
        return False
    RunRow.change(run_id, **values)
    for pull in pulls:
        PullRow.create(run=run_id, kind=pull.kind, query=pull.query)
    return True


def pulled_in_run(run_id: str) -> tuple[InRunPull, ...]:
    """What was pulled while the run worked, in the order of the answers."""
    return tuple(_in_run(row) for row in _pulls_of.rows(run=run_id) if row.in_run)


def _in_run(row: PullRow) -> InRunPull:
    return InRunPull(row.kind, row.query, row.hits or 0, row.note, row.chars, row.again)


def set_hits(run_id: str, hits: Sequence[int]) -> bool:
    """How much each pull of a run brought, in the order they were asked.

    Returns whether this was known before (the follow-up is being made again).
    """
    by_marker = (PullRow.run == run_id) & (PullRow.in_run == False)  # noqa: E712
    rows = list(PullRow.select().where(by_marker).order_by(PullRow.id))
    known = all(row.hits is not None for row in rows)
    for row, found in zip(rows, hits, strict=True):
        PullRow.update(hits=found).where(PullRow.id == row.id).execute()
    return known


def add_in_run_pull(run_id: str, pull: InRunPull) -> None:
    """A Pull was answered while the run works; its characters count as sent."""
    PullRow.create(run=run_id, in_run=True, **asdict(pull))
    RunRow.update(chars=RunRow.chars + pull.chars).where(RunRow.id == run_id).execute()


def asked_in(run_id: str) -> tuple[int, str, str] | None:
    """The turn of a run, who asked (``"slack:U1"``) and what; ``None`` for an unknown run."""
    run = RunRow.get_or_none(RunRow.id == run_id)
    if run is None:
        return None
    turn = TurnRow.get_by_id(run.turn_id)
    return turn.id, turn.asker_key, turn.prompt


_untold = Prepared(
    RunRow,
    lambda turn: (
        RunRow.select()
        .where((RunRow.turn == turn) & (RunRow.told == 0))
        .order_by(RunRow.round, RunRow.seat, RunRow.hop, RunRow.attempt)
    ),
)


def untold(turn_id: int) -> tuple[Run, ...]:
    """Runs whose words are not in the conversation yet, in the order of their steps."""
    return tuple(to_run(row) for row in _untold.rows(turn=turn_id))


def set_told(run_id: str, *, told: bool = True, message_id: int = 0) -> None:
    """Whether the run's words are in the conversation now, and as which message."""
    RunRow.change(run_id, told=told, message=message_id)


@dataclass(frozen=True, slots=True)
class Past:
    """What an engine's newest answers were like: mean length, and dollars a character sent.

    0 stands for not known.
    """

    answer_chars: int = 0
    usd_per_char: float = 0.0


def past(engine: str, limit: int = 50) -> Past:
    """How the newest ``limit`` answers of an engine were; costs only where it told them."""
    rows = list(
        RunRow.select(RunRow.usage, RunRow.chars, RunRow.answer)
        .where((RunRow.engine == engine) & (RunRow.state == "answered"))
        .order_by(RunRow.opened_at.desc())
        .limit(limit)
    )
    if not rows:
        return Past()
    told = [(json.loads(row.usage).get("cost_usd", 0.0), row.chars) for row in rows]
    priced = [(cost, chars) for cost, chars in told if cost > 0 and chars > 0]
    rate = sum(cost for cost, _ in priced) / sum(chars for _, chars in priced) if priced else 0.0
    return Past(sum(len(row.answer) for row in rows) // len(rows), rate)


def child_gone(run_id: str) -> None:
    """The process of a run that was settled before it ended (a skip) is over."""
    RunRow.change(run_id, pid=None)


def left_open() -> tuple[tuple[str, int | None, float | None], ...]:
    """Runs whose processes an earlier life left: (id, child's pid, when the child started)."""
    skipped = (RunRow.state == "skipped") & (RunRow.pid > 0)
    rows = RunRow.select().where((RunRow.state == "open") | skipped)
    return tuple((row.id, row.pid, row.pid_started) for row in rows)


def cut_open_run(run_id: str, now: float) -> Run:
    """A crash ended this run; returns it as it is now."""
    RunRow.update(state="cut", error="Moot was interrupted", ended_at=now).where(
        (RunRow.id == run_id) & (RunRow.state == "open")
    ).execute()
    return to_run(RunRow.get_by_id(run_id))


def park(run_id: str) -> None:
    """A cut run waited for people: it is made again once they have decided."""
    RunRow.update(state="parked").where(RunRow.id == run_id).execute()


def give_up(run_id: str) -> None:
    """A cut run that will not be made again counts as answered: the thread is told."""
    RunRow.update(state="failed", outcome="crashed").where(RunRow.id == run_id).execute()


_reported = Prepared(
    RunRow,
    lambda engine, limit: (
        RunRow.select(
            SQL("json_extract(receipt, '$.estimated_tokens')"),
            SQL("json_extract(receipt, '$.token_factor')"),
            SQL("json_extract(receipt, '$.resumed')"),
            SQL("json_extract(usage, '$.input_tokens')"),
        )
        .where((RunRow.engine == engine) & (RunRow.state == "answered") & (RunRow.hop == 0))
        .order_by(RunRow.opened_at.desc())
        .limit(limit)
    ),
)


def token_factor(engine: str) -> float:
    """What this engine's estimates are corrected by, from what its newest runs reported."""
    told = _reported.tuples(engine=engine, limit=FACTOR_RUNS)
    samples = [
        (round(estimated / factor), reported)
        for estimated, factor, resumed, reported in told
        if reported and factor and not resumed
    ]
    return tokens.token_factor(samples)


def find_run(prefix: str) -> dict[str, Any] | None:
    """What ``moot pack`` shows: the run whose id starts with ``prefix``, or the newest for "last".

    Returns the stored receipt with ``run``, ``turn``, ``conversation``, ``engine``, ``persona``,
    ``state``, ``round``, ``seat`` and ``hop`` beside it; None when there is no such run or several.
    """
    rows = RunRow.select().order_by(RunRow.opened_at.desc())
    if prefix != "last":
        if not prefix.isalnum():
            return None
        rows = rows.where(RunRow.id.startswith(prefix))
    found = list(rows.limit(1 if prefix == "last" else 2))
    return describe(found[0]) if len(found) == 1 else None


def runs_in_conversation(conversation_id: int, limit: int) -> tuple[dict[str, Any], ...]:
    """The newest runs of a conversation, newest first, each as ``find_run`` shows it."""
    rows = (
        RunRow.select(RunRow, TurnRow)
        .join(TurnRow)
        .where(TurnRow.conversation == conversation_id)
        .order_by(RunRow.opened_at.desc())
        .limit(limit)
    )
    return tuple(describe(row) for row in rows)


def receipts_of(turn_id: int) -> tuple[dict[str, Any], ...]:
    """All runs of a turn, in the order they were opened, each as ``find_run`` shows it."""
    return tuple(describe(row) for row in _runs_of.rows(turn=turn_id))


def describe(row: RunRow) -> dict[str, Any]:
    """A run and its receipt as one JSON-able object."""
    turn = TurnRow.get_by_id(row.turn_id)
    conversation = ConversationRow.get_by_id(turn.conversation_id)
    return {
        "run": row.id,
        **json.loads(row.receipt),
        "turn": turn.id,
        "conversation": [
            conversation.chat,
            conversation.space,
            conversation.channel,
            conversation.root or "",
        ],
        "engine": row.engine,
        "persona": row.persona,
        "state": row.state,
        "outcome": row.outcome,
        "round": row.round,
        "seat": row.seat,
        "hop": row.hop,
        "attempt": row.attempt,
        "usage": json.loads(row.usage),
        "in_run": [asdict(found) for found in pulled_in_run(row.id)],
    }


def to_run(row: RunRow) -> Run:
    """A row as a value, with its pulls."""
    state = cast("RunState", row.state)
    asked = _pulls_of.rows(run=row.id)
    return Run(
        id=row.id,
        turn_id=row.turn_id,
        step=Step(row.round, row.seat, row.hop),
        state=state,
        attempt=row.attempt,
        can_write=row.can_write,
        session=row.session,
        answer=row.answer,
        error=row.error,
        outcome=row.outcome,
        pulls=tuple(Pull(pull.kind, pull.query) for pull in asked if not pull.in_run),
        in_run=tuple(_in_run(pull) for pull in asked if pull.in_run),
        chars=row.chars,
        position=row.position,
        faults=tuple(json.loads(row.faults)),
        read_to=row.read_to,
    )
