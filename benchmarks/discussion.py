"""The given discussion (``benchmarks/data/discussion.json``) as a real Moot has it.

A project folder under git with the skills and the code, a database with the conversation, the plan
and what else is on record, and Moot itself on top (``bridge.app.running``). Only the people, the
models and the chat platform are paper.

The thread is played from its first message: each earlier answer of an agent is a turn that asked
this agent, in whatever engine session it has. Records appear when the thread first speaks of them
(``WHEN``), the way they are at the end.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.players import FORGETFUL, Call, Theatre
from benchmarks.surroundings import (
    CHAT,
    KEY,
    Paper,
    channels,
    discussion,
    say,
    seats_of,
    write_elsewhere,
    write_project,
)
from bridge.app import Moot, running
from config.settings import load_settings
from core.memory import summarise
from core.memory.summarise import AT_LEAST, FROM_MESSAGES
from core.model import (
    Actor,
    Conversation,
    Message,
    Origin,
    Participant,
    Subtask,
    TableRules,
    TurnKind,
)
from core.records import findings, ledger, messages, places, plans, topics, turns

DEADLINE_S = 300.0
_NUMBER = re.compile(r"^\[#(\d+)\] ", re.MULTILINE)

WHEN: Mapping[str, Sequence[str]] = {
    "m013": ("plan", "C-1"),  # Robin decides, and gives out subtasks
    "m017": ("A1", "A2", "F-6"),  # the schema as of migration 0042
    "m019": ("F-1",),
    "m020": ("C-2",),
    "m022": ("C-3", "A4"),  # what the provider remembers, and answers
    "m023": ("F-2",),
    "m027": ("F-3", "A3"),
    "m034": ("F-4",),
    "m037": ("C-4",),  # what the plan document still calls open
    "m038": ("F-5",),
    "m043": ("A5", "subtasks"),  # where the plan stands when the roundtable begins
}
"""Message -> what is on record once it is said."""


@dataclass
class Play:
    """The discussion in a running Moot; ``ids`` are record ids of messages by their names."""

    data: dict[str, Any]
    moot: Moot
    theatre: Theatre
    project: Path
    conversation: Conversation
    seats: dict[str, Participant]
    ids: dict[str, int] = field(default_factory=dict)
    lines: str = ""
    """What the asked agent is to answer next."""

    # --- the thread ---------------------------------------------------------------------

    async def history(self, *, sessions: bool, late: bool = False) -> None:
        """Say all that was said.

        ``sessions``: agents' answers are calls; else only rows. ``late``: what is on record comes
        after the last message, so that every session has it still to learn.
        """
        asked: Mapping[str, Any] = {}
        for message in self.data["history"]:
            if message["role"] == "human":
                asked = message
                await self.do(self._say, message)
            elif sessions:
                seat = self.seats[message["author"]]
                self.lines = message["text"]
                await self.ask("ask", asked, (seat,), rounds=1)
                self.ids[message["id"]] = await self.do(self._newest)
            else:
                await self.do(self._answer, message)
            await self._summed_up()
            if not late:
                for name in WHEN.get(message["id"], ()):
                    await self.do(self._record, name)
        if late:
            for names in WHEN.values():
                for name in names:
                    await self.do(self._record, name)

    async def _summed_up(self) -> None:
        """Wait until the work in the background has caught up, so that every play is the same."""
        async with asyncio.timeout(DEADLINE_S):
            while True:  # rows tell of no event
                if not await self.do(self._to_sum_up):
                    return
                await asyncio.sleep(0.005)

    def _to_sum_up(self) -> Sequence[Message]:
        return topics.unsummarised(
            self.conversation.id, keep=FROM_MESSAGES, at_least=AT_LEAST, limit=AT_LEAST, redo=False
        )

    def summary(self, call: Call) -> str:
        """What the engine makes of a span: each given topic once the last of its messages is in it.

        Its sentences stand for all of its messages: the data does not say which is whose.
        """
        shown = {int(number) for number in _NUMBER.findall(call.context)}
        made = []
        for topic in self.data["topics"]:
            ids = [self.ids[name] for name in topic["source"] if name in self.ids]
            if len(ids) == len(topic["source"]) and ids[-1] in shown:
                said = [
                    {"messages": [i for i in ids if i in shown], "text": sentence}
                    for sentence in re.split(r"(?<=[.?!]) +", topic["text"])
                ]
                made.append({"title": topic["title"], "statements": said})
        return json.dumps({"topics": made})

    async def roundtable(self, rounds: int, *, mode: str = "") -> None:
        """The roundtable on the topic, as its starter asks for it after the last message."""
        starter = {"id": "topic", "author": "Robin", "text": self.data["topic"]}
        await self.do(self._say, starter)
        rules = TableRules(early_stop=False)
        seats = tuple(self.seats.values())
        await self.ask("roundtable", starter, seats, rounds=rounds, rules=rules, mode=mode)

    async def ask(
        self,
        kind: TurnKind,
        message: Mapping[str, Any],
        seats: Sequence[Participant],
        *,
        rounds: int,
        rules: TableRules = TableRules(),  # noqa: B008 - frozen
        mode: str = "",
    ) -> None:
        """Put a question, and wait until it is answered."""
        turn_id = await self.moot.records.do(
            turns.queue_turn,
            self.conversation.id,
            kind=kind,
            prompt=message["text"],
            prompt_message_id=self.ids[message["id"]],
            asker=message["author"],
            asker_key=f"{CHAT}:{message['author']}",
            seats=seats,
            rounds=rounds,
            mode=mode,
            now=time.time(),
            rules=rules,
            asker_trusted=True,
        )
        self.moot.worker.wake()
        async with asyncio.timeout(DEADLINE_S):
            while True:
                turn = await self.moot.records.do(turns.get_turn, turn_id)
                assert turn is not None
                if turn.state not in ("queued", "running"):
                    break
                await asyncio.sleep(0.005)
        if turn.state != "done":
            raise RuntimeError(f"the turn ended as {turn.state}")

    async def do(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function as one transaction on the records' thread."""
        return await self.moot.records.do(function, *args)

    def _say(self, message: Mapping[str, Any]) -> None:
        self.ids[message["id"]] = say(self.conversation, KEY, message, time.time())

    def _answer(self, message: Mapping[str, Any]) -> None:
        seat = self.seats[message["author"]]
        self.ids[message["id"]] = messages.add_answer(
            self.conversation.id, seat, message["text"], turn_id=0, now=time.time()
        )

    def _newest(self) -> int:
        return messages.recent(self.conversation.id, 1)[0].id

    # --- what is on record ----------------------------------------------------------------

    def _record(self, name: str) -> None:
        """Put one thing on record, the way it is when the roundtable begins."""
        if name == "plan":
            self._plan()
        elif name == "subtasks":
            self._subtasks()
        elif name.startswith("F-"):
            self._finding(_named(self.data["findings"], name))
        elif name.startswith("C-"):
            self._decision(_named(self.data["consensus"], name))
        else:
            self._artifact(_named(self.data["artifacts"], name))

    def _origin(self, message: str = "") -> Origin:
        return Origin("acme-billing", self.conversation.id, self.ids.get(message, 0))

    def _by(self, name: str = "Robin") -> Actor:
        return Actor(f"{CHAT}:{name}", name)

    def _plan(self) -> None:
        plan = self.data["plan"]
        tasks = tuple(
            Subtask(task["n"], task["title"], owner=task["owner"]) for task in plan["subtasks"]
        )
        made = plans.propose(
            self._origin(),
            plan["title"],
            phase=plan["phase"],
            document=self.data["plan_doc"],
            subtasks=tasks,
            by=self._by(),
            now=time.time(),
        )
        plans.set_plan_state(made, "active", by=self._by(), now=time.time())

    def _subtasks(self) -> None:
        plan = plans.active_plan(self.conversation.id)
        assert plan is not None
        for task in self.data["plan"]["subtasks"]:
            state = {"done": "done", "todo": "todo", "blocked": "todo"}.get(task["state"])
            plans.set_subtask(
                plan,
                task["n"],
                state=state or "in-progress",  # type: ignore[arg-type]
                progress=_progress(task),
                by=self._by(),
                now=time.time(),
            )

    def _finding(self, finding: Mapping[str, Any]) -> None:
        made = findings.add_finding(
            self._origin(finding["message"]),
            finding["text"],
            category=finding["category"],
            severity=finding["severity"],
            by=self._by("Charlie"),
            now=time.time(),
        )
        if finding["state"] == "fixed":
            findings.set_finding_state(made, "closed", by=self._by("Bob"), now=time.time())

    def _decision(self, entry: Mapping[str, Any]) -> None:
        words = {"agree": "agree", "agree with reservation: needs a rate limit": "agree"}
        stances = [(who, words.get(said, said)) for who, said in entry["participants"].items()]
        ledger.decide(
            self._origin(),
            entry["axis"],
            entry["decision"],
            stances=stances,
            confidence=entry["confidence"],
            by=self._by(),
            now=time.time(),
        )

    def _artifact(self, artifact: Mapping[str, Any]) -> None:
        findings.add_artifact(
            self._origin(),
            artifact["title"],
            artifact["text"],
            line=artifact["line"],
            by=self._by("Bob"),
            now=time.time(),
        )


