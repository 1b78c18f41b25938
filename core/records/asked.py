"""Requests of engines to people, from before the thread sees them, and leave for a session."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, cast

from core.model import (
    Asked,
    AskedQuestion,
    AskedState,
    EngineRequest,
    Grant,
    Participant,
    Ruling,
    Step,
)
from core.records.prepared import Prepared
from core.records.tables import (
    ConversationRow,
    EngineSessionRow,
    GrantRow,
    OutboxRow,
    RequestRow,
    RunRow,
    TurnRow,
)

RULED = ("once", "session", "deny", "answer", "expired")
"""States of a request that somebody, or the time-out, has decided."""
_LEFT = ("parked", "cut")


def fingerprint(request: EngineRequest) -> str:
    """Tells the same request again: what would be done, else all that a person saw."""
    seen = asdict(request) | {"id": "", "scope": "", "scope_label": ""}
    if request.same:
        seen |= {"about": "", "detail": ""}
    return hashlib.sha256(json.dumps(seen, ensure_ascii=False).encode()).hexdigest()


def ask(run_id: str, session: int, request: EngineRequest, now: float) -> Asked:
    """Write a request that nobody has decided yet."""
    run = RunRow.get_by_id(run_id)
    turn = TurnRow.get_by_id(run.turn_id)
    row = RequestRow.create(
        run=run_id,
        conversation=turn.conversation_id,
        session=session,
        engine_id=request.id,
        kind=request.kind,
        tool=request.tool,
        about=request.about,
        detail=request.detail,
        scope=request.scope,
        scope_label=request.scope_label,
        questions=json.dumps([asdict(q) for q in request.questions], ensure_ascii=False),
        fingerprint=fingerprint(request),
        asked_at=now,
    )
    return _asked(RequestRow.get_by_id(row.id))


def at_work(run_id: str) -> bool:
    """Whether a run goes on: it, or its turn, was not ended by anybody."""
    run = RunRow.get_by_id(run_id)
    return run.state == "open" and TurnRow.get_by_id(run.turn_id).state == "running"


def find(number: int) -> Asked | None:
    """The request that people call by this number."""
    row = RequestRow.get_or_none(RequestRow.id == number)
    return _asked(row) if row else None


def of_run(run_id: str, engine_id: str) -> Asked | None:
    """The run's request that its engine calls so."""
    row = RequestRow.get_or_none(
        (RequestRow.run == run_id)
        & (RequestRow.engine_id == engine_id)
        & (RequestRow.state == "waiting")
    )
    return _asked(row) if row else None


_waiting = Prepared(  # asked at the end of each run
    RequestRow,
    lambda run: (
        RequestRow.select()
        .where((RequestRow.run == run) & (RequestRow.state == "waiting"))
        .order_by(RequestRow.id)
    ),
)


def count_put(run_id: str) -> int:
    """How often people were asked by a run: what was allowed beforehand is not counted."""
    put = RequestRow.post.is_null(is_null=False)
    return RequestRow.select().where((RequestRow.run == run_id) & put).count()


def seat_of(run_id: str) -> Participant:
    """Who asks, by a run."""
    run = RunRow.get_by_id(run_id)
    return Participant(run.engine, run.persona)


def waiting_of_run(run_id: str) -> tuple[Asked, ...]:
    """What a run waits for, in order."""
    return tuple(_asked(row) for row in _waiting.rows(run=run_id))


def waiting_of_turn(turn_id: int) -> tuple[Asked, ...]:
    """What the runs of a turn wait for, in order."""
    return _many(_in_turn(turn_id) & (RequestRow.state == "waiting"))


def waiting_in(conversation_ids: Sequence[int]) -> tuple[Asked, ...]:
    """What is waited for in these conversations, in order."""
    here = RequestRow.conversation.in_(list(conversation_ids))
    return _many(here & (RequestRow.state == "waiting"))


def conversations_in_channel(chat: str, space: str, channel: str) -> list[int]:
    """The ids of a channel's threads; none of its private ones."""
    row = ConversationRow
    here = (row.chat == chat) & (row.space == space) & (row.channel == channel) & ~row.apart
    return [found.id for found in row.select(row.id).where(here)]


def due(asked_before: float) -> tuple[Asked, ...]:
    """What has waited since before this time."""
    return _many((RequestRow.state == "waiting") & (RequestRow.asked_at <= asked_before))


def unheard() -> tuple[Asked, ...]:
    """What waits although its message could never be posted."""
    dead = OutboxRow.select(OutboxRow.id).where(
        (OutboxRow.state == "dead") & (OutboxRow.op == "post")
    )
    return _many((RequestRow.state == "waiting") & RequestRow.post.in_(dead))


def set_post(number: int, outbox_id: int | None) -> None:
    """The message that shows it."""
    RequestRow.change(number, post=outbox_id)


def rule(number: int, ruling: Ruling, now: float) -> bool:
    """Decide a request, once; False when it waited no more."""
    changed = (
        RequestRow.update(
            state=ruling.state,
            by_key=ruling.by_key,
            by_name=ruling.by,
            note=ruling.note,
            answers=json.dumps([list(a) for a in ruling.answers], ensure_ascii=False),
            decided_at=now,
        )
        .where((RequestRow.id == number) & (RequestRow.state == "waiting"))
        .execute()
    )
    return bool(changed)


def telling(asked: Asked, now: float) -> None:
    """The engine is about to be told; from here on what was allowed may have been done."""
    RequestRow.change(asked.id, told_at=now)
    if asked.request.kind == "permission" and asked.state in ("once", "session"):
        RunRow.change(asked.run_id, can_write=True)


