"""The source ``docs``: the project's own documents, and libraries' where ``chub`` is installed.

In mode full the sections that fit the question are told; by Pull an agent searches them, reads
lines of a document or its outline, and asks for documentation of libraries.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from core.model import Candidate, Check, Offer, Pull, PulledResult, Scene
from core.sources import docs as libraries
from core.sources.code.asking import names, paths
from core.sources.code.chunks import Chunk
from core.sources.code.files import File, NoCheckout, looks_secret, read_lines
from core.sources.code.index import Hit, Index, Kind
from core.sources.code.meaning import Meaning
from core.sources.code.show import reference
from core.sources.code.words import query_terms
from core.sources.documents.files import MAX_DOCUMENTS, documents
from core.sources.documents.sections import sections
from core.sources.port import Source
from core.sources.programs import find_program

WORK_S = 4.0
PULL = "<!-- pull:docs: words, or path:first-last -->"

WORDS_WEIGHT = 0.5  # how much words count beside meaning
MAX_PASSAGE_CHARS = 600
MAX_HITS = 10
MAX_PER_FILE = 3
TOLD = 3  # sections whose text is told; the others as references
PULLED = 5
MAX_WHOLE_CHARS = 12_000
MAX_PIECE_CHARS = 3_500
MAX_PIECES = 4
MAX_LINE_CHARS = 2_000
MAX_OUTLINE = 120
NAMED_PATH, LOG = 2.0, 0.7

_PLACE = re.compile(r"(?P<path>\S(?:.*\S)?):(?P<first>\d{1,7})(?:-(?P<last>\d{1,7}))?")
_LOG = re.compile(r"(?:^|/)(?:changelog|changes|history|news)(?:\.\w+)?$", re.IGNORECASE)
_MARKUP = re.compile(r"^\s*(?:\|[\s:|-]+\||[-=~`^*_]{3,}\w*)\s*$|[*`|#>]+", re.MULTILINE)


def cut(path: str, lines: Sequence[str]) -> list[Chunk]:
    """The sections of a document that hold any text."""
    found = sections(path, lines)
    return [
        Chunk(one.first, one.last, one.title)
        for one in found
        if any(line.strip() for line in lines[one.first - 1 : one.last])
    ]


def passage_of(path: str, title: str, held: Sequence[str], lines: Sequence[str]) -> str:
    """What of a section is given to an embedder: the headings above it, then its words."""
    del lines
    head = title or " ".join(re.split(r"[\W_]+", Path(path).stem))
    words = " ".join(_MARKUP.sub(" ", "\n".join(held)).split())
    return f"{head}. {words}"[:MAX_PASSAGE_CHARS]


DOCUMENTS = Kind("docs", cut, passage_of, WORDS_WEIGHT)


@dataclass(frozen=True, slots=True)
class _Found:
    hits: list[Hit]
    notes: tuple[str, ...]


def wants(scene: Scene) -> bool:
    """Whether documents belong into a pack: in mode full, where the folder holds anything."""
    if scene.mode != "full":
        return False
    if not scene.project.own:
        return True
    try:
        with os.scandir(scene.project.path) as there:
            return any(there)
    except OSError:
        return False


class Documents:
    """Searches the projects' documents; its indexes lie in ``folder``. Its methods block.

    ``meaning`` is what makes vectors; without it words count alone. ``work_s`` is what a question
    may wait, in seconds.
    """

    def __init__(
        self, folder: Path, meaning: Meaning | None = None, work_s: float = WORK_S
    ) -> None:
        self._folder = folder
        self._meaning = meaning or Meaning()
        self._work_s = work_s

    def offer(self, scene: Scene) -> Offer:
        """Sections of documents that fit the prompt, in mode full."""
        if not wants(scene):
            return Offer()
        project = Path(scene.project.path)
        try:
            files = documents(project, self._folder)
        except NoCheckout as error:
            return Offer(notes=() if scene.project.own else (f"docs: not searched, {error}",))
        found = self._search(project, files, scene.prompt)
        parts = [_text(hit, read_lines(project, hit.path)) for hit in found.hits[:TOLD]]
        parts += map(reference, found.hits[TOLD:])
        parts = [part for part in parts if part]
        candidates = {"documents": Candidate(tuple(parts), pull=PULL)} if parts else {}
        return Offer(candidates, found.notes)

    def answer(self, pull: Pull, scene: Scene) -> PulledResult:
        """Lines of a document (``path:12-40``), a document (``path``), or what a search finds.

        What looks like the id of a library's document, or is not the project's, chub is asked for.
        """
        project = Path(scene.project.path)
        why_not = ""
        try:
            files = documents(project, self._folder)
        except NoCheckout as error:
            files, why_not = (), str(error)
        query = pull.query.strip().strip("`")
        place = _PLACE.fullmatch(query)
        if file := _named(files, place["path"] if place else query):
            lines = read_lines(project, file)
            if place:
                return _lines(pull, file, lines, int(place["first"]), int(place["last"] or 0))
            return _whole(pull, file, lines)
        if place:
            return PulledResult(pull, (), _not_shown(place["path"]))
        if find_program(libraries.PROGRAM) and libraries.is_id(query):
            return libraries.answer(pull, scene)
        return self._words(pull, scene, files, query, why_not)

    def check(self) -> Sequence[Check]:
        """Lines for ``doctor``: the project's documents need git, libraries' need chub."""
        if not find_program("git"):
            own = "off: git is not installed; Moot asks it which files are the project's"
        else:
            own = "the project's Markdown files, by Pull and in mode full"
        return (Check("documents", ok=True, detail=own), *libraries.check())

    def _words(
        self, pull: Pull, scene: Scene, files: Sequence[File], query: str, why_not: str
    ) -> PulledResult:
        project = Path(scene.project.path)
        found = self._search(project, files, query) if files else _Found([], ())
        parts = [_text(hit, read_lines(project, hit.path)) for hit in found.hits[:PULLED]]
        parts += map(reference, found.hits[PULLED:])
        notes = [note.removeprefix("docs: ") for note in found.notes]
        if find_program(libraries.PROGRAM):
            more = libraries.answer(pull, scene)
            parts += [f"Of a library: {hit}" for hit in more.hits]
            notes += [more.note] if more.note and (more.hits or not parts) else []
        elif not parts:
            why = why_not or "nothing in the project's documents matches"
            notes.append(f"{why}; documentation of libraries needs {libraries.PROGRAM} on the host")
        return PulledResult(pull, tuple(part for part in parts if part), "; ".join(notes))

    def _search(self, project: Path, files: Sequence[File], text: str) -> _Found:
        index = Index(self._folder, project, DOCUMENTS)
        notes: list[str] = []
        if len(files) >= MAX_DOCUMENTS:
            notes.append(f"docs: only the first {MAX_DOCUMENTS:,} documents are searched")
        if left := index.refresh(files, time.monotonic() + self._work_s, paths(text)):
            notes.append(f"docs: {left:,} of {len(files):,} documents are not in the index yet")
        vector = self._meaning.question(index, text)
        if left or self._meaning.lacks(index):
            self._meaning.go_on(index, files)
        terms = query_terms(text, names(text))
        return _Found(best(index.search(terms, vector), text), tuple(notes))


def best(hits: Sequence[Hit], text: str) -> list[Hit]:
    """At most ``MAX_HITS`` of ``hits``, best first, at most ``MAX_PER_FILE`` of one document.

    A document that ``text`` names counts more, a log of changes less.
    """
    said = [path.lstrip("./~") for path in paths(text)]
    said += re.findall(r"[\w./-]+\.(?:md|mdx|rst|txt)\b", text)

    def weighed(hit: Hit) -> Hit:
        score = hit.score
        if any(hit.path == path or hit.path.endswith(f"/{path}") for path in said):
            score *= NAMED_PATH
        return replace(hit, score=score * (LOG if _LOG.search(hit.path) else 1.0))

    taken: Counter[str] = Counter()
    chosen: list[Hit] = []
    for hit in sorted(map(weighed, hits), key=lambda one: (-one.score, one.path, one.first)):
        taken[hit.path] += 1
        if taken[hit.path] <= MAX_PER_FILE:
            chosen.append(hit)
    return chosen[:MAX_HITS]


# --- how they are shown ------------------------------------------------------------------


def _text(hit: Hit, lines: Sequence[str]) -> str:
    """A section with its place; "" when it is not there any more."""
    held = [line[:MAX_LINE_CHARS] for line in lines[hit.first - 1 : hit.last]]
    body = "\n".join(held).strip("\n")
    return f"{reference(hit)}\n{body}" if body.strip() else ""


def _lines(pull: Pull, path: str, lines: Sequence[str], first: int, last: int) -> PulledResult:
    if not lines:
        return PulledResult(pull, (), "that document cannot be read as text")
    if first > len(lines):
        return PulledResult(pull, (), f"that document has {len(lines):,} lines")
    first = max(1, first)
    return PulledResult(pull, *_pieces(path, lines, first, min(max(first, last), len(lines))))


def _whole(pull: Pull, path: str, lines: Sequence[str]) -> PulledResult:
    """A document whole when it is short, else what is in it and where."""
    if not lines:
        return PulledResult(pull, (), "that document cannot be read as text")
    if sum(len(line) + 1 for line in lines) <= MAX_WHOLE_CHARS:
        return PulledResult(pull, *_pieces(path, lines, 1, len(lines)))
    rows = [f"{one.first}-{one.last} {one.symbol}".rstrip() for one in cut(path, lines)]
    more = [f"and {len(rows) - MAX_OUTLINE} more"] if len(rows) > MAX_OUTLINE else []
    outline = "\n".join((f"{path}:1-{len(lines)}", *rows[:MAX_OUTLINE], *more))
    how = "the document is long: this is its outline; ask for lines as path:first-last"
    return PulledResult(pull, (outline,), how)


def _pieces(path: str, lines: Sequence[str], first: int, last: int) -> tuple[tuple[str, ...], str]:
    """Lines in pieces that a follow-up shows whole, and a note on what is left out."""
    pieces: list[str] = []
    row = first
    while row <= last and len(pieces) < MAX_PIECES:
        end, room = row, MAX_PIECE_CHARS
        while end <= last:
            room -= min(len(lines[end - 1]), MAX_LINE_CHARS) + 1
            if room < 0 and end > row:
                break
            end += 1
        pieces.append(_text(Hit(path, row, end - 1, "", 0.0), lines))
        row = end
    left = f"lines {row}-{last} are left out for length: ask for them" if row <= last else ""
    return tuple(piece for piece in pieces if piece), left


def _named(files: Sequence[File], wanted: str) -> str:
    """The document of that path, or the only one whose path ends so; else ""."""
    wanted = wanted.strip().removeprefix("./")
    if any(file.path == wanted for file in files):
        return wanted
    ends = [file.path for file in files if wanted and file.path.endswith(f"/{wanted}")]
    return ends[0] if len(ends) == 1 else ""


def _not_shown(path: str) -> str:
    if looks_secret(path):
        return "that file is not shown: by its name it holds secrets"
    return "no document of this project has that path; code is brought by code: path:first-last"


def source(folder: Path, meaning: Meaning | None = None) -> Source:
    """The source, with its indexes in ``folder``/index."""
    found = Documents(folder / "index", meaning)
    return Source(
        "docs",
        "outside",
        sections=("documents",),
        kinds=("docs",),
        offer=found.offer,
        wants=wants,
        answer=found.answer,
        check=found.check,
        deadline_s=WORK_S + 2 * libraries.CALL_S + 4.0,
    )
