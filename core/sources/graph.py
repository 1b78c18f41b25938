"""What a change touches, by ``code-review-graph`` where it is installed: callers, flows, tests.

The graph lies in Moot's own folder, not in the project, and is brought up to date before it is
asked; a project that keeps a graph of its own (``.code-review-graph/``) has that one read as it is.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from core.model import Candidate, Check, Offer, Pull, PulledResult, Scene
from core.sources.code.asking import paths
from core.sources.code.files import NoCheckout, git, may_read
from core.sources.locks import lock_for
from core.sources.port import Source
from core.sources.programs import Ran, find_program, run_program

PROGRAM = "code-review-graph"
INSTALL = "`pipx install code-review-graph`"
OWN_GRAPH = Path(".code-review-graph") / "graph.db"
WORK_S = 9.0
UPDATE_S = 6.0
MAX_LINES = 25
MAX_MEANT = 3  # things of one name
PULL = "<!-- pull:graph: change, or a path, or a symbol -->"

_REVIEW = re.compile(
    r"\bcode[- ]review|\breview(?:s|ed|ing)?\b.{0,40}\b(?:pr|pull request|diff|patch|changes?|"
    r"commits?|branch|merge|mr|code)\b|\b(?:pr|diff|patch|changes?|commits?|branch|code)\b.{0,30}\breview|"
    r"\bblast radius|\bwhat (?:does|would|will) (?:this|that|the|my|our) change"
    r"|\bwhat (?:breaks|is affected|depends on)|\bimpact (?:of|analysis)|"
    r"코드 ?리뷰|(?:변경|커밋|브랜치|코드|diff|pr).{0,12}(?:리뷰|검토)|"
    r"(?:리뷰|검토).{0,12}(?:변경|커밋|코드)|"
    r"영향 ?(?:범위|도|분석)|コードレビュー|影響範囲|(?:変更|差分).{0,8}レビュー|代码审查|影响范围|"
    r"(?:revis|relecture|überprüf).{0,20}\b(?:código|code|änderung)",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"(?:the )?(?:current |this )?(?:changes?|diff|impact)|변경(?: ?사항)?|영향(?: ?범위)?",
    re.IGNORECASE,
)

_PATTERNS = {"callers_of": "called by", "callees_of": "calls", "tests_for": "tested by"}


def asks_for_review(prompt: str) -> bool:
    """Whether the prompt asks to judge a change, or what a change would touch."""
    return bool(_REVIEW.search(" ".join(prompt[:20_000].split())))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the tool looks (the checkout's ``root``) and what may be told of (the ``project``)."""

    root: Path
    project: Path

    def short(self, name: str) -> str:
        """A path, or a path and what follows ``::``, within the project; "" for what is not."""
        inside = name.removeprefix(f"{self.project}/")
        if inside == name and name.startswith("/"):
            return ""
        return " ".join(inside.split())

    def lines(self, nodes: object) -> str:
        """Nodes of the graph as lines ``path:first-last kind name``, those of the project only."""
        rows: list[str] = []
        for node in _nodes(nodes):
            path = self.short(str(node.get("file_path") or node.get("file") or ""))
            if not path or not may_read(path):
                continue
            name = " ".join(str(node.get("name", "")).split())[:120]
            what = "" if node.get("kind") == "File" else f" {node.get('parent_name') or ''}.{name}"
            span = f":{node.get('line_start')}-{node.get('line_end')}" if what else ""
            rows.append(f"{path}{span}{what.replace(' .', ' ')}")
        rows = list(dict.fromkeys(rows))
        more = [f"and {len(rows) - MAX_LINES} more"] if len(rows) > MAX_LINES else []
        return "\n".join((*rows[:MAX_LINES], *more))


def _place(project: Path) -> _Place:
    """The checkout that holds a project.

    Raises:
        NoCheckout: there is none.
    """
    top = git(project, "rev-parse", "--show-toplevel")
    if top.why:
        raise NoCheckout("its folder is no git checkout")
    root = Path(top.out.decode("utf-8", "surrogateescape").removesuffix("\n")).resolve()
    return _Place(root, project.resolve())


@dataclass(frozen=True, slots=True)
class _Asked:
    """One look at the graph: what the tool said, or why it could not be asked (words of ours)."""

    said: Mapping[str, Any]
    why_not: str = ""


def wants(scene: Scene) -> bool:
    """Whether the impact of a change belongs into a pack; a folder of Moot's own has none."""
    if scene.project.own:
        return False
    full, reviewing = scene.mode == "full", "reviewer" in scene.personas
    return full or reviewing or asks_for_review(scene.prompt)


