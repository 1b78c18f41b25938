"""What a roundtable sends, four ways: full or delta, push or hybrid; and that nobody knows less.

``python -m benchmarks.context [--json] [--mode MODE] [--starts A,B] [--no-rows]``: the given
discussion in a real Moot (see ``benchmarks.discussion``): three participants, two rounds, on Claude
Code, Codex and OpenCode. Counted is what each engine is handed over, and what its Pulls bring.

What is measured, and what is assumed, stands in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import structlog
from mcp.client.session import ClientSession
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from benchmarks.discussion import Play, Setup, playing
from benchmarks.knowledge import Fact, Session, facts_of
from benchmarks.players import Call, Theatre
from core.memory.topics import TASK
from core.pull import MAX_PULLS, MAX_QUERY_CHARS
from core.records.prepared import meta_of
from core.records.tables import MessageRow

SEATS, ROUNDS = 3, 2
USUAL_ESTIMATE = 90_000
GOAL_RATIO, GOAL_PREFIX = 0.35, 0.90
WAYS = {
    "full_push": Setup("push", sessions=False),
    "full_hybrid": Setup("hybrid", sessions=False),
    "delta_push": Setup("push", sessions=True),
    "delta_hybrid": Setup("hybrid", sessions=True),
}
STARTS = {
    "as_it_happened": "each earlier answer was a call in its agent's session",
    "all_at_the_end": "the same, but plan, findings, decisions and artifacts came just before",
    "cold": "nobody has a session",
}
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


async def run(
    start: str,
    setup: Setup,
    *,
    mode: str,
    whole: Sequence[tuple[Fact, ...]] = (),
    pulls: int | None = 0,
) -> Measured:
    """Play the thread up to the roundtable, then the roundtable, and keep what was sent."""
    director = Director(setup, whole, pulls)
    with stage() as folder, home(folder):
        async with (
            Theatre(director.script) as theatre,
            playing(folder, setup, theatre) as play,
        ):
            director.play = play
            await play.history(sessions=start != "cold", late=start == "all_at_the_end")
            director.measuring = True
            await play.do(_trace, director.statements.append)
            try:
                await play.roundtable(ROUNDS, mode=mode)
            finally:
                director.over.set()
            await play.do(_trace, None)
    if len(director.seats) != SEATS * ROUNDS:
        raise RuntimeError(f"{len(director.seats)} calls instead of {SEATS * ROUNDS}")
    return Measured(director.seats, director.loads)


@contextmanager
def stage() -> Iterator[Path]:
    """An empty folder, of the same name for all runs of this process: its path is in the packs."""
    folder = Path(tempfile.gettempdir()) / f"moot-context-{os.getpid():07}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def home(folder: Path) -> Iterator[None]:
    """A home of its own: the skills and settings of whoever measures are nobody's here."""
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["HOME"]
        else:
            os.environ["HOME"] = before


def _trace(callback: Any) -> None:
    meta_of(MessageRow).database.connection().set_trace_callback(callback)


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


def shared_prefix(seats: Sequence[Seat]) -> float:
    """What the packs of a round have in common from their first character, as a share of them.

    Of all characters of the packs, those that lie in a prefix common to everybody of the round.
    """
    common = total = 0
    for begin in range(0, len(seats), SEATS):
        contexts = [seat.calls[0].context for seat in seats[begin : begin + SEATS]]
        columns = zip(*contexts, strict=False)
        alike = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
        common += alike * len(contexts)
        total += sum(map(len, contexts))
    return round(common / total, 4)


async def measure(start: str, mode: str) -> dict[str, Any]:
    """The four ways from one start, on the same six calls."""
    whole_pack = await run(start, WAYS["full_push"], mode=mode)
    whole = [facts_of(seat.calls[0].context) for seat in whole_pack.seats]
    ways = {}
    for name, setup in WAYS.items():
        pulls = None if setup.delivery == "hybrid" else 0
        ways[name] = await run(start, setup, mode=mode, whole=whole, pulls=pulls)
    assert ways["full_push"].chars == whole_pack.chars, "the same input gives the same packs"
    result: dict[str, Any] = {f"{name}_chars": way.chars for name, way in ways.items()}
    result |= {f"{name}_tokens": way.tokens for name, way in ways.items()}
    result["delta_hybrid_ratio"] = round(ways["delta_hybrid"].chars / whole_pack.chars, 4)
    result["shared_prefix"] = shared_prefix(whole_pack.seats)
    result["facts"] = sum(map(len, whole))
    result["facts_missing"] = sum(way.missing for way in ways.values())
    result["loads_per_round"] = max(max(way.loads) for way in ways.values())
    result["calls"] = {name: [_row(seat) for seat in way.seats] for name, way in ways.items()}
    result["pulls"] = {name: way.pulls for name, way in ways.items()}
    result["missing"] = {
        name: [
            f"{fact.section}: {fact.lines[0][:80]}" for seat in way.seats for fact in seat.missing
        ]
        for name, way in ways.items()
        if way.missing
    }
    return result


def _row(seat: Seat) -> dict[str, Any]:
    return {
        "engine": seat.calls[0].engine,
        "chars": seat.chars,
        "tokens": seat.tokens,
        "pulls": seat.pulls,
        "runs": len(seat.calls),
        "queries": seat.queries,
        "missing": len(seat.missing),
    }


