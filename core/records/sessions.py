"""Engine sessions: which one a participant goes on in, and what that one was told."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from core.context.delta import Known, load_known
from core.errors import BadInput
from core.model import ContextPack, Participant
from core.records.prepared import Prepared
from core.records.tables import EngineSessionRow, RunRow
from core.tongue import say

MAX_FAILURES = 2  # in a row: a session that only fails may be spoilt, so the next turn starts anew
# Sections that hold words of other conversations, and kinds of Pull that bring some.
FROM_OTHERS = frozenset(("findings", "artifacts", "retrieval", "cross", "inheritance"))
DRAWS = frozenset(("messages", "memory", "sessions", "plan", "artifact", "finding"))
TERMINAL = "terminal"
FAILING = "failing"
ANY = ""  # the permission of a session from a terminal, until a question is asked in it
CLOCKS_APART_S = 300.0  # a platform's clock and ours


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Whose session it is, and where: a session never moves to another folder or permission."""

    conversation_id: int
    seat: Participant
    cwd: str
    permission: str


@dataclass(frozen=True, slots=True)
class EngineSession:
    """A session that can be gone on with.

    ``wide``: it may have been told what only a member's question may draw from.
    """

    id: int
    session: str
    known: Known
    wide: bool = False


@dataclass(frozen=True, slots=True)
class LiveSession:
    """A session of a conversation that its next question may go on with."""

    id: int
    seat: Participant
    session: str
    cwd: str
    permission: str
    used_at: float
    wide: bool
    known: Known


_live = Prepared(
    EngineSessionRow,
    lambda conversation, engine, persona, model, cwd, permission: (
        EngineSessionRow.select()
        .where(
            (EngineSessionRow.conversation == conversation)
            & (EngineSessionRow.engine == engine)
            & (EngineSessionRow.persona == persona)
            & (EngineSessionRow.model == model)
            & (EngineSessionRow.cwd == cwd)
            & ((EngineSessionRow.permission == permission) | (EngineSessionRow.permission == ""))
            & (EngineSessionRow.state == "live")
        )
        .order_by(EngineSessionRow.id.desc())
    ),
)


def find(key: SessionKey) -> EngineSession | None:
    """The session to go on with, if there is one whose id is known."""
    for row in _live.rows(**_values(key)):
        if row.session:
            return EngineSession(row.id, row.session, load_known(row.known), row.wide)
    return None


def live_in(conversation_id: int) -> tuple[LiveSession, ...]:
    """The sessions of a conversation that can be gone on with, the last used one first."""
    rows = (
        EngineSessionRow.select()
        .where(
            (EngineSessionRow.conversation == conversation_id)
            & (EngineSessionRow.state == "live")
            & (EngineSessionRow.session != "")
        )
        .order_by(EngineSessionRow.used_at.desc(), EngineSessionRow.id.desc())
    )
    return tuple(
        LiveSession(
            row.id,
            Participant(row.engine, row.persona, row.model),
            row.session,
            row.cwd,
            row.permission,
            row.used_at,
            row.wide,
            load_known(row.known),
        )
        for row in rows
    )


def of_ours(names: Iterable[str]) -> frozenset[str]:
    """Those of these ids that Moot has used, now or before: no terminal's, whoever began them."""
    asked = list(names)
    kept = EngineSessionRow.select(EngineSessionRow.session, EngineSessionRow.parent).where(
        EngineSessionRow.session.in_(asked) | EngineSessionRow.parent.in_(asked)
    )
    runs = RunRow.select(RunRow.session).where(RunRow.session.in_(asked))
    used = {name for row in kept for name in (row.session, row.parent)}
    return frozenset(asked) & (used | {row.session for row in runs})


def adopt(conversation_id: int, seat: Participant, cwd: str, name: str, now: float) -> int:
    """A session that was begun in a terminal is gone on with here. Returns its id.

    It was told nothing by Moot, so its first question brings everything, and gives it that
    question's permission. What was said in the terminal is for members only.

    Raises:
        BadInput: Moot has used it already.
    """
    if of_ours([name]):
        raise BadInput(say("That session is used by Moot already, here or in another thread."))
    key = SessionKey(conversation_id, seat, cwd, ANY)
    for row in _live.rows(**_values(key)):  # one that was picked before, and not asked yet
        _end(row.id, "replaced")
    row = EngineSessionRow.create(
        **_values(key), session=name, origin=TERMINAL, wide=True, opened_at=now, used_at=now
    )
    return row.id


_last = Prepared(
    EngineSessionRow,
    lambda conversation, engine, persona, model, cwd, permission: (
        EngineSessionRow.select(EngineSessionRow.why)
        .where(
            (EngineSessionRow.conversation == conversation)
            & (EngineSessionRow.engine == engine)
            & (EngineSessionRow.persona == persona)
            & (EngineSessionRow.model == model)
            & (EngineSessionRow.cwd == cwd)
            & (EngineSessionRow.permission == permission)
        )
        .order_by(EngineSessionRow.id.desc())
        .limit(1)
    ),
)


def given_up(key: SessionKey) -> bool:
    """Whether the last session in this place was ended because its runs only broke."""
    last = _last.first(**_values(key))
    return last is not None and last.why == FAILING


