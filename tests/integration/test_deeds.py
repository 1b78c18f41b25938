"""The audit log and the rate limit, by what people do: in the transaction of the act itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bridge.access import Door
from bridge.intake import Intake
from bridge.often import Counter, Often
from core.model import Author, ConversationKey
from core.records import deeds
from core.records.tables import DeedRow, MetaRow, TurnRow
from core.records.thread import Records
from tests.integration.test_intake import EVE, KIM, LEE, POLICY, House

ADA = Author("UAda", "Ada", grants=("slack:UAda",))
SPARED = Author("U7", "Sam", grants=("slack:U7",))


class Watched(House):
    def __init__(self, records: Records, **often: Any) -> None:
        super().__init__(records)
        limits = Often(unlimited=frozenset(("slack:U7",)), **often)
        self.intake = Intake(
            records,
            Door(("slack:U1", "slack:U2", "slack:U7"), ("slack:U2",), admins=("slack:UAda",)),
            replace(POLICY, often=Counter(limits), whispers=frozenset(("slack",))),
            lambda _chat, text: (text,),
            on_turn=lambda: None,
            on_post=lambda: None,
            on_stop=self.stopped.extend,
            on_skip=lambda *_: None,
        )

    async def deeds(self, **wanted: Any) -> list[tuple[Any, ...]]:
        found = await self.records.do(deeds.find, deeds.Wanted(**wanted))
        return [(d.name, d.role, d.verb, d.outcome, d.via, d.target) for d in reversed(found)]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Watched]:
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    yield Watched(records)
    await records.close()


async def test_acts_are_written_with_who_how_and_what(house: Watched) -> None:
    await house.say("why?", mention=True)
    await house.say("why not?", root="1", at="2")
    await house.say("!status", root="1", at="3")  # who only looks is not written down
    await house.act("button", "stop:1", event_id="e2", who=LEE)
    await house.act("command", "x or y?", command="roundtable", event_id="e3")
    await house.say("!mode full", root="1", at="4")
    assert await house.deeds() == [
        ("Kim", "runner", "ask", "done", "message", "turn 1"),
        ("Kim", "runner", "ask", "done", "message", "turn 2"),
        ("Lee", "approver", "stop", "done", "button", "turn 1"),
        ("Kim", "runner", "roundtable", "done", "command", "turn 3"),
        ("Kim", "runner", "mode set", "done", "message", ""),
    ]
    rows = await house.records.do(lambda: repr(list(DeedRow.select().tuples())))
    assert "why" not in rows  # nothing of what was said


async def test_what_fails_is_no_deed_and_the_repeat_of_an_event_neither(house: Watched) -> None:
    for _ in range(3):
        await house.say("why?", mention=True)
    await house.say("!rt x --rounds 99", root="1", at="2")
    await house.act("button", "stop:77", event_id="e2")
    assert [deed[2] for deed in await house.deeds()] == ["ask"]


async def test_refusals_are_told_once_in_a_thread_and_counted(house: Watched) -> None:
    first = await house.say("let me in", mention=True, who=EVE)
    assert '"slack:U9" to [access] allow' in first.text  # to her alone: nothing is posted
    assert await house.posts() == []
    for at in range(2, 9):
        again = await house.say("please", root="1", at=str(at), mention=True, who=EVE)
        assert again is None
    assert (await house.say("here too", at="20", mention=True, who=EVE)) is not None
    assert await house.act("button", "stop:1", event_id="e2", who=EVE) is not None
    rows = await house.records.do(deeds.find, deeds.Wanted(outcome="refused"))
    assert sorted((row.verb, row.count) for row in rows) == [
        ("message", 1),
        ("message", 8),
        ("stop", 1),
    ]


async def test_what_others_asked_is_stopped_by_approvers(house: Watched) -> None:
    await house.say("mine", mention=True, who=LEE)
    await house.say("mine", root="1", at="2", mention=True)
    refused = await house.act("button", "stop:1", event_id="e2")
    assert "needs the role approver" in refused.text
    await house.say("!stop", root="1", at="3")  # of both, only one's own
    assert [state for _, state in await house.turns()] == ["queued", "cancelled"]
    await house.say("!stop", root="1", at="4", who=LEE)
    assert [state for _, state in await house.turns()] == ["cancelled", "cancelled"]


async def test_an_admin_reads_it_alone_and_nobody_else_does(house: Watched) -> None:
    await house.say("why?", mention=True)
    await house.say("let me in", root="1", at="2", mention=True, who=EVE)
    told = await house.act("command", "audit", command="moot", event_id="e2", who=ADA)
    assert "**Kim** (runner): ask → turn 1" in told.text
    assert "⛔" in told.text
    await house.say("!audit refused", root="1", at="3", who=ADA)
    assert "**Eve**" not in (await house.posts())[-1][1]  # a button in front of the others
    pressed = await house.act("button", "audit:refused", root="1", event_id="e3", who=ADA)
    assert "**Eve**" in pressed.text
    assert "Kim" not in pressed.text
    for who, ident in ((LEE, "e4"), (KIM, "e5"), (EVE, "e6")):
        refused = await house.act("button", "audit:", root="1", event_id=ident, who=who)
        assert "turn 1" not in refused.text


async def test_who_is_forgotten_is_not_named_any_more(house: Watched) -> None:
    await house.say("why?", mention=True)
    await house.say("!stop", root="1", at="2")
    await house.act("button", "forget:person:slack:U1", event_id="e2")
    rows = await house.records.do(deeds.find, deeds.Wanted())
    assert {row.verb for row in rows} == {"ask", "stop", "forget"}
    assert {row.name for row in rows} == {""}
    [key] = {row.person for row in rows}
    assert key.startswith("erased:")
    assert rows[0].target == f"person {key}"
    assert key == await house.records.do(deeds.hidden_key, "slack:U1")
    await house.records.do(lambda: MetaRow.delete().where(MetaRow.name == "audit-secret").execute())
    assert key != await house.records.do(deeds.hidden_key, "slack:U1")  # no plain hash of the id


async def test_who_is_forgotten_by_an_approver_is_not_named_by_that_either(house: Watched) -> None:
    await house.say("why?", mention=True)
    await house.act("button", "forget:person:slack:U1", event_id="e2", who=LEE)
    rows = await house.records.do(deeds.find, deeds.Wanted())
    assert [(row.name, row.verb) for row in rows] == [("Lee", "forget"), ("", "ask")]
    assert rows[0].target == f"person {rows[1].person}"
    assert "U1" not in repr(rows)


async def test_old_lines_go(house: Watched) -> None:
    for at in (1.0, 2.0, 3.0):
        await house.records.do(deeds.write, deeds.Deed(at, "slack:U1", "ask"))
    assert await house.records.do(deeds.prune, 2.5, 1) == 1
    assert await house.records.do(deeds.prune, 2.5) == 1
    assert await house.records.do(deeds.prune, 2.5) == 0
    assert len(await house.deeds()) == 1


# --- how much one may ask ------------------------------------------------------------------------


async def test_questions_are_limited_over_all_channels_and_from_rows(house: Watched) -> None:
    house = Watched(house.records, per_minute=3, per_hour=50)
    for at in "123":
        await house.say("why?", at=at, mention=True)
    told = await house.say("why?", at="4", mention=True)
    assert "3 times a minute" in told.text
    assert "It goes on in" in told.text
    # The same limit for whatever starts something, and after a restart.
    house = Watched(house.records, per_minute=3, per_hour=50)
    slash = await house.act("command", "and here?", command="ask", event_id="e1")
    assert "3 times a minute" in slash.text
    assert (await house.posts()) == []  # no header either
    await house.records.do(TurnRow.update(state="failed").where(TurnRow.id == 1).execute)
    retried = await house.act("button", "retry:1", event_id="e2")
    assert "3 times a minute" in retried.text
    assert len(await house.turns()) == 3
    # Others, and who is spared, are not held up; one who looks is not either.
    await house.say("why?", at="5", mention=True, who=LEE)
    for at in range(10, 16):
        await house.say("why?", at=str(at), mention=True, who=SPARED)
    assert len(await house.turns()) == 10
    assert "Kim" in (await house.act("command", "status", command="moot", event_id="e3")).text
    # A minute later it goes on.
    await house.records.do(
        TurnRow.update(queued_at=TurnRow.queued_at - 61).where(TurnRow.id == 1).execute
    )
    assert await house.say("now?", at="6", mention=True) is None
    assert len(await house.turns()) == 11
    limited = await house.records.do(deeds.find, deeds.Wanted(outcome="limited"))
    assert sum(row.count for row in limited) == 3


async def test_a_roundtable_counts_for_each_of_its_participants(house: Watched) -> None:
    house = Watched(house.records, per_hour=3)
    await house.say("!rt this or that?", at="1", mention=True)  # two participants
    assert len(await house.turns()) == 1
    told = await house.say("!rt or that?", at="2", mention=True)
    assert "0 times" not in told.text
    assert "[20" in told.text or "at" in told.text  # when, in the reader's own time
    await house.say("one is left?", at="3", mention=True)
    assert len(await house.turns()) == 2


async def test_looking_has_a_limit_of_its_own(house: Watched) -> None:
    house = Watched(house.records, acts_per_minute=5)
    for at in range(5):
        assert "Kim" in (await house.act("command", "", command="status", event_id=f"e{at}")).text
    told = await house.act("command", "", command="status", event_id="e9")
    assert "that was a lot in one minute" in told.text


@pytest.mark.parametrize("who", [EVE, KIM])
async def test_a_flood_of_mentions_at_channel_level_costs_few_rows_and_posts(
    house: Watched, who: Author
) -> None:
    """Each of them is a thread of its own, and on Discord each refusal would open it."""
    house = Watched(house.records, acts_per_minute=5, per_minute=1)
    for at in range(1, 41):
        key = ConversationKey("discord", "G", "C", str(at))
        await house.say("why?", at=str(at), mention=True, who=who, key=key, event_id=f"d{at}")
    told = [text for _, text in await house.posts() if "may not" in text or "goes on" in text]
    lines = await house.records.do(deeds.find, deeds.Wanted(), 100)
    assert sum(line.count for line in lines) == 40
    assert 1 <= len(told) <= 2
    assert len(lines) <= 3
