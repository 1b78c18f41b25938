"""What Moot says about a team's records. Markdown; pure."""

from __future__ import annotations

from collections.abc import Sequence

from core.context.frame import cut_head
from core.model import Artifact, Conversation, Decision, Finding, Message, Plan, Subtask
from core.tongue import say, say_many, to_say
from core.words import literal

SHOWN = 15
LINE_CHARS = 200
OUTCOME_CHARS = 1_500
TEXT_CHARS = 12_000
_TASK_MARKS = {"todo": "☐", "in-progress": "◐", "done": "☑", "abandoned": "☒"}
WITHDRAWN = to_say("*withdrawn: the message it came from was deleted*")
_STATES = {
    "proposed": to_say("proposed"),
    "active": to_say("active"),
    "done": to_say("done"),
    "rejected": to_say("rejected"),
    "open": to_say("open"),
    "closed": to_say("closed"),
    "critical": to_say("critical"),
    "high": to_say("high"),
    "medium": to_say("medium"),
    "low": to_say("low"),
}


def state(name: str) -> str:
    """A state of a plan or a finding, or how grave one is, in words."""
    return say(_STATES[name]) if name in _STATES else name


def say_plans(found: Sequence[Plan]) -> str:
    """The list of plans, newest first."""
    if not found:
        return say("No plan yet. `!plan new TITLE` makes one; subtasks go on further lines.")
    return _listing([_plan_line(plan) for plan in found], say("`!plan show N` shows one."))


def _plan_line(plan: Plan) -> str:
    if plan.withdrawn:
        return f"**{plan.number}** {say(WITHDRAWN)}"
    count = (
        say(", {settled} of {count} done", settled=plan.settled, count=len(plan.subtasks))
        if plan.subtasks
        else ""
    )
    return f"**{plan.number}** {literal(plan.title, LINE_CHARS)} ({state(plan.state)}{count})"


def say_proposed(plan: Plan) -> str:
    """Where the plan itself can be read just above."""
    count = len(plan.subtasks)
    tasks = say_many(", with {count} subtask", ", with {count} subtasks", count) if count else ""
    number = plan.number
    return say(
        "Plan **{number}** is proposed{tasks}. `!plan approve {number}` makes it active.",
        number=number,
        tasks=tasks,
    )


def say_plan(plan: Plan, *, whole: bool = True) -> str:
    """A plan with its subtasks, and (``whole``) its document."""
    if plan.withdrawn:
        return say("Plan {number}: {withdrawn}", number=plan.number, withdrawn=say(WITHDRAWN))
    phase = f", {literal(plan.phase)}" if plan.phase else ""
    lines = [
        say(
            "**Plan {number}: {title}** ({state}{phase})",
            number=plan.number,
            title=literal(plan.title, LINE_CHARS),
            state=state(plan.state),
            phase=phase,
        )
    ]
    lines.append(say("by {by}", by=literal(plan.by)))
    lines += [""] if plan.subtasks else []
    lines += [_task_line(plan, task) for task in plan.subtasks]
    if plan.state == "proposed":
        lines += [
            "",
            say("`!plan approve {number}` or `!plan reject {number}`", number=plan.number),
        ]
    elif plan.state == "active" and plan.subtasks and plan.settled == len(plan.subtasks):
        lines += [
            "",
            say("All of it is done: `!plan done {number}` closes the plan.", number=plan.number),
        ]
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
    if not opened:
        more = ""
        if closed:
            more = say_many(
                " {count} is closed or withdrawn.", " {count} are closed or withdrawn.", closed
            )
        return say(
            "No open finding.{more} `!finding add [security/high] text` writes one down.", more=more
        )
    order = ("critical", "high", "medium", "low")
    opened.sort(key=lambda finding: (order.index(finding.severity), finding.number))
    tail = say("`!finding show N` shows one, `!finding close N` closes it.")
    tail += (
        say_many(
            " {count} more is closed or withdrawn.",
            " {count} more are closed or withdrawn.",
            closed,
        )
        if closed
        else ""
    )
    return _listing([finding_line(finding) for finding in opened], tail)


def finding_line(finding: Finding) -> str:
    """A finding on one line."""
    about = f"{state(finding.severity)}, {literal(finding.category)}"
    return f"**{finding.number}** {literal(finding.text, LINE_CHARS)} ({about})"


def say_finding(finding: Finding) -> str:
    """A finding in full."""
    if finding.withdrawn:
        return say("Finding {number}: {withdrawn}", number=finding.number, withdrawn=say(WITHDRAWN))
    about = f"{state(finding.state)}, {state(finding.severity)}, {literal(finding.category)}"
    head = say(
        "**Finding {number}** ({about}), by {by}",
        number=finding.number,
        about=about,
        by=literal(finding.by),
    )
    return f"{head}\n\n{_bounded(finding.text)}"


def say_artifacts(found: Sequence[Artifact]) -> str:
    """The list of artifacts, newest first."""
    if not found:
        return say(
            "No artifact yet. `!artifact add TITLE`, with the text on further lines, keeps one."
        )
    lines = [
        say(
            "**{number}** {title} ({count:,} characters, by {by})",
            number=one.number,
            title=literal(one.title, LINE_CHARS),
            count=len(one.text),
            by=literal(one.by),
        )
        if not one.withdrawn
        else f"**{one.number}** {say(WITHDRAWN)}"
        for one in found
    ]
    return _listing(lines, say("`!artifact show N` shows one."))


