"""A round loads its shared facts once, however many sit at the table: counted in SQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.context.terms import EngineTerms, HouseTerms
from core.model import Candidate, Offer, Order, Participant, Pull, PulledResult, Scene, TableRules
from core.records import messages
from core.sources import recall, retrieval
from core.sources.port import Source
from tests.integration.parlour import Parlour, parlour

NAMES = ("ada", "bob", "cho", "dee", "eve", "fox", "gus", "hal")
LOCAL = HouseTerms(engines={"codex": EngineTerms(local=True)}, light_budget_chars=9_000)
ROUNDS = 2


class Sql:
    """The statements that SQLite ran, by transaction."""

    def __init__(self, here: Parlour) -> None:
        self._here = here
        self.transactions: list[list[str]] = []

    async def __aenter__(self) -> Sql:
        await self._here.records.do(self._trace, self._heard)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._here.records.do(self._trace, None)

    def _trace(self, callback) -> None:
        self._here.records._database.connection().set_trace_callback(callback)

    def _heard(self, statement: str) -> None:
        if statement.startswith("BEGIN") or not self.transactions:
            self.transactions.append([])
        self.transactions[-1].append(statement)

    def loads(self) -> list[int]:
        """How many statements each read of a round's shared facts took."""
        return [
            sum(not s.startswith(("BEGIN", "COMMIT")) for s in transaction)
            for transaction in self.transactions
            if any(map(_reads_the_window, transaction))
        ]


def _reads_the_window(statement: str) -> bool:
    """Not the look for the one message before another, which the keyword index keeps."""
    newest_first = 'FROM "message"' in statement and '"sent_at" DESC' in statement
    return newest_first and not statement.endswith("LIMIT 1")


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Parlour]:
    async with parlour(tmp_path, terms=LOCAL) as made:
        for n in range(6):
            await made.say(f"message {n}")
        yield made


def seats(count: int, variant: str) -> list[Participant]:
    engines = {"hosted": ("rehearsal",), "light": ("codex",), "both": ("rehearsal", "codex")}
    of = engines[variant]
    return [Participant(of[n % len(of)], NAMES[n]) for n in range(count)]


async def loads_of(here: Parlour, count: int, variant: str, order: Order) -> list[int]:
    async with Sql(here) as sql:
        rules = TableRules(order=order, early_stop=False)
        state = await here.ask(
            'SQL or files? @@rehearse text="Files."@@', seats(count, variant), rounds=ROUNDS,
            rules=rules,
        )  # fmt: skip
    assert state == "done"
    assert len(here.actor.asked) == count * ROUNDS
    return sql.loads()


@pytest.mark.parametrize("order", ["sequential", "parallel"])
@pytest.mark.parametrize("variant", ["hosted", "light", "both"])
@pytest.mark.parametrize("count", [2, 5, 8])
async def test_at_most_two_loads_a_round(
    here: Parlour, count: int, variant: str, order: Order
) -> None:
    loads = await loads_of(here, count, variant, order)
    assert ROUNDS <= len(loads) <= 2 * ROUNDS
    assert len(set(loads)) == 1  # and each reads as much, whoever sits there
    variants = {run["variant"] for run in await here.runs()}
    assert variants == ({"hosted", "light"} if variant == "both" else {variant})


async def test_a_load_takes_as_many_statements_for_eight_as_for_two(tmp_path: Path) -> None:
    taken = []
    for count in (2, 8):
        folder = tmp_path / str(count)
        folder.mkdir()
        async with parlour(folder, terms=LOCAL) as here:
            taken.append(set(await loads_of(here, count, "both", "parallel")))
    assert taken[0] == taken[1]


