"""The database that ``benchmarks.memory_scale`` measures: messages, keyword rows and vectors.

Built fast, not by the product's own writes: rows are inserted 20,000 a transaction, as the product
leaves them (keyword rows with all three columns); vectors are seeded synthetic ones around 300
centres.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sqlite3
import sys
import time
from itertools import accumulate
from pathlib import Path

import numpy as np

from benchmarks.corpus import CHAT, CONVERSATION, EPOCH, MESSAGE, SPACE, Talk, insertion
from core.keywords import context_text, index_text
from core.memory.embed.choose import EmbedTerms, choose
from core.records.tables import ConversationRow, MessageRow
from core.records.thread import Records

VERSION = 1  # of what is generated; another one builds it anew
CHANNELS = {1_000: 50, 10_000: 200, 100_000: 1_000, 1_000_000: 5_000}
PIECE = 20_000
SPAN, ACTIVE = 1_000, 50  # threads in which people talk at the same time: 20 messages each
CENTRES = 300


async def build(folder: Path, size: int) -> dict[str, float]:
    """A database of so many messages; seconds it took (empty: it was there)."""
    note = folder / "made.json"
    plan = {"version": VERSION, "messages": size, "channels": channels_of(size)}
    if not await asyncio.to_thread(_begun, folder, plan):
        return {}
    records = Records(folder / "moot.sqlite")
    await records.open()
    await records.close()
    embedder = choose(EmbedTerms("auto")).embedder
    assert embedder is not None, "an embedder's package is there"
    database = sqlite3.connect(folder / "moot.sqlite", isolation_level=None)
    database.execute("PRAGMA synchronous = off")
    database.execute("PRAGMA cache_size = -200000")
    try:
        began = time.monotonic()
        places = _conversations(database, size)
        _messages(database, size, places)
        spoken = time.monotonic()
        _vectors(database, embedder.name, embedder.dim)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ended = time.monotonic()
    finally:
        database.close()
    note.write_text(json.dumps(plan), "utf-8")
    return {"messages_s": round(spoken - began, 1), "vectors_s": round(ended - spoken, 1)}


def _begun(folder: Path, plan: dict[str, int]) -> bool:
    """Whether it is to be built, in a folder that is empty then."""
    note = folder / "made.json"
    if note.exists() and json.loads(note.read_text("utf-8")) == plan:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return True


def channels_of(size: int) -> int:
    """In how many channels so many messages are."""
    return CHANNELS.get(size, max(5, size // 100))


def _conversations(database: sqlite3.Connection, size: int) -> int:
    """Threads, in channels of which some are far busier than others; how many."""
    dice, channels = random.Random(1), range(1, channels_of(size) + 1)
    busy = list(accumulate(rank**-0.5 for rank in channels))
    total = (size // SPAN + 1) * ACTIVE
    insert, rest = insertion(ConversationRow, CONVERSATION)
    rows = [
        (number, CHAT, SPACE, f"C{place}", f"t{number}", True, True, EPOCH)
        for number, place in enumerate(dice.choices(channels, cum_weights=busy, k=total), 1)
    ]
    with database:
        database.execute("BEGIN IMMEDIATE")
        database.executemany(insert, [(*row, *rest) for row in rows])
        database.execute(
            "INSERT INTO scope (chat, space, channel, apart) "
            "SELECT DISTINCT chat, space, channel, 0 FROM conversation"
        )
    return total


def _messages(database: sqlite3.Connection, size: int, places: int) -> None:
    talk, insert_row = Talk(), insertion(MessageRow, MESSAGE)
    insert, rest = insert_row
    before: dict[int, str] = {}
    speakers: dict[str, str] = {}
    for start in range(1, size + 1, PIECE):
        dice = random.Random(1_000_003 * start)
        rows, words = [], []
        for number in range(start, min(start + PIECE, size + 1)):
            place = number // SPAN * ACTIVE + dice.randrange(ACTIVE) + 1
            row, body = talk.row(dice, number, min(place, places))
            said, name, at = row[9], row[5], row[10]
            speaker = speakers.setdefault(name, index_text(name))
            words.append((number, body, speaker, context_text(at, before.get(place, ""))))
            before[place] = said
            rows.append((*row, *rest))
        with database:
            database.execute("BEGIN IMMEDIATE")
            database.executemany(insert, rows)
            database.executemany(
                "INSERT INTO message_fts (rowid, body, speaker, context) VALUES (?, ?, ?, ?)", words
            )
        _tell(f"{start + len(rows) - 1:,} of {size:,} messages")


def _vectors(database: sqlite3.Connection, name: str, dim: int) -> None:
    """A vector for every message, scope by scope, of the model that is current."""
    centres = np.random.default_rng(3).standard_normal((CENTRES, dim)).astype(np.float32)
    with database:
        database.execute("BEGIN IMMEDIATE")
        database.execute(
            "INSERT INTO embedder (name, dim, state) VALUES (?, ?, 'current')", (name, dim)
        )
    of = "SELECT scope.id FROM scope ORDER BY scope.id"
    for (scope,) in database.execute(of).fetchall():
        items = database.execute(
            "SELECT message.id FROM scope JOIN conversation USING (chat, space, channel) "
            "JOIN message ON message.conversation_id = conversation.id WHERE scope.id = ? "
            "ORDER BY message.id",
            (scope,),
        ).fetchall()
        made = synthetic(np.random.default_rng([5, scope]), centres, len(items))
        halves = made.astype("<f2")
        with database:
            database.execute("BEGIN IMMEDIATE")
            database.executemany(
                "INSERT INTO vector (embedder, scope, kind, item, vector) "
                "VALUES (1, ?, 'message', ?, ?)",
                [
                    (scope, item, half.tobytes())
                    for (item,), half in zip(items, halves, strict=True)
                ],
            )
        if scope % 100 == 0:
            _tell(f"vectors of {scope:,} channels")


def synthetic(dice: np.random.Generator, centres: np.ndarray, count: int) -> np.ndarray:
    """Vectors of length 1 around centres, as texts are around topics."""
    around = centres[dice.integers(0, len(centres), count)]
    made = around + dice.standard_normal((count, centres.shape[1]), dtype=np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def _tell(text: str) -> None:
    print(f"\r{text}      ", end="", file=sys.stderr, flush=True)
