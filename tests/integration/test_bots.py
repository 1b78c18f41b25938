"""Other bots at the door: heard as data, let in by name, and bounded (K4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.access import Door
from bridge.bots import BotTerms
from core.model import Author
from core.records import exchanges, turns
from core.records.tables import MessageRow, TurnRow
from core.records.thread import Records
from core.words import label_of
from tests.integration.test_intake import BOT, KIM, House

TERMS = BotTerms("slack:B1", exchanges=3, per_hour=5)
OTHER = Author("B2", "deploy", kind="bot", grants=("slack:B2",))


class Open(House):
    """A house that lets one bot in."""

    def __init__(self, records: Records, *terms: BotTerms):
        super().__init__(records)
        self.intake._door = Door(
            ("slack:U1", "slack:U2"), bots={one.name: one for one in terms or (TERMS,)}
        )
        self.at = 100

    async def bot_says(self, text: str, *, root: str | None = "1", who: Author = BOT, **more):
        self.at += 1
        return await self.say(
            text, at=str(self.at), root=root, who=who, mention=more.pop("mention", True), **more
        )


@pytest.fixture
async def house(tmp_path: Path):
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    yield Open(records)
    await records.close()


async def notices(house: House) -> list[str]:
    return [text for kind, text in await house.posts() if kind == "notice"]


async def test_a_named_bot_asks_by_a_mention_and_reads_only(house):
    await house.bot_says("why is the build red?", root=None)
    assert await house.turns() == [("why is the build red?", "queued")]
    row = await house.records.do(lambda: TurnRow.get())
    assert (row.permission, row.by_bot) == ("plan", True)
    turn = await house.records.do(turns.get_turn, row.id)
    assert label_of(turn, turn.seats[0], 0) == "claude · asked by a bot"
    assert await notices(house) == []


async def test_c044_a_bot_without_a_name_here_starts_nothing_and_is_heard_as_data(house):
    await house.bot_says("@moot why?", root=None, who=OTHER)
    assert await house.turns() == []
    assert await house.messages() == []  # nothing is kept of a thread that Moot is not in
    await house.say("@moot why?", at="200", root=None, mention=True)
    await house.bot_says("build 41 failed", root="200", who=OTHER)
    assert len(await house.turns()) == 1
    assert (OTHER.name, "build 41 failed") in await house.messages()


@pytest.mark.parametrize(
    "text",
    ["!stop", "!rt tabs or spaces?", "!allow 1", "!status", "!forget me", "roundtable: x", "!stpo"],
)
async def test_a_named_bot_commands_nothing(house, text):
    await house.say("a question", at="1", mention=True)
    before = await house.posts()
    await house.bot_says(text)
    assert await house.turns() == [("a question", "queued")]
    assert await house.posts() == before


@pytest.mark.parametrize("kind", ["command", "button", "form"])
async def test_a_named_bot_presses_nothing(house, kind):
    await house.say("a question", at="1", mention=True)
    turn = (await house.records.do(lambda: TurnRow.get())).id
    text = f"stop:{turn}" if kind == "button" else ""
    reply = await house.act(kind, text, command="stop", root="1", who=BOT)
    assert reply is not None
    assert "Stopped" not in reply.text
    assert await house.turns() == [("a question", "queued")]


async def test_a_named_bot_is_not_heard_without_a_mention(house):
    await house.say("a question", at="1", mention=True)
    await house.bot_says("I think so too", mention=False)
    await house.bot_says("a direct one", mention=False, direct=True)
    assert len(await house.turns()) == 1


async def test_its_question_may_be_typed_as_ask_with_options_and_raises_nothing(house):
    await house.bot_says("!ask why? --engine codex --permission full", root=None)
    row = await house.records.do(lambda: TurnRow.get())
    assert (row.prompt, row.permission) == ("why?", "plan")
    assert "codex" in row.seats


async def settle(house: House) -> None:
    """Whatever waits is answered."""

    def end() -> None:
        for row in list(TurnRow.select().where(TurnRow.state == "queued")):
            turns.end_turn(row.id, "done", "", 1.0)

    await house.records.do(end)


async def test_c064_two_bots_that_answer_each_other_end_by_the_budget_with_one_notice(house):
    await house.say("@moot look", at="1", mention=True)
    for _ in range(12):  # it answers everything that we say
        await settle(house)
        await house.bot_says("ok @us")
    assert len(await house.turns()) == 1 + TERMS.exchanges
    (told,) = await notices(house)
    assert "3 times here" in told
    # A person begins the count anew.
    await house.say("go on, both of you", at="200", root="1", who=KIM)
    await settle(house)
    house.at = 300
    for _ in range(4):
        await settle(house)
        await house.bot_says("ok @us")
    assert len(await house.turns()) == 2 + TERMS.per_hour  # the hour's budget comes first now
    assert len(await notices(house)) == 2


async def test_c064_a_stranger_begins_no_count_anew(house):
    await house.say("@moot look", at="1", mention=True)
    for _ in range(4):
        await settle(house)
        await house.bot_says("ok @us")
    stranger = Author("U9", "Eve", grants=("slack:U9",))
    await house.say("more!", at="200", root="1", who=stranger)
    house.at = 300
    await house.bot_says("ok @us")
    assert len(await house.turns()) == 1 + TERMS.exchanges


async def test_c064_new_threads_do_not_get_around_the_hour(house):
    for number in range(9):
        await house.bot_says(f"look at {number}", root=None)
    assert len(await house.turns()) == TERMS.per_hour
    (told,) = await notices(house)
    assert "5 times within an hour" in told


async def test_the_hour_passes(house):
    def asked(at: float) -> exchanges.Verdict:
        return exchanges.take("slack:B1", 7, sent_at=at, now=at, in_thread=9, per_hour=1)

    def story() -> list[exchanges.Verdict]:
        return [asked(at) for at in (0.0, 10.0, 20.0, 3_601.0, 3_602.0)]

    ok = exchanges.Verdict()
    once, again = exchanges.Verdict("hour", first=True), exchanges.Verdict("hour")
    assert await house.records.do(story) == [ok, once, again, ok, again]


async def test_none_may_be_asked_by_a_bot_whose_budget_is_nothing(tmp_path):
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    house = Open(records, BotTerms("slack:B1", exchanges=0))
    await house.bot_says("hello", root=None)
    assert await house.turns() == []
    await records.close()


async def test_c065_what_cannot_be_done_is_told_a_bot_once(house):
    await house.say("@moot look", at="1", mention=True)
    for _ in range(3):
        await house.bot_says("why? --engine nonesuch")
    assert len(await house.turns()) == 1
    assert len(await notices(house)) == 1


async def test_a_bots_message_that_comes_again_counts_once(house):
    for _ in range(3):
        house.at = 100
        await house.bot_says("why?", root=None)
    assert len(await house.turns()) == 1


async def test_what_a_bot_says_is_not_admitted_and_interrupts_no_table(house):
    await house.say("!rt tabs or spaces?", at="1", mention=True)
    await house.bot_says("spaces!", mention=False)
    row = await house.records.do(lambda: MessageRow.get(MessageRow.text == "spaces!"))
    assert (row.addressed, row.admitted) == (False, False)


async def test_a_person_who_retries_a_bots_question_asks_it_themselves(house):
    await house.bot_says("why?", root=None)

    def fail() -> int:
        row = TurnRow.get()
        turns.end_turn(row.id, "failed", "no answer", 1.0)
        return row.id

    turn = await house.records.do(fail)
    await house.act("button", f"retry:{turn}", root=str(house.at), event_id="click")
    rows = await house.records.do(lambda: list(TurnRow.select().order_by(TurnRow.id)))
    assert [(row.by_bot, row.permission) for row in rows] == [(True, "plan"), (False, "plan")]
