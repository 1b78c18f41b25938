"""``moot memory``: how memory stands, and building Chroma anew, whether or not Moot runs."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path

from bridge.app import DATABASE
from bridge.lock import writers_lock
from bridge.policies import memory_terms
from config.settings import Settings
from core import filelock
from core.errors import AlreadyRunning, BadInput
from core.memory.chroma import ChromaAway, ChromaIndex, Pace
from core.memory.chroma.asked import NO_VECTORS, NOT_OPENED
from core.memory.chroma.home import Home, home_of
from core.memory.chroma.store import unreachable
from core.memory.embed.choose import Named, choose
from core.model.memory import MemoryState
from core.records import embedders, vectors
from core.records.thread import Records

POLL_S = 0.25
NOT_RUNNING = "Moot is not running"
_WELL = (NOT_OPENED, NO_VECTORS)
HEARD_S = 15.0  # in which a running Moot takes up what it is asked


async def read_state(settings: Settings) -> tuple[MemoryState, bool]:
    """How memory stands, and whether Moot runs just now.

    Raises:
        BadSettings: there is no database yet.
    """
    folder = settings.storage.dir
    home, runs = home_of(folder, settings.memory.chroma), running(folder)
    records = Records(folder / DATABASE, read_only=True)
    await records.open()
    try:
        counted = await records.do(vectors.counted)
        model = await records.do(embedders.current)
    finally:
        await records.close()
    state = await asyncio.to_thread(_in_chroma, home, runs)
    if settings.memory.embedder == "none":
        state = replace(state, why="[memory] embedder is none: messages are found by keywords only")
    elif settings.memory.embedder == "http":  # a Moot that runs has no place to leave word of it
        _, why, fix = await asyncio.to_thread(embedder_stands, settings)
        state = replace(state, why="; ".join(filter(None, (why if fix else "", state.why))))
    return replace(state, embedder=model.name if model else "", **counted), runs


def running(folder: Path) -> bool:
    """Whether a Moot uses this storage folder just now. Blocks shortly."""
    path = folder / "moot.lock"
    if not filelock.signed(path):  # nobody has it, or gave it back
        return False
    handle = filelock.lock(path)
    if handle is not None:
        filelock.let_go(handle)
    return handle is None


def _in_chroma(home: Home | None, runs: bool) -> MemoryState:  # noqa: FBT001
    """What its process has told of Chroma, or what its files tell of the last one."""
    if home is None:
        return MemoryState(chroma="off")
    told = home.place.told() or MemoryState(chroma="away", why="it has not been built yet")
    if runs:
        return told
    return MemoryState(chroma="away", in_chroma=told.in_chroma, why=NOT_RUNNING)


def embedder_stands(settings: Settings) -> tuple[bool, str, str]:
    """The embedder's line in `moot doctor`, as ``chroma_stands``: loads it or asks it. Blocks."""
    said = settings.memory
    if said.embedder == "none":
        return True, "none: messages are found by keywords only", ""
    embedder, why, again = choose(memory_terms(settings).embed)
    if embedder is not None:
        where = "by an endpoint" if said.embedder == "http" else "on this host"
        if isinstance(embedder, Named):
            embedder.close()
        return True, f"{embedder.name.split('/')[0]}, {embedder.dim} dimensions, {where}", ""
    if said.embedder != "http":
        return False, why, "Run make setup again, or name another [memory] embedder."
    fix = "Set [memory] embedder_url and embedder_model"
    if again:
        fix = "Start that server, or correct [memory] embedder_url, embedder_model and the key"
    return False, why, f'{fix}; or set embedder to "auto".'


def chroma_stands(settings: Settings) -> tuple[bool, str, str]:
    """Chroma's line in `moot doctor`: whether it is well, how it stands, and what to do. Blocks."""
    folder, where = settings.storage.dir, settings.memory.chroma
    home, runs = home_of(folder, where), running(folder)
    if home is None:
        return True, "switched off: vectors are searched in memory", ""
    if home.server and (why := unreachable(home.server)):
        fix = f'Start the server of {where}, or set [memory] chroma to "folder" or "off".'
        return False, f"{where} does not answer ({why}); vectors are searched in memory", fix
    told = home.place.told()
    if told is None:
        return True, "not built yet", ""
    many = f"{told.in_chroma:,} vectors"
    if not runs:
        return True, f"{many} when Moot last ran", ""
    if told.chroma != "away":
        return True, f"{told.chroma}, {many}", ""
    fix = "Moot goes on without it and tries again; if this stays, try `moot memory rebuild`."
    return told.why in _WELL, f"away: {told.why}", "" if told.why in _WELL else fix


def say(state: MemoryState) -> str:
    """The state for a person, a line for each part."""
    # Nothing is wrong with Chroma then: there is no process that has it open.
    idle = state.chroma == "away" and state.why.endswith(NOT_RUNNING)
    chroma = "not running" if idle else state.chroma
    model = state.embedder or "none yet: messages are found by keywords"
    lines = [
        f"messages   {state.messages:,}",
        f"vectors    {state.vectors:,} (model: {model})",
        f"to do      {state.jobs:,}",
        f"chroma     {chroma}" + (f", {state.in_chroma:,} vectors" if state.in_chroma else ""),
    ]
    return "\n".join([*lines, *([f"why        {state.why}"] if state.why else [])])


async def rebuild(settings: Settings) -> str:
    """Have Chroma built anew, by the Moot that runs or here; what happened, for a person.

    Raises:
        BadInput: it cannot be; says what to do.
        BadSettings: there is no database yet, or the folder cannot be used.
    """
    folder = settings.storage.dir
    home = home_of(folder, settings.memory.chroma)
    if home is None:
        raise BadInput('There is nothing to rebuild: [memory] chroma is "off".')
    if not (folder / DATABASE).is_file():
        # Opening it for writing would make one.
        await Records(folder / DATABASE, read_only=True).open()
    began = time.monotonic()
    if not await _asked(home, folder):
        await _here(settings)
    generation = await asyncio.to_thread(home.place.read)
    seconds = time.monotonic() - began
    return f"Chroma was built anew in {seconds:.1f} s (generation {generation.name})."


async def _asked(home: Home, folder: Path) -> bool:
    """Ask the Moot that runs and wait until it has done so; False where none does."""
    if not running(folder):
        return False
    before = home.place.read().name
    await asyncio.to_thread(home.place.ask)
    heard_by = time.monotonic() + HEARD_S
    while home.place.asked() or home.place.read().name == before:
        await asyncio.sleep(POLL_S)
        if not running(folder):
            return False
        told = home.place.told()
        if time.monotonic() > heard_by and told is not None and told.chroma == "away":
            raise BadInput(
                f"Moot runs, but its Chroma is away: {told.why}. It builds it anew as soon as it "
                "can; `moot memory status` shows how it stands."
            )
    return True


async def _here(settings: Settings) -> None:
    folder = settings.storage.dir
    try:
        with writers_lock(folder):
            records = Records(folder / DATABASE)
            await records.open()
            index = ChromaIndex(records, folder, settings.memory.chroma, Pace(begin_s=0))
            work = asyncio.create_task(index.run())
            try:
                await index.rebuild()
            finally:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
                await records.close()
    except ChromaAway as away:
        raise BadInput(f"Chroma cannot be built anew: {away}.") from None
    except AlreadyRunning:
        raise BadInput("A Moot has just started: try again.") from None