def holds(run_id: str) -> bool:
    """Whether a run that was cut off waited for people, or had not heard what they decided."""
    unheard = (RequestRow.state.in_(RULED)) & RequestRow.told_at.is_null()
    waits = RequestRow.state == "waiting"
    return RequestRow.select().where((RequestRow.run == run_id) & (waits | unheard)).exists()


def ruled_before(turn_id: int, step: Step) -> tuple[Asked, ...]:
    """What was decided for this step after its process was gone, and no engine was told yet."""
    row = RunRow
    runs = row.select(row.id).where(
        (row.turn == turn_id)
        & (row.round == step.round)
        & (row.seat == step.seat)
        & (row.hop == step.hop)
        & row.state.in_(_LEFT)
    )
    return _many(
        RequestRow.run.in_(runs) & RequestRow.state.in_(RULED) & RequestRow.told_at.is_null()
    )


def take_over(earlier: Asked, run_id: str, session: int, request: EngineRequest) -> Asked:
    """The engine asks again for what was decided already: it is that request of this run now."""
    RequestRow.change(earlier.id, run=run_id, session=session, engine_id=request.id)
    GrantRow.update(session=session).where(
        (GrantRow.request == earlier.id) & GrantRow.ended_at.is_null()
    ).execute()
    return _asked(RequestRow.get_by_id(earlier.id))


# --- leave for a session -------------------------------------------------------------------


def grant(asked: Asked, by_key: str, by: str, now: float) -> int:
    """Requests of the same scope are not asked again in this engine session. Returns its number."""
    row = GrantRow.create(
        conversation=asked.conversation_id,
        session=asked.session,
        engine=asked.engine,
        persona=asked.persona,
        scope=asked.request.scope,
        label=asked.request.scope_label or asked.request.scope,
        request=asked.id,
        by_key=by_key,
        by_name=by,
        created_at=now,
    )
    return row.id


def granted(session: int, scope: str) -> Grant | None:
    """The leave that covers a request of this scope in this session, if there is one."""
    if not session or not scope:
        return None
    row = (
        GrantRow.select()
        .where(
            (GrantRow.session == session) & (GrantRow.scope == scope) & GrantRow.ended_at.is_null()
        )
        .order_by(GrantRow.id)
        .first()
    )
    return _grant(row) if row else None


def grants_in(conversation_ids: Sequence[int]) -> tuple[Grant, ...]:
    """The leave that holds in these conversations, in order: that of sessions that live."""
    live = EngineSessionRow.select(EngineSessionRow.id).where(EngineSessionRow.state == "live")
    rows = (
        GrantRow.select()
        .where(
            GrantRow.conversation.in_(list(conversation_ids))
            & GrantRow.session.in_(live)
            & GrantRow.ended_at.is_null()
        )
        .order_by(GrantRow.id)
    )
    return tuple(_grant(row) for row in rows)


def revoke(number: int, now: float) -> bool:
    """End one; False when it had ended."""
    changed = (
        GrantRow.update(ended_at=now)
        .where((GrantRow.id == number) & GrantRow.ended_at.is_null())
        .execute()
    )
    return bool(changed)


_used = Prepared(
    RequestRow,
    lambda run: (
        RequestRow.select()
        .where((RequestRow.run == run) & (RequestRow.note == BY_GRANT))
        .order_by(RequestRow.id)
    ),
)


def used(run_id: str) -> tuple[tuple[str, str, int], ...]:
    """What a run did by leave given before: (label, by, how often)."""
    counts: dict[tuple[str, str], int] = {}
    for row in _used.rows(run=run_id):
        key = (row.scope_label or row.scope, row.by_name)
        counts[key] = counts.get(key, 0) + 1
    return tuple((label, by, count) for (label, by), count in counts.items())


BY_GRANT = "allowed for the session"


# --- inside --------------------------------------------------------------------------------


def _in_turn(turn_id: int) -> Any:
    return RequestRow.run.in_(RunRow.select(RunRow.id).where(RunRow.turn == turn_id))


def _many(where: Any) -> tuple[Asked, ...]:
    return tuple(_asked(row) for row in RequestRow.select().where(where).order_by(RequestRow.id))


def _grant(row: GrantRow) -> Grant:
    return Grant(row.id, row.engine, row.persona, row.scope, row.label, row.by_name, row.created_at)


def _asked(row: RequestRow) -> Asked:
    run = RunRow.get_by_id(row.run_id)
    turn = TurnRow.get_by_id(run.turn_id)
    session = EngineSessionRow.get_or_none(EngineSessionRow.id == row.session)
    questions = tuple(
        AskedQuestion(
            q["text"],
            q["header"],
            tuple((str(label), str(told)) for label, told in q["options"]),
            q["several"],
        )
        for q in json.loads(row.questions)
    )
    return Asked(
        id=row.id,
        run_id=row.run_id,
        turn_id=run.turn_id,
        conversation_id=row.conversation_id,
        engine=run.engine,
        persona=run.persona,
        asker=turn.asker,
        request=EngineRequest(
            id=row.engine_id,
            kind="question" if row.kind == "question" else "permission",
            tool=row.tool,
            about=row.about,
            detail=row.detail,
            scope=row.scope,
            scope_label=row.scope_label,
            questions=questions,
        ),
        state=cast("AskedState", row.state),
        session=row.session,
        answers=tuple(tuple(str(a) for a in answers) for answers in json.loads(row.answers)),
        by=row.by_name,
        note=row.note,
        post=row.post,
        asked_at=row.asked_at,
        fingerprint=row.fingerprint,
        cwd=session.cwd if session else "",
    )
