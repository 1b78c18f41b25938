"""Deleted in chat, or forgotten by its button: told to nobody, and in no file 5 s later."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.stages import Stage
from tests.e2e.test_requests import both, playing

pytestmark = pytest.mark.peers

WORD = "zebrafish"
SAID = f"@@rehearse text=Noted.@@ the {WORD} keeps the invoices of our customers"
MEANT = "where do the bills of clients get stored?"  # no word of it
SETTINGS = {
    "context": {"delivery": "push", "mode": "full"},
    "memory": {"embedder": "auto", "chroma": "folder"},
}
WITHIN_S = 5.0


def one(moot_folder: Path, query: str) -> Any:
    path = f"file:{moot_folder}/data/moot.sqlite?mode=ro"
    with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
        return database.execute(query).fetchone()[0]


def held(stage: Stage) -> list[str]:
    """The files of Moot's folder that hold the word."""
    folder = stage.moot.folder / "data"
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and WORD.encode() in path.read_bytes()
    ]


async def until(holds: Callable[[], Any] | Callable[[], Awaitable[Any]], within_s: float) -> None:
    async with asyncio.timeout(within_s):
        while not holds():
            await asyncio.sleep(0.05)


async def told(stage: Stage, name: str) -> tuple[str, str]:
    """Ask by meaning in a new thread: the thread, and all that the agent was told."""
    place = await stage.ask(f"@@rehearse show=context@@ {MEANT} {name}?")
    await stage.post(place, f"{name}?", 40)

    async def all_of_it() -> str:
        posts = await stage.posts(place)
        return "" if any("⏳" in post for post in posts) else "\n".join(posts)

    async with asyncio.timeout(30):
        while not (text := await all_of_it()):
            await asyncio.sleep(0.05)
    return place, text


@both
async def test_what_was_deleted_or_forgotten_is_told_to_nobody_and_in_no_file(
    platform: str, tmp_path: Path
) -> None:
    async with playing(platform, tmp_path, SETTINGS) as stage:
        said = await stage.ask(SAID)
        await stage.post(said, "Noted.")
        folder = stage.moot.folder
        await until(lambda: one(folder, "SELECT count(*) FROM vector"), 40)
        quoting, text = await told(stage, "first")
        assert WORD in text  # found by its meaning

        await stage.delete(said)
        await stage.moot.event("event.accepted", kind="delete")
        # The answer that quotes it is a message of its own: its thread is forgotten, too.
        await stage.say(quoting, "!forget thread", "guest")
        await stage.post(quoting, "whoever began it")
        await stage.say(quoting, "!forget thread")
        asks = await stage.post(quoting, "would be erased")
        assert "delete them there, too" in asks.text
        [label] = stage.labels(asks)
        assert label.startswith("Erase ")
        assert label.endswith(" messages")
        receipt = await stage.click(asks, label)
        assert "erased from Moot" in receipt
        await until(lambda: not held(stage), WITHIN_S)

        _, text = await told(stage, "second")
        assert WORD not in text
        assert held(stage) == []
        names = [word for line in stage.moot.lines for word in line.split() if WORD in word]
        assert names == []  # nor does the log tell it
