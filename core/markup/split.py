"""Cutting rendered text into messages. Pure; time grows linearly with the text.

A renderer gives a sequence of atoms: platform texts that stay whole, each knowing what separates it
from the one before, how welcome a cut before it is, and the wraps it lies in (bold, a fence). The
splitter fills one message after another, closes the open wraps at a cut and opens them again after
it. All that counts is what is really sent, in the platform's own unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby, pairwise
from typing import NamedTuple

import regex

from core.errors import BadSettings
from core.markup.measure import Unit

SMALLEST_LIMIT = 64
# A cut at a better place is taken when this share of the message is filled by then.
_GOOD_SHARE = 0.5
_POOR_SHARE = 0.125
_CHUNK = 16
_LARGEST = 4  # units that a code point takes, at most
# What an overlong atom may be cut into: escaped characters and graphemes stay whole.
_CHARACTER = regex.compile(r"&(?:amp|lt|gt);|\\[^\w\s]|\X")
# One more than a chunk: the last letter of a run may carry a mark.
_ASCII_RUN = regex.compile(rf"[^\\&\s\x80-\U0010ffff]{{{_CHUNK + 1}}}")


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

    __slots__ = ("again", "close", "most", "open")

    def __init__(self, open_: str, close: str, again: str | None = None) -> None:
        self.open = open_
        self.close = close
        self.again = open_ if again is None else again
        self.most = len(self.close) + max(len(self.open), len(self.again))


class Whole:
    """Something larger whose parts are atoms, such as a table. Compared by identity."""

    __slots__ = ("what",)

    def __init__(self, what: object) -> None:
        self.what = what


class Atom(NamedTuple):
    """A piece of platform text that no cut divides, or a phrase of such that need no look yet.

    Attributes:
        text: escaped, ready to send.
        lead: what separates it from the atom before, outside the wraps that differ.
        start: what stands in place of ``lead`` when the atom begins a message (a quote's mark).
        cut: how welcome a cut before it is.
        wraps: outermost first.
        spare: what to send in hard-cut pieces when ``text`` alone is over the limit ("" = itself).
        part: what it is a part of, and the number of the part (a table and its row).
        words: the atoms that a phrase is made of, for when a cut lies in it; None: it is whole.
    """

    text: str
    lead: str = ""
    start: str = ""
    cut: Cut = Cut.SPACE
    wraps: tuple[Wrap, ...] = ()
    spare: str = ""
    part: tuple[Whole, int] | None = None
    words: Callable[[], Iterator[Atom]] | None = None


class Mark(NamedTuple):
    """Where in a message ``what`` (a table) stands, with what wraps it.

    ``parts`` are its parts there, in order; ``torn`` says that one of them is not all there.
    """

    what: object
    parts: tuple[int, ...]
    start: int
    end: int
    torn: bool


class Piece(NamedTuple):
    """A message, and where in it the wholes are that its atoms are parts of."""

    text: str
    marks: tuple[Mark, ...] = ()


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


def split(atoms: Iterable[Atom], limit: Limit, reserved: int = 0) -> list[str]:
    """The messages, in order; nothing of the atoms' text is lost.

    None is over ``limit`` less ``reserved`` (at most half of it), the size of what the caller puts
    before each. White space at a cut is dropped, for the cut itself separates. Progress is certain:
    what cannot be kept whole within the limit is cut between graphemes.
    """
    return [piece.text for piece in pieces(atoms, limit, reserved)]


def pieces(atoms: Iterable[Atom], limit: Limit, reserved: int = 0) -> list[Piece]:
    """As ``split``, each message with what is known of its parts."""
    room, unit = limit.size - reserved, limit.unit
    flow = _fitted(atoms, room, unit)
    counts = Counter(atom.part for atom in flow if atom.part is not None)
    messages: list[Piece] = []
    at, before = 0, None
    while at < len(flow):
        end = _fill(flow, at, before, room, unit, counts)
        here = flow[at:end]
        marked = counts and any(atom.part is not None for atom in here)
        marks = tuple(_marks(here, before, counts)) if marked else ()
        messages.append(Piece(_join(here, before), marks))
        at, before = end, flow[end - 1]
    return messages


def _fill(
    flow: list[Atom],
    at: int,
    before: Atom | None,
    room: int,
    unit: Unit,
    counts: Counter[tuple[Whole, int]],
) -> int:
    """The index of the first atom that goes into the next message instead.

    The phrase that does not fit any more is taken apart, in place.
    """
    size = unit.size
    last = flow[at]
    body = size(_opening(last, before)) + size(last.text)
    closing = size(_closing(last.wraps))
    bodies = [body]
    index = at + 1
    while index < len(flow):
        atom = flow[index]
        grown = body + size(_between(last, atom)) + size(atom.text)
        if atom.wraps is not last.wraps:
            closing = size(_closing(atom.wraps))
        if grown + closing > room:
            if atom.words is None:
                return _best_cut(flow, at, index, bodies, room)
            words = list(_taken_apart(atom))
            flow[index : index + 1] = words
            if atom.part is not None:
                counts[atom.part] += len(words) - 1
            continue
        body = grown
        bodies.append(body)
        last = atom
        index += 1
    return len(flow)


def _taken_apart(atom: Atom) -> Iterator[Atom]:
    """The words of a phrase, the first in its place."""
    words = atom.words() if atom.words is not None else iter((atom,))
    yield atom._replace(text=next(words).text, words=None)
    for word in words:
        yield word if atom.part is None else word._replace(part=atom.part)


def _best_cut(flow: Sequence[Atom], at: int, end: int, bodies: Sequence[int], room: int) -> int:
    """Where to cut, at or before ``end``: the latest of the most welcome places.

    Places that would leave the message less than half full count as spaces, and those that would
    leave it nearly empty do not count.
    """
    latest: dict[Cut, int] = {}
    for index in range(end, at, -1):
        share = bodies[index - at - 1] / room
        if share < _POOR_SHARE:
            break
        cut = flow[index].cut
        latest.setdefault(cut if share >= _GOOD_SHARE else min(cut, Cut.SPACE), index)
        if cut is Cut.BLOCK:
            break
    return latest[max(latest)] if latest else end


def _join(atoms: Sequence[Atom], before: Atom | None) -> str:
    parts = [_opening(atoms[0], before), atoms[0].text]
    for last, atom in pairwise(atoms):
        parts += (_between(last, atom), atom.text)
    parts.append(_closing(atoms[-1].wraps))
    return "".join(parts)


def _marks(
    atoms: Sequence[Atom], before: Atom | None, counts: Mapping[tuple[Whole, int], int]
) -> Iterator[Mark]:
    """Each run of atoms that are parts of one whole, by its place in the joined text."""
    begins: list[int] = []  # where an atom begins, with its bullet and the wraps that open there
    ends: list[int] = []  # where it ends, with the wraps that close behind it
    at, last = 0, None
    for atom in atoms:
        if last is None:
            begins.append(0)
            at = len(_opening(atom, before))
        else:
            ends.append(at + len(_closing(last.wraps[_shared(last, atom) :])))
            begins.append(ends[-1] + len(atom.lead) - len(atom.lead.lstrip("\n")))
            at += len(_between(last, atom))
        at, last = at + len(atom.text), atom
    ends.append(at + len(_closing(atoms[-1].wraps)))
    first = 0
    for whole, group in groupby(atoms, lambda atom: atom.part and atom.part[0]):
        seen = Counter(atom.part for atom in group)
        end = first + seen.total()
        if whole is not None:
            torn = any(part is None or counts[part] != count for part, count in seen.items())
            parts = tuple(part[1] for part in seen if part is not None)
            yield Mark(whole.what, parts, begins[first], ends[end - 1], torn)
        first = end


def _shared(last: Atom, atom: Atom) -> int:
    """How many wraps go on from ``last`` to ``atom``."""
    shared = 0
    for one, other in zip(last.wraps, atom.wraps, strict=False):
        if one is not other:
            break
        shared += 1
    return shared


def _opening(atom: Atom, before: Atom | None) -> str:
    """How a message begins: wraps that were closed at the cut are opened again."""
    known = before.wraps if before is not None else ()
    return atom.start + "".join([w.again if w in known else w.open for w in atom.wraps])


def _between(last: Atom, atom: Atom) -> str:
    if last.wraps is atom.wraps:
        return atom.lead
    shared = _shared(last, atom)
    opened = "".join(wrap.open for wrap in atom.wraps[shared:])
    return _closing(last.wraps[shared:]) + atom.lead + opened


def _closing(wraps: Sequence[Wrap]) -> str:
    return "".join([wrap.close for wrap in reversed(wraps)]) if wraps else ""


def _fitted(atoms: Iterable[Atom], room: int, unit: Unit) -> list[Atom]:
    """Atoms that each fit a message."""
    flow: list[Atom] = []
    known: tuple[Wrap, ...] = ()
    for atom in atoms:
        flow += _fitting(atom, known, room, unit)
        known = atom.wraps
    return flow


def _fitting(atom: Atom, known: tuple[Wrap, ...], room: int, unit: Unit) -> Iterator[Atom]:
    """The atom itself when it fits a message alone, else its spare text in small pieces.

    ``known`` wraps are open already: a message that begins here opens them again.
    """
    most = len(atom.text) + len(atom.start)
    for wrap in atom.wraps:
        most += wrap.most
    if most * _LARGEST <= room:
        yield atom
        return
    around = unit.size(atom.start + _closing(atom.wraps)) + sum(
        unit.size(wrap.again if wrap in known else wrap.open) for wrap in atom.wraps
    )
    if around + unit.size(atom.text) <= room:
        yield atom
        return
    if atom.words is not None:
        for word in _taken_apart(atom):
            yield from _fitting(word, known, room, unit)
            known = word.wraps
        return
    # Cut into pieces, it has its wraps opened again in each message.
    again = sum(unit.size(wrap.again) - unit.size(wrap.open) for wrap in atom.wraps)
    if max(around, around + again) > room // 2:
        # Its wraps leave no room for anything: without what opens them again, or none at all.
        wraps = tuple(Wrap(wrap.open, wrap.close) for wrap in atom.wraps)
        kept = sum(unit.size(wrap.open + wrap.close) for wrap in wraps) <= room // 2
        atom = atom._replace(wraps=wraps if kept else (), start="")
    first = True
    for text, cut in _chunks(atom.spare or atom.text, room, unit):
        yield (
            atom._replace(text=text)
            if first
            else Atom(text, "", "", cut, atom.wraps, "", atom.part)
        )
        first = False


def _chunks(text: str, room: int, unit: Unit) -> Iterator[tuple[str, Cut]]:
    """``text`` in chunks of some characters and at most half of ``room``, each with its cut."""
    chunk, filled, cut = "", 0, Cut.INNER
    most = min(room // 2, 4 * _CHUNK)
    for character in _characters(text, room // 2, unit):
        size = unit.size(character)
        spaced = chunk[-1:].isspace() and not character.isspace()
        if chunk and (spaced or filled + size > most or len(chunk) >= _CHUNK):
            yield chunk, cut
            chunk, filled, cut = "", 0, Cut.INNER if spaced else Cut.HARD
        chunk, filled = chunk + character, filled + size
    yield chunk, cut


def _characters(text: str, largest: int, unit: Unit) -> Iterator[str]:
    """Graphemes and escapes, plain runs together.

    A letter under so many marks that no message could hold it comes in parts.
    """
    at = 0
    while at < len(text):
        if _ASCII_RUN.match(text, at) is not None:
            yield text[at : at + _CHUNK]
            at += _CHUNK
            continue
        found = _CHARACTER.match(text, at)
        character = found.group() if found is not None else text[at]
        at += len(character)
        if unit.size(character) <= largest:
            yield character
        else:
            step = largest // _LARGEST
            yield from (character[part : part + step] for part in range(0, len(character), step))
