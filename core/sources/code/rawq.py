"""``rawq search --json``: a semantic code search of its own, used where it is on PATH.

It may neither fetch a model nor leave a daemon behind: what it does not have yet, it is without.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel, ValidationError

from core.sources.code.index import Hit
from core.sources.programs import find_program, run_program

MAX_QUERY_CHARS = 600
RESULTS = 12

# rawq's --no-daemon is for the query; the variables hold for the index as well.
_ENV = {"RAWQ_OFFLINE": "1", "RAWQ_NO_DAEMON": "1", "RAWQ_NO_PAGER": "1", "RAWQ_NO_BAT": "1"}
_FOUND, _NONE = 0, 1  # exit statuses


class _Result(BaseModel):
    file: str
    lines: tuple[int, int]
    scope: str = ""
    confidence: float = 0.0


class _Output(BaseModel):
    schema_version: int
    results: tuple[_Result, ...]


class _Error(BaseModel):
    error: str
    message: str = ""


def search(project: Path, query: str, deadline_s: float) -> tuple[list[Hit], str]:
    """What rawq finds, best first, and why it could not be asked ("" when it could). Blocking."""
    program = find_program("rawq")
    if not program:
        return [], "not installed"
    words = " ".join(query.split())[:MAX_QUERY_CHARS]
    # What follows "--" is never taken for an option, whatever a prompt begins with.
    argv = (program, "search", "--json", "--no-daemon", "-n", str(RESULTS), "--", words, ".")
    try:
        ran = run_program(
            argv, project, deadline_s=deadline_s, names=("RAWQ_*", "ORT_*"), added=_ENV
        )
    except OSError as error:
        return [], f"it cannot be started ({type(error).__name__})"
    if ran.end != "ended":
        return [], f"{ran.why}; `rawq index build .` in the project makes it ready"
    if ran.code not in (_FOUND, _NONE):
        return [], _complaint(ran.out) or ran.why
    try:
        output = _Output.model_validate_json(ran.out)
    except ValidationError:
        return [], "its output is not as documented"
    return [_hit(project, result) for result in output.results], ""


def _complaint(out: bytes) -> str:
    try:
        said = _Error.model_validate_json(out)
    except ValidationError:
        return ""
    if "model" in said.message.lower():
        return "it has no model yet; `rawq model download snowflake-arctic-embed-s` fetches one"
    return "it reports an error; `rawq index status .` in the project says more"


def _hit(project: Path, result: _Result) -> Hit:
    path = os.path.normpath(result.file)
    if os.path.isabs(path):  # noqa: PTH117 - a text, nothing on the disk
        path = os.path.relpath(path, project.resolve())
    first, last = result.lines
    return Hit(path, first, last, " ".join(result.scope.split())[:120], result.confidence)
