"""The script of the measured roundtable: who says what, who Pulls, and what each is told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mcp.client.session import ClientSession
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from benchmarks.discussion import Play, Setup
from benchmarks.knowledge import Fact, Session
from benchmarks.players import Call
from core.memory.topics import TASK
from core.pull import MAX_PULLS, MAX_QUERY_CHARS

SEATS, ROUNDS = 3, 2
_PULL = re.compile(r"^<!-- pull:.*-->\n?", re.MULTILINE)
_HISTORY = 'ORDER BY "t1"."sent_at" DESC, "t1"."id" DESC LIMIT 400'
"""What only the load of a round reads, of the conversation that it is for."""
_AVAILABLE = "# What you can Pull\n"
_HIT = re.compile(r"#(\d+) ")
Query = tuple[str, str]
"""The kind of a Pull, and what is asked."""


@dataclass
class Seat:
    """One call of the six, with the follow-ups that belong to it."""

    calls: list[Call] = field(default_factory=list)
    missing: tuple[Fact, ...] = ()
    pulls: int = 0
    queries: int = 0
    """SQL queries that read what it is told."""

    @property
    def chars(self) -> int:
        """All that was sent for it."""
        return sum(call.chars for call in self.calls)

    @property
    def tokens(self) -> int:
        """The same in estimated tokens."""
        return sum(call.tokens for call in self.calls)


@dataclass
class Measured:
    """The six calls of a roundtable in one way."""

    seats: list[Seat]
    loads: list[int]

    @property
    def chars(self) -> int:
        """Characters sent in all."""
        return sum(seat.chars for seat in self.seats)

    @property
    def tokens(self) -> int:
        """Estimated tokens sent in all."""
        return sum(seat.tokens for seat in self.seats)

    @property
    def pulls(self) -> int:
        """Pulls that were run."""
        return sum(seat.pulls for seat in self.seats)

    @property
    def missing(self) -> int:
        """Facts that somebody did not know when it answered."""
        return sum(len(seat.missing) for seat in self.seats)


@dataclass
class Director:
    """The script: earlier answers word for word, then the roundtable's, with Pulls between.

    Attributes:
        whole: the facts of each of the six packs when everything is told.
        pulls: so many things are pulled at each first call, needed or not; ``None``: while a fact
            of the whole pack is missing: first as its announcements suggest, then by name.
    """

    setup: Setup
    whole: Sequence[tuple[Fact, ...]] = ()
    pulls: int | None = 0
    play: Play | None = None
    sessions: dict[str, Session] = field(default_factory=dict)
    seats: list[Seat] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    loads: list[int] = field(default_factory=lambda: [0] * ROUNDS)
    measuring: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)
    _left: list[Query] = field(default_factory=list)
    _asked: set[Query] = field(default_factory=set)

    async def script(self, call: Call) -> str:
        """What the engine answers to a call."""
        assert self.play is not None
        if call.prompt.startswith(TASK[:60]):  # the summariser's, not a participant's
            if self.measuring:  # what falls due meanwhile comes after: every play is the same
                await self.over.wait()
            return self.play.summary(call)
        session = self.sessions.setdefault(call.session, Session())
        session.tell(call.system, call.stdin)
        if not self.measuring:
            answer = self.play.lines
        else:
            answer = await self._at_the_table(call, session)
        session.said.append(answer)
        return answer

    async def _at_the_table(self, call: Call, session: Session) -> str:
        if not self.seats or self.seats[-1].calls[-1].answer in self._spoken():
            self.seats.append(Seat())
            self._asked.clear()
            announcing = [text for text in (session.system, *session.told) if _AVAILABLE in text]
            self._left = queries_of(self.play.data["topic"], announcing[-1] if announcing else "")
        seat, number = self.seats[-1], len(self.seats) - 1
        seat.calls.append(call)
        self._count(seat, number // SEATS)
        if self.setup.in_run and (query := self._next(session, seat, number)):
            async with pulling(call) as pull:
                while query:
                    call.pulled.append(await pull(query))
                    session.told.append(call.pulled[-1])
                    query = self._next(session, seat, number)
        elif not self.setup.in_run:
            queries: list[Query] = []
            while len(queries) < MAX_PULLS and (query := self._next(session, seat, number)):
                queries.append(query)
            if queries:
                return "\n".join(f"<!-- pull:{kind}: {words} -->" for kind, words in queries)
        if self.whole:
            seat.missing = session.missing(self.whole[number])
        return self._spoken()[number]

    def _next(self, session: Session, seat: Seat, number: int) -> Query | None:
        """What is pulled next at this call; ``None``: nothing more."""
        if self.pulls is not None:
            more = number < SEATS and seat.pulls < self.pulls and bool(self._left)
        else:
            lacks = session.missing(self.whole[number])
            if lacks and not self._left:
                named = dict.fromkeys(query for fact in lacks if (query := by_name(fact)))
                self._left = [query for query in named if query not in self._asked]
                self._asked.update(self._left)
            more = bool(lacks and self._left)
        if not more:
            return None
        seat.pulls += 1
        return self._left.pop(0)

    def _spoken(self) -> list[str]:
        """The six answers, without the Pulls that they hold: here it is said what is pulled."""
        assert self.play is not None
        rounds = self.play.data["answers"]
        return [_PULL.sub("", answer["text"]).strip() for said in rounds for answer in said]

    def _count(self, seat: Seat, round_number: int) -> None:
        """What was read for this step: each transaction that reads the thread's messages."""
        assert self.play is not None
        asked, self.statements[:] = list(self.statements), []
        here = f'"conversation_id" = {self.play.conversation.id})'
        for queries in _transactions(asked):
            of_thread = [sql for sql in queries if 'FROM "message"' in sql and here in sql]
            self.loads[round_number] += any(_HISTORY in sql for sql in of_thread)
            seat.queries += len(queries) if of_thread else 0


