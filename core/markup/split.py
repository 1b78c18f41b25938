"""Cutting rendered text into messages. Pure; time grows linearly with the text.

A renderer gives a sequence of atoms: platform texts that stay whole, each knowing what separates it
from the one before, how welcome a cut before it is, and the wraps it lies in (bold, a fence). The
splitter fills one message after another, closes the open wraps at a cut and opens them again after
it. All that counts is what is really sent, in the platform's own unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import regex

from core.errors import BadSettings
from core.markup.measure import Unit

SMALLEST_LIMIT = 64
# A cut at a better place is taken when this share of the message is filled by then.
_GOOD_SHARE = 0.5
_POOR_SHARE = 0.125
_CHUNK = 16
# What an overlong atom may be cut into: escaped characters and graphemes stay whole.
_CHARACTER = regex.compile(r"&(?:amp|lt|gt);|\\[^\w\s]|\X")
_SPACED = regex.compile(r"\S+\s*|\s+")


class Cut(IntEnum):
    """How welcome a cut before an atom is."""

    NEVER = 0  # only when nothing else is left
    HARD = 1  # between two graphemes of an unbreakable run
    INNER = 2  # at a space in code, or between a heading and its text
    SPACE = 3
    LINE = 4
    BLOCK = 5


class Wrap:
    """What surrounds atoms and must be closed and reopened around a cut. Compared by identity.

    ``again`` opens it in later messages (a fence may lose its language there).
    """

    __slots__ = ("again", "close", "open")

    def __init__(self, open_: str, close: str, again: str | None = None) -> None:
        self.open = open_
        self.close = close
        self.again = open_ if again is None else again


class Atom(NamedTuple):
    """A piece of platform text that no cut divides.

    Attributes:
        text: escaped, ready to send.
        lead: what separates it from the atom before, outside the wraps that differ.
        start: what stands in place of ``lead`` when the atom begins a message (a quote's mark).
        cut: how welcome a cut before it is.
        wraps: outermost first.
        spare: what to send in hard-cut pieces when ``text`` alone is over the limit ("" = itself).
    """

    text: str
    lead: str = ""
    start: str = ""
    cut: Cut = Cut.SPACE
    wraps: tuple[Wrap, ...] = ()
    spare: str = ""


@dataclass(frozen=True, slots=True)
class Limit:
    """The most a message may hold.

    Raises:
        BadSettings: ``size`` is too small to write anything in.
    """

    size: int
    unit: Unit

    def __post_init__(self) -> None:
        if self.size < SMALLEST_LIMIT:
            raise BadSettings(
                f"A message limit of {self.size} {self.unit.value} is too small to write in; "
                f"use {SMALLEST_LIMIT} or more."
            )


def split(atoms: Iterable[Atom], limit: Limit) -> list[str]:
    """The messages, in order, none over ``limit``; nothing of the atoms' text is lost.

    White space at a cut is dropped, for the cut itself separates. Progress is certain: what cannot
    be kept whole within the limit is cut between graphemes.
    """
    flow = [part for atom in atoms for part in _fitting(atom, limit)]
    messages: list[str] = []
    at, before = 0, None
    while at < len(flow):
        end = _fill(flow, at, before, limit)
        messages.append(_join(flow[at:end], before))
        at, before = end, flow[end - 1]
    return messages


def _fill(flow: Sequence[Atom], at: int, before: Atom | None, limit: Limit) -> int:
    """The index of the first atom that goes into the next message instead."""
    size = limit.unit.size
    bodies: list[int] = []
    body, last, wraps, closing = 0, before, None, 0
    for index in range(at, len(flow)):
        atom = flow[index]
        if index == at:
            body = size(_opening(atom, before)) + size(atom.text)
        elif last is not None and atom.wraps is last.wraps:
            body += size(atom.lead) + size(atom.text)
        elif last is not None:
            body += size(_between(last, atom)) + size(atom.text)
        if atom.wraps is not wraps:
            wraps, closing = atom.wraps, size(_closing(atom.wraps))
        if body + closing > limit.size and index > at:
            return _best_cut(flow, at, index, bodies, limit.size)
        bodies.append(body)
        last = atom
    return len(flow)


def _best_cut(flow: Sequence[Atom], at: int, end: int, bodies: Sequence[int], size: int) -> int:
    """The latest cut of the most welcome kind that fills enough, at or before ``end``."""
    latest: dict[Cut, int] = {}
    for index in range(end, at, -1):
        share = bodies[index - at - 1] / size
        cut = flow[index].cut
        if share < (_GOOD_SHARE if cut >= Cut.LINE else _POOR_SHARE) and cut >= Cut.INNER:
            if share < _POOR_SHARE:
                break
            cut = Cut.SPACE
        latest.setdefault(cut, index)
        if cut is Cut.BLOCK:
            break
    return latest[max(latest)] if latest else end


def _join(atoms: Sequence[Atom], before: Atom | None) -> str:
    parts = [_opening(atoms[0], before), atoms[0].text]
    for last, atom in zip(atoms, atoms[1:], strict=False):
        parts += (_between(last, atom), atom.text)
    parts.append(_closing(atoms[-1].wraps))
    return "".join(parts)


def _opening(atom: Atom, before: Atom | None) -> str:
    """How a message begins: wraps that were closed at the cut are opened again."""
    known = before.wraps if before is not None else ()
    return atom.start + "".join(w.again if w in known else w.open for w in atom.wraps)


def _between(last: Atom, atom: Atom) -> str:
    if last.wraps is atom.wraps:
        return atom.lead
    shared = 0
    for one, other in zip(last.wraps, atom.wraps, strict=False):
        if one is not other:
            break
        shared += 1
    opened = "".join(wrap.open for wrap in atom.wraps[shared:])
    return _closing(last.wraps[shared:]) + atom.lead + opened


def _closing(wraps: Sequence[Wrap]) -> str:
    return "".join(wrap.close for wrap in reversed(wraps))


def _fitting(atom: Atom, limit: Limit) -> Iterator[Atom]:
    """The atom itself when it fits a message alone, else its spare text in small pieces."""
    size = limit.unit.size
    around = size(atom.start + _closing(atom.wraps)) + sum(
        max(size(wrap.open), size(wrap.again)) for wrap in atom.wraps
    )
    if around + size(atom.text) <= limit.size:
        yield atom
        return
    if around > limit.size // 2:  # no room for its wraps beside anything: plain text then
        atom = atom._replace(wraps=(), start="")
    first = True
    for text, cut in _chunks(atom.spare or atom.text, limit):
        if first:
            yield atom._replace(text=text)
        else:
            yield Atom(text, cut=cut, wraps=atom.wraps)
        first = False


def _chunks(text: str, limit: Limit) -> Iterator[tuple[str, Cut]]:
    """``text`` in pieces of at most a quarter of the limit, with the cut before each."""
    most = max(min(limit.size // 4, 4 * _CHUNK), _CHUNK)
    for word in _SPACED.finditer(text):
        cut = Cut.INNER
        for chunk in _grouped(word.group(), most, limit.unit):
            yield chunk, cut
            cut = Cut.HARD


def _grouped(word: str, most: int, unit: Unit) -> Iterator[str]:
    chunk, filled = "", 0
    for found in _CHARACTER.finditer(word):
        character = found.group()
        size = unit.size(character)
        if chunk and (filled + size > most or len(chunk) >= _CHUNK):
            yield chunk
            chunk, filled = "", 0
        if size > most:  # a letter under a heap of marks: no message could hold it
            step = max(most // 4, 1)
            yield from (character[at : at + step] for at in range(0, len(character), step))
            continue
        chunk, filled = chunk + character, filled + size
    if chunk:
        yield chunk
