"""Values of buttons, menus and forms are no authority: what they name must be where they are used.

A private thread is in a channel that more people read, so its own are used in it alone.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.access import Door
from bridge.intake import Intake
from bridge.often import Counter, Often
from bridge.shortcuts import Targets
from core.model import Author, ChatEvent, ConversationKey, Said, Step
from core.records import closed, outbox, runs, turns
from core.records.tables import BranchRow, MessageRow, OutboxRow, TurnRow
from core.records.thread import Records
from tests.integration.scenes import claim_oldest
from tests.integration.test_intake import EVE, KIM, LEE, POLICY, House

CHANNEL = ConversationKey("discord", "G", "C", "")
PRIVATE = replace(CHANNEL, root="9")
OTHER = replace(CHANNEL, channel="D", root="7")
DIRECT = ConversationKey("discord", "", "DM", "")
SECRET = "the merger is on Friday"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    yield House(records, replace(POLICY, targets=Targets()))
    await records.close()


async def asked(house: House, key: ConversationKey, *, apart: bool) -> str:
    """A question in a thread and its run, which is over; the run's id."""
    more = {"key": key, "event_id": f"d{key.channel}", "apart": apart}
    await house.say(SECRET, root=key.root, at="10", mention=True, **more)

    def run() -> str:
        turn = claim_oldest()
        assert turn is not None
        seat, more = turn.seats[0], {"receipt": {}, "status": None, "now": 1.0}
        runs.open_run("ab" * 8, turn, Step(0, 0), seat, can_write=False, **more)
        turns.end_turn(turn.id, "done", "", 2.0)
        return "ab" * 8

    return await house.records.do(run)


FORGED = (
    *("context:{run}", "onward:{run}", "branch:{run}", "also:{run}:codex"),
    *("stop:1", "retry:1", "anyway:1", "other:1:codex", "next:1:0:0", "go:1"),
    *("form:#1", "resume:1", "continue:1:claude", "pick:1:claude:s", "recall:1:1"),
    *("mark:1:1:wrong", "req:1:once", "forget:thread:1"),
)


@pytest.mark.parametrize("apart", [True, False])
async def test_what_belongs_to_a_place_is_used_in_it_alone(house: House, apart: bool) -> None:
    run = await asked(house, PRIVATE if apart else OTHER, apart=apart)
    before = await house.records.do(lambda: list(TurnRow.select().tuples()))
    for number, value in enumerate(FORGED):
        action = value.format(run=run)
        told = await house.act("button", action, key=CHANNEL, event_id=f"b{number}", who=LEE)
        assert told is not None, action
        assert SECRET not in told.text, action
        assert told.form is None, action
        assert not told.buttons, action
        assert "tokens" not in told.text, action
    assert await house.records.do(lambda: list(TurnRow.select().tuples())) == before
    assert await house.records.do(BranchRow.select().count) == 0
    # In its own place the same values do something.
    here = PRIVATE if apart else OTHER
    told = await house.act("button", f"also:{run}:codex", key=here, event_id="own")
    assert told.text == "Asking codex."


async def test_a_private_threads_message_is_not_asked_about_from_its_channel(house: House) -> None:
    said = Said("91", LEE, SECRET, 91.0)
    used = ChatEvent(PRIVATE, "s1", "91", LEE, "", "shortcut", time.time(), command="ask")
    assert (await house.intake.accept(replace(used, apart=True, target=said))).form is not None
    form = ChatEvent(
        CHANNEL, "f1", "", KIM, "91", "form", time.time(), command="about",
        values={"question": ("what is it?",)},
    )  # fmt: skip
    await house.intake.accept(form)
    kept = await house.records.do(lambda: [row.text for row in MessageRow.select()])
    assert SECRET not in kept
    # In the thread it is.
    await house.intake.accept(replace(form, key=PRIVATE, event_id="f2"))
    assert SECRET in await house.records.do(lambda: [row.text for row in MessageRow.select()])


async def test_half_a_character_in_a_shortcuts_message_breaks_no_form(house: House) -> None:
    said = Said("91", replace(LEE, name="Lee\ud83d"), "half \ud83d of it", 91.0)
    used = ChatEvent(PRIVATE, "s1", "91", LEE, "", "shortcut", time.time(), command="ask")
    told = await house.intake.accept(replace(used, target=said))
    assert told.form.fields[0].hint.encode()


