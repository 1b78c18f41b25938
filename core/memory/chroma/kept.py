"""Opening Chroma's files, comparing them with SQLite, and building them anew."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import structlog

from core.memory.chroma import rows
from core.memory.chroma.asked import Asked, Opened
from core.memory.chroma.copying import Differences
from core.memory.chroma.lane import Lane
from core.memory.chroma.place import Generation
from core.memory.chroma.probe import probe
from core.memory.chroma.store import Collection, Store, load
from core.records.embedders import Model

log = structlog.get_logger()

DISTRUST = 3  # faults in a row after which files are not opened again, whatever the probe says
CLOSE_S = 10.0


class Trouble(Exception):
    """It cannot be served just now; the message says why, for people. ``fault``: it should be."""

    def __init__(self, why: str, *, fault: bool = True) -> None:
        super().__init__(why)
        self.fault = fault


class Kept(Asked):
    """What ``ChromaIndex`` does with its files; every method but ``shut`` may raise anything."""

    async def begin(self, model: Model) -> None:
        """Have it open, in step with SQLite and answering."""
        place = self._home.place
        found = await asyncio.to_thread(place.read)
        if not self._home.server:
            await asyncio.to_thread(place.sweep, found.name)
            found = await self._trusted(found, model)
        if found.name:
            await self._open(found, model)
        else:
            await self.build(model, "it is being built")
        await self.make_certain()

    async def _trusted(self, found: Generation, model: Model) -> Generation:
        """The files as they may be opened here: looked at before, or set aside."""
        place = self._home.place
        if not found.name:
            return found
        if not self._doubt and not await asyncio.to_thread(self._home.doubtful, found):
            return found
        why = "it failed again and again" if self._faults >= DISTRUST else ""
        if not why:
            self._say("away", "its files are being looked at")
            canaries = await self._copying.canaries(model)
            name = self._home.name(model.name, found.name)
            why = await probe(place.path(found.name), name, canaries, self._pace.probe_s)
        if not why:
            return found
        log.warning("chroma.set_aside", generation=found.name, why=why)
        await asyncio.to_thread(place.set_aside, found.name)
        self._doubt = False
        return Generation()

    async def _open(self, found: Generation, model: Model) -> None:
        """Open the present files, and bring them into step with SQLite."""
        full = found.open or self._doubt or self._missed_all
        self._doubt = True  # until it has gone well
        opened = await self._opened_at(found.name, model)
        opened.built_at, opened.erased = found.built_at, found.erased
        now = replace(found, open=True, chroma=self._home.version)
        try:
            await asyncio.to_thread(self._home.place.write, now)
        except BaseException:
            self._lane.give(opened.store.close)
            raise
        self._opened, self._missed_all = opened, False
        self._say("behind", "it is being compared with the vectors that are kept")
        await self.compare(full=full)
        self._doubt = False

    async def _opened_at(self, generation: str, model: Model) -> Opened:
        made = list[Store]()

        def begin() -> Opened:
            store = self._home.open(generation)
            made.append(store)
            try:
                held = self._home.collection(store, model.name, generation)
                held.count()
            except BaseException:
                store.close()
                raise
            return Opened(store, generation, model, held, built_at=time.time())

        try:
            self._importing = True
            await self._lane.do(load, self._pace.open_s)
            self._importing = False
            return await self._lane.do(begin, self._pace.open_s)
        except BaseException as error:
            # Nobody has it, should it be opened after all.
            self._lane.give(lambda: [store.close() for store in made])
            if not isinstance(error, Exception):
                raise
            raise Trouble(f"it cannot be opened ({type(error).__name__})") from error

    async def compare(self, *, full: bool) -> None:
        """Put and drop what differs; ``full``: the vectors are compared as well."""
        opened = self._serving()
        async with self._copying.alone():
            found = await self.agreed(opened.held, opened.model, full=full)
            missed = await self._made_up_for(opened)
        opened.compared_at = time.monotonic()
        keep = await self._records.do(rows.kept)
        others = await self._lane.do(
            lambda: self._home.forget_others(opened.store, keep, opened.generation),
            self._pace.call_s,
        )
        await self._note_erased(opened, found.erased or missed or others)

    async def agreed(self, held: Collection, model: Model, *, full: bool) -> Differences:
        """As ``Copying.agree``, which is to be ``alone``."""
        found = await self._copying.agree(held, model, full=full)
        if found.put or found.dropped:
            log.info("chroma.agreed", put=found.put, dropped=found.dropped)
        return found

    async def make_up(self) -> None:
        """Put and drop what could not be told."""
        opened = self._serving()
        async with self._copying.alone():
            erased = await self._made_up_for(opened)
        await self._note_erased(opened, erased)

    async def _made_up_for(self, opened: Opened) -> bool:
        missed, self._missed = self._missed, set()
        try:
            return await self._copying.again(opened.held, opened.model, missed)
        except BaseException:
            self._missed |= missed
            raise

    async def _note_erased(self, opened: Opened, erased: bool) -> None:  # noqa: FBT001
        if erased and not opened.erased:
            await asyncio.to_thread(lambda: self._home.place.note(erased=True))
            opened.erased = True

    async def make_certain(self) -> None:
        """Known vectors find themselves, or it is built anew; then it answers."""
        opened = self._serving()
        if lost := await self._copying.lost(opened.held, opened.model):
            opened.answers = False
            await self.build(opened.model, lost)
            opened = self._serving()
            if lost := await self._copying.lost(opened.held, opened.model):
                raise Trouble(lost)
        self._count = await self._lane.do(opened.held.count, self._pace.call_s)
        opened.answers = True
        self._faults = 0
        self._say("ready")

    async def switch(self, model: Model) -> None:
        """Serve another model, once its collection is in step."""
        opened = self._serving()
        log.info("chroma.switching", model=model.name)
        held = await self._lane.do(
            lambda: self._home.collection(opened.store, model.name, opened.generation),
            self._pace.call_s,
        )
        async with self._copying.alone():
            await self.agreed(held, model, full=False)
            while not self._copying.settled():
                await self._copying.again(held, model)
            opened.model, opened.held = model, held
        await self.compare(full=False)

    async def build(self, model: Model, why: str) -> None:
        """Build it anew into fresh files, put these in the place of the present, remove those.

        What is there goes on answering, if it can.
        """
        before = self._opened
        answering = before is not None and before.answers
        self._say("rebuilding" if not answering else self._state, why if not answering else "")
        began = time.monotonic()
        fresh = await self._opened_at(self._home.place.fresh(), model)
        try:
            async with self._copying.alone():
                many = await self._copying.fill(fresh.held, model)
                while not self._copying.settled():
                    fresh.erased |= await self._copying.again(fresh.held, model)
                # From here to the lane nothing comes between: whoever writes now writes after, or
                # is told that he cannot, and is made up for.
                self._missed, self._missed_all = set(), False
                await self._lane.do(lambda: self._swap(fresh), self._pace.call_s)
        except BaseException:
            if self._opened is not fresh:
                self._missed_all = True
                await self._close(fresh.store)
            raise
        log.info("chroma.built", vectors=many, why=why, s=round(time.monotonic() - began, 1))
        self._doubt = False
        if before is not None:
            await self._close(before.store)
        await self._remove_others(fresh)

    def _swap(self, fresh: Opened) -> None:
        self._home.place.write(
            Generation(
                fresh.generation,
                chroma=self._home.version,
                open=True,
                erased=fresh.erased,
                built_at=fresh.built_at,
            )
        )
        fresh.answers = self._opened is not None and self._opened.answers
        self._opened, self._count = fresh, fresh.held.count()

    async def _remove_others(self, opened: Opened) -> None:
        if self._home.server:
            await self._lane.do(
                lambda: self._home.forget_others(
                    opened.store, [opened.model.name], opened.generation
                ),
                self._pace.call_s,
            )
        else:
            await asyncio.to_thread(self._home.place.sweep, opened.generation)

    async def shut(self, *, clean: bool = False) -> None:
        """Close what is open; ``clean``: it went well, and nothing is owed to it."""
        opened, self._opened = self._opened, None
        if opened is None:
            return
        closed = await self._close(opened.store)
        if clean and closed:
            await asyncio.to_thread(self._home.close, opened.generation)

    async def _close(self, store: Store) -> bool:
        """Close a store; where that does not end, its thread is left behind."""
        try:
            await self._lane.do(store.close, CLOSE_S)
        except TimeoutError:
            log.warning("chroma.stuck", s=round(self._lane.busy_s))
            self._lane = self._copying.lane = Lane("chroma")
            # Its files may still be written to by that thread: they are not opened again.
            self._faults = max(self._faults, DISTRUST)
            self._doubt = True
        except Exception as error:  # noqa: BLE001 - it was in trouble, and is gone either way
            log.warning("chroma.close_failed", error=type(error).__name__)
        else:
            return True
        return False
