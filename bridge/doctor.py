"""``moot doctor``, ``engines`` and ``pack``: what is there, and what to do about what is not."""

from __future__ import annotations

import asyncio
import fcntl
import importlib.metadata
import importlib.util
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Column, Table
from rich.text import Text

from bridge import pulls
from bridge.app import DATABASE, names_of
from bridge.chats import make_chats
from bridge.doorkeeping import access_check, everybody_named
from bridge.heard_words import heard_checks
from bridge.keeping import keeping_check
from bridge.limits import engine_check, limit_checks
from bridge.load import LAST_RESORT, first_usable, load_engines, probe_all, summary_check
from bridge.memory_cli import chroma_stands, embedder_stands
from bridge.tables import read_tables
from config.settings import Settings, SettingsError, find_config
from core.errors import BadSettings, MootError
from core.memory.chroma.store import Store
from core.model import Check, EngineInfo
from core.receipts import say_receipt
from core.records import runs
from core.records.thread import Records
from core.sources.catalog import all_sources

PACKAGES = ("bridge", "core", "adapters", "config")
CHAT_DEADLINE_S = 20.0


async def examine(settings: Settings | SettingsError, given: Path | None = None) -> list[Check]:
    """Every check, in the order a person would fix things. ``given``: the ``--config`` file."""
    if isinstance(settings, SettingsError):
        fix = "Correct the settings file or the variable; config/default.toml lists every key."
        return [Check("settings", ok=False, detail=str(settings), fix=fix)]
    path = find_config(given)
    read = f"read from {path}" if path else "the defaults; there is no moot.toml"
    checks = [Check("settings", ok=True, detail=read), await asyncio.to_thread(_packages)]
    checks += await asyncio.to_thread(_stores, settings)
    checks.append(await asyncio.to_thread(_locks, settings.storage.locks))
    checks += await _database(settings.storage.dir / DATABASE)
    checks += await asyncio.to_thread(_projects, settings)
    checks.append(keeping_check(settings))
    checks.append(access_check(settings, serves=_serves(settings)))
    checks += await _engines(settings)
    checks.append(await asyncio.to_thread(_pull, settings))
    checks += await asyncio.to_thread(_sources, settings.storage.dir)
    checks += await _chats(settings)
    return checks


async def list_engines(settings: Settings) -> tuple[list[EngineInfo], str]:
    """What ``moot engines`` shows, and the default."""
    engines = load_engines(settings.engines)
    found = await probe_all(engines)
    wanted = settings.engines.default
    if wanted and wanted not in engines:
        raise BadSettings(f"[engines] default is {wanted!r}; there are: {', '.join(engines)}.")
    return found, wanted or first_usable(found)


async def read_pack(settings: Settings, run_id: str) -> dict[str, Any] | None:
    """The receipt of a run; read beside a running Moot.

    Raises:
        BadSettings: there is no database yet.
    """
    records = Records(settings.storage.dir / DATABASE, read_only=True)
    await records.open()
    try:
        return await records.do(runs.find_run, run_id)
    finally:
        await records.close()


def show(checks: Sequence[Check]) -> None:
    """Print the checks for a person; each in one line where the output is no terminal."""
    console = Console()
    for check in checks:
        mark = Text("ok", "green") if check.ok else Text("FAIL", "bold red")
        rows = [(mark, Text(f"{check.name}: {check.detail}"))]
        rows += [(Text(), Text(f"→ {check.fix}"))] if check.fix and not check.ok else []
        if console.is_terminal:
            table = Table.grid(Column(width=4), Column(), padding=(0, 1))
            for row in rows:
                table.add_row(*row)
            console.print(table)
        else:
            for left, right in rows:
                print(f"{left.plain:4} {right.plain}")  # noqa: T201 - the command's output


def show_engines(found: Sequence[EngineInfo], default: str) -> None:
    """Print the engines for a person, and below what keeps one from being used."""
    table = Table("engine", "installed", "version", "signed in", Column("path", overflow="fold"))
    words = {True: "yes", False: "no", None: "unknown"}
    for info in found:
        name = f"{info.name} (default)" if info.name == default else info.name
        signed_in = words[info.signed_in] if info.installed else ""
        path = info.path if info.installed else ""
        row = (name, words[info.installed], info.version, signed_in, path)
        table.add_row(*(Text(cell) for cell in row))
    console = Console()
    console.print(table)
    for info in found:
        why = info.detail
        if info.installed and info.signed_in is False and not why:
            how = f"start `{info.command}` in a terminal, sign in there, and look again"
            why = f"not signed in; {how}"
        if why:
            console.print(Text(f"{info.name}: {why}"))