def _progress(task: Mapping[str, Any]) -> str:
    waits = task.get("blocked_by")
    waiting = f", blocked by {', '.join(map(str, waits))}" if waits else ""
    return f"{task['progress']} %, {task['state'].replace('_', ' ')}{waiting}"


def _named(entries: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next(entry for entry in entries if entry["id"] == name)


# --- all of it, running --------------------------------------------------------------------


@dataclass(frozen=True)
class Setup:
    """How Moot is set up for one play."""

    delivery: str
    sessions: bool
    forgetful: bool = False  # engines that keep no sessions at all: a follow-up gets everything too
    in_run: bool = True
    max_followups: int = 2


@asynccontextmanager
async def playing(folder: Path, setup: Setup, theatre: Theatre) -> AsyncIterator[Play]:
    """A Moot in ``folder`` with the discussion's project; nothing said in its thread yet."""
    data = discussion()
    summarise.POLL_S = 0.02  # here nobody takes minutes to write a message
    project = await asyncio.to_thread(write_project, data, folder / "acme-billing")
    config = folder / "moot.toml"
    await asyncio.to_thread(config.write_text, _settings(folder, project, data, setup, theatre.url))
    chat = Paper()
    async with running(load_settings(config), [chat]) as moot:  # type: ignore[list-item]

        def begin() -> Conversation:
            made = messages.open_conversation(KEY, direct=False, in_thread=False, now=time.time())
            places.set_engaged(made.id)
            places.set_public(KEY, public=True)
            write_elsewhere(data, made)
            return messages.get_conversation(made.id)

        conversation = await moot.records.do(begin)
        yield Play(data, moot, theatre, project, conversation, seats_of(data))


def _settings(folder: Path, project: Path, data: Mapping[str, Any], setup: Setup, url: str) -> str:
    # Without vectors: they are there when they are, and the same input has to give the same packs.
    args = json.dumps([FORGETFUL]) if setup.forgetful else "[]"
    engines = "".join(
        f'[engines.{name}]\nuse = "benchmarks.players:{name.upper()}"\nbase_url = "{url}"\n'
        f"args = {args}\n"
        for name in ("claude", "codex", "opencode")
    )
    return f"""
[storage]
dir = "{folder / "moot"}"
[engines]
default = "claude"
{engines}
[context]
delivery = "{setup.delivery}"
sessions = {json.dumps(setup.sessions)}
[memory]
summary_engine = "claude"
embedder = "none"
[pull]
in_run = {json.dumps(setup.in_run)}
max_followups = {setup.max_followups}
[projects.acme-billing]
path = "{project}"
channels = {json.dumps(channels(data))}
"""
