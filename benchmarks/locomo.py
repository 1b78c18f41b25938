"""Conversations with questions and evidence in LoCoMo's shape; other ways to search; figures."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.keywords import STOP_WORDS
from core.model import Statement, Topic

DEEP = 200  # as many places as are looked at
FIRST = ("r5", "r10", "r20")
LINE = 24  # characters of a line beside speaker and text: its date and number


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the data."""

    session: int
    speaker: str
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Question:
    """One question; ``evidence`` are places among the turns of its conversation."""

    text: str
    evidence: frozenset[int]
    category: int


@dataclass(slots=True)
class Talk:
    """One conversation of the data; ``ids`` are the records' ids of its turns."""

    name: str
    turns: list[Turn]
    questions: list[Question]
    ids: list[int] = field(default_factory=list)
    written: dict[int, tuple[Topic, Topic]] = field(default_factory=dict)
    """By session: what a model wrote, as a topic of statements and as a summary. Places for ids."""


def load(path: Path, limit: int = 0) -> list[Talk]:
    """The conversations of a file; ``limit``: only the first questions of each (0 = all)."""
    talks: list[Talk] = []
    for sample in json.loads(path.read_text("utf-8")):
        said = sample["conversation"]
        turns: list[Turn] = []
        places: dict[str, int] = {}
        for number in range(1, 100):
            for place, turn in enumerate(said.get(f"session_{number}") or ()):
                at = _when(said[f"session_{number}_date_time"]) + place
                shown = turn.get("blip_caption")
                text = turn["text"] + (f" [shares {shown}]" if shown else "")
                places[turn["dia_id"]] = len(turns)
                turns.append(Turn(number, turn["speaker"], text, at))
        asked = [
            Question(one["question"], evidence, one["category"])
            for one in sample["qa"]
            if one["category"] in (1, 2, 3, 4) and (evidence := evidence_of(one, places))
        ]
        talk = Talk(sample["sample_id"], turns, asked[: limit or None])
        talk.written = _written(sample, turns, places)
        talks.append(talk)
    return talks


def _written(
    sample: Mapping[str, Any], turns: Sequence[Turn], places: Mapping[str, int]
) -> dict[int, tuple[Topic, Topic]]:
    """LoCoMo's own observations and summaries of sessions, which a model wrote."""
    found: dict[int, tuple[Topic, Topic]] = {}
    for session in dict.fromkeys(turn.session for turn in turns):
        told = sample.get("observation", {}).get(f"session_{session}_observation")
        summary = sample.get("session_summary", {}).get(f"session_{session}_summary")
        if not told or not summary:
            continue
        stated = [
            Statement(text, "said", tuple(sorted(_places(given, places))), who)
            for who, of in told.items()
            for text, given in of
            if _places(given, places)
        ]
        every = tuple(place for place, turn in enumerate(turns) if turn.session == session)
        found[session] = (
            Topic(f"Statements {session}", tuple(stated), "model"),
            Topic(f"Session {session}", (Statement(summary, "said", every, ""),), "model"),
        )
    return found


def evidence_of(one: Mapping[str, object], places: Mapping[str, int]) -> frozenset[int]:
    """Where a question's evidence is, of ids such as "D8:6; D9:17" and "D:11:26" as well."""
    return _places(one.get("evidence"), places)


def _places(given: object, places: Mapping[str, int]) -> frozenset[int]:
    text = " ".join(given) if isinstance(given, list) else str(given)
    ids = re.findall(r"D:?(\d+):(\d+)", text)
    names = (f"D{int(session)}:{int(turn)}" for session, turn in ids)
    return frozenset(places[name] for name in names if name in places)


def _when(said: str) -> float:
    """UTC seconds of a time like "1:56 pm on 8 May, 2023"."""
    flat = " ".join(said.upper().replace(" ON ", " ").split())
    return datetime.strptime(flat, "%I:%M %p %d %B, %Y").replace(tzinfo=UTC).timestamp()


# --- what it is compared with --------------------------------------------------------------


