"""One Moot that is killed again and again, what it was asked, and what must have come of it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from tests.crash.sides import Shown, Side, unchanged_for
from tests.e2e.product import Product

KILLER = Path(__file__).with_name("killer.py")
Trigger = Sequence[dict[str, Any]]
SETTLE_S = 120.0
REACH_S = 90.0
TOLD = re.compile(r"Moot was interrupted while")
STATUS = re.compile(r"⏳|is working ·")


@dataclass
class Asked:
    """A question: where, and the posts it must lead to (patterns, in order, each just once).

    ``never``: what must not be posted. ``once_only``: it may change files, so it is not begun a
    second time. ``rest_falls``: a step that was given up ends the steps behind it (a pull's).
    ``cuts`` counts the kills between its acceptance and its end.
    """

    mark: str
    root: str
    event_id: str
    wanted: tuple[str, ...]
    never: tuple[str, ...] = ()
    once_only: bool = False
    rest_falls: bool = True
    accepted: bool = False
    settled: bool = False
    cuts: int = 0
    root_words: str = ""


@dataclass
class Lane:
    """A Moot on one platform, through many lives."""

    side: Side
    folder: Path
    more: dict[str, Any] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    lives: int = 0
    kills: int = 0
    told: int = 0
    runs: dict[str, tuple[int, float]] = field(default_factory=dict)  # pid, when it was there
    standing: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.trigger = self.folder / "trigger.json"
        project = self.folder / "project"
        project.mkdir(parents=True)
        settings = {
            "engines": {"default": "rehearsal"},
            "runs": {"at_once": 3},
            **self.side.settings(project),
            **self.more,
        }
        # Compiled once, not at every start: our own modules have no .pyc in a fresh checkout.
        env = {**self.side.env(), "PYTHONDONTWRITEBYTECODE": ""}
        launcher = (sys.executable, str(KILLER), str(self.trigger))
        self.product = Product(self.folder, settings, env, launcher=launcher)

    # --- lives -----------------------------------------------------------------------------

    async def start(self) -> None:
        """A life without a wish to die, until it can receive."""
        self.arm(None)
        self.lives += 1
        await self.product.start(self.side.name)

    async def start_to_die(self, trigger: Trigger) -> None:
        """A life that ends while it recovers what the one before left."""
        self.arm(trigger)
        self.lives += 1
        await self.product.start()
        await self.died()

    def arm(self, trigger: Trigger | None) -> None:
        """Say at which log lines the process kills itself."""
        text = json.dumps([] if trigger is None else list(trigger))
        fresh = self.trigger.with_suffix(".new")
        fresh.write_text(f"{text}\n{' ' * self.kills}")  # a repeated wish is a new one
        fresh.replace(self.trigger)

    async def kill(self) -> None:
        """kill -9 from outside, now."""
        await self.product.kill()
        await self.died()

    def kill_on_wire(self, what: str, pattern: str) -> None:
        """Die once a request has taken effect on the platform, before its answer is out."""

        def watch(done: str, text: str) -> None:
            if done == what and re.search(pattern, text):
                self.side.wire = lambda _what, _text: None
                os.kill(self.product.pid, signal.SIGKILL)

        self.side.wire = watch

    async def died(self) -> None:
        """Wait for the death and take stock: something accepted must be unanswered now."""
        code = await self.product.ended(REACH_S)
        assert code == -signal.SIGKILL, f"ended with {code}, was not killed"
        self.kills += 1
        self.read_log()
        await self.look()
        owed = [a for a in self.asked if a.accepted and not a.settled]
        assert owed, f"nothing was accepted and unanswered at kill {self.kills}"
        for one in owed:
            one.cuts += 1

    def read_log(self) -> None:
        """Who was accepted, what ran."""
        accepted = {e.get("event_id") for e in self.product.logged("event.accepted")}
        for one in self.asked:
            one.accepted |= one.event_id in accepted
        for name in ("run.started", "run.spawned"):
            for event in self.product.logged(name):
                if event.get("run"):
                    seen = datetime.fromisoformat(event["timestamp"]).timestamp()
                    self.runs[event["run"]] = (event["pid"], seen)

    # --- what people see -------------------------------------------------------------------

    async def look(self) -> None:
        """Find the threads that Moot opened itself, and note what has been answered."""
        for one in self.asked:
            if not one.root and one.root_words:
                found = await self.side.roots(one.root_words)
                assert len(found) <= 1, f"{one.mark}: its thread was opened {len(found)} times"
                one.root = found[0] if found else ""
        roots = {a.root for a in self.asked if a.root and not a.settled} | self.standing
        for root in roots:
            posts = await self.side.shown(root)
            if any(STATUS.search(post.text) for post in posts):
                self.standing.add(root)
                continue  # what is seen may be an answer that is still written
            self.standing.discard(root)
            told = sum(bool(TOLD.search(post.text)) for post in posts)
            for one in [a for a in self.asked if a.root == root and a.accepted]:
                missing = [w for w in one.wanted if not any(re.search(w, p.text) for p in posts)]
                # Told counts as answered: as many may be missing as were told, the oldest first.
                need = min(1, len(missing)) if one.rest_falls else len(missing)
                one.settled = need <= told
                told -= need if one.settled else 0

    async def settled(self, *which: Asked) -> None:
        """Wait until all that was accepted (or these) is answered."""
        loop = asyncio.get_running_loop()
        end, stamp, looked = loop.time() + SETTLE_S, -1, 0.0
        while True:
            # A request that has come in may not have taken effect yet: so look again later too.
            if self.side.stamp() != stamp or loop.time() - looked > 0.3:
                stamp, looked = self.side.stamp(), loop.time()
                self.read_log()
                await self.look()
                mine = which or self.asked
                done = all(a.settled for a in mine if a.accepted)
                if done and not self.standing & {a.root for a in mine}:
                    return
            if loop.time() > end:
                owed = [a for a in which or self.asked if not a.settled]
                raise AssertionError(f"after {SETTLE_S} s: {owed=} {self.standing=}")
            await asyncio.sleep(0.03)

    async def until_shown(self, root: str, words: str) -> None:
        """Wait for a post in a thread that holds these words."""
        async with asyncio.timeout(SETTLE_S):
            while not any(words in shown.text for shown in await self.side.shown(root)):
                await asyncio.sleep(0.03)

    async def until_accepted(self, *which: Asked) -> None:
        """Wait until these are rows."""
        for one in which:
            if not one.accepted:
                await self.product.event("event.accepted", event_id=one.event_id)
                one.accepted = True

    async def check(self) -> None:
        """The end of all: deliver everything once more, then judge every thread."""
        await self.settled()
        self.side.doubled(False)
        self.side.replay(fully=True)
        await self.until_accepted(*self.asked)
        await self.settled()
        await unchanged_for(self.side, 0.6)
        problems = []
        for root in dict.fromkeys(a.root for a in self.asked if a.accepted):
            here = [a for a in self.asked if a.root == root and a.accepted]
            problems += judge(root, here, await self.side.shown(root))
        for one in self.asked:
            if one.root_words and (found := await self.side.roots(one.root_words)) != [one.root]:
                problems.append(f"{one.mark}: its thread was opened {len(found)} times")
        assert not problems, "\n".join(problems)
        left = [run for run in marks() if run in self.runs]
        left += [f"{run}: {pid}" for run, (pid, seen) in self.runs.items() if alive(pid, seen)]
        assert not left, f"processes of runs are left: {left}"
        self.check_rows()
        self.told = len(self.rows("SELECT id FROM run WHERE state = 'failed'"))
        scratch = self.folder / "data" / "scratch"
        assert not (scratch.is_dir() and list(scratch.iterdir())), "scratch folders are left"

    def check_rows(self) -> None:
        """What no thread shows: nothing waits, and no run was made more often than it may."""
        for query in (
            "SELECT * FROM turn WHERE state IN ('queued', 'running')",
            "SELECT * FROM outbox WHERE state NOT IN ('sent', 'dropped')",
            "SELECT * FROM run WHERE state = 'open'",
            "SELECT * FROM run WHERE attempt > 2 OR (can_write AND attempt > 1)",
        ):
            assert self.rows(query) == [], query

    def rows(self, query: str) -> list[Any]:
        """Look into the database; or, of a dead process, write to it (time is made to pass)."""
        with closing(sqlite3.connect(self.folder / "data" / "moot.sqlite")) as database, database:
            return database.execute(query).fetchall()


def judge(root: str, here: Sequence[Asked], posts: Sequence[Shown]) -> list[str]:
    """What is wrong with a thread: missing, doubled, out of order, left standing."""
    if not root:
        return [f"{one.mark}: its thread was never opened" for one in here]
    problems = []
    wanted = [(one, pattern) for one in here for pattern in one.wanted]
    names, seen = [], []
    for post in posts:
        if STATUS.search(post.text):
            problems.append(f"a status message stands in {root}: {post.text!r}")
        fits = [f"{one.mark} {w}" for one, w in wanted if re.search(w, post.text)]
        seen += ["told"] if TOLD.search(post.text) else fits
        problems += [
            f"{one.mark}: posted although it must not: {post.text!r}"
            for one in here
            for pattern in one.never
            if re.search(pattern, post.text)
        ]
    for one in here:
        gone = False
        for pattern in one.wanted:
            name = f"{one.mark} {pattern}"
            if name in seen:
                names.append(name)
            elif not gone:
                names.append("told")
                gone = one.rest_falls
                if one.cuts < (1 if one.once_only else 2):
                    problems.append(f"{one.mark}: not answered after {one.cuts} cuts: {pattern}")
    if names != seen:
        texts = "\n".join(f"    {p.text[:150]!r}" for p in posts)
        problems.append(f"{root}: wanted\n  {names}\n  seen\n  {seen}\n{texts}")
    return problems


def alive(pid: int, seen: float) -> bool:
    """Whether the process runs that was there at that time (a zombie does not)."""
    try:
        process = psutil.Process(pid)
        return process.create_time() < seen + 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def marks() -> list[str]:
    """The runs that any living process carries the mark of."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            found.append(process.environ().get("MOOT_RUN", ""))
    return found
