"""The summariser: works in the background, one pass at a time, when nobody waits for a slot.

A pass takes some older messages of one conversation through the same pack and the same supervisor
as any question, as a row before it is a process. When no engine is to be used, or it fails, an
extract stands in; once the engine can be asked again, its summary takes the extract's place.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

import structlog

from core.context.pack import build_context_pack, receipt
from core.control import Slots
from core.engines.process import end_leftover, run
from core.memory.topics import CONTEXT_TASK, TASK, BadSummary, extract, merge, parse, parse_lines
from core.model import (
    EXTRACT,
    Candidate,
    ContextPack,
    EngineTask,
    Limits,
    Message,
    Outcome,
    PackFacts,
    PackRequest,
    Participant,
    ProjectFacts,
    Topic,
    Usage,
)
from core.ports import Engine
from core.records import messages, topics, usage
from core.records.thread import CannotWrite, Records
from core.records.usage import Purse
from core.spending import Subject

log = structlog.get_logger()

FROM_MESSAGES = 12  # the newest so many are never summarised: from then on there is an older part
AT_LEAST = 6  # messages that make a pass worth it
AT_MOST = 40  # messages of one pass
SPAN_CHARS = 24_000  # of one pass; a local model gets a third
PASSES = 3  # of an engine for one conversation at a time: the newest part first
LIMITS = Limits(idle_s=120.0, total_s=240.0)
BUDGET_CHARS = 40_000
KNOWN_TITLES = 40  # of the newest topics: what an engine may go on with
POLL_S = 10.0
BACKOFF_S = 60.0
MAX_BACKOFF_S = 3_600.0


@dataclass(frozen=True, slots=True)
class By:
    """Who summarises: an engine (``None``: never one), and the model to ask for ("" = its own)."""

    engine: Engine | None = None
    model: str = ""


class Summariser:
    """``run`` until cancelled. It holds none of the slots, and asks only while one is free.

    ``findable``: what an engine writes in topics lends weight to its messages (decision 0079);
    ``context``: it also writes lines about messages, which are found by them (decision 0080).
    """

    def __init__(
        self,
        records: Records,
        by: By,
        *,
        scratch: Path,
        slots: Slots,
        purse: Purse = Purse(),  # noqa: B008 - frozen
        findable: bool = False,
        context: bool = False,
    ) -> None:
        self._findable = findable
        self._context = context
        self._records = records
        self._purse = purse
        self._by = by
        self._scratch = scratch
        self._slots = slots
        self._again_at = 0.0  # of the monotonic clock: not before then is the engine asked
        self._backoff_s = 0.0

    async def recover(self) -> None:
        """End what an earlier life left running; its messages are due as before."""
        for pass_id, pid, started in await self._records.do(topics.left_open):
            await end_leftover(pass_id, pid, started)
            await self._records.do(
                topics.fail_pass, pass_id, "cut", "Moot was interrupted", Usage(), time.time()
            )

    async def run(self) -> None:
        """Summarise what is due until cancelled."""
        while True:
            try:
                await self._work()
            except CannotWrite as error:  # a full disk: tried again at the next look
                log.warning("topics.not_written", error=str(error))
            except Exception:  # answers must go on without a memory
                log.exception("topics.broke")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await self._slots.given()  # something was said

    async def _free_slot(self, engine: str) -> None:
        """Wait until no question is waiting for what this pass takes of the host."""
        while not self._slots.room_for(engine):
            await self._slots.given()

    async def _work(self) -> None:
        due = await self._records.do(topics.find_due, redo=self._backoff_s > 0 and self._may_ask())
        for conversation in due.conversations:
            # What is left of a span that lost a message is told again, however little it is.
            await self._conversation(conversation, 1 if conversation in due.undone else AT_LEAST)
            await self._records.do(topics.note_redone, conversation)
        if due.conversations:
            await self._records.do(topics.note_done, due.newest)

    async def _conversation(self, conversation: int, at_least: int) -> None:
        for _ in range(PASSES):
            asks = self._may_ask() and await self._affords(conversation)
            span = await self._span(conversation, at_least, redo=asks)
            if not span or not await self._pass(conversation, span, at_least, asks=asks):
                return

    async def _span(self, conversation: int, at_least: int, *, redo: bool) -> list[Message]:
        """The messages of the next pass; empty when there are not enough."""
        span = await self._records.do(
            topics.unsummarised,
            conversation,
            keep=FROM_MESSAGES,
            at_least=at_least,
            limit=AT_MOST,
            redo=redo,
        )
        return _within(span, SPAN_CHARS // 3 if self._local else SPAN_CHARS)

    @property
    def _local(self) -> bool:
        return self._by.engine is not None and self._by.engine.traits.local

    def _may_ask(self) -> bool:
        return self._by.engine is not None and time.monotonic() >= self._again_at

    async def _affords(self, conversation: int) -> bool:
        """Whether no budget that a pass falls under is used up, or reserved by what people ask."""
        engine, purse = self._by.engine, self._purse
        if engine is None or not purse.budgets:
            return True

        def left() -> bool:
            key = messages.get_conversation(conversation).key
            channel = f"{key.chat}:{key.channel}"
            subject = Subject("", channel, purse.project_of(key), (engine.name,))
            found = usage.standings(purse, subject, time.time())
            return usage.spent(found, reserved=True) is None

        return await self._records.do(left)

    # --- one pass ------------------------------------------------------------------------

    async def _pass(
        self, conversation: int, span: Sequence[Message], at_least: int, *, asks: bool
    ) -> bool:
        """One pass, by the engine or else by extract; whether something was written."""
        engine = self._by.engine
        if asks and engine is not None:
            await self._free_slot(engine.name)
            if await self._ask(conversation, span, engine):
                self._backoff_s = 0.0
                return True
            self._backoff_s = min(max(BACKOFF_S, 2 * self._backoff_s), MAX_BACKOFF_S)
            self._again_at = time.monotonic() + self._backoff_s
            span = await self._span(conversation, at_least, redo=False)
            if not span:
                return False  # an extract stands in already
        pass_id = secrets.token_hex(8)
        made = await asyncio.to_thread(extract, _worth_reading(span))

        def write() -> bool:
            topics.open_pass(pass_id, conversation, EXTRACT, "", {}, time.time())
            return self._write(pass_id, span, made, Usage())

        written = await self._records.insist(write)
        self._log(conversation, pass_id, EXTRACT, span, made, written=written)
        return written

    async def _ask(self, conversation: int, span: Sequence[Message], engine: Engine) -> bool:
        """A pass by the engine, from its row to its topics; False when it came to nothing."""
        pass_id = secrets.token_hex(8)
        scratch = self._scratch / pass_id
        known = await self._records.do(topics.topics_of, conversation, KNOWN_TITLES)
        task = TASK + CONTEXT_TASK * self._context
        pack = summary_pack(engine, self._by.model, _worth_reading(span), known, str(scratch), task)
        shown = frozenset(pack.message_ids)
        # What the pack had no room for is not summarised by this pass; what no engine is to read
        # (the words of failed runs) is covered by having been left out.
        span = [m for m in span if m.id in shown or m.interrupted]
        await self._records.do(
            topics.open_pass,
            pass_id,
            conversation,
            engine.name,
            self._by.model,
            receipt(pack),
            time.time(),
        )
        used = Usage()
        try:
            await asyncio.to_thread(partial(scratch.mkdir, mode=0o700, parents=True))
            outcome = await self._run(engine, pass_id, pack, scratch)
            used = outcome.usage
            made = parse(outcome.text, _worth_reading(span), engine.name)
            about = parse_lines(outcome.text, _worth_reading(span)) if self._context else {}
            close = partial(self._close, pass_id, span, made, outcome.usage, about)
            written = await self._records.insist(close)
        except BadSummary as error:
            await self._fail(pass_id, str(error), used)
            return False
        except (OSError, _NoAnswer) as error:
            used = error.usage if isinstance(error, _NoAnswer) else Usage()
            await self._fail(pass_id, str(error), used)
            return False
        except asyncio.CancelledError:
            await asyncio.shield(self._fail(pass_id, "Moot was stopped", used, "cut"))
            raise
        except CannotWrite:  # an hour of a full disk
            raise
        except Exception:  # whatever an answer may set off: the engine is not asked in a loop
            log.exception("topics.pass_broke", summary=pass_id)
            await self._fail(pass_id, "an error inside Moot", used)
            return False
        finally:
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
        self._log(conversation, pass_id, engine.name, span, made, written=written)
        return True  # a stale one is no fault of the engine; the messages are still due

    async def _run(self, engine: Engine, pass_id: str, pack: ContextPack, scratch: Path) -> Outcome:
        async def on_spawn(pid: int, started: float) -> None:
            await self._records.do(topics.set_child, pass_id, pid, started)

        task = EngineTask(
            run_id=pass_id,
            context=pack.context,
            prompt=pack.prompt,
            cwd=str(scratch),
            scratch=str(scratch),
            permission="plan",
            model=self._by.model,
            passing=True,
        )
        outcome = await run(
            engine,
            task,
            on_event=lambda _: None,  # nobody watches
            on_spawn=on_spawn,
            limits=LIMITS,
            cancel=asyncio.Event(),
        )
        if outcome.kind != "answered":
            raise _NoAnswer(outcome)
        return outcome

    async def _fail(self, pass_id: str, error: str, used: Usage, state: str = "failed") -> None:
        log.warning("topics.failed", summary=pass_id, state=state, error=error[:200])

        def fail() -> None:
            topics.fail_pass(pass_id, state, error[:500], used, time.time())
            usage.note_pass(pass_id, used, state, self._purse.project_of, time.time())

        await self._records.do(fail)

    def _close(
        self,
        pass_id: str,
        span: Sequence[Message],
        made: Sequence[Topic],
        used: Usage,
        about: Mapping[int, str],
    ) -> bool:
        written = self._write(pass_id, span, made, used, about)
        usage.note_pass(pass_id, used, "answered", self._purse.project_of, time.time())
        return written

    def _write(
        self,
        pass_id: str,
        span: Sequence[Message],
        made: Sequence[Topic],
        used: Usage,
        about: Mapping[int, str] = MappingProxyType({}),
    ) -> bool:
        """Write a pass; the conversation's topics are read and merged in the same transaction."""
        return topics.close_pass(
            pass_id,
            span,
            lambda existing: merge(existing, made),
            used,
            time.time(),
            findable=self._findable,
            about=about,
        )

    def _log(
        self,
        conversation: int,
        pass_id: str,
        by: str,
        span: Sequence[Message],
        made: Sequence[Topic],
        *,
        written: bool,
    ) -> None:
        log.info(
            "topics.made" if written else "topics.stale",
            conversation=conversation,
            summary=pass_id,
            by=by,
            messages=len(span),
            topics=len(made),
        )


