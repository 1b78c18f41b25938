"""Documentation of libraries by ``chub`` (Context Hub) where it is installed: by Pull ``docs``.

Its telemetry and its feedback are off: nothing of a question leaves but by what the user's own
``~/.chub/config.yaml`` says, and chub searches the registry that it has fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from core.model import Check, Pull, PulledResult, Scene
from core.sources.programs import find_program, run_program

PROGRAM = "chub"
INSTALL = "`npm install -g @aisuite/chub`"
CALL_S = 8.0
MAX_RESULTS = 8
MAX_DOC_CHARS = 20_000
MAX_PIECE_CHARS = 3_800

_ENV = {"CHUB_TELEMETRY": "0", "CHUB_FEEDBACK": "0", "NO_COLOR": "1"}
_ID = re.compile(r"(?:[\w.-]+:)?@?[\w.-]+/[\w./-]+")
_ASKED = re.compile(r"(?P<id>\S+)(?:\s+(?:--lang[ =]|in\s+|lang:)?(?P<lang>[\w+#]{1,12}))?")
_LANGUAGES = {
    "pyproject.toml": "python",
    "requirements.txt": "python",
    "package.json": "javascript",
    "Gemfile": "ruby",
}


def answer(pull: Pull, scene: Scene) -> PulledResult:
    """A document by its id (``stripe/api``, ``stripe/api python``), or what a search finds."""
    program = find_program(PROGRAM)
    if not program:
        return PulledResult(pull, (), f"{PROGRAM} is not installed on this host")
    project = Path(scene.project.path)
    query = " ".join(pull.query.split()).strip("`")
    asked = _ASKED.fullmatch(query)
    if asked and _ID.fullmatch(asked["id"]):
        return _document(pull, program, project, asked["id"], asked["lang"] or "")
    return _found(pull, program, project, query)


def is_id(query: str) -> bool:
    """Whether a query looks like the id of a document of chub's."""
    asked = _ASKED.fullmatch(" ".join(query.split()))
    return bool(asked and _ID.fullmatch(asked["id"]))


def _found(pull: Pull, program: str, project: Path, query: str) -> PulledResult:
    said, why_not = _ask(program, project, "search", "--limit", str(MAX_RESULTS), "--", query)
    if why_not:
        return PulledResult(pull, (), _plain(why_not))
    results = said.get("results", [said] if "id" in said else [])  # an id brings its entry alone
    lines = [_entry(entry) for entry in _objects(results)]
    if not lines:
        return PulledResult(pull, (), "there is no documentation on it; try the library's name")
    how = "ask for one by its id, such as docs: stripe/api python"
    return PulledResult(pull, tuple(lines), how)


def _entry(entry: Mapping[str, Any]) -> str:
    names = [str(language.get("language")) for language in _objects(entry.get("languages"))]
    about = " ".join(str(entry.get("description") or "").split())[:300]
    return f"{entry.get('id')} ({', '.join(names) or 'skill'}): {about}"


def _document(pull: Pull, program: str, project: Path, doc_id: str, language: str) -> PulledResult:
    """The document; where it is there for several languages, the project's own or the first."""
    said, why_not = _get(program, project, doc_id, language)
    if why_not.startswith("Multiple languages") and not language:
        there = re.findall(r"[\w+#]+", why_not.rpartition(":")[2].partition(".")[0])
        own = [lang for name, lang in _LANGUAGES.items() if (project / name).is_file()]
        fitting = [lang for lang in own if lang in there] or there
        if fitting:
            language = fitting[0]
            said, why_not = _get(program, project, doc_id, language)
    if why_not:
        return PulledResult(pull, (), _plain(why_not))
    content = str(said.get("content") or "")
    if not content.strip():
        return PulledResult(pull, (), "that document is empty")
    more = said.get("additionalFiles")
    files = ", ".join(map(str, cast(list[object], more))) if isinstance(more, list) else ""
    head = f"{said.get('id')}{f' ({language})' if language else ''}"
    head += f"; more files of it: {files}" if files else ""
    note = "" if len(content) <= MAX_DOC_CHARS else f"its first {MAX_DOC_CHARS:,} characters"
    return PulledResult(pull, (head, *_pieces(content[:MAX_DOC_CHARS])), note)


def _pieces(text: str) -> list[str]:
    """``text`` cut before headings or at lines, in pieces that a follow-up shows whole."""
    pieces: list[str] = []
    current = ""
    for line in text.splitlines(keepends=True):
        full = len(current) + len(line) > MAX_PIECE_CHARS
        new_part = line.startswith("#") and len(current) > MAX_PIECE_CHARS // 2
        if current and (full or new_part):
            pieces.append(current)
            current = ""
        current += line
    return [*pieces, current] if current else pieces


def _get(program: str, project: Path, doc_id: str, language: str) -> tuple[Mapping[str, Any], str]:
    lang = ("--lang", language) if language else ()
    return _ask(program, project, "get", *lang, "--", doc_id)


def _ask(program: str, project: Path, *args: str) -> tuple[Mapping[str, Any], str]:
    """One call of chub; what it says, and why it could not say it."""
    argv = (program, "--json", *args)
    try:
        ran = run_program(argv, project, deadline_s=CALL_S, names=("CHUB_*",), added=_ENV)
    except OSError as error:
        return {}, f"{PROGRAM} cannot be started ({type(error).__name__})"
    if ran.end != "ended":
        return {}, f"{PROGRAM}: {ran.why}; `chub update` fetches its registry"
    try:
        said = json.loads(ran.out)
    except ValueError:
        return {}, f"{PROGRAM}: {ran.why or 'its output is not as documented'}"
    if not isinstance(said, dict):
        return {}, f"the output of {PROGRAM} is not as documented"
    said = cast(Mapping[str, Any], said)
    if error := said.get("error"):
        alternatives = said.get("alternatives")
        more = cast(list[object], alternatives) if isinstance(alternatives, list) else []
        return {}, f"{error}{': ' if more else ''}{', '.join(map(str, more))}"
    return said, ""


def _objects(listed: object) -> list[Mapping[str, Any]]:
    """The objects of a JSON list; anything else in its place is none."""
    entries = cast(list[object], listed) if isinstance(listed, list) else []
    return [cast(Mapping[str, Any], entry) for entry in entries if isinstance(entry, dict)]


def _plain(said: str) -> str:
    """What chub says of an error, fit to stand in a line of ours."""
    return re.sub(r"[^\w\s.,:;/@+#-]", "", said)[:300]


def check() -> Sequence[Check]:
    """A line for ``doctor``."""
    program = find_program(PROGRAM)
    off = f"off: {PROGRAM} is not installed (optional: {INSTALL})"
    return (Check("docs", ok=True, detail=f"{PROGRAM}, {program}" if program else off),)