def _transactions(statements: Sequence[str]) -> Iterator[list[str]]:
    """The queries of each transaction; what SQLite asks itself for them is left out."""
    queries: list[str] = []
    for sql in statements:
        if sql.startswith("BEGIN"):
            queries = []
        elif sql.startswith("SELECT"):
            queries.append(sql)
        elif sql.startswith("COMMIT"):
            yield queries


@asynccontextmanager
async def pulling(call: Call) -> AsyncIterator[Callable[[Query], Awaitable[str]]]:
    """The tool ``pull`` as an engine has it: MCP, at the address and with the token of its run."""
    headers = {"Authorization": f"Bearer {call.access['token']}"}
    async with (
        create_mcp_http_client(headers=headers) as http,
        streamable_http_client(call.access["url"], http_client=http) as (read, write, *_),
        ClientSession(read, write) as session,
    ):
        await session.initialize()

        async def pull(query: Query) -> str:
            kind, words = query
            result = await session.call_tool("pull", {"kind": kind, "query": words})
            return "\n".join(part.text for part in result.content if part.type == "text")

        yield pull


def queries_of(topic: str, text: str) -> list[Query]:
    """What an agent asks for that wants all that ``text`` announces to it."""
    asked = topic[: MAX_QUERY_CHARS - 80].rsplit(" ", 1)[0]
    announced = text.partition(_AVAILABLE)[2].partition("\n# ")[0]
    kinds = re.findall(r"^- (\w+): ", announced, re.MULTILINE)
    queries: list[Query] = []
    for kind in kinds:
        if kind == "skill":
            named = re.search(r"^- skill: \d+ match\w*: (.+?); to ask", announced, re.MULTILINE)
            names = named[1].split(", ") if named else []
            queries += [(kind, f"{name}: {asked}") for name in names]
        else:
            queries.append((kind, asked))
    return queries


def by_name(fact: Fact) -> Query | None:
    """What brings a fact of whose existence only this script can know; ``None``: nothing."""
    first = fact.lines[0]
    if hit := _HIT.match(first):
        return "messages", f"#{hit[1]}"
    return ("skill", re.split(r"[:,]", first)[0]) if fact.section == "Skills" else None
