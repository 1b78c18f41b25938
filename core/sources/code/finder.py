"""The source ``code``: the section of that name, and the Pull that searches or brings lines."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from core.model import Candidate, Check, Offer, Pull, PulledResult, Scene
from core.sources.code import rawq
from core.sources.code.asking import asks_about_code, names, paths
from core.sources.code.chunks import cut
from core.sources.code.files import (
    MAX_FILES,
    File,
    NoCheckout,
    holding,
    is_document,
    looks_secret,
    read_lines,
    tracked,
)
from core.sources.code.index import Hit, Index
from core.sources.code.meaning import Meaning
from core.sources.code.rank import best
from core.sources.code.show import lines_of, outline, reference, snippet
from core.sources.code.words import query_terms
from core.sources.port import Source
from core.sources.programs import find_program

WORK_S = 6.0
RAWQ_S = 3.5
MIN_INDEX_S = 1.0
GREP_S = 1.5
GREP_WORDS = 6
SNIPPETS = 2
MAX_WHOLE_LINES = 120
PULL = "<!-- pull:code: words, or path:first-last -->"

_PLACE = re.compile(r"(?P<path>\S(?:.*\S)?):(?P<first>\d{1,7})(?:-(?P<last>\d{1,7}))?")


@dataclass(frozen=True, slots=True)
class _Found:
    hits: list[Hit]
    notes: tuple[str, ...]


def wants(scene: Scene) -> bool:
    """Whether places in the code belong into a pack."""
    return scene.mode == "full" or asks_about_code(scene.prompt)


class CodeSearch:
    """Searches the projects' tracked files; its indexes lie in ``folder``. Its methods block.

    ``rawq_s`` is how long rawq may take, ``work_s`` what a question may wait in all; in seconds.
    ``meaning`` is what makes vectors; without it words count alone.
    """

    def __init__(
        self,
        folder: Path,
        rawq_s: float = RAWQ_S,
        work_s: float = WORK_S,
        meaning: Meaning | None = None,
    ) -> None:
        self._folder = folder
        self._rawq_s = rawq_s
        self._work_s = work_s
        self._meaning = meaning or Meaning()

    def offer(self, scene: Scene) -> Offer:
        """Places in the code, when the prompt asks about code or the mode is full."""
        if not wants(scene):
            return Offer()
        project = Path(scene.project.path)
        try:
            files = tracked(project)
        except NoCheckout as error:
            # A folder of Moot's own holds no code, so nothing is missing there.
            return Offer(notes=() if scene.project.own else (f"code: not searched, {error}",))
        found = self._search(project, files, scene.prompt)
        parts = _parts(project, found.hits, scene.prompt)
        candidates = {"code": Candidate(parts, pull=PULL)} if parts else {}
        return Offer(candidates, found.notes)

    def answer(self, pull: Pull, scene: Scene) -> PulledResult:
        """Lines of a file (``path:12-40``), a file (``path``), or what a search finds."""
        project = Path(scene.project.path)
        try:
            files = tracked(project)
        except NoCheckout as error:
            return PulledResult(pull, (), f"there is no code to search here: {error}")
        query = pull.query.strip().strip("`")
        if place := _PLACE.fullmatch(query):
            if file := _named(files, place["path"]):
                hits, note = _lines(project, file, int(place["first"]), int(place["last"] or 0))
                return PulledResult(pull, hits, note)
            return PulledResult(pull, (), _not_shown(place["path"]))
        if file := _named(files, query):
            return PulledResult(pull, *_file(project, file))
        found = self._search(project, files, query)
        parts = _parts(project, found.hits, query)
        note = "; ".join(note for note in found.notes if "not in the index yet" in note)
        return PulledResult(pull, parts, note if parts else note or "nothing in the code matches")

    def check(self) -> Sequence[Check]:
        """Lines for ``doctor``: git is needed for any search, rawq is a better one."""
        program = find_program("rawq")
        detail = (
            f"rawq, {program}"
            if program
            else (
                "the built-in index serves; rawq is not installed (optional: `cargo install rawq`)"
            )
        )
        if not find_program("git"):
            detail = "off: git is not installed; Moot searches only what git tracks"
        return (Check("code search", ok=True, detail=detail),)

    def _search(self, project: Path, files: Sequence[File], text: str) -> _Found:
        """The best places for ``text``: rawq's if it can be asked, else the built-in index's."""
        until = time.monotonic() + self._work_s
        hits, why_not = rawq.search(project, text, self._rawq_s)
        if not why_not:
            there = {file.path for file in files}
            return _Found([h for h in hits if h.path in there][: rawq.RESULTS], ())
        files = [file for file in files if not is_document(file.path)]  # those are Pull ``docs``
        notes = [f"code: the built-in index served; rawq: {why_not}"]
        index = Index(self._folder, project)
        until = max(until, time.monotonic() + min(MIN_INDEX_S, self._work_s))
        if len(files) >= MAX_FILES:
            notes.append(f"code: only the first {MAX_FILES:,} files are searched")
        named = names(text)
        terms = query_terms(text, named)
        telling = sorted(terms, key=len, reverse=True)[:GREP_WORDS]

        def likely() -> dict[str, float]:
            return holding(project, telling, time.monotonic() + GREP_S)

        if left := index.refresh(files, until, paths(text), likely):
            notes.append(f"code: {left:,} of {len(files):,} files are not in the index yet")
        vector = self._meaning.question(index, text)
        if left or self._meaning.lacks(index):
            self._meaning.go_on(index, files)
        hits = index.search(terms, vector, named=bool(named or paths(text)))
        return _Found(best(hits, text, terms, named), tuple(notes))


def _parts(project: Path, hits: Sequence[Hit], text: str) -> tuple[str, ...]:
    """The best hits with their lines, the others as references; what is gone is left out."""
    terms = query_terms(text, names(text))
    parts: list[str] = []
    for hit in hits:
        if len(parts) >= SNIPPETS:
            parts.append(reference(hit))
        elif shown := snippet(hit, read_lines(project, hit.path), terms):
            parts.append(shown)
    return tuple(parts)


def _not_shown(path: str) -> str:
    if looks_secret(path):
        return "that file is not shown: by its name it holds secrets"
    return "no tracked file of this project has that path"


def _named(files: Sequence[File], wanted: str) -> str:
    """The tracked file of that path, or the only one whose path ends so; else ""."""
    wanted = wanted.strip().removeprefix("./")
    if any(file.path == wanted for file in files):
        return wanted
    ends = [file.path for file in files if wanted and file.path.endswith(f"/{wanted}")]
    return ends[0] if len(ends) == 1 else ""


def _lines(project: Path, path: str, first: int, last: int) -> tuple[tuple[str, ...], str]:
    lines = read_lines(project, path)
    if not lines:
        return (), "that file cannot be read as text"
    if first > len(lines):
        return (), f"that file has {len(lines):,} lines"
    hit = Hit(path, max(1, first), min(last or first, len(lines)), "", 0.0)
    if hit.last < hit.first:
        hit = replace(hit, last=hit.first)
    return lines_of(hit, lines), ""


def _file(project: Path, path: str) -> tuple[tuple[str, ...], str]:
    """A file whole when it is short, else what is in it and where."""
    lines = read_lines(project, path)
    if not lines:
        return (), "that file cannot be read as text"
    if len(lines) <= MAX_WHOLE_LINES:
        return lines_of(Hit(path, 1, len(lines), "", 0.0), lines), ""
    listed = outline(path, cut(path, lines), len(lines))
    return (listed,), "the file is long: this is its outline; ask for lines as path:first-last"


def source(folder: Path, meaning: Meaning | None = None) -> Source:
    """The source, with its indexes in ``folder``/index."""
    search = CodeSearch(folder / "index", meaning=meaning)
    return Source(
        "code",
        "outside",
        sections=("code",),
        kinds=("code",),
        offer=search.offer,
        wants=wants,
        answer=search.answer,
        check=search.check,
        deadline_s=WORK_S + RAWQ_S + 2.0,
    )
