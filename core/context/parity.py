"""Whether all participants of a roundtable were told the same: receipts, side by side. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.model import Parity, ParityPart, ParitySeat

OWN = frozenset(("latest", "persona", "files", "role", "update"))
"""Sections that belong to one participant, and differ by their nature."""


def parity(runs: Sequence[Mapping[str, Any]]) -> tuple[Parity, ...]:
    """One ``Parity`` a round, from the runs of a roundtable as ``runs.describe`` gives them.

    Compared is what each participant *knows* when it answers: a delta's sections have the hash of
    the whole section. The last attempt of a seat's first hop counts; follow-ups bring what was
    asked for, and are not compared.
    """
    firsts: dict[tuple[int, int], Mapping[str, Any]] = {}
    for run in sorted(runs, key=lambda r: r.get("attempt", 1)):
        if run["hop"] == 0 and run.get("sections"):
            firsts[run["round"], run["seat"]] = run
    rounds = sorted({round_ for round_, _ in firsts})
    table = {seat for round_, seat in firsts if round_ == min(rounds)}
    return tuple(
        replace(
            _round(number, [firsts[key] for key in sorted(firsts) if key[0] == number]),
            synthesis=not table & {seat for round_, seat in firsts if round_ == number},
        )
        for number in rounds
    )


def _round(number: int, runs: Sequence[Mapping[str, Any]]) -> Parity:
    seats = tuple(_seat(run) for run in runs)
    names = dict.fromkeys(s["name"] for run in runs for s in run["sections"])
    shared = [part for name in names if name not in OWN for part in _parts(name, runs)]
    own = {name: _parts(name, runs) for name in names if name in OWN - {"update"}}
    return Parity(
        round=number,
        seats=seats,
        shared=tuple(shared),
        own=tuple(part for parts in own.values() for part in parts),
        differed=tuple(
            name for name in names
            if name not in OWN and len(_parts(name, runs)) > 1
        ),
        reasons=_reasons(runs),
    )  # fmt: skip


def _seat(run: Mapping[str, Any]) -> ParitySeat:
    sections = run["sections"]
    return ParitySeat(
        name=f"{run['persona']} ({run['engine']})" if run["persona"] else run["engine"],
        run=run["run"],
        variant=run.get("variant", "hosted"),
        mode=run["mode"],
        budget=run["budget"],
        chars=run["chars"],
        known=sum(section.get("known", 0) for section in sections),
        delta=bool(run.get("delta")),
    )


def _parts(name: str, runs: Sequence[Mapping[str, Any]]) -> list[ParityPart]:
    """A section as it was for whom: one part for each text there was of it (or none: size 0)."""
    texts: dict[tuple[int, str], list[int]] = {}
    for number, run in enumerate(runs):
        found = next((s for s in run["sections"] if s["name"] == name), None)
        key = (_whole(found), found["hash"]) if found else (0, "")
        same = next((k for k in texts if k[1] == key[1]), key)
        texts.setdefault(same, []).append(number)
    return [ParityPart(name, size, hash_, tuple(who)) for (size, hash_), who in texts.items()]


def _whole(section: Mapping[str, Any]) -> int:
    """The size of the whole section, told now or before."""
    return section["used"] + section.get("known", 0)


def _reasons(runs: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What may make packs differ: words for each of variant, mode, delivery and budget."""
    said: list[str] = []
    for key, word in (
        ("variant", "variant"), ("mode", "mode"), ("delivery", "delivery"), ("budget", "budget"),
    ):  # fmt: skip
        values = {run.get(key) for run in runs}
        if len(values) > 1:
            said.append(word)
    return tuple(said)