def show_pack(found: dict[str, Any]) -> None:
    """Print a receipt for a person."""
    Console().print(Markdown(say_receipt(found)))


def _sources(folder: Path) -> list[Check]:
    """What the sources of packs and Pulls say of the programs that they use."""
    return [check for s in all_sources(folder) if s.check is not None for check in s.check()]


def _packages() -> Check:
    """Our four package names are common words: nobody else may own them (docs/decisions/0001)."""
    owners = importlib.metadata.packages_distributions()
    others = sorted({o for name in PACKAGES for o in owners.get(name, []) if o != "moot"})
    places = {
        str(Path(spec.origin).parent.parent)
        for name in PACKAGES
        if (spec := importlib.util.find_spec(name)) and spec.origin
    }
    ok = not others and len(places) == 1
    detail = "bridge, core, adapters and config are Moot's own"
    if not ok:
        detail = (
            f"other packages use the same names: {', '.join(others) or ', '.join(sorted(places))}"
        )
    return Check(
        "packages",
        ok,
        detail,
        "" if ok else "Install Moot into an environment of its own: make setup.",
    )


def _stores(settings: Settings) -> list[Check]:
    embedder = Check("embedder", *embedder_stands(settings))
    return [_folder(settings.storage.dir), _sqlite(), embedder, _chroma(settings)]


def _folder(folder: Path) -> Check:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check(
            "storage",
            ok=False,
            detail=f"{folder}: {error.strerror}",
            fix="Set [storage] dir to a folder you can write.",
        )
    ok = free > 200 * 2**20
    fix = "" if ok else "Free some disk space, or set [storage] dir to another disk."
    return Check("storage", ok, f"{folder}, {free / 2**30:.1f} GiB free", fix)


def _locks(folder: Path) -> Check:
    """Whether two Moots could keep off each other's sessions."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        fix = "Set [storage] locks to a local folder that you can write, the same for all Moots."
        return Check("locks", ok=False, detail=f"{folder}: {error.strerror}", fix=fix)
    return Check("locks", ok=True, detail=f"one writer for each session, by {folder}")


async def _database(path: Path) -> list[Check]:
    """The database that is there already; that there is none yet is no fault."""
    if not await asyncio.to_thread(path.exists):
        return []
    records = Records(path, read_only=True)
    try:
        await records.open()
        more = await records.do(heard_checks)
    except BadSettings as error:
        fix = "Put a backup in its place, or move it away and start empty."
        return [Check("database", ok=False, detail=str(error), fix=fix)]
    finally:
        await records.close()
    return [Check("database", ok=True, detail=f"{path} can be read"), *more]


def _sqlite() -> Check:
    """A real database in the folder's own file system: version, write-ahead log, full text."""
    fix = "Use a Python whose SQLite is 3.35 or newer with FTS5, such as Debian's or Homebrew's."
    if sqlite3.sqlite_version_info < (3, 35):
        return Check("sqlite", ok=False, detail=f"SQLite {sqlite3.sqlite_version}", fix=fix)
    try:
        with tempfile.TemporaryDirectory() as folder:
            connection = sqlite3.connect(Path(folder) / "check.sqlite")
            try:
                mode = connection.execute("PRAGMA journal_mode=wal").fetchone()[0]
                connection.execute("CREATE VIRTUAL TABLE t USING fts5(body)")
            finally:
                connection.close()
    except sqlite3.Error as error:
        return Check(
            "sqlite", ok=False, detail=f"SQLite {sqlite3.sqlite_version}: {error}", fix=fix
        )
    ok = mode == "wal"
    return Check(
        "sqlite", ok, f"SQLite {sqlite3.sqlite_version}, journal {mode}, FTS5", "" if ok else fix
    )


