"""Rows and sources become the facts of a pack, once a round: the round cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from core.model import (
    Conversation,
    Message,
    PackFacts,
    Participant,
    Project,
    ProjectFacts,
    Pull,
    PulledResult,
    Turn,
)
from core.records import messages
from core.records.thread import Records
from core.sources import recall
from core.sources.personas import PROJECT_FOLDER, persona_text
from core.sources.project import tech_stack

log = structlog.get_logger()

SOURCE_DEADLINE_S = 5.0
OWN_MESSAGES = 8  # at most so many hits are the question itself and earlier hops of its answer


@dataclass(frozen=True, slots=True)
class Loaded:
    """The shared facts of one round, and the newest record they hold."""

    facts: PackFacts
    newest_id: int


class Gather:
    """Loads what the packs of one turn need. One object a turn; shared facts once a round.

    ``on_load`` is told each time shared facts are read (a test counts them).
    """

    def __init__(
        self,
        records: Records,
        turn: Turn,
        conversation: Conversation,
        project: Project,
        *,
        history_messages: int,
        persona_folder: Path,
        notes: Sequence[str] = (),
        on_load: Callable[[], None] = lambda: None,
    ) -> None:
        self._records = records
        self._turn = turn
        self._conversation = conversation
        self._project = project
        self._history_messages = history_messages
        self._persona_folder = persona_folder
        self._notes = tuple(notes)
        self._on_load = on_load
        self._rounds: dict[int, Loaded] = {}

    async def facts(self, round_number: int) -> PackFacts:
        """The facts for a participant of this round, with what was said since they were loaded."""
        loaded = self._rounds.get(round_number)
        if loaded is None:
            loaded = self._rounds[round_number] = await self._load()
            return loaded.facts
        said = await self._records.do(messages.since, self._conversation.id, loaded.newest_id)
        return replace(loaded.facts, fresh=self._belonging(said))

    async def persona(self, seat: Participant) -> str:
        """The seat's role document, the project's own before the shipped one."""
        if not seat.persona:
            return ""
        folders = (Path(self._project.path) / PROJECT_FOLDER, self._persona_folder)
        return await asyncio.to_thread(persona_text, seat.persona, folders)

    async def pulled(self, pulls: Sequence[Pull]) -> tuple[PulledResult, ...]:
        """Answer all pulls of one answer together."""
        return tuple([await self._answer(pull) for pull in pulls])

    async def _answer(self, pull: Pull) -> PulledResult:
        found: tuple[Message, ...] = ()
        if pull.kind == "memory" and recall.searchable(pull.query):
            hits = await self._records.do(
                messages.search, self._conversation.id, pull.query, recall.MAX_HITS + OWN_MESSAGES
            )
            found = tuple(m for m in self._belonging(hits) if not self._is_of_this_answer(m))
            found = found[: recall.MAX_HITS]
        elif pull.kind == "messages":
            what, number = recall.wants(pull)
            if what == "id":
                one = await self._records.do(messages.get_message, number, self._conversation.id)
                found = (one,) if one else ()
            else:
                found = self._belonging(
                    await self._records.do(messages.recent, self._conversation.id, number)
                )
        return recall.answer(pull, found)

    async def _load(self) -> Loaded:
        self._on_load()
        (said, total), (stack, notes) = await asyncio.gather(
            self._records.do(self._read), self._stack()
        )
        belonging = self._belonging(said)
        facts = PackFacts(
            project=ProjectFacts(self._project.name, self._project.path, stack),
            messages=belonging,
            message_count=total - (len(said) - len(belonging)),
            people=_people(said),
            seats=self._turn.seats,
            notes=(*self._notes, *notes),
        )
        return Loaded(facts, max((message.id for message in said), default=0))

    async def _stack(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The project's tech stack, and notes on what could not be read."""
        try:
            async with asyncio.timeout(SOURCE_DEADLINE_S):
                return await asyncio.to_thread(_look_into, self._project), ()
        except (OSError, TimeoutError) as error:
            log.warning("source.failed", source="project", error=type(error).__name__)
            return (), (f"project: not read ({type(error).__name__})",)

    def _read(self) -> tuple[tuple[Message, ...], int]:
        return (
            messages.recent(self._conversation.id, self._history_messages),
            messages.count(self._conversation.id),
        )

    def _belonging(self, said: Sequence[Message]) -> tuple[Message, ...]:
        """Without questions that wait for a turn of their own behind this one."""
        return tuple(
            m for m in said if m.author_kind == "agent" or (m.turn_id or 0) <= self._turn.id
        )

    def _is_of_this_answer(self, message: Message) -> bool:
        """The question itself, and what was said before the pull: nobody's memory, but the task."""
        own = self._turn.kind == "ask" and message.turn_id == self._turn.id
        return own or message.id == self._turn.prompt_message_id


def _look_into(project: Project) -> tuple[str, ...]:
    """The tech stack of a project; its folder is made if it is one of ours. Blocking."""
    folder = Path(project.path)
    if project.own:
        folder.mkdir(parents=True, exist_ok=True)
    return tech_stack(folder)


def _people(said: Sequence[Message]) -> tuple[str, ...]:
    """Names of the people who spoke, each once, in the order they first did."""
    return tuple(dict.fromkeys(m.author_name for m in said if m.author_kind == "human"))
