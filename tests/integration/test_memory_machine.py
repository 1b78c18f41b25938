"""Whatever happens, nobody is told what they may not see or what is no more; the rest is found.

A state machine on a real database: chats, channels that open and close, private threads, direct
messages, guests, edits, deletions, forgetting, retention, histories, crashes and half-done indexing
in any order; asked by words and by meaning after any of it. ``MOOT_LONG=1`` in the environment
plays twenty times as much.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from core.memory.chroma.index import ChromaIndex
from core.memory.find import find
from core.memory.topics import extract, merge
from core.model import EXTRACT, Pull, Usage
from core.records import topics
from core.records.tables import ContextLineRow, MessageIndex, StatementRow
from core.records.thread import Records
from core.sources.catalog import all_sources
from tests.integration.memory_world import (
    CHANNELS,
    CHATS,
    MARKER,
    PEOPLE,
    SPACES,
    Entry,
    Place,
    World,
)

LONG = 20 if os.environ.get("MOOT_LONG") else 1
SOURCES = tuple(s for s in all_sources(Path("/nowhere")) if s.where == "records")

numbers = st.integers(0, 1_000)
people = st.sampled_from(PEOPLE)


class Memory(RuleBasedStateMachine):
    """See the module."""

    copied = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.world = World(self.folder, _chroma if self.copied else None)
        for channel in ("C0", "C1"):
            self.world.open_thread("slack", "T1", channel, apart=False)
            self.world.flip(("slack", "T1", channel))

    def teardown(self) -> None:
        try:
            if self.world.said:
                left = self.world.left()
                assert not left, left
        finally:
            self.world.close()
            shutil.rmtree(self.folder)

    def place(self, number: int) -> Place:
        found = list(self.world.places.values())
        return found[number % len(found)]

    def entry(self, number: int) -> Entry:
        found = list(self.world.said.values())
        return found[number % len(found)]

    # --- what is said and done ---------------------------------------------------------------

    @rule(
        chat=st.sampled_from((*CHATS[:1] * 3, CHATS[1])),
        space=st.sampled_from((*SPACES[:1] * 3, SPACES[1])),
        channel=st.sampled_from(CHANNELS),
        apart=st.booleans(),
    )
    def open_thread(self, chat: str, space: str, channel: str, apart: bool) -> None:
        if len(self.world.places) < 12:
            self.world.open_thread(chat, space, channel, apart)

    @rule(at=numbers, who=people, many=st.integers(1, 4))
    def say(self, at: int, who: str, many: int) -> None:
        for n in range(many):
            self.world.say(self.place(at), PEOPLE[(PEOPLE.index(who) + n) % len(PEOPLE)])

    @rule(at=numbers, who=people)
    def ask(self, at: int, who: str) -> None:
        self.world.ask(self.place(at), who)

    @precondition(lambda self: self.world.said)
    @rule(number=numbers)
    def edit(self, number: int) -> None:
        entry = self.entry(number)
        if entry.human:
            self.world.edit(entry)

    @precondition(lambda self: self.world.said)
    @rule(number=numbers)
    def delete(self, number: int) -> None:
        self.world.delete(self.entry(number))

    @precondition(lambda self: self.world.said)
    @rule(number=numbers)
    def delivered_again(self, number: int) -> None:
        entry = self.entry(number)
        if entry.human:
            self.world.again(entry)

    @rule(at=numbers, who=people)
    def history(self, at: int, who: str) -> None:
        self.world.history(self.place(at), who)

    @rule(at=numbers)
    def flip(self, at: int) -> None:
        key = self.place(at).key
        self.world.flip((key.chat, key.space, key.channel))

    @rule(at=numbers)
    def turn_private(self, at: int) -> None:
        if at % 4 == 0:
            self.world.turn_private(self.place(at))

    # --- what goes ---------------------------------------------------------------------------

    @precondition(lambda self: self.world.said)
    @rule(number=numbers, at=numbers, who=people)
    def forget_message(self, number: int, at: int, who: str) -> None:
        self.world.forget_message(self.entry(number), who, self.place(at))

    @rule(thread=numbers, at=numbers, who=people)
    def forget_thread(self, thread: int, at: int, who: str) -> None:
        self.world.forget_thread(self.place(thread), who, self.place(at))

    @rule(of=people, at=numbers, who=people)
    def forget_person(self, of: str, at: int, who: str) -> None:
        self.world.forget_person(of, who, self.place(at))

    @rule(days=st.integers(1, 10), channels=st.sets(st.sampled_from(CHANNELS), min_size=1))
    def age(self, days: int, channels: set[str]) -> None:
        self.world.age(days, sorted(channels))

    @rule()
    def erase_some(self) -> None:
        self.world.erase_some()

    # --- the background ------------------------------------------------------------------------

    @rule(steps=st.integers(1, 3))
    def index_some(self, steps: int) -> None:
        self.world.index(steps)

    @rule()
    def crash(self) -> None:
        self.world.crash()

    @rule(at=numbers, engine=st.booleans())
    def sum_up(self, at: int, engine: bool) -> None:
        world, place = self.world, self.place(at)

        def write() -> None:
            span = topics.unsummarised(place.id, keep=1, at_least=1, limit=10, redo=False)
            if span:
                name = f"pass{world.count}"
                world.count += 1
                made = extract(span)
                by = "claude" if engine else EXTRACT
                made = tuple(replace(topic, made_by=by) for topic in made)
                topics.open_pass(name, place.id, by, "", {}, 1.0)
                topics.close_pass(
                    name,
                    span,
                    lambda known: merge(known, made),
                    Usage(),
                    1.0,
                    findable=True,
                    about={one.id: " ".join(m.text for m in span) for one in span if engine},
                )

        world.do(write)

    # --- and is asked --------------------------------------------------------------------------

    @rule(
        at=numbers,
        trusted=st.booleans(),
        recall=st.sampled_from(("project", "project", "channel", "conversation")),
        whole=st.booleans(),
    )
    def look(self, at: int, trusted: bool, recall: str, whole: bool) -> None:
        world, place = self.world, self.place(at)
        if whole:
            world.index()
        allowed = world.allowed(place, trusted=trusted, recall=recall)
        stated = world.do(
            lambda: "\n".join(
                [row.text for row in StatementRow.select()]
                + [row.line for row in ContextLineRow.select()]
                + [row.context for row in MessageIndex.select()]
            )
        )
        assert not world.gone.intersection(MARKER.findall(stated))
        for text in ("alpha", "wagen"):  # a word that is in all of it, and one that only means it
            scene = world.scene(place, trusted=trusted, recall=recall, text=text)
            near = world.near(scene, text)
            hits = world.do(lambda s=scene, t=text, n=near: find(s, t, 1_000, n))
            told = {number: MARKER.findall(hit.message.text) for hit in hits
                    if (number := hit.message.id)}  # fmt: skip
            wrong = {n: found for n, found in told.items() if found != [allowed.get(n)]}
            assert not wrong, (text, wrong)
            if text == "alpha" or whole:
                assert set(allowed) <= set(told), (text, set(allowed) - set(told))
            seen = set(MARKER.findall("\n".join(self.everything(scene, near))))
            assert seen <= set(allowed.values()), (text, seen - set(allowed.values()))

    def everything(self, scene, near) -> list[str]:
        """All that any source tells or answers."""
        scene = type(scene)(**{f: getattr(scene, f) for f in scene.__slots__} | {"near": near})
        queries = [scene.prompt, "last 30", *(f"#{number}" for number in self.world.said)]

        def ask() -> list[str]:
            told: list[str] = []
            for source in SOURCES:
                if source.offer:
                    for candidate in source.offer(scene).candidates.values():
                        told += [*candidate.parts, candidate.available, candidate.pull]
                for kind in source.kinds if source.answer else ():
                    for query in queries:
                        result = source.answer(Pull(kind, query), scene)
                        told += [*result.hits, result.note]
            return told

        return self.world.do(ask)


class CopiedMemory(Memory):
    """The same, with Chroma asked for every vector."""

    copied = True


def _chroma(records: Records) -> ChromaIndex:
    return ChromaIndex(records, records.path.parent, "folder")


@pytest.mark.parametrize(
    ("machine", "examples", "steps"), [(Memory, 25, 30), (CopiedMemory, 3, 15)]
)
def test_zero_leaks_and_nothing_that_is_no_more(machine, examples: int, steps: int) -> None:
    played = settings(
        max_examples=examples * LONG,
        stateful_step_count=steps,
        deadline=None,  # the host may be busy
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=played)
