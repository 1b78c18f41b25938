"""Memory through the whole product: a loopback Slack, real slack-bolt, real processes."""

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from tests.e2e.product import Product
from tests.e2e.test_slack import settings, standing
from tests.peers.slack import BOB, GENERAL, LoopbackSlack

pytestmark = pytest.mark.peers

BY_REHEARSAL = {"memory": {"summary_engine": "rehearsal", "summary_model": ""}}


def read(product: Product, query: str) -> list[str]:
    """The first column of what a query finds in the product's database."""
    path = f"file:{product.folder}/data/moot.sqlite?mode=ro"
    with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
        return [row[0] for row in database.execute(query)]


def sections(product: Product) -> dict[str, int]:
    """Section -> characters, of the newest run's receipt."""
    [receipt] = read(product, "SELECT receipt FROM run ORDER BY opened_at DESC LIMIT 1")
    return {section["name"]: section["used"] for section in json.loads(receipt)["sections"]}


def topics(product: Product) -> str:
    """All statements of all topics."""
    return "\n".join(read(product, "SELECT statements FROM topic"))


async def long_thread(slack: LoopbackSlack) -> tuple[str, list[str]]:
    """A thread in which Bob, who may not ask, says twenty things; the ids of what he said."""
    root = await slack.mention("what is the plan?")
    await standing(slack, root, 1)
    said = [
        await slack.say(f"Point {n}: do not deploy service {n} on Friday.", user=BOB, thread=root)
        for n in range(1, 21)
    ]
    return root, said


async def told_for(slack: LoopbackSlack, root: str, question: str) -> str:
    """Ask what the agent is told with this question; the answer and all after it."""
    await slack.say(f"@@rehearse show=context@@ {question}", thread=root)

    async def found():
        texts = [seen.text for seen in await slack.answers(root)]
        first = next((n for n, text in enumerate(texts) if question in text), None)
        going = first is None or any("⏳" in text for text in texts)
        return None if going else "\n".join(texts[first:])

    return await slack.wait(found, f"the answer to {question!r}", 30)


@pytest.mark.parametrize("by", ["rehearsal", "extract"])
async def test_a_long_thread_gets_topics_that_are_told_and_go_with_their_messages(
    slack, tmp_path: Path, by
):
    more = BY_REHEARSAL if by == "rehearsal" else {}  # without an agent there is none to sum up
    async with Product(tmp_path, settings(slack, **more), slack.env()) as moot:
        await moot.start("slack")
        root, said = await long_thread(slack)
        made = await moot.event("topics.made", 60, by=by)
        assert made["messages"] >= 6
        told = await told_for(slack, root, "so, when?")
        assert "compressed" in sections(moot)
        told = told.split("Earlier in this conversation, summarised")[1]
        assert "bob (#" in told
        assert "do not deploy service 1 on Friday" in told
        maker = "summed up by rehearsal" if by == "rehearsal" else "taken word for word"
        assert maker in told
        stated = "\n".join(read(moot, "SELECT text FROM statement"))
        assert ("service 1 on Friday" in stated) is (by == "rehearsal")

        await slack.delete(said[0], user=BOB)
        await slack.say("and now?", thread=root)  # a turn's end is when the summariser looks

        async def told_again() -> bool:
            kept = topics(moot)
            found = kept + "\n".join(read(moot, "SELECT text FROM statement"))
            return "service 2 on Friday" in kept and "service 1 on Friday" not in found

        await slack.wait(told_again, "topics of what is left", 60)
        await slack.say("once more?", thread=root)
        await slack.wait_for_answer(root, containing="once more?")
        assert "compressed" in sections(moot)


async def test_another_thread_of_the_channel_is_remembered(slack, tmp_path: Path):
    async with Product(tmp_path, settings(slack), slack.env()) as moot:
        await moot.start("slack")
        first = await slack.mention("the zebra release is called off")
        await standing(slack, first, 1)
        second = await slack.mention(
            '@@rehearse pull="memory: zebra release" when="zebra"@@ @@rehearse text="done"@@ what '
            "happened to the zebra release?"
        )
        pulled = await slack.wait_for_answer(second, containing="memory: zebra release")
        assert "found" in pulled.text


async def test_a_channel_whose_questions_stay_in_their_thread_remembers_no_other(
    slack, tmp_path: Path
):
    narrow = {"channels": {f"slack:{GENERAL}": {"recall": "conversation"}}}
    async with Product(tmp_path, settings(slack, **narrow), slack.env()) as moot:
        await moot.start("slack")
        first = await slack.mention("the zebra release is called off", channel=GENERAL)
        await standing(slack, first, 1)
        second = await slack.mention(
            '@@rehearse pull="memory: zebra release" when="zebra"@@ @@rehearse text="done"@@ what '
            "happened to the zebra release?",
            channel=GENERAL,
        )
        pulled = await slack.wait_for_answer(second, containing="memory:")
        assert "nothing found" in pulled.text