class Graph:
    """Asks the tool about a project; graphs that Moot makes lie in ``folder``. Methods block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def offer(self, scene: Scene) -> Offer:
        """The impact of the current change: in mode full, with a reviewer, or when asked for."""
        if not wants(scene):
            return Offer()
        if not find_program(PROGRAM):
            return Offer(notes=(f"graph: {PROGRAM} is not installed",))
        parts, why_not = self._impact(Path(scene.project.path))
        if why_not:
            return Offer(notes=(f"graph: nothing, {why_not}",))
        return Offer({"graph": Candidate(parts, pull=PULL)} if parts else {})

    def answer(self, pull: Pull, scene: Scene) -> PulledResult:
        """``change``: the current one's impact; a path: its dependents; a symbol: its callers."""
        if not find_program(PROGRAM):
            return PulledResult(pull, (), f"{PROGRAM} is not installed on this host")
        project = Path(scene.project.path)
        query = pull.query.strip().strip("`").removesuffix("()")
        if _CHANGE.fullmatch(query):
            parts, why_not = self._impact(project)
        elif query.startswith("-"):
            parts, why_not = (), "ask for a path or the name of a function or class"
        elif paths(query) or "/" in query:
            parts, why_not = self._of_file(project, query)
        else:
            parts, why_not = self._of_symbol(project, query)
        return PulledResult(
            pull, parts, why_not or ("" if parts else "the graph has nothing on it")
        )

    def check(self) -> Sequence[Check]:
        """A line for ``doctor``."""
        program = find_program(PROGRAM)
        off = f"off: {PROGRAM} is not installed (optional: {INSTALL})"
        return (Check("graph", ok=True, detail=f"{PROGRAM}, {program}" if program else off),)

    # --- what is asked -------------------------------------------------------------------

    def _impact(self, project: Path) -> tuple[tuple[str, ...], str]:
        try:
            place = _place(project)
            base, what = _base(project)
        except NoCheckout as error:
            return (), str(error)
        if not base:
            return (), what
        until = time.monotonic() + WORK_S
        impact = self._ask(place, ("impact", "--base", base), until)
        if impact.why_not:
            return (), impact.why_not
        changed = place.lines(impact.said.get("changed_nodes"))
        if not changed:
            return (), f"{what} touches nothing that the graph knows"
        changes = self._ask(place, ("detect-changes", "--base", base), until, fresh=False)
        risk = () if changes.why_not else _risks(changes.said, place)
        first = f"The change ({what}) touches:\n{changed}"
        return (first, *_reach(impact.said, place), *risk), ""

    def _of_file(self, project: Path, path: str) -> tuple[tuple[str, ...], str]:
        try:
            place = _place(project)
        except NoCheckout as error:
            return (), str(error)
        until = time.monotonic() + WORK_S
        wanted = str(project.resolve() / path.removeprefix("./"))
        asked = self._ask(place, ("impact", "--files", wanted), until)
        return _reach(asked.said, place), asked.why_not

    def _of_symbol(self, project: Path, symbol: str) -> tuple[tuple[str, ...], str]:
        try:
            place = _place(project)
        except NoCheckout as error:
            return (), str(error)
        until = time.monotonic() + WORK_S
        parts: list[str] = []
        targets, why_not = self._meant(place, symbol, until)
        for target in targets:
            for pattern, words in _PATTERNS.items():
                asked = self._query(place, pattern, target, until)
                if asked.why_not:
                    return tuple(parts), asked.why_not
                if listed := place.lines(asked.said.get("results")):
                    parts.append(f"{place.short(target)}: {words}\n{listed}")
        return tuple(parts), why_not

    def _meant(self, place: _Place, symbol: str, until: float) -> tuple[list[str], str]:
        """The full names that a name may mean, or why the tool could not say."""
        asked = self._query(place, "callers_of", symbol, until, fresh=True)
        if asked.why_not:
            return [], asked.why_not
        if asked.said.get("status") == "not_found":
            return [], ""
        if asked.said.get("status") != "ambiguous":
            return [str(asked.said.get("target") or symbol)], ""
        named = (n for n in _nodes(asked.said.get("candidates")) if n.get("kind") != "File")
        full = [str(node["qualified_name"]) for node in named if "qualified_name" in node]
        return full[:MAX_MEANT], ""

    def _query(
        self, place: _Place, pattern: str, target: str, until: float, *, fresh: bool = False
    ) -> _Asked:
        command = ("query", pattern, "--repo", str(place.root), "--", target)
        return self._ask(place, command, until, fresh=fresh)

    def _ask(
        self, place: _Place, command: Sequence[str], until: float, *, fresh: bool = True
    ) -> _Asked:
        """Run one command of the tool; with ``fresh`` after the graph was brought up to date."""
        added: dict[str, str] = {"NO_COLOR": "1"}
        own = (place.root / OWN_GRAPH).is_file()
        if not own:
            name = hashlib.sha256(str(place.root).encode("utf-8", "surrogateescape"))
            home = self._folder / f"graph-{name.hexdigest()[:20]}"
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            added["CRG_DATA_DIR"] = str(home)
        repo = ("--repo", str(place.root))
        lock = lock_for(place.root / OWN_GRAPH)
        if not lock.acquire(timeout=max(0.0, until - time.monotonic())):
            return _Asked({}, "its graph is being made just now")
        try:
            if fresh and not own:
                updated = _run(place.root, ("update", "-q", *repo), _left(until, UPDATE_S), added)
                if updated.why:
                    return _Asked({}, _not_updated(updated))
            full = command if "--repo" in command else (*command, *repo)
            ran = _run(place.root, full, _left(until), added)
        finally:
            lock.release()
        if ran.why:
            return _Asked({}, f"{PROGRAM}: {ran.why}")
        try:
            said = json.loads(ran.out)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            return _Asked({}, f"the output of {PROGRAM} is not as documented")
        return _Asked(cast(Mapping[str, Any], said))


