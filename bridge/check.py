"""``moot engines check``: could each engine be used, and (``--live``) does it answer?"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from bridge.app import DATABASE
from bridge.load import LAST_RESORT, load_engines, probe_all
from config.settings import Settings
from core.engines.process import run
from core.errors import BadSettings
from core.model import PERMISSIONS, EngineInfo, EngineTask, Limits, Outcome
from core.ports import Engine, Reader, kind_of
from core.records import parked
from core.records.thread import Records
from core.redact import redact
from core.streams import explain
from core.turns.parking import resting_text
from core.words import without_moments

KNOWN_VERSIONS: dict[str, tuple[str, ...]] = {
    "claude": ("2.1.332",),
    "codex": ("0.171.0",),
    "gemini": ("0.61.0",),
    "opencode": ("1.18.33",),
}
"""The versions that the contract tests run against; another one may do as well."""

QUESTION = "Answer with the word ready."
LIVE = Limits(idle_s=90.0, total_s=180.0, trouble_s=45.0)


@dataclass(frozen=True, slots=True)
class Live:
    """What one small question came to. ``unknown`` are events that Moot does not know."""

    outcome: str
    said: str
    seconds: float
    input_tokens: int
    output_tokens: int
    unknown: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Checked:
    """One engine; ``kind`` is which CLI it is, whatever it is called here.

    ``why`` says what is the matter and what to do ("": nothing is).
    """

    name: str
    kind: str
    found: bool
    version: str
    known: bool | None
    signed_in: bool | None
    path: str
    permissions: tuple[str, ...]
    in_run_pull: bool
    sessions: bool
    failed: bool
    why: str = ""
    live: Live | None = None


async def check_engines(
    settings: Settings, names: Sequence[str] = (), *, live: bool = False
) -> list[Checked]:
    """Look at the engines (all, or those named), and ask them something with ``live``.

    Only those that are set up are asked: installed, and not known to be signed out. One that was
    named and is not set up has failed.

    Raises:
        BadSettings: a name is no engine's.
    """
    engines = load_engines(settings.engines)
    for name in names:
        if name not in engines:
            raise BadSettings(f"There is no engine {name!r}; there are: {', '.join(engines)}.")
    wanted = {n: e for n, e in engines.items() if (n in names if names else n != LAST_RESORT)}
    checked: list[Checked] = []
    for info in await probe_all(wanted):
        usable = info.installed and info.signed_in is not False
        asked = await _ask(wanted[info.name]) if live and usable else None
        checked.append(_checked(wanted[info.name], info, asked, named=info.name in names))
    return checked


def _checked(engine: Engine, info: EngineInfo, asked: Live | None, *, named: bool) -> Checked:
    why = _fault(info)
    broken = bool(info.path) and not info.installed and not info.path.startswith("http")
    failed = broken or (named and bool(why))
    if asked is not None and asked.outcome != "answered":
        failed, why = True, asked.said
    versions = KNOWN_VERSIONS.get(kind_of(engine), ())
    traits = engine.traits
    return Checked(
        name=info.name,
        kind=kind_of(engine),
        found=info.installed,
        version=info.version,
        known=info.version in versions if versions and info.version else None,
        signed_in=info.signed_in if info.installed else None,
        path=info.path,
        permissions=tuple(mode for mode in PERMISSIONS if mode in traits.permissions),
        in_run_pull=traits.in_run_pull,
        sessions=traits.resumes,
        failed=failed,
        why=why,
        live=asked,
    )


def _fault(info: EngineInfo) -> str:
    if not info.installed:
        return info.detail or "not found; install it, or set its path in moot.toml"
    if info.signed_in is False:
        more = info.detail or f"start `{info.command}` in a terminal and sign in there"
        return f"not signed in: {more}"
    return ""


class _Watched:
    """An engine whose reader is kept, to be looked at afterwards."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.last: Reader | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def reader(self, task: EngineTask) -> Reader:
        """See ``core.ports.Engine``."""
        self.last = self._engine.reader(task)
        return self.last


