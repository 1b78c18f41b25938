"""Streams that no CLI should write, made from those that the real ones did.

``python -m tests.unit.fuzz [--seconds N] [--seed N]`` goes on for so long with every engine's
parser and prints the seed of what breaks one; ``test_engine_fuzz.py`` runs a fixed share of it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

from core.model import (
    PERMISSIONS,
    EngineConfig,
    EngineEvent,
    EngineRequest,
    EngineTask,
    Exit,
    Outcome,
    OutcomeKind,
    Verdict,
)
from core.ports import Reader
from core.streams import JsonLines
from core.streams.reader import TOO_LONG

FOLDER = Path(__file__).parents[1] / "fixtures" / "transcripts"
ENGINES = tuple(sorted(path.name for path in FOLDER.iterdir() if path.is_dir()))
LINE_CAP = 20_000
KINDS = get_args(OutcomeKind)

# What stands where something else is expected.
WRONG: tuple[Any, ...] = (
    None, True, False, 0, -1, 10**18, 10**400, 1.5, float("inf"), float("-inf"), float("nan"), "",
    " ", "x", "0", "\0", "\ud83d", "한글", "{", "}", "null", "-----", [], [[]], [None],
    [1, "x", {}], {}, {"": ""}, {"type": "x"}, {"type": {"type": "text"}}, {"text": ["x"]},
    [{"type": "text"}],
)  # fmt: skip


@cache
def lines_of(engine: str) -> tuple[dict[str, Any], ...]:
    """Every event shape in the recordings, once: same keys and same kinds, wherever they stood."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((FOLDER / engine).glob("*.stdout")):
        lines = JsonLines()
        for obj in (*lines.feed(path.read_bytes()), *lines.end()):
            found.setdefault(json.dumps(shape(obj)), obj)
    return tuple(found.values())


def shape(value: Any, depth: int = 0) -> Any:
    """What sort of value this is; the names that events go by count, other texts do not."""
    if isinstance(value, dict):
        named = {k: v for k, v in value.items() if k in ("type", "subtype", "method", "status")}
        keys = {k: shape(v, depth + 1) for k, v in value.items()} if depth < 3 else {}
        return {**keys, **{k: v for k, v in named.items() if isinstance(v, str)}}
    if isinstance(value, list):
        return [shape(value[0], depth + 1)] if value else []
    return type(value).__name__


@cache
def keys_of(engine: str) -> tuple[str, ...]:
    """Every key that occurs in the engine's events."""
    found: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            found.update(value)
            value = list(value.values())
        for part in value if isinstance(value, list) else ():
            walk(part)

    walk(list(lines_of(engine)))
    return tuple(sorted(found))


