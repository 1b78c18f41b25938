"""How a question is put to an engine: in full, as what is new to its session, or as a follow-up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from core.context.delta import Known, delta, learned
from core.context.faults import build_fault_followup
from core.context.followup import build_followup
from core.context.speakers import participant_label
from core.context.window import digest
from core.model import (
    ContextPack,
    EngineTask,
    EngineTraits,
    Outcome,
    PackRequest,
    PulledResult,
    Run,
    Turn,
)
from core.records import sessions
from core.records.sessions import EngineSession, SessionKey
from core.redact import redact

SPOKE = frozenset(("delta", "message", "thinking", "tool_start"))
"""Events that show that the engine's session has taken the question in."""
ROTATES = frozenset(("session-lost", "context-too-long"))
"""Outcomes of a session that goes on which a new one, with the full pack, may mend: once."""
IN_USE = {"moot": "in use", "terminal": "in a terminal"}
"""Why a session cannot be gone on with just now, though nothing is wrong with it."""
TOO_LONG = frozenset(("context-too-long",))


@dataclass(frozen=True, slots=True)
class Asking:
    """A way to put the question: a pack, and the engine session it goes to ("" = a new one).

    ``base`` is what that session knew before; ``follow_up`` says that the pack is no pack but what
    was pulled. ``mends`` are outcomes of the way before it after which this one is tried, and
    ``reduced`` says that it tells less.
    """

    pack: ContextPack
    resume: str = ""
    base: Known = field(default_factory=Known)
    follow_up: bool = False
    mends: frozenset[str] = frozenset()
    reduced: bool = False

    def of(self, task: EngineTask) -> EngineTask:
        """``task`` with this pack and session; what sources brought of secrets is not told."""
        context, prompt = redact(self.pack.context), redact(self.pack.prompt)
        return replace(task, context=context, prompt=prompt, resume=self.resume)


def ways_to_ask(
    pack: ContextPack,
    request: PackRequest,
    traits: EngineTraits | None,
    chain: Sequence[Run],
    pulled: Sequence[PulledResult],
    session: EngineSession | None = None,
    smaller: ContextPack | None = None,
    *,
    renewed: bool = False,
) -> tuple[Asking, ...]:
    """How to ask: in the session that goes on where there is one, else (or then) in a new one.

    What comes after the first way is tried when that failed in a way that it may mend.

    Args:
        pack: what is told when everything is told.
        request: what the pack was built for.
        traits: of the engine that is asked; ``None`` when there is no engine of that name.
        chain: the answered hops before this one, in order; empty for a first question.
        pulled: what the last of them asked for.
        session: the participant's session, where delta delivery is on.
        smaller: the same with a smaller budget, for a model that may hold little.
        renewed: a message was edited or deleted since the chain began: its session may hold it.
    """
    if not chain:
        less = (Asking(smaller, mends=TOO_LONG, reduced=True),) if smaller is not None else ()
        if session is None:
            return (Asking(pack), *less)
        new = replace(delta(pack, session.known), resumed=True)
        afresh = Asking(pack, mends=ROTATES)
        return (Asking(new, session.session, session.known), afresh, *less)
    earlier = "\n\n".join(run.answer for run in chain if run.answer)
    faults = chain[-1].faults
    afresh = Asking(
        replace(pack, prompt=_follow_up(request, pulled, faults, earlier)), mends=ROTATES
    )
    name = chain[-1].session
    if traits is None or not traits.resumes or not name or renewed:
        return (afresh,)
    base = session.known if session is not None and session.session == name else Known()
    brought = tuple(f"pulled {p.pull.kind}: {len(p.hits)} found" for p in pulled)
    short = replace(
        pack,
        reason="follow-up in the same session",
        # The folder is another one in each run.
        sections=tuple(section for section in pack.sections if section.name == "files"),
        conversation=(),
        message_ids=(),
        announced=(),
        dropped=(),
        resumed=True,
        prompt=_follow_up(request, pulled, faults),
        notes=brought,
    )
    return (Asking(short, name, base, follow_up=True), afresh)


def _follow_up(
    request: PackRequest,
    pulled: Sequence[PulledResult],
    faults: Sequence[str],
    earlier: str | None = None,
) -> str:
    """What the last answer asked for, and what was wrong with its blocks."""
    texts: list[str] = []
    if faults:
        texts.append(build_fault_followup(request, faults, earlier=None if pulled else earlier))
    if pulled or not faults:
        last = not request.can_pull
        texts.append(build_followup(request, pulled, last=last, earlier=earlier))
    return "\n\n".join(texts)


