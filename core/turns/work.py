"""What the blocks of an answer do to a team's records. Inside the transaction that settles a run.

Blocks propose, report and note; they never approve anything: a plan becomes active, a finding is
closed and a branch adopted by people only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.blocks import (
    FORMS,
    Agreed,
    ArtifactBlock,
    Block,
    Blocks,
    Consensus,
    FindingBlock,
    PlanBlock,
    SubtaskDone,
    Verdict,
    split_blocks,
)
from core.context.rules import rules
from core.errors import BadInput
from core.model import (
    Actor,
    Conversation,
    Decision,
    Finding,
    Origin,
    Participant,
    Project,
    Step,
    Subtask,
    Turn,
)
from core.records import filing, findings, ledger, plans, runs
from core.records.tables import ArtifactRow, DecisionRow, FindingRow, PlanRow
from core.table import positions
from core.tongue import say, say_many
from core.words import literal, seat_name


def apply_blocks(
    blocks: Blocks,
    *,
    turn: Turn,
    step: Step,
    conversation: Conversation,
    project: Project,
    message_id: int,
    seat: Participant,
    now: float,
) -> tuple[str, ...]:
    """Write what an answer's blocks say.

    Args:
        blocks: the answer, taken apart; positions in it are data of the run and change nothing.
        turn: what was asked.
        step: which step answered; a consensus counts only from a roundtable's synthesis.
        conversation: where.
        project: the project of its channel.
        message_id: the record of the answer (0: nothing of it is seen by people).
        seat: who answered.
        now: UTC seconds.

    Returns:
        What the thread is to be told, as Markdown, one notice each.
    """
    origin = Origin(project.name, conversation.id, message_id, turn.id)
    actor = Actor(f"agent:{seat.name}", seat.name)
    desk = _Desk(turn, step, origin, actor, now)
    told: list[str] = []
    for block in _meant(blocks):
        match block:
            case PlanBlock():
                told += desk.propose(block)
            case Verdict():
                told += desk.judge(block)
            case FindingBlock():
                told += desk.note([block])
            case ArtifactBlock():
                told += desk.keep(block)
            case SubtaskDone():
                told += desk.check_off(block)
            case Consensus():
                told += desk.settle(block)
            case _:
                pass  # a position
    return tuple(told)


def unread_text(name: str, faults: Sequence[str]) -> str:
    """What the thread is told when blocks could not be read and are not asked for again."""
    why = literal("; ".join(faults), 400)
    return say_many(
        "⚠️ A block that {name} wrote could not be read, so nothing came of it: {why}",
        "⚠️ {count} blocks that {name} wrote could not be read, so nothing came of it: {why}",
        len(faults),
        name=literal(name),
        why=why,
    )


def _meant(blocks: Blocks) -> list[Block]:
    """The blocks without those of an answer that quotes what agents are taught, word for word."""
    taught = [block for block in blocks.found if block in _TAUGHT]
    if all(isinstance(block, SubtaskDone) for block in taught):
        return list(blocks.found)
    return [block for block in blocks.found if block not in taught]


_TAUGHT = split_blocks("\n".join((rules((), "hosted"), rules((), "light"), *FORMS.values()))).found


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where one answer's blocks are worked on; each act returns notices."""

    turn: Turn
    step: Step
    origin: Origin
    actor: Actor
    now: float

    def propose(self, block: PlanBlock) -> list[str]:
        if any(row.title == block.title for row in filing.made_in(PlanRow, self.origin)):
            return []  # written again in a follow-up
        plan = plans.propose(
            self.origin,
            block.title,
            phase=block.phase,
            document=block.document,
            subtasks=[Subtask(0, task.title, owner=task.owner) for task in block.subtasks],
            by=self.actor,
            now=self.now,
        )
        count = len(plan.subtasks)
        return [
            (
                say(
                    "📋 **Plan {number}** proposed by {who}: {title} ({subtasks}). "
                    "`!plan show {number}` shows it; `!plan approve {number}` or "
                    "`!plan reject {number}` decides.",
                    number=plan.number,
                    who=self._who,
                    title=literal(plan.title, 120),
                    subtasks=say_many("{count} subtask", "{count} subtasks", count),
                )
            )
        ]

    def judge(self, block: Verdict) -> list[str]:
        noted = self._noted(block.findings)
        plan = plans.active_plan(self.origin.conversation_id)
        about = ""
        if plan is not None:
            about = say(" on plan {number}", number=plan.number)
            filing.write_audit(
                "plan",
                plan.number,
                f"verdict: {block.verdict}",
                self.actor,
                self.now,
                self.origin.project,
                self.origin.conversation_id,
            )
        lines = [
            say(
                "⚖️ **Verdict{about}: {verdict}**, by {who}",
                about=about,
                verdict=block.verdict,
                who=self._who,
            )
        ]
        lines[0] += f": {literal(block.summary, 300)}" if block.summary else ""
        return ["\n".join([*lines, *_listed(noted)])]

    def note(self, blocks: Sequence[FindingBlock]) -> list[str]:
        noted = self._noted(blocks)
        return (
            ["\n".join([say("🔎 Noted by {who}:", who=self._who), *_listed(noted)])]
            if noted
            else []
        )

    def keep(self, block: ArtifactBlock) -> list[str]:
        if any(row.title == block.title for row in filing.made_in(ArtifactRow, self.origin)):
            return []
        kept = findings.add_artifact(
            self.origin, block.title, block.text, line=block.line, by=self.actor, now=self.now
        )
        return [
            (
                say(
                    "📎 **Artifact {number}** by {who}: {title}. "
                    "`!artifact show {number}` shows it.",
                    number=kept.number,
                    who=self._who,
                    title=literal(kept.title, 120),
                )
            )
        ]

    def check_off(self, block: SubtaskDone) -> list[str]:
        plan = plans.active_plan(self.origin.conversation_id)
        if plan is None:
            return [
                (
                    say(
                        "{who} reports a subtask as done, but no plan is active in this thread: "
                        "`!plan` lists the plans.",
                        who=self._who,
                    )
                )
            ]
        done: list[int] = []
        told: list[str] = []
        for number in dict.fromkeys(block.numbers):
            try:
                plan = plans.set_subtask(plan, number, state="done", by=self.actor, now=self.now)
                done.append(number)
            except BadInput as error:
                told.append(str(error))
        if done:
            names = ", ".join(str(number) for number in done)
            told.insert(
                0,
                say(
                    "✅ Plan {number}: subtask {names} done, says {who} ({settled} of {count}).",
                    number=plan.number,
                    names=names,
                    who=self._who,
                    settled=plan.settled,
                    count=len(plan.subtasks),
                ),
            )
        return told

    def settle(self, block: Consensus) -> list[str]:
        end = self.turn.synthesis
        if self.turn.kind != "roundtable" or (self.step.round, self.step.seat) != (
            end.round,
            end.seat,
        ):
            return [
                (
                    say(
                        "A consensus that {who} wrote was not taken into the ledger: only the "
                        "synthesis of a roundtable settles anything.",
                        who=self._who,
                    )
                )
            ]
        one = len(block.decisions) == 1
        settled = [self._decide(agreed, one=one) for agreed in block.decisions]
        lines = [_settled(decision) for decision in settled if decision is not None]
        return (
            ["\n".join([say("🤝 **Settled** (`!decisions` lists the ledger):"), *lines])]
            if lines
            else []
        )

    @property
    def _who(self) -> str:
        return literal(self.actor.name, 60)

    def _noted(self, blocks: Sequence[FindingBlock]) -> list[Finding]:
        known = {row.text for row in filing.made_in(FindingRow, self.origin)}
        return [
            findings.add_finding(
                self.origin,
                block.text,
                category=block.category,
                severity=block.severity,
                by=self.actor,
                now=self.now,
            )
            for block in blocks
            if block.text not in known
        ]

    def _decide(self, agreed: Agreed, *, one: bool) -> Decision | None:
        made = [row for row in filing.made_in(DecisionRow, self.origin) if not row.superseded_by]
        if any((row.axis, row.decision) == (agreed.axis, agreed.decision) for row in made):
            return None
        return ledger.decide(
            self.origin,
            agreed.axis,
            agreed.decision,
            stances=self._stances(agreed, one=one),
            confidence=agreed.confidence,
            by=self.actor,
            now=self.now,
        )

    def _stances(self, agreed: Agreed, *, one: bool) -> list[tuple[str, str]]:
        """Who agreed. A participant's own position counts more than what the synthesis says of it.

        With several decisions only the synthesis tells the axes apart, so it goes first there.
        Whoever did not sit at the table is not named.
        """
        seats = self.turn.seats
        own = positions(self.turn, runs.runs_of(self.turn.id))
        told = {who.strip().casefold(): stance for who, stance in agreed.stances.items()}
        stances: list[tuple[str, str]] = []
        for number, seat in enumerate(seats):
            said = own[number].stance if number in own else None
            whole = seat_name(seat)
            claimed = told.get(whole.casefold()) or told.get(seat.name.casefold())
            stance = (said or claimed) if one else (claimed or said)
            alone = sum(other.name == seat.name for other in seats) == 1
            if stance:
                stances.append((seat.name if alone else whole, stance))
        return stances


def _listed(found: Sequence[Finding]) -> list[str]:
    return [
        say(
            "- finding {number} ({severity}, {category}): {text}",
            number=f.number,
            severity=f.severity,
            category=literal(f.category, 40),
            text=literal(f.text, 200),
        )
        for f in found
    ]


def _settled(decision: Decision) -> str:
    line = f"- **{decision.number}** {literal(decision.axis)}: {literal(decision.decision, 300)}"
    if decision.stances:
        line += f" ({', '.join(f'{literal(name, 40)}: {s}' for name, s in decision.stances)})"
    if not decision.supersedes:
        return line
    return line + say("; supersedes {number}", number=decision.supersedes)
