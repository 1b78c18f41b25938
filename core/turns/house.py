"""What a turn needs around it: the doors, the settings' part, and the claimed turn itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from core.context.terms import HouseTerms
from core.control import Place, Room, Slots, choose
from core.desk import Desk
from core.engines.process import Writers
from core.errors import ChatRefused
from core.model import (
    Attachment,
    ChatLimits,
    Conversation,
    ConversationKey,
    EngineEvent,
    EngineTask,
    Limits,
    Message,
    Outcome,
    Participant,
    Permission,
    Project,
    Recall,
    Run,
    Said,
    Step,
    Turn,
    Verdict,
    no_address,
)
from core.ports import Engine, PullServer, Recollect, no_memory
from core.records import messages, queue, runs
from core.records.thread import Records
from core.records.usage import Purse
from core.sources.port import Source
from core.turns.made import OutTerms
from core.turns.rounds import Voice, interjected
from core.turns.shelf import Shelf
from core.turns.transcribe import TranscribeTerms


class RunEngine(Protocol):
    """The supervisor, as ``core.engines.process.run`` is shaped."""

    async def __call__(
        self,
        engine: Engine,
        task: EngineTask,
        *,
        on_event: Callable[[EngineEvent], None],
        gate: Callable[[], Awaitable[None]],
        on_start: Callable[[], None],
        on_spawn: Callable[[int, float], Awaitable[None]],
        limits: Limits,
        cancel: asyncio.Event,
        verdicts: asyncio.Queue[Verdict],
    ) -> Outcome:
        """Give ``task`` to ``engine`` and see it through to its end; always an outcome."""
        ...


class Progress(Protocol):
    """Shows that a run lives; best effort, never awaited by the run."""

    def started(
        self, run_id: str, conversation: Conversation, turn: Turn, step: Step, seat: Participant
    ) -> None:
        """A run has begun."""
        ...

    def event(self, run_id: str, event: EngineEvent) -> None:
        """The engine said something."""
        ...

    def waits(self, run_id: str, told: str) -> None:
        """It waits for people (``told`` says for what), or ("") no more."""
        ...

    def ended(self, run_id: str) -> int:
        """The run is over; the outbox row of the message that shows its answer (0: none does)."""
        ...


@dataclass(frozen=True, slots=True)
class FileTerms:
    """What of the files that people attach is fetched for one turn; sizes in bytes.

    ``patience_s`` is how long one of them may take.
    """

    enabled: bool = True
    max_file_bytes: int = 20_000_000
    max_files: int = 10
    max_total_bytes: int = 50_000_000
    patience_s: float = 25.0


async def _nowhere(chat: str, attachment: Attachment, limit_bytes: int) -> bytes:
    del attachment, limit_bytes
    raise ChatRefused(f"there is no {chat} to fetch it from")


async def _not_heard(_chat: str, attachment: Attachment) -> str:
    return attachment.transcript


def _no_files(_chat: str) -> ChatLimits:
    return ChatLimits(post_units=0, edit_interval_s=0.0)


def _all_of_the_project(_key: ConversationKey) -> Recall:
    return "project"


@dataclass(frozen=True, slots=True)
class Policy:
    """What the turn path needs of the settings. Sizes in characters.

    ``max_followups`` are hops of one seat in one round, ``max_in_run`` Pulls while a run works,
    ``retries`` further tries of a run that failed in a way that passes.
    ``roundtable`` is what a run at a roundtable may do at most; without people who can be asked
    (``attended``) ``ask`` means ``plan``. ``sessions``: whether a
    participant's engine session goes on from turn to turn. ``controls`` and ``footer``: what
    stands below an answer; ``own_engines`` are those that the settings name beside the shipped.
    """

    terms: HouseTerms
    max_per_message_chars: int
    history_messages: int
    max_followups: int
    limits: Limits
    scratch: Path
    persona_folder: Path
    max_in_run: int = 20
    retries: int = 2
    roundtable: Permission = "plan"
    attended: bool = True
    sessions: bool = True
    controls: bool = False
    footer: bool = False
    own_engines: frozenset[str] = frozenset()
    files: FileTerms = FileTerms()
    out: OutTerms | None = None
    transcribe: TranscribeTerms = TranscribeTerms()  # noqa: RUF009 - frozen


@dataclass(frozen=True, slots=True)
class House:
    """Everything a turn needs, put together once by ``bridge.app``.

    ``channels_of`` names the channels of a project, as ``chat:channel``; ``recall_of`` tells what
    the settings open for the questions of a channel; ``download`` and ``address`` are those of the
    chat of that name. Without ``pulls`` every engine Pulls by markers only.
    ``near`` asks memory by meaning. ``limits`` are those of the chat of that name; without a
    ``shelf`` no files are taken from runs. ``heard`` is what that chat itself says is spoken in a
    voice message.
    """

    records: Records
    engines: Mapping[str, Engine]
    run_engine: RunEngine
    voice: Voice
    history: Callable[[ConversationKey, int], Awaitable[tuple[Said, ...]]]
    project_of: Callable[[ConversationKey], Project]
    channels_of: Callable[[Project], tuple[str, ...]]
    sources: Sequence[Source]
    progress: Progress
    wake_delivery: Callable[[], None]
    policy: Policy
    slots: Slots
    writers: Writers
    desk: Desk = field(default_factory=Desk)
    pulls: PullServer | None = None
    purse: Purse = field(default_factory=Purse)
    recall_of: Callable[[ConversationKey], Recall] = _all_of_the_project
    address: Callable[[ConversationKey, str], str] = no_address
    download: Callable[[str, Attachment, int], Awaitable[bytes]] = _nowhere
    near: Recollect = no_memory
    limits: Callable[[str], ChatLimits] = _no_files
    heard: Callable[[str, Attachment], Awaitable[str]] = _not_heard
    shelf: Shelf | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """A claimed turn with what is known of it: read together, since every trip to the rows counts.

    ``done`` are its runs so far, ``said`` what people said to nobody while it ran, ``factors`` what
    each engine's estimates of tokens are corrected by.
    """

    turn: Turn
    conversation: Conversation
    done: tuple[Run, ...] = ()
    said: tuple[Message, ...] = ()
    factors: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a look at the queue came to.

    ``granted`` are places of turns that run already and wait for a further slot; ``ready`` the
    turns that were claimed, each with its place in ``places``; ``left`` waits on, in order.
    ``saved`` are turns that wait until runs under way have shown what they leave of a budget;
    ``refused`` says that some were ended, since nothing of it is left.
    """

    granted: tuple[Place, ...] = ()
    places: tuple[Place, ...] = ()
    ready: tuple[Ready, ...] = ()
    left: tuple[Place, ...] = ()
    saved: tuple[int, ...] = ()
    refused: bool = False


