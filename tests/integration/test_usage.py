"""What runs used, in rows; who may see it; budgets that warn, reserve and stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest

from bridge.access import Door
from bridge.intake import Intake
from bridge.usage_acts import Counting
from core.control import Room
from core.model import (
    Author,
    ChatEvent,
    ConversationKey,
    Outcome,
    Participant,
    Step,
    TableRules,
    Usage,
)
from core.records import messages, runs, turns, usage
from core.records.tables import MetaRow, OutboxRow, RunRow, TurnRow, UsageRow
from core.records.usage import Purse
from core.spending import Budget, Subject, span_of
from core.turns.budgets import in_all, may_begin
from core.turns.house import claim_ready
from tests.integration.parlour import Parlour, parlour
from tests.integration.test_intake import POLICY

REHEARSAL, CODEX = Participant("rehearsal"), Participant("codex")
KIM = Subject("slack:UKim", "slack:C1", "acme", ("rehearsal",))


def purse(*budgets: Budget) -> Purse:
    return Purse(budgets, UTC, lambda _: "acme")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Parlour]:
    async with parlour(tmp_path) as made:
        yield made


def with_budgets(house: Parlour, *budgets: Budget) -> None:
    house.house = replace(house.house, purse=purse(*budgets))


def used(at: float, **values) -> None:
    row = {"run": f"r{time.perf_counter_ns()}", "engine": "rehearsal", "person": "slack:UKim"}
    UsageRow.create(**{**row, "at": at, "channel": "slack:C1", "project": "acme", **values})


async def rows(house: Parlour) -> list[UsageRow]:
    return await house.records.do(lambda: list(UsageRow.select().order_by(UsageRow.at)))


# --- written -------------------------------------------------------------------------------


async def test_every_run_is_written_with_who_where_and_how_it_ended(house):
    await house.ask('one @@rehearse pull="thread: x"@@')
    await house.ask("two @@rehearse fail=refused@@", (CODEX,), rounds=1, kind="ask")
    first, *_, last = await rows(house)
    assert (first.person, first.person_name, first.channel) == ("slack:UKim", "Kim", "slack:C1")
    assert (first.project, first.engine, first.outcome) == ("acme", "rehearsal", "answered")
    assert first.input_tokens > 0
    assert (last.engine, last.outcome, last.input_tokens) == ("codex", "refused", 0)
    assert len(await rows(house)) == await house.records.do(RunRow.select().count)


async def test_a_run_is_counted_once_and_older_ones_are_filled_in_once(house):
    await house.ask("one")

    def again() -> tuple[int, int, int]:
        run, turn = RunRow.select().get(), turns.get_turn(1)
        more = Outcome("answered", usage=Usage(9_999))
        usage.note_run(run.id, turn, REHEARSAL, more, "other", 1.0)
        UsageRow.delete().execute()
        MetaRow.delete().where(MetaRow.name == "usage_filled").execute()
        filled = usage.fill_in(lambda _: "acme"), usage.fill_in(lambda _: "acme")
        return *filled, UsageRow.select().get().input_tokens

    filled, twice, tokens = await house.records.do(again)
    assert (filled, twice) == (1, 0)
    assert 0 < tokens < 9_999


async def test_sums_by_every_part(house):
    def story():
        now = time.time()
        used(now, input_tokens=10, cost_usd=0.5, person_name="Kim")
        used(now, input_tokens=7, engine="codex", model="m", person="slack:ULee")
        used(now - 40 * 86_400, input_tokens=1_000)
        span = span_of("day", now, UTC)
        by = {part: usage.sums(span, part, UTC) for part in ("engine", "model", "day", "person")}
        mine = usage.sums(span, "engine", UTC, person="slack:ULee")
        return by, mine, usage.sums(span, "engine", UTC, channel="slack:C2")

    by, mine, elsewhere = await house.records.do(story)
    assert [(one.name, one.amount.runs, one.amount.untold) for one in by["engine"]] == [
        ("rehearsal", 1, 0),
        ("codex", 1, 1),
    ]
    assert [one.name for one in by["model"]] == ["rehearsal", "codex/m"]
    assert [one.called for one in by["person"]] == ["Kim", ""]
    [day] = by["day"]
    assert (day.amount.runs, day.amount.input_tokens) == (2, 17)
    assert [one.name for one in mine] == ["codex"]
    assert elsewhere == ()


# --- budgets -------------------------------------------------------------------------------


async def test_most_of_a_budget_is_told_once_and_its_end_once(house):
    await house.records.do(used, time.time(), input_tokens=100_000)
    with_budgets(house, Budget("channel", "month", tokens=120_000))
    await house.ask("one")
    await house.ask("two")
    warned = [text for text in await house.notices() if "🔔" in text]
    assert len(warned) == 1
    assert "the monthly budget of this channel" in warned[0]
    await house.records.do(used, time.time(), input_tokens=19_999)
    house.house = replace(house.house, purse=purse(Budget("channel", "month", tokens=120_000)))
    await house.ask("three")
    assert sum("is used up" in text for text in await house.notices()) == 1


async def test_a_roundtable_under_way_ends_its_rounds_and_says_so(house):
    def spend() -> None:
        used(time.time(), input_tokens=10_000)

    with_budgets(house, Budget("everyone", "day", tokens=5_000))
    rules = TableRules(early_stop=False, synthesizer=REHEARSAL)
    order = 'speak @@rehearse sleep=1 text="words"@@'
    asking = house.ask(order, (REHEARSAL, CODEX), rounds=3, rules=rules)
    turn = asyncio.create_task(asking)
    async with asyncio.timeout(30):
        while not await house.records.do(lambda: RunRow.select().where(RunRow.pid > 0).count()):
            await asyncio.sleep(0.02)
    await house.records.do(spend)
    assert await turn == "done"
    assert await house.records.do(RunRow.select().count) == 1  # what was begun was finished
    told = [text for text in await house.notices() if "No more rounds" in text]
    assert len(told) == 1
    assert "daily budget of the whole house" in told[0]
    assert any("Summary by Moot" in text for text in await house.notices())


async def test_a_follow_up_of_a_pull_is_finished(house):
    with_budgets(house, Budget("person", "day", tokens=10))
    await house.ask('look @@rehearse pull="memory: x"@@')
    states = await house.records.do(lambda: [row.state for row in RunRow.select()])
    assert set(states) == {"answered"}
    assert len(states) >= 2


def queue(house: Parlour, root: str, person: str = "Kim") -> int:
    key = ConversationKey("slack", "T1", "C1", root)
    here = messages.open_conversation(key, direct=False, in_thread=False, now=1.0)
    return turns.queue_turn(
        here.id, kind="ask", prompt="q", prompt_message_id=0, asker=person,
        asker_key=f"slack:U{person}", seats=(REHEARSAL,), rounds=1, mode="", now=1.0,
    )  # fmt: skip


async def test_runs_under_way_are_reserved_for_so_that_many_at_once_do_not_overshoot(house):
    """The mean is 1,000 tokens, 2,500 are left: of 20 questions at once three begin."""

    def story():
        now = time.time()
        for _ in range(5):
            used(now - 40 * 86_400, input_tokens=900, output_tokens=100)
        used(now, input_tokens=7_500)
        UsageRow.update(kind="summary").where(UsageRow.input_tokens == 7_500).execute()
        mine = purse(Budget("everyone", "day", tokens=10_000))
        for n in range(20):
            queue(house, f"t{n}")

        def allowed(turn):
            return may_begin(turn, mine, lambda _c, text, _l: (text,), now)

        first = claim_ready(Room(20), (), (), now, allowed)
        used(now, input_tokens=2_500, run="over")
        for ready in first.ready:
            turns.end_turn(ready.turn.id, "done", "", now)
        second = claim_ready(Room(20), (), (), now, allowed)
        failed = TurnRow.select().where(TurnRow.state == "failed").count()
        return len(first.ready), len(first.saved), len(second.ready), failed

    assert await house.records.do(story) == (3, 17, 0, 17)


async def test_a_named_budget_is_for_one_and_an_unnamed_for_each(house):
    def story():
        now = time.time()
        used(now, input_tokens=10)
        used(now, input_tokens=5, person="slack:ULee", person_name="Lee")
        budgets = (
            Budget("person", "day", tokens=100),
            Budget("person", "day", tokens=50, name="slack:ULee"),
            Budget("engine", "day", tokens=100),
            Budget("project", "day", tokens=100),
        )
        mine = usage.standings(purse(*budgets), KIM, now)
        every = usage.all_standings(purse(*budgets), now)
        return [(s.budget.of, s.used.tokens) for s in mine], sorted(
            (s.budget.tokens, s.budget.of, s.who) for s in every
        )

    mine, every = await house.records.do(story)
    assert mine == [("person", 10), ("engine", 15), ("project", 15)]
    assert every == [
        (50, "person", "slack:ULee"),
        (100, "engine", "rehearsal"),
        (100, "person", "slack:UKim"),
        (100, "person", "slack:ULee"),
        (100, "project", "acme"),
    ]


async def test_a_run_under_way_is_expected_to_use_what_its_engine_used_or_what_it_was_sent(house):
    def story():
        now = time.time()
        turn_id = queue(house, "t")
        mine = purse(Budget("everyone", "day", tokens=10_000))
        claim_ready(Room(1), (), (), now)
        turn = turns.get_turn(turn_id)
        bare = usage.standings(mine, KIM, now)[0].reserved.tokens
        told = {"estimated_tokens": 700}
        runs.open_run(
            "r", turn, Step(0, 0), REHEARSAL, can_write=False, receipt=told, status=None, now=now
        )
        sent = usage.standings(mine, KIM, now)[0].reserved.tokens
        used(now - 40 * 86_400, input_tokens=2_000, output_tokens=10)
        mean = usage.standings(mine, KIM, now)[0].reserved.tokens
        begun = usage.standings(mine, KIM, now, without_turn=turn_id)[0].reserved.tokens
        return bare, sent, mean, begun

    assert await house.records.do(story) == (0, 700, 2_010, 2_010)


# --- who may see what ----------------------------------------------------------------------

KIM_HERE = Author("UKim", "Kim", grants=("slack:UKim",))
LEE = Author("ULee", "Lee", grants=("slack:ULee",))
GUEST = Author("UGus", "Gus", grants=("slack:UGus",), trusted=False)


OWN = (Budget("person", "day", tokens=100),)
SHARED = (
    *OWN,
    Budget("channel", "day", tokens=1_000),
    Budget("everyone", "day", tokens=300),
    Budget("engine", "day", tokens=500),
    Budget("project", "day", tokens=700),
)


async def told(
    house: Parlour,
    who: Author,
    words: str,
    *,
    viewers: frozenset[str],
    budgets: tuple[Budget, ...] = OWN,
) -> str:
    """What somebody is answered to ``/moot usage WORDS`` in the channel C1."""
    counting = Counting(purse(*budgets), viewers)
    intake = Intake(
        house.records,
        Door(("*", "slack:UGus")),
        replace(POLICY, counting=counting),
        lambda _chat, text: (text,),
        on_turn=lambda: None,
        on_post=lambda: None,
        on_stop=lambda _: None,
        on_skip=lambda *_: None,
    )
    event = ChatEvent(
        key=ConversationKey("slack", "T1", "C1", ""),
        event_id=f"u{time.perf_counter_ns()}",
        message_id="",
        author=who,
        text=f"usage {words}",
        kind="command",
        sent_at=time.time(),
        command="moot",
    )
    reply = await intake.accept(event)
    assert reply is not None
    return reply.text


@pytest.fixture
async def spent(house: Parlour) -> Parlour:
    def fill() -> None:
        now = time.time()
        used(now, input_tokens=11, person_name="Kim")
        used(now, input_tokens=22, person="slack:ULee", person_name="Lee")
        used(now, input_tokens=44, person="slack:ULee", channel="slack:CSECRET")
        used(now, input_tokens=88, person="", kind="summary")

    await house.records.do(fill)
    return house


async def test_everybody_sees_their_own_use(spent):
    for who in (KIM_HERE, GUEST):
        text = await told(spent, who, "today", viewers=frozenset())
        assert ("| rehearsal | 1 | 11 |" in text) == (who is KIM_HERE)
        assert "22" not in text


async def test_a_guest_sees_nothing_else(spent):
    for words in ("here", "all", "by person here", "budgets all"):
        text = await told(spent, GUEST, words, viewers=frozenset({"*", "slack:UGus"}))
        assert text.startswith("Guests see their own use only")


async def test_a_member_sees_the_sum_of_the_channel_and_no_more_where_viewers_are_named(spent):
    lee = frozenset({"slack:ULee"})
    text = await told(spent, KIM_HERE, "today here", viewers=lee)
    assert "| rehearsal | 3 | 121 |" in text
    for words in ("all", "here by person", "budgets all"):
        assert "[usage] viewers" in await told(spent, KIM_HERE, words, viewers=lee)
    assert "| Lee | 2 | 66 |" in await told(spent, LEE, "all by person", viewers=lee)
    assert "66%" in await told(spent, LEE, "budgets", viewers=lee)


async def test_of_shared_budgets_others_than_viewers_read_the_percentage_only(spent):
    lee = frozenset({"slack:ULee"})
    text = await told(spent, KIM_HERE, "budgets", viewers=lee, budgets=SHARED)
    assert len(text.splitlines()) >= 6
    assert "11 tokens used" in text  # Kim's own
    assert "121 tokens used" in text  # this channel's, which `!usage here` tells as well
    assert "**55%** of the daily budget of the whole house is used" in text
    assert "daily budget of codex is used" in text
    for sum_ in ("165", "300", "500", "700"):
        assert sum_ not in text
    text = await told(spent, LEE, "budgets", viewers=lee, budgets=SHARED)
    assert "the whole house (300 tokens): 165 tokens used" in text


async def test_what_a_thread_is_told_of_a_shared_budget_names_no_sum(house):
    await house.records.do(used, time.time(), input_tokens=90_000, person="slack:ULee")
    with_budgets(house, Budget("everyone", "month", tokens=100_000))
    await house.ask("one")
    await house.records.do(used, time.time(), input_tokens=20_000)
    await house.ask("two")
    turn_id = await house.records.do(queue, house, "three")
    await house.records.do(
        lambda: may_begin(
            turns.get_turn(turn_id), house.house.purse, house.house.voice, time.time()
        )
    )
    most, full, refused = await house.notices()
    assert "% of the monthly budget of the whole house is used. At 100 %" in most
    assert "is used up. New questions" in full
    assert "Not asked: the monthly budget of the whole house is used up. It begins" in refused
    assert "tokens" not in most + full + refused


async def test_a_channel_that_is_not_public_is_named_to_nobody_who_asks_elsewhere(spent):
    text = await told(spent, KIM_HERE, "all by channel", viewers=frozenset())
    assert "CSECRET" not in text
    assert "| other channels | 1 | 44 |" in text
    assert "slack:C1" in text
    own = await told(spent, LEE, "by channel", viewers=frozenset())
    assert "CSECRET" in own  # Lee asked there


def test_what_was_used_in_vain_within_one_run_counts():
    once = in_all(
        Outcome("answered", usage=Usage(5, 6, 1, 0.5)),
        (Usage(10, 20, 2, 0.25), Usage(1, 1, 0, 9.0, session_cost_usd=9.0)),
    )
    assert once.usage == Usage(16, 27, 3, 0.75)


async def test_where_an_engines_budget_is_used_up_others_are_offered_that_have_some(house):
    def story() -> OutboxRow:
        now = time.time()
        used(now, input_tokens=20, engine="rehearsal")
        used(now, input_tokens=20, engine="codex", run="c")
        mine = purse(Budget("engine", "day", tokens=10), Budget("person", "day", tokens=900_000))
        mine = replace(mine, others=lambda _: ("claude", "codex"))
        turn = turns.get_turn(queue(house, "t"))
        assert may_begin(turn, mine, lambda _c, text, _l: (text,), now) == "no"
        return OutboxRow.get(OutboxRow.text.contains("Not asked"))

    refused = await house.records.do(story)
    assert "Ask claude" in refused.buttons, "nothing of its own budget is used"
    assert "Ask codex" not in refused.buttons
    assert "`!ask --engine claude …`" in refused.text
