"""What a roundtable sends, four ways: full or delta, push or hybrid; and that nobody knows less.

``python -m benchmarks.context [--json] [--mode MODE] [--starts A,B] [--no-rows]``: the given
discussion in a real Moot (see ``benchmarks.discussion``): three participants, two rounds, on Claude
Code, Codex and OpenCode. Counted is what each engine is handed over, and what its Pulls bring.

What is measured, and what is assumed, stands in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import structlog

from benchmarks.director import ROUNDS, SEATS, Director, Measured, Seat
from benchmarks.discussion import Setup, playing
from benchmarks.knowledge import Fact, facts_of
from benchmarks.players import Theatre
from core.records.prepared import meta_of
from core.records.tables import MessageRow

USUAL_ESTIMATE = 90_000
GOAL_RATIO, GOAL_PREFIX = 0.35, 0.90
WAYS = {
    "full_push": Setup("push", sessions=False),
    "full_hybrid": Setup("hybrid", sessions=False),
    "delta_push": Setup("push", sessions=True),
    "delta_hybrid": Setup("hybrid", sessions=True),
}
STARTS = {
    "as_it_happened": "each earlier answer was a call in its agent's session",
    "all_at_the_end": "the same, but plan, findings, decisions and artifacts came just before",
    "cold": "nobody has a session",
}


async def run(
    start: str,
    setup: Setup,
    *,
    mode: str,
    whole: Sequence[tuple[Fact, ...]] = (),
    pulls: int | None = 0,
) -> Measured:
    """Play the thread up to the roundtable, then the roundtable, and keep what was sent."""
    director = Director(setup, whole, pulls)
    with stage() as folder, home(folder):
        async with (
            Theatre(director.script) as theatre,
            playing(folder, setup, theatre) as play,
        ):
            director.play = play
            await play.history(sessions=start != "cold", late=start == "all_at_the_end")
            director.measuring = True
            await play.do(_trace, director.statements.append)
            try:
                await play.roundtable(ROUNDS, mode=mode)
            finally:
                director.over.set()
            await play.do(_trace, None)
    if len(director.seats) != SEATS * ROUNDS:
        raise RuntimeError(f"{len(director.seats)} calls instead of {SEATS * ROUNDS}")
    return Measured(director.seats, director.loads)


@contextmanager
def stage() -> Iterator[Path]:
    """An empty folder, of the same name for all runs of this process: its path is in the packs."""
    folder = Path(tempfile.gettempdir()) / f"moot-context-{os.getpid():07}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def home(folder: Path) -> Iterator[None]:
    """A home of its own: the skills and settings of whoever measures are nobody's here."""
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["HOME"]
        else:
            os.environ["HOME"] = before


def _trace(callback: Any) -> None:
    meta_of(MessageRow).database.connection().set_trace_callback(callback)


def shared_prefix(seats: Sequence[Seat]) -> float:
    """What the packs of a round have in common from their first character, as a share of them.

    Of all characters of the packs, those that lie in a prefix common to everybody of the round.
    """
    common = total = 0
    for begin in range(0, len(seats), SEATS):
        contexts = [seat.calls[0].context for seat in seats[begin : begin + SEATS]]
        columns = zip(*contexts, strict=False)
        alike = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
        common += alike * len(contexts)
        total += sum(map(len, contexts))
    return round(common / total, 4)


async def measure(start: str, mode: str) -> dict[str, Any]:
    """The four ways from one start, on the same six calls."""
    whole_pack = await run(start, WAYS["full_push"], mode=mode)
    whole = [facts_of(seat.calls[0].context) for seat in whole_pack.seats]
    ways = {}
    for name, setup in WAYS.items():
        pulls = None if setup.delivery == "hybrid" else 0
        ways[name] = await run(start, setup, mode=mode, whole=whole, pulls=pulls)
    assert ways["full_push"].chars == whole_pack.chars, "the same input gives the same packs"
    result: dict[str, Any] = {f"{name}_chars": way.chars for name, way in ways.items()}
    result |= {f"{name}_tokens": way.tokens for name, way in ways.items()}
    result["delta_hybrid_ratio"] = round(ways["delta_hybrid"].chars / whole_pack.chars, 4)
    result["shared_prefix"] = shared_prefix(whole_pack.seats)
    result["facts"] = sum(map(len, whole))
    result["facts_missing"] = sum(way.missing for way in ways.values())
    result["loads_per_round"] = max(max(way.loads) for way in ways.values())
    result["calls"] = {name: [_row(seat) for seat in way.seats] for name, way in ways.items()}
    result["pulls"] = {name: way.pulls for name, way in ways.items()}
    result["missing"] = {
        name: [
            f"{fact.section}: {fact.lines[0][:80]}" for seat in way.seats for fact in seat.missing
        ]
        for name, way in ways.items()
        if way.missing
    }
    return result


def _row(seat: Seat) -> dict[str, Any]:
    return {
        "engine": seat.calls[0].engine,
        "chars": seat.chars,
        "tokens": seat.tokens,
        "pulls": seat.pulls,
        "runs": len(seat.calls),
        "queries": seat.queries,
        "missing": len(seat.missing),
    }