async def test_a_kept_answer_is_not_brought_to_who_may_not_look_there_any_more(
    house: House,
) -> None:
    await asked(house, OTHER, apart=False)
    keep = (1, "answer", ("what was found",))
    await house.records.do(lambda: outbox.add_post(*keep, turn_id=1, run_id="r", now=1.0))
    await house.records.do(closed.close, 1, "archived", 1.0)
    lists = {"discord:D": {"viewers": (), "allow": ("slack:U2",), "approvers": (), "admins": ()}}
    intake = Intake(
        house.records, Door(("slack:U1", "slack:U2"), channels=lists), POLICY,
        lambda _chat, text: (text,), on_turn=lambda: None, on_post=lambda: None,
        on_stop=lambda _turns: None, on_skip=lambda *_: None,
    )  # fmt: skip
    strict, house.intake = intake, house.intake

    async def resend(door: Intake, ident: str) -> str:
        event = ChatEvent(DIRECT, ident, "", KIM, "resend:1", "button", 5.0, direct=True)
        return (await door.accept(event)).text

    copies = (OutboxRow.kind == "notice") & (OutboxRow.text == "what was found")
    assert "Nothing is kept" in await resend(strict, "r1")
    typed = ChatEvent(DIRECT, "r2", "50", KIM, "!resend", "message", 5.0, direct=True)
    await strict.accept(typed)
    assert await house.records.do(OutboxRow.select().where(copies).count) == 0
    assert "comes here" in await resend(house.intake, "r3")
    assert await house.records.do(OutboxRow.select().where(copies).count) == 1
    assert EVE.grants  # nobody else's key counts (tests/integration/test_delivery.py)


async def test_what_is_refused_in_a_form_is_given_back_in_its_own_words(house: House) -> None:
    form = ChatEvent(
        CHANNEL, "f1", "", EVE, "91", "form", time.time(), command="about",
        values={"question": ("a long question that took a while",), "engine": ("codex",)},
    )  # fmt: skip
    told = await house.intake.accept(form)
    assert "Eve may not use Moot here" in told.errors["question"]
    assert "a long question that took a while" in told.text
    assert "!rt" not in told.text


async def test_who_looks_at_the_home_too_often_is_told_so_and_is_no_stranger(
    house: House,
) -> None:
    policy = replace(POLICY, often=Counter(Often(acts_per_minute=2)))
    house = House(house.records, policy)
    pages = [
        await house.act("home", "", key=DIRECT, event_id=f"h{n}", direct=True) for n in range(3)
    ]
    assert "Running and waiting" in pages[1].text
    assert "that was a lot in one minute" in pages[2].text


@pytest.mark.parametrize("how", ["shortcut", "message"])
async def test_a_private_thread_does_not_branch_into_its_channel_at_its_first_word(
    house: House, how: str
) -> None:
    said = Said("91", LEE, SECRET, 91.0)
    if how == "shortcut":
        used = ChatEvent(PRIVATE, "s1", "91", LEE, "", "shortcut", 92.0, command="branch")
        told = await house.intake.accept(replace(used, target=said, apart=True))
        assert "private thread cannot branch" in told.text
    else:
        more = {"key": PRIVATE, "event_id": "m1", "apart": True, "quoted": said}
        await house.say("!branch from here", root="9", at="92", mention=True, who=LEE, **more)
        assert "private thread cannot branch" in (await house.posts())[0][1]
    assert await house.records.do(BranchRow.select().count) == 0


@pytest.mark.parametrize("then", ["edit", "delete"])
async def test_what_an_asked_about_message_said_before_is_not_kept(house: House, then: str) -> None:
    said, at = Said("91", LEE, SECRET, 91.0), replace(CHANNEL, root="91")
    used = ChatEvent(at, "s1", "91", LEE, "", "shortcut", time.time(), command="ask", target=said)
    await house.intake.accept(used)
    text = "nothing" if then == "edit" else ""
    await house.intake.accept(ChatEvent(at, "g1", "91", LEE, text, then, time.time()))
    form = ChatEvent(
        CHANNEL, "f1", "", KIM, "91", "form", time.time(), command="about",
        values={"question": ("what is it?",)},
    )  # fmt: skip
    await house.intake.accept(form)
    kept = await house.records.do(lambda: [row.text for row in MessageRow.select()])
    assert kept == (["nothing", "what is it?"] if then == "edit" else ["what is it?"])


async def test_whoever_takes_somebodys_name_is_not_taken_for_them(house: House) -> None:
    run = await asked(house, OTHER, apart=False)

    async def branch(who: Author, ident: str) -> str:
        press = ChatEvent(OTHER, ident, "10", who, f"branch:{run}", "button", 20.0)
        told = await house.intake.accept(press)
        return told.text if told else ""

    await branch(KIM, "b1")
    assert "already" not in await branch(replace(LEE, name=KIM.name), "b2")
    assert "already" in await branch(replace(KIM, name="Kim Minji"), "b3")
    assert await house.records.do(BranchRow.select().count) == 2