async def test_sources_are_asked_once_a_round_and_serve_both_variants(here: Parlour) -> None:
    asked: list[str] = []

    def offer(scene: Scene) -> Offer:
        asked.append(scene.prompt)
        parts = tuple(f"- point {n} " + "x" * 100 for n in range(60))
        return Offer({
            "plan": Candidate(parts),
            "retrieval": Candidate(("a hit",), available="3 chunks of this channel"),
        })  # fmt: skip

    def answer(pull: Pull, scene: Scene) -> PulledResult:
        raise AssertionError("nobody pulls here")

    source = Source(
        "plans", "records", ("plan", "retrieval"), ("memory",), offer=offer, answer=answer
    )
    here.house = replace(here.house, sources=(recall.SOURCE, source))
    rules = TableRules(order="parallel", early_stop=False)
    await here.ask("SQL or files?", seats(4, "both"), rounds=1, rules=rules, mode="standard")
    assert asked == ["SQL or files?"]
    used = {}
    for run in await here.runs():
        plan = next(s for s in run["sections"] if s["name"] == "plan")
        used.setdefault(run["variant"], set()).add((plan["used"], plan["hash"]))
        assert run["announced"] == ["retrieval"]
        assert run["chars"] <= run["budget"]
    assert {variant: len(seen) for variant, seen in used.items()} == {"hosted": 1, "light": 1}
    assert {run["budget"] for run in await here.runs()} == {60_000, 9_000}


async def test_what_is_said_while_a_round_goes_on_is_read_apart(here: Parlour) -> None:
    before = await here.records.do(messages.count, here.conversation.id)
    await here.ask('SQL or files? @@rehearse text="Files."@@', seats(3, "hosted"), rounds=1)
    *_, last = await here.runs()
    assert len(last["messages"]) == before + 2


PUSHED = HouseTerms(engines={"codex": EngineTerms(delivery="push")})


@pytest.fixture
async def searched(tmp_path: Path) -> AsyncIterator[Parlour]:
    async with parlour(tmp_path, terms=PUSHED, max_followups=1) as made:
        earlier = await made.opened("earlier")
        await earlier.say("We chose JWT because the gateway can check it offline.")
        # A session of its own for each run: every pack is told whole.
        made.actor.traits = replace(made.actor.traits, resumes=False)
        made.house = replace(made.house, sources=(recall.SOURCE, retrieval.SOURCE))
        yield made


async def test_what_is_only_announced_is_not_searched_for(searched: Parlour) -> None:
    async with Sql(searched) as sql:
        await searched.ask("why JWT?", mode="standard")
    said = [statement for transaction in sql.transactions for statement in transaction]
    assert not [statement for statement in said if "message_fts MATCH" in statement]
    [run] = await searched.runs()
    assert run["announced"] == ["retrieval"]
    assert "- memory: 1 message of" in searched.actor.asked[0].context


async def test_who_cannot_pull_any_more_is_told_what_was_announced_before(
    searched: Parlour,
) -> None:
    await searched.ask('why JWT? @@rehearse pull="memory: gateway"@@', mode="standard")
    first, last = searched.actor.asked
    assert "can check it offline" not in first.context
    assert "# Found in earlier conversations" in last.context
    assert "> We chose JWT because the gateway can check it offline." in last.context
    assert [run["announced"] for run in await searched.runs()] == [["retrieval"], []]


async def test_who_is_pushed_to_is_told_beside_others_who_are_not(searched: Parlour) -> None:
    """A synthesizer sits at no seat: only its own request says how it is told."""
    rules = TableRules(early_stop=False, synthesizer=Participant("codex", "summer"))
    await searched.ask("why JWT?", seats(2, "hosted"), rounds=1, rules=rules, mode="standard")
    *table, last = await searched.runs()
    assert [run["announced"] for run in table] == [["retrieval"], ["retrieval"]]
    assert "retrieval" in [section["name"] for section in last["sections"]]


async def test_a_lite_pack_leaves_it_out_and_says_so(searched: Parlour) -> None:
    await searched.ask("why JWT?", mode="lite")
    [run] = await searched.runs()
    assert "retrieval: dropped, not in mode lite" in run["notes"]
