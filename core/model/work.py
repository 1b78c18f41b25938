"""Conversations, turns, runs and messages: what is asked and said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.model.places import AuthorKind, ConversationKey

Permission = Literal["plan", "edit", "full"]


@dataclass(frozen=True, slots=True)
class Participant:
    """A named speaker: an engine, and optionally a persona and a model ("" = the default)."""

    engine: str
    persona: str = ""
    model: str = ""

    @property
    def name(self) -> str:
        """The name in the thread: the persona's, else the engine's."""
        return self.persona or self.engine


@dataclass(frozen=True, slots=True)
class Conversation:
    """The durable dialogue behind one thread.

    ``opened`` is False while the first post has still to open the thread (``key.root`` is empty);
    ``engaged`` says that Moot opened it or was mentioned in it; ``caught_up`` is False while the
    thread's earlier messages have not been read.
    """

    id: int
    key: ConversationKey
    direct: bool
    opened: bool
    engaged: bool
    caught_up: bool


TurnKind = Literal["ask", "roundtable"]
TurnState = Literal["queued", "running", "done", "failed", "cancelled"]
RunState = Literal["open", "answered", "failed", "cancelled", "cut"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One question put to a table. A mention is a table of one seat and one round."""

    id: int
    conversation_id: int
    kind: TurnKind
    prompt: str
    prompt_message_id: int
    asker: str
    seats: tuple[Participant, ...]
    rounds: int
    state: TurnState
    mode: str = ""
    queued_at: float = 0.0
    header: int | None = None  # outbox id of a roundtable's header message


@dataclass(frozen=True, slots=True)
class Step:
    """Which seat speaks next. ``hop`` > 0 answers the seat's own pulls of hop - 1."""

    round: int
    seat: int
    hop: int = 0


@dataclass(frozen=True, slots=True)
class Pull:
    """What an agent asked for in its answer."""

    kind: str
    query: str


@dataclass(frozen=True, slots=True)
class PulledResult:
    """What a pull brought: ``hits`` are texts of others; ``note`` says why there are none."""

    pull: Pull
    hits: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One process started for one step.

    ``attempt`` counts from 1; ``cut`` means that a crash of Moot ended it. ``can_write`` says
    whether it was allowed to change files (then it is never repeated without being asked).
    """

    id: str
    turn_id: int
    step: Step
    state: RunState
    attempt: int = 1
    can_write: bool = False
    session: str = ""
    answer: str = ""
    error: str = ""
    outcome: str = ""  # an OutcomeKind once it is settled
    pulls: tuple[Pull, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that somebody said, kept whole.

    ``author_key`` tells speakers apart ("slack:U1", "agent:architect"); ``engine`` and ``persona``
    are set for agents. ``interrupted`` marks the partial text of a stopped run.
    """

    id: int
    platform_id: str
    author_key: str
    author_name: str
    author_kind: AuthorKind
    text: str
    sent_at: float
    engine: str = ""
    persona: str = ""
    turn_id: int | None = None
    interrupted: bool = False