async def rows_of_pulls(start: str, mode: str) -> list[dict[str, Any]]:
    """What 0, 1 and 2 Pulls of each participant cost, by the way they are made."""
    delta_push = await run(start, WAYS["delta_push"], mode=mode)
    full_push = {  # the tool for Pulls in the run is told of where there is one
        in_run: await run(start, replace(WAYS["full_push"], in_run=in_run), mode=mode)
        for in_run in (False, True)
    }
    whole = {
        in_run: [facts_of(seat.calls[0].context) for seat in way.seats]
        for in_run, way in full_push.items()
    }
    rows = []
    for kind, sessions, forgetful, in_run in (
        ("a new process, everything again", False, True, False),
        ("a follow-up in the session", True, False, False),
        ("in the run, no session", False, True, True),
        ("in the run, in the session", True, False, True),
    ):
        setup = Setup("hybrid", sessions=sessions, forgetful=forgetful, in_run=in_run)
        push = delta_push.chars if sessions else full_push[in_run].chars
        for count in range(3):
            way = await run(start, setup, mode=mode, whole=whole[in_run], pulls=count)
            rows.append(
                {
                    "by": kind,
                    "sessions": sessions,
                    "in_run": in_run,
                    "pulls_each": count,
                    "runs": sum(len(seat.calls) for seat in way.seats),
                    "chars": way.chars,
                    "push_chars": push,
                    "pays": way.chars < push,
                    "missing": way.missing,
                }
            )
    return rows


async def everything(mode: str, names: Sequence[str], *, rows: bool) -> dict[str, Any]:
    """These starts, and the rows of Pulls from the first."""
    starts = {start: await measure(start, mode) for start in names}
    result = dict(starts[names[0]])
    result["starts"] = {
        start: {key: value for key, value in found.items() if key != "calls"}
        for start, found in starts.items()
    }
    result["rows_of_pulls"] = await rows_of_pulls(names[0], mode) if rows else []
    result["usual_estimate_chars"] = USUAL_ESTIMATE
    result["goal_ratio"], result["goal_prefix"] = GOAL_RATIO, GOAL_PREFIX
    result["goal_met"] = (
        result["delta_hybrid_ratio"] <= GOAL_RATIO
        and not result["facts_missing"]
        and result["shared_prefix"] >= GOAL_PREFIX
    )
    return result


def table(result: dict[str, Any]) -> str:
    """The figures for a person."""
    lines = []
    for start, found in result["starts"].items():
        lines.append(f"{start.replace('_', ' ')}: {STARTS[start]}")
        lines.append(f"  {'':14}{'characters':>12}{'tokens':>9}{'of full/push':>14}{'Pulls':>7}")
        for name in WAYS:
            chars, tokens = found[f"{name}_chars"], found[f"{name}_tokens"]
            share = chars / found["full_push_chars"]
            pulls = found["pulls"][name]
            label = name.replace("_", "/")
            lines.append(f"  {label:14}{chars:12,}{tokens:9,}{share:14.1%}{pulls:7}")
        lines.append(
            f"  facts {found['facts']:,}, missing {found['facts_missing']}; shared prefix "
            f"{found['shared_prefix']:.1%}; loads a round {found['loads_per_round']}"
        )
        for way, missing in found["missing"].items():
            lines += [f"    {way} misses {what}" for what in missing[:5]]
    lines.append("per call, from the first of these starts (characters, +Pulls)")
    for name in WAYS:
        told = "  ".join(
            f"{call['chars']:>7,}{'+' + str(call['pulls']) if call['pulls'] else '':<3}"
            for call in result["calls"][name]
        )
        lines.append(f"  {name.replace('_', '/'):14}{told}")
    told = ", ".join(str(call["queries"]) for call in result["calls"]["delta_hybrid"])
    lines.append(f"  SQL queries that read what a call is told, delta/hybrid: {told}")
    if result["rows_of_pulls"]:
        lines.append("0, 1 and 2 Pulls by each participant in its first call, from the same start")
    for row in result["rows_of_pulls"]:
        pays = "pays" if row["pays"] else "does NOT pay"
        lines.append(
            f"  {row['by']:33}{row['pulls_each']} each: {row['runs']:>2} runs {row['chars']:>8,} "
            f"against push {row['push_chars']:>8,}: {pays}; {row['missing']} facts not known"
        )
    lines.append(f"the usual estimate for 3 x 2: {USUAL_ESTIMATE:,} characters")
    met = "met" if result["goal_met"] else "NOT met"
    ratio = result["delta_hybrid_chars"] / result["full_push_chars"]
    lines.append(f"delta/hybrid: {ratio:.1%} of full/push (goal {GOAL_RATIO:.0%}), goals {met}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    parser.add_argument("--mode", default="", help="standard | full (default: as Moot chooses)")
    parser.add_argument("--starts", default=",".join(STARTS), help="which; the first one counts")
    parser.add_argument("--no-rows", action="store_true", help="without the rows of Pulls")
    args = parser.parse_args(argv)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    result = asyncio.run(everything(args.mode, args.starts.split(","), rows=not args.no_rows))
    print(table(result))
    if args.json:
        print(json.dumps(result, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