class Sitting:
    """One run's part in an engine session. Its methods run on the records' thread.

    What a session knows is noted when the run answered, and never before: until then it is as if
    nothing of what was sent had arrived, so a crash or a stop leads to more being sent, not less.

    Args:
        key: whose session it is; ``None`` where sessions are not kept (the engine has none, or the
            settings say so).
        found: the session that can be gone on with.
        trusted: whether a member asks, and not a guest: a guest's question goes to no session that
            was told what only members may draw from.

    ``fresh`` says, once the question is put, why it goes to a new session that is no first one
    (a key of ``core.words.FRESH``; "" = it does not).
    """

    def __init__(
        self, key: SessionKey | None, found: EngineSession | None, *, trusted: bool = False
    ) -> None:
        self._key = key
        self.found = None if found is not None and found.wide and not trusted else found
        self._trusted = trusted
        self._row = 0
        self._asking: Asking | None = None
        self._compacted = False
        self._spoke = False
        self.fresh = ""

    @property
    def row(self) -> int:
        """The record id of the session that the run is in (0: none is kept)."""
        return self._row

    @property
    def kept(self) -> bool:
        """Whether the participant goes on in its session from turn to turn."""
        return self._key is not None

    def open(self, asking: Asking, now: float) -> None:
        """The question is about to be put; this is written before the process exists."""
        self._asking = asking
        if self._key is None:
            return
        if not asking.resume:
            parent = self.found.session if self.found else ""
            self.fresh = sessions.FAILING if sessions.given_up(self._key) else ""
            known = Known().while_told(asking.pack)
            self._row = sessions.begin(self._key, parent, known, now)
        elif self.found is not None and asking.resume == self.found.session:
            known = asking.base if asking.follow_up else asking.base.while_told(asking.pack)
            self._row = self.found.id
            sessions.go_on(self._row, self._key, known, now)
        if sessions.of_others(asking.pack):
            self.drawing()

    def rotate(self, why: str, asking: Asking, now: float) -> None:
        """The session cannot be gone on with: the question goes to a new one.

        One that is only in use goes on with the next question; this one's is then gone on with by
        its own follow-ups only. Who works in a terminal may compact it or go back in it.
        """
        self._spoke = self._compacted = False
        if why in IN_USE.values():
            if self._row and self.found is not None and why == IN_USE["terminal"]:
                sessions.unsure(self._row, self.found.known.compacted())
            self._row, self._asking, self._key = 0, asking, None
            return
        if self._row:
            sessions.end(self._row, why)
        self.open(asking, now)

    def drawing(self, kinds: Iterable[str] = sessions.DRAWS) -> None:
        """It is about to be told what Pulls of these kinds bring."""
        if self._row and any(kind in sessions.DRAWS for kind in kinds):
            sessions.drew(self._row, wide=self._trusted)

    def heard(self, kind: str) -> None:
        """The engine said something (any thread)."""
        self._spoke = self._spoke or kind in SPOKE

    def named(self, name: str) -> None:
        """The engine told the session's id."""
        if self._row:
            sessions.named(self._row, name)

    def compacted(self) -> None:
        """The engine replaced its history by a summary: the next turn tells everything again."""
        self._compacted = True
        if self._row and self._asking is not None:
            sessions.unsure(self._row, self._after().compacted())

    def priced(self, outcome: Outcome) -> Outcome:
        """With what this run alone cost, where the engine told what its session came to.

        What cannot be told stays 0.
        """
        total, resume = outcome.usage.session_cost_usd, self._asking and self._asking.resume
        if not total:
            return outcome
        if resume:
            before = sessions.cost_before(self._row, resume)
            alone = 0.0 if before is None else max(total - before, 0.0)
            outcome = replace(outcome, usage=replace(outcome.usage, cost_usd=alone))
        if self._row:
            sessions.costs(self._row, total)
        return outcome

    def settle(self, outcome: Outcome, visible: str) -> None:
        """The run is over; ``visible`` is what it said."""
        if not self._row or self._asking is None or self._key is None:
            return
        if outcome.session:
            sessions.named(self._row, outcome.session)
        if outcome.kind == "answered" or (outcome.kind == "empty" and outcome.usage.output_tokens):
            own = digest(participant_label(self._key.seat), "", visible)
            known = self._after().with_own(own)
            sessions.learn(self._row, known.compacted() if self._compacted else known)
        elif outcome.kind in ROTATES:
            sessions.end(self._row, outcome.kind)
        elif outcome.kind == "cancelled":
            pass  # stopped, maybe before its first word: "go on" means this session (C114)
        elif not self._asking.resume and not self._spoke:
            sessions.end(self._row, "never answered")
        elif outcome.kind in ("crashed", "stalled"):
            sessions.failed(self._row)

    def _after(self) -> Known:
        """What the session knows once it has taken the question in."""
        assert self._asking is not None
        asking = self._asking
        return asking.base if asking.follow_up else learned(asking.base, asking.pack)


def session_key(
    request: PackRequest, turn: Turn, cwd: str, traits: EngineTraits | None
) -> SessionKey | None:
    """Whose session a request goes to; ``None`` where there can be none.

    Two seats that are the same participant would use one session at once: they get none.
    """
    seat = request.participant
    if traits is None or not traits.resumes or turn.seats.count(seat) > 1:
        return None
    return SessionKey(turn.conversation_id, seat, cwd, request.permission)