def _chroma(settings: Settings) -> Check:
    """A real write and query in a folder of its own (nothing is downloaded), and how it stands."""
    version = f"chromadb {importlib.metadata.version('chromadb')}"
    try:
        with tempfile.TemporaryDirectory() as folder:
            store = Store.in_folder(Path(folder))
            try:
                held = store.collection("check")
                held.put([("message:1", 1)], np.ones((1, 2), np.float32))
                found, _ = held.query(np.ones(2, np.float32), [1], 1)
            finally:
                store.close()
    except Exception as error:  # noqa: BLE001 - whatever the library has: it is this line's finding
        why = f"{type(error).__name__}: {error}"[:200]
        return Check("chroma", ok=False, detail=why, fix="Run make setup again.")
    if found != ["message:1"]:
        return Check("chroma", ok=False, detail=version, fix="Run make setup again.")
    ok, detail, fix = chroma_stands(settings)
    return Check("chroma", ok, f"{version}; {detail}", fix)


def _projects(settings: Settings) -> list[Check]:
    checks = []
    for name, project in settings.projects.items():
        ok = project.path.is_dir()
        fix = "" if ok else f"Create the folder or correct [projects.{name}] path."
        detail = (
            f"{project.path}, {project.permission}, {', '.join(project.channels) or 'no channels'}"
        )
        checks.append(Check(f"project {name}", ok, detail, fix))
    return checks


async def _engines(settings: Settings) -> list[Check]:
    try:
        found, default = await list_engines(settings)
    except MootError as error:
        return [
            Check("engines", ok=False, detail=str(error), fix="Correct the [engines] settings.")
        ]
    checks = [engine_check(settings, info, default) for info in found]
    checks += [_roundtable(settings, [info.name for info in found])]
    checks += [summary_check(settings, default)]
    checks += await asyncio.to_thread(limit_checks, settings, default)
    if default == LAST_RESORT and not settings.engines.default and _serves(settings):
        at = next(i for i, check in enumerate(checks) if check.name == f"engine {default}")
        told = "answers by default, for no agent was found installed and signed in"
        checks[at] = replace(checks[at], detail=f"{told}; has no model, quotes the question")
    return checks


def _serves(settings: Settings) -> bool:
    return settings.slack.on or settings.discord.on


def _roundtable(settings: Settings, engines: Sequence[str]) -> Check:
    """The seats that stand in the settings: a wrong one would keep Moot from starting."""
    roundtable = settings.roundtable
    presets = {name: roundtable.preset(name) for name in roundtable.presets}
    with as_file(files("config") / "personas") as shipped:
        names = names_of(settings, engines, shipped)
    try:
        read_tables(roundtable, presets, names, engines)
    except BadSettings as error:
        fix = "Correct that key: persona, engine, or persona:engine (for synthesis also none)."
        return Check("roundtable", ok=False, detail=str(error), fix=fix)
    detail = ", ".join((*roundtable.participants, *(f"--preset {name}" for name in presets)))
    return Check("roundtable", ok=True, detail=detail)


def _pull(settings: Settings) -> Check:
    """Whether engines that can may Pull while they work."""
    able = [name for name, e in load_engines(settings.engines).items() if e.traits.in_run_pull]
    return pulls.check(wanted=settings.pull.in_run, engines=tuple(able))


async def _chats(settings: Settings) -> list[Check]:
    try:
        chats = make_chats(settings)
    except MootError as error:
        return [
            Check(
                "chats", ok=False, detail=str(error), fix="See docs/how-to/slack.md and discord.md."
            )
        ]
    if not chats:
        return [Check("chats", ok=True, detail="none switched on; `moot try` needs none")]
    checks = []
    for chat in chats:
        try:
            async with asyncio.timeout(CHAT_DEADLINE_S):
                channels = _named_channels(settings, chat.name)
                checks += await chat.checks(channels, everybody_named(settings))
        except TimeoutError:
            fix = "Check the network and proxy settings of this machine."
            checks.append(
                Check(chat.name, ok=False, detail=f"no answer in {CHAT_DEADLINE_S:.0f} s", fix=fix)
            )
    return checks


def _named_channels(settings: Settings, chat: str) -> tuple[str, ...]:
    """The ids of a platform's channels that the projects list, each once."""
    listed = (c for project in settings.projects.values() for c in project.channels)
    pairs = (entry.partition(":") for entry in listed)
    return tuple(dict.fromkeys(channel for name, _, channel in pairs if name == chat))