async def rows_of_pulls(start: str, mode: str) -> list[dict[str, Any]]:
    """What 0, 1 and 2 Pulls of each participant cost, by the way they are made."""
    delta_push = await run(start, WAYS["delta_push"], mode=mode)
    full_push = {  # the tool for Pulls in the run is told of where there is one
        in_run: await run(start, replace(WAYS["full_push"], in_run=in_run), mode=mode)
        for in_run in (False, True)
    }
    whole = {
        in_run: [facts_of(seat.calls[0].context) for seat in way.seats]
        for in_run, way in full_push.items()
    }
    rows = []
    for kind, sessions, forgetful, in_run in (
        ("a new process, everything again", False, True, False),
        ("a follow-up in the session", True, False, False),
        ("in the run, no session", False, True, True),
        ("in the run, in the session", True, False, True),
    ):
        setup = Setup("hybrid", sessions=sessions, forgetful=forgetful, in_run=in_run)
        push = delta_push.chars if sessions else full_push[in_run].chars
        for count in range(3):
            way = await run(start, setup, mode=mode, whole=whole[in_run], pulls=count)
            rows.append(
                {
                    "by": kind,
                    "sessions": sessions,
                    "in_run": in_run,
                    "pulls_each": count,
                    "runs": sum(len(seat.calls) for seat in way.seats),
                    "chars": way.chars,
                    "push_chars": push,
                    "pays": way.chars < push,
                    "missing": way.missing,
                }
            )
    return rows


async def everything(mode: str, names: Sequence[str], *, rows: bool) -> dict[str, Any]:
    """These starts, and the rows of Pulls from the first."""
    starts = {start: await measure(start, mode) for start in names}
    result = dict(starts[names[0]])
    result["starts"] = {
        start: {key: value for key, value in found.items() if key != "calls"}
        for start, found in starts.items()
    }
    result["rows_of_pulls"] = await rows_of_pulls(names[0], mode) if rows else []
    result["usual_estimate_chars"] = USUAL_ESTIMATE
    result["goal_ratio"], result["goal_prefix"] = GOAL_RATIO, GOAL_PREFIX
    result["goal_met"] = (
        result["delta_hybrid_ratio"] <= GOAL_RATIO
        and not result["facts_missing"]
        and result["shared_prefix"] >= GOAL_PREFIX
    )
    return result


def table(result: dict[str, Any]) -> str:
    """The figures for a person."""
    lines = []
    for start, found in result["starts"].items():
        lines.append(f"{start.replace('_', ' ')}: {STARTS[start]}")
        lines.append(f"  {'':14}{'characters':>12}{'tokens':>9}{'of full/push':>14}{'Pulls':>7}")
        for name in WAYS:
            chars, tokens = found[f"{name}_chars"], found[f"{name}_tokens"]
            share = chars / found["full_push_chars"]
            pulls = found["pulls"][name]
            label = name.replace("_", "/")
            lines.append(f"  {label:14}{chars:12,}{tokens:9,}{share:14.1%}{pulls:7}")
        lines.append(
            f"  facts {found['facts']:,}, missing {found['facts_missing']}; shared prefix "
            f"{found['shared_prefix']:.1%}; loads a round {found['loads_per_round']}"
        )
        for way, missing in found["missing"].items():
            lines += [f"    {way} misses {what}" for what in missing[:5]]
    lines.append("per call, from the first of these starts (characters, +Pulls)")
    for name in WAYS:
        told = "  ".join(
            f"{call['chars']:>7,}{'+' + str(call['pulls']) if call['pulls'] else '':<3}"
            for call in result["calls"][name]
        )
        lines.append(f"  {name.replace('_', '/'):14}{told}")
    told = ", ".join(str(call["queries"]) for call in result["calls"]["delta_hybrid"])
    lines.append(f"  SQL queries that read what a call is told, delta/hybrid: {told}")
    if result["rows_of_pulls"]:
        lines.append("0, 1 and 2 Pulls by each participant in its first call, from the same start")
    for row in result["rows_of_pulls"]:
        pays = "pays" if row["pays"] else "does NOT pay"
        lines.append(
            f"  {row['by']:33}{row['pulls_each']} each: {row['runs']:>2} runs {row['chars']:>8,} "
            f"against push {row['push_chars']:>8,}: {pays}; {row['missing']} facts not known"
        )
    lines.append(f"the usual estimate for 3 x 2: {USUAL_ESTIMATE:,} characters")
    met = "met" if result["goal_met"] else "NOT met"
    ratio = result["delta_hybrid_chars"] / result["full_push_chars"]
    lines.append(f"delta/hybrid: {ratio:.1%} of full/push (goal {GOAL_RATIO:.0%}), goals {met}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    parser.add_argument("--mode", default="", help="standard | full (default: as Moot chooses)")
    parser.add_argument("--starts", default=",".join(STARTS), help="which; the first one counts")
    parser.add_argument("--no-rows", action="store_true", help="without the rows of Pulls")
    args = parser.parse_args(argv)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    result = asyncio.run(everything(args.mode, args.starts.split(","), rows=not args.no_rows))
    print(table(result))
    if args.json:
        print(json.dumps(result, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
