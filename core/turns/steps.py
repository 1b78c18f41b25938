"""One step of a turn: from its pack, through its engine and session, to what it writes."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import structlog

from core.context.delta import Known, delta, learned
from core.context.pack import build_context_pack, receipt
from core.context.sections import BY_NAME, only_announced
from core.context.terms import terms_for
from core.control import Lease
from core.forecast import Expected
from core.minutes import stands
from core.model import (
    ContextPack,
    Conversation,
    EngineTraits,
    Outcome,
    PackFacts,
    PackRequest,
    Participant,
    Permission,
    Project,
    Run,
    RunState,
    Step,
    Turn,
)
from core.permissions import held_to, lowest
from core.pull import identity
from core.records import files, parked, runs, sessions
from core.records.files import Kept
from core.records.parked import Parked
from core.table import speaker
from core.tongue import ENGLISH, speaking
from core.turns.asked import say_held
from core.turns.asking import Sitting, session_key, ways_to_ask
from core.turns.budgets import in_all, may_open, note
from core.turns.files import FOLDER, Files
from core.turns.gather import Gather
from core.turns.house import House
from core.turns.in_run import Found, InRun, Resolve
from core.turns.made import OUT, Made, gather_made
from core.turns.patience import at_rest, below, choices, rests, who_else
from core.turns.putting import How, Question
from core.turns.requests import ruled_before
from core.turns.rounds import Teller, visible_of
from core.turns.saying import Closing
from core.turns.settle import close_step, open_step

log = structlog.get_logger()

_Own = tuple[Sitting, tuple[Kept, ...], Parked | None]


@dataclass(frozen=True, slots=True)
class Table:
    """One turn being worked on."""

    turn: Turn
    conversation: Conversation
    project: Project
    gather: Gather
    house: House
    cancel: asyncio.Event
    factors: Mapping[str, float]
    files: Files
    lease: Lease | None = None  # the slot of the step being taken
    found: dict[tuple[int, int], Found] = field(default_factory=dict[tuple[int, int], Found])

    async def expected(self, step: Step) -> Expected:
        """What is known of a step before the table talks: its pack, as it would be built now."""
        seat = speaker(self.turn, step, ())
        request = await self._request(step, seat)
        facts, (sitting, *_) = await self._facts(0, request)
        pack = build_context_pack(request, facts)
        traits = self._traits(seat)
        first = ways_to_ask(pack, request, traits, (), (), sitting.found)[0].pack
        # What is told to a session that knows everything but the new answers.
        again = delta(pack, learned(Known(), pack)).chars if sitting.kept else None
        past = await self.house.records.do(runs.past, seat.engine)
        return Expected(
            engine=seat.engine,
            chars=first.chars,
            tokens=receipt(first)["estimated_tokens"],
            budget_chars=request.budget_chars,
            again_chars=again,
            answer_chars=past.answer_chars,
            usd_per_char=past.usd_per_char,
        )

    async def take(self, step: Step, done: Sequence[Run]) -> None:
        """One step from its pack to its posts."""
        run_id = secrets.token_hex(8)
        scratch = self.house.policy.scratch / run_id
        bound = {"run": run_id, "turn": self.turn.id, "conversation": self.conversation.id}
        shelf = self.house.shelf
        kept = shelf.filling(run_id) if shelf else nullcontext()
        with structlog.contextvars.bound_contextvars(**bound), kept:
            try:
                await self._take(run_id, scratch, step, done)
            finally:
                await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def _take(self, run_id: str, scratch: Path, step: Step, done: Sequence[Run]) -> None:
        seat, chain = speaker(self.turn, step, done), _chain(done, step)
        request = await self._request(step, seat)
        if any(run.step == step and run.state in ("parked", "cut") for run in done):
            ruled = await self.house.records.do(ruled_before, self.turn.id, step)
            request = replace(request, ruled=ruled)
        if step.round >= self.turn.rounds:
            with speaking(ENGLISH):
                request = replace(request, positions=stands(self.turn, done))
        facts, (sitting, there, resting) = await self._facts(step.round, request)
        request, pack = await self._packed(request, facts, there, scratch)
        resolve = partial(self.gather.pulled, told=_whole(pack, sitting))
        pulled = await resolve(chain[-1].pulls) if chain else ()
        renewed = self.gather.renewed(step.round)
        found = self.found.setdefault((step.round, step.seat), {})
        if renewed:
            found.clear()
        found.update((identity(result.pull), result) for result in pulled if not result.failed)
        traits = self._traits(seat)
        smaller = _smaller(request, pack, facts)
        asking = ways_to_ask(
            pack, request, traits, chain, pulled, sitting.found, smaller, renewed=renewed
        )
        opened = time.time()

        def open_() -> bool:
            there = may_open(self.turn, step, seat.engine, self.house.purse, opened) and open_step(
                run_id,
                self.turn,
                step,
                seat,
                self.house.voice,
                # What is only allowed by people is noted when they allow it.
                can_write=request.permission in ("edit", "full"),
                permission=request.permission,
                receipt=receipt(asking[0].pack),
                pulled=pulled,
                asked_by=chain[-1].id if chain else "",
                now=opened,
            )
            if there:
                self._say_held(seat, request.permission, opened)
                sitting.open(asking[0], opened)
                sitting.drawing(item.pull.kind for item in pulled)
            return there

        opening = asyncio.ensure_future(self.house.records.do(open_))
        choosing = asyncio.ensure_future(choices(self.house, self.turn, seat.engine))

        async def row_is_there() -> None:
            # The row before the act: files are made meanwhile, a process is not.
            if not await opening:
                self.cancel.set()
                return
            log.debug("run.opened", engine=seat.engine, **asdict(step))
            self.house.progress.started(run_id, self.conversation, self.turn, step, seat)

        shown = 0
        try:
            in_run = self._in_run(run_id, request, found, resolve)
            if in_run is not None:
                in_run.drawing = sitting.drawing
                in_run.outdated = self.gather.out_of_date(step.round)
            how = How(run_id, step, scratch, request, sitting, in_run, row_is_there, resting)
            question = Question(
                self.turn, self.house, self.project, self._wanted, self.cancel, self.lease
            )
            outcome, fresh = await question.ask(how, asking)
        finally:
            shown = self.house.progress.ended(run_id)
            await asyncio.wait((opening, choosing))
        if not opening.result():
            self.cancel.set()
            return
        closing = Closing(
            run_id,
            self.turn,
            step,
            seat,
            outcome,
            (*(result.pull for result in found.values()), *(p for run in chain for p in run.pulls)),
            fresh or sitting.fresh,
            self.house.policy.max_followups,
            told_back=any(run.faults for run in chain),
            others=await who_else(self.house, seat.engine, outcome),
            rests=rests(self._traits(seat), outcome, time.time()),
            made=await self._made(run_id, scratch, outcome),
            below=below(self.house, choosing.result(), self._modelled(seat), opened),
            shown=shown,
        )
        teller = Teller(self.project, self.house.voice, time.time())

        def close() -> RunState:
            priced = sitting.priced(outcome)
            closed = close_step(replace(closing, outcome=priced), teller)
            sitting.settle(outcome, visible_of(outcome.text))
            if outcome.kind == "answered":
                parked.unpark(seat.engine, seat.model)
            used = in_all(priced, (usage for usage in how.spent if usage is not outcome.usage))
            purse = self.house.purse
            note(how.starts, run_id, self.turn, self._modelled(seat), used, purse, teller)
            return closed

        state = await self.house.records.insist(close)
        self.house.wake_delivery()
        log.info(
            "run.closed",
            engine=seat.engine,
            state=state,
            outcome=outcome.kind,
            hop=step.hop,
            pack_chars=asking[0].pack.chars,
            seconds=round(time.time() - opened, 2),
            input_tokens=outcome.usage.input_tokens,
            output_tokens=outcome.usage.output_tokens,
        )

    async def _made(self, run_id: str, scratch: Path, outcome: Outcome) -> Made | None:
        """What the run made for people, copied to where it waits for its post."""
        terms = self.house.policy.out
        if terms is None or outcome.kind not in ("answered", "empty"):
            return None
        takes = self.house.limits(self.conversation.key.chat)
        made = await asyncio.to_thread(
            gather_made, visible_of(outcome.text), scratch, run_id, terms, takes.file_bytes
        )
        return replace(made, per_post=takes.files)

    async def _packed(
        self, request: PackRequest, facts: PackFacts, there: Sequence[Kept], scratch: Path
    ) -> tuple[PackRequest, ContextPack]:
        """The pack, with the files of what it tells fetched into the run's own folder.

        ``there`` are the files of the conversation.
        """
        if self._may_make(request):
            request = replace(request, out_folder=str(scratch / OUT))
        pack = build_context_pack(request, facts)
        if not there:
            return request, pack
        traits = self._traits(request.participant)
        reads = traits is None or traits.reads_files
        brought = await self.files.bring(
            there, pack, scratch, self.cancel, reads=reads, budget_chars=request.budget_chars
        )
        folder = str(scratch / FOLDER) if reads else ""
        request = replace(request, files=brought, files_folder=folder)
        return request, build_context_pack(request, facts)

    def _may_make(self, request: PackRequest) -> bool:
        """Whether the run has a folder for files for people: where it may write, with tools."""
        traits = self._traits(request.participant)
        able = request.permission != "plan" and (traits is None or traits.reads_files)
        return able and self.house.policy.out is not None and self.house.policy.files.enabled

    async def _request(self, step: Step, seat: Participant) -> PackRequest:
        table = self.turn.kind == "roundtable"
        policy, traits = self.house.policy, self._traits(seat)
        permission = self._permission(seat)
        local = traits is not None and traits.local
        terms = terms_for(policy.terms, self.turn, self.conversation, seat, runs_local=local)
        return PackRequest(
            prompt=self.turn.prompt,
            prompt_message_id=self.turn.prompt_message_id,
            about=await self.gather.about(self.turn),
            participant=seat,
            asker=self.turn.asker,
            persona_text=await self.gather.persona(seat),
            mode=self.turn.mode,
            budget_chars=terms.budget_chars,
            budget_tokens=terms.budget_tokens,
            budget_from=terms.budget_from,
            token_factor=self.factors.get(seat.engine, 1.0),
            delivery=terms.delivery,
            variant=terms.variant,
            max_per_message_chars=policy.max_per_message_chars,
            topic=self.turn.prompt if table else "",
            round=step.round,
            rounds=self.turn.rounds if table else 0,
            order=self.turn.rules.order,
            permission=permission,
            can_pull=step.hop < policy.max_followups,
            pull_kinds=self.gather.pull_kinds,
            in_run=await self._pulls_in_run(seat),
        )

    @property
    def _wanted(self) -> Permission:
        """What channel, asker and table allow."""
        table = self.house.policy.roundtable if self.turn.kind == "roundtable" else None
        wanted = lowest(self.project.permission, self.turn.permission, table) or "plan"
        return "plan" if wanted == "ask" and not self.house.policy.attended else wanted

    def _permission(self, seat: Participant) -> Permission:
        """What a run of this seat may do: what is allowed, or less where that is all it can."""
        traits = self._traits(seat)
        held = None if traits is None else held_to(self._wanted, traits.permissions)
        return held or self._wanted

    def _say_held(self, seat: Participant, held: Permission, now: float) -> None:
        """An engine that cannot be held to what is allowed may do less; its thread is told once."""
        if held != self._wanted:
            able = [
                name
                for name, e in self.house.engines.items()
                if self._wanted in e.traits.permissions
            ]
            say_held(self.turn, seat.engine, (self._wanted, held), able, self.house.voice, now)

    def _modelled(self, seat: Participant) -> Participant:
        """With the model that the settings name, where the question named none."""
        terms = self.house.policy.terms.engines.get(seat.engine)
        return seat if seat.model or terms is None else replace(seat, model=terms.model)

    def _traits(self, seat: Participant) -> EngineTraits | None:
        engine = self.house.engines.get(seat.engine)
        return engine.traits if engine is not None else None

    async def _facts(self, round_number: int, request: PackRequest) -> tuple[PackFacts, _Own]:
        """The facts of a round, with what was found only where the pack is to tell it."""
        tells = not only_announced(BY_NAME["retrieval"], request)
        return await self.gather.facts(round_number, self._own(request), tells=tells)

    def _own(self, request: PackRequest) -> Callable[[], _Own]:
        """What a step reads beside the facts: its session, files, whether its engine rests."""
        find, seat = self._sitting(request), request.participant
        traits = self._traits(seat)
        return lambda: (
            find(),
            files.of_conversation(self.conversation.id),
            at_rest(seat.engine, seat.model, traits),
        )

    def _sitting(self, request: PackRequest) -> Callable[[], Sitting]:
        """Finds the participant's session here, if sessions are kept; for the records' thread."""
        traits = self._traits(request.participant)
        key = session_key(request, self.turn, self.project.path, traits)
        if key is None or not self.house.policy.sessions:
            return lambda: Sitting(None, None)
        return lambda: Sitting(key, sessions.find(key), trusted=self.turn.asker_trusted)

    async def _pulls_in_run(self, seat: Participant) -> bool:
        engine = self.house.engines.get(seat.engine)
        if engine is None or not engine.traits.in_run_pull or self.house.pulls is None:
            return False
        return bool(self.gather.pull_kinds) and await self.house.pulls.ready()

    def _in_run(
        self, run_id: str, request: PackRequest, found: Found, resolve: Resolve
    ) -> InRun | None:
        if not request.in_run:
            return None
        return InRun(
            run_id,
            request,
            resolve,
            self.house.records,
            found,
            max_pulls=self.house.policy.max_in_run,
            left_chars=request.budget_chars,
        )


def _whole(pack: ContextPack, sitting: Sitting) -> frozenset[int]:
    """The messages that the agent has before it with nothing left out, now or from before."""
    before = sitting.found.known.messages if sitting.found else dict[int, tuple[str, str]]()
    return frozenset(
        piece.id
        for piece in pack.conversation
        if piece.whole in (piece.shown, *before.get(piece.id, ("", ""))[1:])
    )


def _smaller(request: PackRequest, pack: ContextPack, facts: PackFacts) -> ContextPack | None:
    """A pack of half the size, should a local model hold less than was thought (C125)."""
    half = request.budget_chars // 2
    if request.variant != "light" or pack.chars <= half:
        return None
    return build_context_pack(replace(request, budget_chars=half, budget_from="reduced"), facts)


def _chain(done: Sequence[Run], step: Step) -> tuple[Run, ...]:
    """The answered hops before ``step``, in order."""
    return tuple(
        run
        for hop in range(step.hop)
        for run in done
        if run.step == Step(step.round, step.seat, hop) and run.state == "answered"
    )