def begin(key: SessionKey, parent: str, known: Known, now: float) -> int:
    """A new session, before its process exists; those before it in its place end. Returns its id.

    ``known`` is what it will perhaps have been told (``Known.while_told``).
    """
    for row in _live.rows(**_values(key)):
        if row.permission == key.permission:
            _end(row.id, "replaced")
    row = EngineSessionRow.create(
        **_values(key), parent=parent, known=known.dump(), opened_at=now, used_at=now
    )
    return row.id


def go_on(session_id: int, key: SessionKey, known: Known, now: float) -> None:
    """A session is about to be told more. One from a terminal takes its place by this."""
    row = EngineSessionRow.get_by_id(session_id)
    if row.permission == ANY:
        for other in _live.rows(**_values(key)):
            if other.id != session_id:
                _end(other.id, "replaced")
        _change(session_id, permission=key.permission)
    _change(session_id, known=known.dump(), used_at=now)


def of_others(pack: ContextPack) -> bool:
    """Whether a pack tells what other conversations hold."""
    return any(section.name in FROM_OTHERS for section in pack.sections)


def named(session_id: int, name: str) -> None:
    """The engine told the session's id: saved when it is first seen, and followed (C114, C116)."""
    row = EngineSessionRow.get_by_id(session_id)
    if row.session and row.session != name:
        _change(session_id, session=name, parent=row.session)
    elif not row.session:
        _change(session_id, session=name)


def learn(session_id: int, known: Known) -> None:
    """What a session knows for sure now."""
    _change(session_id, known=known.dump(), failures=0)


def unsure(session_id: int, known: Known) -> None:
    """What a session knows at most: it was compacted."""
    _change(session_id, known=known.dump())


def failed(session_id: int) -> None:
    """A run of it broke: too many in a row end it."""
    row = EngineSessionRow.get_by_id(session_id)
    _change(session_id, failures=row.failures + 1)
    if row.failures + 1 >= MAX_FAILURES:
        _end(session_id, FAILING)


def end(session_id: int, why: str) -> None:
    """It is not gone on with any more."""
    _end(session_id, why)


def cost_before(session_id: int, name: str) -> float | None:
    """What an engine session (a record's id, 0: none is kept) had come to, in US dollars.

    ``None`` where that cannot be told: it was begun in a terminal, or before this was noted.
    """
    row = EngineSessionRow.get_or_none(EngineSessionRow.id == session_id)
    if row is not None and row.cost_usd:
        return row.cost_usd
    before = RunRow.select(RunRow.usage, RunRow.outcome).where(
        (RunRow.session == name) & RunRow.ended_at.is_null(is_null=False)
    )
    told = [(json.loads(run.usage).get("session_cost_usd", 0.0), run.outcome) for run in before]
    if most := max((cost for cost, _ in told), default=0.0):
        return most
    unknown = (row is not None and row.origin == TERMINAL) or any(o == "answered" for _, o in told)
    return None if unknown else 0.0


def costs(session_id: int, total_usd: float) -> None:
    """What a session has come to so far."""
    _change(session_id, cost_usd=total_usd)


def drew(session_id: int, *, wide: bool) -> None:
    """It is about to be told what other conversations hold: that stays so, whatever comes after.

    ``wide``: as a member's question may see it.
    """
    _change(session_id, drew=True, **({"wide": True} if wide else {}))


_used_since = Prepared(
    EngineSessionRow,
    lambda at: EngineSessionRow.select().where(
        (EngineSessionRow.state == "live") & (EngineSessionRow.used_at >= at)
    ),
)
_live_here = Prepared(
    EngineSessionRow,
    lambda conversation: EngineSessionRow.select().where(
        (EngineSessionRow.conversation == conversation) & (EngineSessionRow.state == "live")
    ),
)


def end_told(conversation_id: int, sent_at: float) -> int:
    """A message was erased: the sessions that may have been told it end. Returns how many.

    In its own conversation those are all that were used since it was written, for Pulls and runs
    that broke off may have told it too; elsewhere those of them that were told anything of other
    conversations. The next turn of each gets a full pack in a new session.
    """
    told = [
        row.id
        for row in _used_since.rows(at=sent_at - CLOCKS_APART_S)
        if row.conversation_id == conversation_id or row.drew or _of_others(load_known(row.known))
    ]
    for session_id in told:
        _end(session_id, "erased")
    return len(told)


def end_aged(conversation_id: int, message_id: int, sent_at: float) -> int:
    """A message was kept long enough: the sessions of its conversation that were told it end.

    Those are the ones that were there when it was written, and those that it was told to since.
    """
    told = [
        row.id
        for row in _live_here.rows(conversation=conversation_id)
        if row.opened_at <= sent_at + CLOCKS_APART_S or message_id in load_known(row.known).messages
    ]
    for session_id in told:
        _end(session_id, "erased")
    return len(told)


def _of_others(known: Known) -> bool:
    """Whether it was told, or perhaps told, what other conversations hold."""
    return any(name in FROM_OTHERS for name in (*known.sections, *known.perhaps))


def _values(key: SessionKey) -> dict[str, Any]:
    return {
        "conversation": key.conversation_id,
        "engine": key.seat.engine,
        "persona": key.seat.persona,
        "model": key.seat.model,
        "cwd": key.cwd,
        "permission": key.permission,
    }


def _change(session_id: int, **values: Any) -> None:
    """Change a session that lives; one that ended meanwhile (an erasure) stays as it is."""
    if EngineSessionRow.get_by_id(session_id).state == "live":
        EngineSessionRow.change(session_id, **values)


def _end(session_id: int, why: str) -> None:
    _change(session_id, state="ended", why=why, known="{}")