def say_artifact(artifact: Artifact) -> str:
    """An artifact in full."""
    if artifact.withdrawn:
        return say(
            "Artifact {number}: {withdrawn}", number=artifact.number, withdrawn=say(WITHDRAWN)
        )
    head = say(
        "**Artifact {number}: {title}**",
        number=artifact.number,
        title=literal(artifact.title, LINE_CHARS),
    )
    return say(
        "{head}, by {by}\n\n{bounded}",
        head=head,
        by=literal(artifact.by),
        bounded=_bounded(artifact.text),
    )


def say_decisions(found: Sequence[Decision]) -> str:
    """The ledger: what stands, and how many entries were superseded."""
    standing = [d for d in found if not d.superseded_by and not d.withdrawn]
    old = len(found) - len(standing)
    if not standing:
        return say("Nothing is settled yet: roundtables write down what they agree on.")
    lines = [
        f"**{d.number}** {literal(d.axis)}: {literal(d.decision, LINE_CHARS)}" for d in standing
    ]
    tail = say("`!decisions show N` says who agreed.")
    if old:
        tail += say_many(
            " {count} earlier one was superseded or withdrawn.",
            " {count} earlier ones were superseded or withdrawn.",
            old,
        )
    return _listing(lines, tail)


def say_decision(decision: Decision) -> str:
    """An entry of the ledger in full."""
    if decision.withdrawn:
        return say(
            "Decision {number}: {withdrawn}", number=decision.number, withdrawn=say(WITHDRAWN)
        )
    stands = (
        say("superseded by {superseded_by}", superseded_by=decision.superseded_by)
        if decision.superseded_by
        else say("stands")
    )
    lines = [
        say(
            "**Decision {number}: {axis}** ({stands})",
            number=decision.number,
            axis=literal(decision.axis, LINE_CHARS),
            stands=stands,
        ),
        "",
        _bounded(decision.decision),
        "",
        *(f"- {literal(name)}: {stance}" for name, stance in decision.stances),
        say(
            "- confidence {confidence:.0%}, by {by}",
            confidence=decision.confidence,
            by=literal(decision.by),
        ),
    ]
    lines += (
        [say("- supersedes {supersedes}", supersedes=decision.supersedes)]
        if decision.supersedes
        else []
    )
    return "\n".join(lines)


def thread_line(conversation: Conversation, title: str, address: str) -> str:
    """A thread of a list: its number, what it began with, where it is."""
    name = literal(title, 120) or say("a thread")
    where = say(" · [open]({address})", address=address) if address else ""
    return f"**{conversation.id}** {name}{where}"


def say_links(linked: Sequence[str], suggested: Sequence[str]) -> str:
    """The linked threads, and some that could be; both as ``thread_line`` makes them."""
    text = say("This thread is linked with none yet.")
    if linked:
        text = (
            say("Linked with:") + "\n\n" + _listing(linked, say("`!unlink N` takes a link away."))
        )
    if suggested:
        more = say("These fit what this thread began with; `!link N` links one:")
        return f"{text}\n\n{more}\n\n" + "\n".join(f"- {line}" for line in suggested)
    return say("{text}\n\n`!link LINK-TO-A-THREAD` links one.", text=text)


def branch_header(title: str, by: str, speaker: str, address: str) -> str:
    """The first post of a branch: where it comes from.

    What was said there is not quoted: a message that is deleted must not live on here.
    """
    parent = say("another thread")
    parent = f"[{parent}]({address})" if address else parent
    return say(
        "🌿 **{title}**\n\n"
        "{by} branched off from {parent}, after what {speaker} said there.\n\n"
        "Write here to go on from there; `!branch adopt` brings its outcome back, "
        "`!branch discard` closes it.",
        title=literal(title, 120),
        by=literal(by),
        parent=parent,
        speaker=literal(speaker),
    )


def say_branched(title: str, by: str, address: str, refused: str = "") -> str:
    """In the parent, once the branch's thread is open (or it is ``refused``)."""
    if refused:
        return say(
            "⚠️ The branch **{title}** could not be opened: {refused}",
            title=literal(title, 120),
            refused=refused,
        )
    name = f"[{literal(title, 120)}]({address})" if address else literal(title, 120)
    return say("🌿 {by} branched off from here: {name}", by=literal(by), name=name)


def say_outcome(title: str, by: str, said: Message | None, address: str) -> str:
    """In the parent, when a branch is adopted: what it came to."""
    where = say(" · [open]({address})", address=address) if address else ""
    head = say(
        "🌿 {by} adopted the branch **{title}**{where}",
        by=literal(by),
        title=literal(title, 120),
        where=where,
    )
    if said is None:
        return say("{head}\n\nNo agent had answered there yet.", head=head)
    text = said.text.strip()
    if len(text) > OUTCOME_CHARS:
        text = f"{cut_head(text, OUTCOME_CHARS)}\n\n…"
    quoted = "\n".join(f"> {line}" for line in text.split("\n"))
    return say(
        "{head}\n\nWhat {author_name} came to there:\n\n{quoted}",
        head=head,
        author_name=literal(said.author_name),
        quoted=quoted,
    )


def _bounded(text: str) -> str:
    """A text as it was written, but no flood: what is left out is counted."""
    if len(text) <= TEXT_CHARS:
        return text
    kept = cut_head(text, TEXT_CHARS)
    return say(
        "{kept}\n\n*{count:,} more characters are not shown.*",
        kept=kept,
        count=len(text) - len(kept),
    )


def _listing(lines: Sequence[str], tail: str) -> str:
    shown = [f"- {line}" for line in lines[:SHOWN]]
    more = len(lines) - len(shown)
    shown += ["- " + say("… and {count} more", count=more)] if more > 0 else []
    return "\n".join(shown) + f"\n\n{tail}"
