"""Words that were deleted or changed while a turn goes on reach nobody whose turn comes later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.model import EngineTask, Participant, Spawn, TurnState
from core.records import messages, places
from core.records.scrub import Scrubber
from core.records.tables import MessageRow
from core.sources import recall, retrieval, work
from tests.integration.parlour import RULES, SEAT, Actor, Parlour, parlour

SEATS = (SEAT, Participant("rehearsal", "critic"), Participant("codex"))


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Parlour]:
    async with parlour(tmp_path) as made:
        made.house = replace(made.house, sources=(recall.SOURCE, retrieval.SOURCE, work.SOURCE))
        yield made


class Slow(Actor):
    """Holds the run of that number until it is let go."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.reached = asyncio.Event()

    def start(self, task: EngineTask) -> Spawn:
        spawn = super().start(task)
        if len(self.asked) == self.number:
            self.reached.set()
        return spawn


async def while_running(
    here: Parlour, number: int, question: str, then, **more: object
) -> TurnState:
    """Ask, and do ``then`` while the run of that number works."""
    actor = Slow(number)
    here.actor = actor
    here.house = replace(here.house, engines={"rehearsal": actor, "codex": actor})
    turn = asyncio.create_task(here.ask(question, **more))
    await actor.reached.wait()
    await then()
    return await turn


def sent(here: Parlour, n: int) -> str:
    return here.actor.asked[n].context + here.actor.asked[n].prompt


async def test_the_next_speakers_of_a_round_are_not_told_what_was_deleted_in_it(here) -> None:
    secret = await here.say("the key is Quetzal-7")
    await while_running(
        here, 1, "what now? @@rehearse sleep=1@@", lambda: here.remove(secret),
        seats=SEATS, rounds=1, rules=RULES,
    )  # fmt: skip
    assert "Quetzal-7" in sent(here, 0)
    assert len(here.actor.asked) >= 3
    for n in range(1, len(here.actor.asked)):
        assert "Quetzal-7" not in sent(here, n)


async def test_nor_are_they_told_what_was_changed(here) -> None:
    first = await here.say("the key is Quetzal-7")

    async def edit() -> None:
        row = await here.records.do(MessageRow.get_by_id, first)
        await here.records.do(
            messages.change_text, here.conversation.key, row.platform_id, "the key is gone", 1.0
        )

    await while_running(
        here, 1, "what now? @@rehearse sleep=1@@", edit, seats=SEATS, rounds=1, rules=RULES
    )
    assert "Quetzal-7" in sent(here, 0)
    assert "the key is gone" in sent(here, 1)
    assert "Quetzal-7" not in sent(here, 1) + sent(here, 2)


async def test_a_follow_up_does_not_go_on_in_a_session_that_holds_what_was_deleted(here) -> None:
    secret = await here.say("the key is Quetzal-7")
    asked = '@@rehearse sleep=1 pull="messages: last 5" when="Quetzal"@@'
    await while_running(here, 1, f"what now? {asked}", lambda: here.remove(secret))
    first, second = here.actor.asked
    assert "Quetzal-7" in first.context
    assert second.resume == ""
    assert "Quetzal-7" not in second.context + second.prompt


async def test_a_question_deleted_while_it_was_worked_on_is_in_no_later_session(here) -> None:
    async def delete() -> None:
        [asked] = await here.records.do(
            lambda: [row.id for row in MessageRow.select() if "Quetzal" in row.text]
        )
        await here.remove(asked)

    await while_running(
        here, 1, 'is Quetzal-7 right? @@rehearse sleep=1 text="Yes."@@', delete,
        seats=SEATS[:2], rounds=2, rules=RULES,
    )  # fmt: skip
    live = [row for row in await here.sessions() if row.state == "live"]
    assert live == []
    await here.ask("and now?")
    assert here.actor.asked[-1].resume == ""
    assert "Quetzal-7" not in sent(here, -1)


async def test_a_session_that_was_told_of_others_once_ends_whatever_it_was_told_since(here) -> None:
    """Pushed in one turn, no more in the next: the engine knows it still."""
    other = await here.opened("9.9")
    secret = await other.say("the invoice key is Quetzal-7")
    here.house = replace(
        here.house,
        policy=replace(here.house.policy, terms=replace(here.house.policy.terms, delivery="push")),
    )
    await here.ask("which invoice key?", mode="standard")
    assert "Quetzal-7" in sent(here, 0)
    await here.ask("thanks, lunch?", mode="lite")
    [session] = await here.sessions()
    assert session.state == "live"
    await other.remove(secret)
    [session] = await here.sessions()
    assert (session.state, session.why) == ("ended", "erased")


async def test_what_is_pulled_into_a_run_counts_while_it_works(here) -> None:
    other = await here.opened("9.9")
    secret = await other.say("the invoice key is Quetzal-7")
    asked = '@@rehearse pull="memory: invoice key" sleep=0.2@@'

    async def delete_when_followed_up() -> None:
        await other.remove(secret)

    await while_running(here, 2, f"which? {asked}", delete_when_followed_up)
    assert "Quetzal-7" in sent(here, 1)
    assert [row.state for row in await here.sessions()] == ["ended"]


async def test_a_guest_does_not_go_on_where_members_were_told_of_other_channels(here) -> None:
    here.house = replace(here.house, channels_of=lambda _: ("slack:C1", "slack:C2"))
    elsewhere = replace(here.conversation.key, channel="C2", root="5.5")

    def open_public():
        made = messages.open_conversation(elsewhere, direct=False, in_thread=False, now=time.time())
        places.set_public(elsewhere, public=True)
        return messages.get_conversation(made.id)

    public = replace(here, conversation=await here.records.do(open_public))
    await public.say("the invoice key is Quetzal-7")
    asked = '@@rehearse pull="memory: invoice key" when="Platform rules"@@'
    await here.ask(f"which? {asked}")
    assert any("Quetzal-7" in sent(here, n) for n in range(2))
    told = len(here.actor.asked)
    await here.ask("say it again", asker="Gus", asker_key="slack:UGus", asker_trusted=False)
    assert here.actor.asked[told].resume == ""


def in_files(folder: Path, word: str) -> bool:
    return any(word.encode() in path.read_bytes() for path in folder.glob("moot.sqlite*"))


async def test_what_was_deleted_or_changed_leaves_the_files_while_moot_runs(
    here: Parlour, tmp_path: Path
) -> None:
    secret = await here.say("the key is quetzalseven")
    changed = await here.say("the word is swordfish")
    for n in range(30):
        await here.say(f"and so on {n}")
    await here.remove(secret)
    row = await here.records.do(MessageRow.get_by_id, changed)
    await here.records.do(
        messages.change_text, here.conversation.key, row.platform_id, "a word", time.time()
    )
    assert in_files(tmp_path, "quetzalseven")
    scrubber = Scrubber(here.records)  # as after a crash: nobody wakes it
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        work = group.create_task(scrubber.run())
        while in_files(tmp_path, "quetzalseven") or in_files(tmp_path, "swordfish"):
            await asyncio.sleep(0.02)
        work.cancel()
    assert in_files(tmp_path, "so on 7")