async def _ask(engine: Engine) -> Live:
    """One small question, by the way every question goes; nothing of it is kept here."""
    watched: Any = _Watched(engine)
    began = time.monotonic()

    async def spawned(_pid: int, _started: float) -> None:
        return

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        places = [Path(folder, name) for name in ("project", "scratch")]
        for place in places:
            place.mkdir(mode=0o700)
        task = EngineTask(
            run_id=secrets.token_hex(8),
            context="",
            prompt=QUESTION,
            cwd=str(places[0]),
            scratch=str(places[1]),
            model=watched.config.model,
        )
        outcome = await run(
            watched,
            task,
            on_event=lambda _: None,
            on_spawn=spawned,
            limits=LIVE,
            cancel=asyncio.Event(),
        )
    unknown: dict[str, int] = getattr(watched.last, "unknown", {})
    return Live(
        outcome=outcome.kind,
        said=_said(engine.name, outcome),
        seconds=round(time.monotonic() - began, 1),
        input_tokens=outcome.usage.input_tokens,
        output_tokens=outcome.usage.output_tokens,
        unknown={redact(kind or "(without a type)")[:60]: n for kind, n in unknown.items()},
    )


def _said(name: str, outcome: Outcome) -> str:
    if outcome.kind == "answered":
        return " ".join(redact(outcome.text).split())[:80]
    return without_moments(explain(name, outcome))


def as_json(checked: Sequence[Checked]) -> list[dict[str, Any]]:
    """For scripts."""
    return [asdict(one) for one in checked]


def show_checked(checked: Sequence[Checked], *, live: bool = False) -> None:
    """Print them for a person: a table, and below it what is the matter and what to do.

    With what they answered (``live``) it is narrower: it fits 80 columns, outcomes whole.
    """
    console = Console()
    console.print(_live_table(checked) if live else _table(checked))
    for line in _lines(checked):
        console.print(Text(line))
    if live and not any(one.live for one in checked):
        console.print(Text("Nothing was asked: none of them is installed and signed in."))


def _table(checked: Sequence[Checked]) -> Table:
    whole = Column("engine", no_wrap=True)
    table = Table(whole, "found", "version", "signed in", "modes", "in-run pull", "sessions")
    for one in checked:
        row = [one.name, _WORDS[one.found], _version(one), _signed_in(one)]
        row += [", ".join(one.permissions), _WORDS[one.in_run_pull], _WORDS[one.sessions]]
        table.add_row(*(Text(cell) for cell in row))
    return table


def _live_table(checked: Sequence[Checked]) -> Table:
    table = Table("engine", "version", "signed in", Column("live", no_wrap=True))
    for one in checked:
        came = f"{one.live.outcome}, {one.live.seconds} s" if one.live else "not asked"
        row = (one.name, _version(one) if one.found else "not found", _signed_in(one), came)
        table.add_row(*(Text(cell) for cell in row))
    return table


_WORDS = {True: "yes", False: "no", None: "unknown"}


def _version(one: Checked) -> str:
    return one.version + (" (not tested)" if one.known is False else "")


def _signed_in(one: Checked) -> str:
    return _WORDS[one.signed_in] if one.found else ""


def _lines(checked: Sequence[Checked]) -> Iterator[str]:
    for one in checked:
        if one.why:
            yield f"{one.name}: {one.why}"
        elif one.live is not None:
            tokens = f"{one.live.input_tokens} tokens in, {one.live.output_tokens} out"
            yield f"{one.name}: answered “{one.live.said}” in {one.live.seconds} s ({tokens})"
        if one.known is False:
            tested = ", ".join(KNOWN_VERSIONS[one.kind])
            yield f"{one.name}: version {one.version} is none that was tested ({tested})"
        if one.live is not None and one.live.unknown:
            kinds = ", ".join(f"{kind} ({n}x)" for kind, n in sorted(one.live.unknown.items()))
            yield (
                f"{one.name}: unknown events: {kinds}: this version says what Moot does not know "
                "and passes over; the answer counts. A newer Moot may know them."
            )


async def resting_engines(settings: Settings) -> str:
    """The engines that rest, a line each; read beside a running Moot; "" without a database."""
    path = settings.storage.dir / DATABASE
    if not await asyncio.to_thread(path.exists):
        return ""
    records = Records(path, read_only=True)
    try:
        with contextlib.suppress(BadSettings):  # `moot doctor` says what is the matter with it
            await records.open()
            resting = await records.do(parked.resting, time.time())
            return without_moments(resting_text(resting))
        return ""
    finally:
        await records.close()