Allowed = Callable[[Turn], Literal["yes", "wait", "no"]]
"""Whether a turn may begin: yes, not yet, or not at all (it is ended already)."""


def claim_ready(
    room: Room,
    wishes: Sequence[Place],
    excluded: Sequence[int],
    now: float,
    allowed: Allowed = lambda _: "yes",
) -> Claimed:
    """Claim the turns that ``core.control.choose`` lets begin. One transaction."""
    heads = {turn.id: turn for turn in queue.heads(excluded)}
    waiting = [*wishes, *map(place_of, heads.values())]
    granted, places = list[Place](), list[Place]()
    claimed, saved, refused = list[Turn](), list[int](), False
    while (taken := choose(room, waiting)[0]) and (place := taken[0]):
        waiting.remove(place)
        turn = heads.get(place.turn)
        if turn is None:
            granted.append(place)
        elif (verdict := allowed(turn)) == "wait":
            saved.append(turn.id)
            continue
        elif verdict == "no" or (mine := queue.claim(turn, now)) is None:
            refused = True
            continue
        else:
            places.append(place)
            claimed.append(mine)
        room = room.after(place)
    ready = tuple(_ready(turn) for turn in claimed)
    left = choose(room, waiting)[1]
    return Claimed(tuple(granted), tuple(places), ready, left, tuple(saved), refused)


def place_of(turn: Turn) -> Place:
    """What a turn that has not begun waits for: a slot for its first seat."""
    return Place(turn.seats[0].engine, turn.asker_key, turn.conversation_id, turn.id)


def _ready(turn: Turn) -> Ready:
    return Ready(
        turn,
        messages.get_conversation(turn.conversation_id),
        runs.runs_of(turn.id),
        interjected(turn),
        {engine: runs.token_factor(engine) for engine in _engines(turn)},
    )


def _engines(turn: Turn) -> frozenset[str]:
    """All that a turn may ask."""
    summing = turn.rules.synthesizer
    named = {seat.engine for seat in turn.seats} | {summing.engine if summing else ""}
    return frozenset(named - {""})
