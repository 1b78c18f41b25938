"""One life of a memory that is killed: it hears messages, edits and deletions, and indexes them.

    python memory_life.py FOLDER SEED listen|rebuild

Prints a line for each thing that is committed, such as ``said 12`` (the row's id), and ``began``
and ``built`` around each rebuild of Chroma. Everything is the product's own: rows, keyword index,
jobs, an embedder with its weights, and Chroma.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from core.memory.chroma import ChromaAway, ChromaIndex, Pace
from core.memory.embed.choose import EmbedTerms, choose
from core.memory.indexer import Indexer
from core.model import Author, ChatEvent, ConversationKey
from core.records import messages
from core.records.tables import MessageRow
from core.records.thread import Records

PACE = Pace(begin_s=0, tick_s=0.05, retry_s=0.1, longest_retry_s=1)
WORDS = "invoice gateway deploy kafka retry cache token schema mobile budget login queue"
HERE = ConversationKey("slack", "T1", "C1", "1.0")


class Life:
    """The open database with what indexes it."""

    def __init__(self, folder: Path) -> None:
        self.records = Records(folder / "moot.sqlite")
        self.index = ChromaIndex(self.records, folder, pace=PACE)
        embedder = choose(EmbedTerms("use")).embedder
        assert embedder
        self.indexer = Indexer(self.records, embedder, self.index)


def say(number: int, text: str) -> int:
    """A message is heard; its row's id."""
    conversation = messages.open_conversation(HERE, direct=False, in_thread=True, now=1.0).id
    author = Author(f"U{number % 3}", f"Person {number % 3}")
    event = ChatEvent(
        HERE, f"e{number}", f"{number}.0", author, text, "message", float(number), in_thread=True
    )
    return messages.add_event(conversation, event, addressed=False)[0]


def tell(*words: object) -> None:
    print(*words, flush=True)


async def talk(records: Records, dice: random.Random) -> None:
    known = await records.do(
        lambda: [
            (row.id, row.platform_id)
            for row in MessageRow.select().where(MessageRow.deleted_at.is_null())
        ]
    )
    number = 1 + max((int(float(platform)) for _, platform in known), default=0)
    number += 1_000  # some may be gone
    while True:
        text = f"note {number} about {' '.join(dice.choices(WORDS.split(), k=6))}"
        if known and dice.random() < 0.15:
            row, platform = dice.choice(known)
            if await records.do(messages.change_text, HERE, platform, text, time.time()):
                tell("edited", row, text)
        elif known and dice.random() < 0.15:
            row, platform = known.pop(dice.randrange(len(known)))
            if await records.do(messages.remove, HERE, platform, time.time()):
                tell("gone", row)
        else:
            row = await records.do(say, number, text)
            known.append((row, f"{number}.0"))
            tell("said", row, text)
        number += 1
        await asyncio.sleep(dice.random() * 0.02)


async def rebuild(index: ChromaIndex) -> None:
    while True:
        try:
            tell("began")
            await index.rebuild()
            tell("built")
        except ChromaAway:
            await asyncio.sleep(0.05)


async def main(folder: Path, seed: int, what: str) -> None:
    life = Life(folder)
    await life.records.open()
    async with asyncio.TaskGroup() as group:
        group.create_task(life.index.run())
        group.create_task(life.indexer.run())
        group.create_task(talk(life.records, random.Random(seed)))
        if what == "rebuild":
            group.create_task(rebuild(life.index))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