def paths(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every part of a value stands."""
    if above:
        yield above
    parts = value.items() if isinstance(value, dict) else ()
    for key, part in enumerate(value) if isinstance(value, list) else parts:
        yield from paths(part, (*above, key))


def replaced(value: Any, path: Sequence[Any], new: Any) -> Any:
    """``value`` with the part at ``path`` replaced, or without it where ``new`` is a tuple."""
    copy = value.copy()
    if len(path) > 1:
        copy[path[0]] = replaced(value[path[0]], path[1:], new)
    elif new == ():
        del copy[path[0]]
    else:
        copy[path[0]] = new
    return copy


def kind_of(line: dict[str, Any]) -> str:
    """What sort of event a line is, by all the names that events go by."""
    names = {k: v for k, v in line.items() if k in ("type", "subtype", "method", "error", "done")}
    inner = [line.get(k) for k in ("event", "item", "part", "params", "update", "request")]
    kinds = [part.get("type", part.get("subtype")) for part in inner if isinstance(part, dict)]
    return json.dumps([shape(names), kinds])


def reader_of(engine: str, rng: random.Random | None = None, line_cap: int = LINE_CAP) -> Reader:
    """A fresh parser, with a low cap on lines."""
    rng = rng or random.Random(0)
    task = EngineTask(
        "r", "context", "prompt", "/w", "/s", permission=rng.choice(PERMISSIONS),
        resume=rng.choice(("", "earlier")), asks=rng.random() < 0.7,
    )  # fmt: skip
    reader = import_module(f"core.engines.{engine}").ENGINE(EngineConfig()).reader(task)
    reader._lines = JsonLines(line_cap, TOO_LONG)
    return reader


def check(event: EngineEvent) -> None:
    """An event is of the types it says, and what it says can be shown and stored."""
    for text in (event.text, event.name, event.id):
        assert isinstance(text, str)
        text.encode()
    assert isinstance(event.ok, bool)
    if event.request is not None:
        asked = event.request
        assert isinstance(asked, EngineRequest)
        texts = [asked.id, asked.tool, asked.about, asked.detail, asked.scope, asked.scope_label]
        for question in asked.questions:
            texts += [
                question.text,
                question.header,
                *(t for pair in question.options for t in pair),
            ]
        for text in texts:
            assert isinstance(text, str)
            text.encode()


def check_outcome(outcome: Outcome) -> None:
    """The same of an outcome."""
    assert outcome.kind in KINDS
    for text in (outcome.text, outcome.detail, outcome.session, outcome.reset_at, outcome.fix):
        assert isinstance(text, str)
        text.encode()
    used = outcome.usage
    for count in (used.input_tokens, used.output_tokens, used.cached_tokens):
        assert isinstance(count, int)


class Made:
    """One stream and one ending, from a seed."""

    def __init__(self, engine: str, seed: int) -> None:
        self.engine = engine
        self.rng = random.Random(f"{engine} {seed}")
        pieces = [self._piece() for _ in range(self.rng.randint(1, 25))]
        self.data = b"".join(pieces)
        self.end = Exit(
            code=self.rng.choice((0, 0, 1, 2, 53, 126, 127, 143, 145, 173, -2, -9, -11, None)),
            status=None,
            stderr=self.rng.choice(("", "statusCode 429", "boom\n  at x", "Not logged in", "\0{")),
            why=self.rng.choice(("", "", "", "cancelled", "stalled", "timeout")),
            detail="no output for 60 s",
        )

    def cuts(self) -> list[bytes]:
        """The stream in pieces of any size, empty ones included."""
        edges = sorted(self.rng.randint(0, len(self.data)) for _ in range(self.rng.randint(0, 30)))
        ends = [0, *edges, len(self.data)]
        return [self.data[a:b] for a, b in pairwise(ends)]

    def _piece(self) -> bytes:
        chance = self.rng.random()
        lines = lines_of(self.engine)
        if chance < 0.6:
            obj = self.rng.choice(lines)
            for _ in range(self.rng.choice((0, 0, 1, 1, 2, 5))):
                obj = self._mutated(obj)
            text = json.dumps(obj, ensure_ascii=self.rng.random() < 0.5)
        elif chance < 0.75:
            text = json.dumps(self._anything(4))
        elif chance < 0.8:
            text = json.dumps(self.rng.choice(lines_of(self.rng.choice(ENGINES))))
        elif chance < 0.83:
            text = json.dumps({**self.rng.choice(lines), "more": "x" * LINE_CAP})
        else:
            text = self.rng.choice(("", "warning: slow", "[info] {x}", "{", "\ufeff", "null", "[]"))
        data = text.encode("utf-8", "surrogatepass")
        how = self.rng.random()
        if how < 0.1:
            data = data[: self.rng.randint(0, len(data))]
        elif how < 0.15:
            data = b"\x1b[32m" + data + b"\x1b[0m"
        elif how < 0.2:
            at = self.rng.randint(0, len(data))
            data = data[:at] + self.rng.randbytes(3) + data[at:]
        return data + self.rng.choice((b"\n", b"\n", b"\n", b"\r\n", b"", b" ", b"\n\n"))

    def _mutated(self, obj: Any) -> Any:
        where = list(paths(obj))
        if not where:
            return obj
        return replaced(obj, self.rng.choice(where), self.rng.choice((self._anything(2), ())))

    def _anything(self, depth: int) -> Any:
        chance = self.rng.random()
        if depth and chance < 0.35:
            keys = self.rng.choices(keys_of(self.engine), k=self.rng.randint(0, 6))
            return {key: self._anything(depth - 1) for key in keys}
        if depth and chance < 0.45:
            return [self._anything(depth - 1) for _ in range(self.rng.randint(0, 3))]
        return self.rng.choice(WRONG)


def play(engine: str, seed: int) -> None:
    """Talk to a parser as the supervisor does; then again, in one piece.

    Raises:
        Exception: it broke, or said something else when the same came in other pieces.
    """
    made = Made(engine, seed)
    reader = reader_of(engine, random.Random(seed))
    assert isinstance(reader.to_send(), bytes)
    for piece in made.cuts():
        for event in reader.receive(piece):
            check(event)
            if event.request is not None and made.rng.random() < 0.7:
                choice = made.rng.choice(("once", "session", "deny", "answer"))
                answers = made.rng.choice(((), (("x",),), (("한글", ""), (), ("\ud83d",))))
                reader.decide(Verdict(event.request.id, choice, answers, note="\ud83d"))
        assert isinstance(reader.to_send(), bytes)
        assert isinstance(reader.settled(), bool)
    reader.decide(Verdict("never asked", "once"))
    check_outcome(reader.finish(made.end))
    assert told(made, made.cuts()) == told(made, [made.data])


def told(made: Made, pieces: Sequence[bytes]) -> tuple[list[EngineEvent], Outcome]:
    """What a parser that nobody answers makes of a stream in these pieces."""
    reader = reader_of(made.engine)
    events = [event for piece in pieces for event in reader.receive(piece)]
    return events, reader.finish(made.end)


def main(arguments: Sequence[str] | None = None, say: Callable[[str], object] = print) -> int:
    """Play until the time is over; 1 when something broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))
    args = parser.parse_args(arguments)
    until, seed = time.monotonic() + args.seconds, args.seed
    while time.monotonic() < until:
        for engine in ENGINES:
            try:
                play(engine, seed)
            except Exception as error:
                say(f"{engine}, seed {seed}: {error!r}")
                raise
        seed += 1
    say(f"{seed - args.seed} streams to each of {', '.join(ENGINES)}: nothing broke")
    return 0


if __name__ == "__main__":
    sys.exit(main())
