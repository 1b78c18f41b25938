"""What is older than it is kept goes, with what derives from it; what goes on is left alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import ValidationError

from bridge.keeping import keeping_check, kept_days, still_kept
from config.settings import load_settings
from config.tables import Channel
from core.memory.topics import extract, merge
from core.model import (
    EXTRACT,
    Actor,
    Author,
    ChatEvent,
    Conversation,
    ConversationKey,
    Participant,
    Said,
    Step,
    Usage,
)
from core.records import history, ledger, messages, outbox, runs, sessions, topics, turns
from core.records.eraser import Eraser
from core.records.filing import Origin
from core.records.retention import DAY_S, age_some
from core.records.search import search
from core.records.sessions import SessionKey
from core.records.tables import EngineSessionRow, MessageRow, PullRow, RunRow, TurnRow
from core.records.thread import Records
from tests.integration.scenes import scene_of
from tests.integration.test_forget import in_files, kept

KIM = Author("U1", "Kim")
SEAT = Participant("claude")
OLD, NEW = 10 * DAY_S, 100 * DAY_S  # the virtual clock: days since it began
NOW = 101 * DAY_S


def opened(channel: str = "C1", root: str = "1.0") -> Conversation:
    key = ConversationKey("slack", "T1", channel, root)
    return messages.open_conversation(key, direct=False, in_thread=False, now=1.0)


def say(here: Conversation, text: str, at: float) -> int:
    ident = f"{at:.4f}"
    event = ChatEvent(here.key, f"{here.id}:{ident}", ident, KIM, text, "message", at)
    return messages.add_event(here.id, event, addressed=False)[0]


def asked(here: Conversation, word: str, at: float) -> int:
    """A question that was answered, as everything that it leaves in the rows."""
    number = say(here, f"what of {word}?", at)
    turn_id = turns.queue_turn(
        here.id, kind="ask", prompt=f"what of {word}?", prompt_message_id=number, asker="Kim",
        asker_key="slack:U1", seats=(SEAT,), rounds=1, mode="", now=at,
    )  # fmt: skip
    turn = turns.get_turn(turn_id)
    assert turn is not None
    run_id = f"r{turn_id}"
    runs.open_run(run_id, turn, Step(0, 0), SEAT, can_write=False, receipt={}, status=None, now=at)
    message = messages.add_answer(here.id, SEAT, f"It is {word}.", turn_id=turn_id, now=at + 1)

    RunRow.change(run_id, state="answered", answer=f"It is {word}.", message=message, told=True)
    PullRow.create(run=run_id, kind="memory", query=word)
    outbox.add_post(here.id, "answer", (f"It is {word}.",), turn_id=turn_id, run_id=run_id, now=at)
    outbox.add_post(here.id, "notice", (f"{word} again",), now=at)
    while item := outbox.take_next(here.id, NOW):
        outbox.mark_sent(item.id, f"p{item.id}", None, at)
    TurnRow.change(turn_id, state="done", ended_at=at + 1)
    return turn_id


async def age(records: Records, days: float = 90) -> int:
    """One look at what is too old."""
    eraser = Eraser(records, lambda _key: days, on_gone=lambda: None, clock=lambda: NOW)
    return await eraser.age()


async def test_what_is_too_old_goes_with_everything_and_the_rest_stays(records: Records) -> None:
    def write() -> Conversation:
        here = opened()
        for n in range(20):
            say(here, f"oldword {n}", OLD + n)
        asked(here, "oldword", OLD + 100)
        asked(here, "newword", NEW)
        return here

    here = await records.do(write)
    assert await age(records) == 22
    assert await kept(records, "oldword") == []
    assert not await in_files(records, "oldword")
    assert set(await kept(records, "newword")) >= {"message", "turn", "run", "pull", "outbox"}
    scene = scene_of(here.id)
    assert len(await records.do(search, scene, "newword", 9)) == 2
    assert await records.do(search, scene, "oldword", 9) == ()
    assert await age(records) == 0  # a second look changes nothing

    def again() -> None:
        history.add_history(here.id, "slack", [Said(f"{OLD:.4f}", KIM, "oldword 0", OLD)])

    await records.do(again)
    assert await kept(records, "oldword") == []  # a tombstone remembers that it was there


async def test_each_channel_as_it_is_set_and_never_without_a_setting(records: Records) -> None:
    config = load_settings(Path("config/default.toml"))
    assert kept_days(config) is None
    assert keeping_check(config).detail == "messages are kept until they are deleted"
    own = {
        "slack:C2": Channel(retention_days=30),
        "slack:C3": Channel(retention_days=0),
        "slack:C4": Channel(),
    }
    memory = config.memory.model_copy(update={"retention_days": 90.0})
    config = config.model_copy(update={"memory": memory, "channels": own})
    told = keeping_check(config).detail
    assert told == ("messages are kept 90 days; slack:C2 30 days; slack:C3 until they are deleted")
    days = kept_days(config)
    assert days is not None

    def write() -> None:
        for channel in ("C1", "C2", "C3", "C4"):
            here = opened(channel)
            for back in (20, 60, 95):
                say(here, f"{channel} from {back} days ago", NOW - back * DAY_S)

    await records.do(write)
    await Eraser(records, days, on_gone=lambda: None, clock=lambda: NOW).age()
    left = await records.do(
        lambda: [row.text for row in MessageRow.select() if row.deleted_at is None]
    )
    assert sorted(left) == sorted(
        f"{channel} from {back} days ago"
        for channel, backs in {
            "C1": (20, 60),
            "C2": (20,),
            "C3": (20, 60, 95),
            "C4": (20, 60),
        }.items()
        for back in backs
    )
    with pytest.raises(ValidationError):
        Channel(retention_days=-1)


def test_a_history_brings_nothing_that_is_too_old() -> None:
    key = ConversationKey("slack", "T1", "C1", "1.0")
    said = (Said("1", KIM, "long ago", 5.0),)
    (known,) = still_kept(lambda _key: 90, key, said)
    assert (known.text, known.gone) == ("", True)  # that there was something, and no more
    assert still_kept(lambda _key: 0, key, said) == said
    assert still_kept(None, key, said) == said


@pytest.mark.parametrize("state", ["queued", "running", "held", "parked"])
async def test_a_thread_with_a_question_that_goes_on_is_left_alone(
    records: Records, state: str
) -> None:
    def write() -> int:
        here = opened()
        say(here, "oldword", OLD)
        turn = asked(here, "oldword", OLD + 100)
        TurnRow.change(turn, state=state)
        say(opened("C2"), "oldword elsewhere", OLD)
        return turn

    turn = await records.do(write)
    assert await age(records) == 1  # of the other thread
    assert "turn" in await kept(records, "oldword")
    await records.do(TurnRow.change, turn, state="done")
    assert await age(records) == 3
    assert await kept(records, "oldword") == []


async def test_topics_lose_what_is_too_old_and_keep_the_rest(records: Records) -> None:
    def write() -> Conversation:
        here = opened()
        for n in range(6):
            say(here, f"Never use oldword{n} in here.", OLD + n)
        sum_up(here, "p1", 6)
        for n in range(6):
            say(here, f"Never use newword{n} in here.", NEW + n)
        sum_up(here, "p2", 6)
        return here

    here = await records.do(write)
    assert "topic" in await kept(records, "oldword0")
    covered = await records.do(topics.covered, here.id)
    await age(records)
    assert await kept(records, "oldword") == []
    assert await kept(records, "oldword5") == []
    assert "topic" in await kept(records, "newword0")
    assert await records.do(topics.covered, here.id) == covered - 6
    due = await records.do(topics.find_due, redo=False)
    assert not due.undone  # nothing is summed up anew because something else is too old


def sum_up(here: Conversation, name: str, count: int) -> None:
    span = messages.recent(here.id, count)
    topics.open_pass(name, here.id, EXTRACT, "", {}, 1.0)
    made = extract(span)
    assert topics.close_pass(name, span, lambda known: merge(known, made), Usage(), 1.0)


async def test_a_decision_stays_without_the_quotes(records: Records) -> None:
    def write() -> Conversation:
        here = opened()
        number = say(here, "oldword", OLD)
        ledger.decide(
            Origin("p", here.id, number), "format", "files, not rows",
            stances=[("claude", "for oldword")], by=Actor("moot", "Moot"), now=OLD,
        )  # fmt: skip
        return here

    here = await records.do(write)
    await age(records)
    assert await kept(records, "oldword") == []
    [found] = await records.do(ledger.list_decisions, scene_of(here.id))
    assert (found.decision, found.stances, found.withdrawn) == ("files, not rows", (), False)


async def test_sessions_that_were_told_it_end_and_others_go_on(records: Records) -> None:
    def write() -> None:
        here = opened()
        say(here, "oldword", OLD)
        say(here, "newword", NEW)
        for cwd, at in (("/old", OLD - 5), ("/new", NEW - 5)):
            key = SessionKey(here.id, SEAT, cwd, "plan")
            made = sessions.begin(key, "", sessions.Known(), at)
            EngineSessionRow.change(made, session=cwd, used_at=NEW)

    await records.do(write)
    await age(records)
    states = await records.do(lambda: {row.session: row.state for row in EngineSessionRow.select()})
    assert states == {"/old": "ended", "/new": "live"}


async def test_one_step_is_short_and_a_crash_between_two_loses_nothing(records: Records) -> None:
    def write(begin: int) -> None:
        here = opened("C1", f"{begin}.0")
        for n in range(begin, begin + 200):
            say(here, f"oldword {n}", OLD + n)

    for begin in range(0, 1_000, 200):
        await records.do(write, begin)
    on, erased = await records.do(age_some, lambda _key: 90, NOW, 0)
    assert on is not None
    assert 0 < erased < 1_000
    assert await age(records) == 1_000 - erased
    assert await kept(records, "oldword") == []


async def test_the_loop_looks_again_after_its_time(records: Records) -> None:
    clock = [NOW - 50 * DAY_S]
    here = await records.do(opened)
    await records.do(say, here, "oldword", OLD)
    eraser = Eraser(
        records, lambda _key: 90, on_gone=lambda: None, clock=lambda: clock[0], every_s=0.1
    )
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        work = group.create_task(eraser.run())
        await asyncio.sleep(0)
        assert "message" in await kept(records, "oldword")
        clock[0] = NOW
        while await kept(records, "oldword"):
            await asyncio.sleep(0.02)
        work.cancel()
