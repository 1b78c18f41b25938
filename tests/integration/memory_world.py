"""A house of real records, with a second book-keeping of who may be told what.

Messages hold a marker each (``m12x``); ``World.allowed`` says in other words than the product's
which of them an answer may hold. Time is the world's own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bridge.access import Door
from bridge.intake import Intake
from core.memory.chroma.index import ChromaAway, ChromaIndex
from core.memory.embed.port import Vectors
from core.memory.indexer import Indexer
from core.memory.memory import told
from core.memory.near import Elsewhere, Nearby
from core.memory.texts import question_of
from core.model import Author, ChatEvent, ConversationKey, Near, Participant, Said, Scene, Step
from core.records import forgetting, history, jobs, messages, outbox, places, runs, scopes, turns
from core.records.eraser import Eraser
from core.records.retention import DAY_S
from core.records.scrub import Scrubber
from core.records.tables import (
    ConversationRow,
    MessageRow,
    OutboxRow,
    RunRow,
    TurnRow,
    VectorRow,
)
from core.records.thread import Records
from tests.integration.scenes import scene_of
from tests.integration.test_intake import POLICY

T = TypeVar("T")

SEAT = Participant("claude")
CHATS = ("slack", "discord")
SPACES = ("T1", "T2")
CHANNELS = ("C0", "C1", "C2", "D0")
LISTED = ("slack:C0", "slack:C1", "slack:D0", "discord:C0")
"""What the project lists; a direct message stands there to see that it makes no difference."""
PEOPLE = ("Kim", "Lee", "Ann", "Gus")
APPROVER = "Ann"
MARKER = re.compile(r"m\d+x")
WITHIN_S = 30.0
DIM = 64


class Meanings:
    """A small embedder: each word has its direction, and "alpha" means the same as "wagen"."""

    name, dim = "meanings/64/r1", DIM

    def passages(self, texts: Sequence[str]) -> Vectors:
        made = np.zeros((len(texts), DIM), np.float32)
        for row, text in zip(made, texts, strict=True):
            row[0] = 1e-3
            for word in re.findall(r"\w+", text.lower()):
                if word in ("alpha", "wagen"):
                    row[1] += 3.0
                else:
                    row[2 + sum(map(ord, word)) % (DIM - 2)] += 0.5
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    def query(self, text: str) -> Vectors:
        return self.passages([text])[0]


@dataclass
class Place:
    """A conversation, as the second book has it."""

    id: int
    key: ConversationKey
    apart: bool
    direct: bool
    spoke: list[tuple[float, int, str]] = field(default_factory=list)  # when, row, who (people)


@dataclass
class Entry:
    """Something that was said."""

    id: int
    place: Place
    whose: str  # who may have it forgotten
    marker: str
    at: float
    ident: str  # on the platform: of an answer, its post
    answers: int = 0  # the question that it answers
    human: bool = True


class World:
    """The house at work; every method plays something that happens, in both books."""

    def __init__(self, folder: Path, copy: Callable[[Records], Any] | None = None) -> None:
        self.folder = folder
        self.runner = asyncio.Runner()
        self.made: list[Records] = []
        self.copy_of = copy
        self.copy: Any = None
        self.tasks: list[asyncio.Task[None]] = []
        self.places: dict[int, Place] = {}
        self.public: set[tuple[str, str, str]] = set()
        self.said: dict[int, Entry] = {}
        self.gone: set[str] = set()
        self.late: dict[str, float] = {}  # thread:3 or a person -> forgotten up to
        self.at = 1_700_000_000.0
        self.count = 0
        self.open()

    # --- the house -----------------------------------------------------------------------

    def open(self) -> None:
        """Begin a life. The one before may not have closed anything."""
        self.records = Records(self.folder / "moot.sqlite")
        self.made.append(self.records)
        self.runner.run(self.records.open())
        grants = [f"{chat}:U{name}" for chat in CHATS for name in PEOPLE]
        self.intake = Intake(
            self.records,
            Door(tuple(grants), tuple(f"{chat}:U{APPROVER}" for chat in CHATS)),
            POLICY,
            lambda _chat, text: (text,),
            on_turn=lambda: None,
            on_post=lambda: None,
            on_stop=lambda _: None,
            on_skip=lambda *_: None,
        )
        self.copy = self.copy_of(self.records) if self.copy_of else None
        elsewhere = {"elsewhere": _asking(self.copy)} if self.copy else {}
        room = 0 if self.copy else 2**26
        self.nearby = Nearby(self.records, room, **elsewhere)
        self.stated = Nearby(self.records, 2**26, kind="statement")
        self.indexer = Indexer(self.records, Meanings(), self.copy)
        works = [self.nearby.run, self.stated.run, *([self.copy.run] if self.copy else [])]
        self.runner.run(self._start(works))

    async def _start(self, works: Sequence[Any]) -> None:
        self.tasks = [asyncio.create_task(work()) for work in works]

    async def _end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def crash(self) -> None:
        """The life is over between two transactions, and another one begins."""
        self.runner.run(self._end())
        self.open()

    def close(self) -> None:
        self.runner.run(self._end())
        for records in reversed(self.made):
            self.runner.run(records.close())
        self.runner.close()

    def do(self, function: Callable[..., T], *args: Any) -> T:
        return self.runner.run(self.records.do(function, *args))

    def _next(self) -> float:
        self.count += 1
        self.at += DAY_S / 4
        return self.at

    def _mark(self) -> str:
        self.count += 1
        return f"m{self.count}x"

    def _author(self, name: str, chat: str) -> Author:
        return Author(f"U{name}", name, grants=(f"{chat}:U{name}",), trusted=name != "Gus")

    def event(self, place: Place, name: str, kind: str, text: str, **more: Any) -> Any:
        """Something that happens in a thread, through the one door."""
        ident = more.pop("message_id", f"i{self.count}")
        event = ChatEvent(
            key=place.key,
            event_id=more.pop("event_id", f"{kind}-{place.id}-{ident}-{self.count}"),
            message_id=ident,
            author=self._author(name, place.key.chat),
            text=text,
            kind=kind,
            sent_at=more.pop("sent_at", self.at),
            in_thread=True,
            **more,
        )
        return self.runner.run(self.intake.accept(event))

    # --- what happens ------------------------------------------------------------------------

    def open_thread(self, chat: str, space: str, channel: str, apart: bool) -> None:
        direct = channel.startswith("D")
        apart = apart and not direct
        key = ConversationKey(chat, space, channel, f"r{len(self.places) + 1}")
        where = (chat, space, channel)

        def write() -> int:
            made = messages.open_conversation(key, direct=direct, in_thread=False, now=self.at)
            ConversationRow.change(made.id, public=where in self.public, apart=apart)
            return made.id

        number = self.do(write)
        self.places[number] = Place(number, key, apart, direct)

    def say(self, place: Place, name: str) -> None:
        at, marker = self._next(), self._mark()
        self.event(place, name, "message", f"alpha {marker}", message_id=f"i{self.count}")
        self._noted(place, name, marker, at, f"i{self.count}")

    def _noted(self, place: Place, name: str, marker: str, at: float, ident: str) -> None:
        row = self.do(
            lambda: MessageRow.get_or_none(
                (MessageRow.conversation == place.id) & (MessageRow.platform_id == ident)
            )
        )
        author = f"{place.key.chat}:U{name}"
        if self._late(place, author, at):
            assert row is None, "what was forgotten came back"
            self.gone.add(marker)
            return
        assert row is not None
        self.said[row.id] = Entry(row.id, place, author, marker, at, ident)
        place.spoke.append((at, row.id, author))

    def _late(self, place: Place, author: str, at: float) -> bool:
        return any(at <= self.late.get(one, 0.0) for one in (f"thread:{place.id}", author))

    def ask(self, place: Place, name: str) -> None:
        """A question, and an answer to it that is posted."""
        at, asked = self._next(), self._mark()
        ident = f"i{self.count}"
        self.event(place, name, "message", f"alpha {asked}?", message_id=ident)
        self._noted(place, name, asked, at, ident)
        question = next((e for e in self.said.values() if e.marker == asked), None)
        if question is None:
            return
        marker = self._mark()

        def write() -> tuple[int, str]:
            turn_id = turns.queue_turn(
                place.id, kind="ask", prompt=f"alpha {asked}?", prompt_message_id=question.id,
                asker=name, asker_key=question.whose, seats=(SEAT,), rounds=1, mode="", now=at,
            )  # fmt: skip
            turn = turns.get_turn(turn_id)
            assert turn is not None
            run_id, answer = f"run{turn_id}", f"alpha {marker} it is"
            runs.open_run(
                run_id, turn, Step(0, 0), SEAT, can_write=False, receipt={}, status=None, now=at
            )
            said = messages.add_answer(place.id, SEAT, answer, turn_id=turn_id, now=at + 1)
            RunRow.change(run_id, state="answered", answer=answer, message=said)
            post = outbox.add_post(
                place.id, "answer", (answer,), turn_id=turn_id, run_id=run_id, now=at
            )
            assert post is not None
            while item := outbox.take_next(place.id, 4e9):
                outbox.mark_sent(item.id, f"p{item.id}", None, at)
            TurnRow.change(turn_id, state="done")
            return said, f"p{post}"

        number, post = self.do(write)
        self.said[number] = Entry(
            number, place, question.whose, marker, at + 1, post, question.id, human=False
        )

    def edit(self, entry: Entry) -> None:
        """The platform tells an edit, whether or not it still stands here."""
        self._next()
        marker = self._mark()
        name = entry.whose.rpartition(":U")[2]
        self.event(entry.place, name, "edit", f"alpha {marker}", message_id=entry.ident)
        if entry.marker in self.gone:
            self.gone.add(marker)
        else:
            self.gone.add(entry.marker)
            entry.marker = marker

    def delete(self, entry: Entry) -> None:
        self._next()
        self.event(entry.place, "Lee", "delete", "", message_id=entry.ident)
        self.gone.add(entry.marker)

    def again(self, entry: Entry) -> None:
        """The same message is delivered once more, under another event's id."""
        name = entry.whose.rpartition(":U")[2]
        text = f"alpha {entry.marker}"
        self.event(
            entry.place, name, "message", text, message_id=entry.ident, sent_at=entry.at,
            event_id=f"again-{entry.ident}-{self.count}",
        )  # fmt: skip

    def history(self, place: Place, name: str) -> None:
        """The thread is read: all that was said in it, and something that was never heard of."""
        chat = place.key.chat
        known = [e for e in self.said.values() if e.place is place and e.human]
        said = [
            Said(
                e.ident, self._author(e.whose.rpartition(":U")[2], chat), f"alpha {e.marker}", e.at
            )
            for e in known
        ]
        marker, at = self._mark(), self.at - 3 * DAY_S
        ident = f"i{self.count}"
        said.append(Said(ident, self._author(name, chat), f"alpha {marker}", at))
        self.do(history.add_history, place.id, chat, said)
        self._noted(place, name, marker, at, ident)

    def flip(self, where: tuple[str, str, str]) -> None:
        self.public ^= {where}
        key = ConversationKey(*where, "")
        self.do(lambda: places.set_public(key, public=where in self.public))

    def turn_private(self, place: Place) -> None:
        if not place.direct:
            place.apart = True
            self.do(places.set_apart, place.key)

    # --- what is to be forgotten -------------------------------------------------------------

    def forget_message(self, entry: Entry, name: str, place: Place) -> None:
        """Somebody presses such a button, typed in ``place``: whoever may not changes nothing."""
        self._next()
        self.event(place, name, "button", f"forget:message:{entry.id}")
        me, here, there = f"{place.key.chat}:U{name}", place.key, entry.place.key
        near = (here.chat, here.space) == (there.chat, there.space)
        if entry.whose == me or (name == APPROVER and near):
            self._forgotten([entry, *(e for e in self.said.values() if e.answers == entry.id)])

    def forget_thread(self, thread: Place, name: str, place: Place) -> None:
        self._next()
        self.event(place, name, "button", f"forget:thread:{thread.id}")
        me, here, there = f"{place.key.chat}:U{name}", place.key, thread.key
        same = (here.chat, here.space, here.channel) == (there.chat, there.space, there.channel)
        people = {who for _, _, who in thread.spoke}
        first = min(thread.spoke)[2] if thread.spoke and not thread.direct else ""
        begun = next(iter(people)) if len(people) == 1 else first
        standing = [e for e in self._standing() if e.place is thread]
        if standing and same and (begun == me or name == APPROVER):
            self._forgotten(standing)
            self.late[f"thread:{thread.id}"] = self.at

    def forget_person(self, who: str, name: str, place: Place) -> None:
        self._next()
        chat = place.key.chat
        whose, me = f"{chat}:U{who}", f"{chat}:U{name}"
        self.event(place, name, "button", f"forget:person:{whose}")
        standing = [e for e in self._standing() if e.whose == whose]
        if standing and (whose == me or name == APPROVER):
            self._forgotten(standing)
            self.late[whose] = self.at

    def _standing(self) -> list[Entry]:
        return [entry for entry in self.said.values() if entry.marker not in self.gone]

    def _forgotten(self, entries: Sequence[Entry]) -> None:
        self.gone.update(entry.marker for entry in entries)

    def age(self, days: int, channels: Sequence[str]) -> None:
        """What was kept for so many days in these channels is too old."""
        self._next()
        eraser = Eraser(
            self.records,
            lambda key: days if key.channel in channels else 0,
            on_gone=lambda: None,
            clock=lambda: self.at,
        )
        self.runner.run(eraser.age())
        before = self.at - days * DAY_S
        self._forgotten(
            [e for e in self._standing() if e.place.key.channel in channels and e.at < before]
        )

    def erase_some(self) -> None:
        self.do(forgetting.erase_hidden, self.at, 0.0)

    # --- indexing and asking -----------------------------------------------------------------

    def index(self, steps: int | None = None) -> None:
        """Some steps of the indexer, or (``None``) all that there is to do."""

        async def work() -> None:
            async with asyncio.timeout(WITHIN_S):
                while await self.indexer._step():
                    nonlocal steps
                    if steps is not None and (steps := steps - 1) <= 0:
                        return

        self.runner.run(work())
        if steps is None:
            assert self.do(jobs.count) == 0
            self.runner.run(self._copied())

    async def _copied(self) -> None:
        """Until Chroma, where it is asked, has what the rows have."""
        made = await self.records.do(lambda: VectorRow.select().count())
        async with asyncio.timeout(WITHIN_S):
            while self.copy is not None and made:
                state = await self.copy.state()
                if state.chroma == "ready" and state.in_chroma == made:
                    return
                await asyncio.sleep(0.01)

    def near(self, scene: Scene, text: str) -> Near | None:
        """What vectors find, as ``core.memory.memory`` has it found."""
        serving = self.indexer.serving
        if serving is None:
            return None

        async def look() -> Near:
            await self.nearby.use(serving.id, DIM)
            where = await self.records.do(scopes.allowed_scopes, scene)
            await self.nearby.ready(where, WITHIN_S)
            query = Meanings().query(question_of(text, ()))
            ids, cosines = await self.nearby.find(query, where, 500)
            floor = float(cosines[-1]) if len(cosines) else 0.0
            await self.stated.use(serving.id, DIM)
            await self.stated.ready(where, WITHIN_S)
            stated = told("", *await self.stated.find(query, where, 500), 0)
            return Near(
                serving.embedder.name,
                tuple(map(int, ids)),
                tuple(map(float, cosines)),
                floor,
                stated,
            )

        return self.runner.run(look())

    def scene(self, place: Place, *, trusted: bool, recall: str, text: str) -> Scene:
        return self.do(
            lambda: scene_of(
                place.id,
                prompt=text,
                mode="full",
                project_channels=LISTED,
                asker_trusted=trusted,
                recall=recall,
                turn_id=10**6,
            )
        )

    def may_see(self, here: Place, there: Place, *, trusted: bool, recall: str) -> bool:
        """The rule in words."""
        if here is there:
            return True
        if recall == "conversation" or there.apart:
            return False
        if (here.key.chat, here.key.space) != (there.key.chat, there.key.space):
            return False
        if here.key.channel == there.key.channel:
            return True
        if recall == "channel" or not trusted or here.direct or there.direct:
            return False
        names = {f"{one.key.chat}:{one.key.channel}" for one in (here, there)}
        return names <= set(LISTED) and (
            (there.key.chat, there.key.space, there.key.channel) in self.public
        )

    def allowed(self, here: Place, *, trusted: bool, recall: str) -> dict[int, str]:
        """What may be told in an answer here: the markers by message."""
        return {
            entry.id: entry.marker
            for entry in self._standing()
            if self.may_see(here, entry.place, trusted=trusted, recall=recall)
        }

    # --- the files -----------------------------------------------------------------------------

    def left(self) -> dict[str, list[str]]:
        """Markers that are no more, by the file that holds them once all is erased that is due."""
        while self.do(forgetting.erase_hidden, self.at):
            pass
        self.index()
        self.runner.run(self._scrub())
        found: dict[str, list[str]] = {}
        for path in self.folder.rglob("*"):
            data = path.read_bytes() if path.is_file() else b""
            if held := [marker for marker in self.gone if _holds(data, marker)]:
                found[path.name] = held
        rows = self.do(lambda: [row.text for row in OutboxRow.select()])
        if held := [marker for marker in self.gone if any(marker in text for text in rows)]:
            found["outbox"] = held
        return found

    async def _scrub(self) -> None:
        assert await Scrubber(self.records)._scrub()


def _holds(data: bytes, marker: str) -> bool:
    """Whether a file has the marker as a word: "m1x" is no part of "m11x"."""
    return bool(re.search(rb"(?<![0-9a-z])" + marker.encode() + rb"(?![0-9a-z])", data))


def _asking(copy: ChromaIndex) -> Elsewhere:
    """What ``core.memory.memory`` asks Chroma."""

    async def ask(query: Any, where: Sequence[int], limit: int) -> Any:
        try:
            ids, cosines = await copy.query(query, where, limit)
        except ChromaAway:
            return None
        found = [
            (int(name.removeprefix("message:")), cosine)
            for name, cosine in zip(ids, cosines, strict=True)
            if name.startswith("message:")
        ]
        numbers = np.asarray([number for number, _ in found], np.int64)
        return numbers, np.asarray([cosine for _, cosine in found], np.float32)

    return ask
