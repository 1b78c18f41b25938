"""What was said elsewhere in other words is told with a question: both chats, for real."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from tests.e2e import test_discord as on_discord
from tests.e2e import test_memory as on_memory
from tests.e2e import test_slack as on_slack
from tests.e2e.product import Product
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import BOB, LoopbackSlack

pytestmark = pytest.mark.peers

SAID = "Customers get billed automatically every Monday night."
MEANT = "when are invoices sent?"  # no word of it
SAID_KO = "금요일 오후에는 운영 서버에 절대 반영하지 맙시다"
MEANT_KO = "주말 직전 릴리스해도 괜찮아?"
BESIDE = [f"Item {n}: paint the {colour} wall" for n, colour in enumerate(("red", "blue", "pink"))]
TOLD = {"context": {"mode": "standard", "delivery": "push"}}


def indexed(moot: Product) -> bool:
    """Whether every message that stands has its vector."""
    standing = "SELECT count(*) FROM message WHERE deleted_at IS NULL AND NOT interrupted"
    [left] = on_memory.read(moot, "SELECT count(*) FROM index_job")
    [said] = on_memory.read(moot, standing)
    [made] = on_memory.read(moot, "SELECT count(*) FROM vector WHERE kind = 'message'")
    return not left and said == made


async def until_indexed(moot: Product) -> None:
    """Wait for that, half a minute at most."""
    async with asyncio.timeout(30):
        while not indexed(moot):
            await asyncio.sleep(0.1)


TRIES = 8
"""A host that is busy answers from words alone now and then: nobody waits for a vector for long."""


async def is_told(slack: LoopbackSlack, question: str, said: str) -> bool:
    """Whether the agent is told ``said`` with a question in a thread of its own."""
    for _ in range(TRIES):
        if said in await told_for(slack, question):
            return True
    return False


async def told_for(slack: LoopbackSlack, question: str) -> str:
    """What the agent is told with a question in a thread of its own."""
    root = await slack.mention(f"@@rehearse show=context@@ {question}")

    async def found() -> str | None:
        texts = [seen.text for seen in await slack.answers(root)]
        return None if not texts or any("⏳" in text for text in texts) else "\n".join(texts)

    return recalled(await slack.wait(found, f"the answer to {question!r}", 30))


def recalled(told: str) -> str:
    """The part of a pack that holds what was said elsewhere."""
    return told.partition("in another thread of this channel")[2]


async def test_on_slack_by_meaning_alone_also_in_korean(slack: LoopbackSlack, tmp_path: Path):
    async with Product(
        tmp_path, on_slack.settings(slack, **TOLD), slack.env(), by_meaning=True
    ) as moot:
        await moot.start("slack")
        first = await slack.mention("minutes of today")
        await on_slack.standing(slack, first, 1)
        for text in (*BESIDE, SAID, SAID_KO):
            await slack.say(text, user=BOB, thread=first)
        await until_indexed(moot)
        assert await is_told(slack, MEANT, SAID)
        assert await is_told(slack, MEANT_KO, SAID_KO)


async def test_on_discord_by_meaning_alone(world: LoopbackDiscord, tmp_path: Path):
    made = on_discord.settings(world, **TOLD)
    async with Product(tmp_path, made, on_discord.env(world), by_meaning=True) as moot:
        await moot.start("discord")
        first = world.alice.ask(world.channel, "minutes of today")
        await on_discord.standing(world, first, 1)
        for text in (*BESIDE, SAID):
            world.bob.say(first, text)
        await until_indexed(moot)
        found = False
        for _ in range(TRIES):
            root = world.alice.ask(world.channel, f"@@rehearse show=context@@ {MEANT}")
            found = found or SAID in recalled(await on_discord.whole_answer(world, root))
            if found:
                break
        assert found


@contextlib.asynccontextmanager
async def silent_server():
    """Takes connections in, and never says anything."""
    taken: list[asyncio.StreamWriter] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.append(writer)
        with contextlib.suppress(ConnectionError):
            await reader.read()

    server = await asyncio.start_server(take, "127.0.0.1")
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", taken
    finally:
        for writer in taken:
            writer.close()
        server.close()


async def test_nobody_waits_for_an_embedder_that_does_not_come(
    slack: LoopbackSlack, tmp_path: Path
):
    async with silent_server() as (url, taken):
        memory = {"embedder": "http", "embedder_url": url, "embedder_model": "slow"}
        made = on_slack.settings(slack, memory=memory, **TOLD)
        async with Product(tmp_path, made, slack.env(), by_meaning=True) as moot:
            await moot.start("slack")
            first = await slack.mention("the zebra release is called off")
            await on_slack.standing(slack, first, 1)
            assert "zebra release" in await told_for(slack, "is zebra called off?")
            assert taken, "it was asked"
            assert not moot.logged("memory.ready")
