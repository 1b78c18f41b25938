"""What is erased leaves the files: words from every column, vectors, the log; within 5 seconds."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import numpy as np
import pytest

from core.model import Author, ChatEvent, ConversationKey
from core.records import changes, forgetting, jobs, messages
from core.records.jobs import Made
from core.records.scrub import Scrubber
from core.records.tables import MessageRow
from core.records.thread import Records

KEY = ConversationKey("slack", "T", "C1", "1")
KIM = Author("U1", "Kim")
WORDS = ("quetzalseven", "스와피시", "swordfish", "zebrafish")
MANY = int(os.environ.get("MOOT_SCRUB_MESSAGES", "1000"))
WITHIN_S = 5.0
DIM = 384


def event(n: int, text: str) -> ChatEvent:
    return ChatEvent(KEY, f"e{n}", f"m{n}", KIM, text, "message", 1_700_000_000.0 + 60 * n)


def vector(n: int) -> bytes:
    made = np.random.default_rng(n).standard_normal(DIM).astype("<f2")
    return made.tobytes()


def text_of(n: int) -> str:
    secret = WORDS[n % len(WORDS)] if n % 97 < len(WORDS) else "nothing"
    return f"message {n} about the billing of {secret} and {n * 7919} more"


def write(place: int, begin: int, end: int) -> list[int]:
    ids = [
        messages.add_event(place, event(n, text_of(n)), addressed=False)[0]
        for n in range(begin, end)
    ]
    jobs.write(1, [Made("message", number, 1, vector(number)) for number in ids])
    return ids


def traces(folder: Path, pieces: dict[str, bytes]) -> set[str]:
    """Which of these bytes the database's files hold."""
    found = set[str]()
    for path in folder.glob("moot.sqlite*"):
        data = path.read_bytes()
        found |= {name for name, piece in pieces.items() if piece in data}
    return found


@pytest.mark.parametrize("way", ["forget", "delete and edit"])
async def test_no_byte_of_words_or_vectors_is_left(tmp_path: Path, way: str) -> None:
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    place = await records.do(
        lambda: messages.open_conversation(KEY, direct=False, in_thread=False, now=1.0).id
    )
    for begin in range(0, MANY, 250):
        await records.do(write, place, begin, min(begin + 250, MANY))
    rows = await records.do(lambda: [(r.id, r.platform_id, r.text) for r in MessageRow.select()])
    secret = [row for row in rows if any(word in row[2] for word in WORDS)]
    pieces = {f"vector {number}": vector(number)[16:80] for number, _, _ in secret}
    # As 2-grams a Korean word stands in the index; the whole of it only in the text.
    pieces |= {word: word.encode() for word in WORDS}
    assert traces(tmp_path, pieces) == set(pieces)

    def erase() -> None:
        if way == "forget":
            forgetting.forget([number for number, _, _ in secret], 2.0)
            while forgetting.erase_hidden(2.0):
                pass
            return
        for place_, (_, ident, _) in enumerate(secret):
            if place_ % 2:
                messages.remove(KEY, ident, 2.0)
            else:
                messages.change_text(KEY, ident, "something else", 2.0)

    await records.do(erase)
    scrubber, log = Scrubber(records), tmp_path / "moot.sqlite-wal"

    def done() -> bool:
        return changes.scrubbed() == changes.gone()

    began = time.monotonic()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        work = group.create_task(scrubber.run())
        # Looking through the files themselves takes much longer than what is waited for.
        while not (await records.do(done) and log.stat().st_size == 0):
            await asyncio.sleep(0.02)
        work.cancel()
    took = time.monotonic() - began
    print(f"{MANY} messages, {len(secret)} erased: {took:.2f} s")
    assert traces(tmp_path, pieces) == set()
    assert took < WITHIN_S, f"{took:.1f} s"
    kept = await records.do(lambda: MessageRow.select().where(MessageRow.text != "").count())
    assert kept >= MANY - len(secret)
    await records.close()