class Stems:
    """Words as the Porter stemmer of SQLite leaves them, without what says nothing."""

    def __init__(self) -> None:
        self.database = sqlite3.connect(":memory:")
        self.database.execute(_TABLE)
        self.database.execute("CREATE VIRTUAL TABLE v USING fts5vocab(f, instance)")

    def of(self, texts: Sequence[str]) -> list[list[str]]:
        """The stems of each text, in its order."""
        self.database.execute("DELETE FROM f")
        rows = enumerate((" ".join(words(text)) for text in texts), 1)
        self.database.executemany("INSERT INTO f(rowid, t) VALUES (?, ?)", rows)
        found: list[list[str]] = [[] for _ in texts]
        for term, row in self.database.execute("SELECT term, doc FROM v ORDER BY doc, offset"):
            found[row - 1].append(term)
        return found


_TABLE = "CREATE VIRTUAL TABLE f USING fts5(t, tokenize='porter unicode61 remove_diacritics 2')"


def words(text: str) -> list[str]:
    """The words of a text, without stop words (the product's list) unless there is nothing else."""
    every = re.findall(r"\w+", text.lower())
    return [word for word in every if word not in STOP_WORDS] or every


class Bm25:
    """BM25 (k1 1.2, b 0.75) over stemmed texts without stop words: those of one conversation."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.stems = Stems()
        self.counts = [Counter(stems) for stems in self.stems.of(texts)]
        self.sizes = [sum(count.values()) for count in self.counts]
        self.mean = statistics.fmean(self.sizes)
        self.uses = Counter(word for count in self.counts for word in count)

    def order(self, question: str) -> list[int]:
        """Places of texts, the best first."""
        scores = [0.0] * len(self.counts)
        for word in set(self.stems.of([question])[0]) & self.uses.keys():
            rare = math.log(1 + (len(scores) - self.uses[word] + 0.5) / (self.uses[word] + 0.5))
            for place, (count, size) in enumerate(zip(self.counts, self.sizes, strict=True)):
                if used := count[word]:
                    scores[place] += (
                        rare * used * 2.2 / (used + 1.2 * (0.25 + 0.75 * size / self.mean))
                    )
        found = [place for place, score in enumerate(scores) if score > 0]
        return sorted(found, key=lambda place: -scores[place])[:DEEP]


class Fts5:
    """SQLite's full-text search with its stemmer, the words joined by OR, no stop words asked."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.database = sqlite3.connect(":memory:")
        self.database.execute(_TABLE)
        self.database.executemany("INSERT INTO f(rowid, t) VALUES (?, ?)", enumerate(texts, 1))

    def order(self, question: str) -> list[int]:
        """As above."""
        any_of = " OR ".join(f'"{word}"' for word in dict.fromkeys(words(question)))
        if not any_of:
            return []
        sql = "SELECT rowid - 1 FROM f WHERE f MATCH ? ORDER BY rank LIMIT ?"
        return [place for (place,) in self.database.execute(sql, (any_of, DEEP))]


def fused(*orders: Sequence[int]) -> list[int]:
    """Reciprocal rank fusion of several orders (k 60)."""
    scores: Counter[int] = Counter()
    for order in orders:
        for place, one in enumerate(order, 1):
            scores[one] += 1 / (60 + place)  # pyright: ignore[reportArgumentType]
    return sorted(scores, key=lambda one: (-scores[one], one))


# --- figures -------------------------------------------------------------------------------------


def figures(order: Sequence[int], question: Question, turns: Sequence[Turn]) -> dict[str, float]:
    """How well one order of turns answers one question."""
    wanted = question.evidence
    hits = [place in wanted for place in order[:DEEP]]
    found = {name: sum(hits[: int(name[1:])]) / len(wanted) for name in FIRST}
    gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits[:10]) if hit)
    best = sum(1 / math.log2(place + 2) for place in range(min(10, len(wanted))))
    found["ndcg10"] = gain / best
    for name, room in (("r2k", 2_000), ("r5k", 5_000)):
        used = got = 0
        for place, hit in zip(order, hits, strict=False):
            used += len(turns[place].text) + len(turns[place].speaker) + LINE
            if used > room:
                break
            got += hit
        found[name] = got / len(wanted)
    return found