class _NoAnswer(Exception):
    """The engine's run did not end with an answer."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(f"{outcome.kind}: {outcome.detail}" if outcome.detail else outcome.kind)
        self.usage = outcome.usage


def summary_pack(
    engine: Engine,
    model: str,
    span: Sequence[Message],
    known: Sequence[Topic],
    folder: str,
    task: str = TASK,
) -> ContextPack:
    """What the engine is told: the messages as a conversation, the titles there are, the task."""
    titles = tuple(topic.title for topic in known if topic.made_by != EXTRACT)
    seat = Participant(engine.name, model=model)
    request = PackRequest(
        prompt=task,
        prompt_message_id=0,
        participant=seat,
        mode="standard",
        budget_chars=BUDGET_CHARS,
        can_pull=False,
        pull_kinds=(),
        delivery="push",
        variant="light" if engine.traits.local else "hosted",
    )
    facts = PackFacts(
        project=ProjectFacts("none: this is about the conversation only", folder),
        messages=tuple(span),
        message_count=len(span),
        seats=(seat,),
        sources={"compressed": Candidate(("Titles that exist already:", *titles))}
        if titles
        else {},
    )
    return build_context_pack(request, facts)


def _within(span: Sequence[Message], chars: int) -> list[Message]:
    """The newest messages of ``span``, as many as have ``chars`` characters; one at least."""
    taken: list[Message] = []
    for message in reversed(span):
        chars -= min(len(message.text), 4_000)
        if chars < 0 and taken:
            break
        taken.append(message)
    return taken[::-1]


def _worth_reading(span: Sequence[Message]) -> list[Message]:
    """Without what failed and stopped runs said: error texts are nobody's words (C109, C135)."""
    return [message for message in span if not message.interrupted]
