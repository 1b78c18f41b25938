"""What engines asked people for, as it stands in the records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.model.engines import EngineRequest

AskedState = Literal["waiting", "once", "session", "deny", "answer", "expired", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of a run and what became of it. ``id`` is the number people type.

    Attributes:
        engine / persona: who asks; ``asker`` is the name of the one whose question it works on.
        session: record id of the engine session it came from (0: none is kept).
        answers: for each question what was picked or written.
        by / note: who decided, and what that person (or Moot) said about it.
        fingerprint: tells the same request again (``core.records.asked.fingerprint``).
        cwd: the folder it works in ("": not known).
        post: outbox id of the message with the buttons (``None``: it was settled without one).
    """

    id: int
    run_id: str
    turn_id: int
    conversation_id: int
    engine: str
    persona: str
    asker: str
    request: EngineRequest
    state: AskedState
    session: int = 0
    answers: tuple[tuple[str, ...], ...] = ()
    by: str = ""
    note: str = ""
    post: int | None = None
    asked_at: float = 0.0
    fingerprint: str = ""
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What somebody decided of a request. ``by_key`` is the person's ("slack:U1"), "" for Moot."""

    state: AskedState
    by_key: str = ""
    by: str = ""
    note: str = ""
    answers: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave that was given for a session: requests of its ``scope`` are not asked again there."""

    id: int
    engine: str
    persona: str
    scope: str
    label: str
    by: str
    at: float
