"""What one run asks people for: from the engine's request to the engine's being told."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace

import structlog

from core.context.frame import one_line
from core.control import Lease
from core.model import Asked, EngineEvent, EngineRequest, Ruling, Step, Turn, Verdict
from core.records import asked as rows
from core.tongue import say, to_say
from core.turns import asked as posts
from core.turns.asking import Sitting
from core.turns.house import House

log = structlog.get_logger()

NOTICED_S = 1.0
MAX_WAITING = 30  # of one run at once: more than people can tell apart in a thread
MAX_ASKED = 200  # of one run in all
WITHDRAWN = to_say("the agent asks for it no more")


@dataclass(frozen=True, slots=True)
class _Gone:
    """The engine took a request back."""

    engine_id: str


class Requests:
    """The requests of one run while its process lives.

    Everything is done in the order in which it happens, by one task; a row comes before the post,
    and the row says that the engine is told before it is.

    Args:
        lease: the run's slot, which others may have while people are asked.
        sitting: the engine session that leave "for this session" belongs to.
    """

    def __init__(
        self,
        run_id: str,
        turn: Turn,
        step: Step,
        sitting: Sitting,
        house: House,
        lease: Lease | None,
    ) -> None:
        self.verdicts: asyncio.Queue[Verdict] = asyncio.Queue()
        self._run_id, self._turn, self._step = run_id, turn, step
        self._sitting, self._house, self._lease = sitting, house, lease
        self._happened: asyncio.Queue[EngineRequest | _Gone | int] = asyncio.Queue()
        self._waiting: dict[int, EngineRequest] = {}  # by their numbers

    def event(self, event: EngineEvent) -> None:
        """The engine asks, or asks no more. Any other event is none of ours."""
        if event.kind == "request" and event.request is not None:
            self._happened.put_nowait(event.request)
        elif event.kind == "withdrawn":
            self._happened.put_nowait(_Gone(event.id))

    @contextlib.asynccontextmanager
    async def at_work(self) -> AsyncGenerator[None]:
        """Requests are taken and answered until the block ends, which is when the run is over."""
        if self._lease is not None:
            await self._lease.take_back()  # where an earlier attempt had lent it
        self._house.desk.admit(self._run_id, self._happened.put_nowait)
        work = asyncio.ensure_future(self._work())
        over = False  # it stays so when Moot itself ends: what waits is kept for its next start
        try:
            yield
            over = True
        finally:
            self._house.desk.dismiss(self._run_id)
            work.cancel()
            await asyncio.wait((work,))
            if over and self._waiting:
                await self._house.records.insist(self._withdraw, time.time())
                self._house.wake_delivery()

    def _withdraw(self, now: float) -> None:
        posts.withdraw_run(self._run_id, say("the run is over"), self._house.voice, now)

    async def _work(self) -> None:
        while True:
            happened = await self._happened.get()
            try:
                match happened:
                    case int():
                        await self._ruled(happened)
                    case _Gone():
                        await self._gone(happened.engine_id)
                    case EngineRequest():
                        await self._asked(happened)
            except Exception:  # the run must not wait for what nobody can be asked
                log.exception("request.broke", run=self._run_id)
                if isinstance(happened, EngineRequest):
                    note = "Moot could not ask anybody: an error of its own"
                    self.verdicts.put_nowait(Verdict(happened.id, "deny", by="Moot", note=note))

    async def _asked(self, request: EngineRequest) -> None:
        asked = await self._house.records.do(self._take, request, time.time())
        if asked is None:
            return
        if isinstance(asked, Verdict):
            log.warning("request.too_many", run=self._run_id)
            self.verdicts.put_nowait(asked)
            self._house.wake_delivery()
            return
        log.info("request.asked", run=self._run_id, number=asked.id, state=asked.state)
        if asked.state != "waiting":
            self.verdicts.put_nowait(verdict_of(asked))
            return
        self._waiting[asked.id] = request
        self._show()
        self._house.wake_delivery()
        if self._lease is not None:
            self._lease.lend()

    def _take(self, request: EngineRequest, now: float) -> Asked | Verdict | None:
        """One transaction: what was decided before holds; else it is put to the thread.

        The verdict, with no row, of one too many.
        """
        if rows.of_run(self._run_id, request.id) is not None or not rows.at_work(self._run_id):
            return None  # told twice, or stopped meanwhile: its process is being ended
        session = self._sitting.row
        for earlier in rows.ruled_before(self._turn.id, self._step):
            if earlier.fingerprint == rows.fingerprint(request):
                asked = rows.take_over(earlier, self._run_id, session, request)
                rows.telling(asked, now)
                return asked
        grant = rows.granted(session, request.scope) if request.kind == "permission" else None
        if grant is None and (why := self._too_many()):
            posts.say_too_many(self._turn, self._run_id, self._house.voice, now)
            return Verdict(request.id, "deny", by="Moot", note=why)
        asked = rows.ask(self._run_id, session, request, now)
        if grant is None:
            posts.post(asked, self._house.voice, now)
            return asked
        rows.rule(asked.id, Ruling("once", by=grant.by, note=rows.BY_GRANT), now)
        asked = replace(asked, state="once", by=grant.by, note=rows.BY_GRANT)
        rows.telling(asked, now)
        return asked

    def _too_many(self) -> str:
        """Why people are not asked for anything more now, for the agent; "": they may be."""
        if rows.count_put(self._run_id) >= MAX_ASKED:
            return f"people were asked {MAX_ASKED} times in this run: go on without asking"
        if len(self._waiting) >= MAX_WAITING:
            return f"{MAX_WAITING} requests wait for people already: go on when they are decided"
        return ""

    async def _ruled(self, number: int) -> None:
        if number not in self._waiting:
            return
        if self._lease is not None:  # it goes on, also where other requests of it still wait
            await self._have_slot(self._lease)
        asked = await self._house.records.insist(self._tell, number, time.time())
        self._waiting.pop(number, None)
        self._show()
        if asked is not None:
            log.info("request.told", run=self._run_id, number=number, state=asked.state)
            self.verdicts.put_nowait(verdict_of(asked))

    async def _have_slot(self, lease: Lease) -> None:
        """Take the slot back; where that takes its time, the status says so."""
        back = asyncio.ensure_future(lease.take_back())
        try:
            await asyncio.wait((back,), timeout=NOTICED_S)
            if not back.done():
                told = say("decided, waiting for a free slot")
                self._house.progress.waits(self._run_id, told)
            await back
        finally:
            back.cancel()

    def _tell(self, number: int, now: float) -> Asked | None:
        asked = rows.find(number)
        if asked is None or asked.state not in rows.RULED:
            return None
        rows.telling(asked, now)
        return asked

    async def _gone(self, engine_id: str) -> None:
        def withdraw() -> int:
            asked = rows.of_run(self._run_id, engine_id)
            if asked is None:
                return 0
            ruling = Ruling("withdrawn", note=say(WITHDRAWN))
            posts.settle(asked, ruling, self._house.voice, time.time())
            return asked.id

        number = await self._house.records.insist(withdraw)
        if number:
            self._waiting.pop(number, None)
            self._house.wake_delivery()
            self._show()
            if not self._waiting and self._lease is not None:
                await self._have_slot(self._lease)

    def _show(self) -> None:
        told = [
            say(text, numbers=", ".join(f"#{number}" for number in numbers))
            for text, kind in (
                (to_say("waiting for your decision: {numbers}"), "permission"),
                (to_say("waiting for your answer: {numbers}"), "question"),
            )
            if (numbers := [n for n, one in self._waiting.items() if one.kind == kind])
        ]
        self._house.progress.waits(self._run_id, ", ".join(told))


def verdict_of(asked: Asked) -> Verdict:
    """What an engine is told of a request that was decided."""
    match asked.state:
        case "answer":
            return Verdict(asked.request.id, "answer", asked.answers, asked.by, asked.note)
        case "once" | "session":
            return Verdict(asked.request.id, asked.state, by=asked.by, note=asked.note)
        case "expired":
            did = "answered" if asked.request.kind == "question" else "decided"
            return Verdict(asked.request.id, "deny", by="Moot", note=f"nobody {did} in time")
        case _:
            return Verdict(asked.request.id, "deny", by=asked.by, note=asked.note)


def ruled_before(turn_id: int, step: Step) -> tuple[str, ...]:
    """What was decided for a step while no process was there to hear it, for its next pack."""
    return tuple(_told(asked) for asked in rows.ruled_before(turn_id, step))


def _told(asked: Asked) -> str:
    request, by = asked.request, one_line(asked.by)
    why = f" ({one_line(asked.note, 300)})" if asked.note else ""
    if request.kind == "question":
        what = one_line(" / ".join(question.text for question in request.questions), 300)
        if asked.state == "answer":
            answers = "; ".join(", ".join(picked) for picked in asked.answers)
            return f"your question “{what}”: {by} answered “{one_line(answers, 2_000)}”"
        return f"your question “{what}”: nobody answers it{why}"
    what = f"{one_line(request.tool)}: {one_line(request.about, 300)}"
    match asked.state:
        case "once" | "session":
            return f"{what}: allowed by {by}{why}"
        case "expired":
            return f"{what}: denied, since nobody decided in time"
        case _:
            return f"{what}: denied by {by}{why}"