def _left(until: float, limit: float = WORK_S) -> float:
    return max(0.1, min(limit, until - time.monotonic()))


def _not_updated(ran: Ran) -> str:
    fix = f"; `{PROGRAM} build` in the project makes one that is used" if ran.end == "late" else ""
    return f"its graph could not be brought up to date ({ran.why}){fix}"


def _run(project: Path, args: Sequence[str], limit_s: float, added: Mapping[str, str]) -> Ran:
    try:
        return run_program((find_program(PROGRAM), *args), project, deadline_s=limit_s, added=added)
    except OSError:
        return Ran("ended", 127, b"", "")


def _base(project: Path) -> tuple[str, str]:
    """What the current change is compared to, and in words what that change is.

    What is not committed, else the branch, else the last commit. The first is "" when there is
    no change at all; then the second says so.

    Raises:
        NoCheckout: the project is no git checkout.
    """
    status = git(project, "status", "--porcelain", "-z", "--untracked-files=no")
    if status.why:
        raise NoCheckout(f"git could not say what has changed ({status.why})")
    if status.out.strip(b"\0"):
        return "HEAD", "what is not committed"
    for branch in ("origin/HEAD", "origin/main", "origin/master", "main", "master"):
        ahead = git(project, "rev-list", "--count", f"{branch}..HEAD", "--")
        if not ahead.why:
            count = int(ahead.out or 0)
            if count:
                return branch, f"this branch, {count} commits ahead of {branch}"
            break
    if not git(project, "rev-parse", "--verify", "-q", "HEAD~1").why:
        return "HEAD~1", "the last commit"
    return "", "there is only one commit"


# --- what it says ------------------------------------------------------------------------


def _nodes(listed: object) -> list[Mapping[str, Any]]:
    """The objects of a JSON list; anything else in its place is none."""
    entries = cast(list[object], listed) if isinstance(listed, list) else []
    return [cast(Mapping[str, Any], entry) for entry in entries if isinstance(entry, dict)]


def _reach(said: Mapping[str, Any], place: _Place) -> tuple[str, ...]:
    """What depends on what is changed: functions and classes first, then files."""
    nodes = _nodes(said.get("impacted_nodes"))
    called = place.lines([node for node in nodes if node.get("kind") != "File"])
    files = place.lines([node for node in nodes if node.get("kind") == "File"])
    parts = [f"What depends on it:\n{called}"] if called else []
    return (*parts, *([f"In these files:\n{files}"] if files else []))


def _risks(said: Mapping[str, Any], place: _Place) -> tuple[str, ...]:
    """Changed code without tests, and the flows that go through it."""
    gaps = place.lines(said.get("test_gaps"))
    flows = [_flow(flow, place) for flow in _nodes(said.get("affected_flows"))[:MAX_LINES]]
    parts = [f"Changed, and no test reaches it:\n{gaps}"] if gaps else []
    named = "\n".join(flow for flow in flows if flow)
    return (*parts, *([f"Flows that go through it:\n{named}"] if named else []))


def _flow(flow: Mapping[str, Any], place: _Place) -> str:
    steps = [s for s in _nodes(flow.get("steps")) if place.short(str(s.get("file", "")))]
    return " > ".join(" ".join(str(step.get("name", "")).split())[:60] for step in steps[:8])


def source(folder: Path) -> Source:
    """The source, with the graphs that it makes in ``folder``/index.

    Where the tool is missing, agents are not told of its kind of Pull.
    """
    graph = Graph(folder / "index")
    return Source(
        "graph",
        "outside",
        sections=("graph",),
        kinds=("graph",) if find_program(PROGRAM) else (),
        offer=graph.offer,
        wants=wants,
        answer=graph.answer,
        check=graph.check,
        deadline_s=WORK_S + 3.0,
    )
