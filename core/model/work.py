"""Conversations, turns, runs and messages: what is asked and said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from core.model.places import AuthorKind, ConversationKey

Permission = Literal["plan", "ask", "edit", "full"]
PERMISSIONS: tuple[Permission, ...] = get_args(Permission)
"""From the least to the most that an agent may do unwatched: read only; anything, each time with
a person's leave; change files in the project; run anything."""


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


Missing = Literal["starter", "older", "all"]
"""What of a thread is not known: its first message is gone, older messages than those that are
here were not read, or none were."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The durable dialogue behind one thread.

    ``opened`` is False while the first post has still to open the thread (``key.root`` is empty);
    ``engaged`` says that Moot opened it or was mentioned in it; ``caught_up`` is False while the
    thread's earlier messages have not been read. ``public`` is True only where everybody in the
    space is known to be able to read the channel; ``mode`` is the conversation's own pack mode.
    ``apart`` marks a private thread, which not everybody in its channel can read; ``shared`` one
    whose channel people of other spaces read, too. ``missing`` is what of the thread's beginning
    could not be read when it was caught up.
    """

    id: int
    key: ConversationKey
    direct: bool
    opened: bool
    engaged: bool
    caught_up: bool
    public: bool = False
    mode: str = ""
    apart: bool = False
    shared: bool = False
    missing: tuple[Missing, ...] = ()


TurnKind = Literal["ask", "roundtable"]
TurnState = Literal["queued", "running", "held", "parked", "done", "failed", "cancelled"]
RunState = Literal["open", "answered", "failed", "cancelled", "skipped", "cut", "parked"]
Order = Literal["sequential", "parallel", "blind"]
ORDERS: tuple[Order, ...] = get_args(Order)


@dataclass(frozen=True, slots=True)
class TableRules:
    """How a roundtable goes.

    ``order``: sequential (each reads all that was said before), parallel (a round at once, reading
    earlier rounds only) or blind (nobody reads anyone in the first round). ``early_stop`` skips the
    remaining rounds once all agree. ``synthesizer`` sums up at the end (``None``: nobody).
    ``cap_chars`` limits what the whole roundtable may send (0: no cap); one whose forecast is over
    it is ``held`` until a person confirms (``confirmed``). ``spent`` says why a budget of the house
    ended its rounds ("" = none did).
    """

    order: Order = "sequential"
    early_stop: bool = True
    synthesizer: Participant | None = None
    cap_chars: int = 0
    confirmed: bool = False
    spent: str = ""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a roundtable may send if all its rounds are held and nobody Pulls.

    ``chars`` and ``tokens`` are sums over ``calls`` runs; ``cost_usd`` is for the engines that
    reported costs before, ``unpriced`` names the others. ``answer_chars`` is the length of an
    answer that the later packs were reckoned with.
    """

    calls: int
    chars: int
    tokens: int
    cost_usd: float = 0.0
    unpriced: tuple[str, ...] = ()
    answer_chars: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """One question put to a table. A mention is a table of one seat and one round.

    A ``held`` turn waits for a person's word before it starts; a ``parked`` one for what its agent
    asked people for before a restart of Moot ended the process. ``asker_trusted`` is False for
    guests and whoever could not be looked up (``Author.trusted``). ``budget_chars`` is what was
    asked for this one question (0: as the settings say).
    """

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
    synthesis_link: str = ""  # the address of the synthesis, once it is posted
    rules: TableRules = TableRules()
    asker_key: str = ""
    asker_trusted: bool = False
    budget_chars: int = 0
    forecast: Forecast | None = None  # of a roundtable, once it was reckoned
    permission: Permission | None = None  # what its agents may do at most (None: as set)
    about: int = 0  # the message that the question is about (0: none in particular)
    by_bot: bool = False  # another bot asks, no person

    def seat_of(self, step: Step) -> Participant:
        """Who a step is for; the step after the last round belongs to the synthesizer."""
        if step.seat < len(self.seats):
            return self.seats[step.seat]
        assert self.rules.synthesizer is not None
        return self.rules.synthesizer

    @property
    def synthesis(self) -> Step:
        """The step of the synthesis, which comes after the last round."""
        return Step(self.rounds, len(self.seats))


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
    """What a pull brought: ``hits`` are texts of others; ``note`` says why there are none.

    ``failed``: its source could not be asked, so asking again may bring something.
    """

    pull: Pull
    hits: tuple[str, ...] = ()
    note: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class InRunPull:
    """A Pull that was answered while its run worked: how many hits, and how many characters.

    ``again``: it had been asked before, so what was found then was told once more.
    """

    kind: str
    query: str
    hits: int
    note: str = ""
    chars: int = 0
    again: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """One process started for one step.

    ``attempt`` counts from 1; ``cut`` means that a crash of Moot ended it, ``parked`` that it
    waited for people when that happened, and is made again once they have decided. ``can_write``
    says whether it was allowed to change files (then it is never repeated without being asked).
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
    pulls: tuple[Pull, ...] = ()  # by markers: each asks for a follow-up
    in_run: tuple[InRunPull, ...] = ()
    chars: int = 0  # characters sent, what in-run Pulls brought included
    position: str = ""  # JSON of core.blocks.Position, as the answer ended with
    faults: tuple[str, ...] = ()  # blocks that did not parse, told back to the agent once
    read_to: int = 0  # id of the newest message that it was shown


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that somebody said, kept whole.

    ``author_key`` tells speakers apart ("slack:U1", "agent:architect"); ``engine`` and ``persona``
    are set for agents. ``interrupted`` marks the partial text of a stopped run;
    not ``admitted`` was its author, when it was heard, to use Moot.
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
    admitted: bool = True
