"""What people ask while Moot dies: each kind of question with the posts it must lead to."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from tests.crash.lane import REACH_S, Asked, Lane, Trigger

ANSWER = r"You asked:[\s\S]*{}"
MIDDLE = "This is what there is of it so far, and it goes on in a while: one two three."
SEATS = ("architect", "critic")
END = (r"^\W*synthesizer \(rehearsal\) · synthesis", r"^\W*Positions")
TABLE = "--with architect:rehearsal,critic:rehearsal --rounds 2"


class People:
    """Asks a lane's Moot. Every question has a mark of its own that its answer repeats."""

    def __init__(self, lane: Lane, rng: random.Random) -> None:
        self.lane = lane
        self.rng = rng
        self._count = 0
        self._held: list[Asked] = []

    def mark(self) -> str:
        self._count += 1
        return f"q{self._count:03d}q"

    async def _mention(self, mark: str, text: str, *wanted: str, **more: object) -> Asked:
        may_write = bool(more.get("once_only"))
        # Listed before it is said: the process may be dead before we hear that it was said.
        one = Asked(mark, "", "", wanted, **more)  # type: ignore[arg-type]
        self.lane.asked.append(one)
        one.root, one.event_id = await self.lane.side.mention(text, may_write=may_write)
        return one

    async def plain(self, sleep_s: float = 0.2, extra: str = "") -> Asked:
        """A mention that opens a thread."""
        mark = self.mark()
        text = f"{mark} why? @@rehearse sleep={sleep_s} {extra}@@"
        return await self._mention(mark, text, ANSWER.format(mark))

    async def follow_up(self, first: Asked, sleep_s: float = 0.2) -> Asked | None:
        """A reply in its thread; ``None`` while there is no thread to reply in."""
        if not self.lane.side.has_thread(first.root):
            return None
        mark = self.mark()
        one = Asked(mark, first.root, "", (ANSWER.format(mark),))
        self.lane.asked.append(one)
        text = f"{mark} and then? @@rehearse sleep={sleep_s}@@"
        one.event_id = await self.lane.side.reply(first.root, text)
        return one

    async def held(self) -> Asked:
        """A question whose answer stops in its middle, until ``release``."""
        mark = self.mark()
        text = f'{mark} @@rehearse until={self._go(mark)} text="{MIDDLE} The end of {mark}."@@'
        one = await self._mention(mark, text, f"The end of {mark}")
        self._held.append(one)
        return one

    def release(self, *which: Asked) -> None:
        """Let them (or all) go on to their end."""
        for one in which or self._held:
            self._go(one.mark).touch()

    def _go(self, mark: str) -> Path:
        return self.lane.folder / f"go-{mark}"

    async def growing(self) -> Asked:
        """An answer that is seen before it is whole: its message becomes the answer."""
        one = await self.held()
        async with asyncio.timeout(REACH_S):
            while self.lane.product.runs:
                if any("so far" in post.text for post in await self.lane.side.shown(one.root)):
                    break
                await asyncio.sleep(0.02)
        self.release(one)
        return one

    async def two(self) -> None:
        """A question, and another behind it in the same thread."""
        await self.follow_up(await self.plain())

    async def long(self) -> Asked:
        """An answer of several posts."""
        mark = self.mark()
        text = f"{mark} tell all @@rehearse lines=700@@"
        last = r"(?m)^line 700$"
        return await self._mention(mark, text, ANSWER.format(mark), last)

    async def pull(self, sleep_s: float = 0.2) -> Asked:
        """An answer that asks for more, what was found, and the follow-up's answer."""
        mark = self.mark()
        text = (
            f'{mark} who? @@rehearse text="Let me look for {mark}." sleep={sleep_s} '
            f'pull="memory: {mark} zebra"@@'
        )
        wanted = (
            f"(?m)^Let me look for {mark}",
            f"🔎.*{mark} zebra",
            f"You asked:[\\s\\S]*{mark} zebra",
        )
        return await self._mention(mark, text, *wanted)

    async def roundtable(self) -> Asked:
        """Two personas, two rounds, and a header that is edited on the way."""
        mark = self.mark()
        header = rf"Roundtable\W+(complete|partial)[\s\S]*{mark}"
        seats = [
            rf"^\W*{seat} \(rehearsal\) · round {number}/2" for number in (1, 2) for seat in SEATS
        ]
        text = f"roundtable: {mark} tabs? {TABLE}"
        return await self._mention(mark, text, header, *seats, *END, rest_falls=False)

    async def at_once(self) -> Asked:
        """Two personas in two rounds at once: the second is ready first, and waits for its turn."""
        mark = self.mark()
        header = rf"Roundtable\W+(complete|partial)[\s\S]*{mark}"
        seats = [
            rf"^\W*{seat} \(rehearsal\) · round {number}/2" for number in (1, 2) for seat in SEATS
        ]
        slow = '@@rehearse when="You are architect " sleep=0.6@@'
        text = f"roundtable: {mark} tabs? {slow} {TABLE} --mode parallel"
        return await self._mention(mark, text, header, *seats, *END, rest_falls=False)

    async def over_budget(self, trigger: Trigger) -> Asked:
        """A roundtable over its budget: it asks before it starts."""
        mark = self.mark()
        self.lane.arm(trigger)
        header = rf"Roundtable\W+complete[\s\S]*{mark}"
        text = f"roundtable: {mark} tabs? {TABLE} --budget 4000"
        return await self._mention(mark, text, header, *END, rest_falls=False)

    async def skipped(self) -> Asked:
        """A first speaker who would go on for ever, with children, and is skipped by its button."""
        mark = self.mark()
        hangs = '@@rehearse when="You are architect " stubborn child=600 setsid=600 hang@@'
        header = rf"Roundtable\W+partial[\s\S]*{mark}"
        critic = r"^\W*critic \(rehearsal\) · round 1/1"
        text = f"roundtable: {mark} tabs? {hangs} {TABLE.replace('2', '1')}"
        wanted = (header, "was skipped by", critic, *END)
        one = await self._mention(mark, text, *wanted, rest_falls=False)
        await self._press(one, "next:", "Next")
        return one

    async def command(self) -> Asked:
        """``/ask``: the thread does not exist before Moot's own post opens it."""
        mark = self.mark()
        asks = rf"asks:\W+{mark}"
        one = Asked(mark, "", "", (asks, ANSWER.format(mark)), root_words=f"{mark} by")
        self.lane.asked.append(one)
        one.event_id = await self.lane.side.command("ask", f"{mark} by command?")
        return one

    async def may_write(self, sleep_s: float = 0.3) -> Asked:
        """A run that may change files: begun once, whatever happens."""
        mark = self.mark()
        text = f"{mark} mend it @@rehearse sleep={sleep_s} write={mark}.txt@@"
        return await self._mention(mark, text, ANSWER.format(mark), once_only=True)

    async def stop(self) -> Asked:
        """A run that would go on for ever, with children, and is stopped by its button."""
        mark = self.mark()
        text = f"{mark} wait @@rehearse stubborn child=600 setsid=600 hang@@"
        never = (f"{mark} wait", "Moot was interrupted")
        one = await self._mention(mark, text, "Stopped by", never=never)

        await self._press(one, "stop:", "Stop")
        return one

    async def _press(self, one: Asked, action: str, label: str) -> None:
        async def button() -> bool:
            posts = await self.lane.side.shown(one.root)
            return any(found.startswith(action) for post in posts for found in post.buttons)

        async with asyncio.timeout(REACH_S):
            while not await button():
                await asyncio.sleep(0.02)
        await self.lane.side.press(one.root, label)
