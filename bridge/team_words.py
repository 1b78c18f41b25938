"""What Moot says about a team's records. Markdown; pure."""

from __future__ import annotations

from collections.abc import Sequence

from core.context.frame import cut_head
from core.model import Artifact, Conversation, Decision, Finding, Message, Plan, Subtask
from core.words import literal

SHOWN = 15
LINE_CHARS = 200
OUTCOME_CHARS = 1_500
TEXT_CHARS = 12_000
_TASK_MARKS = {"todo": "☐", "in-progress": "◐", "done": "☑", "abandoned": "☒"}
WITHDRAWN = "*withdrawn: the message it came from was deleted*"


def say_plans(found: Sequence[Plan]) -> str:
    """The list of plans, newest first."""
    if not found:
        return "No plan yet. `!plan new TITLE` makes one; subtasks go on further lines."
    return _listing([_plan_line(plan) for plan in found], "`!plan show N` shows one.")


def _plan_line(plan: Plan) -> str:
    if plan.withdrawn:
        return f"**{plan.number}** {WITHDRAWN}"
    count = f", {plan.settled} of {len(plan.subtasks)} done" if plan.subtasks else ""
    return f"**{plan.number}** {literal(plan.title, LINE_CHARS)} ({plan.state}{count})"


def say_proposed(plan: Plan) -> str:
    """Where the plan itself can be read just above."""
    count = len(plan.subtasks)
    tasks = f", with {count} subtask{'' if count == 1 else 's'}" if count else ""
    number = plan.number
    return f"Plan **{number}** is proposed{tasks}. `!plan approve {number}` makes it active."


def say_plan(plan: Plan, *, whole: bool = True) -> str:
    """A plan with its subtasks, and (``whole``) its document."""
    if plan.withdrawn:
        return f"Plan {plan.number}: {WITHDRAWN}"
    phase = f", {literal(plan.phase)}" if plan.phase else ""
    lines = [f"**Plan {plan.number}: {literal(plan.title, LINE_CHARS)}** ({plan.state}{phase})"]
    lines.append(f"by {literal(plan.by)}")
    lines += [""] if plan.subtasks else []
    lines += [_task_line(plan, task) for task in plan.subtasks]
    if plan.state == "proposed":
        lines += ["", f"`!plan approve {plan.number}` or `!plan reject {plan.number}`"]
    elif plan.state == "active" and plan.subtasks and plan.settled == len(plan.subtasks):
        lines += ["", f"All of it is done: `!plan done {plan.number}` closes the plan."]
    document = f"\n\n{_bounded(plan.document)}" if whole and plan.document.strip() else ""
    return "\n".join(lines) + document


def _task_line(plan: Plan, task: Subtask) -> str:
    owner = f" → {literal(task.owner)}" if task.owner else ""
    progress = f": {literal(task.progress)}" if task.progress else ""
    mark = _TASK_MARKS[task.state]
    title = literal(task.title, LINE_CHARS)
    return f"- {mark} {plan.number}.{task.number} {title}{owner}{progress}"


def say_findings(found: Sequence[Finding]) -> str:
    """The open findings, the gravest first, and how many are closed."""
    opened = [finding for finding in found if finding.state == "open" and not finding.withdrawn]
    closed = len(found) - len(opened)
    are = "is" if closed == 1 else "are"
    if not opened:
        more = f" {closed} {are} closed or withdrawn." if closed else ""
        return f"No open finding.{more} `!finding add [security/high] text` writes one down."
    order = ("critical", "high", "medium", "low")
    opened.sort(key=lambda finding: (order.index(finding.severity), finding.number))
    tail = "`!finding show N` shows one, `!finding close N` closes it."
    tail += (
        f" {closed} more {'is' if closed == 1 else 'are'} closed or withdrawn." if closed else ""
    )
    return _listing([finding_line(finding) for finding in opened], tail)


def finding_line(finding: Finding) -> str:
    """A finding on one line."""
    about = f"{finding.severity}, {literal(finding.category)}"
    return f"**{finding.number}** {literal(finding.text, LINE_CHARS)} ({about})"


def say_finding(finding: Finding) -> str:
    """A finding in full."""
    if finding.withdrawn:
        return f"Finding {finding.number}: {WITHDRAWN}"
    about = f"{finding.state}, {finding.severity}, {literal(finding.category)}"
    head = f"**Finding {finding.number}** ({about}), by {literal(finding.by)}"
    return f"{head}\n\n{_bounded(finding.text)}"


def say_artifacts(found: Sequence[Artifact]) -> str:
    """The list of artifacts, newest first."""
    if not found:
        return "No artifact yet. `!artifact add TITLE`, with the text on further lines, keeps one."
    lines = [
        f"**{one.number}** {literal(one.title, LINE_CHARS)} "
        f"({len(one.text):,} characters, by {literal(one.by)})"
        if not one.withdrawn
        else f"**{one.number}** {WITHDRAWN}"
        for one in found
    ]
    return _listing(lines, "`!artifact show N` shows one.")


