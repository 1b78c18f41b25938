"""Rows and sources become the facts of a pack, once a round: the round cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from core.context.modes import LONG_CONVERSATION
from core.model import (
    Conversation,
    ConversationKey,
    Message,
    Missing,
    Near,
    Offer,
    PackFacts,
    Participant,
    Project,
    ProjectFacts,
    Pull,
    PulledResult,
    Recall,
    Scene,
    Turn,
    no_address,
)
from core.ports import Recollect, no_memory
from core.pull import KINDS, problem
from core.records import messages, plans
from core.records.changes import changes as count_changes
from core.records.thread import Records
from core.redact import redact
from core.sources.apart import apart
from core.sources.personas import PROJECT_FOLDER, persona_text
from core.sources.port import Source
from core.sources.project import tech_stack
from core.sources.recall import belonging
from core.tongue import in_english
from core.turns.offers import failed, merged, offered, wants

log = structlog.get_logger()

T = TypeVar("T")

SOURCE_DEADLINE_S = 5.0
_LACKS: Mapping[Missing, str] = {
    "starter": "the thread's first message is gone",
    "older": "the thread's older messages were not read",
    "all": "the thread's earlier messages could not be read",
}
NEAR_DEADLINE_S = 0.5  # for a pack: keywords find most of it, and somebody waits
PULL_NEAR_DEADLINE_S = 2.0


@dataclass(frozen=True, slots=True)
class Loaded:
    """The shared facts of one round, the newest record they hold, and how old they are.

    ``offers`` are what the facts have of sources, those of the rows first, and ``shown`` the
    messages that these did not look for. ``changes`` as ``core.records.changes`` counts;
    ``first`` as it was when the round was first loaded.
    """

    facts: PackFacts
    offers: tuple[Offer, ...]
    shown: frozenset[int]
    newest_id: int
    changes: tuple[int, int]
    first: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Read:
    """What the one read transaction of a round brought."""

    said: tuple[Message, ...]
    total: int
    offers: tuple[Offer, ...]
    changes: tuple[int, int]

    @property
    def newest_id(self) -> int:
        return max((message.id for message in self.said), default=0)


class Gather:
    """Loads what the packs of one turn need. One object a turn; shared facts once a round.

    ``near`` asks memory, for packs only if one of them may tell (``pushes``) and not just announce;
    a pack that tells after all has what words find.
    ``on_load`` is told each time shared facts are read (a test counts them).
    """

    def __init__(
        self,
        records: Records,
        turn: Turn,
        conversation: Conversation,
        project: Project,
        *,
        sources: Sequence[Source],
        project_channels: tuple[str, ...] = (),
        recall: Recall = "project",
        address: Callable[[ConversationKey, str], str] = no_address,
        history_messages: int,
        persona_folder: Path,
        near: Recollect = no_memory,
        pushes: bool = True,
        on_load: Callable[[], None] = lambda: None,
    ) -> None:
        self._records = records
        self._turn = turn
        self._conversation = conversation
        self._project = project
        self._sources = sources
        self._history_messages = history_messages
        self._persona_folder = persona_folder
        self._notes: tuple[str, ...] = ()
        self._missing: tuple[Missing, ...] = ()
        self._recollect = near
        self._pushes = pushes
        self._begun: asyncio.Task[Near | None] | None = None
        self._on_load = on_load
        self._rounds: dict[int, Loaded] = {}
        self._loading = asyncio.Lock()
        self.scene = Scene(
            conversation=conversation,
            project=project,
            prompt=turn.prompt,
            turn_id=turn.id,
            prompt_message_id=turn.prompt_message_id,
            rounds=turn.rounds if turn.kind == "roundtable" else 0,
            mode=turn.mode,
            project_channels=project_channels,
            recall=recall,
            address=address,
            asker_key=turn.asker_key,
            asker_trusted=turn.asker_trusted,
            personas=tuple(seat.persona for seat in turn.seats),
        )

    def begin(self) -> None:
        """Ask memory now, while other things are waited for: making a vector takes its time."""
        if self._pushes and any(source.by_meaning and source.offer for source in self._sources):
            self._begun = asyncio.create_task(self._near())

    @in_english
    async def _near(self) -> Near | None:
        """What memory has for the question, where a pack may tell of it at all."""
        mode = self.scene.mode
        if mode == "lite" or (not mode and not await self._records.do(self._is_long)):
            return None
        return await self._recollect(self.scene, self.scene.prompt, within_s=NEAR_DEADLINE_S)

    def _is_long(self) -> bool:
        """Whether the pack may become more than a lite one (``core.context.modes``)."""
        here = self._conversation.id
        return messages.count(here) >= LONG_CONVERSATION or plans.active_plan(here) is not None

    def begin_with(self, missing: tuple[Missing, ...]) -> None:
        """What of the thread's beginning its participants are told is not known."""
        self._missing = missing
        self._notes += tuple(_LACKS[one] for one in missing)

    async def close(self) -> None:
        """Let go of what nobody waited for."""
        if self._begun is not None:
            self._begun.cancel()
            await asyncio.wait((self._begun,))

    @property
    def pull_kinds(self) -> tuple[str, ...]:
        """What agents may ask for here."""
        return pull_kinds(self._sources)

    @in_english
    async def facts(
        self, round_number: int, own: Callable[[], T], *, tells: bool = True
    ) -> tuple[PackFacts, T]:
        """The facts for a participant of this round, with what was said since they were loaded.

        They are loaded anew when a message was edited or deleted since: erased words reach nobody
        whose turn comes later. ``own`` reads what is the participant's alone, in the same
        transaction, on the records' thread. ``tells``: whether the participant's pack is to hold
        what was found, and not only the line that there is something: it is looked for then, if no
        pack of the round needed it yet.
        """
        async with self._loading:  # the participants of a parallel round come at once
            loaded = self._rounds.get(round_number)
            if loaded is not None:
                now, said, changes, mine = await self._records.do(self._news, loaded, own, tells)
                if changes == loaded.changes:
                    self._rounds[round_number] = now
                    return replace(now.facts, fresh=belonging(said, self.scene)), mine
            loaded, mine = await self._load(loaded, own, pushes=self._pushes or tells)
            self._rounds[round_number] = loaded
            return loaded.facts, mine

    def renewed(self, round_number: int) -> bool:
        """Whether a message was edited or deleted since this round was first loaded."""
        loaded = self._rounds.get(round_number)
        return loaded is not None and loaded.changes != loaded.first

    def out_of_date(self, round_number: int) -> Callable[[], bool]:
        """To be called on the records' thread: was one edited or deleted since the facts of now?"""
        loaded = self._rounds[round_number]
        return lambda: self._changes() != loaded.changes

    def _news(
        self,
        loaded: Loaded,
        own: Callable[[], T],
        tells: bool,  # noqa: FBT001 - given through ``records.do``
    ) -> tuple[Loaded, tuple[Message, ...], tuple[int, int], T]:
        said = messages.since(self._conversation.id, loaded.newest_id)
        changes = self._changes()
        if tells and changes == loaded.changes:
            loaded = self._looked_up(loaded, said)
        return loaded, said, changes, own()

    def _looked_up(self, loaded: Loaded, said: Sequence[Message]) -> Loaded:
        """With what was only counted; a pack shows what was ``said`` since in its own place."""
        shown = loaded.shown.union(message.id for message in said)
        scene = replace(self.scene, shown=shown)
        again = [
            offered(source, scene) if any(c.unread for c in offer.candidates.values()) else offer
            for source, offer in zip(self._in_records, loaded.offers, strict=False)
        ]
        offers = (*again, *loaded.offers[len(again) :])
        notes = [
            note
            for offer, before in zip(offers, loaded.offers, strict=True)
            if offer is not before
            for note in offer.notes
        ]
        facts = replace(
            loaded.facts,
            sources=merged(offer.candidates for offer in offers),
            notes=(*loaded.facts.notes, *notes),
        )
        return replace(loaded, facts=facts, offers=offers)

    async def about(self, of: Turn) -> Message | None:
        """The message that a question is about; ``None`` for one that was deleted since."""
        do = self._records.do
        return await do(messages.get_message, of.about, of.conversation_id) if of.about else None

    @in_english
    async def persona(self, seat: Participant) -> str:
        """The seat's role document, the project's own before the shipped one.

        "" when the folder does not answer in time.
        """
        if not seat.persona:
            return ""
        folders = (Path(self._project.path) / PROJECT_FOLDER, self._persona_folder)
        try:
            async with asyncio.timeout(SOURCE_DEADLINE_S):
                return await apart("persona", partial(persona_text, seat.persona, folders))
        except TimeoutError:
            log.warning("source.failed", source="persona", error="too late")
            return ""

    @in_english
    async def pulled(
        self, pulls: Sequence[Pull], told: Collection[int] = ()
    ) -> tuple[PulledResult, ...]:
        """Answer all pulls of one answer together, in their order.

        ``told`` are ids of messages that whoever asks has before it, whole.
        """
        scene = replace(self.scene, shown=frozenset(told))
        return tuple(await asyncio.gather(*(self._answer(pull, scene) for pull in pulls)))

    async def _answer(self, pull: Pull, scene: Scene) -> PulledResult:
        if wrong := problem(pull, self.pull_kinds):
            return PulledResult(pull, (), wrong)
        source = next(s for s in self._sources if s.answer and pull.kind in s.kinds)
        assert source.answer is not None
        if source.by_meaning:
            near = await self._recollect(scene, pull.query, within_s=PULL_NEAR_DEADLINE_S)
            scene = replace(scene, near=near)
        try:
            return _clean(await self._run(source, partial(source.answer, pull, scene)))
        except Exception as error:  # noqa: BLE001 - whatever a source has: the agent is told
            failed(source, error)
            return PulledResult(pull, (), f"{source.name} could not be asked just now", failed=True)

    @in_english
    async def _load(
        self, before: Loaded | None, own: Callable[[], T], *, pushes: bool
    ) -> tuple[Loaded, T]:
        self._on_load()
        if self._begun is None:
            self.begin()
        near: Near | None = None

        def rows() -> tuple[_Read, T]:
            return self._read(near, pushes=pushes), own()

        async with asyncio.TaskGroup() as group:
            looking = group.create_task(self._look())
            if self._begun is not None:
                near, self._begun = await self._begun, None
            read, mine = await self._records.do(rows)
            late = not looking.done()
        stack, notes, wanting = looking.result()
        found = await asyncio.gather(*(self._offer(source) for source in wanting))
        # What is outside may take seconds: what was deleted meanwhile is not told.
        if (wanting or late) and await self._records.do(self._moved, read):
            read, mine = await self._records.do(rows)
        said = belonging(read.said, self.scene)
        offers = (*read.offers, *found)
        facts = PackFacts(
            project=ProjectFacts(self._project.name, self._project.path, stack),
            messages=said,
            message_count=read.total - (len(read.said) - len(said)),
            people=_people(read.said),
            seats=self._turn.seats,
            missing=self._missing,
            sources=merged(offer.candidates for offer in offers),
            notes=(*self._notes, *notes, *(note for offer in offers for note in offer.notes)),
        )
        first = before.first if before else read.changes
        shown = frozenset(message.id for message in read.said)
        return Loaded(facts, offers, shown, read.newest_id, read.changes, first), mine

    def _moved(self, read: _Read) -> bool:
        """Whether anything was said, edited or deleted since."""
        said = messages.since(self._conversation.id, read.newest_id)
        return bool(said) or self._changes() != read.changes

    def _changes(self) -> tuple[int, int]:
        return count_changes(self._conversation.id)

    @property
    def _in_records(self) -> Sequence[Source]:
        return [s for s in self._sources if s.where == "records" and s.offer]

    def _read(self, near: Near | None, *, pushes: bool) -> _Read:
        """Everything from the rows, in one transaction."""
        said = messages.recent(self._conversation.id, self._history_messages)
        shown = frozenset(message.id for message in said)
        scene = replace(self.scene, shown=shown, near=near, pushes=pushes)
        offers = tuple(offered(source, scene) for source in self._in_records)
        total = messages.count(self._conversation.id)
        return _Read(said, total, offers, self._changes())

    @in_english
    async def _offer(self, source: Source) -> Offer:
        assert source.offer is not None
        try:
            return await self._run(source, partial(source.offer, self.scene))
        except Exception as error:  # noqa: BLE001 - an empty section, and said so
            return failed(source, error)

    async def _run(self, source: Source, function: Callable[[], T]) -> T:
        if source.where == "records":
            return await self._records.do(function)
        async with asyncio.timeout(source.deadline_s):
            return await apart(source.name, function)

    async def _look(self) -> tuple[tuple[str, ...], tuple[str, ...], Sequence[Source]]:
        """The project's tech stack, notes on what could not be read, and who has more to tell.

        All in one thread: for most questions that is all there is to ask outside.
        """
        outside = [s for s in self._sources if s.where == "outside" and s.offer]

        def look() -> tuple[tuple[str, ...], tuple[str, ...], Sequence[Source]]:
            wanting = [source for source in outside if wants(source, self.scene)]
            return _look_into(self._project), (), wanting

        try:
            async with asyncio.timeout(SOURCE_DEADLINE_S):
                return await apart("project", look)
        except (OSError, TimeoutError) as error:
            log.warning("source.failed", source="project", error=type(error).__name__)
            return (), (f"project: not read ({type(error).__name__})",), outside


def pull_kinds(sources: Sequence[Source]) -> tuple[str, ...]:
    """The kinds of Pull that these sources answer, in the order people are told of them."""
    answered = {kind for source in sources if source.answer for kind in source.kinds}
    return tuple(kind for kind in KINDS if kind in answered)


def _clean(result: PulledResult) -> PulledResult:
    """What a source brought, without secrets that stand in files or in what programs print."""
    return replace(result, hits=tuple(map(redact, result.hits)), note=redact(result.note))


def _look_into(project: Project) -> tuple[str, ...]:
    """The tech stack of a project; its folder is made if it is one of ours. Blocking."""
    folder = Path(project.path)
    if project.own and not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
    return tech_stack(folder)


def _people(said: Sequence[Message]) -> tuple[str, ...]:
    """Names of the people who spoke, each once, in the order they first did."""
    return tuple(dict.fromkeys(m.author_name for m in said if m.author_kind == "human"))
