"""``!forget`` of much: hidden in steps before the receipt, and no crash in between loses it."""

from __future__ import annotations

import asyncio
import time

import pytest

from bridge import forget_acts
from bridge.forget_acts import NOTHING, UNDER_WAY
from core.model import ChatEvent, Conversation, ConversationKey
from core.records import forgetting, messages, turns
from core.records.search import search
from core.records.tables import MessageRow, MetaRow, TurnRow
from core.records.thread import Records
from tests.integration.scenes import scene_of
from tests.integration.test_forget import (
    KIM,
    WORD,
    Room,
    in_files,
    kept,
    room,  # noqa: F401 - the fixture
    until_erased,
)


def say(here: Conversation, begin: int, end: int, sent_at: float = 5.0) -> int:
    number = 0
    for n in range(begin, end):
        event = ChatEvent(here.key, f"b{n}", f"b{n}", KIM, f"{WORD} {n}", "message", sent_at + n)
        number, _ = messages.add_event(here.id, event, addressed=False)
    return number


def standing() -> int:
    return MessageRow.select().where(MessageRow.deleted_at.is_null()).count()


async def test_much_is_hidden_before_the_receipt_and_erased_after_a_crash(
    room: Room,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forgetting, "BUDGET_S", 0.001)
    here = room.here.conversation
    for begin in range(0, 1_200, 300):
        await room.records.do(say, here, begin, begin + 300)
    _, [button] = await room.told("!forget me")
    assert "1,201" in button.label
    pressed = asyncio.create_task(room.press(button))
    seen = []
    while not pressed.done():  # others get their turn between two steps
        seen.append(await room.records.do(standing))
    assert "1,201 messages were erased" in await pressed
    assert [count for count in seen if 0 < count < 1_200]
    assert await room.found() == []
    assert await room.records.do(messages.recent, here.id, 50) == ()
    assert "message" in await kept(room.records)  # the words themselves go in the background
    again = Records(room.records.path)  # the life before has not closed anything
    await again.open()
    assert await again.do(search, scene_of(here.id), WORD, 5) == ()
    await until_erased(again)
    assert await kept(again) == []
    assert not await in_files(again)
    await again.close()


async def test_a_crash_between_two_steps_loses_nothing(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting, "BUDGET_S", 0.0)
    now = time.time()

    def write() -> tuple[Conversation, int]:
        key = ConversationKey("slack", "T1", "C1", "1.0")
        here = messages.open_conversation(key, direct=False, in_thread=True, now=1.0)
        last = say(here, 0, 60)
        made = turns.queue_turn(
            here.id, kind="ask", prompt="well?", prompt_message_id=last, asker="Kim",
            asker_key="slack:UKim", seats=(), rounds=1, mode="", now=now,
        )  # fmt: skip
        TurnRow.change(made, state="running")
        return here, made

    here, turn = await records.do(write)
    done = await records.do(forgetting.forget_person, "slack:UKim", now, 100.0)
    assert (done.count, done.turns) == (60, (turn,))
    assert await records.do(standing) == 60 - 1 - forgetting.SOME  # what is asked just now, first
    assert await records.do(forgetting.hide_some, now, done.rest)
    assert await records.do(standing) == 60 - 1 - 2 * forgetting.SOME
    later = await records.do(say, here, 60, 61, now)
    again = Records(records.path)  # the life before has not closed anything
    await again.open()
    await until_erased(again)

    def left() -> list[int]:
        rows = MessageRow.select().where(MessageRow.deleted_at.is_null())
        return [row.id for row in rows]

    assert await again.do(left) == [later]
    assert not await again.do(forgetting.hide_some, now)
    assert not await again.do(lambda: [m.name for m in MetaRow.select() if "hide" in m.name])
    await again.close()


async def test_what_takes_long_is_said_so_and_goes_on_behind(
    room: Room,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forgetting, "BUDGET_S", 0.0)
    monkeypatch.setattr(forget_acts, "WAIT_S", -1.0)
    await room.records.do(say, room.here.conversation, 0, 600)
    _, [button] = await room.told("!forget me")
    assert UNDER_WAY in await room.press(button)
    assert room.gone  # whoever erases is woken
    assert await room.found() != []
    await until_erased(room.records)
    assert await room.found() == []
    assert await room.press(button) == NOTHING
