"""One conversation that really takes turns: rows in a file, child processes, no chat platform."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core.context.terms import HouseTerms
from core.control import Room, Slots, Stops
from core.engines.process import Writers
from core.engines.process import run as run_engine
from core.engines.rehearsal import Rehearsal, RehearsalReader
from core.model import (
    Author,
    AuthorKind,
    ChatEvent,
    Conversation,
    ConversationKey,
    EngineConfig,
    EngineTask,
    Limits,
    Participant,
    Project,
    Spawn,
    TableRules,
    TurnState,
)
from core.records import messages, turns
from core.records.tables import EngineSessionRow, MessageRow, OutboxRow, RunRow
from core.records.thread import Records
from core.sources import recall
from core.streams import text_of
from core.turns.house import House, Policy, claim_ready
from core.turns.take import take_turn

SEAT = Participant("rehearsal")


class Actor(Rehearsal):
    """The rehearsal engine: it may rename its session, and compacts it when it is told to.

    ``asked`` are the tasks it was given. A run costs ``usd``, and, as Claude Code does it, one that
    goes on with a session tells only what that came to.
    """

    def __init__(self) -> None:
        super().__init__(EngineConfig())
        self.asked: list[EngineTask] = []
        self.rename = ""
        self.usd = 0.0
        self.spent: dict[str, float] = {}  # by session

    def start(self, task: EngineTask) -> Spawn:
        self.asked.append(task)
        told = replace(task, resume=self.rename) if task.resume and self.rename else task
        return super().start(told)

    def reader(self, task: EngineTask) -> RehearsalReader:
        reader = super().reader(task)
        tool = reader.handlers["tool"]

        def handle(d: Any) -> None:
            tool(d)
            if text_of(d, "about") == "compact":
                reader.emit("compacted", "auto")

        reader.handlers["tool"] = handle
        result = reader.handlers["result"]

        def price(d: Any) -> None:
            result(d)
            total = self.spent.get(task.resume, 0.0) + self.usd
            self.spent[reader.session] = total
            alone = 0.0 if task.resume else self.usd
            reader.usage = replace(reader.usage, cost_usd=alone, session_cost_usd=total)

        reader.handlers["result"] = price
        return reader


class Quiet:
    """Progress that nobody looks at."""

    def started(self, *_: Any) -> None: ...

    def event(self, *_: Any) -> None: ...

    def waits(self, *_: Any) -> None: ...

    def ended(self, *_: Any) -> int:
        return 0


@dataclass
class Parlour:
    """See the module."""

    house: House
    conversation: Conversation
    actor: Actor
    count: int = 0
    stops: Stops = field(default_factory=Stops)

    @property
    def records(self) -> Records:
        return self.house.records

    def set(self, **values: Any) -> None:
        """Change the policy."""
        self.house = replace(self.house, policy=replace(self.house.policy, **values))

    async def opened(self, root: str) -> Parlour:
        """Another conversation of the same house."""
        key = replace(self.conversation.key, root=root)
        return replace(self, conversation=await self.records.do(_open, key))

    async def say(self, text: str, name: str = "Kim", kind: AuthorKind = "human") -> int:
        """A person's message (or a bot's); its record id."""
        self.count += 1
        number = f"{self.conversation.key.root}-{self.count}"
        event = ChatEvent(
            key=self.conversation.key,
            event_id=f"e{number}",
            author=Author(f"U{name}", name, kind),
            kind="message",
            text=text,
            message_id=f"m{number}",
            sent_at=time.time(),
        )
        added = await self.records.do(
            messages.add_event, self.conversation.id, event, addressed=True
        )
        return added[0]

    async def remove(self, message_id: int) -> None:
        """A person deletes a message."""
        row = await self.records.do(MessageRow.get_by_id, message_id)
        await self.records.do(messages.remove, self.conversation.key, row.platform_id, time.time())

    async def ask(
        self, prompt: str, seats: Sequence[Participant] = (SEAT,), **more: Any
    ) -> TurnState:
        """A question, and its whole turn."""
        table = {"kind": "roundtable"} if len(seats) > 1 else {"kind": "ask", "rounds": 1}
        values: dict[str, Any] = {
            **table, "mode": "", "asker": "Kim", "asker_key": "slack:UKim", "asker_trusted": True,
            **more,
        }  # fmt: skip
        await self.records.do(
            turns.queue_turn,
            self.conversation.id,
            prompt=prompt,
            prompt_message_id=await self.say(prompt, kind="bot" if more.get("by_bot") else "human"),
            seats=seats,
            now=time.time(),
            **values,
        )
        claimed = await self.records.do(claim_ready, Room(1), (), (), time.time())
        (ready,) = claimed.ready
        self.stops = Stops()
        async with asyncio.timeout(60):
            return await take_turn(ready, self.house, self.stops)

    async def runs(self) -> list[dict[str, Any]]:
        """All runs, oldest first: receipt, outcome, session."""

        def read() -> list[dict[str, Any]]:
            rows = RunRow.select().order_by(RunRow.opened_at)
            return [
                {
                    **json.loads(row.receipt),
                    "outcome": row.outcome,
                    "session": row.session,
                    "usd": json.loads(row.usage).get("cost_usd", 0.0),
                }
                for row in rows
            ]

        return await self.records.do(read)

    async def sessions(self) -> list[EngineSessionRow]:
        """The rows of engine sessions, oldest first."""
        return await self.records.do(lambda: list(EngineSessionRow.select()))

    async def notices(self) -> list[str]:
        """What the thread was told beside answers."""

        def read() -> list[str]:
            rows = OutboxRow.select().where(OutboxRow.kind == "notice").order_by(OutboxRow.id)
            return [row.text for row in rows]

        return await self.records.do(read)


def _open(key: ConversationKey) -> Conversation:
    return messages.open_conversation(key, direct=False, in_thread=False, now=time.time())


@asynccontextmanager
async def parlour(folder: Path, **policy: Any) -> AsyncIterator[Parlour]:
    """A house with the rehearsal engine (as ``rehearsal`` and ``codex``), and a conversation."""
    records = Records(folder / "moot.sqlite")
    await records.open()
    project = folder / "project"
    project.mkdir()
    actor = Actor()
    personas = folder / "personas"
    personas.mkdir()
    values: dict[str, Any] = {
        "terms": HouseTerms(),
        "max_per_message_chars": 4_000,
        "history_messages": 400,
        "max_followups": 2,
        "limits": Limits(),
        "scratch": folder / "scratch",
        "persona_folder": personas,
        **policy,
    }
    house = House(
        records=records,
        engines={"rehearsal": actor, "codex": actor},
        run_engine=run_engine,
        voice=lambda _chat, markdown, _label: (markdown,),
        history=_nothing_before,
        project_of=lambda _: Project("acme", str(project)),
        channels_of=lambda _: (),
        sources=(recall.SOURCE,),
        progress=Quiet(),
        wake_delivery=lambda: None,
        policy=Policy(**values),
        slots=Slots(8),
        writers=Writers(folder / "locks"),
    )
    try:
        key = ConversationKey("slack", "T1", "C1", "1.0")
        yield Parlour(house, await records.do(_open, key), actor)
    finally:
        await records.close()


async def _nothing_before(_key: ConversationKey, _limit: int) -> tuple[()]:
    return ()


RULES = TableRules(early_stop=False)
