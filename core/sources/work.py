"""A team's records in packs and Pulls: plan, findings, ledger, artifacts, linked threads, branches.

All are told as they may be seen from the scene's conversation (``core.records.scope``); texts of
messages are read from their rows each time, so what was erased is told nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from core.context.frame import cut_head, hang
from core.context.speakers import message_label
from core.keywords import tokens
from core.model import (
    Artifact,
    Candidate,
    Conversation,
    Decision,
    Finding,
    Message,
    Offer,
    Plan,
    Pull,
    PulledResult,
    Scene,
    Subtask,
)
from core.pull import Ground
from core.records import filing, findings, ledger, links, messages, plans, scope
from core.records.search import search
from core.sources.port import Source
from core.sources.recall import excerpt, told

BULLET_CHARS = 700  # of a finding or decision in a pack; whoever wants all of it pulls it
MAX_BULLETS = 40
FIRST_DECISIONS = 12  # go before any finding, and into packs of every mode
MAX_LINKED = 5
LINKED_MESSAGES = 6  # of each linked conversation
INHERITED = 10
MAX_HITS = 8
MAX_RECENT = 30
_LOOKED_AT = 200
_SEVERE = {"critical": 0, "high": 1, "medium": 2, "low": 3}
_NUMBER = re.compile(r"(?:(plan|finding|artifact|decision)s?\s*)?#?\s*([0-9]{1,9})", re.IGNORECASE)


def offer(scene: Scene) -> Offer:
    """What the pack of a round may hold of the records."""
    here = scene.conversation.id
    if not filing.has_any(scene):
        return Offer()
    plan = plans.current_plan(here)
    found = {
        "plan": Candidate(plan_parts(plan), "<!-- pull:plan: all -->") if plan else None,
        "plan-doc": Candidate(blocks_of(plan.document), "<!-- pull:plan: document -->")
        if plan
        else None,
        "findings": _findings(scene),
        "artifacts": Candidate(_kept(scene), "<!-- pull:artifact: NUMBER -->"),
        "cross": _cross(scene),
        "inheritance": Candidate(_inherited(scene), "<!-- pull:sessions: last 20 -->"),
    }
    return Offer({name: one for name, one in found.items() if one and (one.parts or one.available)})


# --- plans ---------------------------------------------------------------------------------


def plan_parts(plan: Plan) -> tuple[str, ...]:
    """A plan without its document: a head, and one part a subtask."""
    state = plan.state if plan.state != "proposed" else "proposed, not approved by anybody"
    about = [state, *([f"phase: {plan.phase}"] if plan.phase else [])]
    about.append(f"{plan.settled} of {len(plan.subtasks)} subtasks settled")
    head = f"Plan {plan.number}: {hang(plan.title)} ({'; '.join(about)})"
    return (head, *(_subtask(task) for task in plan.subtasks))


def _subtask(task: Subtask) -> str:
    more = f"; owner: {task.owner}" if task.owner else ""
    more += f"; {task.progress}" if task.progress else ""
    return f"{task.number}. [{task.state}] {hang(task.title + more)}"


def blocks_of(document: str) -> tuple[str, ...]:
    """A Markdown document cut at its blank lines, fences kept whole."""
    ground, blocks, block = Ground(), list[str](), list[str]()
    for line in document.splitlines():
        ground.step(line)
        if line.strip() or ground.fence:
            block.append(line)
        elif block:
            blocks.append("\n".join(block))
            block = []
    return tuple([*blocks, "\n".join(block)] if block else blocks)


def _answer_plan(pull: Pull, scene: Scene) -> PulledResult:
    _, number = _numbered(pull.query)
    plan = plans.find_plan(scene, number) if number else plans.current_plan(scene.conversation.id)
    if plan is not None and not plan.withdrawn:
        text = "\n".join(plan_parts(plan))
        return PulledResult(pull, (f"{text}\n\n{plan.document}" if plan.document else text,))
    others = [p for p in plans.list_plans(scene) if not p.withdrawn][:MAX_BULLETS]
    if number or not others:
        return PulledResult(pull, (), "there is no such plan that may be seen from here")
    lines = [f"Plan {p.number} ({p.state}): {p.title}" for p in others]
    return PulledResult(pull, ("\n".join(lines),), "no plan in this thread; the project's plans:")


# --- findings, the ledger, artifacts -------------------------------------------------------


def _findings(scene: Scene) -> Candidate:
    """The newest of the ledger, open findings (the gravest first), older decisions: a bullet each.

    What was settled is in every later pack, so that nobody denies or replays it; yet a long ledger
    leaves room for what a review has just found.
    """
    decided = [d for d in ledger.list_decisions(scene, standing=True) if not d.withdrawn]
    opened = [f for f in findings.list_findings(scene, ("open",)) if not f.withdrawn]
    opened.sort(key=lambda f: _SEVERE[f.severity])
    ledger_lines = [decision_line(d) for d in decided[:MAX_BULLETS]]
    bullets = ledger_lines[:FIRST_DECISIONS]
    settled = len(bullets)
    bullets += _adopted(scene)
    bullets += [finding_line(f) for f in opened[:MAX_BULLETS]]
    bullets += ledger_lines[FIRST_DECISIONS:]
    return Candidate(tuple(bullets), "<!-- pull:finding: all -->", always=settled)


def decision_line(decision: Decision, room: int = BULLET_CHARS) -> str:
    """A decision as one bullet: axis, what, who stood how, when it superseded another."""
    stands = "settled" if not decision.superseded_by else f"superseded by {decision.superseded_by}"
    line = f"- decision {decision.number} ({stands}): {hang(decision.axis)}: "
    line += hang(_short(decision.decision, room, f"decision {decision.number}"))
    about = [f"{name}: {stance}" for name, stance in decision.stances]
    about.append(f"confidence {decision.confidence:.1f}")
    about += [f"message #{decision.origin.message_id}"] if decision.origin.message_id else []
    about += [f"supersedes decision {decision.supersedes}"] if decision.supersedes else []
    return f"{line} ({'; '.join(about)})"


def finding_line(finding: Finding, room: int = BULLET_CHARS) -> str:
    """A finding as one bullet."""
    about = f"{finding.state}, {finding.severity}, {finding.category}, by {finding.by}"
    text = hang(_short(finding.text, room, str(finding.number)))
    return f"- finding {finding.number} ({about}): {text}"


def _short(text: str, room: int, query: str) -> str:
    if len(text) <= room:
        return text
    kept = cut_head(text, room)
    return f"{kept} [{len(text) - len(kept):,} characters left out; pull finding: {query}]"


def _adopted(scene: Scene) -> Iterable[str]:
    """What branches of this conversation came to that were adopted: the last answer there."""
    for branch in links.branches_of(scene.conversation.id):
        said = links.outcome(branch) if branch.state == "adopted" else None
        if said is not None and scope.may_see(scene, branch.conversation_id):
            text = hang(excerpt(said, (), BULLET_CHARS))
            yield f"- adopted from branch {branch.id}, said by {message_label(said)}: {text}"


def _answer_finding(pull: Pull, scene: Scene) -> PulledResult:
    kind, number = _numbered(pull.query)
    if number and kind == "decision":
        decision = ledger.find_decision(scene, number)
        hits = [decision_line(decision, 10_000)] if decision and not decision.withdrawn else []
    elif number:
        finding = findings.find_finding(scene, number)
        hits = [finding_line(finding, 10_000)] if finding and not finding.withdrawn else []
    else:
        lines = [finding_line(f) for f in findings.list_findings(scene) if not f.withdrawn]
        lines += [decision_line(d) for d in ledger.list_decisions(scene) if not d.withdrawn]
        words = pull.query.strip().lower()
        hits = [
            line
            for line in lines
            if words in ("all", "list", "open", "decisions", "findings") or _alike(pull.query, line)
        ]
    return PulledResult(
        pull,
        tuple(hits[:MAX_BULLETS]),
        "" if hits else "there is no such finding or decision that may be seen from here",
    )


def _kept(scene: Scene) -> tuple[str, ...]:
    kept = [a for a in findings.list_artifacts(scene) if not a.withdrawn][:MAX_BULLETS]
    return tuple(artifact_line(artifact) for artifact in kept)


def artifact_line(artifact: Artifact) -> str:
    """An artifact as one bullet: title, one line, size; its text comes by Pull."""
    line = f": {artifact.line}" if artifact.line else ""
    size = f"{len(artifact.text):,} characters"
    return f"- artifact {artifact.number}: {hang(artifact.title + line)} ({size}, by {artifact.by})"


def _answer_artifact(pull: Pull, scene: Scene) -> PulledResult:
    _, number = _numbered(pull.query)
    if number:
        one = findings.find_artifact(scene, number)
        found = [one] if one and not one.withdrawn else []
    else:
        kept = [a for a in findings.list_artifacts(scene) if not a.withdrawn]
        found = [a for a in kept if _alike(pull.query, a.title)][:MAX_HITS]
    if not found:
        return PulledResult(pull, (), "there is no such artifact that may be seen from here")
    return PulledResult(pull, tuple(f"{artifact_line(a)[2:]}\n\n{a.text}" for a in found))


# --- conversations that belong together ----------------------------------------------------


def _cross(scene: Scene) -> Candidate | None:
    linked = links.linked(scene)[:MAX_LINKED]
    if not linked:
        return None
    parts = [
        told(message, conversation, scene, excerpt(message, (), BULLET_CHARS))
        for conversation in linked
        for message in messages.recent(conversation.id, LINKED_MESSAGES)
    ]
    total = sum(messages.count(conversation.id) for conversation in linked)
    threads = "1 linked thread" if len(linked) == 1 else f"{len(linked)} linked threads"
    available = f"{threads} with {total:,} message{'' if total == 1 else 's'}"
    return Candidate(tuple(parts), "<!-- pull:sessions: last 20 -->", available)


def _inherited(scene: Scene) -> tuple[str, ...]:
    """Of a branch: the message it forked at, then those before it, the nearest first."""
    branch = links.branch_of(scene.conversation.id)
    if branch is None or not scope.may_see(scene, branch.parent_id):
        return ()
    parent = messages.get_conversation(branch.parent_id)
    said = links.until(branch, INHERITED)
    parts = [told(m, parent, scene, excerpt(m, (), BULLET_CHARS * 2)) for m in reversed(said)]
    if said and said[-1].id == branch.message_id:
        parts[0] = f"[this thread branched off here] {parts[0]}"
    return tuple(parts)


def _answer_sessions(pull: Pull, scene: Scene) -> PulledResult:
    near = {c.id: c for c in _near(scene)}
    if not near:
        why = "no thread is linked with this one; a person can link some"
        return PulledResult(pull, (), why)
    recent = re.fullmatch(r"(?:last\s+)?([0-9]{1,4})|all|recent", pull.query.strip().lower())
    if recent:
        limit = max(1, min(int(recent[1] or MAX_HITS), MAX_RECENT) // len(near))
        said = [(m, c) for c in near.values() for m in messages.recent(c.id, limit)]
    else:
        hits = search(scene, pull.query, _LOOKED_AT)
        said = [(h.message, h.conversation) for h in hits if h.conversation.id in near][:MAX_HITS]
    terms = list(tokens(pull.query))
    found = tuple(told(m, c, scene, excerpt(m, terms)) for m, c in _in_order(said))
    return PulledResult(pull, found, "" if found else "nothing found in the linked threads")


def _near(scene: Scene) -> list[Conversation]:
    """Linked threads, the parent of a branch, and the branches of this thread, as may be seen."""
    here = scene.conversation.id
    branch = links.branch_of(here)
    others = [branch.parent_id] if branch else []
    others += [b.conversation_id for b in links.branches_of(here) if b.state != "discarded"]
    seen = [messages.get_conversation(one) for one in others if scope.may_see(scene, one)]
    return [*links.linked(scene), *seen]


def _in_order(
    said: Sequence[tuple[Message, Conversation]],
) -> list[tuple[Message, Conversation]]:
    return sorted(said, key=lambda one: (one[0].sent_at, one[0].id))


# --- queries -------------------------------------------------------------------------------


def _numbered(query: str) -> tuple[str, int]:
    """``("decision", 3)`` for "decision 3", ``("", 3)`` for "#3", ``("", 0)`` for other words."""
    one = _NUMBER.fullmatch(query.strip())
    return ((one[1] or "").lower(), int(one[2])) if one else ("", 0)


def _alike(query: str, text: str) -> bool:
    """Whether the text holds every word of the query."""
    wanted = set(tokens(query))
    return bool(wanted) and wanted <= set(tokens(text))


_ANSWERS = {
    "plan": _answer_plan,
    "artifact": _answer_artifact,
    "finding": _answer_finding,
    "sessions": _answer_sessions,
}


def answer(pull: Pull, scene: Scene) -> PulledResult:
    """What a Pull of one of the records' kinds brings."""
    return _ANSWERS[pull.kind](pull, scene)


SOURCE = Source(
    "work",
    "records",
    sections=("plan", "plan-doc", "findings", "artifacts", "cross", "inheritance"),
    kinds=tuple(_ANSWERS),
    offer=offer,
    answer=answer,
)