def say_artifact(artifact: Artifact) -> str:
    """An artifact in full."""
    if artifact.withdrawn:
        return f"Artifact {artifact.number}: {WITHDRAWN}"
    head = f"**Artifact {artifact.number}: {literal(artifact.title, LINE_CHARS)}**"
    return f"{head}, by {literal(artifact.by)}\n\n{_bounded(artifact.text)}"


def say_decisions(found: Sequence[Decision]) -> str:
    """The ledger: what stands, and how many entries were superseded."""
    standing = [d for d in found if not d.superseded_by and not d.withdrawn]
    old = len(found) - len(standing)
    if not standing:
        return "Nothing is settled yet: roundtables write down what they agree on."
    lines = [
        f"**{d.number}** {literal(d.axis)}: {literal(d.decision, LINE_CHARS)}" for d in standing
    ]
    tail = "`!decisions show N` says who agreed."
    were = "earlier one was" if old == 1 else "earlier ones were"
    tail += f" {old} {were} superseded or withdrawn." if old else ""
    return _listing(lines, tail)


def say_decision(decision: Decision) -> str:
    """An entry of the ledger in full."""
    if decision.withdrawn:
        return f"Decision {decision.number}: {WITHDRAWN}"
    stands = f"superseded by {decision.superseded_by}" if decision.superseded_by else "stands"
    lines = [
        f"**Decision {decision.number}: {literal(decision.axis, LINE_CHARS)}** ({stands})",
        "",
        _bounded(decision.decision),
        "",
        *(f"- {literal(name)}: {stance}" for name, stance in decision.stances),
        f"- confidence {decision.confidence:.0%}, by {literal(decision.by)}",
    ]
    lines += [f"- supersedes {decision.supersedes}"] if decision.supersedes else []
    return "\n".join(lines)


def thread_line(conversation: Conversation, title: str, address: str) -> str:
    """A thread of a list: its number, what it began with, where it is."""
    name = literal(title, 120) or "a thread"
    where = f" · [open]({address})" if address else ""
    return f"**{conversation.id}** {name}{where}"


def say_links(linked: Sequence[str], suggested: Sequence[str]) -> str:
    """The linked threads, and some that could be; both as ``thread_line`` makes them."""
    text = "This thread is linked with none yet."
    if linked:
        text = "Linked with:\n\n" + _listing(linked, "`!unlink N` takes a link away.")
    if suggested:
        more = "These fit what this thread began with; `!link N` links one:"
        return f"{text}\n\n{more}\n\n" + "\n".join(f"- {line}" for line in suggested)
    return f"{text}\n\n`!link LINK-TO-A-THREAD` links one."


def branch_header(title: str, by: str, speaker: str, address: str) -> str:
    """The first post of a branch: where it comes from.

    What was said there is not quoted: a message that is deleted must not live on here.
    """
    parent = f"[another thread]({address})" if address else "another thread"
    return (
        f"🌿 **{literal(title, 120)}**\n\n"
        f"{literal(by)} branched off from {parent}, after what {literal(speaker)} said there."
        "\n\nWrite here to go on from there; `!branch adopt` brings its outcome back, "
        "`!branch discard` closes it."
    )


def say_branched(title: str, by: str, address: str, refused: str = "") -> str:
    """In the parent, once the branch's thread is open (or it is ``refused``)."""
    if refused:
        return f"⚠️ The branch **{literal(title, 120)}** could not be opened: {refused}"
    name = f"[{literal(title, 120)}]({address})" if address else literal(title, 120)
    return f"🌿 {literal(by)} branched off from here: {name}"


def say_outcome(title: str, by: str, said: Message | None, address: str) -> str:
    """In the parent, when a branch is adopted: what it came to."""
    where = f" · [open]({address})" if address else ""
    head = f"🌿 {literal(by)} adopted the branch **{literal(title, 120)}**{where}"
    if said is None:
        return f"{head}\n\nNo agent had answered there yet."
    text = said.text.strip()
    if len(text) > OUTCOME_CHARS:
        text = f"{cut_head(text, OUTCOME_CHARS)}\n\n…"
    quoted = "\n".join(f"> {line}" for line in text.split("\n"))
    return f"{head}\n\nWhat {literal(said.author_name)} came to there:\n\n{quoted}"


def _bounded(text: str) -> str:
    """A text as it was written, but no flood: what is left out is counted."""
    if len(text) <= TEXT_CHARS:
        return text
    kept = cut_head(text, TEXT_CHARS)
    return f"{kept}\n\n*{len(text) - len(kept):,} more characters are not shown.*"


def _listing(lines: Sequence[str], tail: str) -> str:
    shown = [f"- {line}" for line in lines[:SHOWN]]
    more = len(lines) - len(shown)
    shown += [f"- … and {more} more"] if more > 0 else []
    return "\n".join(shown) + f"\n\n{tail}"
