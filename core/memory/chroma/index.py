"""Chroma as a quick copy of the vectors in SQLite: it can be gone at any time, and be made anew.

One task (``run``) owns it: opens it in the background, compares it with SQLite, rebuilds it into a
fresh folder, and looks at it again after any trouble. Everybody else asks, and is told at once when
it cannot answer (``ChromaAway``); then numpy over SQLite's vectors does.
"""

from __future__ import annotations

import asyncio
import contextlib
import time

import structlog

from core.memory.chroma import rows
from core.memory.chroma.asked import NO_VECTORS, ChromaAway, Opened
from core.memory.chroma.kept import CLOSE_S, Kept, Trouble
from core.records import embedders
from core.records.embedders import Model

log = structlog.get_logger()

OPENING_S = 2.0


class ChromaIndex(Kept):
    """The vectors of the current model, by meaning and scope; see ``Asked`` for what it answers."""

    async def run(self) -> None:
        """Look after it until cancelled; whatever goes wrong is told as its state."""
        if self._off:
            return
        announcing = asyncio.create_task(self._announce())
        try:
            await self._rest(self._pace.begin_s)
            while True:
                try:
                    await self._tend()
                except Exception as error:  # noqa: BLE001 - others are answered without it
                    self._failed(error)
                await self.shut()
                patience = self._pace.retry_s * 2 ** min(self._faults, 10)
                await self._rest(min(patience, self._pace.longest_retry_s))
        finally:
            announcing.cancel()
            await asyncio.gather(announcing, return_exceptions=True)
            await self._end()

    async def rebuild(self) -> None:
        """Build it anew into fresh files, from the vectors in SQLite; returns when that is done.

        Raises:
            ChromaAway: it cannot be done, or is switched off.
        """
        if self._off:
            raise ChromaAway("off", "it is switched off")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wanted.append(done)
        self.look()
        await done

    async def prepare(self, embedder: int) -> None:
        """Build the collection of a model that is to become the current one.

        Raises:
            ChromaAway: it cannot; it will be built after the switch.
        """
        opened = self._serving()
        model = await self._records.do(rows.model, embedder)
        if model is None or model.id == opened.model.id:
            return
        async with self._copying.alone():
            held = await self._call(
                lambda: self._home.collection(opened.store, model.name, opened.generation),
                self._pace.call_s,
            )
            try:
                await self.agreed(held, model, full=False)
            except Exception as error:
                self._fault(f"{type(error).__name__} when a model was prepared")
                raise ChromaAway(self._state, self._why) from error

    def look(self) -> None:
        """Something is to be looked at now: the current model may be another one."""
        self._looked = False
        self._wake.set()
        self._hurry.set()

    async def _tend(self) -> None:
        """Open it and serve it, until something is wrong with it."""
        self._trouble, self._looked = "", True
        if owner := await asyncio.to_thread(self._home.own):
            raise Trouble(f"another process ({owner}) has its folder", fault=False)
        model = await self._records.do(embedders.current)
        if model is None:
            raise Trouble(NO_VECTORS, fault=False)
        self._home.database = await self._records.do(rows.database_id)
        if self._wanted:  # it need not be opened before
            await self._build_as_asked(model)
        else:
            await self.begin(model)
        while True:
            await self._pause(self._pace.tick_s)
            await self._tick()

    async def _tick(self) -> None:
        """Whatever is due."""
        if self._trouble:
            raise Trouble(self._trouble)
        opened, place = self._serving(), self._home.place
        if not await asyncio.to_thread(self._home.stands, opened.generation):
            raise Trouble("its folder was taken away")
        asked = await asyncio.to_thread(place.asked)
        if not self._looked or asked:
            self._looked = True
            model = await self._records.do(embedders.current)
            if model is not None and model != opened.model:
                await self.switch(model)
        if asked or self._wanted:
            await self._build_as_asked(opened.model)
        elif self._missed_all:
            self._missed_all = False
            await self.compare(full=True)
        elif self._missed:
            await self.make_up()
        elif time.monotonic() - opened.compared_at > self._pace.compare_s:
            await self.compare(full=False)
            await self.make_certain()
        elif self._due_to_erase(opened):
            await self.build(opened.model, "what was erased leaves its files")
            await self.make_certain()

    async def _build_as_asked(self, model: Model) -> None:
        """For those who have asked by now: who asks later may have erased something before."""
        wanted, self._wanted = self._wanted, []
        await asyncio.to_thread(self._home.place.answered)
        try:
            await self.build(model, "it was asked for")
        except BaseException:
            self._wanted = wanted + self._wanted
            raise
        for done in wanted:
            if not done.done():
                done.set_result(None)
        await self.make_certain()

    def _due_to_erase(self, opened: Opened) -> bool:
        """A rebuild that erases waits for an idle time, but not for ever."""
        if not opened.erased:
            return False
        age = time.time() - opened.built_at
        idle = time.monotonic() - self._used_at >= self._pace.idle_s
        return age >= self._pace.erase_late_s or (idle and age >= self._pace.erase_s)

    def _failed(self, error: Exception) -> None:
        """It cannot be served: say why, and leave nobody waiting."""
        known = isinstance(error, Trouble | ChromaAway)
        why = str(error) if known else f"{type(error).__name__} while it was looked after"
        if isinstance(error, OSError) and error.strerror:
            why = f"its folder cannot be used: {error.strerror}"
        if not (isinstance(error, Trouble) and not error.fault):
            self._faults += 1
            self._doubt = True
            log.warning("chroma.away", why=why, faults=self._faults, error=type(error).__name__)
            log.debug("chroma.away", exc_info=error)
        self._say("away", why)
        for done in self._wanted:
            if not done.done():
                done.set_exception(ChromaAway("away", why))
        self._wanted = []

    async def _announce(self) -> None:
        """Keep a note of how it stands for other processes: `moot memory status` reads it."""
        told = None
        while True:
            now = (self._state, self._why, self._used_at)
            if now != told and self._home.ours:
                await self._tell()
                told = now
            await asyncio.sleep(self._pace.tick_s)

    async def _tell(self) -> None:
        with contextlib.suppress(OSError):  # its own trouble is told elsewhere
            await asyncio.to_thread(self._home.place.tell, await self.state())

    async def _pause(self, seconds: float) -> None:
        await _until(self._wake, seconds)

    async def _rest(self, seconds: float) -> None:
        await _until(self._hurry, seconds)

    async def _end(self) -> None:
        opened = self._opened
        owed = self._trouble or self._missed or self._missed_all
        await self.shut(clean=opened is not None and opened.answers and not owed)
        # Files that are being opened are not handed on; the library's import keeps nobody.
        await self._lane.close(CLOSE_S if opened else 0 if self._importing else OPENING_S)
        self._say("away", "it is closed")
        if self._home.ours:
            await self._tell()
        self._home.place.let_go()
        for done in self._wanted:
            done.cancel()


async def _until(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    event.clear()
